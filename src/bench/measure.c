/* SPDX-License-Identifier: MIT */
/* Measures a case in randomised complete blocks: each round has every arm once, on the same keys.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

#define ROUNDS_MIN     11
#define OPS_MAX        2000000u
#define PASSES_MAX     100         /* how often a key is in the order of a run, at most */
#define RUN_WANTED_NS  120000000.0 /* of the fastest arm: more rounds tell more than longer ones */
#define COLD_SLACK     1.6         /* no key is read twice to make a cold run longer */
#define REPEAT_SHARE   0.75        /* of that, which must be in the budget */
#define WINDOWS        ((size_t)10)
#define WINDOW_OPS_MIN 50u
#define WARM_UPS       2L
#define CYCLES_MAX     8u          /* times as many keys, for the arms that are quickest */
#define FIRST_READS    4000u       /* operations of the warm-up, which tells how long one takes */
#define FIRST_BYTES    268435456.0 /* of them, at most */
#define FIRST_WRITES   200u
#define FIRST_SYNCS    20u /* each may take the disk ten milliseconds */

void measure_overhead(const struct bench_clock *clock, uint64_t *ret_clock_ns,
                      uint64_t *ret_overhead_ns)
{
    const uint64_t count = 200000;
    static struct hist hist;
    volatile uint64_t sink = 0;
    uint64_t began = bench_now();
    for (uint64_t i = 0; i < count; i++)
        sink = clock_stamp(clock);
    *ret_clock_ns = (bench_now() - began + count / 2) / count;
    began = bench_now();
    uint64_t before = clock_stamp(clock);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t now = clock_stamp(clock);
        hist_add(&hist, clock_ns(clock, now - before));
        before = now;
    }
    *ret_overhead_ns = (bench_now() - began + count / 2) / count;
    (void)sink;
}

/* -- kinds of workloads -------------------------------------------------------------------- */

bool bench_reads_keys(enum bench_workload workload)
{
    return workload <= BENCH_READ_ALL;
}

bool bench_writes_keys(enum bench_workload workload)
{
    return (workload >= BENCH_WRITE_CREATE && workload <= BENCH_WRITE_DELETE) ||
           workload == BENCH_KVTEST_UPDATE;
}

/* Cold runs leave three of four keys out, so that reading ahead cannot warm them unnoticed. */
static size_t ops_max(const struct measure *measure, const struct bench_case *question)
{
    size_t keys = measure->data->key_count;
    size_t most = OPS_MAX;
    if (question->fixed_ops)
        return question->fixed_ops;
    if (bench_writes_keys(question->workload) || question->workload == BENCH_KVTEST_READ)
        most = keys;
    else if (question->state != BENCH_WARM && bench_reads_keys(question->workload))
        most = keys / 4 ? keys / 4 : 1;
    else if (bench_reads_keys(question->workload) && keys < OPS_MAX / PASSES_MAX)
        most = keys * PASSES_MAX;
    else if (question->workload == BENCH_FIRST_READ)
        most = 1000;
    return most < OPS_MAX ? most : OPS_MAX;
}

static size_t first_ops(const struct measure *measure, const struct bench_case *question)
{
    size_t most = ops_max(measure, question);
    size_t first = 1;
    if (question->fixed_ops)
        first = question->fixed_ops;
    else if (bench_reads_keys(question->workload) || question->workload == BENCH_KVTEST_READ)
        first = FIRST_READS;
    else if (bench_writes_keys(question->workload))
        first = question->durability == BENCH_SYNC_EACH ? FIRST_SYNCS : FIRST_WRITES;
    double few = FIRST_BYTES / (measure->data->mean_bytes > 0 ? measure->data->mean_bytes : 1);
    if ((double)first > few)
        first = few < 1 ? 1 : (size_t)few;
    return first < most ? first : most;
}

/* -- orders ------------------------------------------------------------------------------- */

/* Neighbours in the pack, from a random place on; or all keys, as often as it takes. */
static void order_window(const struct bench_data *data, struct bench_random *random,
                         uint32_t *order, size_t count)
{
    size_t keys = data->key_count;
    size_t first = count < keys ? (size_t)bench_random_below(random, keys - count + 1) : 0;
    for (size_t i = 0; i < count; i++)
        order[i] = data->by_id[first + i % keys];
}

/*
 * Several windows, as neighbours are alike in size and in how they are stored, each in an
 * equal share of all keys, so that none is taken twice; or one, where the end of each would
 * throw away what was read ahead.
 */
static void order_windows(const struct bench_data *data, struct bench_random *random,
                          enum bench_state state, uint32_t *order, size_t count)
{
    struct bench_data share = *data;
    size_t keys = data->key_count;
    if (state != BENCH_WARM || count >= keys || count < WINDOWS * WINDOW_OPS_MIN) {
        order_window(data, random, order, count);
        return;
    }
    for (size_t i = 0; i < WINDOWS; i++) {
        size_t first = count * i / WINDOWS;
        share.by_id = data->by_id + keys * i / WINDOWS;
        share.key_count = keys * (i + 1) / WINDOWS - keys * i / WINDOWS;
        order_window(&share, random, order + first, count * (i + 1) / WINDOWS - first);
    }
}

static void order_sorted(const struct bench_data *data, struct bench_random *random,
                         uint32_t *order, size_t count, bool descends)
{
    size_t keys = data->key_count;
    size_t first = count < keys ? (size_t)bench_random_below(random, keys - count + 1) : 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = (descends ? count - 1 - i : i) % keys;
        order[i] = (uint32_t)(first + at);
    }
}

static int make_order(const struct bench_data *data, const struct bench_case *question,
                      struct bench_random *random, uint32_t *order, size_t count)
{
    enum bench_workload workload = question->workload;
    size_t keys = data->key_count;
    if (keys == 0)
        return 0; /* the CSV benchmark: its records are its own */
    if (workload == BENCH_READ_ALL) {
        order_windows(data, random, question->state, order, count);
    } else if (workload == BENCH_READ_ASCENDING || workload == BENCH_READ_DESCENDING) {
        order_sorted(data, random, order, count, workload == BENCH_READ_DESCENDING);
    } else if (workload == BENCH_READ_REPLAY) {
        size_t first = (size_t)bench_random_below(random, data->replay_count);
        for (size_t i = 0; i < count; i++)
            order[i] = data->replay[(first + i) % data->replay_count];
    } else if (workload == BENCH_READ_ZIPF) {
        auto_free uint32_t *ranked = calloc(keys, sizeof(*ranked));
        if (!ranked)
            return -1;
        order_permutations(random, ranked, keys, keys);
        order_zipf(random, order, count, ranked, keys);
    } else {
        order_permutations(random, order, count, keys);
    }
    return 0;
}

static void order_release(struct order *order)
{
    free(order->items);
}

/* -- a case ------------------------------------------------------------------------------- */

/* What a round tells of the next ones, in nanoseconds. */
struct pace {
    double fixed;   /* whatever the number of operations */
    double each;    /* an operation of all series together */
    double fastest; /* an operation of the fastest series */
};

static double op_ns(const struct bench_run *run)
{
    return run->is_done && run->op_count ? (double)run->elapsed_ns / (double)run->op_count : 0;
}

/* Of a round that took so long. */
static struct pace pace_of(const struct bench_case *question, long round, double round_ns)
{
    struct pace pace = {.fixed = round_ns};
    double ops = 1;
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_run *run = bench_run_at(&question->series[i], round);
        double each = op_ns(run);
        if (each <= 0)
            continue;
        ops = (double)run->op_count;
        pace.fixed -= (double)run->elapsed_ns;
        pace.each += each;
        if (pace.fastest == 0 || each < pace.fastest)
            pace.fastest = each;
    }
    /* what is emptied before the clock starts grows with the operations */
    if (bench_is_cold(question)) {
        pace.each = round_ns / ops;
        pace.fixed = 0;
    }
    return pace;
}

/* What runs of so many operations add where they are too short, and go on. */
static double repeats_ns(const struct bench_case *question, long round, double count)
{
    double ns = 0;
    for (size_t i = 0; i < question->series_count; i++) {
        double run_ns = op_ns(bench_run_at(&question->series[i], round)) * count;
        ns +=
            run_ns > 0 && run_ns < RUN_WANTED_NS ? (ceil(RUN_WANTED_NS / run_ns) - 1) * run_ns : 0;
    }
    return ns;
}

/* So many operations a run as the budget allows, by the times of a round. */
static size_t choose_ops(const struct measure *measure, const struct bench_case *question,
                         const struct order *order, long round, double round_ns)
{
    size_t most = ops_max(measure, question);
    struct pace pace = pace_of(question, round, round_ns);
    if (question->fixed_ops || pace.each <= 0)
        return most;
    double rest_ns = order->budget_ns - pace.fixed;
    double wanted_ns = bench_is_cold(question) ? RUN_WANTED_NS * COLD_SLACK : RUN_WANTED_NS;
    double count = fmin(rest_ns / pace.each, wanted_ns / pace.fastest);
    if (order->has_time)
        count = fmin(count, (rest_ns - repeats_ns(question, round, count)) / pace.each);
    /* what writes need beforehand may take all of the budget, however few they are */
    size_t least = bench_writes_keys(question->workload) ? first_ops(measure, question) : 1;
    return (size_t)fmin(fmax(count, (double)least), (double)most);
}

/* Why a case cannot be measured here at all. */
static const char *refuse(const struct measure *measure, const struct bench_case *question)
{
    if (question->state == BENCH_COLD || question->state == BENCH_FULL_COLD)
        for (size_t i = 0; i < BENCH_LAYOUT_MOUNT; i++) { /* of a mount its series tells */
            const char *root = measure->data->trees[i].root;
            const char *why = root ? cache_refuses_cold(root) : NULL;
            if (why)
                return why;
        }
    if (question->state == BENCH_WARM && bench_reads_keys(question->workload) &&
        measure->memory_bytes >= 0 && measure->data->all_bytes > measure->memory_bytes)
        return "the data does not fit into memory";
    return NULL;
}

/* More rounds than it takes are for the rows that decide: reads by one client. */
static size_t round_limit(const struct measure *measure, const struct bench_case *question)
{
    bool decides = bench_reads_keys(question->workload) && question->threads <= 1;
    return decides ? measure->round_limit : measure->round_count;
}

static int make_room(const struct measure *measure, struct bench_case *question,
                     struct sqlpack_error *err)
{
    size_t limit = round_limit(measure, question);
    if (question->round_count == 0 || question->round_count > limit)
        question->round_count = limit;
    for (size_t i = 0; i < question->series_count; i++) {
        struct bench_series *series = &question->series[i];
        series->runs = calloc(question->round_count, sizeof(*series->runs));
        series->hist = calloc(1, sizeof(*series->hist));
        if (!series->runs || !series->hist)
            return bench_no_memory(err);
    }
    return 0;
}

static int run_round(const struct measure *measure, struct bench_case *question, long round,
                     struct order *order, struct sqlpack_error *err)
{
    bench_random_seed(&order->random, measure->seed + (uint64_t)(round + WARM_UPS));
    order->cycles = round >= 0 && order->has_time ? ops_max(measure, question) / order->count : 1;
    if (order->cycles > CYCLES_MAX)
        order->cycles = CYCLES_MAX;
    for (size_t i = 0; i < order->cycles; i++)
        if (make_order(measure->data, question, &order->random, order->items + i * order->count,
                       order->count) < 0)
            return bench_no_memory(err);
    return round_run(measure, question, round, order, err);
}

/* Whether the rounds have taken their time. */
static bool is_enough(const struct measure *measure, const struct bench_case *question,
                      size_t rounds, uint64_t took_ns, uint64_t budget_ns)
{
    return rounds == question->round_count ||
           (rounds >= measure->round_count && took_ns > budget_ns) ||
           (rounds >= ROUNDS_MIN && took_ns > budget_ns + budget_ns / 2);
}

/* The windows of full reads differ: a round that took twice its time is no measure of the next. */
static void adapt_ops(const struct measure *measure, const struct bench_case *question,
                      struct order *order, long round, double round_ns)
{
    size_t count = choose_ops(measure, question, order, round, round_ns);
    if (!bench_reads_keys(question->workload))
        return;
    if (count < order->count - order->count / 3 || count > order->count + order->count / 3)
        order->count = count;
}

/*
 * A short round, and one as long as it tells. After a cold case the first one brings the
 * data back, and its times are no measure of what follows.
 */
static int warm_up(const struct measure *measure, struct bench_case *question, struct order *order,
                   struct sqlpack_error *err)
{
    size_t first = order->count;
    for (long round = question->fixed_ops ? -1 : -WARM_UPS; round < 0; round++) {
        uint64_t began = bench_now();
        if (run_round(measure, question, round, order, err) < 0)
            return -1;
        order->has_time =
            bench_reads_keys(question->workload) && question->state == BENCH_WARM &&
            order->budget_ns > REPEAT_SHARE * RUN_WANTED_NS * (double)question->series_count;
        order->count = choose_ops(measure, question, order, round, (double)(bench_now() - began));
        if (round < -1 && order->count < first)
            order->count = first;
    }
    return 0;
}

int measure_case(const struct measure *measure, struct bench_case *question, uint64_t budget_ns,
                 struct sqlpack_error *err)
{
    if (make_room(measure, question, err) < 0)
        return -1;
    const char *why = question->missing[0] ? question->missing : refuse(measure, question);
    if (why) {
        question->round_count = 0;
        if (why != question->missing)
            snprintf(question->missing, sizeof(question->missing), "%s", why);
        return 0;
    }
    size_t least =
        question->round_count < measure->round_count ? question->round_count : measure->round_count;
    auto_release(order_release) struct order order = {.count = first_ops(measure, question),
                                                      .budget_ns =
                                                          (double)budget_ns / (double)(least + 1)};
    order.items = calloc(ops_max(measure, question), sizeof(*order.items));
    if (!order.items)
        return bench_no_memory(err);
    uint64_t began = bench_now();
    if (warm_up(measure, question, &order, err) < 0)
        return -1;
    long rounds = 0;
    do {
        uint64_t round_began = bench_now();
        if (run_round(measure, question, rounds, &order, err) < 0)
            return -1;
        adapt_ops(measure, question, &order, rounds, (double)(bench_now() - round_began));
        rounds++;
    } while (!is_enough(measure, question, (size_t)rounds, bench_now() - began, budget_ns));
    question->round_count = (size_t)rounds;
    return 0;
}

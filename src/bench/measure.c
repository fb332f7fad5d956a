/* SPDX-License-Identifier: MIT */
/* Measures a case in randomised complete blocks: each round has every arm once, on the same keys.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

#define ROUNDS_MIN    11
#define OPS_MAX       2000000u
#define PASSES_MAX    100         /* how often a key is read in a run, at most */
#define RUN_WANTED_NS 500000000.0 /* longer runs than this of the fastest arm gain nothing */
#define RUN_LEAST_NS  115000000.0 /* shorter ones are noise; a reserve for times that shrink */
#define PASSES_SLACK  1.5         /* longer runs are faster: a map's pages are faulted in once */
#define FIRST_READS   4000u       /* operations of the warm-up, which tells how long one takes */
#define FIRST_WRITES  200u
#define FIRST_SYNCS   20u /* each may take the disk ten milliseconds */

void measure_overhead(uint64_t *ret_clock_ns, uint64_t *ret_overhead_ns)
{
    const uint64_t count = 200000;
    static struct hist hist;
    volatile uint64_t sink = 0;
    uint64_t began = bench_now();
    for (uint64_t i = 0; i < count; i++)
        sink = bench_now();
    uint64_t before = bench_now();
    *ret_clock_ns = (before - began + count / 2) / count;
    began = before;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t now = bench_now();
        hist_add(&hist, now - before);
        before = now;
    }
    *ret_overhead_ns = (before - began + count / 2) / count;
    (void)sink;
}

/* -- kinds of workloads -------------------------------------------------------------------- */

static bool reads_keys(enum bench_workload workload)
{
    return workload <= BENCH_READ_ALL;
}

static bool writes_keys(enum bench_workload workload)
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
    if (writes_keys(question->workload) || question->workload == BENCH_KVTEST_READ)
        most = keys;
    else if (question->state != BENCH_WARM && reads_keys(question->workload))
        most = keys / 4 ? keys / 4 : 1;
    else if (reads_keys(question->workload) && keys < OPS_MAX / PASSES_MAX)
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
    else if (reads_keys(question->workload) || question->workload == BENCH_KVTEST_READ)
        first = FIRST_READS;
    else if (writes_keys(question->workload))
        first = question->durability == BENCH_SYNC_EACH ? FIRST_SYNCS : FIRST_WRITES;
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

static int make_order(const struct bench_data *data, enum bench_workload workload,
                      struct bench_random *random, uint32_t *order, size_t count)
{
    size_t keys = data->key_count;
    if (keys == 0)
        return 0; /* the CSV benchmark: its records are its own */
    if (workload == BENCH_READ_ALL) {
        order_window(data, random, order, count);
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

/* -- cache states -------------------------------------------------------------------------- */

static bool has_data_state(const struct bench_case *question)
{
    return question->state != BENCH_STATELESS && reads_keys(question->workload);
}

static int drop_caches(struct sqlpack_error *err)
{
    sync();
    auto_close int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "3", 1) != 1)
        return bench_fail_errno(err, "cannot drop the caches");
    return 0;
}

/* Before each run. */
static int prepare_state(const struct bench_task *task, struct bench_run *run,
                         struct sqlpack_error *err)
{
    const struct bench_case *question = task->question;
    run->resident_percent = -1;
    if (question->state == BENCH_FULL_COLD && drop_caches(err) < 0)
        return -1;
    if (!has_data_state(question))
        return 0;
    if (question->state == BENCH_COLD && cache_evict(task, err) < 0)
        return -1;
    cache_prove(task, run);
    if (question->state == BENCH_WARM && run->proof != BENCH_UNVERIFIED && !run->is_proven) {
        if (cache_fill(task, err) < 0)
            return -1;
        cache_prove(task, run);
    }
    return 0;
}

/* After it: what came from storage must fit the state. */
static void check_state(const struct bench_case *question, struct bench_run *run)
{
    if (question->state == BENCH_STATELESS)
        return;
    if (question->state == BENCH_WARM && run->storage_read_bytes == 0 &&
        (!has_data_state(question) || run->proof == BENCH_UNVERIFIED)) {
        run->proof = BENCH_BY_READS;
        run->is_proven = true;
    }
    if (question->state != BENCH_WARM && run->storage_read_bytes < run->bytes / 10 * 9)
        run->is_proven = false;
    if (question->state == BENCH_FULL_COLD && !has_data_state(question))
        run->is_proven = run->storage_read_bytes > 0;
}

/* Dirty pages of one arm would be written at the cost of the next. */
static void settle_writes(const struct measure *measure)
{
    auto_close int fd = open(measure->data->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        syncfs(fd);
}

/* -- one run ------------------------------------------------------------------------------ */

static int run_once(const struct measure *measure, const struct bench_task *task,
                    struct bench_run *run, struct hist *hist, struct sqlpack_error *err)
{
    struct bench_case *question = (struct bench_case *)task->question;
    struct bench_series *series = (struct bench_series *)task->series;
    if (question->durability != BENCH_NOT_A_WRITE)
        settle_writes(measure);
    if (prepare_state(task, run, err) < 0 || child_run(task, measure->pace, run, hist, err) < 0) {
        if (err->status == SQLPACK_CANCELLED || err->status == SQLPACK_NO_MEMORY ||
            err->os_errno == ENOSPC)
            return -1;
        snprintf(series->missing, sizeof(series->missing), "%.199s", err->message);
        return 0;
    }
    check_state(question, run);
    return 0;
}

/* Arms that read the same keys, or answer the same question, must have got the same. */
static void compare_sums(struct bench_case *question, size_t round)
{
    uint64_t sum = 0, bytes = 0;
    bool has_first = false;
    if (question->has_free_results)
        return;
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_run *run = &question->series[i].runs[round];
        if (!run->is_done)
            continue;
        uint64_t once = run->bytes / (run->passes ? run->passes : 1);
        if (has_first && (run->sum != sum || once != bytes))
            question->results_differ = true;
        has_first = true;
        question->match_count = run->match_count;
        sum = run->sum;
        bytes = once;
    }
}

/* The keys of the rounds, one after the other. */
struct order {
    struct bench_random random;
    uint32_t *items; /* owned */
    size_t count;
};

static void order_release(struct order *order)
{
    free(order->items);
}

/* All series once, in random order, on the same keys; `round` -1 is the warm-up. */
static int run_round(const struct measure *measure, struct bench_case *question, long round,
                     struct order *keys, struct sqlpack_error *err)
{
    struct bench_random *random = &keys->random;
    uint32_t *order = keys->items;
    size_t count = keys->count;
    size_t series_count = question->series_count;
    auto_free uint32_t *turn = calloc(series_count, sizeof(*turn));
    if (!turn || make_order(measure->data, question->workload, random, order, count) < 0)
        return bench_no_memory(err);
    order_permutations(random, turn, series_count, series_count);
    struct bench_task task = {.data = measure->data,
                              .question = question,
                              .order = order,
                              .order_count = count,
                              .seed = bench_random_next(random)};
    for (size_t i = 0; i < series_count; i++) {
        struct bench_series *series = &question->series[turn[i]];
        struct bench_run *run = round < 0 ? &series->warm_up : &series->runs[round];
        task.series = series;
        task.passes = series->passes;
        if (!series->missing[0] &&
            run_once(measure, &task, run, round < 0 ? NULL : series->hist, err) < 0)
            return -1;
    }
    return 0;
}

/* -- a case ------------------------------------------------------------------------------- */

/* What the warm-up tells of a round, in nanoseconds. */
struct pace {
    double fixed;   /* whatever the number of operations */
    double each;    /* an operation of all series together */
    double fastest; /* an operation of the fastest series */
};

static double op_ns(const struct bench_run *run)
{
    return run->is_done && run->op_count ? (double)run->elapsed_ns / (double)run->op_count : 0;
}

static struct pace pace_of(const struct bench_case *question, double round_ns)
{
    struct pace pace = {.fixed = round_ns};
    double ops = 1;
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_run *run = &question->series[i].warm_up;
        double each = op_ns(run);
        if (each <= 0)
            continue;
        ops = (double)run->op_count;
        pace.fixed -= (double)run->elapsed_ns;
        pace.each += each;
        if (pace.fastest == 0 || each < pace.fastest)
            pace.fastest = each;
    }
    /* what is made or emptied before the clock starts grows with the operations */
    if (question->state != BENCH_WARM) {
        pace.each = round_ns / ops;
        pace.fixed = 0;
    }
    return pace;
}

/* So many operations a run as the budget allows, by the times of the warm-up. */
static size_t choose_ops(const struct measure *measure, const struct bench_case *question,
                         double round_budget_ns, const struct pace *pace)
{
    size_t most = ops_max(measure, question);
    if (question->fixed_ops || pace->each <= 0)
        return most;
    double count = (round_budget_ns - pace->fixed) / pace->each;
    if (count * pace->fastest > RUN_WANTED_NS)
        count = RUN_WANTED_NS / pace->fastest;
    if (count < 1)
        count = 1;
    return count < (double)most ? (size_t)count : most;
}

/* Runs of the faster arms that would be too short go through the same keys again. */
static void choose_passes(struct bench_case *question, size_t count, double round_budget_ns,
                          const struct pace *pace)
{
    double round_ns = pace->fixed;
    for (size_t i = 0; i < question->series_count; i++) {
        double run_ns = op_ns(&question->series[i].warm_up) * (double)count;
        round_ns += run_ns < RUN_LEAST_NS ? RUN_LEAST_NS : run_ns;
    }
    bool fits = round_ns < round_budget_ns * 1.25 && count >= FIRST_READS;
    for (size_t i = 0; i < question->series_count; i++) {
        struct bench_series *series = &question->series[i];
        double run_ns = op_ns(&series->warm_up) * (double)count;
        series->passes = 1;
        if (fits && question->state == BENCH_WARM && reads_keys(question->workload) && run_ns > 0 &&
            run_ns < RUN_LEAST_NS)
            series->passes = (size_t)(RUN_LEAST_NS * PASSES_SLACK / run_ns) + 1;
    }
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
    if (question->state == BENCH_WARM && reads_keys(question->workload) &&
        measure->memory_bytes >= 0 && measure->data->all_bytes > measure->memory_bytes)
        return "the data does not fit into memory";
    return NULL;
}

static int make_room(const struct measure *measure, struct bench_case *question,
                     struct sqlpack_error *err)
{
    if (question->round_count == 0 || question->round_count > measure->round_count)
        question->round_count = measure->round_count;
    for (size_t i = 0; i < question->series_count; i++) {
        struct bench_series *series = &question->series[i];
        series->runs = calloc(measure->round_count, sizeof(*series->runs));
        series->hist = calloc(1, sizeof(*series->hist));
        if (!series->runs || !series->hist)
            return bench_no_memory(err);
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
    auto_release(order_release) struct order order = {.count = first_ops(measure, question)};
    bench_random_seed(&order.random, measure->seed);
    order.items = calloc(ops_max(measure, question), sizeof(*order.items));
    if (!order.items)
        return bench_no_memory(err);
    /* after a cold case the first round brings all data back, which no later round must do */
    if (question->state == BENCH_WARM && run_round(measure, question, -1, &order, err) < 0)
        return -1;
    uint64_t began = bench_now();
    if (run_round(measure, question, -1, &order, err) < 0)
        return -1;
    struct pace pace = pace_of(question, (double)(bench_now() - began));
    double round_budget_ns = (double)budget_ns / (double)question->round_count;
    order.count = choose_ops(measure, question, round_budget_ns, &pace);
    choose_passes(question, order.count, round_budget_ns, &pace);
    for (size_t round = 0; round < question->round_count; round++) {
        if (run_round(measure, question, (long)round, &order, err) < 0)
            return -1;
        compare_sums(question, round);
        if (round + 1 >= ROUNDS_MIN && bench_now() - began > budget_ns + budget_ns / 2)
            question->round_count = round + 1;
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Runs every arm of a case once, on the same keys, each in the state of the cache that it needs. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/run.h"
#include "util/auto.h"

#define TURNS         10u        /* of a run, at least: each arm is at another part */
#define TURN_OPS_MIN  100u       /* fewer would be lost in the change from one process to another */
#define RUN_LEAST_NS  105000000u /* shorter ones are noise, and get no verdict */
#define TURNS_AT_MOST 1000u      /* for arms that need nanoseconds */

/* -- cache states -------------------------------------------------------------------------- */

static bool has_data_state(const struct bench_case *question)
{
    return question->state != BENCH_STATELESS && bench_reads_keys(question->workload);
}

/* Before each run. */
static int prepare_state(const struct bench_task *task, struct bench_run *run,
                         struct sqlpack_error *err)
{
    const struct bench_case *question = task->question;
    run->resident_percent = -1;
    if (question->state == BENCH_FULL_COLD && cache_drop(err) < 0)
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
    /* what was looked at has its inode and its folders in memory again */
    return question->state == BENCH_FULL_COLD ? cache_drop(err) : 0;
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
    if (question->state == BENCH_WARM && has_data_state(question) &&
        run->storage_read_bytes > run->bytes / 100)
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

/* Arms that read the same keys, or answer the same question, must have got the same. */
static void compare_sums(struct bench_case *question, size_t round)
{
    uint64_t sum = 0;
    bool has_first = false;
    if (question->has_free_results)
        return;
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_run *run = &question->series[i].runs[round];
        if (!run->is_done)
            continue;
        question->results_differ = question->results_differ || (has_first && run->sum != sum);
        question->match_count = run->match_count;
        has_first = true;
        sum = run->sum;
    }
}

/* -- one arm after the other ---------------------------------------------------------------- */

/* The same keys in the arm's own order, each of them once before any comes again; NULL: memory. */
static uint32_t *order_arranged(const struct bench_task *task)
{
    size_t keys = task->data->key_count, all = task->order_count * task->cycles;
    int (*arrange)(const struct bench_task *, uint32_t *, size_t) = task->series->arm->arrange;
    size_t block = task->order_count < keys ? task->order_count : keys;
    auto_free uint32_t *order = calloc(all + 1, sizeof(*order));
    if (!order)
        return NULL;
    memcpy(order, task->order, all * sizeof(*order));
    for (size_t first = 0; arrange && first < all; first += block) {
        size_t rest = all - first;
        if (arrange(task, order + first, rest < block ? rest : block) < 0)
            return NULL;
    }
    uint32_t *result = order;
    order = NULL;
    return result;
}

/* What all the arms of a round are given. */
struct round {
    const struct measure *measure;
    struct bench_case *question;
    long number;
    struct order *order;
    struct bench_random random; /* of the turns, whose number hangs on the clock */
    uint32_t *ranks;            /* the series in random order */
    struct bench_task task;
};

static struct hist *hist_of(const struct round *round, const struct bench_series *series)
{
    return round->number < 0 ? NULL : series->hist;
}

/* An arm that fails is left out from then on; what ends the whole bench returns -1. */
static int leave_out(struct bench_series *series, const struct sqlpack_error *err)
{
    if (err->status == SQLPACK_CANCELLED || err->status == SQLPACK_NO_MEMORY ||
        err->os_errno == ENOSPC)
        return -1;
    snprintf(series->missing, sizeof(series->missing), "%.199s", err->message);
    return 0;
}

static int run_alone(const struct round *round, struct bench_series *series,
                     struct sqlpack_error *err)
{
    const struct measure *measure = round->measure;
    struct bench_run *run = bench_run_at(series, round->number);
    struct bench_task task = round->task;
    auto_free uint32_t *order = NULL;
    task.series = series;
    task.part_count = 1;
    task.order = order = order_arranged(&task);
    if (!order)
        return bench_no_memory(err);
    if (round->question->durability != BENCH_NOT_A_WRITE)
        settle_writes(measure);
    if (prepare_state(&task, run, err) < 0 ||
        child_run(&task, measure->pace, run, hist_of(round, series), err) < 0)
        return leave_out(series, err);
    check_state(round->question, run);
    return 0;
}

/* -- in turns ------------------------------------------------------------------------------- */

/* The process of a series, with the round's keys in its own order. */
struct player {
    struct child child;
    uint32_t *order; /* owned */
    bool is_playing;
};

/* All of a round, by series. */
struct players {
    struct player *items; /* owned */
    size_t count;
};

static void players_release(struct players *players)
{
    for (size_t i = 0; i < players->count; i++) {
        child_release(&players->items[i].child);
        free(players->items[i].order);
    }
    free(players->items);
}

/*
 * Whether a series takes turns, and the pack that it reads in them. Cold ones need a file
 * each, or one would find warm what another has read; from round to round they change files.
 */
static bool has_turns(const struct round *round, const struct bench_series *series,
                      const char **ret_pack)
{
    const struct bench_data *data = round->measure->data;
    size_t at = 0, files = data->copy_count + 1;
    *ret_pack = data->pack;
    if (round->question->state == BENCH_WARM || series->arm->side != BENCH_PACK)
        return true;
    if (series->layout == BENCH_LAYOUT_MOUNT)
        return false;
    for (const struct bench_series *other = round->question->series; other < series; other++)
        at += bench_opens_pack(other);
    if (at >= files)
        return false;
    at = (at + (size_t)(round->number + 2)) % files;
    *ret_pack = at == 0 ? data->pack : data->copies[at - 1];
    return true;
}

static int start_player(const struct round *round, struct bench_series *series, const char *pack,
                        struct player *player, struct sqlpack_error *err)
{
    struct bench_task task = round->task;
    task.series = series;
    task.pack = pack;
    task.order = player->order = order_arranged(&task);
    if (!player->order)
        return bench_no_memory(err);
    if (prepare_state(&task, bench_run_at(series, round->number), err) < 0)
        return -1;
    return child_start(&task, round->measure->pace, &player->child, err);
}

static int start_players(const struct round *round, struct players *players,
                         struct sqlpack_error *err)
{
    for (size_t i = 0; i < players->count; i++) {
        struct bench_series *series = &round->question->series[i];
        const char *pack;
        if (!series->missing[0] && has_turns(round, series, &pack) &&
            start_player(round, series, pack, &players->items[i], err) < 0 &&
            leave_out(series, err) < 0)
            return -1;
    }
    return 0;
}

static int end_players(const struct round *round, struct players *players,
                       struct sqlpack_error *err)
{
    for (size_t i = 0; i < players->count; i++) {
        struct bench_series *series = &round->question->series[i];
        struct child *child = &players->items[i].child;
        struct bench_run *run = bench_run_at(series, round->number);
        if (!child->pid)
            continue;
        if (child_end(child, round->measure->pace, run, hist_of(round, series), err) == 0)
            check_state(round->question, run);
        else if (leave_out(series, err) < 0)
            return -1;
    }
    return 0;
}

/* Where all parts are read: whether it was too quick to be believed, and reads as many more. */
static bool goes_on(const struct round *round, const struct child *child, uint32_t turn)
{
    return turn == 0 || (round->order->has_time && round->number >= 0 &&
                         child->elapsed_ns < RUN_LEAST_NS && turn < TURNS_AT_MOST);
}

/* The series are at different parts, so that none finds in the caches what others just read. */
static uint32_t part_of(const struct round *round, size_t series, uint32_t turn)
{
    uint32_t parts = round->task.part_count;
    uint32_t cycle = turn / parts % (uint32_t)round->task.cycles;
    return cycle * parts + ((uint32_t)series + turn) % parts;
}

/* Other arms may have brought the same files into the cache. */
static int make_part_cold(const struct child *child, uint32_t part, struct bench_run *run,
                          struct sqlpack_error *err)
{
    struct bench_task task = child->task;
    struct bench_run proof = {0};
    size_t first = task_part(&task, part);
    task.order += first;
    task.order_count = task_part(&child->task, part + 1) - first;
    if (cache_evict(&task, err) < 0)
        return -1;
    cache_prove(&task, &proof);
    run->is_proven = run->is_proven && proof.is_proven;
    run->resident_percent = fmax(run->resident_percent, proof.resident_percent);
    return 0;
}

static int have_turn(const struct round *round, struct child *child, uint32_t part,
                     struct sqlpack_error *err)
{
    struct bench_series *series = (struct bench_series *)child->task.series;
    if (round->question->state != BENCH_WARM && series->arm->side == BENCH_FILES &&
        make_part_cold(child, part, bench_run_at(series, round->number), err) < 0)
        return -1;
    return child_turn(child, part, round->measure->pace, err);
}

/* One turn for each. Returns how many had one; -1 on failure. */
static int have_turns(struct round *round, struct players *players, uint32_t turn,
                      struct sqlpack_error *err)
{
    int count = 0;
    order_shuffle(&round->random, round->ranks, players->count);
    for (size_t i = 0; i < players->count; i++) {
        size_t at = round->ranks[i];
        struct player *player = &players->items[at];
        struct child *child = &player->child;
        if (turn % round->task.part_count == 0)
            player->is_playing = child->pid && goes_on(round, child, turn);
        if (!player->is_playing)
            continue;
        count++;
        if (have_turn(round, child, part_of(round, at, turn), err) == 0)
            continue;
        child_release(child);
        player->is_playing = false;
        if (leave_out(&round->question->series[at], err) < 0)
            return -1;
    }
    return count;
}

static int run_in_turns(struct round *round, struct sqlpack_error *err)
{
    auto_release(players_release) struct players players = {
        .items = calloc(round->question->series_count, sizeof(*players.items)),
        .count = round->question->series_count};
    size_t most = players.count > TURNS ? players.count : TURNS;
    size_t parts = round->task.order_count / TURN_OPS_MIN;
    if (!players.items)
        return bench_no_memory(err);
    round->task.part_count = (uint32_t)(parts > most ? most : parts ? parts : 1);
    if (start_players(round, &players, err) < 0)
        return -1;
    int count = 1;
    for (uint32_t turn = 0; count > 0; turn++)
        count = have_turns(round, &players, turn, err);
    return count < 0 ? -1 : end_players(round, &players, err);
}

/* -- a round -------------------------------------------------------------------------------- */

/* Those that have no turns, one after the other. */
static int run_others(const struct round *round, bool in_turns, struct sqlpack_error *err)
{
    struct bench_case *question = round->question;
    for (size_t i = 0; i < question->series_count; i++) {
        struct bench_series *series = &question->series[round->ranks[i]];
        const char *pack;
        if (!series->missing[0] && !(in_turns && has_turns(round, series, &pack)) &&
            run_alone(round, series, err) < 0)
            return -1;
    }
    return 0;
}

bool round_has_turns(const struct bench_case *question)
{
    if (question->state == BENCH_COLD)
        return bench_reads_keys(question->workload) && question->workload != BENCH_READ_ALL;
    return bench_reads_keys(question->workload) && question->state == BENCH_WARM;
}

int round_run(const struct measure *measure, struct bench_case *question, long number,
              struct order *order, struct sqlpack_error *err)
{
    auto_free uint32_t *ranks = calloc(question->series_count, sizeof(*ranks));
    if (!ranks)
        return bench_no_memory(err);
    order_permutations(&order->random, ranks, question->series_count, question->series_count);
    struct round round = {.measure = measure,
                          .question = question,
                          .number = number,
                          .order = order,
                          .ranks = ranks,
                          .task = {.data = measure->data,
                                   .question = question,
                                   .pack = measure->data->pack,
                                   .order = order->items,
                                   .order_count = order->count,
                                   .cycles = order->cycles,
                                   .part_count = 1,
                                   .seed = bench_random_next(&order->random)}};
    bench_random_seed(&round.random, round.task.seed);
    bool in_turns = round_has_turns(question);
    if ((in_turns && run_in_turns(&round, err) < 0) || run_others(&round, in_turns, err) < 0)
        return -1;
    if (number >= 0)
        compare_sums(question, (size_t)number);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* What the files that measure share among themselves; reports need bench.h only. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "bench/bench.h"
#include "util/buf.h"

/* One byte of every cache line: the content has arrived, and the sum tells which. */
static inline uint64_t bench_touch(const void *data, size_t size)
{
    const volatile unsigned char *bytes = data;
    uint64_t sum = size;
    for (size_t i = 0; i < size; i += 64)
        sum += bytes[i];
    return sum;
}

/* -- random.c ----------------------------------------------------------------------------- */

uint64_t bench_seed_next(uint64_t *seed);
/* A 64-bit hash, for sets and tables. */
uint64_t bench_hash(const void *data, size_t size);

void bench_random_fill(struct bench_random *random, void *data, size_t size);
void order_shuffle(struct bench_random *random, uint32_t *order, size_t count);

/* `count` keys: whole permutations of all keys one after the other, the last one cut short. */
void order_permutations(struct bench_random *random, uint32_t *order, size_t count, size_t keys);

/* `count` keys after Zipf's law with exponent 0.99; ranked[0] is the most popular one. */
void order_zipf(struct bench_random *random, uint32_t *order, size_t count, const uint32_t *ranked,
                size_t keys);

/* -- result.c ----------------------------------------------------------------------------- */

int bench_no_memory(struct sqlpack_error *err);

/* Fills *err from SQLite; `db` may be NULL. Returns -1. */
struct sqlite3;
int bench_fail_sqlite(struct sqlpack_error *err, struct sqlite3 *db, int code, const char *what);

/* A path for a message: escaped, shortened. */
struct bench_shown {
    char text[256];
};
struct bench_shown bench_show(const char *path);

/* folder/leaf, which the caller frees; NULL with errno. */
char *bench_join(const char *folder, const char *leaf);

/* Tells the hooks how far it is. 0, or -1 with CANCELLED. */
struct bench_pace {
    const struct sqlpack_hooks *hooks;
    uint64_t started_ns, budget_ns;
};
int bench_tick(const struct bench_pace *pace, struct sqlpack_error *err);

/* -- scratch.c ---------------------------------------------------------------------------- */

/* A folder for what the bench makes; gone with all in it when released. */
struct scratch {
    char *path; /* owned; NULL: none */
};

/* Makes one in `folder`, or beside `dir`. Fails with INVALID where that is another file system. */
int scratch_open(const struct bench_options *options, struct scratch *ret_scratch,
                 struct sqlpack_error *err);

/* Fails with ENOSPC where there is no room for 1.2 times `bytes`. */
int scratch_need(const struct scratch *scratch, uint64_t bytes, struct sqlpack_error *err);
void scratch_release(struct scratch *scratch);

/* Removes a file, or a folder and all in it; absent is fine. 0, or -1 with errno. */
int scratch_remove(const char *path);

/*
 * Gives back the space of files that a run has written, but leaves the empty files
 * until the end: ext4 takes no inode again for minutes after it was freed, and looks
 * at all of these when a file is created (ialloc.c, recently_deleted), so that the
 * next run would create files 5 to 20 times as slowly. Removes them where inodes are
 * scarce. 0, or -1 with errno.
 */
int scratch_retire(const char *path);

/* -- corpus.c, layout.c ------------------------------------------------------------------- */

#define PACK_COPIES_MAX 3

/* What is read: owns all that struct bench_data borrows. */
struct corpus {
    char *dir;                     /* the tree as it is; owned */
    char *pack;                    /* owned */
    char *copies[PACK_COPIES_MAX]; /* owned */
    char *concat;
    char *kvtest;
    struct bench_key *keys;
    struct buf names;
    uint32_t *by_id;
    uint32_t *replay;
    bool has_stat;           /* the pack has metadata in a table of its own */
    uint64_t odd_name_count; /* rows left out for their names */
    bool has_pieces;         /* the pack has content in more than one row */
    struct bench_tree trees[BENCH_LAYOUTS];
    struct bench_data data;
};

/* Reads the keys from the pack. */
int corpus_keys(struct corpus *corpus, struct bench_corpus *counts, struct sqlpack_error *err);
void corpus_release(struct corpus *corpus);

/* Compares every key's content on both sides. *ret_differences counts, each told to the hooks. */
int corpus_compare(const struct corpus *corpus, const struct bench_pace *pace,
                   uint64_t *ret_differences, struct sqlpack_error *err);

/* Reads a log into data.replay, and notes how much of it is of files here (replay.c). */
int replay_read(struct corpus *corpus, const char *path, struct bench_result *result,
                struct sqlpack_error *err);

/* Fills in what the tree takes on disk. */
int corpus_space(const struct corpus *corpus, struct bench_corpus *counts,
                 struct sqlpack_error *err);

/* A number that changes when size, time or identity of a key's file changes. */
int corpus_stamp(const struct corpus *corpus, uint64_t *ret_stamp, struct sqlpack_error *err);

/* Paths of the tree as it is; or a copy of all keys' files in that layout, below `root`. */
int layout_asis(struct corpus *corpus, struct sqlpack_error *err);
int layout_copy(struct corpus *corpus, enum bench_layout layout, const char *root,
                const struct bench_pace *pace, struct sqlpack_error *err);
void layout_release(struct bench_tree *tree);

/* A folder where the pack is mounted: not the tree itself; then the paths of all keys in it. */
int layout_check_mount(const struct bench_options *options, struct sqlpack_error *err);
int layout_mount(struct corpus *corpus, const char *mount, struct sqlpack_error *err);

/* Makes the folders of a path, from below its first `root_bytes` bytes on. 0, or -1 with errno. */
int layout_parents(char *path, size_t root_bytes);

/* The whole content of a key's file, into a buffer of size_max + 1 bytes. */
int corpus_read(const struct corpus *corpus, size_t key, void *buffer, struct sqlpack_error *err);

/* Writes the content of all keys one after the other to corpus->concat, and sets their offsets. */
int concat_write(struct corpus *corpus, const struct bench_pace *pace, struct sqlpack_error *err);

/*
 * Makes as many copies of the pack as the cold cases want and there is room for: with fewer
 * the arms beyond them run singly (copies.c).
 */
int copies_make(struct corpus *corpus, const struct scratch *scratch,
                const struct bench_result *result, const struct bench_pace *pace,
                struct sqlpack_error *err);

/* Makes files of random content below `root`. */
int synthetic_make(const struct bench_sizes *sizes, const char *root, uint64_t seed,
                   const struct bench_pace *pace, struct sqlpack_error *err);

/* What they take, roughly. */
uint64_t synthetic_bytes(const struct bench_sizes *sizes);

/* -- cache.c ------------------------------------------------------------------------------ */

/* Why the data of this path cannot be made cold; NULL: it can. */
const char *cache_refuses_cold(const char *path);

/* Bytes that the whole machine has read from storage since it was started; 0: unknown. */
uint64_t cache_paged_in(void);

/*
 * Whether another process reads for the task, which FUSE means. What it has in the cache cannot
 * be asked, nor counted with what the task reads.
 */
bool cache_is_behind(const struct bench_task *task);

/* Whether all caches may be dropped; and drops them, but for what is not on disk yet. */
int cache_may_drop(struct sqlpack_error *err);
int cache_drop(struct sqlpack_error *err);

/* Reads all that the series would read, so that it is in the cache. */
int cache_fill(const struct bench_task *task, struct sqlpack_error *err);

/* Takes what the task will read out of the cache. */
int cache_evict(const struct bench_task *task, struct sqlpack_error *err);

/* Fills in resident_percent, proof and is_proven for what the task will read. */
void cache_prove(const struct bench_task *task, struct bench_run *run);

/* -- child.c ------------------------------------------------------------------------------ */

/*
 * A task in a process of its own, with memory and handles of its own. Arms that read take
 * turns: child_start returns when the handles are open, child_turn when a part of the order
 * is read, and in between the process waits. All others do all their work from start to end.
 * Where a call fails, the child needs no more but to be released, which kills it.
 */
struct child {
    struct bench_task task; /* with its end of the link */
    pid_t pid;              /* 0: none */
    uint64_t elapsed_ns;    /* in all turns so far */
    bool is_behind;         /* another process reads for it */
    uint64_t behind_bytes;  /* that all of the machine read from storage in its turns */
    struct report *report;  /* memory that both share; NULL: none */
};
int child_start(const struct bench_task *task, const struct bench_pace *pace,
                struct child *ret_child, struct sqlpack_error *err);
int child_turn(struct child *child, uint32_t part, const struct bench_pace *pace,
               struct sqlpack_error *err);
/* Adds its latencies to *hist, where that is not NULL. */
int child_end(struct child *child, const struct bench_pace *pace, struct bench_run *ret_run,
              struct hist *hist, struct sqlpack_error *err);
void child_release(struct child *child);

/* All of it, in one turn. */
int child_run(const struct bench_task *task, const struct bench_pace *pace,
              struct bench_run *ret_run, struct hist *hist, struct sqlpack_error *err);

/* Whether its arm reads the pack itself, which one that reads it through a mount does not. */
static inline bool bench_opens_pack(const struct bench_series *series)
{
    return series->arm->side == BENCH_PACK && series->layout != BENCH_LAYOUT_MOUNT;
}

/*
 * Where a part of the order begins, and the one before it ends. Parts from part_count on are
 * of the keys that runs which are too short go on with.
 */
static inline size_t task_part(const struct bench_task *task, uint32_t part)
{
    return task->order_count * (part / task->part_count) +
           task->order_count * (part % task->part_count) / task->part_count;
}

/* The timed loop of arms that read, in the child (loop.c). */
int read_loop(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
              struct sqlpack_error *err);

/* The same for the first read of a fresh process (first.c). */
int first_loop(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
               struct sqlpack_error *err);
extern const struct bench_arm *const first_arms[]; /* those that know how; then NULL */

/* What a child counts around its timed part. */
struct child_meter {
    uint64_t values[16];
};
void child_meter_start(struct child_meter *meter);
void child_meter_stop(const struct child_meter *meter, struct bench_run *run);

/*
 * In the child: tells that it is ready, and waits, which the meter leaves out. False where
 * there are no more turns.
 */
bool child_next(const struct bench_task *task, uint64_t elapsed_ns, struct child_meter *meter,
                uint32_t *ret_part);

/* -- query.c, filter.c --------------------------------------------------------------------- */

struct query_answer {
    uint64_t match_count, sum, bytes;
};
typedef int query_function(const struct bench_task *task, void *state, struct query_answer *answer,
                           struct sqlpack_error *err);

/* The timed loop of queries, in the child. */
int query_loop(const struct bench_task *task, query_function *query, void *state,
               struct bench_run *ret_run, struct hist *hist, struct sqlpack_error *err);
void query_hit(struct query_answer *answer, const char *name, size_t size);

int filter_choose(const char *pack, struct bench_filter *ret_filter, struct sqlpack_error *err);

/* -- write_file.c -------------------------------------------------------------------------- */

/* What a run of writes needs, made before the clock starts. */
struct write_pool {
    unsigned char *data; /* random content; owned */
    size_t bytes;        /* of it, without the last size_max */
    uint32_t *entries;   /* the entry of every write, all different; owned */
    size_t count;        /* of writes: the order's, or the population, where that is less */
    size_t population;   /* entries that are there beforehand; none to be created */
};

/* Writes of a run that is long enough to be believed, as far as there are files for it. */
size_t write_ops(const struct bench_data *data, enum bench_workload workload);
int write_pool(const struct bench_task *task, struct write_pool *ret_pool); /* 0, or -1: memory */
void write_pool_release(struct write_pool *pool);
const void *write_content(const struct write_pool *pool, size_t index); /* of size_max bytes */
void write_count_bytes(const struct bench_task *task, const struct write_pool *pool,
                       struct bench_run *run);

/* -- measure.c, plan.c, environment.c ----------------------------------------------------- */

struct measure {
    const struct bench_data *data;
    const struct bench_pace *pace;
    size_t round_count;  /* at least, but for what takes far longer than its budget */
    size_t round_limit;  /* at most: where the budget allows, single reads get more rounds */
    double memory_bytes; /* that warm data may take; negative: unknown */
    uint64_t seed;       /* of the case */
};

/*
 * Measures a case: warm-up, then rounds of runs that are long enough to be believed, as
 * many as fit into `budget_ns`. What cannot be measured here gets its reason in `missing`,
 * which is no failure.
 */
int measure_case(const struct measure *measure, struct bench_case *question, uint64_t budget_ns,
                 struct sqlpack_error *err);

/* The run of a series in a round; below 0: its warm-up. */
static inline struct bench_run *bench_run_at(struct bench_series *series, long number)
{
    return number < 0 ? &series->warm_up : &series->runs[number];
}

/* The keys of a round. */
struct order {
    struct bench_random random; /* of this round, whatever the ones before have drawn */
    uint32_t *items;            /* owned */
    size_t count;               /* of the keys that all arms read */
    size_t cycles;              /* times so many keys follow, for runs that are too short */
    double budget_ns;           /* of a round */
    bool has_time;              /* for them to go on */
};

/*
 * Whether arms of the case take turns. Full reads of cold data do not: what one has read
 * ahead would arrive while others have their turn.
 */
bool round_has_turns(const struct bench_case *question);

/*
 * Runs every arm of the case once, on the same keys, in random order: round `number` of its
 * series, below 0 for a warm-up. Arms that read warm take turns, so that whatever the machine
 * does meanwhile happens to all of them alike (round.c).
 */
int round_run(const struct measure *measure, struct bench_case *question, long number,
              struct order *order, struct sqlpack_error *err);

/* Workloads whose operation is the read of a key, or the write of one. */
bool bench_reads_keys(enum bench_workload workload);
bool bench_writes_keys(enum bench_workload workload);

/* What a stamp of the clock costs, and what the loop adds to an operation. */
void measure_overhead(const struct bench_clock *clock, uint64_t *ret_clock_ns,
                      uint64_t *ret_overhead_ns);

/* Fills in the result's cases, without runs. */
int plan_make(const struct bench_options *options, const struct corpus *corpus,
              struct bench_result *result, struct sqlpack_error *err);

/* Building blocks: a case; a series, labelled by its arm and layout where label is NULL; a pair. */
struct bench_case *plan_case(struct bench_result *result, enum bench_workload workload,
                             enum bench_state state, struct sqlpack_error *err);
int plan_series(struct bench_case *question, const struct bench_arm *arm, enum bench_layout layout,
                const char *label, struct sqlpack_error *err);
/* Compares the series of these labels; nothing where one of them is missing. */
int plan_effect(struct bench_case *question, enum bench_pair pair, const char *files,
                const char *pack, struct sqlpack_error *err);

/* The presets that repeat published measurements, and the data that they need (kvtest.c, csv.c). */
int kvtest_make(const struct corpus *corpus, const char *path, const struct bench_pace *pace,
                struct sqlpack_error *err);
int kvtest_plan(struct bench_result *result, struct sqlpack_error *err);
int csv_plan(struct bench_result *result, struct sqlpack_error *err);

/* The share of a case in the budget. */
unsigned plan_weight(const struct bench_case *question);

/* What is known at the start; then what changed until the end, and the gates on it. */
struct environment_start {
    uint64_t cpu_total, cpu_steal, pressure_us, at_ns;
    char governor[32], throttled[32];
};
void environment_mount(const char *path, struct bench_environment *environment);
void environment_begin(struct environment_start *start, const char *path,
                       struct bench_environment *ret_environment);
void environment_end(const struct environment_start *start, struct bench_result *result);

/* -- arms --------------------------------------------------------------------------------- */

/* The order of keys by their rows, for qsort_r; `keys` is an array of struct bench_key. */
int bench_compare_ids(const void *a, const void *b, void *keys);
int bench_compare_keys(const void *a, const void *b);

extern const struct bench_arm arm_file_stdio, arm_file_path, arm_file_best, arm_file_walk,
    arm_file_inode;
extern const struct bench_arm arm_mount_path, arm_mount_walk;
extern const struct bench_arm *const arm_file_uring; /* NULL: built without liburing */
extern const struct bench_arm arm_pack_naive, arm_pack_txn, arm_pack_rowid, arm_pack_blob,
    arm_pack_immutable, arm_pack_mmap, arm_pack_library, arm_pack_scan, arm_pack_mapped_scan;
extern const struct bench_arm arm_concat, arm_concat_scan;

/* Queries on metadata (query.c, query_pack.c). */
extern const struct bench_arm arm_walk_files, arm_query_stat, arm_query_sqlar, arm_query_index,
    arm_query_library;

/* Writes (write_file.c, write_pack.c). */
extern const struct bench_arm arm_write_files, arm_write_journal, arm_write_wal;

/* Whole commands, through the library. */
extern const struct bench_arm arm_whole;

#endif

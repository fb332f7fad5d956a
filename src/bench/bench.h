/* SPDX-License-Identifier: MIT */
/*
 * What the files of the bench share: options, plan, results, and who does what.
 *
 * A result is a list of cases. A case asks one question (random reads, warm); its
 * series are the arms that answer it; every series has one run a round. bench_run
 * measures, bench_judge computes statistics and verdicts from the runs, the
 * writers print. Times are nanoseconds of CLOCK_MONOTONIC unless named otherwise.
 *
 * Errors are as in the library: 0, or -1 with *err filled. Nothing here prints,
 * but to the FILE it is given.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bench/clock.h"
#include "bench/hist.h"
#include "bench/stats.h"
#include "sqlpack.h"

/* -- options ------------------------------------------------------------------------------ */

enum bench_preset {
    BENCH_PRESET_DEFAULT,
    BENCH_PRESET_QUICK,
    BENCH_PRESET_FULL,
    BENCH_PRESET_KVTEST, /* the table of "35% faster than the file system", every row */
    BENCH_PRESET_CSV,    /* the published CSV benchmark: write, full read, filtered query */
};

/* How the user means to read; which rows decide. */
enum bench_use { BENCH_USE_MIXED, BENCH_USE_WARM, BENCH_USE_COLD };

enum bench_layout {
    BENCH_LAYOUT_ASIS,   /* the user's tree in place; the synthetic one as it was made */
    BENCH_LAYOUT_FLAT,   /* one folder */
    BENCH_LAYOUT_FANOUT, /* two levels of folders */
    BENCH_LAYOUT_FRESH,  /* a straight copy: separates ageing from layout */
    BENCH_LAYOUT_MOUNT,  /* the pack where the user has mounted it; its arms are the pack's */
    BENCH_LAYOUTS,
};

enum bench_shape { BENCH_NO_SIZES, BENCH_FIXED, BENCH_UNIFORM, BENCH_LOGNORMAL };

/* N files of random content. */
struct bench_sizes {
    enum bench_shape shape;
    uint64_t count;
    double a, b; /* fixed: a; uniform: a to b, both included; lognormal: median a, sigma b */
};

/* All zero is the default, where not said otherwise. Strings are borrowed. */
struct bench_options {
    const char *dir;          /* the user's tree, never written to; NULL with sizes or a preset */
    const char *pack;         /* its pack; NULL: made in the scratch folder */
    const char *scratch;      /* a folder for scratch; NULL: beside dir, or the current folder */
    const char *mount;        /* a folder that shows dir, where the pack is mounted; NULL: none */
    const char *replay;       /* a log of reads; NULL: none */
    const char *program;      /* sqlpack itself, for first reads; NULL: there are none */
    struct bench_sizes sizes; /* synthetic data */
    enum bench_preset preset;
    enum bench_use use;
    unsigned layouts;       /* bits, 1 << enum bench_layout; 0: asis */
    uint64_t seed;          /* 0: drawn, and told in the result */
    unsigned round_count;   /* 0: the preset's */
    uint64_t budget_ns;     /* 0: the preset's */
    uint64_t batch;         /* writes a transaction, in the class "each"; 0: 1 */
    bool drop_caches;       /* full cold too; root */
    bool cross_file_system; /* scratch may lie on another file system */
    struct sqlpack_hooks hooks;
    int argc; /* for the record only */
    char **argv;
};

/* -- what is measured --------------------------------------------------------------------- */

enum bench_side { BENCH_FILES, BENCH_PACK, BENCH_CONTROL };

enum bench_workload {
    BENCH_READ_RANDOM,     /* R1: whole files, without replacement */
    BENCH_READ_ZIPF,       /* R2: zipf 0.99 */
    BENCH_READ_ASCENDING,  /* R3 */
    BENCH_READ_DESCENDING, /* R3 */
    BENCH_READ_REPLAY,     /* the order of a log */
    BENCH_READ_ALL,        /* F1: everything once, in the side's own order */
    BENCH_FILTER_SIZE,     /* M1: size above its 99th percentile */
    BENCH_FILTER_TIME,     /* M1: mtime above its 99th percentile */
    BENCH_FILTER_NAME,     /* M1: a GLOB on the name */
    BENCH_FILTER_READ,     /* M1r: by size, and reads the hits */
    BENCH_LIST,            /* M2: all names */
    BENCH_FIRST_READ,      /* L1: one read of a fresh process */
    BENCH_WRITE_CREATE,    /* W1 */
    BENCH_WRITE_OVERWRITE, /* W2: in place, same size */
    BENCH_WRITE_DELETE,    /* W3: half of what is there */
    BENCH_DO_PACK,         /* P1: the whole command, without its process */
    BENCH_DO_UNPACK,
    BENCH_DO_VERIFY,
    BENCH_KVTEST_READ, /* with what kvtest times: open to close */
    BENCH_KVTEST_UPDATE,
    BENCH_CSV_WRITE, /* sequential write of records */
    BENCH_CSV_READ,  /* full read */
    BENCH_CSV_QUERY, /* filtered query */
    BENCH_WORKLOADS,
};

enum bench_state {
    BENCH_WARM,
    BENCH_COLD,      /* data out of the cache; metadata stays */
    BENCH_FULL_COLD, /* drop_caches */
    BENCH_STATELESS, /* writes */
};

enum bench_durability {
    BENCH_NOT_A_WRITE,
    BENCH_SYNC_NONE,
    BENCH_SYNC_END,  /* once, at the end, checkpoint and close included */
    BENCH_SYNC_EACH, /* every operation, or every batch */
};

struct bench_arm; /* see below */

/* How an arm's cache state was proven. */
enum bench_proof {
    BENCH_UNVERIFIED,
    BENCH_BY_CACHESTAT,
    BENCH_BY_MINCORE,
    BENCH_BY_READS, /* warm: nothing came from storage during the run */
};

/* One arm in one round, measured in a process of its own. */
struct bench_run {
    bool is_done;                /* false: it could not be; see the series' `missing` */
    uint64_t op_count;           /* reads, queries, writes */
    uint64_t bytes;              /* content that reached the caller's buffer, or was written */
    uint64_t elapsed_ns;         /* of the timed loop */
    uint64_t setup_ns;           /* open and prepare, outside the loop; inside: kvtest's, and a
                                    first read's time until main */
    uint64_t match_count;        /* of a query: hits */
    uint64_t sum;                /* of what the round asked for: equal where arms read the same */
    uint64_t user_ns, system_ns; /* processor time in the loop */
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t read_calls, write_calls;                 /* syscr, syscw of /proc/self/io */
    uint64_t storage_read_bytes, storage_write_bytes; /* read_bytes, write_bytes of it */
    uint64_t mapped_bytes;                            /* SQLite's mmap in force; 0: none */
    double resident_percent;                          /* in the cache, just before; -1: unknown */
    enum bench_proof proof;                           /* of resident_percent */
    bool is_proven;                                   /* the cache was as the case says */
};

/* Computed by bench_judge. Of the means of the rounds, microseconds an operation. */
struct bench_summary {
    size_t round_count; /* rounds that count */
    double median_us, min_us, max_us, mad_us, cv;
    double p50_us, p90_us, p99_us, p999_us, max_op_us; /* of single operations; -1: too few */
    double bytes_per_second;
    double slope_percent; /* over all rounds, of the mean */
    size_t outlier_count; /* flagged, kept */
    bool is_too_short;    /* shown as "+": no verdict */
    bool has_drift;
};

/* Rows of published tables, that a series stands beside. */
enum bench_published {
    BENCH_NOT_PUBLISHED,
    BENCH_KV_DIRECT,
    BENCH_KV_PLAIN,
    BENCH_KV_BLOB,
    BENCH_KV_BLOB_RANDOM,
    BENCH_KV_MMAP,
    BENCH_KV_MMAP_BLOB_RANDOM,
    BENCH_CSV_SQLITE, /* of the case's operation */
    BENCH_CSV_FILE,
};

/* An arm in a case. */
struct bench_series {
    const struct bench_arm *arm;
    enum bench_layout layout;       /* of the files side */
    char label[64];                 /* unique in its case: "F-path", "--mmap 1G", "F-path again" */
    enum bench_published published; /* its row */
    char missing[200];              /* why it has no runs; "": it has */
    struct bench_run warm_up;       /* printed, not counted */
    struct bench_run *runs;         /* one a round; owned by the result */
    struct hist *hist;              /* of all of them; owned */
    struct bench_summary summary;
};

enum bench_pair {
    BENCH_DROP_IN, /* F-path against S-naive: what a first port reads like */
    BENCH_BEST,    /* the best code on both sides, named in advance */
    BENCH_AA,      /* the same arm twice */
    BENCH_ROW,     /* a row of a published table against its direct file access */
    BENCH_OTHER,   /* for information: the control, other layouts */
};

enum bench_verdict {
    BENCH_NO_VERDICT, /* too short, missing */
    BENCH_PACK_FASTER,
    BENCH_FILES_FASTER,
    BENCH_NO_DIFFERENCE,
    BENCH_INCONCLUSIVE,
    BENCH_DEPENDS, /* of a case: its pairs disagree */
};

/* Two series compared. The plan says which; bench_judge fills in what follows. */
struct bench_effect {
    enum bench_pair pair;
    size_t files, pack; /* index of the series */
    size_t round_count;
    double ratio; /* median over rounds of t_files / t_pack: above 1 the pack is faster; 0: none */
    struct stats_interval interval;  /* by order statistics */
    double mean_ratio;               /* geometric mean, the cross-check */
    struct stats_interval bootstrap; /* of mean_ratio */
    enum bench_verdict verdict;
};

/* One question. */
struct bench_case {
    enum bench_workload workload;
    enum bench_state state;
    enum bench_durability durability;
    unsigned threads;            /* 1 but for the thread rows */
    uint64_t batch;              /* writes a transaction; 0: does not apply */
    uint64_t wanted_ops;         /* a run with fewer, or below 100 ms, is too short; 0: none is */
    uint64_t fixed_ops;          /* operations of every run; 0: as the budget allows */
    bool has_free_results;       /* arms need not deliver the same bytes */
    uint64_t match_count;        /* of the filters: hits, the same on both sides */
    char missing[200];           /* why it was not measured; "": it was */
    bool results_differ;         /* arms did not deliver the same bytes or hits: a fault */
    size_t round_count;          /* of every series' runs */
    struct bench_series *series; /* owned */
    size_t series_count;
    struct bench_effect *effects; /* owned */
    size_t effect_count;
    enum bench_verdict verdict;
};

/* -- the whole result --------------------------------------------------------------------- */

/* Texts are "" and numbers -1 where they are not known. */
struct bench_environment {
    char kernel[160], machine[72], processor[96];
    int processor_count;
    char governor[32], boost[16], smt[16], virtualisation[32], clock_source[32];
    char mitigations[64]; /* "off", or what the kernel's command line says; "" is the default */
    double memory_total_bytes, memory_available_bytes;
    char file_system[32], mount_point[256], mount_options[256];
    char mounted_file_system[32]; /* of the mounted pack */
    double block_bytes, free_percent;
    char device[64], device_model[96], scheduler[64]; /* scheduler: the active one */
    int is_rotational, read_ahead_kib;
    double load_start, load_end;                 /* one minute */
    double steal_percent, psi_some_percent;      /* over the run */
    char sqlite_version[64], sqlite_source[128]; /* of the library that is linked */
    char pragmas[256];                           /* that differ from the defaults, in force */
};

/* What was read. */
struct bench_corpus {
    uint64_t file_count;  /* keys: files that are read */
    uint64_t bytes;       /* of them */
    uint64_t entry_count; /* all entries of the pack */
    uint64_t folder_count;
    uint64_t empty_count;    /* files without content: no keys */
    uint64_t chunked_count;  /* left out: not in one row */
    uint64_t chunked_bytes;  /* of them */
    uint64_t inflated_count; /* keys stored deflated: pack arms inflate them */
    uint64_t size_min, size_p10, size_p50, size_p90, size_p99, size_max;
    unsigned depth; /* folders on the longest path */
    bool is_synthetic, pack_is_scratch;
    uint8_t digest[SQLPACK_DIGEST_BYTES]; /* root digest of the pack */
    uint64_t tree_allocated_bytes, padding_bytes, folder_allocated_bytes, tree_inode_count;
    double inode_percent; /* inodes of the tree, of all that the file system has; -1: unknown */
    uint64_t pack_bytes, pack_allocated_bytes;
    uint32_t page_bytes;
    struct sqlpack_page_choice choices[SQLPACK_PAGE_SIZES]; /* 0 where not estimated */
};

enum bench_gate_id {
    BENCH_GATE_CONTENT, /* every key has the same content on both sides */
    BENCH_GATE_RESULTS, /* arms of a round gave the same sums and hits */
    BENCH_GATE_AA,
    BENCH_GATE_LOAD,
    BENCH_GATE_STEAL,
    BENCH_GATE_PRESSURE,
    BENCH_GATE_CLOCK,  /* no change of governor or throttling */
    BENCH_GATE_CACHE,  /* cache states proven */
    BENCH_GATE_CHANGE, /* the tree did not change under the run */
    BENCH_GATES,
};
enum bench_outcome { BENCH_NOT_KNOWN, BENCH_PASSED, BENCH_FAILED };
struct bench_gate {
    enum bench_outcome outcome;
    char detail[200]; /* "load 1.70 at the start, limit 1.00" */
};

/* The lines at the end, one a criterion; by bench_judge. */
enum bench_criterion {
    BENCH_ON_SPACE,
    BENCH_ON_READ_WARM,
    BENCH_ON_READ_COLD,
    BENCH_ON_READ_ALL,
    BENCH_ON_METADATA,
    BENCH_ON_WRITE,
    BENCH_ON_THREADS,
    BENCH_CRITERIA,
};
struct bench_line {
    bool is_known;
    enum bench_verdict verdict;
    char text[480];
};
enum bench_advice {
    BENCH_NO_ADVICE, /* nothing was measured that it could rest on */
    BENCH_WITHHELD,
    BENCH_MIGRATE,
    BENCH_STAY,
    BENCH_TRADE_OFF,
};

struct bench_result {
    enum bench_preset preset;
    enum bench_use use;
    uint64_t seed;
    size_t round_count;
    int64_t started, ended; /* seconds since 1970 */
    uint64_t clock_ns;      /* cost of one stamp */
    uint64_t overhead_ns;   /* of the loop around an operation, the stamp included */
    int argc;               /* borrowed from the options */
    char **argv;
    struct bench_environment environment;
    struct bench_corpus corpus;
    struct bench_gate gates[BENCH_GATES];
    char **notes; /* what was done or left out, a sentence each; owned */
    size_t note_count;
    struct bench_case *cases; /* owned */
    size_t case_count;
    struct bench_line lines[BENCH_CRITERIA];
    enum bench_advice advice;
    char reason[1024]; /* for the advice, or for withholding it */
};

/*
 * Measures all that the options ask for. The caller releases the result. Scratch
 * is gone when it returns, whatever it returns; the hooks' progress counts planned
 * milliseconds as entries. Fails as sqlpack_open and sqlpack_pack do, and with
 * INVALID where there is nothing to read, CORRUPT where pack and tree differ.
 */
int bench_run(const struct bench_options *options, struct bench_result *ret_result,
              struct sqlpack_error *err);
void bench_result_release(struct bench_result *result);

/*
 * The fresh process of a first read: sqlpack bench BENCH_FIRST_READ_OPTION ARM PATH NAME ID SIZE
 * FLAGS. Reads one file or row, and tells on standard output what came of it, in a form that is
 * for bench alone. Returns 0, or -1 where the words are odd or the output is. (first.c)
 */
#define BENCH_FIRST_READ_OPTION "--first-read"
int bench_first_read(int count, char **words);

/* Appends a sentence to the notes. */
int bench_note(struct bench_result *result, struct sqlpack_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fill *err and return -1, the second with the text of errno behind the message. */
int bench_fail(struct sqlpack_error *err, enum sqlpack_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int bench_fail_errno(struct sqlpack_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* -- verdicts and writers ----------------------------------------------------------------- */

/*
 * Computes summaries, effects, the gates that rest on them, verdicts, lines and
 * advice. Changes nothing that was measured. Fails with NO_MEMORY.
 */
int bench_judge(struct bench_result *result, struct sqlpack_error *err);

/* The words of the judge, fixed in advance: "pack faster", "drop-in", "steal", "MIGRATE". */
const char *bench_verdict_name(enum bench_verdict verdict); /* words.c */
const char *bench_pair_name(enum bench_pair pair);
const char *bench_gate_name(enum bench_gate_id gate);
const char *bench_criterion_name(enum bench_criterion criterion);
const char *bench_advice_name(enum bench_advice advice);
const char *bench_caveat(size_t index); /* what is always to be said; NULL behind the last */

/*
 * Reads a result from the JSON that sqlpack bench wrote. The caller releases it. Fails with
 * NOT_FOUND, IO, NO_MEMORY, and INVALID for anything else. What an arm's text says is lost.
 */
int bench_load(const char *path, struct bench_result *ret_result, struct sqlpack_error *err);
const char *bench_compile_option(int index); /* of SQLite; NULL behind the last */

/* What all rounds of a series add up to. */
struct bench_totals {
    double busy_ns; /* elapsed, times threads */
    double user_ns, system_ns, setup_ns;
    double ops, bytes, read_calls, storage_read_bytes;
    size_t unproven; /* runs whose cache was not shown to be as told */
};
struct bench_totals bench_add_up(const struct bench_case *question,
                                 const struct bench_series *series); /* limiter.c */

static inline bool bench_is_cold(const struct bench_case *question)
{
    return question->state == BENCH_COLD || question->state == BENCH_FULL_COLD;
}

/*
 * Where the time of a series goes, and what an operation asks of the system: "F-path: in the
 * kernel (open fstat read close), 1.0 reads". "" where nothing is known. (limiter.c)
 */
struct bench_words bench_limit(const struct bench_corpus *corpus, const struct bench_case *question,
                               const struct bench_series *series);

/* How many pages SQLite reads one after the other for a row with so much content, its index
 * aside: 1, and the chain of overflow pages. */
double bench_row_pages(uint64_t size, uint32_t page_bytes);

/* What others measured (published.c); NaN where they did not. */
#define BENCH_SYSTEMS 5
const char *bench_system_name(size_t system); /* "Win7" */
double bench_published_us(enum bench_published row, size_t system);
double bench_published_seconds(enum bench_workload operation, enum bench_published row);

/* What a move to the pack gives back: low without the folders' blocks, which only rmdir frees. */
struct bench_freed {
    double low_bytes, high_bytes;
    double low_percent, high_percent; /* of what the tree takes */
};
void bench_space(const struct bench_corpus *corpus, struct bench_freed *ret_freed);

/* An effect's verdict with its figure: "pack faster x1.93", "inconclusive, try --rounds 30". */
struct bench_words {
    char text[240];
};
struct bench_words bench_effect_words(const struct bench_case *question,
                                      const struct bench_effect *effect);
double bench_lead(const struct bench_effect *effect); /* ratio, or 1 / ratio below 1 */
struct bench_words bench_lead_words(enum bench_verdict verdict, double lead);

/* The names that outputs and options share: "random read", "warm", "F-path". */
const char *bench_workload_name(enum bench_workload workload); /* names.c */
const char *bench_state_name(enum bench_state state);
const char *bench_durability_name(enum bench_durability durability);
const char *bench_layout_name(enum bench_layout layout);
const char *bench_preset_name(enum bench_preset preset);

/* -- arms (for the runner) ---------------------------------------------------------------- */

/* xoshiro256**, seeded through SplitMix64 (Blackman and Vigna, prng.di.unimi.it). */
struct bench_random {
    uint64_t state[4];
};
void bench_random_seed(struct bench_random *random, uint64_t seed);
uint64_t bench_random_next(struct bench_random *random);
uint64_t bench_random_below(struct bench_random *random, uint64_t bound); /* unbiased */
double bench_random_unit(struct bench_random *random);                    /* [0, 1) */

/* A file and its row. */
struct bench_key {
    const char *name; /* in the pack, and under the tree as it is */
    int64_t id;       /* sqlar.id */
    uint64_t size;    /* of the content */
    uint64_t offset;  /* in the concatenation */
    bool is_deflated; /* in the pack */
};

/* One layout of the files. */
struct bench_tree {
    enum bench_layout layout;
    char *root;                /* owned */
    const char **paths;        /* whole paths, one a key; owned, the texts in `texts` */
    const char **leaves;       /* the part behind the folder */
    uint32_t *folders;         /* index into folder_paths, one a key; owned */
    const char **folder_paths; /* owned */
    size_t folder_count;
    char *texts;    /* owned */
    int open_flags; /* of the files: O_NOATIME, where that is permitted for all of the tree */
};

/* What queries on metadata ask for. */
struct bench_filter {
    int64_t size_above;  /* bytes */
    int64_t mtime_above; /* seconds since 1970 */
    char glob[64];       /* of the whole name, '*' matches '/' too */
};

/* Where the arms of a case find the data. Shared with the children by fork; read only. */
struct bench_data {
    const struct bench_key *keys;
    size_t key_count;
    uint64_t size_max;              /* of the largest key */
    const struct bench_tree *trees; /* by layout; root is NULL where there is none */
    const char *pack;
    char *const *copies; /* of the pack: so that arms in turns have a file each (copies.c) */
    size_t copy_count;
    const char *concat;
    const char *kvtest; /* kvtest's database; NULL: none */
    struct bench_filter filter;
    const char *scratch; /* for arms that write */
    const char *program; /* for first reads */
    struct bench_clock clock;
    double mean_bytes;      /* of a key */
    double all_bytes;       /* of all layouts, pack and concatenation together */
    const uint32_t *by_id;  /* all keys, as they lie in the pack */
    size_t record_count;    /* of the CSV benchmark */
    const uint32_t *replay; /* keys of a log, in its order */
    size_t replay_count;
};

/* What a child is to do. */
struct bench_task {
    const struct bench_data *data;
    const struct bench_case *question;
    const struct bench_series *series;
    const char *pack;      /* data->pack, or a copy */
    const uint32_t *order; /* keys, in this order for all arms of a round */
    size_t order_count;    /* operations; queries use no key */
    size_t cycles;         /* times so many keys are in the order: more for runs too short */
    uint32_t part_count;   /* of the order, one a turn, for arms that read */
    int link;              /* to the process that gives the turns */
    uint64_t seed;         /* of the round */
};

/*
 * An arm. Reading arms give open, read and close, and the runner's loop times
 * read: it copies one file's whole content into the buffer, which holds the
 * largest file and a byte more, and returns its size, or -1 with errno. All others
 * give run, which does the whole work in the child, timing included.
 */
struct bench_arm {
    const char *name; /* "F-path" */
    enum bench_side side;
    const char *summary; /* what it does, for the report */
    const char *calls;   /* system calls an operation, in words; NULL: none told */
    /* rearranges the keys of a part of the order, all different, before the clock; may be NULL */
    int (*arrange)(const struct bench_task *task, uint32_t *order, size_t count);
    int (*open)(const struct bench_task *task, void **ret_state, struct sqlpack_error *err);
    ssize_t (*read)(void *state, size_t key, void *buffer, size_t capacity);
    uint64_t (*mapped)(const void *state); /* bytes that SQLite maps; NULL: none */
    void (*close)(void *state);
    const void *detail; /* for run: what else sets this arm apart; may be NULL */
    int (*run)(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
               struct sqlpack_error *err);
};

#endif

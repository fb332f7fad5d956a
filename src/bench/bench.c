/* SPDX-License-Identifier: MIT */
/* A run of the bench from options to result: data on both sides, then case after case. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

#define SECOND           1000000000u
#define WARM_SHARE       0.6  /* of the available memory, at most, for data that is read warm */
#define FEW_KEYS         1000 /* with fewer the budget shrinks in proportion */
#define ROUNDS_LIMIT     63   /* where the budget allows more than there must be */
#define CASE_MIN_NS      300000000u
#define CSV_RECORD_BYTES 20000 /* a file of a line takes a block, in two layouts, twice */
#define SYNTHETIC_FILES  100000
#define SYNTHETIC_SIZE_A 8000
#define SYNTHETIC_SIZE_B 12000

/* What a run holds until its end. */
struct session {
    struct bench_options options; /* completed: nothing is left open */
    struct bench_pace pace;
    struct scratch scratch;
    struct corpus corpus;
    struct environment_start start;
    size_t round_limit;
    uint64_t stamp;
};

static void session_release(struct session *session)
{
    corpus_release(&session->corpus);
    scratch_release(&session->scratch);
}

/* -- options ------------------------------------------------------------------------------ */

static void complete(struct session *session)
{
    struct bench_options *options = &session->options;
    static const struct {
        unsigned round_count, seconds;
    } defaults[] = {[BENCH_PRESET_DEFAULT] = {15, 155},
                    [BENCH_PRESET_QUICK] = {11, 23},
                    [BENCH_PRESET_FULL] = {15, 1200},
                    [BENCH_PRESET_KVTEST] = {11, 170},
                    [BENCH_PRESET_CSV] = {11, 60}};
    session->round_limit = options->round_count ? options->round_count : ROUNDS_LIMIT;
    if (!options->round_count)
        options->round_count = defaults[options->preset].round_count;
    if (!options->budget_ns)
        options->budget_ns = (uint64_t)defaults[options->preset].seconds * SECOND;
    options->layouts |= 1u << BENCH_LAYOUT_ASIS;
    if (options->preset == BENCH_PRESET_KVTEST)
        options->layouts |= 1u << BENCH_LAYOUT_FLAT;
    while (!options->seed) {
        if (getrandom(&options->seed, sizeof(options->seed), 0) < 0)
            options->seed = bench_now();
        options->seed >>= 64 - 53; /* any reader of JSON takes it exactly */
    }
    if (!options->dir && options->sizes.shape == BENCH_NO_SIZES)
        options->sizes = (struct bench_sizes){.shape = BENCH_UNIFORM,
                                              .count = SYNTHETIC_FILES,
                                              .a = SYNTHETIC_SIZE_A,
                                              .b = SYNTHETIC_SIZE_B};
}

/* -- data --------------------------------------------------------------------------------- */

static char *in_scratch(const struct session *session, const char *leaf)
{
    return bench_join(session->scratch.path, leaf);
}

/* The tree: the user's, or one that is made. */
static int take_tree(struct session *session, struct sqlpack_error *err)
{
    const struct bench_options *options = &session->options;
    struct stat stat_of;
    if (!options->dir) {
        session->corpus.dir = in_scratch(session, "tree");
        if (!session->corpus.dir)
            return bench_no_memory(err);
        /* tree, pack and concatenation */
        if (scratch_need(&session->scratch, 3 * synthetic_bytes(&options->sizes), err) < 0)
            return -1;
        return synthetic_make(&options->sizes, session->corpus.dir, options->seed, &session->pace,
                              err);
    }
    if (stat(options->dir, &stat_of) < 0)
        return bench_fail_errno(err, "cannot open '%s'", bench_show(options->dir).text);
    if (!S_ISDIR(stat_of.st_mode))
        return bench_fail(err, SQLPACK_INVALID, "cannot measure '%s': it is not a folder",
                          bench_show(options->dir).text);
    session->corpus.dir = strdup(options->dir);
    return session->corpus.dir ? 0 : bench_no_memory(err);
}

/* Tells how long a call of the library takes as progress of the whole, and passes problems on. */
static int on_progress(void *user, const struct sqlpack_progress *progress)
{
    struct sqlpack_error err;
    (void)progress;
    return bench_tick(user, &err) < 0;
}

static void on_problem(void *user, const struct sqlpack_problem *problem)
{
    const struct bench_pace *pace = user;
    if (pace->hooks->problem && problem->kind != SQLPACK_NOTE)
        pace->hooks->problem(pace->hooks->user, problem);
}

static int make_pack(struct session *session, struct bench_corpus *counts,
                     struct sqlpack_error *err)
{
    struct sqlpack_pack_result result;
    const struct sqlpack_pack_options options = {
        .no_sync = true,
        .hooks = {.progress = on_progress, .problem = on_problem, .user = &session->pace}};
    session->corpus.pack = in_scratch(session, "tree.db");
    if (!session->corpus.pack)
        return bench_no_memory(err);
    if (sqlpack_pack(session->corpus.dir, session->corpus.pack, &options, &result, err) < 0)
        return -1;
    memcpy(counts->choices, result.choices, sizeof(counts->choices));
    counts->pack_is_scratch = true;
    counts->tree_allocated_bytes = result.tree_allocated_bytes;
    counts->tree_inode_count = result.tree_inode_count;
    return 0;
}

/* The gate: sqlpack_open refuses what is hostile, before any arm touches it. */
static int describe_pack(struct session *session, struct bench_corpus *counts,
                         struct sqlpack_error *err)
{
    struct sqlpack_summary summary;
    struct sqlpack *pack;
    if (sqlpack_open(session->corpus.pack, &pack, err) < 0)
        return -1;
    int status = sqlpack_info(pack, &summary, err);
    sqlpack_close(pack);
    if (status < 0)
        return -1;
    counts->pack_bytes = summary.pack_bytes;
    counts->pack_allocated_bytes = summary.pack_allocated_bytes;
    counts->page_bytes = summary.page_bytes;
    if (!counts->tree_allocated_bytes)
        counts->tree_allocated_bytes = summary.tree_allocated_bytes;
    if (summary.has_root_digest)
        memcpy(counts->digest, summary.root_digest, sizeof(counts->digest));
    return 0;
}

static int take_pack(struct session *session, struct bench_corpus *counts,
                     struct sqlpack_error *err)
{
    if (session->options.pack) {
        /* where SQLite is built to take URIs, "./" keeps a name like "file:x" from being one */
        bool is_odd = strncmp(session->options.pack, "file:", 5) == 0;
        session->corpus.pack =
            is_odd ? bench_join(".", session->options.pack) : strdup(session->options.pack);
        if (!session->corpus.pack)
            return bench_no_memory(err);
    } else if (make_pack(session, counts, err) < 0) {
        return -1;
    }
    return describe_pack(session, counts, err);
}

/* Whether a file may be opened with O_NOATIME; *known is an owner for whom that is granted. */
static bool may_stay_quiet(const char *path, uid_t *known)
{
    struct stat stat_of;
    if (lstat(path, &stat_of) < 0)
        return false;
    if (stat_of.st_uid == *known)
        return true;
    auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOATIME);
    *known = fd < 0 ? *known : stat_of.st_uid;
    return fd >= 0;
}

/* O_NOATIME is on for all files or for none, so that no arm pays for a retry. */
static void choose_open_flags(struct corpus *corpus)
{
    struct bench_tree *tree = &corpus->trees[BENCH_LAYOUT_ASIS];
    uid_t known = geteuid();
    for (size_t i = 0; i < corpus->data.key_count; i++)
        if (!may_stay_quiet(tree->paths[i], &known))
            return;
    tree->open_flags = O_NOATIME;
}

static int make_layouts(struct session *session, struct sqlpack_error *err)
{
    for (unsigned i = BENCH_LAYOUT_ASIS + 1; i <= BENCH_LAYOUT_FRESH; i++) {
        if (!(session->options.layouts & 1u << i))
            continue;
        enum bench_layout layout = (enum bench_layout)i;
        auto_free char *root = in_scratch(session, bench_layout_name(layout));
        if (!root)
            return bench_no_memory(err);
        if (layout_copy(&session->corpus, layout, root, &session->pace, err) < 0)
            return -1;
    }
    return 0;
}

/* The pack where the user has mounted it. */
static int take_mount(struct session *session, struct bench_result *result,
                      struct sqlpack_error *err)
{
    const char *mount = session->options.mount;
    struct bench_environment *environment = &result->environment;
    if (!mount)
        return 0;
    environment_mount(mount, environment);
    if (layout_mount(&session->corpus, mount, err) < 0)
        return -1;
    return bench_note(result, err, "the pack is mounted on '%s' (%s), where M-path and M-walk read",
                      bench_show(mount).text, environment->mounted_file_system);
}

/* What arms do or leave out because of the data. */
static int note_content(const struct bench_corpus *counts, struct bench_result *result,
                        struct sqlpack_error *err)
{
    if (counts->inflated_count &&
        bench_note(result, err,
                   "%llu of %llu files are deflated in the pack: its arms inflate them with zlib",
                   (unsigned long long)counts->inflated_count,
                   (unsigned long long)counts->file_count) < 0)
        return -1;
    uint64_t all_bytes = counts->chunked_bytes + counts->bytes;
    if (counts->chunked_count &&
        bench_note(result, err,
                   "%llu files above 64 MiB or in pieces are not read: %llu of %llu bytes",
                   (unsigned long long)counts->chunked_count,
                   (unsigned long long)counts->chunked_bytes, (unsigned long long)all_bytes) < 0)
        return -1;
    return 0;
}

/* What arms read besides files and pack: the concatenation, or kvtest's database. */
static int make_others(struct session *session, struct sqlpack_error *err)
{
    struct corpus *corpus = &session->corpus;
    bool is_kvtest = session->options.preset == BENCH_PRESET_KVTEST;
    char **path = is_kvtest ? &corpus->kvtest : &corpus->concat;
    *path = in_scratch(session, is_kvtest ? "kvtest.db" : "concat");
    if (!*path)
        return bench_no_memory(err);
    corpus->data.kvtest = corpus->kvtest;
    return is_kvtest ? kvtest_make(corpus, corpus->kvtest, &session->pace, err)
                     : concat_write(corpus, &session->pace, err);
}

static unsigned count_layouts(unsigned layouts)
{
    unsigned count = 0;
    for (; layouts; layouts >>= 1)
        count += layouts & 1;
    return count;
}

/* All data is there and the same on both sides, or *ret_differences is not 0. */
static int prepare(struct session *session, struct bench_result *result, uint64_t *ret_differences,
                   struct sqlpack_error *err)
{
    struct bench_corpus *counts = &result->corpus;
    struct corpus *corpus = &session->corpus;
    counts->is_synthetic = !session->options.dir;
    counts->inode_percent = -1;
    if ((session->options.mount && layout_check_mount(&session->options, err) < 0) ||
        scratch_open(&session->options, &session->scratch, err) < 0 ||
        take_tree(session, err) < 0 || take_pack(session, counts, err) < 0 ||
        corpus_keys(corpus, counts, err) < 0 || note_content(counts, result, err) < 0 ||
        layout_asis(corpus, err) < 0 || take_mount(session, result, err) < 0)
        return -1;
    choose_open_flags(corpus);
    if (session->options.replay && replay_read(corpus, session->options.replay, result, err) < 0)
        return -1;
    if (filter_choose(corpus->pack, &corpus->data.filter, err) < 0)
        return -1;
    if (corpus_compare(corpus, &session->pace, ret_differences, err) < 0 || *ret_differences)
        return *ret_differences ? 0 : -1;
    if (corpus_space(corpus, counts, err) < 0)
        return -1;
    unsigned copies = count_layouts(session->options.layouts) - 1;
    corpus->data.mean_bytes = (double)counts->bytes / (double)corpus->data.key_count;
    corpus->data.all_bytes = (double)counts->bytes * (copies + (session->options.mount ? 4 : 3));
    corpus->data.scratch = session->scratch.path;
    corpus->data.program = session->options.program;
    if (scratch_need(&session->scratch, counts->bytes * (copies + 1) + 4096, err) < 0 ||
        make_layouts(session, err) < 0 || make_others(session, err) < 0 ||
        corpus_stamp(corpus, &session->stamp, err) < 0)
        return -1;
    auto_close int folder = open(session->scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        syncfs(folder);
    return 0;
}

/* The CSV benchmark has records of its own, which its arms make, and neither tree nor pack. */
static int prepare_csv(struct session *session, struct sqlpack_error *err)
{
    if (scratch_open(&session->options, &session->scratch, err) < 0 ||
        scratch_need(&session->scratch, session->options.sizes.count * CSV_RECORD_BYTES, err) < 0)
        return -1;
    session->corpus.data.scratch = session->scratch.path;
    session->corpus.data.record_count = (size_t)session->options.sizes.count;
    return 0;
}

/* -- cases -------------------------------------------------------------------------------- */

/* Few files are measured quickly: no time makes a verdict of three. */
static uint64_t scale(const struct session *session, uint64_t ns)
{
    size_t keys = session->corpus.data.key_count;
    bool has_few = keys < FEW_KEYS && session->options.preset != BENCH_PRESET_CSV;
    return has_few ? ns / FEW_KEYS * keys : ns;
}

static int measure_all(struct session *session, struct bench_result *result,
                       struct sqlpack_error *err)
{
    double available = result->environment.memory_available_bytes;
    struct measure measure = {.data = &session->corpus.data,
                              .pace = &session->pace,
                              .round_count = session->options.round_count,
                              .round_limit = session->round_limit,
                              .memory_bytes = available < 0 ? -1 : available * WARM_SHARE,
                              .seed = session->options.seed};
    uint64_t budget_all_ns = scale(session, session->options.budget_ns);
    uint64_t end_ns = session->pace.started_ns + budget_all_ns;
    /* what packing has taken is not saved on the rounds altogether */
    if (end_ns < bench_now() + budget_all_ns / 5 * 4)
        end_ns = bench_now() + budget_all_ns / 5 * 4;
    uint64_t least_ns = scale(session, CASE_MIN_NS);
    unsigned weights = 0;
    for (size_t i = 0; i < result->case_count; i++)
        weights += plan_weight(&result->cases[i]);
    for (size_t i = 0; i < result->case_count; i++) {
        struct bench_case *question = &result->cases[i];
        unsigned weight = plan_weight(question);
        uint64_t now = bench_now();
        uint64_t budget_ns = now < end_ns ? (end_ns - now) / weights * weight : 0;
        if (budget_ns < least_ns)
            budget_ns = least_ns;
        bench_seed_next(&measure.seed);
        if (measure_case(&measure, question, budget_ns, err) < 0)
            return -1;
        weights -= weight;
    }
    return 0;
}

static void check_change(const struct session *session, struct bench_gate *gate)
{
    uint64_t stamp;
    struct sqlpack_error err;
    bool is_same = corpus_stamp(&session->corpus, &stamp, &err) == 0 && stamp == session->stamp;
    gate->outcome = is_same ? BENCH_PASSED : BENCH_FAILED;
    snprintf(gate->detail, sizeof(gate->detail), "%s",
             is_same ? "no file changed under the run" : "files changed under the run");
}

static int run_session(struct session *session, struct bench_result *result,
                       struct sqlpack_error *err)
{
    uint64_t differences = 0;
    struct bench_gate *same = &result->gates[BENCH_GATE_CONTENT];
    const char *place = session->options.dir ? session->options.dir : ".";
    if (session->options.drop_caches && cache_may_drop(err) < 0)
        return -1;
    environment_begin(&session->start, place, &result->environment);
    if (session->options.preset == BENCH_PRESET_CSV
            ? prepare_csv(session, err) < 0
            : prepare(session, result, &differences, err) < 0)
        return -1;
    same->outcome = differences ? BENCH_FAILED : BENCH_PASSED;
    snprintf(same->detail, sizeof(same->detail), "%llu of %llu files differ from the pack",
             (unsigned long long)differences, (unsigned long long)result->corpus.file_count);
    if (differences)
        return 0;
    session->corpus.data.clock = clock_choose();
    measure_overhead(&session->corpus.data.clock, &result->clock_ns, &result->overhead_ns);
    if (plan_make(&session->options, &session->corpus, result, err) < 0 ||
        copies_make(&session->corpus, &session->scratch, result, &session->pace, err) < 0 ||
        measure_all(session, result, err) < 0)
        return -1;
    check_change(session, &result->gates[BENCH_GATE_CHANGE]);
    environment_end(&session->start, result);
    return 0;
}

int bench_run(const struct bench_options *options, struct bench_result *ret_result,
              struct sqlpack_error *err)
{
    auto_release(session_release) struct session session = {.options = *options};
    complete(&session);
    session.pace = (struct bench_pace){.hooks = &session.options.hooks,
                                       .started_ns = bench_now(),
                                       .budget_ns = session.options.budget_ns};
    struct bench_result result = {.preset = options->preset,
                                  .use = options->use,
                                  .seed = session.options.seed,
                                  .round_count = session.options.round_count,
                                  .started = time(NULL),
                                  .argc = options->argc,
                                  .argv = options->argv};
    if (run_session(&session, &result, err) < 0) {
        bench_result_release(&result);
        return -1;
    }
    result.ended = time(NULL);
    *ret_result = result;
    return 0;
}

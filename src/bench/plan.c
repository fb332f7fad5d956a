/* SPDX-License-Identifier: MIT */
/* The presets as lists of cases: which arms answer which question, and which pairs decide. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"

#define WANTED_READS 1000 /* fewer reads a run are no basis for a verdict */

/* -- building blocks ---------------------------------------------------------------------- */

struct bench_case *plan_case(struct bench_result *result, enum bench_workload workload,
                             enum bench_state state, struct sqlpack_error *err)
{
    struct bench_case *cases =
        reallocarray(result->cases, result->case_count + 1, sizeof(*result->cases));
    if (!cases) {
        bench_no_memory(err);
        return NULL;
    }
    result->cases = cases;
    struct bench_case *question = &cases[result->case_count++];
    *question = (struct bench_case){.workload = workload, .state = state, .threads = 1};
    return question;
}

int plan_series(struct bench_case *question, const struct bench_arm *arm, enum bench_layout layout,
                const char *label, struct sqlpack_error *err)
{
    struct bench_series *series =
        reallocarray(question->series, question->series_count + 1, sizeof(*series));
    if (!series)
        return bench_no_memory(err);
    question->series = series;
    series += question->series_count++;
    *series = (struct bench_series){.arm = arm, .layout = layout};
    if (label)
        snprintf(series->label, sizeof(series->label), "%s", label);
    else
        snprintf(series->label, sizeof(series->label), "%s%s%s", arm->name,
                 layout == BENCH_LAYOUT_ASIS ? "" : " ",
                 layout == BENCH_LAYOUT_ASIS ? "" : bench_layout_name(layout));
    return 0;
}

static size_t find_series(const struct bench_case *question, const char *label)
{
    size_t i = 0;
    while (i < question->series_count && strcmp(question->series[i].label, label) != 0)
        i++;
    return i;
}

int plan_effect(struct bench_case *question, enum bench_pair pair, const char *files,
                const char *pack, struct sqlpack_error *err)
{
    size_t left = find_series(question, files), right = find_series(question, pack);
    if (left == question->series_count || right == question->series_count)
        return 0;
    struct bench_effect *effects =
        reallocarray(question->effects, question->effect_count + 1, sizeof(*effects));
    if (!effects)
        return bench_no_memory(err);
    question->effects = effects;
    effects[question->effect_count++] =
        (struct bench_effect){.pair = pair, .files = left, .pack = right};
    return 0;
}

/* Arms in the tree as it is; a list that ends with NULL. */
static int add_arms(struct bench_case *question, const struct bench_arm *const *arms,
                    struct sqlpack_error *err)
{
    int status = 0;
    for (; *arms && status == 0; arms++)
        status = plan_series(question, *arms, BENCH_LAYOUT_ASIS, NULL, err);
    return status;
}

/* The two file arms in every further layout that was asked for. */
static int add_layouts(struct bench_case *question, unsigned layouts, struct sqlpack_error *err)
{
    int status = 0;
    for (unsigned i = BENCH_LAYOUT_ASIS + 1; i <= BENCH_LAYOUT_FRESH && status == 0; i++)
        if (layouts & 1u << i) {
            enum bench_layout layout = (enum bench_layout)i;
            char path[64], best[64];
            snprintf(path, sizeof(path), "F-path %s", bench_layout_name(layout));
            snprintf(best, sizeof(best), "F-best %s", bench_layout_name(layout));
            status = plan_series(question, &arm_file_path, layout, NULL, err);
            if (status == 0)
                status = plan_series(question, &arm_file_best, layout, NULL, err);
            if (status == 0)
                status = plan_effect(question, BENCH_OTHER, path, "F-path", err);
            if (status == 0)
                status = plan_effect(question, BENCH_OTHER, best, "F-best", err);
        }
    return status;
}

/* The mounted pack, beside the files that it looks like. */
static int add_mount(struct bench_case *question, const struct bench_options *options,
                     const char *files, const struct bench_arm *arm, struct sqlpack_error *err)
{
    if (!options->mount)
        return 0;
    if (plan_series(question, arm, BENCH_LAYOUT_MOUNT, arm->name, err) < 0 ||
        plan_effect(question, BENCH_OTHER, files, arm->name, err) < 0)
        return -1;
    const char *why = bench_is_cold(question) ? cache_refuses_cold(options->mount) : NULL;
    struct bench_series *series = &question->series[question->series_count - 1];
    snprintf(series->missing, sizeof(series->missing), "%s", why ? why : "");
    return 0;
}

/* -- reads -------------------------------------------------------------------------------- */

static const struct bench_arm *const few_readers[] = {
    &arm_file_path, &arm_file_best, &arm_pack_naive, &arm_pack_mmap, &arm_concat, NULL};
static const struct bench_arm *const all_readers[] = {
    &arm_file_stdio, &arm_file_path,    &arm_file_best, &arm_pack_naive,
    &arm_pack_txn,   &arm_pack_rowid,   &arm_pack_blob, &arm_pack_immutable,
    &arm_pack_mmap,  &arm_pack_library, &arm_concat,    NULL};
static const struct bench_arm *const cold_readers[] = {
    &arm_file_path,      &arm_file_best, &arm_pack_naive, &arm_pack_rowid,
    &arm_pack_immutable, &arm_pack_mmap, &arm_concat,     NULL};
static const struct bench_arm *const few_cold_readers[] = {
    &arm_file_path, &arm_file_best, &arm_pack_naive, &arm_pack_immutable, &arm_concat, NULL};
static const struct bench_arm *const order_readers[] = {&arm_file_path, &arm_file_best,
                                                        &arm_pack_naive, &arm_pack_mmap, NULL};

static int add_reads(struct bench_result *result, const struct bench_options *options,
                     enum bench_workload workload, enum bench_state state,
                     const struct bench_arm *const *arms, struct sqlpack_error *err)
{
    struct bench_case *question = plan_case(result, workload, state, err);
    if (!question || add_arms(question, arms, err) < 0)
        return -1;
    if (arms == all_readers && arm_file_uring &&
        plan_series(question, arm_file_uring, BENCH_LAYOUT_ASIS, NULL, err) < 0)
        return -1;
    question->wanted_ops = WANTED_READS;
    const char *best = state == BENCH_WARM ? "S-mmap" : "S-imm";
    if (plan_effect(question, BENCH_DROP_IN, "F-path", "S-naive", err) < 0 ||
        plan_effect(question, BENCH_BEST, "F-best", best, err) < 0 ||
        add_mount(question, options, "F-path", &arm_mount_path, err) < 0)
        return -1;
    if (workload != BENCH_READ_RANDOM)
        return 0;
    if (plan_series(question, &arm_file_path, BENCH_LAYOUT_ASIS, "F-path again", err) < 0 ||
        plan_effect(question, BENCH_AA, "F-path", "F-path again", err) < 0 ||
        plan_effect(question, BENCH_OTHER, "F-best", "C-concat", err) < 0)
        return -1;
    return add_layouts(question, options->layouts, err);
}

struct plan {
    const struct bench_options *options;
    const struct corpus *corpus;
    struct bench_result *result;
};

/* -- everything once, queries, writes ------------------------------------------------------- */

static int add_full_read(struct bench_result *result, const struct bench_options *options,
                         enum bench_state state, bool with_control, struct sqlpack_error *err)
{
    static const struct bench_arm *const arms[] = {&arm_file_walk, &arm_file_inode, &arm_pack_scan,
                                                   &arm_pack_mapped_scan, NULL};
    struct bench_case *question = plan_case(result, BENCH_READ_ALL, state, err);
    if (!question || add_arms(question, arms, err) < 0 ||
        (with_control && plan_series(question, &arm_concat_scan, BENCH_LAYOUT_ASIS, NULL, err) < 0))
        return -1;
    question->wanted_ops = WANTED_READS;
    return plan_effect(question, BENCH_DROP_IN, "F-walk", "S-scan", err) < 0 ||
                   plan_effect(question, BENCH_BEST, "F-inode",
                               state == BENCH_WARM ? "S-mscan" : "S-scan", err) < 0 ||
                   add_mount(question, options, "F-walk", &arm_mount_walk, err) < 0
               ? -1
               : 0;
}

/* One query by one statement: half a minute has no time to build an index. */
static int add_short_query(struct bench_result *result, const struct corpus *corpus,
                           struct sqlpack_error *err)
{
    struct bench_case *question = plan_case(result, BENCH_FILTER_SIZE, BENCH_WARM, err);
    const struct bench_arm *arm = corpus->has_stat ? &arm_query_stat : &arm_query_sqlar;
    if (!question || plan_series(question, &arm_walk_files, BENCH_LAYOUT_ASIS, NULL, err) < 0 ||
        plan_series(question, arm, BENCH_LAYOUT_ASIS, NULL, err) < 0)
        return -1;
    return plan_effect(question, BENCH_DROP_IN, "F-find", arm->name, err);
}

/* A pack of another program has its metadata in sqlar itself. */
static int add_query(struct bench_result *result, const struct corpus *corpus,
                     enum bench_workload workload, struct sqlpack_error *err)
{
    struct bench_case *question = plan_case(result, workload, BENCH_WARM, err);
    bool is_filter = workload == BENCH_FILTER_SIZE || workload == BENCH_FILTER_TIME ||
                     workload == BENCH_FILTER_READ;
    const struct bench_arm *plain =
        is_filter && corpus->has_stat ? &arm_query_stat : &arm_query_sqlar;
    if (!question || plan_series(question, &arm_walk_files, BENCH_LAYOUT_ASIS, NULL, err) < 0 ||
        plan_series(question, plain, BENCH_LAYOUT_ASIS, NULL, err) < 0)
        return -1;
    if (is_filter && corpus->has_stat &&
        (plan_series(question, &arm_query_index, BENCH_LAYOUT_ASIS, NULL, err) < 0 ||
         plan_effect(question, BENCH_BEST, "F-find", "S-index", err) < 0))
        return -1;
    if (workload != BENCH_FILTER_READ &&
        (plan_series(question, &arm_query_library, BENCH_LAYOUT_ASIS, NULL, err) < 0 ||
         plan_effect(question, BENCH_OTHER, "F-find", "S-list", err) < 0))
        return -1;
    if (workload == BENCH_FILTER_READ && corpus->has_pieces)
        snprintf(question->missing, sizeof(question->missing), "some content is in pieces");
    return plan_effect(question, BENCH_DROP_IN, "F-find", plain->name, err);
}

static int add_queries(struct bench_result *result, const struct corpus *corpus,
                       struct sqlpack_error *err)
{
    static const enum bench_workload workloads[] = {
        BENCH_FILTER_SIZE, BENCH_FILTER_TIME, BENCH_FILTER_NAME, BENCH_FILTER_READ, BENCH_LIST};
    for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
        if (add_query(result, corpus, workloads[i], err) < 0)
            return -1;
    return 0;
}

static int add_writes(const struct plan *plan, enum bench_workload workload,
                      struct sqlpack_error *err)
{
    static const struct bench_arm *const arms[] = {&arm_write_files, &arm_write_journal,
                                                   &arm_write_wal, NULL};
    static const enum bench_durability classes[] = {BENCH_SYNC_NONE, BENCH_SYNC_END,
                                                    BENCH_SYNC_EACH};
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        struct bench_case *question = plan_case(plan->result, workload, BENCH_STATELESS, err);
        if (!question || add_arms(question, arms, err) < 0 ||
            plan_effect(question, BENCH_DROP_IN, "F-write", "S-journal", err) < 0 ||
            plan_effect(question, classes[i] == BENCH_SYNC_EACH ? BENCH_BEST : BENCH_OTHER,
                        "F-write", "S-wal", err) < 0)
            return -1;
        question->durability = classes[i];
        if (classes[i] == BENCH_SYNC_EACH)
            question->batch = plan->options->batch ? plan->options->batch : 1;
        else
            question->fixed_ops = write_ops(&plan->corpus->data, workload);
    }
    return 0;
}

static int add_threads(struct bench_result *result, unsigned threads, struct sqlpack_error *err)
{
    static const struct bench_arm *const arms[] = {
        &arm_file_path, &arm_file_best, &arm_pack_naive, &arm_pack_immutable, &arm_pack_mmap, NULL};
    struct bench_case *question = plan_case(result, BENCH_READ_RANDOM, BENCH_WARM, err);
    if (!question || add_arms(question, arms, err) < 0)
        return -1;
    question->threads = threads;
    question->wanted_ops = WANTED_READS;
    return plan_effect(question, BENCH_DROP_IN, "F-path", "S-naive", err) < 0 ||
                   plan_effect(question, BENCH_BEST, "F-best", "S-mmap", err) < 0
               ? -1
               : 0;
}

static int add_first_read(struct bench_result *result, const struct bench_options *options,
                          struct sqlpack_error *err)
{
    struct bench_case *question = plan_case(result, BENCH_FIRST_READ, BENCH_WARM, err);
    if (!question || add_arms(question, first_arms, err) < 0)
        return -1;
    if (!options->program)
        snprintf(question->missing, sizeof(question->missing),
                 "sqlpack cannot start itself where /proc is missing");
    return plan_effect(question, BENCH_DROP_IN, "F-path", "S-naive", err) < 0 ||
                   plan_effect(question, BENCH_BEST, "F-path", "S-imm", err) < 0
               ? -1
               : 0;
}

/* Few rounds: each is seconds, and no pair hangs on them. */
static int add_whole(struct bench_result *result, struct sqlpack_error *err)
{
    static const enum bench_workload workloads[] = {BENCH_DO_PACK, BENCH_DO_UNPACK,
                                                    BENCH_DO_VERIFY};
    for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++) {
        struct bench_case *question = plan_case(result, workloads[i], BENCH_STATELESS, err);
        if (!question || plan_series(question, &arm_whole, BENCH_LAYOUT_ASIS, NULL, err) < 0)
            return -1;
        question->round_count = 3;
        question->fixed_ops = 1;
    }
    return 0;
}

/* -- presets ------------------------------------------------------------------------------ */

static int plan_quick(const struct plan *plan, struct sqlpack_error *err)
{
    return add_reads(plan->result, plan->options, BENCH_READ_RANDOM, BENCH_WARM, few_readers, err) <
                       0 ||
                   add_full_read(plan->result, plan->options, BENCH_WARM, false, err) < 0 ||
                   add_short_query(plan->result, plan->corpus, err) < 0
               ? -1
               : 0;
}

static int plan_default(const struct plan *plan, struct sqlpack_error *err)
{
    struct bench_result *result = plan->result;
    const struct bench_options *options = plan->options;
    if (add_reads(result, options, BENCH_READ_RANDOM, BENCH_WARM, all_readers, err) < 0 ||
        add_full_read(result, options, BENCH_WARM, true, err) < 0 ||
        add_queries(result, plan->corpus, err) < 0 || add_first_read(result, options, err) < 0 ||
        add_threads(result, 2, err) < 0 ||
        /* what is cold comes behind, so that nothing is warmed twice; mmap takes ten times as long
         */
        add_reads(result, options, BENCH_READ_RANDOM, BENCH_COLD,
                  options->preset == BENCH_PRESET_FULL ? cold_readers : few_cold_readers,
                  err) < 0 ||
        add_full_read(result, options, BENCH_COLD, true, err) < 0)
        return -1;
    for (enum bench_workload w = BENCH_WRITE_CREATE; w <= BENCH_WRITE_DELETE; w++)
        if (add_writes(plan, w, err) < 0)
            return -1;
    return 0;
}

static int plan_full(const struct plan *plan, struct sqlpack_error *err)
{
    static const enum bench_workload orders[] = {BENCH_READ_ZIPF, BENCH_READ_ASCENDING,
                                                 BENCH_READ_DESCENDING};
    struct bench_result *result = plan->result;
    if (plan_default(plan, err) < 0 || add_threads(result, 4, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        if (add_reads(result, plan->options, orders[i], BENCH_WARM, order_readers, err) < 0)
            return -1;
    return add_whole(result, err);
}

int plan_make(const struct bench_options *options, const struct corpus *corpus,
              struct bench_result *result, struct sqlpack_error *err)
{
    const struct plan plan = {.options = options, .corpus = corpus, .result = result};
    int status;
    if (options->preset == BENCH_PRESET_KVTEST)
        return kvtest_plan(result, err);
    if (options->preset == BENCH_PRESET_CSV)
        return csv_plan(result, err);
    if (options->preset == BENCH_PRESET_QUICK)
        status = plan_quick(&plan, err);
    else if (options->preset == BENCH_PRESET_FULL)
        status = plan_full(&plan, err);
    else
        status = plan_default(&plan, err);
    if (status == 0 && corpus->data.replay_count)
        status = add_reads(result, options, BENCH_READ_REPLAY, BENCH_WARM, order_readers, err);
    if (status == 0 && options->drop_caches)
        status = add_reads(result, options, BENCH_READ_RANDOM, BENCH_FULL_COLD, cold_readers, err);
    return status;
}

/*
 * A query or a write is one operation or few; a read fills a tenth of a second, cold more: by
 * the slowest arm, which is five times the fastest where that reads ahead.
 */
unsigned plan_weight(const struct bench_case *question)
{
    unsigned series = (unsigned)question->series_count;
    if (question->workload == BENCH_KVTEST_READ)
        return 12;
    if (!bench_reads_keys(question->workload))
        return 1;
    if (bench_is_cold(question))
        return question->workload == BENCH_READ_ALL ? 3 * series : 2 * series;
    return series;
}

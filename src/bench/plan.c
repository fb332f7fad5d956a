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
    for (unsigned i = BENCH_LAYOUT_ASIS + 1; i < BENCH_LAYOUTS && status == 0; i++)
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
static const struct bench_arm *const order_readers[] = {&arm_file_path, &arm_file_best,
                                                        &arm_pack_naive, &arm_pack_mmap, NULL};

static int add_reads(struct bench_result *result, const struct bench_options *options,
                     enum bench_workload workload, enum bench_state state,
                     const struct bench_arm *const *arms, struct sqlpack_error *err)
{
    struct bench_case *question = plan_case(result, workload, state, err);
    if (!question || add_arms(question, arms, err) < 0)
        return -1;
    question->wanted_ops = WANTED_READS;
    const char *best = state == BENCH_WARM ? "S-mmap" : "S-imm";
    if (plan_effect(question, BENCH_DROP_IN, "F-path", "S-naive", err) < 0 ||
        plan_effect(question, BENCH_BEST, "F-best", best, err) < 0)
        return -1;
    if (workload != BENCH_READ_RANDOM)
        return 0;
    if (plan_series(question, &arm_file_path, BENCH_LAYOUT_ASIS, "F-path again", err) < 0 ||
        plan_effect(question, BENCH_AA, "F-path", "F-path again", err) < 0 ||
        plan_effect(question, BENCH_OTHER, "F-best", "C-concat", err) < 0)
        return -1;
    return add_layouts(question, options->layouts, err);
}

/* -- presets ------------------------------------------------------------------------------ */

static int plan_quick(const struct bench_options *options, struct bench_result *result,
                      struct sqlpack_error *err)
{
    return add_reads(result, options, BENCH_READ_RANDOM, BENCH_WARM, few_readers, err);
}

static int plan_default(const struct bench_options *options, struct bench_result *result,
                        struct sqlpack_error *err)
{
    if (add_reads(result, options, BENCH_READ_RANDOM, BENCH_WARM, all_readers, err) < 0 ||
        add_reads(result, options, BENCH_READ_RANDOM, BENCH_COLD, cold_readers, err) < 0)
        return -1;
    return 0;
}

static int plan_full(const struct bench_options *options, struct bench_result *result,
                     struct sqlpack_error *err)
{
    if (plan_default(options, result, err) < 0 ||
        add_reads(result, options, BENCH_READ_ZIPF, BENCH_WARM, order_readers, err) < 0 ||
        add_reads(result, options, BENCH_READ_ASCENDING, BENCH_WARM, order_readers, err) < 0 ||
        add_reads(result, options, BENCH_READ_DESCENDING, BENCH_WARM, order_readers, err) < 0)
        return -1;
    return 0;
}

int plan_make(const struct bench_options *options, const struct corpus *corpus,
              struct bench_result *result, struct sqlpack_error *err)
{
    (void)corpus;
    switch (options->preset) {
    case BENCH_PRESET_QUICK:
        return plan_quick(options, result, err);
    case BENCH_PRESET_FULL:
        return plan_full(options, result, err);
    default:
        return plan_default(options, result, err);
    }
}

unsigned plan_weight(const struct bench_case *question)
{
    if (question->workload == BENCH_READ_RANDOM)
        return 4;
    return 1;
}

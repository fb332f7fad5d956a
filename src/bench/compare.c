/* SPDX-License-Identifier: MIT */
/* Compares two results: what changed from one to the other, where rounds are no pairs. */
#include "bench/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/judge.h"
#include "util/auto.h"

#define NORMAL_975 1.959964 /* 95 % of normal values are within so many deviations */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static size_t take_times(const struct bench_case *question, const struct bench_series *series,
                         double *ret_times)
{
    size_t count = 0;
    for (size_t i = 0; series->runs && i < question->round_count && i < STATS_VALUES_MAX; i++)
        if (run_us(&series->runs[i]) > 0)
            ret_times[count++] = run_us(&series->runs[i]);
    return count;
}

/*
 * Hodges and Lehmann: the median of all ratios between a value of b and one of a, and the
 * interval that the Mann-Whitney test does not reject, by its normal approximation.
 */
static int compare_times(const double *a, size_t a_count, const double *b, size_t b_count,
                         struct bench_change *change)
{
    size_t count = a_count * b_count;
    if (count == 0)
        return 0;
    auto_free double *ratios = malloc(count * sizeof(*ratios));
    if (!ratios)
        return -1;
    for (size_t i = 0; i < count; i++)
        ratios[i] = b[i / a_count] / a[i % a_count];
    qsort(ratios, count, sizeof(*ratios), compare);
    change->ratio = (ratios[(count - 1) / 2] + ratios[count / 2]) / 2;
    double half = (double)count / 2;
    double deviation = sqrt((double)count * (double)(a_count + b_count + 1) / 12);
    double rank = floor(half - NORMAL_975 * deviation);
    if (rank >= 1) {
        change->interval.low = ratios[(size_t)rank - 1];
        change->interval.high = ratios[count - (size_t)rank];
        change->interval.coverage = STATS_COVERAGE;
    }
    return 0;
}

static bool is_same_case(const struct bench_case *a, const struct bench_case *b)
{
    return a->workload == b->workload && a->state == b->state && a->durability == b->durability &&
           a->threads == b->threads && a->batch == b->batch;
}

const struct bench_case *bench_find_case(const struct bench_result *result,
                                         const struct bench_case *like)
{
    for (size_t i = 0; i < result->case_count; i++)
        if (is_same_case(&result->cases[i], like))
            return &result->cases[i];
    return NULL;
}

const struct bench_series *bench_find_series(const struct bench_case *question, const char *label)
{
    for (size_t i = 0; i < question->series_count; i++)
        if (strcmp(question->series[i].label, label) == 0)
            return &question->series[i];
    return NULL;
}

const struct bench_effect *bench_find_effect(const struct bench_case *question,
                                             const struct bench_case *like_in,
                                             const struct bench_effect *like)
{
    const char *files = like_in->series[like->files].label;
    const char *pack = like_in->series[like->pack].label;
    for (size_t i = 0; i < question->effect_count; i++) {
        const struct bench_effect *effect = &question->effects[i];
        if (effect->pair == like->pair &&
            strcmp(question->series[effect->files].label, files) == 0 &&
            strcmp(question->series[effect->pack].label, pack) == 0)
            return effect;
    }
    return NULL;
}

int bench_compare_series(const struct bench_case *a, const struct bench_series *of_a,
                         const struct bench_case *b, const struct bench_series *of_b,
                         struct bench_change *ret_change)
{
    double times_a[STATS_VALUES_MAX];
    double times_b[STATS_VALUES_MAX];
    size_t a_count = take_times(a, of_a, times_a);
    size_t b_count = take_times(b, of_b, times_b);
    *ret_change = (struct bench_change){.interval = {.low = NAN, .high = NAN}};
    if (compare_times(times_a, a_count, times_b, b_count, ret_change) < 0)
        return -1;
    const struct stats_interval *interval = &ret_change->interval;
    if (isnan(interval->low))
        ret_change->kind = BENCH_CHANGE_UNKNOWN;
    else if (interval->high < JUDGE_SLOWER)
        ret_change->kind = BENCH_CHANGE_FASTER;
    else if (interval->low > JUDGE_FASTER)
        ret_change->kind = BENCH_CHANGE_SLOWER;
    else if (interval->low >= JUDGE_SLOWER && interval->high <= JUDGE_FASTER)
        ret_change->kind = BENCH_CHANGE_NONE;
    return 0;
}

const char *bench_change_name(enum bench_change_kind kind)
{
    static const char *const names[] = {[BENCH_CHANGE_UNKNOWN] = "inconclusive",
                                        [BENCH_CHANGE_FASTER] = "faster",
                                        [BENCH_CHANGE_SLOWER] = "slower",
                                        [BENCH_CHANGE_NONE] = "no practical difference"};
    return names[kind];
}

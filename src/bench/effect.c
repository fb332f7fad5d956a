/* SPDX-License-Identifier: MIT */
/* Compares two series round by round, and says what the interval of the ratio allows to say. */
#include <math.h>

#include "bench/judge.h"

static const struct stats_interval no_interval = {.low = NAN, .high = NAN};

/* A run whose cache was not shown to be as the case says is no answer to its question. */
static bool answers(const struct bench_case *question, const struct bench_run *run)
{
    return run->is_done && (run->is_proven || question->state == BENCH_STATELESS);
}

/* t_files / t_pack of every round in which both sides answer. Returns their number. */
static size_t take_ratios(const struct bench_case *question, const struct bench_effect *effect,
                          double *ret_ratios)
{
    const struct bench_series *files = &question->series[effect->files];
    const struct bench_series *pack = &question->series[effect->pack];
    size_t count = 0;
    if (!files->runs || !pack->runs || files->missing[0] || pack->missing[0])
        return 0;
    for (size_t i = 0; i < question->round_count && i < STATS_VALUES_MAX; i++) {
        double ratio = run_us(&files->runs[i]) / run_us(&pack->runs[i]);
        if (answers(question, &files->runs[i]) && answers(question, &pack->runs[i]) &&
            isfinite(ratio) && ratio > 0)
            ret_ratios[count++] = ratio;
    }
    return count;
}

static enum bench_verdict verdict_of(const struct stats_interval *interval)
{
    if (isnan(interval->low))
        return BENCH_INCONCLUSIVE;
    if (interval->low > JUDGE_FASTER)
        return BENCH_PACK_FASTER;
    if (interval->high < JUDGE_SLOWER)
        return BENCH_FILES_FASTER;
    if (interval->low >= JUDGE_SLOWER && interval->high <= JUDGE_FASTER)
        return BENCH_NO_DIFFERENCE;
    return BENCH_INCONCLUSIVE;
}

void compare_series(const struct bench_case *question, uint64_t seed, struct bench_effect *effect)
{
    double ratios[STATS_VALUES_MAX];
    size_t rank;
    size_t count = take_ratios(question, effect, ratios);
    bool is_too_short = question->series[effect->files].summary.is_too_short ||
                        question->series[effect->pack].summary.is_too_short;
    effect->round_count = count;
    effect->ratio = effect->mean_ratio = 0;
    effect->interval = effect->bootstrap = no_interval;
    effect->verdict = BENCH_NO_VERDICT;
    if (count == 0)
        return;
    effect->ratio = stats_median(ratios, count);
    effect->mean_ratio = stats_geometric_mean(ratios, count);
    effect->interval = stats_median_interval(ratios, count, &rank);
    effect->bootstrap = stats_bootstrap(ratios, count, STATS_RESAMPLES_MAX, seed);
    if (!is_too_short && !question->results_differ)
        effect->verdict = verdict_of(&effect->interval);
}

enum bench_verdict case_verdict(const struct bench_case *question)
{
    enum bench_verdict verdict = BENCH_NO_VERDICT;
    for (size_t i = 0; i < question->effect_count; i++) {
        const struct bench_effect *effect = &question->effects[i];
        bool counts = effect->pair == BENCH_DROP_IN || effect->pair == BENCH_BEST;
        if (!counts || effect->verdict == BENCH_NO_VERDICT || effect->verdict == verdict)
            continue;
        if (verdict == BENCH_NO_VERDICT)
            verdict = effect->verdict;
        else if (verdict == BENCH_INCONCLUSIVE || effect->verdict == BENCH_INCONCLUSIVE)
            verdict = BENCH_INCONCLUSIVE;
        else
            verdict = BENCH_DEPENDS;
    }
    return verdict;
}

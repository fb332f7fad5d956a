/* SPDX-License-Identifier: MIT */
/* Sums up the rounds of one series: times an operation, percentiles, outliers, drift. */
#include <math.h>
#include <string.h>

#include "bench/judge.h"

#define RUN_MIN_NS    100000000 /* a shorter run is mostly noise */
#define DRIFT_MAX     0.05      /* of the median, over all rounds */
#define DRIFT_Z       1.96      /* and more than chance makes in 5 % of cases */
#define NS_OF_US      1e3
#define NS_OF_SECONDS 1e9

double run_us(const struct bench_run *run)
{
    return run->is_done && run->op_count > 0
               ? (double)run->elapsed_ns / (double)run->op_count / NS_OF_US
               : (double)NAN;
}

/* The times of the rounds that were done. Returns their number. */
static size_t take_times(const struct bench_case *question, const struct bench_series *series,
                         double *ret_times)
{
    size_t count = 0;
    for (size_t i = 0; i < question->round_count && i < STATS_VALUES_MAX; i++) {
        double us = run_us(&series->runs[i]);
        if (us > 0)
            ret_times[count++] = us;
    }
    return count;
}

static bool is_too_short(const struct bench_case *question, const struct bench_series *series)
{
    size_t short_count = 0;
    for (size_t i = 0; question->wanted_ops > 0 && i < question->round_count; i++) {
        const struct bench_run *run = &series->runs[i];
        short_count += run->elapsed_ns < RUN_MIN_NS || run->op_count < question->wanted_ops;
    }
    return 2 * short_count > question->round_count;
}

static double rate_of(const struct bench_case *question, const struct bench_series *series)
{
    double bytes = 0;
    double seconds = 0;
    for (size_t i = 0; i < question->round_count; i++) {
        bytes += (double)series->runs[i].bytes;
        seconds += (double)series->runs[i].elapsed_ns / NS_OF_SECONDS;
    }
    return seconds > 0 ? bytes / seconds : 0;
}

static double quantile_us(const struct hist *hist, double quantile)
{
    double ns = hist ? hist_quantile(hist, quantile) : (double)NAN;
    return isnan(ns) ? -1 : ns / NS_OF_US;
}

static void take_percentiles(const struct hist *hist, struct bench_summary *summary)
{
    summary->p50_us = quantile_us(hist, 0.5);
    summary->p90_us = quantile_us(hist, 0.9);
    summary->p99_us = quantile_us(hist, 0.99);
    summary->p999_us = quantile_us(hist, 0.999);
    summary->max_op_us = hist && hist->count > 0 ? (double)hist->max / NS_OF_US : -1;
}

void summarize(const struct bench_case *question, struct bench_series *series)
{
    struct bench_summary summary = {0};
    double times[STATS_VALUES_MAX];
    if (!series->missing[0] && series->runs)
        summary.round_count = take_times(question, series, times);
    take_percentiles(series->hist, &summary);
    if (summary.round_count > 0) {
        size_t count = summary.round_count;
        summary.median_us = stats_median(times, count);
        summary.mad_us = stats_mad(times, count);
        summary.cv = count > 1 ? stats_cv(times, count) : 0;
        summary.min_us = summary.max_us = times[0];
        for (size_t i = 0; i < count; i++) {
            summary.min_us = fmin(summary.min_us, times[i]);
            summary.max_us = fmax(summary.max_us, times[i]);
            summary.outlier_count +=
                stats_z(times[i], summary.median_us, summary.mad_us) > STATS_OUTLIER_Z;
        }
        struct stats_drift drift = stats_drift(times, count);
        summary.slope_percent = isnan(drift.change) ? 0 : 100 * drift.change;
        summary.has_drift = fabs(drift.change) > DRIFT_MAX && fabs(drift.z) > DRIFT_Z;
        summary.bytes_per_second = rate_of(question, series);
        summary.is_too_short = is_too_short(question, series);
    }
    series->summary = summary;
}

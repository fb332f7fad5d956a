/* SPDX-License-Identifier: MIT */
/* Statistics of a few repeated measurements, without assuming how they are distributed. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stddef.h>
#include <stdint.h>

/* The most values that any call here takes: one a round. */
#define STATS_VALUES_MAX 999

/* What an interval of 95 % is asked to cover at least. */
#define STATS_COVERAGE 0.95

/* Beyond this modified z-score a value is flagged as an outlier: ten scaled MADs, as in hyperfine.
 */
#define STATS_OUTLIER_Z 14.826

/* Low and high are NaN where there are too few values for an interval. */
struct stats_interval {
    double low, high;
    double coverage; /* 0 to 1: how often such an interval holds the true value, exact */
};

/* NaN for no values. An even number has the mean of the middle two. */
double stats_median(const double *values, size_t count);

/* The median distance from the median, unscaled. */
double stats_mad(const double *values, size_t count);

/* The modified z-score |value - median| / MAD; 0 at the median, infinite elsewhere for MAD 0. */
double stats_z(double value, double median, double mad);

/* Standard deviation (n - 1) over mean; NaN below two values. */
double stats_cv(const double *values, size_t count);

/*
 * The interval of the median between the k-th smallest and the k-th largest value, with
 * the largest k that covers STATS_COVERAGE: 1 - 2 P(B < k) with B binomial (count, 1/2),
 * whatever the distribution is. *ret_rank is k; 0 where even k = 1 covers less, below 6.
 */
struct stats_interval stats_median_interval(const double *values, size_t count, size_t *ret_rank);

/*
 * The percentile bootstrap interval of the geometric mean of positive values, from
 * `resamples` (1 to STATS_RESAMPLES_MAX) resamples drawn with the seed. Its coverage
 * is nominal. NaN below two values, and where one is not positive.
 */
#define STATS_RESAMPLES_MAX 10000
struct stats_interval stats_bootstrap(const double *values, size_t count, unsigned resamples,
                                      uint64_t seed);
double stats_geometric_mean(const double *values, size_t count);

/* How values change over their order. */
struct stats_drift {
    double slope;  /* Theil-Sen: the median of the slopes between all pairs, a step */
    double change; /* slope over all steps, as a share of the median */
    double z;      /* Mann-Kendall: beyond 1.96 either way chance makes it in 5 % of cases */
};
struct stats_drift stats_drift(const double *values, size_t count);

/* ret_ratios[i] = above[i] / below[i]. */
void stats_ratios(const double *above, const double *below, size_t count, double *ret_ratios);

#endif

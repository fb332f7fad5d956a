/* SPDX-License-Identifier: MIT */
/* Medians, exact intervals of medians, bootstrap and drift of a few measurements. */
#include "bench/stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "util/auto.h"

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double middle(const double *sorted, size_t count)
{
    if (count == 0)
        return NAN;
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The values in rising order. */
struct sorted {
    double values[STATS_VALUES_MAX];
};

static void sort(struct sorted *sorted, const double *values, size_t count)
{
    assert(count <= STATS_VALUES_MAX);
    if (count > 0)
        memcpy(sorted->values, values, count * sizeof(*values));
    qsort(sorted->values, count, sizeof(*values), compare);
}

double stats_median(const double *values, size_t count)
{
    struct sorted sorted;
    sort(&sorted, values, count);
    return middle(sorted.values, count);
}

double stats_mad(const double *values, size_t count)
{
    double median = stats_median(values, count);
    double distances[STATS_VALUES_MAX];
    for (size_t i = 0; i < count; i++)
        distances[i] = fabs(values[i] - median);
    return stats_median(distances, count);
}

double stats_z(double value, double median, double mad)
{
    double distance = fabs(value - median);
    return distance > 0 ? distance / mad : 0;
}

double stats_cv(const double *values, size_t count)
{
    if (count < 2)
        return NAN;
    double mean = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (double)(count - 1)) / mean;
}

struct stats_interval stats_median_interval(const double *values, size_t count, size_t *ret_rank)
{
    struct stats_interval interval = {.low = NAN, .high = NAN};
    long double term = powl(0.5L, (long double)count); /* P(B = rank) */
    long double below = term;                          /* P(B <= rank) */
    size_t rank = 0;
    /* with the k-th values as its ends, the interval misses with 2 P(B <= k - 1) */
    while (1 - 2 * below >= STATS_COVERAGE) {
        interval.coverage = (double)(1 - 2 * below);
        rank++;
        term *= (long double)(count - rank + 1) / (long double)rank;
        below += term;
    }
    *ret_rank = rank;
    if (rank > 0) {
        struct sorted sorted;
        sort(&sorted, values, count);
        interval.low = sorted.values[rank - 1];
        interval.high = sorted.values[count - rank];
    }
    return interval;
}

/* -- bootstrap ------------------------------------------------------------------------------ */

double stats_geometric_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += log(values[i]);
    return exp(sum / (double)count);
}

struct stats_interval stats_bootstrap(const double *values, size_t count, unsigned resamples,
                                      uint64_t seed)
{
    assert(count <= STATS_VALUES_MAX && resamples >= 1 && resamples <= STATS_RESAMPLES_MAX);
    struct stats_interval interval = {.low = NAN, .high = NAN};
    double logs[STATS_VALUES_MAX];
    double means[STATS_RESAMPLES_MAX];
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] > 0))
            return interval;
        logs[i] = log(values[i]);
    }
    if (count < 2)
        return interval;
    struct bench_random random;
    bench_random_seed(&random, seed);
    for (unsigned i = 0; i < resamples; i++) {
        double sum = 0;
        for (size_t j = 0; j < count; j++)
            sum += logs[bench_random_below(&random, count)];
        means[i] = sum / (double)count;
    }
    qsort(means, resamples, sizeof(*means), compare);
    unsigned cut = (unsigned)((1 - STATS_COVERAGE) / 2 * resamples);
    interval.low = exp(means[cut]);
    interval.high = exp(means[resamples - 1 - cut]);
    interval.coverage = STATS_COVERAGE;
    return interval;
}

/* -- drift ---------------------------------------------------------------------------------- */

static double slope_of_pairs(const double *values, size_t count, double *slopes)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            slopes[pairs++] = (values[j] - values[i]) / (double)(j - i);
    qsort(slopes, pairs, sizeof(*slopes), compare);
    return middle(slopes, pairs);
}

static double mann_kendall(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            sum += (double)((values[j] > values[i]) - (values[j] < values[i]));
    double n = (double)count;
    return sum / sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

struct stats_drift stats_drift(const double *values, size_t count)
{
    struct stats_drift drift = {.slope = NAN, .change = NAN, .z = NAN};
    if (count < 3)
        return drift;
    auto_free double *slopes = malloc(count * (count - 1) / 2 * sizeof(*slopes));
    if (!slopes)
        return drift;
    drift.slope = slope_of_pairs(values, count, slopes);
    drift.change = drift.slope * (double)(count - 1) / stats_median(values, count);
    drift.z = mann_kendall(values, count);
    return drift;
}

void stats_ratios(const double *above, const double *below, size_t count, double *ret_ratios)
{
    for (size_t i = 0; i < count; i++)
        ret_ratios[i] = above[i] / below[i];
}

/* SPDX-License-Identifier: MIT */
/* Tests of bench/stats against values worked out elsewhere: exact fractions, all resamples. */
#include <math.h>
#include <string.h>

#include "bench/stats.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-12 * fmax(1, fabs(want));
}

static void tells_medians(void)
{
    const double odd[] = {3.1, 2.7, 9.5, 3.0, 2.9, 3.3, 2.8};
    const double even[] = {4, 1, 3, 2};
    ok(isnan(stats_median(NULL, 0)), "nothing has no median");
    ok(near(stats_median(odd, COUNT(odd)), 3.0), "of an odd number, the middle one");
    ok(near(stats_median(even, COUNT(even)), 2.5), "of an even number, between the middle two");
    ok(odd[0] == 3.1 && odd[6] == 2.8, "the values stay in their order");
    ok(near(stats_mad(odd, COUNT(odd)), 0.2), "MAD");
    ok(near(stats_z(9.5, 3.0, 0.2), 32.5), "the modified z-score of an outlier");
    ok(near(stats_z(3.3, 3.0, 0.2), 1.5), "and of a common value");
    ok(stats_z(3, 3, 0) == 0, "no distance is no outlier where all are equal");
    ok(stats_z(4, 3, 0) > STATS_OUTLIER_Z, "any distance is one there");
    ok(near(stats_cv(odd, COUNT(odd)), 0.6351870860084177), "coefficient of variation");
    ok(isnan(stats_cv(odd, 1)), "one value has none");
}

/* Rank and coverage as sums of binomial coefficients over 2^n, made with exact fractions. */
static const struct {
    size_t count, rank;
    double coverage;
} intervals[] = {
    {6, 1, 0.96875},
    {7, 1, 0.984375},
    {8, 1, 0.9921875},
    {9, 2, 0.9609375},
    {10, 2, 0.978515625},
    {11, 2, 0.98828125},
    {12, 3, 0.96142578125},
    {15, 4, 0.96484375},
    {16, 4, 0.978729248046875},
    {20, 6, 0.9586105346679688},
    {25, 8, 0.9567147493362427},
    {30, 10, 0.9572260547429323},
    {50, 18, 0.9671608624357315},
    {101, 41, 0.9539559330706572},
    {500, 228, 0.9559365304210726},
    {999, 469, 0.9502444627180657},
};

static void tells_intervals(void)
{
    double values[STATS_VALUES_MAX];
    for (size_t i = 0; i < COUNT(intervals); i++) {
        size_t count = intervals[i].count;
        size_t rank = 0;
        /* 7 has no common divisor with any count here but 7 itself: the order is mixed */
        for (size_t j = 0; j < count; j++)
            values[j] = (double)(count == 7 ? j : j * 7 % count) + 1;
        struct stats_interval interval = stats_median_interval(values, count, &rank);
        ok(rank == intervals[i].rank && near(interval.coverage, intervals[i].coverage),
           "%zu values: rank %zu, coverage %.4f", count, rank, interval.coverage);
        ok(near(interval.low, (double)rank) && near(interval.high, (double)(count + 1 - rank)),
           "%zu values: from the %zu-th to the %zu-th", count, rank, count + 1 - rank);
    }
    size_t rank = 9;
    struct stats_interval none = stats_median_interval(values, 5, &rank);
    ok(rank == 0 && isnan(none.low) && isnan(none.high), "five values are too few");
    none = stats_median_interval(values, 0, &rank);
    ok(rank == 0 && isnan(none.low), "nothing has no interval");
}

/* The bounds are the quantiles 2 to 3 % and 97 to 98 % of all 3,125 resamples. */
static void bootstraps(void)
{
    const double values[] = {1.2, 0.8, 1.5, 2.0, 1.1};
    ok(near(stats_geometric_mean(values, COUNT(values)), 1.2593807032657973), "geometric mean");
    struct stats_interval a = stats_bootstrap(values, COUNT(values), 10000, 1);
    ok(a.low >= 0.9668 && a.low <= 0.9839, "its lower end (%.4f)", a.low);
    ok(a.high >= 1.6094 && a.high <= 1.6754, "its upper end (%.4f)", a.high);
    struct stats_interval b = stats_bootstrap(values, COUNT(values), 10000, 1);
    ok(a.low == b.low && a.high == b.high, "the same seed draws the same");
    b = stats_bootstrap(values, COUNT(values), 50, 1);
    struct stats_interval c = stats_bootstrap(values, COUNT(values), 50, 2);
    ok(b.low != c.low || b.high != c.high, "another one draws others");
    const double bad[] = {1, 0, 2};
    ok(isnan(stats_bootstrap(bad, COUNT(bad), 100, 1).low), "zero has no logarithm");
    ok(isnan(stats_bootstrap(values, 1, 100, 1).low), "one value has no interval");
}

static void finds_drift(void)
{
    const double rising[] = {10, 11, 9, 13, 14, 12, 16, 100};
    struct stats_drift drift = stats_drift(rising, COUNT(rising));
    ok(near(drift.slope, 1), "Theil-Sen's slope takes no notice of one outlier");
    ok(near(drift.change, 0.56), "over all rounds, as a share of the median");
    ok(near(drift.z, 2.4743582965269675), "Mann-Kendall");
    const double flat[] = {5, 5, 5, 5};
    drift = stats_drift(flat, COUNT(flat));
    ok(drift.slope == 0 && drift.change == 0 && drift.z == 0, "equal values do not drift");
    ok(isnan(stats_drift(flat, 2).z), "two values say nothing");
}

static void pairs(void)
{
    const double above[] = {6, 1};
    const double below[] = {2, 4};
    double ratios[2];
    stats_ratios(above, below, 2, ratios);
    ok(ratios[0] == 3 && ratios[1] == 0.25, "ratios are taken round by round");
}

int main(void)
{
    tells_medians();
    tells_intervals();
    bootstraps();
    finds_drift();
    pairs();
    return done();
}

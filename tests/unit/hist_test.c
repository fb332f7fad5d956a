/* SPDX-License-Identifier: MIT */
/* Tests of bench/hist: buckets, their error, merging, quantiles. */
#include <math.h>
#include <string.h>

#include "bench/hist.h"
#include "tap.h"

static struct hist hist, other;

static void empty(struct hist *what)
{
    memset(what, 0, sizeof(*what));
}

/* The error of the value that stands for another, as a share of that. */
static double error_of(uint64_t value)
{
    double got = (double)hist_value(hist_bucket(value));
    return fabs(got - (double)value) / (double)value;
}

static void places_values(void)
{
    is_int(hist_bucket(0), 0, "0 has a bucket");
    is_int(hist_value(hist_bucket(127)), 127, "127 is told exactly");
    is_int(hist_bucket(128), hist_bucket(129), "128 and 129 share a bucket");
    is_int(hist_bucket(129) + 1, hist_bucket(130), "130 has the next one");
    is_int(hist_value(hist_bucket(128)), 129, "which stands for its middle");
    is_int(hist_bucket(UINT64_C(1) << 40) + 1, HIST_BUCKETS, "2^40 is in the last bucket");
    is_int(hist_bucket(UINT64_MAX) + 1, HIST_BUCKETS, "and so is all above");
    is_int(hist_bucket((UINT64_C(1) << 40) - 1) + 1, HIST_BUCKETS, "with what is just below");
}

/* Values that rise by a prime share, and both ends of every power of two. */
static void is_never_far_off(void)
{
    double worst = 0;
    unsigned last = 0;
    bool rises = true;
    for (uint64_t value = 1; value < UINT64_C(1) << 40; value += value / 1009 + 1) {
        worst = fmax(worst, error_of(value));
        rises = rises && hist_bucket(value) >= last;
        last = hist_bucket(value);
    }
    for (unsigned bit = 1; bit < 40; bit++) {
        worst = fmax(worst, error_of(UINT64_C(1) << bit));
        worst = fmax(worst, error_of((UINT64_C(1) << bit) - 1));
    }
    ok(rises, "a larger value is never in an earlier bucket");
    ok(worst <= 1.0 / 128, "the error is at most 1/128 (%.5f)", worst);
    ok(worst > 1.0 / 140, "and not smaller by far: that is what 64 buckets an octave give");
}

static void tells_quantiles(void)
{
    empty(&hist);
    ok(isnan(hist_quantile(&hist, 0.5)) && isnan(hist_mean(&hist)), "nothing has no quantile");
    for (uint64_t value = 1; value <= 100; value++)
        hist_add(&hist, value);
    is_int(hist_quantile(&hist, 0.5), 50, "the median of 1 to 100");
    is_int(hist_quantile(&hist, 0.9), 90, "the 90th percentile, with ten values above");
    ok(isnan(hist_quantile(&hist, 0.91)), "the 91st has nine above: it is not told");
    ok(isnan(hist_quantile(&hist, 0.99)), "nor is the 99th");
    is_int(hist_mean(&hist) * 10, 505, "the mean");
    is_int(hist.min, 1, "the least");
    is_int(hist.max, 100, "the largest");
}

static void counts_what_it_needs(void)
{
    empty(&hist);
    for (int i = 0; i < 9999; i++)
        hist_add(&hist, 5);
    ok(isnan(hist_quantile(&hist, 0.999)), "9,999 values are too few for the 99.9th percentile");
    hist_add(&hist, 5);
    is_int(hist_quantile(&hist, 0.999), 5, "10,000 are enough");
    empty(&hist);
    for (int i = 0; i < 19; i++)
        hist_add(&hist, 5);
    ok(isnan(hist_quantile(&hist, 0.5)), "19 are too few for the median");
    hist_add(&hist, 5);
    is_int(hist_quantile(&hist, 0.5), 5, "20 are enough");
}

static void stays_within_the_values(void)
{
    empty(&hist);
    for (int i = 0; i < 100; i++)
        hist_add(&hist, 1000000);
    is_int(hist_quantile(&hist, 0.5), 1000000, "equal values have themselves as their median");
    empty(&hist);
    for (int i = 0; i < 100; i++)
        hist_add(&hist, UINT64_C(1) << 45);
    is_int(hist_quantile(&hist, 0.5), INT64_C(1) << 45, "even those beyond all buckets");
}

static void merges(void)
{
    empty(&hist);
    empty(&other);
    hist_merge(&hist, &other);
    is_int(hist.count, 0, "nothing and nothing is nothing");
    for (uint64_t value = 51; value <= 100; value++)
        hist_add(&other, value);
    hist_merge(&hist, &other);
    is_int(hist.min, 51, "the least comes along with the first");
    empty(&other);
    hist_merge(&hist, &other);
    is_int(hist.min, 51, "and stays when nothing is added");
    for (uint64_t value = 1; value <= 50; value++)
        hist_add(&other, value);
    hist_merge(&hist, &other);
    is_int(hist.count, 100, "counts add up");
    is_int(hist.sum, 5050, "sums add up");
    is_int(hist.min, 1, "the least of both");
    is_int(hist.max, 100, "the largest of both");
    is_int(hist_quantile(&hist, 0.5), 50, "the median of both");
}

int main(void)
{
    places_values();
    is_never_far_off();
    tells_quantiles();
    counts_what_it_needs();
    stays_within_the_values();
    merges();
    return done();
}

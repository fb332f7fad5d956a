/* SPDX-License-Identifier: MIT */
/* Merges histograms of times and reads quantiles from them. */
#include "bench/hist.h"

#include <math.h>

/* So many values must lie above a quantile before it is told. */
#define BEYOND_MIN 10

uint64_t hist_value(unsigned bucket)
{
    if (bucket < 2u << HIST_BITS)
        return bucket;
    unsigned shift = (bucket >> HIST_BITS) - 1;
    uint64_t low = (uint64_t)((1u << HIST_BITS) + (bucket & ((1u << HIST_BITS) - 1))) << shift;
    return low + ((uint64_t)1 << shift) / 2;
}

void hist_merge(struct hist *hist, const struct hist *from)
{
    if (from->count == 0)
        return;
    if (hist->count == 0 || from->min < hist->min)
        hist->min = from->min;
    if (from->max > hist->max)
        hist->max = from->max;
    hist->count += from->count;
    hist->sum += from->sum;
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        hist->buckets[i] += from->buckets[i];
}

double hist_quantile(const struct hist *hist, double quantile)
{
    /* the product is rounded: 10 / (1 - 0.999) is not 10,000 in binary */
    double beyond = (double)hist->count * (1 - quantile);
    if (beyond < BEYOND_MIN - 1e-6)
        return NAN;
    uint64_t rank = (uint64_t)ceil((double)hist->count * quantile - 1e-6);
    uint64_t seen = 0;
    unsigned bucket = 0;
    while (bucket < HIST_BUCKETS - 1 && (seen += hist->buckets[bucket]) < rank)
        bucket++;
    uint64_t value = hist_value(bucket);
    /* the middle of the outermost buckets may lie beyond all values */
    if (value < hist->min)
        value = hist->min;
    return (double)(value > hist->max ? hist->max : value);
}

double hist_mean(const struct hist *hist)
{
    return hist->count ? (double)hist->sum / (double)hist->count : (double)NAN;
}

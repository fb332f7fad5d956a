/* SPDX-License-Identifier: MIT */
/* A log-linear histogram of times: 64 buckets an octave, so that no value is off by over 1/128. */
#ifndef BENCH_HIST_H
#define BENCH_HIST_H

#include <stdint.h>

#define HIST_BITS    6  /* 2^6 buckets an octave */
#define HIST_OCTAVES 40 /* values of 2^40 (18 minutes in ns) and more share the last bucket */
#define HIST_BUCKETS ((HIST_OCTAVES - HIST_BITS + 1) << HIST_BITS)

/* All zero is the empty one. Holds no pointer: may lie in memory that processes share. */
struct hist {
    uint64_t count;
    uint64_t sum;      /* of all values; exact */
    uint64_t min, max; /* exact; min is only set where count is not 0 */
    uint64_t buckets[HIST_BUCKETS];
};

/*
 * The bucket of a value, and the value that a bucket stands for, its middle. Values
 * below 128 have a bucket each. The layout is that of fio's io_u_plat histogram.
 */
static inline unsigned hist_bucket(uint64_t value)
{
    if (value >> HIST_BITS == 0)
        return (unsigned)value;
    if (value >> HIST_OCTAVES != 0)
        return HIST_BUCKETS - 1;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - HIST_BITS;
    return ((shift + 1) << HIST_BITS) + (unsigned)(value >> shift & ((1u << HIST_BITS) - 1));
}
uint64_t hist_value(unsigned bucket);

static inline void hist_add(struct hist *hist, uint64_t value)
{
    hist->buckets[hist_bucket(value)]++;
    if (hist->count++ == 0 || value < hist->min)
        hist->min = value;
    if (value > hist->max)
        hist->max = value;
    hist->sum += value;
}

/* Adds all that `from` counted. */
void hist_merge(struct hist *hist, const struct hist *from);

/*
 * The value that a share of `quantile` (0 to 1, not 1 itself) of all values does not
 * exceed. NaN below 10 / (1 - quantile) values: fewer than ten would lie above it.
 */
double hist_quantile(const struct hist *hist, double quantile);

/* The mean of all values, exact; NaN for an empty one. */
double hist_mean(const struct hist *hist);

#endif

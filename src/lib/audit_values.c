/* SPDX-License-Identifier: MIT */
/* How values are spread: counts in buckets that grow with the value. */
#include <stdlib.h>

#include "lib/audit.h"

/* Below 64 each value has its bucket; above, each power of two has 64. */
static size_t bucket_of(uint64_t value)
{
    if (value < 64)
        return (size_t)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value); /* 6 to 63 */
    return 64 + (size_t)(power - 6) * 64 + (size_t)(value >> (power - 6) & 63);
}

/* The middle of a bucket. */
static uint64_t value_of(size_t bucket)
{
    if (bucket < 64)
        return bucket;
    unsigned shift = (unsigned)((bucket - 64) / 64);
    uint64_t low = (64 + (uint64_t)((bucket - 64) % 64)) << shift;
    return low + ((1ull << shift) >> 1);
}

int values_init(struct values *values)
{
    values->counts = calloc(VALUES_BUCKETS, sizeof(*values->counts));
    return values->counts ? 0 : -1;
}

void values_add(struct values *values, uint64_t value, double count)
{
    values->counts[bucket_of(value)] += count;
}

uint64_t values_at(const struct values *values, double share)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < VALUES_BUCKETS; i++)
        total += values->counts[i];
    if (total <= 0)
        return 0;
    for (size_t i = 0; i < VALUES_BUCKETS; i++) {
        sum += values->counts[i];
        if (values->counts[i] > 0 && sum >= share * total)
            return value_of(i);
    }
    return 0;
}

void values_release(struct values *values)
{
    free(values->counts);
    values->counts = NULL;
}

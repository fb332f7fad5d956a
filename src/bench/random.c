/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same everywhere for a seed, and orders of keys. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run.h"

/* SplitMix64: spreads a seed over the whole state, and one seed over many. */
uint64_t bench_seed_next(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t bench_hash(const void *data, size_t size)
{
    const unsigned char *at = data;
    uint64_t hash = size;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
    }
    uint64_t rest = 0;
    memcpy(&rest, at, size);
    hash ^= rest;
    return bench_seed_next(&hash);
}

void bench_random_seed(struct bench_random *random, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++)
        random->state[i] = bench_seed_next(&seed);
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

uint64_t bench_random_next(struct bench_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t bench_random_below(struct bench_random *random, uint64_t bound)
{
    uint64_t rest = -bound % bound; /* 2^64 modulo bound: what would favour small numbers */
    for (;;) {
        uint64_t value = bench_random_next(random);
        if (value >= rest)
            return value % bound;
    }
}

double bench_random_unit(struct bench_random *random)
{
    return (double)(bench_random_next(random) >> 11) * 0x1p-53;
}

void bench_random_fill(struct bench_random *random, void *data, size_t size)
{
    unsigned char *at = data;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t value = bench_random_next(random);
        memcpy(at, &value, 8);
    }
    uint64_t value = bench_random_next(random);
    memcpy(at, &value, size);
}

int bench_compare_keys(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

int bench_compare_ids(const void *a, const void *b, void *keys)
{
    int64_t left = ((const struct bench_key *)keys)[*(const uint32_t *)a].id;
    int64_t right = ((const struct bench_key *)keys)[*(const uint32_t *)b].id;
    return (left > right) - (left < right);
}

void order_shuffle(struct bench_random *random, uint32_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)bench_random_below(random, i);
        uint32_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

void order_permutations(struct bench_random *random, uint32_t *order, size_t count, size_t keys)
{
    for (size_t start = 0; start < count; start += keys) {
        size_t part = count - start < keys ? count - start : keys;
        if (part == keys) {
            for (size_t i = 0; i < keys; i++)
                order[start + i] = (uint32_t)i;
            order_shuffle(random, order + start, keys);
            continue;
        }
        /* A part of a permutation: Vitter's reservoir, then shuffled. */
        for (size_t i = 0; i < keys; i++) {
            size_t j = i < part ? i : (size_t)bench_random_below(random, i + 1);
            if (j < part)
                order[start + j] = (uint32_t)i;
        }
        order_shuffle(random, order + start, part);
    }
}

/* The integral of x^-theta, and its inverse: for theta other than 1. */
static double zipf_h(double x, double theta)
{
    return (exp((1 - theta) * log(x)) - 1) / (1 - theta);
}

static double zipf_h_inverse(double y, double theta)
{
    return exp(log(1 + y * (1 - theta)) / (1 - theta));
}

/*
 * Rejection-inversion (Hörmann and Derflinger 1996): exact, without a table. Which key
 * has which rank is a permutation of its own, so that popular keys do not lie together.
 */
void order_zipf(struct bench_random *random, uint32_t *order, size_t count, const uint32_t *ranked,
                size_t keys)
{
    const double theta = 0.99;
    double low = zipf_h(1.5, theta) - 1;
    double high = zipf_h((double)keys + 0.5, theta);
    for (size_t i = 0; i < count;) {
        double u = high + bench_random_unit(random) * (low - high);
        double x = zipf_h_inverse(u, theta);
        double k = floor(x + 0.5);
        if (k < 1)
            k = 1;
        if (k > (double)keys)
            k = (double)keys;
        if (u >= zipf_h(k + 0.5, theta) - exp(-theta * log(k)))
            order[i++] = ranked[(size_t)k - 1];
    }
}

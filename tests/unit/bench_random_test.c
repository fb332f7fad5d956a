/* SPDX-License-Identifier: MIT */
/* Random numbers and orders of the bench: the published generators, fair and complete orders. */
#include <math.h>

#include "bench/run.h"
#include "tap.h"

#define KEYS 1000u

static void test_generators(void)
{
    /* The first numbers of SplitMix64 from the seed 1234567, as its authors' code gives them. */
    static const uint64_t split[] = {6457827717110365317u, 3203168211198807973u,
                                     9817491932198370423u, 4593380528125082431u,
                                     16408922859458223821u};
    uint64_t seed = 1234567;
    bool is_same = true;
    for (size_t i = 0; i < 5; i++)
        is_same = is_same && bench_seed_next(&seed) == split[i];
    ok(is_same, "SplitMix64 gives its published numbers");
    /* And of xoshiro256** from the state 1, 2, 3, 4. */
    static const uint64_t star[] = {11520u, 0u, 1509978240u, 1215971899390074240u};
    struct bench_random random = {.state = {1, 2, 3, 4}};
    is_same = true;
    for (size_t i = 0; i < 4; i++)
        is_same = is_same && bench_random_next(&random) == star[i];
    ok(is_same, "xoshiro256** gives its published numbers");
}

static void test_bounds(void)
{
    struct bench_random random;
    size_t counts[7] = {0};
    bool is_inside = true;
    bench_random_seed(&random, 1);
    for (size_t i = 0; i < 70000; i++)
        counts[bench_random_below(&random, 7)]++;
    double chi = 0;
    for (size_t i = 0; i < 7; i++)
        chi += ((double)counts[i] - 10000) * ((double)counts[i] - 10000) / 10000;
    ok(chi < 22.5, "seven numbers come equally often (chi square %.1f, limit at 0.1 %%)", chi);
    for (size_t i = 0; i < 10000; i++) {
        double unit = bench_random_unit(&random);
        is_inside = is_inside && unit >= 0 && unit < 1;
    }
    ok(is_inside, "units lie between 0 and 1");
}

/* Whether every key stands in a part of an order as often as in the others. */
static bool is_permutation(const uint32_t *order, size_t count)
{
    bool seen[KEYS] = {false};
    for (size_t i = 0; i < count; i++) {
        if (order[i] >= KEYS || seen[order[i]])
            return false;
        seen[order[i]] = true;
    }
    return true;
}

static void test_permutations(void)
{
    static uint32_t order[2 * KEYS + 500], again[2 * KEYS + 500];
    struct bench_random random;
    bench_random_seed(&random, 42);
    order_permutations(&random, order, 2 * KEYS + 500, KEYS);
    ok(is_permutation(order, KEYS), "the first pass has every key once");
    ok(is_permutation(order + KEYS, KEYS), "the second pass too");
    ok(is_permutation(&order[2 * KEYS], 500), "the last part has no key twice");
    ok(memcmp(order, order + KEYS, KEYS * sizeof(*order)) != 0, "passes are not alike");
    bench_random_seed(&random, 42);
    order_permutations(&random, again, 2 * KEYS + 500, KEYS);
    ok(memcmp(order, again, sizeof(order)) == 0, "the same seed gives the same order");
    double sum = 0;
    for (size_t i = 0; i < 200; i++) {
        order_permutations(&random, order, 10, KEYS);
        for (size_t j = 0; j < 10; j++)
            sum += order[j];
    }
    /* mean 499.5, standard deviation of the mean of 2000: 288.7 / sqrt(2000) = 6.5 */
    ok(fabs(sum / 2000 - 499.5) < 26, "parts are drawn from all keys (mean %.1f)", sum / 2000);
}

static void test_zipf(void)
{
    static uint32_t order[200000];
    static size_t counts[KEYS];
    uint32_t ranked[KEYS];
    struct bench_random random;
    bench_random_seed(&random, 3);
    for (uint32_t i = 0; i < KEYS; i++)
        ranked[i] = KEYS - 1 - i;
    order_zipf(&random, order, 200000, ranked, KEYS);
    double norm = 0, chi = 0;
    for (size_t i = 0; i < 200000; i++)
        counts[KEYS - 1 - order[i]]++;
    for (size_t i = 1; i <= KEYS; i++)
        norm += pow((double)i, -0.99);
    for (size_t i = 1; i <= KEYS; i++) {
        double expected = 200000 * pow((double)i, -0.99) / norm;
        chi += ((double)counts[i - 1] - expected) * ((double)counts[i - 1] - expected) / expected;
    }
    /* 999 degrees of freedom: mean 999, standard deviation 44.7 */
    ok(chi < 999 + 4 * 44.7, "ranks come as Zipf's law tells (chi square %.0f of 999)", chi);
}

int main(void)
{
    test_generators();
    test_bounds();
    test_permutations();
    test_zipf();
    return done();
}

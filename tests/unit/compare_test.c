/* SPDX-License-Identifier: MIT */
/* Tests of bench/compare: how two results differ, whose rounds are no pairs. */
#include <math.h>
#include <string.h>

#include "bench/compare.h"
#include "tap.h"

#define ROUNDS 11
#define TRIALS 2000

static struct bench_random dice;
static struct bench_run runs[2][ROUNDS];
static struct bench_series series[2] = {{.label = "F-path", .runs = runs[0]},
                                        {.label = "F-path", .runs = runs[1]}};
static struct bench_case cases[2] = {
    {.round_count = ROUNDS, .series = &series[0], .series_count = 1},
    {.round_count = ROUNDS, .series = &series[1], .series_count = 1}};

static void set_run(size_t which, size_t round, double us)
{
    runs[which][round] = (struct bench_run){.is_done = true, .op_count = 1000000};
    runs[which][round].elapsed_ns = (uint64_t)(us * 1e9);
}

static struct bench_change compare(void)
{
    struct bench_change change;
    need(bench_compare_series(&cases[0], &series[0], &cases[1], &series[1], &change) == 0);
    return change;
}

/* The logarithms of the 121 ratios are -0.10 to 1.10 in steps of 0.01: the k-th is e to the
 * -0.11 + k / 100. 121 / 2 - 1.96 sqrt(121 * 23 / 12) is 30.7: the 30th from either end. */
static void knows_ranks(void)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        set_run(0, i, 100 * exp(0.01 * (double)i));
        set_run(1, i, 100 * exp(0.11 * (double)((i * 7 + 3) % ROUNDS)));
    }
    struct bench_change change = compare();
    ok(fabs(change.ratio - exp(0.5)) < 1e-6, "the median of all ratios");
    ok(fabs(change.interval.low - exp(0.19)) < 1e-6, "the 30th of 121 ratios");
    ok(fabs(change.interval.high - exp(0.81)) < 1e-6, "the 92nd");
    ok(change.kind == BENCH_CHANGE_SLOWER, "it has become slower");
    is_text(bench_change_name(change.kind), "slower", "which has a word");
}

static void knows_what_did_not_change(void)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        set_run(0, i, 10 + 0.01 * (double)i);
        set_run(1, i, 10.2 + 0.01 * (double)i);
    }
    ok(compare().kind == BENCH_CHANGE_NONE, "2 %% are no change");
    for (size_t i = 0; i < ROUNDS; i++)
        set_run(1, i, 9 + 0.01 * (double)i);
    ok(compare().kind == BENCH_CHANGE_FASTER, "10 %% are one");
    for (size_t i = 0; i < ROUNDS; i++)
        set_run(1, i, i % 2 ? 9 : 12);
    ok(compare().kind == BENCH_CHANGE_UNKNOWN, "an interval on both sides is none");
}

static void needs_rounds(void)
{
    memset(runs, 0, sizeof(runs));
    struct bench_change change = compare();
    ok(change.ratio == 0 && change.kind == BENCH_CHANGE_UNKNOWN, "no rounds, no change");
    set_run(0, 0, 1);
    set_run(1, 0, 2);
    change = compare();
    ok(fabs(change.ratio - 2) < 1e-9 && isnan(change.interval.low), "one has no interval");
    series[0].runs = NULL;
    ok(compare().ratio == 0, "nor have runs that are not there");
    series[0].runs = runs[0];
}

static void covers(double ratio)
{
    unsigned held = 0;
    for (unsigned i = 0; i < TRIALS; i++) {
        for (size_t j = 0; j < ROUNDS; j++)
            for (size_t which = 0; which < 2; which++) {
                double u = 1 - bench_random_unit(&dice);
                double noise = sqrt(-2 * log(u)) * cos(2 * M_PI * bench_random_unit(&dice)) * 0.05;
                set_run(which, j, 10 * exp(noise) * (which ? ratio : 1));
            }
        struct bench_change change = compare();
        held += change.interval.low <= ratio && ratio <= change.interval.high;
    }
    ok(held >= 0.94 * TRIALS && held <= 0.975 * TRIALS,
       "ratio %.2f: the interval holds it in %.1f %%", ratio, 100.0 * held / TRIALS);
}

int main(void)
{
    bench_random_seed(&dice, 20261130);
    knows_ranks();
    knows_what_did_not_change();
    needs_rounds();
    covers(1);
    covers(1.35);
    return done();
}

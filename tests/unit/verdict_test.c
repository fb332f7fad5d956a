/* SPDX-License-Identifier: MIT */
/* Tests of the judge: how often its intervals hold, what it says of results made by hand. */
#include <math.h>
#include <string.h>

#include "bench/judge.h"
#include "tap.h"

#define ROUNDS 15
#define TRIALS 3000

static struct bench_random dice;

/* Box and Muller. */
static double normal(void)
{
    double u = 1 - bench_random_unit(&dice);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * bench_random_unit(&dice));
}

/* A time of `us` with so much noise; one in twenty takes two to four times as long. */
static double noisy(double us, double noise)
{
    double time = us * exp(noise * normal());
    return bench_random_below(&dice, 20) == 0 ? time * (2 + 2 * bench_random_unit(&dice)) : time;
}

/* -- a result of one case and two series ---------------------------------------------------- */

static struct bench_run runs[2][ROUNDS];
static struct bench_series series[2] = {{.label = "F-path", .runs = runs[0]},
                                        {.label = "S-naive", .runs = runs[1]}};
static struct bench_effect effect = {.pair = BENCH_DROP_IN, .files = 0, .pack = 1};
static struct bench_case question = {.round_count = ROUNDS,
                                     .wanted_ops = 1000,
                                     .series = series,
                                     .series_count = 2,
                                     .effects = &effect,
                                     .effect_count = 1};

static void set_run(struct bench_run *run, double us)
{
    *run = (struct bench_run){.is_done = true, .op_count = 100000, .is_proven = true};
    run->elapsed_ns = (uint64_t)(us * 1e3 * (double)run->op_count);
}

static void judge_case(void)
{
    summarize(&question, &series[0]);
    summarize(&question, &series[1]);
    compare_series(&question, 1, &effect);
}

static void set_ratio(double ratio)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        set_run(&runs[0][i], 10 * ratio);
        set_run(&runs[1][i], 10);
    }
    judge_case();
}

/* -- simulations ---------------------------------------------------------------------------- */

/* How often the interval holds the true ratio, and how often a verdict names the slower side. */
static void covers(double ratio, double noise)
{
    unsigned held = 0;
    unsigned wrong = 0;
    for (unsigned i = 0; i < TRIALS; i++) {
        double ratios[ROUNDS];
        double files[ROUNDS];
        double pack[ROUNDS];
        size_t rank;
        for (size_t j = 0; j < ROUNDS; j++) {
            double common = exp(0.2 * normal()); /* of a round: what pairing takes out */
            files[j] = noisy(ratio * common, noise);
            pack[j] = noisy(common, noise);
        }
        stats_ratios(files, pack, ROUNDS, ratios);
        struct stats_interval interval = stats_median_interval(ratios, ROUNDS, &rank);
        held += interval.low <= ratio && ratio <= interval.high;
        wrong += interval.high < JUDGE_SLOWER || (ratio <= 1 && interval.low > JUDGE_FASTER);
    }
    ok(held >= 0.94 * TRIALS, "ratio %.2f, noise %.2f: the interval holds it in %.1f %%", ratio,
       noise, 100.0 * held / TRIALS);
    ok(held <= 0.985 * TRIALS, "ratio %.2f: and is not wider than it must be", ratio);
    ok(wrong <= 0.05 * TRIALS, "ratio %.2f: called wrongly in %.1f %%", ratio,
       100.0 * wrong / TRIALS);
}

/* An arm that is slowed by 20 % is found every time. */
static void finds_a_slow_arm(void)
{
    unsigned found = 0;
    for (unsigned i = 0; i < 100; i++) {
        for (size_t j = 0; j < ROUNDS; j++) {
            set_run(&runs[0][j], noisy(12, 0.05));
            set_run(&runs[1][j], noisy(10, 0.05));
        }
        judge_case();
        found += effect.verdict == BENCH_PACK_FASTER;
    }
    ok(found >= 95, "20 %% more are found in %u of 100", found);
}

/* -- verdicts ------------------------------------------------------------------------------- */

static void says_who_is_faster(void)
{
    set_ratio(1.9);
    ok(effect.verdict == BENCH_PACK_FASTER, "the pack is faster");
    is_text(bench_effect_words(&question, &effect).text, "pack faster x1.90", "and by how much");
    ok(fabs(effect.ratio - 1.9) < 1e-9 && fabs(effect.mean_ratio - 1.9) < 1e-9, "the ratio");
    ok(fabs(effect.interval.coverage - 0.96484375) < 1e-12, "its interval's coverage");
    set_ratio(95.01);
    is_text(bench_effect_words(&question, &effect).text, "pack faster x95.0", "in three digits");
    set_ratio(0.5);
    ok(effect.verdict == BENCH_FILES_FASTER, "files are faster");
    is_text(bench_effect_words(&question, &effect).text, "files faster x2.00", "by the inverse");
    set_ratio(1.04);
    ok(effect.verdict == BENCH_NO_DIFFERENCE, "4 %% are no practical difference");
    set_ratio(0.96);
    ok(effect.verdict == BENCH_NO_DIFFERENCE, "nor are 4 %% the other way");
    set_ratio(1.06);
    ok(effect.verdict == BENCH_PACK_FASTER, "6 %% are a difference");
}

static void says_when_it_does_not_know(void)
{
    set_ratio(1);
    for (size_t i = 0; i < ROUNDS; i++)
        set_run(&runs[0][i], i % 2 ? 12 : 9);
    judge_case();
    ok(effect.verdict == BENCH_INCONCLUSIVE, "an interval on both sides");
    is_text(bench_effect_words(&question, &effect).text, "inconclusive, try --rounds 30",
            "and a way out");
    for (size_t i = 0; i < ROUNDS; i++)
        set_run(&runs[0][i], i % 2 ? 10 : 9);
    judge_case();
    ok(effect.verdict == BENCH_INCONCLUSIVE, "an interval from a difference to none");
    set_ratio(2);
    for (size_t i = 5; i < ROUNDS; i++)
        runs[0][i].is_done = false;
    judge_case();
    is_int(effect.round_count, 5, "only rounds that both sides finished count");
    ok(effect.verdict == BENCH_INCONCLUSIVE && isnan(effect.interval.low),
       "five are too few for an interval");
    is_text(bench_effect_words(&question, &effect).text, "inconclusive, try --rounds 30",
            "what to ask for is twice what was asked for");
    for (size_t i = 0; i < ROUNDS; i++)
        runs[0][i].is_done = false;
    judge_case();
    ok(effect.verdict == BENCH_NO_VERDICT, "no round, no verdict");
    set_ratio(2);
    for (size_t i = 0; i < 5; i++)
        runs[1][i].is_proven = false;
    judge_case();
    is_int(effect.round_count, 10, "rounds whose cache is not proven are left out");
    for (size_t i = 0; i < ROUNDS; i++)
        runs[0][i].is_proven = false;
    judge_case();
    is_text(bench_effect_words(&question, &effect).text, "cache not proven", "nothing is left");
    question.state = BENCH_STATELESS;
    judge_case();
    is_int(effect.round_count, ROUNDS, "writes need no such proof");
    question.state = BENCH_WARM;
    set_ratio(2);
    question.results_differ = true;
    judge_case();
    ok(effect.verdict == BENCH_NO_VERDICT, "none where the arms gave different results");
    question.results_differ = false;
}

static void says_what_is_too_short(void)
{
    set_ratio(2);
    ok(!series[0].summary.is_too_short, "a second a run is enough");
    for (size_t i = 0; i < 8; i++)
        runs[0][i].op_count = 999;
    judge_case();
    ok(series[0].summary.is_too_short && effect.verdict == BENCH_NO_VERDICT,
       "999 operations in most rounds are too few");
    set_ratio(2);
    for (size_t i = 0; i < 8; i++)
        runs[1][i].elapsed_ns = 99999999;
    judge_case();
    ok(series[1].summary.is_too_short, "and so is less than 100 ms");
    question.wanted_ops = 0;
    judge_case();
    ok(!series[1].summary.is_too_short, "but not where any number will do");
    question.wanted_ops = 1000;
}

static void sums_up(void)
{
    set_ratio(1);
    for (size_t i = 0; i < ROUNDS; i++)
        set_run(&runs[0][i], 9 + (double)(i % 3));
    set_run(&runs[0][3], 24); /* the MAD is 1: 14 of them away from the median */
    set_run(&runs[0][4], 26); /* 16 of them */
    judge_case();
    const struct bench_summary *summary = &series[0].summary;
    is_int(summary->round_count, ROUNDS, "rounds");
    ok(fabs(summary->median_us - 10) < 1e-9 && summary->max_us > 25, "outliers are kept");
    is_int(summary->outlier_count, 1, "and flagged");
    ok(!summary->has_drift, "one outlier is no drift");
    for (size_t i = 0; i < ROUNDS; i++)
        set_run(&runs[0][i], 10 + 0.1 * (double)i);
    judge_case();
    ok(summary->has_drift && summary->slope_percent > 12 && summary->slope_percent < 14,
       "1.4 of 10.7 is a drift of 13 %%");
    ok(summary->p99_us == -1, "no histogram, no percentile");
}

/* -- a whole result ------------------------------------------------------------------------- */

#define CASES 4

static struct bench_effect pairs[CASES][2];
static struct bench_case cases[CASES];
static struct bench_result result;

/* Random reads warm and cold, and full reads of both, all with these verdicts and ratios. */
static void set_result(double space_percent, const double ratios[CASES][2])
{
    static const enum bench_workload workloads[] = {BENCH_READ_RANDOM, BENCH_READ_RANDOM,
                                                    BENCH_READ_ALL, BENCH_READ_ALL};
    static const enum bench_state states[] = {BENCH_WARM, BENCH_COLD, BENCH_WARM, BENCH_COLD};
    memset(&result, 0, sizeof(result));
    for (size_t i = 0; i < CASES; i++) {
        for (size_t j = 0; j < 2; j++) {
            pairs[i][j] = (struct bench_effect){.pair = j ? BENCH_BEST : BENCH_DROP_IN,
                                                .ratio = ratios[i][j],
                                                .round_count = ROUNDS};
            pairs[i][j].verdict = ratios[i][j] > 1.05   ? BENCH_PACK_FASTER
                                  : ratios[i][j] < 0.95 ? BENCH_FILES_FASTER
                                                        : BENCH_NO_DIFFERENCE;
        }
        cases[i] = (struct bench_case){.workload = workloads[i],
                                       .state = states[i],
                                       .threads = 1,
                                       .series = series,
                                       .series_count = 2,
                                       .effects = pairs[i],
                                       .effect_count = 2};
        cases[i].verdict = case_verdict(&cases[i]);
    }
    result.cases = cases;
    result.case_count = CASES;
    result.corpus.tree_allocated_bytes = 1000 << 20;
    result.corpus.pack_allocated_bytes = (uint64_t)((100 - space_percent) * 10) << 20;
    result.corpus.folder_allocated_bytes = 1 << 20;
    result.corpus.tree_inode_count = 7;
    result.corpus.inode_percent = -1;
    judge_lines(&result);
}

static void reads_both_pairs(void)
{
    const double ratios[CASES][2] = {{0.5, 2}, {1.2, 1.5}, {1, 1}, {0.8, 0.9}};
    set_result(30, ratios);
    ok(cases[0].verdict == BENCH_DEPENDS, "pairs that disagree");
    ok(cases[1].verdict == BENCH_PACK_FASTER, "pairs that agree");
    pairs[0][1].verdict = BENCH_INCONCLUSIVE;
    ok(case_verdict(&cases[0]) == BENCH_INCONCLUSIVE, "not known whether they agree");
    pairs[0][1].verdict = BENCH_NO_VERDICT;
    ok(case_verdict(&cases[0]) == BENCH_FILES_FASTER, "one pair alone");
    is_text(result.lines[BENCH_ON_READ_WARM].text,
            "drop-in files faster x2.00, best pack faster x2.00", "both are told");
    is_text(result.lines[BENCH_ON_READ_COLD].text, "pack faster x1.20 to x1.50", "as a range");
    cases[1].effects[1].verdict = BENCH_NO_VERDICT;
    cases[1].effects[1].round_count = 0;
    judge_lines(&result);
    is_text(result.lines[BENCH_ON_READ_COLD].text, "drop-in pack faster x1.20, best not measured",
            "a pair without a verdict is told too");
    ok(result.lines[BENCH_ON_READ_ALL].verdict == BENCH_DEPENDS, "a line of two cases");
    is_text(result.lines[BENCH_ON_SPACE].text,
            "frees 29.9 to 30.0 % of 1000.0 MiB (299.0 to 300.0 MiB) and 7 inodes", "space");
    ok(!result.lines[BENCH_ON_THREADS].is_known, "what was not measured is not known");
}

static void lists_many_cases(void)
{
    const double ratios[CASES][2] = {{10, 119}, {3, 3}, {2, 0.5}, {0.5, 1}};
    set_result(30, ratios);
    cases[0].workload = BENCH_FILTER_SIZE;
    cases[1].workload = BENCH_WRITE_DELETE;
    cases[1].durability = BENCH_SYNC_END;
    cases[2].workload = BENCH_WRITE_CREATE;
    cases[2].durability = BENCH_SYNC_NONE;
    cases[3].workload = BENCH_WRITE_DELETE;
    cases[3].durability = BENCH_SYNC_NONE;
    judge_lines(&result);
    is_text(result.lines[BENCH_ON_METADATA].text, "filter by size pack x10.0 to x119", "queries");
    is_text(result.lines[BENCH_ON_WRITE].text,
            "no sync: create drop-in pack x2.00, best files x2.00, delete drop-in files x2.00, "
            "best no difference; sync at the end: delete pack x3.00",
            "writes, by class");
    ok(result.lines[BENCH_ON_WRITE].verdict == BENCH_DEPENDS, "which differ");
    result.corpus.folder_allocated_bytes = 0;
    judge_lines(&result);
    is_text(result.lines[BENCH_ON_SPACE].text,
            "frees 30.0 % of 1000.0 MiB (300.0 MiB) and 7 inodes", "a range of one is told once");
}

static void advises(void)
{
    const double good[CASES][2] = {{0.5, 2}, {1.2, 1.5}, {1, 1}, {1.2, 1.3}};
    const double slow[CASES][2] = {{0.9, 0.75}, {1.2, 1.5}, {1, 1}, {1.2, 1.3}};
    const double close[CASES][2] = {{0.9, 0.85}, {1.2, 1.5}, {1, 1}, {1.2, 1.3}};
    const double bad[CASES][2] = {{0.5, 0.7}, {0.5, 0.6}, {0.9, 0.9}, {0.8, 0.8}};
    set_result(12, good);
    ok(result.advice == BENCH_MIGRATE, "space, and no row is lost");
    set_result(9, good);
    ok(result.advice == BENCH_TRADE_OFF, "too little space, though nothing is lost");
    set_result(12, slow);
    ok(result.advice == BENCH_TRADE_OFF, "files are faster by over 1.25 in one row");
    ok(strstr(result.reason, "RANDOM READ warm files faster, by up to x1.33"), "which is told");
    set_result(12, close);
    ok(result.advice == BENCH_MIGRATE, "less than 1.25 does not matter");
    set_result(5, bad);
    ok(result.advice == BENCH_STAY, "files win, and there is no space in it");
    set_result(30, bad);
    ok(result.advice == BENCH_TRADE_OFF, "files win, but there is space in it");
    set_result(5, slow);
    ok(result.advice == BENCH_TRADE_OFF, "files win one row only");
}

static void asks_how_it_is_read(void)
{
    const double cold_lost[CASES][2] = {{2, 2}, {0.5, 0.6}, {1, 1}, {0.5, 0.5}};
    set_result(12, cold_lost);
    ok(result.advice == BENCH_TRADE_OFF, "mixed use takes both states");
    result.use = BENCH_USE_WARM;
    judge_lines(&result);
    ok(result.advice == BENCH_MIGRATE, "warm use takes the warm rows only");
    ok(!strstr(result.reason, "cold"), "and speaks of no others");
    result.use = BENCH_USE_COLD;
    result.corpus.pack_allocated_bytes = result.corpus.tree_allocated_bytes;
    judge_lines(&result);
    ok(result.advice == BENCH_STAY, "cold use the cold ones");
    const double good[CASES][2] = {{2, 2}, {2, 2}, {2, 2}, {2, 2}};
    set_result(12, good);
    snprintf(cases[1].missing, sizeof(cases[1].missing), "tmpfs");
    judge_lines(&result);
    ok(result.advice == BENCH_TRADE_OFF && strstr(result.reason, "RANDOM READ cold not measured"),
       "what was not measured is no reason to migrate");
}

static void withholds(void)
{
    const double good[CASES][2] = {{2, 2}, {2, 2}, {2, 2}, {2, 2}};
    set_result(30, good);
    result.gates[BENCH_GATE_CLOCK] = (struct bench_gate){BENCH_FAILED, "the governor changed"};
    judge_lines(&result);
    ok(result.advice == BENCH_WITHHELD, "a gate that failed withholds the advice");
    is_text(result.reason, "clock: the governor changed", "and is the reason");
    ok(result.lines[BENCH_ON_READ_WARM].is_known, "the lines are there all the same");
    set_result(30, good);
    result.case_count = 0;
    judge_lines(&result);
    ok(result.advice == BENCH_NO_ADVICE, "nothing measured, nothing to say");
}

static void keeps_gates(void)
{
    set_ratio(1);
    memset(&result, 0, sizeof(result));
    result.cases = &question;
    result.case_count = 1;
    result.environment = (struct bench_environment){
        .processor_count = 2, .load_start = 0.99, .steal_percent = 1.9, .psi_some_percent = 4.9};
    effect.pair = BENCH_AA;
    judge_gates(&result);
    for (size_t i = BENCH_GATE_RESULTS; i <= BENCH_GATE_PRESSURE; i++)
        ok(result.gates[i].outcome == BENCH_PASSED, "%s passes",
           bench_gate_name((enum bench_gate_id)i));
    ok(result.gates[BENCH_GATE_CACHE].outcome == BENCH_PASSED, "cache passes");
    ok(result.gates[BENCH_GATE_CONTENT].outcome == BENCH_NOT_KNOWN, "the runner's stay");
    result.environment = (struct bench_environment){
        .processor_count = 2, .load_start = 1, .steal_percent = 2, .psi_some_percent = 5};
    question.results_differ = true;
    for (size_t i = 0; i < ROUNDS; i++)
        set_run(&runs[0][i], 10.6);
    judge_case();
    for (size_t i = 0; i < 6; i++)
        runs[1][i].is_proven = false;
    struct bench_effect fine = effect;
    fine.interval.low = fine.interval.high = 1;
    struct bench_case two[] = {question, question};
    two[1].effects = &fine;
    result.cases = two;
    result.case_count = 2;
    judge_gates(&result);
    for (size_t i = BENCH_GATE_RESULTS; i <= BENCH_GATE_PRESSURE; i++)
        ok(result.gates[i].outcome == BENCH_FAILED, "%s fails: %s",
           bench_gate_name((enum bench_gate_id)i), result.gates[i].detail);
    ok(result.gates[BENCH_GATE_CACHE].outcome == BENCH_FAILED, "cache fails: %s",
       result.gates[BENCH_GATE_CACHE].detail);
    ok(!strstr(result.gates[BENCH_GATE_AA].detail, "rounds"), "a bias is no noise");
    effect.interval.low = 0.9;
    runs[1][5].is_proven = true;
    judge_gates(&result);
    ok(strstr(result.gates[BENCH_GATE_AA].detail, "more --rounds"), "noise can be narrowed");
    ok(result.gates[BENCH_GATE_CACHE].outcome == BENCH_PASSED, "a third may be unproven");
    runs[1][5].is_proven = false;
    two[0].threads = two[1].threads = 2;
    judge_gates(&result);
    ok(result.gates[BENCH_GATE_CACHE].outcome == BENCH_NOT_KNOWN, "rows that do not decide may be");
    result.environment =
        (struct bench_environment){.load_start = -1, .steal_percent = -1, .psi_some_percent = -1};
    memset(result.gates, 0, sizeof(result.gates));
    judge_gates(&result);
    for (size_t i = BENCH_GATE_LOAD; i <= BENCH_GATE_PRESSURE; i++)
        ok(result.gates[i].outcome == BENCH_NOT_KNOWN, "%s: what is not known passes nothing",
           bench_gate_name((enum bench_gate_id)i));
    question.results_differ = false;
    effect.pair = BENCH_DROP_IN;
}

/* -- why not double ------------------------------------------------------------------------- */

static void names_limits(void)
{
    static const struct bench_arm arm = {.side = BENCH_PACK, .calls = "pread"};
    const struct bench_corpus corpus = {.size_p50 = 10000, .page_bytes = 4096};
    is_int(bench_row_pages(0, 4096), 1, "nothing lies in the leaf");
    is_int(bench_row_pages(3997, 4096), 1, "as does what just fits");
    is_int(bench_row_pages(3998, 4096), 2, "a byte more is a chain");
    is_int(bench_row_pages(10000, 4096), 3, "10 KB in pages of 4 KiB");
    is_int(bench_row_pages(10000, 1024), 10, "and of 1 KiB");
    is_int(bench_row_pages(10000, 16384), 1, "and of 16 KiB");
    set_ratio(1);
    series[1].arm = &arm;
    for (size_t i = 0; i < ROUNDS; i++) {
        runs[1][i].system_ns = runs[1][i].elapsed_ns * 7 / 10;
        runs[1][i].user_ns = runs[1][i].elapsed_ns / 10;
        runs[1][i].read_calls = 3 * runs[1][i].op_count;
    }
    is_text(bench_limit(&corpus, &question, &series[1]).text,
            "S-naive: in the kernel (pread), 3.0 reads, 3 pages", "where the time goes");
    for (size_t i = 0; i < ROUNDS; i++)
        runs[1][i].elapsed_ns *= 3;
    ok(strstr(bench_limit(&corpus, &question, &series[1]).text, "S-naive: waits"),
       "what is neither is waiting");
}

int main(void)
{
    static const double ratios[] = {1.00, 1.05, 1.35, 2.0};
    bench_random_seed(&dice, 20261130);
    for (size_t i = 0; i < 4; i++) {
        covers(ratios[i], 0.05);
        covers(ratios[i], 0.25);
    }
    finds_a_slow_arm();
    says_who_is_faster();
    says_when_it_does_not_know();
    says_what_is_too_short();
    sums_up();
    reads_both_pairs();
    lists_many_cases();
    advises();
    asks_how_it_is_read();
    withholds();
    keeps_gates();
    names_limits();
    return done();
}

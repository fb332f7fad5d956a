/* SPDX-License-Identifier: MIT */
/* Judges whether what was measured can carry a verdict at all. */
#include <math.h>
#include <string.h>

#include "bench/judge.h"

#define LOAD_MAX_SHARE   0.5 /* of the processors, at the start */
#define STEAL_MAX        2.0 /* percent */
#define PRESSURE_MAX     5.0 /* percent */
#define UNPROVEN_SHARE   3   /* a third of a series' runs may be so */
#define UNPROVEN_MESSAGE "%s, %s: the cache was not proven to be so for %s (%zu of %zu runs)"

static void set(struct bench_gate *gate, bool passed)
{
    gate->outcome = passed ? BENCH_PASSED : BENCH_FAILED;
}

static void judge_machine(struct bench_result *result)
{
    const struct bench_environment *env = &result->environment;
    struct bench_gate *gates = result->gates;
    double load_max = LOAD_MAX_SHARE * env->processor_count;
    if (env->load_start >= 0 && env->processor_count > 0) {
        set(&gates[BENCH_GATE_LOAD], env->load_start < load_max);
        snprintf(gates[BENCH_GATE_LOAD].detail, sizeof(gates->detail),
                 "load %.2f at the start, limit %.2f", env->load_start, load_max);
    }
    if (env->steal_percent >= 0) {
        set(&gates[BENCH_GATE_STEAL], env->steal_percent < STEAL_MAX);
        snprintf(gates[BENCH_GATE_STEAL].detail, sizeof(gates->detail),
                 "the host took %.1f %% of the processors' time, limit %.0f %%", env->steal_percent,
                 STEAL_MAX);
    }
    if (env->psi_some_percent >= 0) {
        set(&gates[BENCH_GATE_PRESSURE], env->psi_some_percent < PRESSURE_MAX);
        snprintf(gates[BENCH_GATE_PRESSURE].detail, sizeof(gates->detail),
                 "processes waited for a processor %.1f %% of the time, limit %.0f %%",
                 env->psi_some_percent, PRESSURE_MAX);
    }
}

static void judge_results(struct bench_result *result)
{
    struct bench_gate *gate = &result->gates[BENCH_GATE_RESULTS];
    set(gate, true);
    snprintf(gate->detail, sizeof(gate->detail), "all arms of a case gave the same");
    for (size_t i = 0; i < result->case_count && gate->outcome == BENCH_PASSED; i++) {
        const struct bench_case *question = &result->cases[i];
        if (!question->results_differ)
            continue;
        set(gate, false);
        snprintf(gate->detail, sizeof(gate->detail), "%s, %s: the arms gave different results",
                 bench_workload_name(question->workload), bench_state_name(question->state));
    }
}

/* Both ends of an A/A interval lie inside the band that is called no difference. */
static void judge_aa(struct bench_result *result)
{
    struct bench_gate *gate = &result->gates[BENCH_GATE_AA];
    double worst = 0;
    gate->outcome = BENCH_NOT_KNOWN;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        for (size_t j = 0; j < question->effect_count; j++) {
            const struct bench_effect *effect = &question->effects[j];
            if (effect->pair != BENCH_AA || isnan(effect->interval.low))
                continue;
            double away = fmax(effect->interval.high - 1, 1 - effect->interval.low);
            if (gate->outcome != BENCH_NOT_KNOWN && away <= worst)
                continue;
            worst = away;
            bool is_wide =
                worst > JUDGE_FASTER - 1 && effect->interval.low <= 1 && effect->interval.high >= 1;
            set(gate, worst <= JUDGE_FASTER - 1);
            snprintf(gate->detail, sizeof(gate->detail),
                     "%s, %s: the same arm against itself %.3f [%.3f, %.3f], limit 0.95 to 1.05%s",
                     bench_workload_name(question->workload), bench_state_name(question->state),
                     effect->ratio, effect->interval.low, effect->interval.high,
                     is_wide ? ": noise, more --rounds narrow it" : "");
        }
    }
}

/* Whether the advice rests on a case: reads by one client, in a state that the user cares for. */
static bool decides(const struct bench_result *result, const struct bench_case *question)
{
    bool is_read = question->workload == BENCH_READ_RANDOM ||
                   question->workload == BENCH_READ_REPLAY || question->workload == BENCH_READ_ALL;
    enum bench_use use = bench_is_cold(question) ? BENCH_USE_COLD : BENCH_USE_WARM;
    return is_read && question->threads <= 1 && !question->missing[0] &&
           (result->use == BENCH_USE_MIXED || result->use == use);
}

/* Runs that are not proven are left out of the comparison; too many of them are a fault. */
static void judge_cache(struct bench_result *result)
{
    struct bench_gate *gate = &result->gates[BENCH_GATE_CACHE];
    gate->outcome = BENCH_NOT_KNOWN;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        if (!decides(result, question))
            continue;
        for (size_t j = 0; j < question->series_count; j++) {
            const struct bench_series *series = &question->series[j];
            if (series->layout == BENCH_LAYOUT_MOUNT) /* no pair that decides has it */
                continue;
            size_t unproven = bench_add_up(question, series).unproven;
            if (gate->outcome == BENCH_FAILED)
                return;
            set(gate, unproven * UNPROVEN_SHARE <= question->round_count);
            snprintf(gate->detail, sizeof(gate->detail), "%s",
                     "the caches were proven to be as told");
            if (gate->outcome == BENCH_FAILED)
                snprintf(gate->detail, sizeof(gate->detail), UNPROVEN_MESSAGE,
                         bench_workload_name(question->workload), bench_state_name(question->state),
                         series->label, unproven, question->round_count);
        }
    }
}

void judge_gates(struct bench_result *result)
{
    judge_machine(result);
    judge_results(result);
    judge_aa(result);
    judge_cache(result);
}

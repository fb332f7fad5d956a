/* SPDX-License-Identifier: MIT */
/* What the files of the judge share: summary.c, effect.c, gate.c, verdict.c, words.c. */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include "bench/bench.h"

/* What is called a difference in practice: 5 %. */
#define JUDGE_FASTER 1.05
#define JUDGE_SLOWER (1 / JUDGE_FASTER)

/* Microseconds an operation; NaN where the run was not done. */
double run_us(const struct bench_run *run);

/* Fills in series->summary. */
void summarize(const struct bench_case *question, struct bench_series *series);

/* Fills in what the plan left open of an effect; the summaries are there. */
void compare_series(const struct bench_case *question, uint64_t seed, struct bench_effect *effect);

/* Of the drop-in and the best pair: what both say. */
enum bench_verdict case_verdict(const struct bench_case *question);

/* Sets the gates that rest on what was measured; the runner set the others. */
void judge_gates(struct bench_result *result);

/* Fills in lines, advice and reason. */
void judge_lines(struct bench_result *result);

#endif

/* SPDX-License-Identifier: MIT */
/* How a benchmark's report writes times, shares, ratios and paragraphs. */
#ifndef CMD_BENCH_WORDS_H
#define CMD_BENCH_WORDS_H

#include <stdio.h>

#include "bench/bench.h"
#include "cli/text.h"

#define WORDS_COLUMNS 80

struct text words_us(double us);       /* "4.21 us", "12.3 ms", "1.50 s"; "-" where not known */
struct text words_ratio(double ratio); /* "1.93" */

/* "1.90-1.97" */
struct words {
    char text[160];
};
struct words words_interval(const struct stats_interval *interval);

/* What a case asks: "random read, warm". */
struct words words_case(const struct bench_case *question);

/* Whether a series has a figure, and a case is one of the CSV benchmark that was measured. */
bool words_is_measured(const struct bench_series *series);
bool words_is_csv(const struct bench_case *question);

/* A text behind its label, in lines of up to 80 columns that begin at `indent`. */
void words_paragraph(FILE *file, const char *label, int indent, const char *text);

#endif

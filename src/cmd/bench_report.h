/* SPDX-License-Identifier: MIT */
/* The writers of a benchmark's result: for a person, as JSON, CSV and HTML. */
#ifndef CMD_BENCH_REPORT_H
#define CMD_BENCH_REPORT_H

#include "bench/bench.h"
#include "cli/out.h"

/* The whole result on stdout, up to 80 columns wide; `verbose` adds what explains it. */
void bench_report(const struct bench_result *result, bool verbose);

/* The published table beside this machine's column, of the presets kvtest and csv. */
void bench_report_published(const struct bench_result *result);

/* What differs between two results: bench_report_compare(before, after). */
void bench_report_compare(const struct bench_result *a, const struct bench_result *b);

/* One record, schema sqlpack-bench/1. */
void bench_json(struct out *out, const struct bench_result *result);

/*
 * Write a file, whole or not at all; an existing one is replaced. Return 0, or -1 with *err.
 */
int bench_write_json(const struct bench_result *result, const char *path,
                     struct sqlpack_error *err);
int bench_write_csv(const struct bench_result *result, const char *path,
                    struct sqlpack_error *err); /* a line a run; round 0 is the last warm-up */
int bench_write_html(const struct bench_result *result, const char *path,
                     struct sqlpack_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* Compares two results: what changed from one to the other. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "bench/bench.h"

enum bench_change_kind {
    BENCH_CHANGE_UNKNOWN,
    BENCH_CHANGE_FASTER, /* by more than 5 %, with its whole interval */
    BENCH_CHANGE_SLOWER,
    BENCH_CHANGE_NONE, /* within 5 % */
};
const char *bench_change_name(enum bench_change_kind kind); /* "faster" */

struct bench_change {
    double ratio;                   /* time in b / time in a: above 1 it has become slower */
    struct stats_interval interval; /* low is NaN where there are too few rounds */
    enum bench_change_kind kind;
};

/* The counterparts in another result; NULL: there is none. */
const struct bench_case *bench_find_case(const struct bench_result *result,
                                         const struct bench_case *like);
const struct bench_series *bench_find_series(const struct bench_case *question, const char *label);
const struct bench_effect *bench_find_effect(const struct bench_case *question,
                                             const struct bench_case *like_in,
                                             const struct bench_effect *like);

/* Compares the rounds of a series in both. Returns 0, or -1 where memory is short. */
int bench_compare_series(const struct bench_case *a, const struct bench_series *of_a,
                         const struct bench_case *b, const struct bench_series *of_b,
                         struct bench_change *ret_change);

#endif

/* SPDX-License-Identifier: MIT */
/* The JSON of a result: one table a struct, from which it is both written and read. */
#ifndef BENCH_FIELDS_H
#define BENCH_FIELDS_H

#include "bench/bench.h"

#define BENCH_SCHEMA "sqlpack-bench/1"

enum field_kind {
    FIELD_END,
    FIELD_UINT64,
    FIELD_UINT32,
    FIELD_INT64,
    FIELD_INT,
    FIELD_REAL, /* null where it is not finite */
    FIELD_FLAG,
    FIELD_TEXT, /* an array of `size` characters */
    FIELD_WORD, /* an enum, by its name */
    FIELD_DIGEST,
};

/* A field of a struct. Its key is its name in C; parts of a member are joined by '_'. */
struct field {
    const char *key;
    enum field_kind kind;
    size_t offset;
    size_t size;                    /* of FIELD_TEXT; number of words of FIELD_WORD */
    const char *(*word)(int value); /* of FIELD_WORD */
};

/* Each ends with FIELD_END. */
extern const struct field fields_result[], fields_environment[], fields_corpus[], fields_choice[],
    fields_gate[], fields_case[], fields_series[], fields_run[], fields_summary[], fields_effect[],
    fields_line[], fields_hist[];

/* The words of other kinds, by number. */
const char *fields_side(int side);

#endif

/* SPDX-License-Identifier: MIT */
/* What the two files that read a result share: load.c walks, load_value.c takes values. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <sqlite3.h>

#include "bench/fields.h"

/* The columns of json_tree that are asked for. */
enum load_column { LOAD_KEY, LOAD_TYPE, LOAD_ATOM, LOAD_ID, LOAD_PARENT };

/* One row of it. */
struct load_item {
    const char *key;    /* "" for an element */
    const char *type;   /* of JSON */
    sqlite3_stmt *rows; /* its value is column LOAD_ATOM */
};

/* A text; "" for anything else. */
const char *load_text(const struct load_item *item);

/* Puts '?' for what would control a terminal, and for what is no UTF-8. */
void load_clean(char *text);

/* Whole numbers from 0 to max. False for anything else. */
bool load_unsigned(const struct load_item *item, uint64_t max, uint64_t *ret_value);

/* Sets a field of the struct at base. False where the value does not fit it. */
bool load_field(const struct load_item *item, const struct field *field, void *base);

#endif

/* SPDX-License-Identifier: MIT */
/* Writes records to stdout as aligned text or as JSON, from the same calls. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/buf.h"

/*
 * A record is one JSON object on one line, or lines of "label   value". Every
 * field has a key for JSON and a label for text; where one of them is NULL, the
 * field is left out of that form. Labels are shown as they are; keys are plain
 * ASCII and the names of the fields of sqlpack.h.
 *
 * Nothing here fails at once: out_close and, for stdout itself, main look when the
 * command is over. A long list may ask out_is_broken() now and then to end early.
 */
struct out {
    FILE *file;
    bool json;
    bool needs_comma;      /* JSON: something stands before the next field */
    struct buf cells;      /* text: label, NUL, value, NUL ... of the open record or table */
    size_t row_start;      /* text: where the table's open row begins in cells */
    size_t columns;        /* text: of the open table */
    bool is_out_of_memory; /* fields were lost */
};

void out_init(struct out *out, bool json); /* to stdout */

/* Ends the output. Returns `status`, or 3 where memory was short for it, which is told. */
int out_close(struct out *out, int status);

/* A record; several may follow each other: in JSON one object a line. */
void out_begin(struct out *out);
void out_end(struct out *out);

/* The fields of a record. */
void out_text(struct out *out, const char *key, const char *label, const char *text);
void out_figure(struct out *out, const char *label, const char *text); /* text only; set right */
void out_flag(struct out *out, const char *key, const char *label, bool flag);
void out_number(struct out *out, const char *key, const char *label, int64_t number);
void out_count(struct out *out, const char *key, const char *label, uint64_t count); /* 1,234 */
void out_some(struct out *out, const char *key, const char *label,
              uint64_t count); /* no line for 0 */
void out_bytes(struct out *out, const char *key, const char *label, uint64_t bytes); /* 1.2 KiB */
void out_percent(struct out *out, const char *key, const char *label, double percent);
void out_real(struct out *out, const char *key, const char *label, double real, int decimals);
void out_digest(struct out *out, const char *key, const char *label, const void *bytes,
                size_t size); /* hex; bytes NULL: null in JSON, no line in text */

/* Seconds since 1970: local time in text; in JSON `key` and `key`_ns, both numbers. */
void out_time(struct out *out, const char *key, const char *label, int64_t seconds,
              uint32_t nanoseconds);

/*
 * A file name, symlink target or other bytes. Text shows it escaped. JSON has it
 * under `key` as text; where it is no UTF-8, each stray byte becomes U+FFFD there
 * and `key`_base64 gives the bytes exactly.
 */
void out_name(struct out *out, const char *key, const char *label, const char *name);

/* A list of records inside a record: an array of objects in JSON, a table in text. Every row has
 * the same fields; texts and names are set left, all else right. */
void out_table_begin(struct out *out, const char *key, const char *label);
void out_row_begin(struct out *out);
void out_row_end(struct out *out);
void out_table_end(struct out *out);

/* For JSON only, nothing in text: an object inside a record, and a list of bare values, which are
 * fields with the key "". */
void out_group_begin(struct out *out, const char *key);
void out_group_end(struct out *out);
void out_list_begin(struct out *out, const char *key);
void out_list_end(struct out *out);

/* Whether stdout has failed already, or memory was short. */
bool out_is_broken(const struct out *out);

#endif

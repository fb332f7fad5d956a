/* SPDX-License-Identifier: MIT */
/* Sets the fields of a result from values of JSON, which may be anything. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load.h"
#include "util/path.h"

static bool is_number(const struct load_item *item)
{
    return strcmp(item->type, "integer") == 0 || strcmp(item->type, "real") == 0;
}

const char *load_text(const struct load_item *item)
{
    const char *text = (const char *)sqlite3_column_text(item->rows, LOAD_ATOM);
    return text ? text : "";
}

/* Whole numbers from 0 to max; SQLite reads those above 2^63 as reals. */
bool load_unsigned(const struct load_item *item, uint64_t max, uint64_t *ret_value)
{
    double real = sqlite3_column_double(item->rows, LOAD_ATOM);
    bool is_whole = strcmp(item->type, "integer") == 0 || real >= 0x1p63;
    if (!is_number(item) || !is_whole || !(real >= 0) || real >= 0x1p64)
        return false;
    *ret_value =
        real >= 0x1p63 ? (uint64_t)real : (uint64_t)sqlite3_column_int64(item->rows, LOAD_ATOM);
    return *ret_value <= max;
}

static bool take_signed(const struct load_item *item, int64_t min, int64_t max, int64_t *ret_value)
{
    *ret_value = sqlite3_column_int64(item->rows, LOAD_ATOM);
    return strcmp(item->type, "integer") == 0 && *ret_value >= min && *ret_value <= max;
}

void load_clean(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at;) {
        size_t size = *at < 0x80 ? 1 : path_utf8_length(at);
        bool is_bad = size == 0 || *at < 0x20 || *at == 0x7f ||
                      (size == 2 && at[0] == 0xc2 && at[1] < 0xa0); /* U+0080 to U+009F */
        size = size ? size : 1;
        if (is_bad)
            memset(at, '?', size);
        at += size;
    }
}

static bool take_word(const struct load_item *item, const struct field *field, int *ret_value)
{
    for (int i = 0; i < (int)field->size; i++) {
        if (strcmp(item->type, "text") == 0 && strcmp(field->word(i), load_text(item)) == 0) {
            *ret_value = i;
            return true;
        }
    }
    return false;
}

static bool take_digest(const struct load_item *item, uint8_t *ret_digest)
{
    const char *text = load_text(item);
    for (size_t i = 0; i < SQLPACK_DIGEST_BYTES; i++) {
        char digits[3] = {0};
        strncpy(digits, text + 2 * i, 2);
        if (strspn(digits, "0123456789abcdef") != 2)
            return false;
        ret_digest[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return text[(size_t)2 * SQLPACK_DIGEST_BYTES] == '\0';
}

static bool take_integer(const struct load_item *item, const struct field *field, void *at)
{
    uint64_t value = 0;
    int64_t number = 0;
    bool is_taken;
    switch (field->kind) {
    case FIELD_UINT64:
        return load_unsigned(item, UINT64_MAX, at);
    case FIELD_UINT32:
        is_taken = load_unsigned(item, UINT32_MAX, &value);
        *(uint32_t *)at = (uint32_t)value;
        return is_taken;
    case FIELD_INT64:
        return take_signed(item, INT64_MIN, INT64_MAX, at);
    default:
        is_taken = take_signed(item, -1, INT32_MAX, &number);
        *(int *)at = (int)number;
        return is_taken;
    }
}

/* Sets a field. Returns whether the value was one for it. */
bool load_field(const struct load_item *item, const struct field *field, void *base)
{
    void *at = (char *)base + field->offset;
    switch (field->kind) {
    case FIELD_REAL:
        *(double *)at =
            is_number(item) ? sqlite3_column_double(item->rows, LOAD_ATOM) : (double)NAN;
        return is_number(item) || strcmp(item->type, "null") == 0;
    case FIELD_FLAG:
        *(bool *)at = strcmp(item->type, "true") == 0;
        return *(bool *)at || strcmp(item->type, "false") == 0;
    case FIELD_TEXT:
        snprintf(at, field->size, "%s", load_text(item));
        load_clean(at);
        return strcmp(item->type, "text") == 0;
    case FIELD_WORD:
        return take_word(item, field, at);
    case FIELD_DIGEST:
        return take_digest(item, at);
    default:
        return take_integer(item, field, at);
    }
}

/* SPDX-License-Identifier: MIT */
/* A row as SQLite's record format has it (fileformat2.html, section 2.1). */
#include "lib/internal.h"

void record_begin(struct record *record)
{
    record->type_bytes = 0;
    record->values.size = 0;
    record->failed = false;
}

static void add_type(struct record *record, uint64_t type)
{
    unsigned char *at = record->types + record->type_bytes;
    record->type_bytes = (size_t)(page_put_varint(at, type) - record->types);
}

static void add_value(struct record *record, const void *data, size_t size)
{
    if (buf_append(&record->values, data, size) < 0)
        record->failed = true;
}

void record_null(struct record *record)
{
    add_type(record, 0);
}

static void add_int(struct record *record, int64_t value, unsigned type, unsigned bytes)
{
    uint64_t big_endian = __builtin_bswap64((uint64_t)value << (8 * (8 - bytes)));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    big_endian = (uint64_t)value << (8 * (8 - bytes));
#endif
    add_type(record, type);
    add_value(record, &big_endian, bytes);
}

void record_int(struct record *record, int64_t value)
{
    static const struct {
        unsigned type, bytes;
    } forms[] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 6}};
    if (value == 0 || value == 1) {
        add_type(record, value ? 9 : 8);
        return;
    }
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        int64_t limit = (int64_t)1 << (8 * forms[i].bytes - 1);
        if (value >= -limit && value < limit) {
            add_int(record, value, forms[i].type, forms[i].bytes);
            return;
        }
    }
    record_int8(record, value);
}

void record_int8(struct record *record, int64_t value)
{
    add_int(record, value, 6, 8);
}

void record_text(struct record *record, const char *text, size_t size)
{
    add_type(record, 13 + 2 * (uint64_t)size);
    add_value(record, text, size);
}

void record_blob(struct record *record, const void *data, size_t size)
{
    add_type(record, 12 + 2 * (uint64_t)size);
    add_value(record, data, size);
}

void record_blob_tail(struct record *record, uint64_t size)
{
    add_type(record, 12 + 2 * size);
}

/* The header's length counts itself. */
static uint64_t header_bytes(const struct record *record)
{
    uint64_t header = record->type_bytes + 1;
    return page_varint_bytes(header) > 1 ? record->type_bytes + page_varint_bytes(header) : header;
}

size_t record_size(const struct record *record)
{
    return (size_t)header_bytes(record) + record->values.size;
}

int record_end(struct record *record, struct buf *out)
{
    unsigned char head[PAGE_VARINT_MAX];
    uint64_t header = header_bytes(record);
    size_t head_bytes = (size_t)(page_put_varint(head, header) - head);
    if (record->failed || buf_append(out, head, head_bytes) < 0 ||
        buf_append(out, record->types, record->type_bytes) < 0)
        return -1;
    return buf_append(out, record->values.data, record->values.size);
}

void record_release(struct record *record)
{
    buf_release(&record->values);
}

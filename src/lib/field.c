/* SPDX-License-Identifier: MIT */
/* The values of a row, from a record as SQLite stores it or from a statement. */
#include <string.h>

#include "lib/internal.h"

/* Serial types: 0 NULL, 1 to 6 integers, 7 a real number, 8 and 9 the integers 0 and 1, from 12 up
 * blobs (even) and texts (odd). */
static uint64_t field_bytes(uint64_t type)
{
    static const unsigned char bytes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < 12 ? bytes[type] : (type - 12) / 2;
}

static int64_t get_int(const unsigned char *at, size_t size)
{
    uint64_t value = at[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

static void take_field(uint64_t type, const unsigned char *at, size_t size, struct field *field)
{
    field->data = at;
    field->size = size;
    field->number = 0;
    if (type >= 12) {
        field->kind = type & 1 ? FIELD_TEXT : FIELD_BLOB;
    } else if (type == 8 || type == 9) {
        field->kind = FIELD_INT;
        field->number = (int64_t)type - 8;
    } else if (type >= 1 && type <= 6) {
        field->kind = FIELD_INT;
        field->number = get_int(at, size);
    } else {
        field->kind = type == 0 ? FIELD_NULL : FIELD_OTHER;
    }
}

bool field_take(const struct cursor_row *row, struct field *fields, size_t count)
{
    const unsigned char *end = row->payload + row->payload_bytes;
    uint64_t head_bytes, type;
    size_t taken = cursor_varint(row->payload, end, &head_bytes);
    if (taken == 0 || head_bytes > row->payload_bytes)
        return false;
    const unsigned char *types = row->payload + taken, *types_end = row->payload + head_bytes;
    const unsigned char *at = types_end;
    for (size_t i = 0; i < count; i++) {
        if (types < types_end && *types < 0x80) {
            type = *types++;
        } else {
            if ((taken = cursor_varint(types, types_end, &type)) == 0)
                return false;
            types += taken;
        }
        uint64_t size = field_bytes(type);
        if (size > (uint64_t)(end - at))
            return false;
        take_field(type, at, (size_t)size, &fields[i]);
        at += size;
    }
    return true;
}

void field_take_column(sqlite3_stmt *statement, int column, struct field *ret_field)
{
    *ret_field = (struct field){.kind = FIELD_NULL};
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        return;
    case SQLITE_INTEGER:
        ret_field->kind = FIELD_INT;
        ret_field->number = sqlite3_column_int64(statement, column);
        return;
    case SQLITE_BLOB:
        ret_field->kind = FIELD_BLOB;
        ret_field->data = sqlite3_column_blob(statement, column);
        ret_field->size = (size_t)sqlite3_column_bytes(statement, column);
        return;
    case SQLITE_TEXT:
        ret_field->kind = FIELD_TEXT;
        ret_field->data = sqlite3_column_text(statement, column);
        ret_field->size = (size_t)sqlite3_column_bytes(statement, column);
        return;
    default:
        ret_field->kind = FIELD_OTHER;
    }
}

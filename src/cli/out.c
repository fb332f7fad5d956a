/* SPDX-License-Identifier: MIT */
/* Writes records to stdout as aligned text or as JSON, from the same calls. */
#include "cli/out.h"

#include <math.h>
#include <string.h>

#include "cli/notice.h"
#include "cli/text.h"
#include "util/auto.h"
#include "util/path.h"

#define GAP 2 /* columns between a label and its value, and around a table's cells */

static void write_bytes(struct out *out, const void *data, size_t size)
{
    fwrite_unlocked(data, 1, size, out->file);
}

static void write_text(struct out *out, const char *text)
{
    write_bytes(out, text, strlen(text));
}

static void write_char(struct out *out, char c)
{
    putc_unlocked(c, out->file);
}

void out_init(struct out *out, bool json)
{
    *out = (struct out){.file = stdout, .json = json};
}

int out_close(struct out *out, int status)
{
    buf_release(&out->cells);
    return out->is_out_of_memory ? notice_fail(NULL, EXIT_SYSTEM, "out of memory") : status;
}

bool out_is_broken(const struct out *out)
{
    return out->is_out_of_memory || ferror_unlocked(out->file);
}

/* -- JSON --------------------------------------------------------------------------------- */

static void json_unsigned(struct out *out, uint64_t number)
{
    char digits[24];
    char *at = digits + sizeof(digits);
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    write_bytes(out, at, (size_t)(digits + sizeof(digits) - at));
}

static void json_signed(struct out *out, int64_t number)
{
    if (number < 0)
        write_char(out, '-');
    json_unsigned(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* Bytes that stand in a JSON text as they are; DEL and what follows is looked at more closely. */
static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void json_control(struct out *out, unsigned code)
{
    static const char digits[] = "0123456789abcdef";
    const char text[] = {'\\', 'u', '0', '0', digits[code >> 4], digits[code & 15]};
    write_bytes(out, text, sizeof(text));
}

/* Writes one character that is_plain does not take; returns its bytes. *ret_is_exact turns false
 * where it was no UTF-8. Controls of a terminal are escaped although JSON allows some of them. */
static size_t json_character(struct out *out, const unsigned char *at, bool *ret_is_exact)
{
    if (*at == '"' || *at == '\\') {
        write_char(out, '\\');
        write_char(out, (char)*at);
        return 1;
    }
    if (*at < 0x80) {
        if (*at == '\n')
            write_text(out, "\\n");
        else if (*at == '\t')
            write_text(out, "\\t");
        else
            json_control(out, *at);
        return 1;
    }
    size_t size = path_utf8_length(at);
    if (size == 0) {
        *ret_is_exact = false;
        write_text(out, "\xef\xbf\xbd");
        return 1;
    }
    if (size == 2 && at[0] == 0xc2 && at[1] < 0xa0)
        json_control(out, at[1]);
    else
        write_bytes(out, at, size);
    return size;
}

/* Writes a JSON string. Returns whether it tells the bytes exactly. */
static bool json_string(struct out *out, const char *text)
{
    bool is_exact = true;
    write_char(out, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        const unsigned char *plain = at;
        while (is_plain(*at))
            at++;
        write_bytes(out, plain, (size_t)(at - plain));
        if (*at)
            at += json_character(out, at, &is_exact);
    }
    write_char(out, '"');
    return is_exact;
}

static void json_base64(struct out *out, const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)text;
    write_char(out, '"');
    for (size_t left = strlen(text); left > 0;) {
        size_t take = left < 3 ? left : 3;
        unsigned group = (unsigned)at[0] << 16 | (take > 1 ? (unsigned)at[1] << 8 : 0u) |
                         (take > 2 ? (unsigned)at[2] : 0u);
        for (size_t i = 0; i < 4; i++)
            write_char(out, i <= take ? letters[group >> (18 - 6 * i) & 63] : '=');
        at += take;
        left -= take;
    }
    write_char(out, '"');
}

static void json_comma(struct out *out)
{
    if (out->needs_comma)
        write_char(out, ',');
    out->needs_comma = true;
}

/* Begins a field; `suffix` is added to its key. Without a key, or with an empty
 * one, it is an item of a list. */
static void json_key(struct out *out, const char *key, const char *suffix)
{
    json_comma(out);
    if (!key || !*key)
        return;
    write_char(out, '"');
    write_text(out, key);
    write_text(out, suffix);
    write_text(out, "\":");
}

static void json_open(struct out *out, char bracket)
{
    write_char(out, bracket);
    out->needs_comma = false;
}

static void json_close(struct out *out, char bracket)
{
    write_char(out, bracket);
    out->needs_comma = true;
}

/* -- text --------------------------------------------------------------------------------- */

/* How a table's column is set. The letter stands before the label that is kept. */
enum align { LEFT = 'l', RIGHT = 'r' };

/* Keeps a label and a value until the record or the table ends and all widths are known. */
static void keep(struct out *out, enum align align, const char *label, const char *value)
{
    if (buf_append_char(&out->cells, (char)align) < 0 ||
        buf_append(&out->cells, label, strlen(label) + 1) < 0 ||
        buf_append(&out->cells, value, strlen(value) + 1) < 0)
        out->is_out_of_memory = true;
}

static const char *next_cell(const char *cell)
{
    return cell + strlen(cell) + 1;
}

/* Prints the kept fields as lines, values side by side. */
static void flush_record(struct out *out)
{
    size_t width = 0;
    const char *end = out->cells.data + out->cells.size;
    for (const char *at = out->cells.data; at < end; at = next_cell(next_cell(at)))
        width = strlen(at + 1) > width ? strlen(at + 1) : width;
    for (const char *at = out->cells.data; at < end; at = next_cell(next_cell(at)))
        fprintf(out->file, "%-*s%s\n", (int)(width + GAP), at + 1, next_cell(at));
    out->cells.size = 0;
}

/* The width of a table's column: of its label or of its widest value. */
static size_t column_width(const struct out *out, size_t column)
{
    size_t width = 0;
    size_t index = 0;
    const char *end = out->cells.data + out->cells.size;
    for (const char *at = out->cells.data; at < end; at = next_cell(next_cell(at)), index++) {
        if (index % out->columns != column)
            continue;
        width = strlen(at + 1) > width ? strlen(at + 1) : width;
        width = strlen(next_cell(at)) > width ? strlen(next_cell(at)) : width;
    }
    return width;
}

/* Adds a cell's text to a line, as wide as its column. */
static int set_cell(struct buf *line, enum align align, size_t width, const char *text)
{
    size_t size = strlen(text);
    size_t gap = GAP + (align == RIGHT ? width - size : 0);
    size_t behind = align == LEFT ? width - size : 0;
    if (buf_reserve(line, gap + size + behind) < 0)
        return -1;
    memset(line->data + line->size, ' ', gap + size + behind);
    memcpy(line->data + line->size + gap, text, size);
    line->size += gap + size + behind;
    return 0;
}

/* Prints a line of a table, its labels or its values; `at` is the first cell. Returns the next. */
static const char *print_line(struct out *out, const char *at, const char *end, bool is_head)
{
    auto_release(buf_release) struct buf line = {0};
    for (size_t i = 0; i < out->columns && at < end; i++, at = next_cell(next_cell(at)))
        if (set_cell(&line, *at == LEFT ? LEFT : RIGHT, column_width(out, i),
                     is_head ? at + 1 : next_cell(at)) < 0)
            out->is_out_of_memory = true;
    while (line.size > 0 && line.data[line.size - 1] == ' ')
        line.size--;
    write_bytes(out, line.data, line.size);
    write_char(out, '\n');
    return at;
}

/* Prints the kept fields as a table, with the labels as its head. */
static void flush_table(struct out *out)
{
    const char *end = out->cells.data + out->cells.size;
    print_line(out, out->cells.data, end, true);
    for (const char *at = out->cells.data; at < end;)
        at = print_line(out, at, end, false);
    out->cells.size = 0;
}

/* -- fields ------------------------------------------------------------------------------- */

void out_begin(struct out *out)
{
    if (out->json)
        json_open(out, '{');
}

void out_end(struct out *out)
{
    if (out->json) {
        json_close(out, '}');
        write_char(out, '\n');
    } else {
        flush_record(out);
    }
}

static void begin(struct out *out, const char *key, char bracket)
{
    if (!out->json)
        return;
    json_key(out, key, "");
    json_open(out, bracket);
}

static void end(struct out *out, char bracket)
{
    if (out->json)
        json_close(out, bracket);
}

void out_group_begin(struct out *out, const char *key)
{
    begin(out, key, '{');
}

void out_group_end(struct out *out)
{
    end(out, '}');
}

void out_list_begin(struct out *out, const char *key)
{
    begin(out, key, '[');
}

void out_list_end(struct out *out)
{
    end(out, ']');
}

/* A field whose JSON needs no quotes: `json` as it is. */
static void field(struct out *out, const char *key, const char *json, const char *label,
                  const char *text)
{
    if (out->json && key) {
        json_key(out, key, "");
        write_text(out, json);
    } else if (!out->json && label) {
        keep(out, RIGHT, label, text);
    }
}

void out_text(struct out *out, const char *key, const char *label, const char *text)
{
    if (out->json && key) {
        json_key(out, key, "");
        json_string(out, text);
    } else if (!out->json && label) {
        keep(out, LEFT, label, text);
    }
}

void out_figure(struct out *out, const char *label, const char *text)
{
    if (!out->json)
        keep(out, RIGHT, label, text);
}

void out_name(struct out *out, const char *key, const char *label, const char *name)
{
    if (out->json && key) {
        json_key(out, key, "");
        if (json_string(out, name))
            return;
        json_key(out, key, "_base64");
        json_base64(out, name);
    } else if (!out->json && label) {
        auto_release(buf_release) struct buf shown = {0};
        if (path_escape(&shown, name) < 0 || buf_terminate(&shown) < 0)
            out->is_out_of_memory = true;
        else
            keep(out, LEFT, label, shown.data);
    }
}

void out_flag(struct out *out, const char *key, const char *label, bool flag)
{
    field(out, key, flag ? "true" : "false", label, flag ? "yes" : "no");
}

void out_number(struct out *out, const char *key, const char *label, int64_t number)
{
    if (out->json && key) {
        json_key(out, key, "");
        json_signed(out, number);
    } else if (!out->json && label) {
        keep(out, RIGHT, label, text_number(number).text);
    }
}

/* An unsigned number in JSON, `text` for a person. */
static void unsigned_field(struct out *out, const char *key, uint64_t number, const char *label,
                           const char *text)
{
    if (out->json && key) {
        json_key(out, key, "");
        json_unsigned(out, number);
    } else if (!out->json && label) {
        keep(out, RIGHT, label, text);
    }
}

void out_count(struct out *out, const char *key, const char *label, uint64_t count)
{
    unsigned_field(out, key, count, label, out->json ? "" : text_count(count).text);
}

void out_some(struct out *out, const char *key, const char *label, uint64_t count)
{
    out_count(out, key, count > 0 ? label : NULL, count);
}

void out_bytes(struct out *out, const char *key, const char *label, uint64_t bytes)
{
    unsigned_field(out, key, bytes, label, out->json ? "" : text_bytes(bytes).text);
}

void out_real(struct out *out, const char *key, const char *label, double real, int decimals)
{
    char text[400] = "null"; /* room for the largest double */
    if (isfinite(real))
        snprintf(text, sizeof(text), "%.*f", decimals, real);
    field(out, key, text, label, isfinite(real) ? text : "-");
}

void out_percent(struct out *out, const char *key, const char *label, double percent)
{
    if (out->json)
        out_real(out, key, label, percent, 2);
    else if (label)
        keep(out, RIGHT, label, text_percent(percent).text);
}

void out_digest(struct out *out, const char *key, const char *label, const void *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char hex[130] = "";
    if (!bytes) {
        field(out, key, "null", NULL, NULL);
        return;
    }
    for (size_t i = 0; i < size && 2 * i + 2 < sizeof(hex); i++) {
        hex[2 * i] = digits[((const uint8_t *)bytes)[i] >> 4];
        hex[2 * i + 1] = digits[((const uint8_t *)bytes)[i] & 15];
        hex[2 * i + 2] = '\0';
    }
    out_text(out, key, label, hex);
}

void out_time(struct out *out, const char *key, const char *label, int64_t seconds,
              uint32_t nanoseconds)
{
    if (out->json && key) {
        json_key(out, key, "");
        json_signed(out, seconds);
        json_key(out, key, "_ns");
        json_unsigned(out, nanoseconds);
    } else if (!out->json && label) {
        keep(out, RIGHT, label, text_time(seconds).text);
    }
}

void out_table_begin(struct out *out, const char *key, const char *label)
{
    if (out->json) {
        json_key(out, key, "");
        json_open(out, '[');
        return;
    }
    flush_record(out);
    if (label)
        fprintf(out->file, "%s\n", label);
}

void out_row_begin(struct out *out)
{
    if (out->json) {
        json_comma(out);
        json_open(out, '{');
    }
    out->row_start = out->cells.size;
}

void out_row_end(struct out *out)
{
    if (out->json)
        json_close(out, '}');
    if (out->row_start > 0)
        return;
    /* the first row tells how many columns there are */
    out->columns = 0;
    const char *end = out->cells.data + out->cells.size;
    for (const char *at = out->cells.data; at < end; at = next_cell(next_cell(at)))
        out->columns++;
}

void out_table_end(struct out *out)
{
    if (out->json)
        json_close(out, ']');
    else if (out->cells.size > 0)
        flush_table(out);
}

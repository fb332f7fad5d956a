/* SPDX-License-Identifier: MIT */
/* The part of a line of ls -l that stands before the name. */
#include "cmd/long.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "cli/text.h"
#include "util/path.h"

/* Flush right in a field of `width` columns; returns the byte behind it. */
static char *format_number(char *at, uint64_t number, size_t width)
{
    char digits[24];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    for (; width > count; width--)
        *at++ = ' ';
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* The same, with zeros before it, for two digits. */
static char *format_two(char *at, int number, char behind)
{
    *at++ = (char)('0' + number / 10 % 10);
    *at++ = (char)('0' + number % 10);
    *at++ = behind;
    return at;
}

/* As text_time does; a list has a million of them, and strftime takes its time. */
static char *format_time(char *at, int64_t seconds)
{
    struct tm tm;
    time_t time = (time_t)seconds;
    if (!localtime_r(&time, &tm) || tm.tm_year < -900 || tm.tm_year > 8099) {
        at = stpcpy(at, text_time(seconds).text);
        *at++ = ' ';
        return at;
    }
    int year = tm.tm_year + 1900;
    at = format_number(at, (uint64_t)year, 4);
    *at++ = '-';
    at = format_two(at, tm.tm_mon + 1, '-');
    at = format_two(at, tm.tm_mday, ' ');
    at = format_two(at, tm.tm_hour, ':');
    at = format_two(at, tm.tm_min, ':');
    return format_two(at, tm.tm_sec, ' ');
}

/* Flush left in a field of eight columns, as ls does. */
static int format_owner(const struct long_line *line, struct owner_field *field, bool is_group,
                        uint32_t id)
{
    char number[16] = "?";
    const char *name = owner_name(line->owners, is_group, id);
    if (!name && id != UINT32_MAX)
        snprintf(number, sizeof(number), "%u", id);
    field->is_set = true;
    field->id = id;
    field->text.size = 0;
    if (path_escape(&field->text, name ? name : number) < 0)
        return -1;
    do
        if (buf_append_char(&field->text, ' ') < 0)
            return -1;
    while (field->text.size < 9);
    return 0;
}

/* Most entries have the owner of the one before. */
static int append_owner(struct long_line *line, bool is_group, uint32_t id, struct buf *out)
{
    struct owner_field *field = &line->fields[is_group];
    if ((!field->is_set || field->id != id) && format_owner(line, field, is_group, id) < 0)
        return -1;
    return buf_append(out, field->text.data, field->text.size);
}

int long_line_append(struct long_line *line, const struct sqlpack_entry *entry, struct buf *out)
{
    char field[128];
    char *at = stpcpy(field, text_mode(entry->mode).text);
    *at++ = ' ';
    if (buf_append(out, field, (size_t)(at - field)) < 0 ||
        append_owner(line, false, entry->uid, out) < 0 ||
        append_owner(line, true, entry->gid, out) < 0)
        return -1;
    at = field;
    if (S_ISCHR(entry->mode) || S_ISBLK(entry->mode)) {
        at = format_number(at, major(entry->rdev), 4);
        *at++ = ',';
        at = format_number(at, minor(entry->rdev), 5);
    } else {
        at = format_number(at, entry->sz, 10);
    }
    *at++ = ' ';
    at = format_time(at, entry->mtime);
    return buf_append(out, field, (size_t)(at - field));
}

void long_line_release(struct long_line *line)
{
    buf_release(&line->fields[0].text);
    buf_release(&line->fields[1].text);
}

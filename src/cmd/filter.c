/* SPDX-License-Identifier: MIT */
/* Which entries ls shows: by size, time and type. */
#include "cmd/filter.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/notice.h"
#include "cli/text.h"

static int take_size(const struct command *self, const char *text, struct filter *filter)
{
    const char *number = text;
    if (*number == '+' || *number == '-')
        filter->size_sign = *number++;
    filter->has_size = true;
    if (text_parse_bytes(number, &filter->size_bytes))
        return 0;
    return notice_usage(self, "--size takes a size, after + or - or nothing, not '%s'",
                        notice_name(text).text);
}

/* Local time, as ls -l shows it: the day alone, or with the hour, the minute, the second. */
static bool parse_time(const char *text, int64_t *ret_seconds)
{
    static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
                                        "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
    if (*text == '@')
        return text_parse_number(text + 1, 0, INT64_MAX, ret_seconds);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *end = strptime(text, forms[i], &tm);
        if (!end || *end)
            continue;
        *ret_seconds = mktime(&tm);
        return true;
    }
    return false;
}

static int take_newer(const struct command *self, const char *text, struct filter *filter)
{
    struct stat stat_of;
    filter->has_newer = true;
    if (parse_time(text, &filter->newer))
        return 0;
    if (stat(text, &stat_of) < 0)
        return notice_usage(self, "--newer takes a time or a file; '%s' is no time, and: %s",
                            notice_name(text).text, strerror(errno));
    filter->newer = stat_of.st_mtim.tv_sec;
    filter->newer_ns = (uint32_t)stat_of.st_mtim.tv_nsec;
    return 0;
}

static uint32_t bit_of(uint32_t mode)
{
    return 1U << (mode >> 12 & 15);
}

static int take_types(const struct command *self, const char *text, struct filter *filter)
{
    static const char letters[] = "fdlpcb";
    static const uint32_t modes[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFCHR, S_IFBLK};
    for (const char *at = text; *at; at++) {
        const char *letter = strchr(letters, *at);
        if (!letter)
            break;
        filter->types |= bit_of(modes[letter - letters]);
        if (!at[1])
            return 0;
    }
    return notice_usage(self, "--type takes letters of '%s', not '%s'", letters,
                        notice_name(text).text);
}

int filter_init(const struct command *self, const struct filter_request *request,
                struct filter *ret_filter)
{
    struct filter filter = {.is_active = request->size || request->newer || request->types};
    int status = 0;
    if (request->size)
        status = take_size(self, request->size, &filter);
    if (!status && request->newer)
        status = take_newer(self, request->newer, &filter);
    if (!status && request->types)
        status = take_types(self, request->types, &filter);
    *ret_filter = filter;
    return status;
}

static bool size_passes(const struct filter *filter, const struct sqlpack_entry *entry)
{
    if (!S_ISREG(entry->mode))
        return false;
    if (filter->size_sign == '+')
        return entry->sz > filter->size_bytes;
    if (filter->size_sign == '-')
        return entry->sz < filter->size_bytes;
    return entry->sz == filter->size_bytes;
}

bool filter_passes(const struct filter *filter, const struct sqlpack_entry *entry)
{
    if (filter->types && !(filter->types & bit_of(entry->mode)))
        return false;
    if (filter->has_size && !size_passes(filter, entry))
        return false;
    if (!filter->has_newer || entry->mtime > filter->newer)
        return true;
    return entry->mtime == filter->newer && entry->mtime_ns > filter->newer_ns;
}

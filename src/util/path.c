/* SPDX-License-Identifier: MIT */
/* Relative paths: which are safe, how two compare, how one is shown to a person. */
#include "util/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "util/auto.h"

static bool part_is_safe(const char *part, size_t size)
{
    if (size == 0 || size > NAME_MAX)
        return false;
    if (part[0] != '.')
        return true;
    return !(size == 1 || (size == 2 && part[1] == '.'));
}

bool path_is_safe(const char *name, size_t size)
{
    if (size == 0 || memchr(name, '\0', size))
        return false;
    for (;;) {
        const char *slash = memchr(name, '/', size);
        size_t part = slash ? (size_t)(slash - name) : size;
        if (!part_is_safe(name, part))
            return false;
        if (!slash)
            return true;
        name += part + 1;
        size -= part + 1;
    }
}

bool path_is_below(const char *name, const char *folder)
{
    size_t size = strlen(folder);
    if (size == 0)
        return true;
    return strncmp(name, folder, size) == 0 && (name[size] == '\0' || name[size] == '/');
}

const char *path_leaf(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t path_utf8_length(const unsigned char *at)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (at[0] < forms[i].first_low || at[0] > forms[i].first_high)
            continue;
        if (at[1] < forms[i].second_low || at[1] > forms[i].second_high)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((at[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

/* C1 control characters (U+0080 to U+009F) steer some terminals, as ESC does. */
static bool is_c1(const unsigned char *at)
{
    return at[0] == 0xc2 && at[1] < 0xa0;
}

int path_escape(struct buf *buf, const char *name)
{
    for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
        size_t length = *at < 0x80 ? 0 : path_utf8_length(at);
        if (length && !is_c1(at)) {
            if (buf_append(buf, at, length) < 0)
                return -1;
            at += length - 1;
            continue;
        }
        char text[8];
        if (*at == '\\')
            strcpy(text, "\\\\");
        else if (*at >= 0x20 && *at < 0x7f)
            snprintf(text, sizeof(text), "%c", *at);
        else if (*at == '\n')
            strcpy(text, "\\n");
        else if (*at == '\t')
            strcpy(text, "\\t");
        else
            snprintf(text, sizeof(text), "\\%03o", *at);
        if (buf_append_text(buf, text) < 0)
            return -1;
    }
    return 0;
}

void path_show(const char *name, char *ret_text, size_t size)
{
    auto_release(buf_release) struct buf text = {0};
    const size_t room = size - 1;
    const size_t half = (room - 3) / 2;
    if (path_escape(&text, name) < 0 || buf_terminate(&text) < 0)
        snprintf(ret_text, size, "(out of memory)");
    else if (text.size <= room)
        memcpy(ret_text, text.data, text.size + 1);
    else
        snprintf(ret_text, size, "%.*s...%s", (int)half, text.data, text.data + text.size - half);
}

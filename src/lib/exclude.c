/* SPDX-License-Identifier: MIT */
/* Which names are left out by patterns. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

/* Whether the pattern without its trailing '/' has a '/': then it speaks of whole names. */
static bool is_anchored(const char *pattern, size_t size)
{
    return memchr(pattern, '/', size) != NULL;
}

static bool matches(const char *pattern, const char *name, bool is_folder)
{
    size_t size = strlen(pattern);
    bool folders_only = size > 0 && pattern[size - 1] == '/';
    if (folders_only && !is_folder)
        return false;
    while (size > 0 && pattern[size - 1] == '/')
        size--;
    if (size == 0)
        return false;
    bool anchored = is_anchored(pattern, size);
    if (strncmp(pattern, "./", 2) == 0) {
        pattern += 1;
        size -= 1;
    }
    if (pattern[0] == '/') {
        pattern++;
        size--;
    }
    char room[256];
    auto_free char *longer = size < sizeof(room) ? NULL : malloc(size + 1);
    char *text = longer ? longer : room;
    if (size >= sizeof(room) && !longer)
        return false;
    memcpy(text, pattern, size);
    text[size] = '\0';
    return fnmatch(text, anchored ? name : path_leaf(name), FNM_PATHNAME) == 0;
}

bool exclude_matches_one(const char *const *patterns, size_t count, const char *name,
                         bool is_folder)
{
    for (size_t i = 0; i < count; i++)
        if (matches(patterns[i], name, is_folder))
            return true;
    return false;
}

bool exclude_matches(const char *const *patterns, size_t count, const char *name, bool is_folder)
{
    if (count == 0)
        return false;
    if (exclude_matches_one(patterns, count, name, is_folder))
        return true;
    auto_free char *above = strdup(name);
    if (!above)
        return false;
    for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
        *slash = '\0';
        if (exclude_matches_one(patterns, count, above, true))
            return true;
    }
    return false;
}

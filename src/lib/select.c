/* SPDX-License-Identifier: MIT */
/* Which entries of a pack are restored: all, or some names with what is below them. */
#include <stdlib.h>
#include <string.h>

#include "lib/restore.h"

/* A copy of a name as a person writes it, without "./" and '/' around it. */
static char *clean(const char *name)
{
    while (strncmp(name, "./", 2) == 0) {
        name += 2;
        while (*name == '/')
            name++;
    }
    size_t size = strlen(name);
    while (size > 0 && name[size - 1] == '/')
        size--;
    return size == 1 && name[0] == '.' ? strdup("") : strndup(name, size);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether the first `size` bytes of a name are one of the first `count` names. */
static bool has_name(char *const *names, size_t count, const char *name, size_t size)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strncmp(names[middle], name, size);
        if (order == 0 && names[middle][size] == '\0')
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool has_folder_of(char *const *names, size_t count, const char *name)
{
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
        if (has_name(names, count, name, (size_t)(slash - name)))
            return true;
    return false;
}

/* Takes out what stands twice, or below another name. Names above sort first. */
static void drop_nested(struct selection *selection)
{
    size_t kept = 0;
    for (size_t i = 0; i < selection->count; i++) {
        char *name = selection->names[i];
        if ((kept > 0 && strcmp(selection->names[kept - 1], name) == 0) ||
            has_folder_of(selection->names, kept, name))
            free(name);
        else
            selection->names[kept++] = name;
    }
    selection->count = kept;
}

int selection_init(struct selection *selection, const struct sqlpack_unpack_options *options,
                   struct sqlpack_error *err)
{
    *selection = (struct selection){
        .excludes = options->excludes,
        .exclude_count = options->exclude_count,
    };
    if (!options->names)
        return 0;
    selection->names = calloc(options->name_count + 1, sizeof(char *));
    if (!selection->names)
        return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    for (size_t i = 0; i < options->name_count; i++) {
        char *name = clean(options->names[i]);
        if (!name)
            return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
        selection->names[selection->count++] = name;
        if (!name[0]) { /* the root: everything */
            selection_release(selection);
            return 0;
        }
    }
    qsort(selection->names, selection->count, sizeof(char *), compare);
    drop_nested(selection);
    return 0;
}

void selection_release(struct selection *selection)
{
    for (size_t i = 0; i < selection->count; i++)
        free(selection->names[i]);
    free(selection->names);
    selection->names = NULL;
    selection->count = 0;
}

bool selection_has(const struct selection *selection, const char *name, bool is_folder)
{
    if (selection->names && !has_name(selection->names, selection->count, name, strlen(name)) &&
        !has_folder_of(selection->names, selection->count, name))
        return false;
    return !exclude_matches(selection->excludes, selection->exclude_count, name, is_folder);
}

/* SPDX-License-Identifier: MIT */
/* The user and group names that a pack knows. */
#include "cmd/owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 10000

struct owner {
    bool is_group;
    uint32_t id;
    char *name;
};

struct owner_names {
    struct owner owners[NAMES_MAX];
    size_t count;
    bool is_out_of_memory;
};

static int by_id(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;
    if (x->is_group != y->is_group)
        return x->is_group - y->is_group;
    return (x->id > y->id) - (x->id < y->id);
}

static int take(void *user, bool is_group, uint32_t id, const char *name)
{
    struct owner_names *names = user;
    if (names->count == NAMES_MAX)
        return 1;
    struct owner *owner = &names->owners[names->count];
    *owner = (struct owner){is_group, id, strdup(name)};
    names->is_out_of_memory = !owner->name;
    names->count += owner->name != NULL;
    return names->is_out_of_memory;
}

int owner_names_read(struct sqlpack *pack, struct owner_names **ret_names,
                     struct sqlpack_error *err)
{
    struct owner_names *names = calloc(1, sizeof(*names));
    if (names && sqlpack_owners(pack, take, names, err) < 0) {
        owner_names_free(names);
        return -1;
    }
    if (!names || names->is_out_of_memory) {
        owner_names_free(names);
        *err = (struct sqlpack_error){.status = SQLPACK_NO_MEMORY, .os_errno = ENOMEM};
        snprintf(err->message, sizeof(err->message), "cannot read the owners: out of memory");
        return -1;
    }
    qsort(names->owners, names->count, sizeof(names->owners[0]), by_id);
    *ret_names = names;
    return 0;
}

void owner_names_free(struct owner_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->count; i++)
        free(names->owners[i].name);
    free(names);
}

const char *owner_name(const struct owner_names *names, bool is_group, uint32_t id)
{
    if (!names)
        return NULL;
    const struct owner key = {.is_group = is_group, .id = id};
    const struct owner *found = bsearch(&key, names->owners, names->count, sizeof(key), by_id);
    return found ? found->name : NULL;
}

/* SPDX-License-Identifier: MIT */
/* Which owner of this system stands for one in a pack: that of the same name, else of its number.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "lib/restore.h"

/* A look-up may cost a question to a server, so a pack with more names than this is not trusted
 * with more. */
#define NAMES_MAX 10000

/* The room for one look-up; what needs more than the larger is taken for unknown. */
#define ROOM_BYTES     ((size_t)16 << 10)
#define ROOM_BYTES_MAX ((size_t)4 << 20)

struct loading {
    struct owners *owners;
    char *room;
    size_t room_bytes;
    unsigned names; /* looked up so far */
    bool is_out_of_memory;
};

/* Asks once; gives 0, or the error code. */
static int look_up(const char *name, bool is_group, struct loading *loading, uint32_t *ret_id,
                   bool *ret_found)
{
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    int code = is_group ? getgrnam_r(name, &group, loading->room, loading->room_bytes, &found_group)
                        : getpwnam_r(name, &user, loading->room, loading->room_bytes, &found_user);
    *ret_found = found_user || found_group;
    if (found_user)
        *ret_id = found_user->pw_uid;
    if (found_group)
        *ret_id = found_group->gr_gid;
    return code;
}

static bool find_local(const char *name, bool is_group, struct loading *loading, uint32_t *ret_id)
{
    bool found = false;
    while (look_up(name, is_group, loading, ret_id, &found) == ERANGE &&
           loading->room_bytes < ROOM_BYTES_MAX) {
        char *more = realloc(loading->room, loading->room_bytes * 2);
        if (!more)
            return false;
        loading->room = more;
        loading->room_bytes *= 2;
    }
    return found;
}

static int add(struct owners *owners, const struct owner *owner)
{
    if (owners->count == owners->capacity) {
        size_t capacity = owners->capacity ? owners->capacity * 2 : 16;
        struct owner *more = realloc(owners->items, capacity * sizeof(*more));
        if (!more)
            return -1;
        owners->items = more;
        owners->capacity = capacity;
    }
    owners->items[owners->count++] = *owner;
    return 0;
}

static int load_one(void *user, bool is_group, uint32_t id, const char *name)
{
    struct loading *loading = user;
    struct owner owner = {.id = id, .is_group = is_group};
    if (loading->names++ == NAMES_MAX)
        return 1;
    if (!find_local(name, is_group, loading, &owner.local) || owner.local == id)
        return 0;
    loading->is_out_of_memory = add(loading->owners, &owner) < 0;
    return loading->is_out_of_memory;
}

static int compare(const void *a, const void *b)
{
    const struct owner *left = a, *right = b;
    if (left->is_group != right->is_group)
        return left->is_group ? 1 : -1;
    return (left->id > right->id) - (left->id < right->id);
}

int owners_load(struct owners *owners, struct sqlpack *pack, struct sqlpack_error *err)
{
    struct loading loading = {.owners = owners, .room_bytes = ROOM_BYTES};
    loading.room = malloc(loading.room_bytes);
    int result = loading.room ? sqlpack_owners(pack, load_one, &loading, err) : 0;
    bool is_out_of_memory = !loading.room || loading.is_out_of_memory;
    free(loading.room);
    if (is_out_of_memory)
        return fail(err, SQLPACK_NO_MEMORY, "cannot look up owners: out of memory");
    if (owners->count > 0)
        qsort(owners->items, owners->count, sizeof(owners->items[0]), compare);
    return result;
}

uint32_t owners_map(const struct owners *owners, bool is_group, uint32_t id)
{
    const struct owner key = {.id = id, .is_group = is_group};
    const struct owner *found =
        owners->count > 0 && id != UINT32_MAX /* which stands for none */
            ? bsearch(&key, owners->items, owners->count, sizeof(owners->items[0]), compare)
            : NULL;
    return found ? found->local : id;
}

void owners_release(struct owners *owners)
{
    free(owners->items);
    *owners = (struct owners){0};
}

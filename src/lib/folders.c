/* SPDX-License-Identifier: MIT */
/* Gives the folders their metadata when all that is in them is there, the deepest first. */
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <string.h>

#include "lib/restore.h"

/* Steps between two reports, which ask whether to go on. */
#define REPORT_STEPS 1024

/*
 * A folder whose content is not over yet. Names come in bytewise order, in which
 * what lies in 'a' comes behind 'a-b'; so the pending folders are those whose name
 * the present one begins with, and each is the beginning of the next.
 */
struct pending {
    struct sqlpack_entry entry; /* without name and target */
    void *xattr;                /* owned */
    size_t name_bytes;          /* of finish.names */
};

struct finish {
    struct run *run;
    struct place place;
    struct buf names; /* the name of the last pending folder */
    struct pending *pending;
    size_t count, capacity;
    unsigned steps;
};

static void finish_release(struct finish *finish)
{
    for (size_t i = 0; i < finish->count; i++)
        free(finish->pending[i].xattr);
    free(finish->pending);
    buf_release(&finish->names);
    place_release(&finish->place);
}

/* Applies the metadata of a folder. What is missing was told when it could not be made. */
static int apply(struct finish *finish, const struct sqlpack_entry *entry,
                 struct sqlpack_error *err)
{
    struct policy *policy = &finish->run->policy;
    const char *leaf;
    int parent = place_of(&finish->place, entry->name, false, &leaf);
    auto_close int fd =
        parent < 0 ? -1 : openat(parent, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && make_is_fatal(errno))
        return fail_errno(err, "cannot open '%s'", show(entry->name).text);
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
            policy_loss(policy, entry->name, errno, "its metadata cannot be set");
        return 0;
    }
    char other[NAME_MAX + 1];
    if (make_folds(fd, leaf, other))
        policy_loss(policy, entry->name, 0, "this file system takes its name for '%s'",
                    show(other).text);
    struct meta_plan plan = meta_plan(policy, entry);
    plan.sets_mode = true;
    if (plan.sets_attrs && policy->is_merge)
        (void)fchmod(fd, plan.mode | 0700); /* one that was there may be read-only */
    meta_apply(policy, &(struct subject){.fd = fd}, entry, &plan);
    return 0;
}

static int pop(struct finish *finish, struct sqlpack_error *err)
{
    struct pending *last = &finish->pending[--finish->count];
    finish->names.size = last->name_bytes;
    last->entry.name = NULL;
    int result = -1;
    if (buf_terminate(&finish->names) < 0)
        fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    else {
        last->entry.name = finish->names.data;
        result = apply(finish, &last->entry, err);
    }
    free(last->xattr);
    return result;
}

/* Finishes the folders that nothing more can come for. */
static int pop_until(struct finish *finish, const char *name, struct sqlpack_error *err)
{
    while (finish->count > 0) {
        size_t size = finish->pending[finish->count - 1].name_bytes;
        if (name && strncmp(finish->names.data, name, size) == 0 &&
            (unsigned char)name[size] <= '/')
            break;
        if (pop(finish, err) < 0)
            return -1;
        finish->names.size = finish->count > 0 ? finish->pending[finish->count - 1].name_bytes : 0;
        if (buf_terminate(&finish->names) < 0)
            return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    }
    return 0;
}

static int push(struct finish *finish, const struct sqlpack_entry *entry, size_t name_bytes,
                struct sqlpack_error *err)
{
    if (finish->count == finish->capacity) {
        size_t capacity = finish->capacity ? finish->capacity * 2 : 32;
        void *more = realloc(finish->pending, capacity * sizeof(*finish->pending));
        if (!more)
            return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
        finish->pending = more;
        finish->capacity = capacity;
    }
    struct pending pending = {.entry = *entry, .name_bytes = name_bytes};
    pending.xattr = entry->xattr_bytes > 0 ? malloc(entry->xattr_bytes) : NULL;
    finish->names.size = 0;
    if ((entry->xattr_bytes > 0 && !pending.xattr) ||
        buf_append(&finish->names, entry->name, name_bytes) < 0 ||
        buf_terminate(&finish->names) < 0) {
        free(pending.xattr);
        return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    }
    if (pending.xattr)
        memcpy(pending.xattr, entry->xattr, entry->xattr_bytes);
    pending.entry.xattr = pending.xattr;
    pending.entry.target = NULL;
    finish->pending[finish->count++] = pending;
    return 0;
}

static bool is_pending(const struct finish *finish, size_t name_bytes)
{
    for (size_t i = finish->count; i > 0 && finish->pending[i - 1].name_bytes >= name_bytes; i--)
        if (finish->pending[i - 1].name_bytes == name_bytes)
            return true;
    return false;
}

/* A folder above an entry that was not listed: it has a row, or was made as any new folder is. */
static int push_above(struct finish *finish, const char *name, size_t name_bytes,
                      struct sqlpack_error *err)
{
    mode_t mode = S_IFDIR | (0777 & ~finish->run->policy.umask);
    struct sqlpack_entry entry;
    auto_free char *above = strndup(name, name_bytes);
    if (!above)
        return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    int found = finish->run->selection.names
                    ? sqlpack_find(finish->run->workers[0].pack, above, &entry, err)
                    : -1;
    if (finish->run->selection.names && found < 0 && err->status != SQLPACK_NOT_FOUND)
        return -1;
    if (found < 0 || !S_ISDIR(entry.mode))
        entry = (struct sqlpack_entry){
            .mode = mode,
            .mtime = SQLPACK_NO_TIME,
            .uid = UINT32_MAX,
            .gid = UINT32_MAX,
            .is_foreign = true,
        };
    entry.name = above;
    return push(finish, &entry, name_bytes, err);
}

/* Makes sure that all folders above a name are pending. */
static int push_all_above(struct finish *finish, const char *name, struct sqlpack_error *err)
{
    const char *slash = strrchr(name, '/');
    if (!slash || is_pending(finish, (size_t)(slash - name)))
        return 0;
    for (slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
        if (!is_pending(finish, (size_t)(slash - name)) &&
            push_above(finish, name, (size_t)(slash - name), err) < 0)
            return -1;
    return 0;
}

static int visit(struct finish *finish, const struct sqlpack_entry *entry,
                 struct sqlpack_error *err)
{
    const struct selection *selection = &finish->run->selection;
    if (++finish->steps % REPORT_STEPS == 0 && report_progress(&finish->run->report, 0, 0, err) < 0)
        return -1;
    if (exclude_matches(selection->excludes, selection->exclude_count, entry->name,
                        S_ISDIR(entry->mode)))
        return 0;
    if (pop_until(finish, entry->name, err) < 0 || push_all_above(finish, entry->name, err) < 0)
        return -1;
    return S_ISDIR(entry->mode) ? push(finish, entry, strlen(entry->name), err) : 0;
}

/* Visits what is below one name; NULL: everything. */
static int visit_below(struct finish *finish, const char *name, struct sqlpack_error *err)
{
    struct sqlpack_list *list;
    const struct sqlpack_list_options options = {.below = name};
    if (name && !path_is_safe(name, strlen(name)))
        return 0;
    if (sqlpack_list_open(finish->run->pack, &options, &list, err) < 0)
        return err->status == SQLPACK_NOT_FOUND ? 0 : -1;
    struct sqlpack_entry entry;
    int more;
    bool failed = false;
    while (!failed && (more = sqlpack_list_next(list, &entry, err)) > 0)
        failed = visit(finish, &entry, err) < 0;
    sqlpack_list_close(list);
    return failed || (more < 0 && err->status != SQLPACK_NOT_FOUND) ? -1 : 0;
}

/* Visits all that was selected. */
static int visit_all(struct finish *finish, struct sqlpack_error *err)
{
    const struct selection *selection = &finish->run->selection;
    if (!selection->names)
        return visit_below(finish, NULL, err);
    for (size_t i = 0; i < selection->count; i++)
        if (visit_below(finish, selection->names[i], err) < 0)
            return -1;
    return 0;
}

/* -- folders that were kept ----------------------------------------------------------------- */

#define KEPT_BYTES ((size_t)4 << 20)

/* Where the next record begins. */
static size_t record_bytes(const struct sqlpack_entry *entry)
{
    size_t size = sizeof(*entry) + strlen(entry->name) + 1 + entry->xattr_bytes;
    return (size + alignof(struct sqlpack_entry) - 1) & ~(alignof(struct sqlpack_entry) - 1);
}

void folders_keep(struct kept_folders *folders, const struct sqlpack_entry *entry)
{
    size_t size = record_bytes(entry);
    struct buf *records = &folders->records;
    folders->count++;
    if (folders->is_full || size > KEPT_BYTES - records->size || buf_reserve(records, size) < 0) {
        folders->is_full = true;
        return;
    }
    char *at = records->data + records->size;
    memcpy(at, entry, sizeof(*entry));
    at = stpcpy(at + sizeof(*entry), entry->name) + 1;
    if (entry->xattr_bytes > 0)
        memcpy(at, entry->xattr, entry->xattr_bytes);
    records->size += size;
}

struct kept {
    struct sqlpack_entry *entry;
};

static int by_name(const void *a, const void *b)
{
    const struct kept *left = a, *right = b;
    return strcmp(left->entry->name, right->entry->name);
}

/* Visits the kept folders in the order of their names. */
static int visit_kept(struct finish *finish, struct sqlpack_error *err)
{
    struct kept_folders *folders = &finish->run->folders;
    auto_free struct kept *order = malloc((folders->count + 1) * sizeof(struct kept));
    if (!order)
        return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    char *at = folders->records.data;
    for (uint64_t i = 0; i < folders->count; i++) {
        struct sqlpack_entry *entry = order[i].entry = (void *)at;
        entry->name = at + sizeof(*entry);
        entry->xattr = entry->name + strlen(entry->name) + 1;
        at += record_bytes(entry);
    }
    qsort(order, folders->count, sizeof(struct kept), by_name);
    for (uint64_t i = 0; i < folders->count; i++)
        if (visit(finish, order[i].entry, err) < 0)
            return -1;
    return 0;
}

/* Whether all folders there are were kept: each that was made has a row. */
static bool has_kept_all(const struct run *run)
{
    uint64_t made = 0;
    for (unsigned i = 0; i < run->jobs; i++)
        made += run->workers[i].place.made_count;
    return !run->target.is_merge && !run->folders.is_full && made == run->folders.count;
}

/* -- all ------------------------------------------------------------------------------------ */

/* The target itself, unless it was there with other entries in it. */
static int finish_root(struct run *run, struct sqlpack_error *err)
{
    struct sqlpack_entry entry;
    if (!run->target.was_empty && !run->options->skip_existing)
        return 0;
    if (sqlpack_find(run->pack, "", &entry, err) == 0) {
        struct meta_plan plan = meta_plan(&run->policy, &entry);
        plan.sets_mode = true;
        meta_apply(&run->policy, &(struct subject){.fd = run->target.fd}, &entry, &plan);
        return 0;
    }
    if (err->status != SQLPACK_NOT_FOUND)
        return -1;
    if (run->target.hidden[0] && fchmod(run->target.fd, 0777 & ~run->policy.umask) < 0)
        return fail_errno(err, "cannot set the mode of the new folder");
    return 0;
}

int folders_finish(struct run *run, struct sqlpack_error *err)
{
    auto_release(finish_release) struct finish finish = {.run = run};
    place_init(&finish.place, run->target.fd, run->workers[0].place.limit);
    if (has_kept_all(run) ? visit_kept(&finish, err) < 0 : visit_all(&finish, err) < 0)
        return -1;
    if (pop_until(&finish, NULL, err) < 0)
        return -1;
    return finish_root(run, err);
}

/* SPDX-License-Identifier: MIT */
/* Compares a pack with a tree, entry by entry, as both come in the order of their names. */
#include <string.h>

#include "lib/internal.h"

struct comparison {
    const struct sqlpack_verify_options *options;
    const struct sample *sample;
    struct report *report;
    const char *pack_path;
    struct sqlpack *pack, *contents; /* the second one is opened where contents are asked for */
    struct sqlpack_list *list;
    struct sqlpack_entry packed; /* the next entry of the pack that no entry of the tree has met */
    bool has_packed;
    struct hash_stream *hash;
    /* Folders of the tree that the walk could not read; it runs ahead in a thread of its own. */
    pthread_mutex_t mutex;
    char **unreadable;
    size_t unreadable_count, unreadable_room;
};

/* -- one entry -------------------------------------------------------------------------------- */

static const char *type_of(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "a file";
    case S_IFDIR:
        return "a folder";
    case S_IFLNK:
        return "a symlink";
    case S_IFIFO:
        return "a FIFO";
    case S_IFCHR:
        return "a character device";
    case S_IFBLK:
        return "a block device";
    case S_IFSOCK:
        return "a socket";
    default:
        return "of no known type";
    }
}

static void compare_mode_and_owner(struct report *report, const struct sqlpack_entry *packed,
                                   const struct sqlpack_entry *found)
{
    if (packed->mode != found->mode)
        report_difference(report, found->name, "mode-differs: %04o in the pack, %04o in the tree",
                          packed->mode & 07777, found->mode & 07777);
    if (packed->is_foreign)
        return;
    if (packed->uid != found->uid || packed->gid != found->gid)
        report_difference(report, found->name,
                          "owner-differs: %u:%u in the pack, %u:%u in the tree", packed->uid,
                          packed->gid, found->uid, found->gid);
}

static void compare_times(struct report *report, const struct sqlpack_entry *packed,
                          const struct sqlpack_entry *found)
{
    if (packed->mtime == SQLPACK_NO_TIME)
        return;
    if (packed->mtime != found->mtime ||
        (!packed->is_foreign && packed->mtime_ns != found->mtime_ns))
        report_difference(
            report, found->name, "mtime-differs: %lld.%09u in the pack, %lld.%09u in the tree",
            (long long)packed->mtime, packed->mtime_ns, (long long)found->mtime, found->mtime_ns);
}

/* Names the first attribute, in the order of names, that one has and the other has not so. */
static void compare_attrs(struct report *report, const struct sqlpack_entry *packed,
                          const struct sqlpack_entry *found)
{
    if (packed->is_foreign || (packed->xattr_bytes == found->xattr_bytes &&
                               (packed->xattr_bytes == 0 ||
                                memcmp(packed->xattr, found->xattr, packed->xattr_bytes) == 0)))
        return;
    size_t packed_at = 0, found_at = 0;
    for (;;) {
        struct attr in_pack, in_tree;
        bool has_packed = packed->xattr &&
                          attr_next(packed->xattr, packed->xattr_bytes, &packed_at, &in_pack) > 0;
        bool has_found =
            found->xattr && attr_next(found->xattr, found->xattr_bytes, &found_at, &in_tree) > 0;
        int order = !has_packed ? 1 : !has_found ? -1 : strcmp(in_pack.name, in_tree.name);
        if (has_packed && has_found && order == 0 && in_pack.size == in_tree.size &&
            memcmp(in_pack.value, in_tree.value, in_pack.size) == 0)
            continue;
        const char *name = order <= 0  ? has_packed ? in_pack.name : ""
                           : has_found ? in_tree.name
                                       : "";
        report_difference(report, found->name, "xattr-differs: %s %s", show(name).text,
                          order == 0  ? "has another value in the tree"
                          : order < 0 ? "is only in the pack"
                                      : "is only in the tree");
        return;
    }
}

/* Reads an entry that another program wrote, which has no digest. Returns 1, 0 where it is
 * damaged, which is reported elsewhere, or -1. */
static int digest_packed(struct comparison *comparison, const char *name,
                         uint8_t ret_digest[SQLPACK_DIGEST_BYTES], struct sqlpack_error *err)
{
    if (!comparison->contents &&
        sqlpack_open(comparison->pack_path, &comparison->contents, err) < 0)
        return -1;
    if (!comparison->hash && !(comparison->hash = hash_stream_new()))
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    hash_stream_reset(comparison->hash);
    if (sqlpack_stream(comparison->contents, name, digest_write, comparison->hash, err) < 0)
        return err->status == SQLPACK_CORRUPT ? 0 : -1;
    hash_stream_end(comparison->hash, ret_digest);
    return 1;
}

static int compare_content(struct comparison *comparison, const struct sqlpack_entry *packed,
                           const struct sqlpack_entry *found, struct sqlpack_error *err)
{
    if (packed->sz != found->sz) {
        report_difference(comparison->report, found->name,
                          "size-differs: %llu bytes in the pack, %llu in the tree",
                          (unsigned long long)packed->sz, (unsigned long long)found->sz);
        return 0;
    }
    if (!found->has_digest)
        return 0;
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    memcpy(digest, packed->digest, sizeof(digest));
    if (!packed->has_digest) {
        int result = digest_packed(comparison, packed->name, digest, err);
        if (result <= 0)
            return result;
    }
    if (memcmp(digest, found->digest, sizeof(digest)) != 0)
        report_difference(comparison->report, found->name,
                          "content-differs: other bytes in the tree");
    return 0;
}

static void compare_link(struct report *report, const struct sqlpack_entry *packed,
                         const struct sqlpack_entry *found)
{
    const char *in_pack = packed->link ? packed->target : NULL;
    const char *in_tree = found->link ? found->target : NULL;
    if (packed->is_foreign || (!in_pack && !in_tree) ||
        (in_pack && in_tree && strcmp(in_pack, in_tree) == 0))
        return;
    if (in_pack && in_tree)
        report_difference(report, found->name,
                          "link-differs: to '%s' in the pack, to '%s' in the tree",
                          show(in_pack).text, show(in_tree).text);
    else if (in_pack)
        report_difference(report, found->name,
                          "link-differs: to '%s' in the pack, to none in the tree",
                          show(in_pack).text);
    else
        report_difference(report, found->name,
                          "link-differs: to none in the pack, to '%s' in the tree",
                          show(in_tree).text);
}

static int compare_kind(struct comparison *comparison, const struct sqlpack_entry *packed,
                        const struct sqlpack_entry *found, struct sqlpack_error *err)
{
    switch (found->mode & S_IFMT) {
    case S_IFREG:
        compare_link(comparison->report, packed, found);
        return compare_content(comparison, packed, found, err);
    case S_IFLNK:
        if (!packed->target || strcmp(packed->target, found->target) != 0)
            report_difference(comparison->report, found->name,
                              "target-differs: '%s' in the pack, '%s' in the tree",
                              show(packed->target ? packed->target : "").text,
                              show(found->target).text);
        return 0;
    case S_IFCHR:
    case S_IFBLK:
        if (!packed->is_foreign && packed->rdev != found->rdev)
            report_difference(comparison->report, found->name,
                              "device-differs: %llu in the pack, %llu in the tree",
                              (unsigned long long)packed->rdev, (unsigned long long)found->rdev);
        return 0;
    default:
        return 0;
    }
}

static int compare_entry(struct comparison *comparison, const struct sqlpack_entry *packed,
                         const struct sqlpack_entry *found, struct sqlpack_error *err)
{
    struct report *report = comparison->report;
    if ((packed->mode & S_IFMT) != (found->mode & S_IFMT)) {
        report_difference(report, found->name, "type-differs: %s in the pack, %s in the tree",
                          type_of(packed->mode), type_of(found->mode));
        return 0;
    }
    compare_mode_and_owner(report, packed, found);
    compare_times(report, packed, found);
    compare_attrs(report, packed, found);
    return compare_kind(comparison, packed, found, err);
}

/* -- both orders ------------------------------------------------------------------------------ */

static int next_packed(struct comparison *comparison, struct sqlpack_error *err)
{
    int result = sqlpack_list_next(comparison->list, &comparison->packed, err);
    comparison->has_packed = result > 0;
    return result < 0 ? -1 : 0;
}

static void note_unreadable(void *user, const char *name)
{
    struct comparison *comparison = user;
    pthread_mutex_lock(&comparison->mutex);
    if (comparison->unreadable_count == comparison->unreadable_room) {
        size_t room = comparison->unreadable_room ? 2 * comparison->unreadable_room : 8;
        char **names = realloc(comparison->unreadable, room * sizeof(*names));
        if (names) {
            comparison->unreadable = names;
            comparison->unreadable_room = room;
        }
    }
    /* Without memory for it, what lies below is called missing: too much, never too little. */
    if (comparison->unreadable_count < comparison->unreadable_room) {
        char *copy = strdup(name);
        if (copy)
            comparison->unreadable[comparison->unreadable_count++] = copy;
    }
    pthread_mutex_unlock(&comparison->mutex);
}

/* Whether all that lies in a folder comes before `name` in the order of names. */
static bool is_past(const char *name, const char *folder)
{
    size_t size = strlen(folder);
    int order = strncmp(folder, name, size);
    return size > 0 && (order < 0 || (order == 0 && (unsigned char)name[size] > '/'));
}

/* Whether a name lies in a folder of the tree that could not be read. Names come in order. */
static bool is_unknown(struct comparison *comparison, const char *name)
{
    bool is_known = true;
    size_t kept = 0;
    pthread_mutex_lock(&comparison->mutex);
    for (size_t i = 0; i < comparison->unreadable_count; i++) {
        char *folder = comparison->unreadable[i];
        if (is_past(name, folder)) {
            free(folder);
            continue;
        }
        is_known &= !path_is_below(name, folder);
        comparison->unreadable[kept++] = folder;
    }
    comparison->unreadable_count = kept;
    pthread_mutex_unlock(&comparison->mutex);
    return !is_known;
}

/* Names the pack's entries that come before `name`, or all that are left where it is NULL. */
static int pass_missing(struct comparison *comparison, const char *name, struct sqlpack_error *err)
{
    while (comparison->has_packed && (!name || strcmp(comparison->packed.name, name) < 0)) {
        const struct sqlpack_entry *packed = &comparison->packed;
        if (!is_unknown(comparison, packed->name))
            report_difference(comparison->report, packed->name,
                              "missing: %s in the pack, not in the tree", type_of(packed->mode));
        if (next_packed(comparison, err) < 0)
            return -1;
    }
    return 0;
}

/* The root has no row in sqlar: only a pack of sqlpack knows it. */
static int compare_root(struct comparison *comparison, const struct sqlpack_entry *found,
                        struct sqlpack_error *err)
{
    struct sqlpack_entry packed;
    if (sqlpack_find(comparison->pack, "", &packed, err) < 0)
        return -1;
    return packed.is_foreign ? 0 : compare_entry(comparison, &packed, found, err);
}

static int meet_entry(void *user, const struct survey_entry *found, struct sqlpack_error *err)
{
    struct comparison *comparison = user;
    const char *name = found->entry.name;
    if (found->state == SURVEY_IGNORED)
        return 0;
    if (!*name)
        return found->state == SURVEY_READ ? compare_root(comparison, &found->entry, err) : 0;
    if (pass_missing(comparison, name, err) < 0)
        return -1;
    bool is_packed = comparison->has_packed && strcmp(comparison->packed.name, name) == 0;
    if (!is_packed) {
        if (found->state == SURVEY_READ)
            report_difference(comparison->report, name, "extra: %s in the tree, not in the pack",
                              type_of(found->entry.mode));
        return 0;
    }
    int result = 0;
    if (found->state == SURVEY_READ)
        result = compare_entry(comparison, &comparison->packed, &found->entry, err);
    if (found->state == SURVEY_SOCKET)
        report_difference(comparison->report, name,
                          "type-differs: %s in the pack, a socket in the tree",
                          type_of(comparison->packed.mode));
    return result < 0 ? -1 : next_packed(comparison, err);
}

static bool wants_content(void *user, const char *name)
{
    const struct comparison *comparison = user;
    return sample_takes(comparison->sample, name);
}

static int run(struct comparison *comparison, const struct stat *pack_stat,
               struct sqlpack_error *err)
{
    static const struct sqlpack_list_options everything = {0};
    const struct survey_options options = {.jobs = comparison->options->jobs,
                                           .ignored = pack_stat,
                                           .ignored_leaf = path_leaf(comparison->pack_path),
                                           .wants_content = wants_content,
                                           .each = meet_entry,
                                           .unreadable = note_unreadable,
                                           .user = comparison};
    if (sqlpack_open(comparison->pack_path, &comparison->pack, err) < 0 ||
        sqlpack_list_open(comparison->pack, &everything, &comparison->list, err) < 0 ||
        next_packed(comparison, err) < 0 ||
        survey_run(comparison->options->dir, &options, comparison->report, err) < 0)
        return -1;
    return pass_missing(comparison, NULL, err);
}

int compare_tree(const char *path, const struct sqlpack_verify_options *options,
                 const struct sample *sample, struct report *report, struct sqlpack_error *err)
{
    struct comparison comparison = {
        .options = options, .sample = sample, .report = report, .pack_path = path};
    struct stat pack_stat;
    if (stat(path, &pack_stat) < 0)
        return fail_errno(err, "cannot open '%s'", show(path).text);
    pthread_mutex_init(&comparison.mutex, NULL);
    int result = run(&comparison, &pack_stat, err);
    sqlpack_list_close(comparison.list);
    sqlpack_close(comparison.pack);
    sqlpack_close(comparison.contents);
    hash_stream_free(comparison.hash);
    for (size_t i = 0; i < comparison.unreadable_count; i++)
        free(comparison.unreadable[i]);
    free(comparison.unreadable);
    pthread_mutex_destroy(&comparison.mutex);
    return result;
}

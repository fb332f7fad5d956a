/* SPDX-License-Identifier: MIT */
/* Tries the move on a copy: packs the tree, restores it, deletes that, and looks what it freed. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/audit.h"
#include "lib/restore.h"

/* Where the copy is made: a folder beside the tree, or in it where that is a file system's root. */
struct scratch {
    char *path, *pack, *copy;
    char name[FILE_HIDDEN_NAME_BYTES];
};

static void scratch_release(struct scratch *scratch)
{
    if (scratch->path) {
        auto_close int fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && target_clear(fd) == 0)
            rmdir(scratch->path);
    }
    free(scratch->path);
    free(scratch->pack);
    free(scratch->copy);
}

static int scratch_make(struct scratch *scratch, const char *dir, struct sqlpack_error *err)
{
    struct stat tree, above;
    auto_free char *parent = NULL;
    char *path = NULL;
    if (asprintf(&parent, "%s/..", dir) < 0)
        parent = NULL;
    if (!parent || stat(dir, &tree) < 0 || stat(parent, &above) < 0)
        return fail_errno(err, "cannot look at '%s'", show(dir).text);
    bool is_beside = tree.st_dev == above.st_dev && tree.st_ino != above.st_ino;
    if (file_hidden_name(scratch->name) < 0 ||
        asprintf(&path, "%s/%s", is_beside ? parent : dir, scratch->name) < 0)
        return fail_no_memory(err);
    if (mkdir(path, 0700) < 0) {
        fail_errno(err, "cannot create '%s'", show(path).text);
        free(path);
        return -1;
    }
    scratch->path = path;
    if (asprintf(&scratch->pack, "%s/pack", path) < 0)
        scratch->pack = NULL;
    if (asprintf(&scratch->copy, "%s/copy", path) < 0)
        scratch->copy = NULL;
    return scratch->pack && scratch->copy ? 0 : fail_no_memory(err);
}

/* Bytes that the file system has left, once all is written and settled. */
static int look(const struct scratch *scratch, int64_t *ret_bytes, struct sqlpack_error *err)
{
    struct statvfs space;
    assert(scratch->path);
    auto_close int fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* twice: what the first one frees is told after the second, on btrfs */
    if (fd < 0 || syncfs(fd) < 0 || syncfs(fd) < 0 || fstatvfs(fd, &space) < 0)
        return fail_errno(err, "cannot look at the file system of '%s'", show(scratch->path).text);
    *ret_bytes = (int64_t)(space.f_bfree * (space.f_frsize ? space.f_frsize : 512));
    return 0;
}

static int delete_copy(const struct scratch *scratch, struct sqlpack_error *err)
{
    assert(scratch->copy);
    auto_close int fd = open(scratch->copy, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || target_clear(fd) < 0 || rmdir(scratch->copy) < 0)
        return fail_errno(err, "cannot remove '%s'", show(scratch->copy).text);
    return 0;
}

static int make_pack(const struct scratch *scratch, const char *dir,
                     const struct sqlpack_audit_options *options, uint32_t page_bytes,
                     struct sqlpack_error *err)
{
    size_t count = options->exclude_count;
    auto_free const char **excludes = calloc(count + 1, sizeof(*excludes));
    if (!excludes)
        return fail_no_memory(err);
    for (size_t i = 0; i < count; i++)
        excludes[i] = options->excludes[i];
    excludes[count] = scratch->name;
    const struct sqlpack_pack_options how = {
        .level = options->level,
        .page_bytes = page_bytes,
        .jobs = options->jobs,
        .excludes = excludes,
        .exclude_count = count + 1,
        .max_file_bytes = options->max_file_bytes,
        .one_file_system = !options->cross_device,
        .no_xattrs = options->no_xattrs,
        .hooks = {.progress = options->hooks.progress, .user = options->hooks.user},
    };
    struct sqlpack_pack_result packed;
    return sqlpack_pack(dir, scratch->pack, &how, &packed, err);
}

static int make_copy(const struct scratch *scratch, const struct sqlpack_audit_options *options,
                     struct sqlpack_error *err)
{
    const struct sqlpack_unpack_options how = {
        .jobs = options->jobs,
        .same_owner = geteuid() == 0,
        .hooks = {.progress = options->hooks.progress, .user = options->hooks.user},
    };
    struct sqlpack_unpack_result unpacked;
    return sqlpack_unpack(scratch->pack, scratch->copy, &how, &unpacked, err);
}

/* What is told of the copy, which may lie in other blocks than the tree. */
static int foretell(const struct scratch *scratch, const struct sqlpack_audit_options *options,
                    struct sqlpack_audit_result *result, struct sqlpack_error *err)
{
    struct sqlpack_audit_options how = *options;
    struct sqlpack_audit_result copy;
    how.verify_freed = how.duplicates = false;
    how.excludes = NULL;
    how.exclude_count = how.block_count = 0;
    how.page_bytes = result->page_bytes;
    how.hooks =
        (struct sqlpack_hooks){.progress = options->hooks.progress, .user = options->hooks.user};
    if (sqlpack_audit(scratch->copy, &how, &copy, err) < 0)
        return -1;
    result->tried_low = copy.freed_low;
    result->tried_high = copy.freed_high;
    sqlpack_audit_release(&copy);
    return 0;
}

int try_move(const char *dir, const struct sqlpack_audit_options *options,
             struct sqlpack_audit_result *result, struct sqlpack_error *err)
{
    int64_t empty = 0, with_copy = 0, with_pack = 0;
    auto_release(scratch_release) struct scratch scratch = {0};
    uint64_t need = result->tree_allocated_bytes + result->peak_bytes;
    if (need + need / 16 > result->free_bytes)
        return fail(err, SQLPACK_IO, "cannot try the move of '%s': there is no room for a copy",
                    show(dir).text);
    if (scratch_make(&scratch, dir, err) < 0 || look(&scratch, &empty, err) < 0 ||
        make_pack(&scratch, dir, options, result->page_bytes, err) < 0 ||
        make_copy(&scratch, options, err) < 0 || foretell(&scratch, options, result, err) < 0 ||
        look(&scratch, &with_copy, err) < 0 || delete_copy(&scratch, err) < 0 ||
        look(&scratch, &with_pack, err) < 0)
        return -1;
    /* the copy came back, the pack stays */
    result->tried_bytes = (with_pack - with_copy) - (empty - with_pack);
    return 0;
}

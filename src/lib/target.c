/* SPDX-License-Identifier: MIT */
/* The folder that is being filled: one that is new appears whole or not at all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "lib/restore.h"

#define READ_FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static void auto_closedir_release(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}
#define auto_closedir auto_release(auto_closedir_release)

/* Opens a folder for reading its names; leaves `folder` itself alone. */
static DIR *open_names(int folder, const char *leaf)
{
    int fd = openat(folder, leaf, READ_FOLDER | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    DIR *dir = fdopendir(fd);
    if (!dir)
        close(fd);
    return dir;
}

/* The next name but "." and ".."; NULL at the end with errno 0, else with errno. */
static const struct dirent *next_name(DIR *dir)
{
    const struct dirent *item;
    do {
        errno = 0;
        item = readdir(dir);
    } while (item && (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0));
    return item;
}

/* -- removing ----------------------------------------------------------------------------- */

static int rename_to_new_name(int from, const char *leaf, int to)
{
    char hidden[FILE_HIDDEN_NAME_BYTES];
    for (int attempt = 0; attempt < 100; attempt++) {
        if (file_hidden_name(hidden) < 0)
            return -1;
        struct stat stat;
        if (fstatat(to, hidden, &stat, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        return renameat(from, leaf, to, hidden);
    }
    errno = EEXIST;
    return -1;
}

/* Removes what is no folder and gives 0; gives 1 for a folder that is not empty. */
static int remove_one(int folder, const char *leaf)
{
    if (unlinkat(folder, leaf, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (unlinkat(folder, leaf, AT_REMOVEDIR) == 0)
        return 0;
    return errno == ENOTEMPTY || errno == EEXIST ? 1 : -1;
}

/*
 * Empties and removes the folder `leaf` of `top`: its files are removed, and the
 * folders in it move up into `top`, so that depth costs neither stack nor
 * descriptors.
 */
static int flatten(int top, const char *leaf)
{
    /* folders that are finished may be read-only by now */
    if (fchmodat(top, leaf, 0700, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    auto_closedir DIR *dir = open_names(top, leaf);
    if (!dir)
        return -1;
    const struct dirent *item;
    while ((item = next_name(dir)) != NULL) {
        int left = remove_one(dirfd(dir), item->d_name);
        if (left > 0) {
            fchmodat(dirfd(dir), item->d_name, 0700, AT_SYMLINK_NOFOLLOW);
            left = rename_to_new_name(dirfd(dir), item->d_name, top);
        }
        if (left < 0)
            return -1;
    }
    return errno ? -1 : unlinkat(top, leaf, AT_REMOVEDIR);
}

int target_clear(int folder)
{
    for (bool is_empty = false; !is_empty;) {
        auto_closedir DIR *dir = open_names(folder, ".");
        if (!dir)
            return -1;
        is_empty = true;
        const struct dirent *item;
        while ((item = next_name(dir)) != NULL) {
            is_empty = false; /* folders that moved up may come later in this round, or not */
            int left = remove_one(folder, item->d_name);
            if (left > 0)
                left = flatten(folder, item->d_name);
            if (left < 0 && errno != ENOENT)
                return -1;
        }
        if (errno)
            return -1;
    }
    return 0;
}

/* -- the folder --------------------------------------------------------------------------- */

static int is_empty_folder(int fd, bool *ret_is_empty)
{
    auto_closedir DIR *dir = open_names(fd, ".");
    if (!dir)
        return -1;
    const struct dirent *item = next_name(dir);
    if (!item && errno)
        return -1;
    *ret_is_empty = !item;
    return 0;
}

/* Takes over the descriptor of a folder that exists. */
static int use_existing(struct target *target, int fd, const char *dir, bool into, bool dry_run,
                        struct sqlpack_error *err)
{
    target->fd = fd;
    bool is_empty;
    if (is_empty_folder(fd, &is_empty) < 0)
        return fail_errno(err, "cannot read '%s'", show(dir).text);
    if (!is_empty && !into)
        return fail(err, SQLPACK_EXISTS, "cannot unpack into '%s': it exists and is not empty",
                    show(dir).text);
    target->was_empty = is_empty;
    target->is_merge = into;
    target->is_ours = !into && !dry_run;
    return 0;
}

/* Splits the path of a folder that does not exist; opens what is to hold it. */
static int open_parent(struct target *target, const char *dir, struct sqlpack_error *err)
{
    size_t size = strlen(dir);
    while (size > 1 && dir[size - 1] == '/')
        size--;
    size_t start = size;
    while (start > 0 && dir[start - 1] != '/')
        start--;
    target->leaf = strndup(dir + start, size - start);
    auto_free char *parent = start > 0 ? strndup(dir, start) : strdup(".");
    if (!target->leaf || !parent)
        return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    target->parent = open(parent, READ_FOLDER);
    if (target->parent < 0)
        return fail_errno(err, "cannot open '%s'", show(parent).text);
    return 0;
}

/* Whether an open folder is still what a name stands for. */
static bool is_still(int parent, const char *name, int fd)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/*
 * Makes the hidden folder and locks it, which tells other runs that it is in use.
 * Returns 0; 1 where another name must be tried, since another run has taken the
 * folder for left over in between; -1 with errno.
 */
static int try_hidden(struct target *target)
{
    if (file_hidden_name(target->hidden) < 0)
        return -1;
    if (mkdirat(target->parent, target->hidden, 0700) < 0) {
        target->hidden[0] = '\0';
        return errno == EEXIST ? 1 : -1;
    }
    target->fd = openat(target->parent, target->hidden, READ_FOLDER | O_NOFOLLOW);
    if (target->fd < 0)
        return errno == ENOENT ? 1 : -1;
    bool is_locked = flock(target->fd, LOCK_EX | LOCK_NB) == 0;
    /* without locks, nobody takes it for left over either */
    if ((is_locked || errno != EWOULDBLOCK) && is_still(target->parent, target->hidden, target->fd))
        return 0;
    close(target->fd);
    target->fd = -1;
    return 1;
}

static int make_hidden(struct target *target)
{
    int code = 1;
    for (int attempt = 0; code > 0 && attempt < 100; attempt++)
        code = try_hidden(target);
    return code == 0 ? 0 : -1;
}

static bool is_hidden_name(const char *name)
{
    static const char prefix[] = ".sqlpack-";
    size_t size = sizeof(prefix) - 1;
    return strncmp(name, prefix, size) == 0 && strlen(name) == size + 8 &&
           strspn(name + size, "0123456789abcdef") == 8;
}

/* Removes a hidden folder that no run holds any more. */
static void remove_left_over(int parent, const char *name)
{
    struct stat stat;
    auto_close int fd = openat(parent, name, READ_FOLDER | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &stat) < 0 || stat.st_uid != geteuid() ||
        flock(fd, LOCK_EX | LOCK_NB) < 0)
        return;
    if (is_still(parent, name, fd) && target_clear(fd) == 0) /* or it was published meanwhile */
        unlinkat(parent, name, AT_REMOVEDIR);
}

/* A run that was killed leaves its hidden folder behind. */
static void remove_all_left_over(int parent)
{
    auto_closedir DIR *dir = open_names(parent, ".");
    const struct dirent *item;
    while (dir && (item = next_name(dir)) != NULL)
        if (is_hidden_name(item->d_name))
            remove_left_over(parent, item->d_name);
}

/* What it holds shall have nothing from the folder above: no ACL, no set-gid bit, no group. */
static int make_private(const struct target *target)
{
    struct stat stat;
    if (place_strip(target->fd) < 0 || fstat(target->fd, &stat) < 0)
        return -1;
    return stat.st_gid == getegid() ? 0 : fchown(target->fd, (uid_t)-1, getegid());
}

static int make_new(struct target *target, const char *dir, struct sqlpack_error *err)
{
    if (open_parent(target, dir, err) < 0)
        return -1;
    remove_all_left_over(target->parent);
    target->is_ours = true;
    target->was_empty = true;
    if (make_hidden(target) < 0)
        return fail_errno(err, "cannot create a folder beside '%s'", show(dir).text);
    if (make_private(target) < 0)
        return fail_errno(err, "cannot open the new folder beside '%s'", show(dir).text);
    return 0;
}

int target_open(struct target *target, const char *dir, bool into, bool dry_run,
                struct sqlpack_error *err)
{
    *target = (struct target)TARGET_NONE;
    int fd = open(dir, READ_FOLDER);
    if (fd >= 0)
        return use_existing(target, fd, dir, into, dry_run, err);
    if (errno == ENOTDIR) {
        struct stat stat;
        if (lstat(dir, &stat) == 0)
            return fail(err, SQLPACK_EXISTS, "cannot unpack into '%s': it is no folder",
                        show(dir).text);
        errno = ENOTDIR;
    }
    if (errno != ENOENT || dir[0] == '\0')
        return fail_errno(err, "cannot open '%s'", show(dir).text);
    if (dry_run)
        target->was_empty = true;
    return dry_run ? 0 : make_new(target, dir, err);
}

bool target_has_default_acl(int folder)
{
    return fgetxattr(folder, "system.posix_acl_default", NULL, 0) > 0;
}

int target_flush(const struct target *target, struct sqlpack_error *err)
{
    return syncfs(target->fd) < 0 ? fail_errno(err, "cannot flush what was unpacked to disk") : 0;
}

static int rename_into_place(const struct target *target)
{
    int parent = target->parent;
    if (renameat2(parent, target->hidden, parent, target->leaf, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    struct stat stat;
    if (fstatat(parent, target->leaf, &stat, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(parent, target->hidden, parent, target->leaf);
}

int target_publish(struct target *target, bool sync, struct sqlpack_error *err)
{
    if (target->hidden[0]) {
        if (rename_into_place(target) < 0)
            return fail_errno(err, "cannot create '%s'", show(target->leaf).text);
        target->hidden[0] = '\0';
    }
    target->is_ours = false;
    if (sync && target->parent >= 0 && fsync(target->parent) < 0)
        return fail_errno(err, "cannot flush the folder of '%s' to disk", show(target->leaf).text);
    return 0;
}

void target_release(struct target *target)
{
    if (target->fd >= 0 && target->is_ours) {
        if (target->hidden[0])
            fchmod(target->fd, 0700); /* it may have got its own mode by now */
        target_clear(target->fd);
    }
    if (target->hidden[0])
        unlinkat(target->parent, target->hidden, AT_REMOVEDIR);
    if (target->fd >= 0)
        close(target->fd);
    if (target->parent >= 0)
        close(target->parent);
    free(target->leaf);
    *target = (struct target)TARGET_NONE;
}

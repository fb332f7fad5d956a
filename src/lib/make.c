/* SPDX-License-Identifier: MIT */
/* Makes one entry in a folder, or tells why not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "lib/restore.h"

/* Whether the system as a whole fails, and not one entry alone: then the run ends. */
bool make_is_fatal(int os_errno)
{
    switch (os_errno) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EFBIG:
    case EROFS:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSYS:
        return true;
    default:
        return false;
    }
}

/* -- what is there already ------------------------------------------------------------------ */

static bool has_target(int folder, const char *leaf, const char *target)
{
    size_t size = strlen(target);
    char room[PATH_MAX];
    ssize_t got = readlinkat(folder, leaf, room, sizeof(room));
    return got >= 0 && (size_t)got == size && memcmp(room, target, size) == 0;
}

/* Whether what is there is what the entry would be, by type, size and time. */
static bool is_same(int folder, const char *leaf, const struct stat *stat,
                    const struct sqlpack_entry *entry)
{
    if ((stat->st_mode & S_IFMT) != (entry->mode & S_IFMT))
        return false;
    if (S_ISLNK(stat->st_mode))
        return has_target(folder, leaf, entry->target);
    if (S_ISCHR(stat->st_mode) || S_ISBLK(stat->st_mode))
        return stat->st_rdev == entry->rdev;
    return (!S_ISREG(stat->st_mode) || (uint64_t)stat->st_size == entry->sz) &&
           stat->st_mtim.tv_sec == entry->mtime &&
           (entry->is_foreign || stat->st_mtim.tv_nsec == (long)entry->mtime_ns);
}

bool make_folds(int fd, const char *leaf, char ret_name[NAME_MAX + 1])
{
    char self[40];
    char path[PATH_MAX];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(self, path, sizeof(path) - 1);
    if (size < 0)
        return false; /* no /proc, or a path too long for it */
    path[size] = '\0';
    const char *name = path_leaf(path);
    size_t size_with_end = strlen(name) + 1;
    if (size_with_end > NAME_MAX + 1 || strcmp(name, leaf) == 0)
        return false;
    memcpy(ret_name, name, size_with_end);
    return true;
}

/* The name is taken: by what was there before, or by another entry of the pack. */
static int tell_taken(struct policy *policy, int folder, const char *leaf,
                      const struct sqlpack_entry *entry)
{
    char other[NAME_MAX + 1];
    atomic_fetch_add(&policy->taken_count, 1);
    auto_close int fd = openat(folder, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && make_folds(fd, leaf, other))
        policy_loss(policy, entry->name, 0,
                    "this file system takes its name for '%s', which exists", show(other).text);
    else
        policy_loss(policy, entry->name, 0, "exists already");
    return MADE_NOT;
}

/* An attempt failed with errno: a loss, or the end of the run. */
static int make_failed(struct policy *policy, int folder, const char *leaf,
                       const struct sqlpack_entry *entry, struct sqlpack_error *err)
{
    if (make_is_fatal(errno))
        return fail_errno(err, "cannot create '%s'", show(entry->name).text);
    if (errno == EEXIST)
        return tell_taken(policy, folder, leaf, entry);
    policy_loss(policy, entry->name, errno, "cannot be created");
    return MADE_NOT;
}

/*
 * Decides over a name in a folder where other entries may lie. MADE: it is free
 * to be made, or to be replaced.
 */
static int claim(struct policy *policy, int folder, const char *leaf,
                 const struct sqlpack_entry *entry)
{
    struct stat stat;
    if (!policy->is_merge || fstatat(folder, leaf, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return MADE; /* making it will tell */
    if (policy->options->skip_existing && !entry->link && is_same(folder, leaf, &stat, entry))
        return MADE_KEPT;
    if (!policy->options->replace)
        return tell_taken(policy, folder, leaf, entry);
    if (!S_ISDIR(stat.st_mode))
        return MADE;
    policy_loss(policy, entry->name, EISDIR, "cannot be replaced");
    return MADE_NOT;
}

/* -- files ---------------------------------------------------------------------------------- */

struct sink {
    int fd;
    int os_errno; /* of a write that failed */
    off_t offset; /* where the next byte goes */
    off_t end;    /* behind the last byte written */
};

static int sink_write(void *user, const void *data, size_t size)
{
    struct sink *sink = user;
    if (data) {
        if (file_pwrite(sink->fd, data, size, sink->offset) < 0) {
            sink->os_errno = errno;
            return -1;
        }
        sink->end = sink->offset + (off_t)size;
    }
    sink->offset += (off_t)size;
    return 0;
}

/*
 * Fills an open file. The content of one file may be damaged: that is a loss.
 * Where it cannot be written, the run ends.
 */
static int fill(struct policy *policy, int fd, const struct sqlpack_entry *entry,
                const struct content *content, struct sqlpack_error *err)
{
    struct sink sink = {.fd = fd};
    struct sqlpack_error why;
    if (content->give(content->user, sink_write, &sink, &why) == 0) {
        if (sink.offset == sink.end || ftruncate(fd, sink.offset) == 0)
            return MADE;
        sink.os_errno = errno;
    }
    if (sink.os_errno) {
        errno = sink.os_errno;
        return fail_errno(err, "cannot write '%s'", show(entry->name).text);
    }
    if (why.status != SQLPACK_CORRUPT) {
        *err = why;
        return -1;
    }
    policy_loss(policy, entry->name, 0, "its content is damaged");
    return MADE_NOT;
}

/* Content, then all else. */
static int fill_and_finish(struct policy *policy, int fd, const struct sqlpack_entry *entry,
                           const struct meta_plan *plan, const struct content *content,
                           struct sqlpack_error *err)
{
    int made = fill(policy, fd, entry, content, err);
    if (made != MADE)
        return made;
    if (policy->is_careful) /* what it may have from its folder; mostly there is none */
        fremovexattr(fd, "system.posix_acl_access");
    meta_apply(policy, &(struct subject){.fd = fd}, entry, plan);
    return MADE;
}

/* Some file systems tell only now that there was no room. */
static int close_file(int fd, int made, const struct sqlpack_entry *entry,
                      struct sqlpack_error *err)
{
    if (close(fd) < 0 && errno != EINTR && made == MADE)
        return fail_errno(err, "cannot write '%s'", show(entry->name).text);
    return made;
}

/* A file that is made under its name, where nobody else looks, or in an empty folder. */
static int make_in_place(struct policy *policy, int folder, const char *leaf,
                         const struct sqlpack_entry *entry, const struct content *content,
                         struct sqlpack_error *err)
{
    const struct meta_plan plan = meta_plan(policy, entry);
    int fd = openat(folder, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    plan.sets_mode ? 0600 : plan.mode);
    if (fd < 0)
        return make_failed(policy, folder, leaf, entry, err);
    int made = fill_and_finish(policy, fd, entry, &plan, content, err);
    made = close_file(fd, made, entry, err);
    if (made != MADE)
        unlinkat(folder, leaf, 0);
    return made;
}

/* Opens a file that has no name yet, or a hidden one where the file system wants a name. */
static int open_nameless(struct new_file *file)
{
    file->fd = openat(file->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file->fd;
    for (int attempt = 0; file->fd < 0 && attempt < 100; attempt++) {
        if (file_hidden_name(file->hidden) < 0)
            return -1;
        file->fd = openat(file->folder, file->hidden,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file->fd < 0 && errno != EEXIST)
            break;
    }
    if (file->fd < 0)
        file->hidden[0] = '\0';
    return file->fd;
}

/* A file that is complete when it appears under its name, among other entries. */
static int make_complete(struct policy *policy, int folder, const char *leaf,
                         const struct sqlpack_entry *entry, const struct content *content,
                         struct sqlpack_error *err)
{
    char name[NAME_MAX + 1];
    snprintf(name, sizeof(name), "%s", leaf);
    struct new_file file = {.fd = -1, .folder = folder, .leaf = name};
    if (open_nameless(&file) < 0)
        return make_failed(policy, folder, leaf, entry, err);
    const struct meta_plan plan = meta_plan(policy, entry);
    int made = fill_and_finish(policy, file.fd, entry, &plan, content, err);
    if (made == MADE && new_file_publish(&file, policy->options->replace, false) < 0)
        made = make_failed(policy, folder, leaf, entry, err);
    if (file.hidden[0])
        unlinkat(folder, file.hidden, 0);
    return close_file(file.fd, made, entry, err);
}

int make_file(struct policy *policy, int folder, const char *leaf,
              const struct sqlpack_entry *entry, const struct content *content,
              struct sqlpack_error *err)
{
    if (!policy->is_merge)
        return make_in_place(policy, folder, leaf, entry, content, err);
    int made = claim(policy, folder, leaf, entry);
    return made == MADE ? make_complete(policy, folder, leaf, entry, content, err) : made;
}

/* -- symlinks, special files, hard links ------------------------------------------------------ */

/* Where an entry is made: under its name, or under a hidden one, to replace what has the name. */
struct spot {
    int folder;
    const char *leaf;
    char hidden[FILE_HIDDEN_NAME_BYTES]; /* "" where it is made under its name */
};

static int spot_init(struct spot *spot, const struct policy *policy, int folder, const char *leaf)
{
    *spot = (struct spot){.folder = folder, .leaf = leaf};
    return policy->is_merge && policy->options->replace ? file_hidden_name(spot->hidden) : 0;
}

static const char *spot_name(const struct spot *spot)
{
    return spot->hidden[0] ? spot->hidden : spot->leaf;
}

/* Gives the entry its name. */
static int spot_publish(const struct spot *spot)
{
    if (!spot->hidden[0] || renameat(spot->folder, spot->hidden, spot->folder, spot->leaf) == 0)
        return 0;
    int os_errno = errno;
    unlinkat(spot->folder, spot->hidden, 0);
    errno = os_errno;
    return -1;
}

/* What is left to do once the entry was made with the result `code`. */
static int finish_spot(struct policy *policy, const struct spot *spot, int code,
                       const struct sqlpack_entry *entry, struct sqlpack_error *err)
{
    if (code < 0)
        return make_failed(policy, spot->folder, spot->leaf, entry, err);
    if (!entry->link) {
        const struct meta_plan plan = meta_plan(policy, entry);
        const struct subject subject = {.fd = -1, .folder = spot->folder, .leaf = spot_name(spot)};
        meta_apply(policy, &subject, entry, &plan);
    }
    return spot_publish(spot) < 0 ? make_failed(policy, spot->folder, spot->leaf, entry, err)
                                  : MADE;
}

int make_symlink(struct policy *policy, int folder, const char *leaf,
                 const struct sqlpack_entry *entry, struct sqlpack_error *err)
{
    struct spot spot;
    int made = claim(policy, folder, leaf, entry);
    if (made != MADE)
        return made;
    int code = spot_init(&spot, policy, folder, leaf);
    if (code == 0)
        code = symlinkat(entry->target, folder, spot_name(&spot));
    return finish_spot(policy, &spot, code, entry, err);
}

int make_special(struct policy *policy, int folder, const char *leaf,
                 const struct sqlpack_entry *entry, struct sqlpack_error *err)
{
    struct spot spot;
    int made = claim(policy, folder, leaf, entry);
    if (made != MADE)
        return made;
    const struct meta_plan plan = meta_plan(policy, entry);
    mode_t mode = (entry->mode & S_IFMT) | (plan.sets_mode ? 0600 : plan.mode);
    int code = spot_init(&spot, policy, folder, leaf);
    if (code == 0)
        code = mknodat(folder, spot_name(&spot), mode, entry->rdev);
    return finish_spot(policy, &spot, code, entry, err);
}

static bool is_one_file(int folder, const char *leaf, int other_folder, const char *other_leaf)
{
    struct stat stat, other;
    return fstatat(folder, leaf, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(other_folder, other_leaf, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
           stat.st_dev == other.st_dev && stat.st_ino == other.st_ino;
}

int make_link(struct policy *policy, const struct subject *first, int folder, const char *leaf,
              const struct sqlpack_entry *entry, struct sqlpack_error *err)
{
    struct spot spot;
    struct stat stat;
    if (fstatat(first->folder, first->leaf, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
        (policy->is_merge && !is_same(first->folder, first->leaf, &stat, entry)))
        return MADE_APART;
    if (policy->is_merge && is_one_file(folder, leaf, first->folder, first->leaf))
        return MADE_KEPT;
    int made = claim(policy, folder, leaf, entry);
    if (made != MADE)
        return made;
    int code = spot_init(&spot, policy, folder, leaf);
    if (code == 0)
        code = linkat(first->folder, first->leaf, folder, spot_name(&spot), 0);
    if (code < 0 && (errno == EMLINK || errno == EPERM || errno == EOPNOTSUPP))
        return MADE_APART;
    return finish_spot(policy, &spot, code, entry, err);
}

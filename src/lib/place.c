/* SPDX-License-Identifier: MIT */
/* Walks the folders beneath a target, and never outside it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "lib/restore.h"

#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* No step takes more of a name at once; the kernel's limit is PATH_MAX. */
#define STEP_BYTES 2048

void place_init(struct place *place, int root, unsigned limit)
{
    *place = (struct place){.root = root};
    place->limit = limit && limit < PLACE_LEVELS ? limit : PLACE_LEVELS;
}

static void pop(struct place *place)
{
    close(place->levels[--place->depth].fd);
}

void place_release(struct place *place)
{
    while (place->depth > 0)
        pop(place);
    buf_release(&place->path);
}

/* Opens the folder `path`, part by part, where the kernel cannot check a whole path. */
static int open_by_parts(int folder, const char *path)
{
    char part[NAME_MAX + 1];
    int at = folder;
    for (;;) {
        size_t size = strcspn(path, "/");
        if (size > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, path, size);
        part[size] = '\0';
        int fd = openat(at, part, FOLDER_FLAGS);
        int os_errno = errno;
        if (at != folder)
            close(at);
        errno = os_errno;
        if (fd < 0 || path[size] == '\0')
            return fd;
        at = fd;
        path += size + 1;
    }
}

/* Opens the folder `path` beneath another without following any symlink. */
static int open_beneath(struct place *place, int folder, const char *path)
{
    const struct open_how how = {
        .flags = FOLDER_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    if (!place->no_openat2) {
        int fd;
        do
            fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
        while (fd < 0 && errno == EAGAIN); /* something was renamed at the same time */
        /* EPERM: filters of old container tools answer so to calls that they do not know */
        if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
            return fd;
        place->no_openat2 = true;
    }
    return open_by_parts(folder, path);
}

/* Takes away what a folder that was just made has from the one above it. */
static int strip(int folder, const char *leaf)
{
    auto_close int fd = openat(folder, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return place_strip(fd);
}

int place_strip(int fd)
{
    static const char *const names[] = {"system.posix_acl_default", "system.posix_acl_access"};
    for (size_t i = 0; i < 2; i++)
        if (fremovexattr(fd, names[i]) < 0 && errno != ENODATA && errno != EOPNOTSUPP)
            return -1;
    return fchmod(fd, 0700);
}

static int make_folder(struct place *place, int folder, const char *leaf)
{
    if (mkdirat(folder, leaf, 0700) < 0)
        return errno == EEXIST ? 0 : -1; /* another thread made it, or it will not open */
    place->made_count++;
    return place->strips ? strip(folder, leaf) : 0;
}

/* Opens one folder in another and makes it where it is missing. */
static int open_or_make(struct place *place, int folder, const char *leaf)
{
    int fd = open_beneath(place, folder, leaf);
    if (fd >= 0)
        return fd;
    if (errno == ENOTDIR || errno == ELOOP) {
        if (!place->replaces || unlinkat(folder, leaf, 0) < 0) {
            errno = ENOTDIR;
            return -1;
        }
    } else if (errno != ENOENT) {
        return -1;
    }
    if (make_folder(place, folder, leaf) < 0)
        return -1;
    return open_beneath(place, folder, leaf);
}

/* The length of the part of the present place that lies on the way to `name`. */
static void go_up(struct place *place, const char *name, size_t size)
{
    while (place->depth > 0) {
        size_t held = place->levels[place->depth - 1].path_bytes;
        if (held <= size && (held == size || name[held] == '/') &&
            memcmp(place->path.data, name, held) == 0)
            break;
        pop(place);
    }
    place->path.size = place->depth > 0 ? place->levels[place->depth - 1].path_bytes : 0;
}

/*
 * How much of the rest of a name the next step takes: one part, so that each
 * folder is held; but where the name goes deeper than can be held, many at once.
 */
static size_t step_size(const struct place *place, const char *rest, size_t size)
{
    size_t first = 0;
    size_t end = 0; /* of the last part but `limit` that one step can reach */
    unsigned parts = 1;
    for (size_t i = 0; i < size; i++)
        parts += rest[i] == '/';
    for (size_t i = 0; i <= size; i++) {
        if (i < size && rest[i] != '/')
            continue;
        if (!first)
            first = i;
        if (parts-- <= place->limit || i > STEP_BYTES)
            break;
        end = i;
    }
    return end > first ? end : first;
}

static int push(struct place *place, int fd, const char *step, size_t size)
{
    if (place->path.size > 0 && buf_append_char(&place->path, '/') < 0) {
        close(fd);
        return -1;
    }
    if (buf_append(&place->path, step, size) < 0) {
        close(fd);
        return -1;
    }
    if (place->depth == place->limit) {
        close(place->levels[0].fd);
        memmove(place->levels, place->levels + 1, (place->depth - 1) * sizeof(place->levels[0]));
        place->depth--;
    }
    place->levels[place->depth++] = (struct place_level){.fd = fd, .path_bytes = place->path.size};
    return 0;
}

/* Goes down by one step: many parts only where all of them exist. */
static int go_down(struct place *place, const char *rest, size_t size, bool create)
{
    char step[STEP_BYTES + NAME_MAX + 1];
    size_t taken = step_size(place, rest, size);
    int folder = place->depth > 0 ? place->levels[place->depth - 1].fd : place->root;
    int fd = -1;
    errno = ENAMETOOLONG;
    if (taken < sizeof(step)) {
        memcpy(step, rest, taken);
        step[taken] = '\0';
        fd = create && !strchr(step, '/') ? open_or_make(place, folder, step)
                                          : open_beneath(place, folder, step);
    }
    if (fd < 0 && create && errno == ENOENT && taken < sizeof(step)) {
        taken = strcspn(step, "/");
        step[taken] = '\0';
        fd = open_or_make(place, folder, step);
    }
    if (fd < 0 || push(place, fd, rest, taken) < 0)
        return -1;
    return 0;
}

int place_enter(struct place *place, const char *name, size_t size, bool create)
{
    go_up(place, name, size);
    while (place->path.size < size) {
        size_t start = place->path.size > 0 ? place->path.size + 1 : 0;
        if (go_down(place, name + start, size - start, create) < 0)
            return -1;
    }
    return place->depth > 0 ? place->levels[place->depth - 1].fd : place->root;
}

int place_of(struct place *place, const char *name, bool create, const char **ret_leaf)
{
    const char *leaf = path_leaf(name);
    int fd = place_enter(place, name, leaf == name ? 0 : (size_t)(leaf - name) - 1, create);
    if (fd >= 0)
        *ret_leaf = leaf;
    return fd;
}

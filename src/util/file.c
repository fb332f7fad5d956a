/* SPDX-License-Identifier: MIT */
/* Whole reads and writes on descriptors, and output that appears whole or not at all. */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include "util/auto.h"
#include "util/path.h"

int file_open_quietly(int folder, const char *leaf, int flags, struct stat *ret_stat)
{
    uid_t user = (uid_t)getauxval(AT_EUID); /* without a system call for each file */
    int fd = openat(folder, leaf, user == 0 ? flags | O_NOATIME : flags);
    if (fd < 0 && errno == EPERM && user == 0) /* root of a namespace, where the owner is not */
        fd = openat(folder, leaf, flags);
    if (fd < 0)
        return -1;
    if (fstat(fd, ret_stat) < 0) {
        int os_errno = errno;
        close(fd);
        errno = os_errno;
        return -1;
    }
    /* not when it is opened: what is refused then would have to be opened again */
    if (user != 0 && ret_stat->st_uid == user)
        fcntl(fd, F_SETFL, flags | O_NOATIME); /* where that fails, the time changes */
    return fd;
}

ssize_t file_read(int fd, void *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, (char *)data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t file_pread(int fd, void *data, size_t size, off_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, (char *)data + done, size - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* What a write's result means: the bytes to go on by, or -1 with errno. */
static ssize_t written(ssize_t n)
{
    if (n > 0)
        return n;
    if (n < 0 && errno == EINTR)
        return 0;
    if (n == 0)
        errno = ENOSPC;
    return -1;
}

int file_write(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = written(write(fd, (const char *)data + done, size - done));
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

int file_pwrite(int fd, const void *data, size_t size, off_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t n =
            written(pwrite(fd, (const char *)data + done, size - done, offset + (off_t)done));
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

int file_hidden_name(char ret_name[FILE_HIDDEN_NAME_BYTES])
{
    uint32_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -1;
    snprintf(ret_name, FILE_HIDDEN_NAME_BYTES, ".sqlpack-%08x", number);
    return 0;
}

static int open_hidden(struct new_file *file)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        if (file_hidden_name(file->hidden) < 0)
            return -1;
        file->fd = openat(file->folder, file->hidden,
                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file->fd >= 0 || errno != EEXIST)
            break;
    }
    if (file->fd < 0)
        file->hidden[0] = '\0';
    return file->fd < 0 ? -1 : 0;
}

int new_file_open(struct new_file *file, const char *path)
{
    *file = (struct new_file)NEW_FILE_NONE;
    const char *leaf = path_leaf(path);
    auto_free char *folder = leaf == path ? strdup(".") : strndup(path, (size_t)(leaf - path));
    file->leaf = strdup(leaf);
    if (!folder || !file->leaf)
        return -1;
    file->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->folder < 0)
        return -1;
    file->fd = openat(file->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (file->fd >= 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
        return -1;
    return open_hidden(file);
}

/* Gives a nameless file a name in its folder; EEXIST where that is taken. */
static int link_nameless(const struct new_file *file, const char *name)
{
    char self[40];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, self, file->folder, name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != ENOENT)
        return -1;
    /* No /proc: the direct way wants CAP_DAC_READ_SEARCH before Linux 6.10. */
    return linkat(file->fd, "", file->folder, name, AT_EMPTY_PATH);
}

static int hide(struct new_file *file)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        if (file_hidden_name(file->hidden) < 0)
            return -1;
        if (link_nameless(file, file->hidden) == 0)
            return 0;
        file->hidden[0] = '\0';
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* Moves the hidden file to its name, where nothing has that name. */
static int rename_unless_exists(const struct new_file *file)
{
    if (renameat2(file->folder, file->hidden, file->folder, file->leaf, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(file->folder, file->hidden, file->folder, file->leaf, 0) < 0)
        return -1;
    return unlinkat(file->folder, file->hidden, 0);
}

int new_file_publish(struct new_file *file, bool replace, bool sync)
{
    if (sync && fsync(file->fd) < 0)
        return -1;
    if (!replace && !file->hidden[0]) {
        if (link_nameless(file, file->leaf) < 0)
            return -1;
    } else {
        if (!file->hidden[0] && hide(file) < 0)
            return -1;
        if (replace ? renameat(file->folder, file->hidden, file->folder, file->leaf) < 0
                    : rename_unless_exists(file) < 0)
            return -1;
        file->hidden[0] = '\0';
    }
    return sync ? fsync(file->folder) : 0;
}

void new_file_release(struct new_file *file)
{
    if (file->hidden[0] && file->folder >= 0)
        unlinkat(file->folder, file->hidden, 0);
    if (file->fd >= 0)
        close(file->fd);
    if (file->folder >= 0)
        close(file->folder);
    free(file->leaf);
    *file = (struct new_file)NEW_FILE_NONE;
}

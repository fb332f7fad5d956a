/* SPDX-License-Identifier: MIT */
/* Extended attributes, ACLs among them, as one blob. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "lib/internal.h"

/* Attributes of an open descriptor, or of what a path names without following it. */
struct subject {
    int fd;
    const char *path; /* NULL: the descriptor */
};

static ssize_t list_names(const struct subject *subject, char *list, size_t size)
{
    return subject->path ? llistxattr(subject->path, list, size)
                         : flistxattr(subject->fd, list, size);
}

static ssize_t get_value(const struct subject *subject, const char *name, void *value, size_t size)
{
    return subject->path ? lgetxattr(subject->path, name, value, size)
                         : fgetxattr(subject->fd, name, value, size);
}

/* Reads the list of names, however it grows between two calls. */
static int read_names(const struct subject *subject, struct buf *list)
{
    char room[256];
    ssize_t size = list_names(subject, room, sizeof(room));
    if (size >= 0)
        return buf_append(list, room, (size_t)size);
    while (errno == ERANGE) {
        size = list_names(subject, NULL, 0);
        if (size < 0 || buf_reserve(list, (size_t)size + 256) < 0)
            return -1;
        size = list_names(subject, list->data, list->capacity);
        if (size >= 0) {
            list->size = (size_t)size;
            return 0;
        }
    }
    return errno == ENOTSUP || errno == ENOSYS ? 0 : -1;
}

/* Appends name, NUL, size and value. An attribute that is gone by now is left out. */
static int append_attr(const struct subject *subject, const char *name, struct buf *blob)
{
    size_t start = blob->size;
    size_t name_bytes = strlen(name) + 1;
    for (;;) {
        ssize_t size = get_value(subject, name, NULL, 0);
        if (size < 0)
            return errno == ENODATA ? 0 : -1;
        /* one byte more: a size of 0 would only ask again how much there is */
        if (buf_reserve(blob, name_bytes + 4 + (size_t)size + 1) < 0)
            return -1;
        size = get_value(subject, name, blob->data + start + name_bytes + 4, (size_t)size + 1);
        if (size < 0 && errno == ERANGE)
            continue;
        if (size < 0)
            return errno == ENODATA ? 0 : -1;
        memcpy(blob->data + start, name, name_bytes);
        for (int i = 0; i < 4; i++)
            blob->data[start + name_bytes + (size_t)i] = (char)((size_t)size >> (8 * i));
        blob->size = start + name_bytes + 4 + (size_t)size;
        return 0;
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_attrs(const struct subject *subject, struct buf *blob)
{
    auto_release(buf_release) struct buf list = {0};
    blob->size = 0;
    if (read_names(subject, &list) < 0)
        return -1;
    if (list.size == 0)
        return 0;
    size_t count = 0;
    for (size_t at = 0; at < list.size; at += strlen(list.data + at) + 1)
        count++;
    auto_free const char **names = calloc(count, sizeof(*names));
    if (!names)
        return -1;
    count = 0;
    for (size_t at = 0; at < list.size; at += strlen(list.data + at) + 1)
        names[count++] = list.data + at;
    qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; i++)
        if (append_attr(subject, names[i], blob) < 0)
            return -1;
    return 0;
}

int attr_read(int fd, struct buf *ret_blob)
{
    return read_attrs(&(struct subject){.fd = fd}, ret_blob);
}

/* The system call of Linux 6.13, which this C library may not know yet. */
#ifndef SYS_listxattrat
#define SYS_listxattrat 465
#endif

/* Whether the kernel says at once that a name has no attributes, as nearly all have none. */
static bool is_bare(int folder, const char *leaf)
{
    return syscall(SYS_listxattrat, folder, leaf, AT_SYMLINK_NOFOLLOW, NULL, (size_t)0) == 0;
}

int attr_read_link(int folder, const char *leaf, struct buf *ret_blob)
{
    ret_blob->size = 0;
    if (is_bare(folder, leaf))
        return 0;
    /* There is no llistxattrat; the kernel's link to the folder stands in for it. */
    char path[sizeof("/proc/self/fd/") + 12 + NAME_MAX];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder, leaf);
    return read_attrs(&(struct subject){.path = path}, ret_blob);
}

int attr_next(const void *blob, size_t blob_bytes, size_t *at, struct attr *ret_attr)
{
    const char *data = blob;
    if (*at == blob_bytes)
        return 0;
    const char *nul = memchr(data + *at, '\0', blob_bytes - *at);
    if (!nul || nul == data + *at)
        return -1;
    size_t value_at = (size_t)(nul - data) + 5;
    if (value_at > blob_bytes)
        return -1;
    uint32_t size = 0;
    for (int i = 0; i < 4; i++)
        size |= (uint32_t)(unsigned char)nul[1 + i] << (8 * i);
    if (size > blob_bytes - value_at)
        return -1;
    *ret_attr = (struct attr){.name = data + *at, .value = data + value_at, .size = size};
    *at = value_at + size;
    return 1;
}

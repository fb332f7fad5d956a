/* SPDX-License-Identifier: MIT */
/* Bytes that wait outside the memory, in a nameless file beside the pack. */
#include <errno.h>
#include <sys/mman.h>

#include "lib/internal.h"

#define TAIL_BYTES ((size_t)256 << 10)

static int open_file(struct spool *spool)
{
    if (spool->file.fd >= 0)
        return 0;
    if (!spool->in_memory)
        return new_file_open(&spool->file, spool->path);
    spool->file.fd = memfd_create("sqlpack", MFD_CLOEXEC);
    return spool->file.fd < 0 ? -1 : 0;
}

int spool_append(struct spool *spool, const void *data, size_t size)
{
    if (spool->is_dry) {
        spool->size += size;
        return 0;
    }
    if (spool->tail.size + size > TAIL_BYTES && spool_flush(spool) < 0)
        return -1;
    if (size <= TAIL_BYTES) {
        if (buf_append(&spool->tail, data, size) < 0)
            return -1;
    } else if (open_file(spool) < 0 ||
               file_pwrite(spool->file.fd, data, size, (off_t)spool->size) < 0) {
        return -1;
    }
    spool->size += size;
    return 0;
}

int spool_flush(struct spool *spool)
{
    size_t size = spool->tail.size;
    if (size == 0)
        return 0;
    if (open_file(spool) < 0)
        return -1;
    spool->tail.size = 0;
    return file_pwrite(spool->file.fd, spool->tail.data, size, (off_t)(spool->size - size));
}

int spool_read(const struct spool *spool, uint64_t at, void *data, size_t size)
{
    ssize_t n = file_pread(spool->file.fd, data, size, (off_t)at);
    if (n >= 0 && (size_t)n < size)
        errno = EIO;
    return n >= 0 && (size_t)n == size ? 0 : -1;
}

void spool_rewind(struct spool *spool, uint64_t size)
{
    spool->size = size;
    spool->tail.size = 0;
}

void spool_release(struct spool *spool)
{
    new_file_release(&spool->file);
    buf_release(&spool->tail);
}

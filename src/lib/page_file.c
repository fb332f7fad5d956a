/* SPDX-License-Identifier: MIT */
/* The pages of a new file: their numbers, and chains of overflow pages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

uint32_t page_file_take(struct page_file *file)
{
    return page_file_take_many(file, 1);
}

uint32_t page_file_take_many(struct page_file *file, uint32_t count)
{
    uint32_t lock = page_lock_number(file->page_bytes);
    if (file->next == lock)
        file->next++;
    uint32_t first = file->next;
    file->next += count;
    if (first < lock && file->next > lock)
        file->next++;
    return first;
}

int page_file_write(const struct page_file *file, uint32_t number, const void *data, size_t size,
                    struct sqlpack_error *err)
{
    if (file->fd < 0)
        return 0;
    off_t offset = (off_t)(number - 1) * file->page_bytes;
    if (file_pwrite(file->fd, data, size, offset) < 0)
        return fail_errno(err, "cannot write '%s'", show(file->path).text);
    return 0;
}

uint64_t payload_bytes(const struct payload *payload)
{
    return payload->head_bytes + payload->tail_bytes;
}

int payload_copy(const struct payload *payload, uint64_t from, void *data, size_t size)
{
    if (from < payload->head_bytes) {
        size_t part = payload->head_bytes - (size_t)from;
        if (part > size)
            part = size;
        memcpy(data, payload->head + from, part);
        data = (char *)data + part;
        from += part;
        size -= part;
    }
    if (size == 0)
        return 0;
    uint64_t at = from - payload->head_bytes;
    if (payload->tail) {
        memcpy(data, payload->tail + at, size);
        return 0;
    }
    ssize_t n = file_pread(payload->spool, data, size, (off_t)(payload->spool_at + at));
    if (n >= 0 && (size_t)n < size)
        errno = EIO;
    return n >= 0 && (size_t)n == size ? 0 : -1;
}

uint32_t page_file_write_chain(struct page_file *file, const struct payload *payload, uint64_t from,
                               struct sqlpack_error *err)
{
    uint64_t total = payload_bytes(payload);
    uint32_t count = page_overflow_count(file->page_bytes, total, (uint32_t)from);
    uint32_t first = page_file_take_many(file, count), number = first;
    if (file->fd < 0)
        return first;
    auto_free unsigned char *image = malloc(file->page_bytes);
    if (!image) {
        fail_no_memory(err);
        return 0;
    }
    while (from < total) {
        size_t part = file->page_bytes - 4;
        if (part > total - from)
            part = (size_t)(total - from);
        bool is_last = from + part == total;
        uint32_t next = page_number_behind(file->page_bytes, number);
        unsigned char *behind = page_put_u32(image, is_last ? 0 : next);
        if (payload_copy(payload, from, behind, part) < 0) {
            fail_errno(err, "cannot read back what is to be packed");
            return 0;
        }
        memset(behind + part, 0, file->page_bytes - 4 - part);
        if (page_file_write(file, number, image, file->page_bytes, err) < 0)
            return 0;
        number = next;
        from += part;
    }
    return first;
}

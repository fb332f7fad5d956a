/* SPDX-License-Identifier: MIT */
/* A growing byte buffer. */
#include "util/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int buf_reserve(struct buf *buf, size_t more)
{
    if (more <= buf->capacity - buf->size)
        return 0;
    if (more > SIZE_MAX / 2 - buf->size) {
        errno = ENOMEM;
        return -1;
    }
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity - buf->size < more)
        capacity *= 2;
    char *data = realloc(buf->data, capacity);
    if (!data)
        return -1;
    buf->data = data;
    buf->capacity = capacity;
    return 0;
}

int buf_append(struct buf *buf, const void *data, size_t size)
{
    if (size == 0)
        return 0;
    if (buf_reserve(buf, size) < 0)
        return -1;
    memcpy(buf->data + buf->size, data, size);
    buf->size += size;
    return 0;
}

int buf_append_text(struct buf *buf, const char *text)
{
    return buf_append(buf, text, strlen(text));
}

int buf_append_char(struct buf *buf, char c)
{
    return buf_append(buf, &c, 1);
}

int buf_terminate(struct buf *buf)
{
    if (buf_reserve(buf, 1) < 0)
        return -1;
    buf->data[buf->size] = '\0';
    return 0;
}

void buf_release(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}

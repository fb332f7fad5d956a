/* SPDX-License-Identifier: MIT */
/* A growing byte buffer; all zero is the empty one. */
#ifndef UTIL_BUF_H
#define UTIL_BUF_H

#include <stddef.h>

struct buf {
    char *data;
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes allocated */
};

/* Makes room for `more` further bytes. Returns 0, or -1 with errno ENOMEM. */
int buf_reserve(struct buf *buf, size_t more);

/* Appends bytes, a string without its NUL, or one character. Return 0, or -1 with errno ENOMEM. */
int buf_append(struct buf *buf, const void *data, size_t size);
int buf_append_text(struct buf *buf, const char *text);
int buf_append_char(struct buf *buf, char c);

/* Puts a NUL behind the bytes, not counted in size; *data is then a string. Returns 0 or -1. */
int buf_terminate(struct buf *buf);

/* Frees the bytes; the buffer is empty again. */
void buf_release(struct buf *buf);

#endif

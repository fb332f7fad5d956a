/* SPDX-License-Identifier: MIT */
/* Relative paths: which are safe, how two compare, how one is shown to a person. */
#ifndef UTIL_PATH_H
#define UTIL_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

/*
 * Whether a name of `size` bytes may stand in a pack: not empty, no NUL, no
 * leading or trailing '/', no part that is empty, "." or "..", none above 255
 * bytes. Such a name never leads out of the folder it is relative to.
 */
bool path_is_safe(const char *name, size_t size);

/* Whether `name` is `folder` or lies below it; "" is the root, which holds all. */
bool path_is_below(const char *name, const char *folder);

/* The part of a path behind its last '/'. */
const char *path_leaf(const char *path);

/*
 * The length of the UTF-8 character at `at`, in a string that ends with NUL; 0
 * where there is none (RFC 3629: no surrogates, nothing above U+10FFFF).
 */
size_t path_utf8_length(const unsigned char *at);

/*
 * Appends a name so that a terminal shows it and nothing else happens: control
 * bytes, backslash and bytes that are no UTF-8 become \n, \t, \\ or \ooo.
 * Returns 0, or -1 with errno ENOMEM.
 */
int path_escape(struct buf *buf, const char *name);

/* Puts a name so into `size` bytes of text, 16 or more; a long one loses its middle. */
void path_show(const char *name, char *ret_text, size_t size);

#endif

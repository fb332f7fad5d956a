/* SPDX-License-Identifier: MIT */
/* Locals that release themselves at the end of their scope: auto_free, auto_close. */
#ifndef UTIL_AUTO_H
#define UTIL_AUTO_H

#include <stdlib.h>
#include <unistd.h>

static inline void auto_free_release(void *pointer)
{
    free(*(void **)pointer);
}

static inline void auto_close_release(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Frees the pointer. */
#define auto_free __attribute__((cleanup(auto_free_release)))

/* Closes the descriptor, where it is not negative; only for what was read: an error is lost. */
#define auto_close __attribute__((cleanup(auto_close_release)))

/* Calls release(&variable); for structs whose release function takes a pointer to them. */
#define auto_release(release) __attribute__((cleanup(release)))

#endif

/* SPDX-License-Identifier: MIT */
/* Whole reads and writes on descriptors, and output that appears whole or not at all. */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opens what is to be read, and looks at it. Its access time stays as it is where the kernel grants
 * that: to root, and to the owner. Returns the descriptor, or -1 with errno.
 */
int file_open_quietly(int folder, const char *leaf, int flags, struct stat *ret_stat);

/* Reads until `size` bytes or the end. Returns the bytes read, or -1 with errno. */
ssize_t file_read(int fd, void *data, size_t size);

/* The same at an offset. */
ssize_t file_pread(int fd, void *data, size_t size, off_t offset);

/* Writes all of `size` bytes. Returns 0, or -1 with errno (a write of nothing is ENOSPC). */
int file_write(int fd, const void *data, size_t size);

/* The same at an offset. */
int file_pwrite(int fd, const void *data, size_t size, off_t offset);

/* A random name of the form .sqlpack-XXXXXXXX, for output in the making. Returns 0 or -1, errno. */
#define FILE_HIDDEN_NAME_BYTES 24
int file_hidden_name(char ret_name[FILE_HIDDEN_NAME_BYTES]);

/*
 * A file that is nameless until it is published, so that a crash leaves nothing
 * behind; where the file system knows no nameless files, it has a name of the
 * form .sqlpack-XXXXXXXX in the same folder until then.
 */
struct new_file {
    int fd;                              /* open for reading and writing; owned */
    int folder;                          /* the folder it will appear in; owned */
    char *leaf;                          /* the name it will get there; owned */
    char hidden[FILE_HIDDEN_NAME_BYTES]; /* its temporary name; "" while it is nameless */
};
#define NEW_FILE_NONE                                                                              \
    {                                                                                              \
        .fd = -1, .folder = -1                                                                     \
    }

/* Creates one with mode 0666 less the umask. Returns 0, or -1 with errno. */
int new_file_open(struct new_file *file, const char *path);

/*
 * Gives it its name: flushed to disk first and the folder after it, where `sync`
 * is set. An existing file of that name is replaced where `replace` is set, else
 * the call fails with EEXIST. Returns 0, or -1 with errno.
 */
int new_file_publish(struct new_file *file, bool replace, bool sync);

/* Closes it; one that was not published is gone. Safe to call at any time, and twice. */
void new_file_release(struct new_file *file);

#endif

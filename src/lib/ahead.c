/* SPDX-License-Identifier: MIT */
/* Reads the pages of a pack ahead, for those who go through it from one end to the other. */
#include <string.h>

#include "lib/internal.h"

/* A system call for each page costs more than the page; a window of this size stays in the
 * processor's own cache until SQLite has taken its pages out of it. */
#define WINDOW_BYTES (64 << 10)

/* Stands in for the methods of SQLite's own file, so that a file leads back to its window. */
struct window {
    sqlite3_io_methods methods; /* first: a file's pMethods points here */
    const sqlite3_io_methods *below;
    sqlite3_int64 from, to; /* what it holds */
    sqlite3_int64 last;     /* where the last read ended */
    unsigned char bytes[WINDOW_BYTES];
};

static struct window *window_of(const sqlite3_file *file)
{
    return (struct window *)(uintptr_t)file->pMethods;
}

/* Fills the window with what lies around an offset, as far as the file goes. It begins at a
 * multiple of its size: SQLite's own check goes through the leaves backwards. */
static int fill(struct window *window, sqlite3_file *file, sqlite3_int64 around)
{
    sqlite3_int64 from = around - around % WINDOW_BYTES, end;
    window->from = window->to = 0;
    int code = window->below->xFileSize(file, &end);
    if (code != SQLITE_OK || from >= end)
        return code;
    int size = end - from < WINDOW_BYTES ? (int)(end - from) : WINDOW_BYTES;
    code = window->below->xRead(file, window->bytes, size, from);
    if (code != SQLITE_OK)
        return code;
    window->from = from;
    window->to = from + size;
    return SQLITE_OK;
}

/* Only what continues a read before it is worth more than itself. */
static int ahead_read(sqlite3_file *file, void *data, int size, sqlite3_int64 from)
{
    struct window *window = window_of(file);
    bool continues = from == window->last || from == window->to;
    window->last = from + size;
    if (continues && (from < window->from || from + size > window->to))
        fill(window, file, from); /* where it fails, the read itself will tell */
    if (from < window->from || from + size > window->to)
        return window->below->xRead(file, data, size, from);
    memcpy(data, window->bytes + (from - window->from), (size_t)size);
    return SQLITE_OK;
}

/* Without the lock the file may change. */
static int ahead_unlock(sqlite3_file *file, int level)
{
    struct window *window = window_of(file);
    if (level == SQLITE_LOCK_NONE)
        window->from = window->to = 0;
    return window->below->xUnlock(file, level);
}

static int ahead_close(sqlite3_file *file)
{
    struct window *window = window_of(file);
    file->pMethods = window->below;
    free(window);
    return file->pMethods->xClose(file);
}

int ahead_begin(struct sqlpack *pack, struct sqlpack_error *err)
{
    sqlite3_file *file = NULL;
    sqlite3_file_control(pack->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (!file || !file->pMethods)
        return fail_sqlite(err, pack->db, "cannot read '%s'", show(pack->path).text);
    struct window *window = malloc(sizeof(*window));
    if (!window)
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    window->methods = *file->pMethods;
    window->below = file->pMethods;
    window->from = window->to = window->last = 0;
    window->methods.xRead = ahead_read;
    window->methods.xUnlock = ahead_unlock;
    window->methods.xClose = ahead_close;
    file->pMethods = &window->methods;
    return 0;
}

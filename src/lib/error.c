/* SPDX-License-Identifier: MIT */
/* Fills a struct sqlpack_error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/internal.h"

int fail(struct sqlpack_error *err, enum sqlpack_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->status = status;
    err->os_errno = 0;
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    return -1;
}

int fail_no_memory(struct sqlpack_error *err)
{
    return fail(err, SQLPACK_NO_MEMORY, "out of memory");
}

static enum sqlpack_status status_of_errno(int os_errno)
{
    switch (os_errno) {
    case ENOENT:
        return SQLPACK_NOT_FOUND;
    case EEXIST:
        return SQLPACK_EXISTS;
    case ENOMEM:
        return SQLPACK_NO_MEMORY;
    default:
        return SQLPACK_IO;
    }
}

int fail_errno(struct sqlpack_error *err, const char *format, ...)
{
    int os_errno = errno;
    va_list args;
    va_start(args, format);
    err->status = status_of_errno(os_errno);
    err->os_errno = os_errno;
    int size = vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    if (size >= 0 && (size_t)size < sizeof(err->message))
        snprintf(err->message + size, sizeof(err->message) - (size_t)size, ": %s",
                 strerror(os_errno));
    return -1;
}

static enum sqlpack_status status_of_sqlite(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return SQLPACK_NO_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return SQLPACK_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
        return SQLPACK_CORRUPT;
    case SQLITE_NOTADB:
        return SQLPACK_NOT_A_PACK;
    default:
        return SQLPACK_IO;
    }
}

int fail_sqlite(struct sqlpack_error *err, sqlite3 *db, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->status = status_of_sqlite(sqlite3_extended_errcode(db));
    err->os_errno = sqlite3_system_errno(db);
    int size = vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    if (size >= 0 && (size_t)size < sizeof(err->message))
        snprintf(err->message + size, sizeof(err->message) - (size_t)size, ": %s%s%s",
                 sqlite3_errmsg(db), err->os_errno ? ": " : "",
                 err->os_errno ? strerror(err->os_errno) : "");
    return -1;
}

struct shown show(const char *name)
{
    struct shown shown = {""};
    path_show(name, shown.text, sizeof(shown.text));
    return shown;
}

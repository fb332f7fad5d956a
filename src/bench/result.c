/* SPDX-License-Identifier: MIT */
/* Errors, notes and the end of a result. */
#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/path.h"

int bench_fail(struct sqlpack_error *err, enum sqlpack_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->status = status;
    err->os_errno = 0;
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    return -1;
}

int bench_no_memory(struct sqlpack_error *err)
{
    return bench_fail(err, SQLPACK_NO_MEMORY, "out of memory");
}

static enum sqlpack_status status_of_errno(int os_errno)
{
    if (os_errno == ENOENT || os_errno == ENOTDIR)
        return SQLPACK_NOT_FOUND;
    return os_errno == ENOMEM ? SQLPACK_NO_MEMORY : SQLPACK_IO;
}

int bench_fail_errno(struct sqlpack_error *err, const char *format, ...)
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
    case SQLITE_NOTADB:
        return SQLPACK_CORRUPT;
    default:
        return SQLPACK_IO;
    }
}

int bench_fail_sqlite(struct sqlpack_error *err, sqlite3 *db, int code, const char *what)
{
    int os_errno = db ? sqlite3_system_errno(db) : 0;
    bench_fail(err, status_of_sqlite(code), "%s: %s", what,
               db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    if (err->status == SQLPACK_IO)
        err->os_errno = (code & 0xff) == SQLITE_FULL ? ENOSPC : os_errno;
    return -1;
}

struct bench_shown bench_show(const char *path)
{
    struct bench_shown shown = {""};
    path_show(path, shown.text, sizeof(shown.text));
    return shown;
}

char *bench_join(const char *folder, const char *leaf)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, leaf) < 0 ? NULL : path;
}

int bench_tick(const struct bench_pace *pace, struct sqlpack_error *err)
{
    if (!pace->hooks->progress)
        return 0;
    uint64_t spent_ns = bench_now() - pace->started_ns;
    if (spent_ns > pace->budget_ns)
        spent_ns = pace->budget_ns;
    const struct sqlpack_progress progress = {.entry_count = spent_ns / 1000000,
                                              .entry_total = pace->budget_ns / 1000000};
    if (pace->hooks->progress(pace->hooks->user, &progress))
        return bench_fail(err, SQLPACK_CANCELLED, "cancelled");
    return 0;
}

int bench_note(struct bench_result *result, struct sqlpack_error *err, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    if (size < 0)
        return bench_no_memory(err);
    char **notes = reallocarray(result->notes, result->note_count + 1, sizeof(*notes));
    if (!notes) {
        free(text);
        return bench_no_memory(err);
    }
    result->notes = notes;
    result->notes[result->note_count++] = text;
    return 0;
}

static void release_case(struct bench_case *question)
{
    for (size_t i = 0; i < question->series_count; i++) {
        free(question->series[i].runs);
        free(question->series[i].hist);
    }
    free(question->series);
    free(question->effects);
}

void bench_result_release(struct bench_result *result)
{
    for (size_t i = 0; i < result->case_count; i++)
        release_case(&result->cases[i]);
    free(result->cases);
    for (size_t i = 0; i < result->note_count; i++)
        free(result->notes[i]);
    free(result->notes);
    *result = (struct bench_result){0};
}

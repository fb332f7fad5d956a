/* SPDX-License-Identifier: MIT */
/* What the metadata queries ask for: one file in a hundred, by size, by time, by name. */
#include <ctype.h>
#include <sqlite3.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/path.h"

#define FILES "FROM sqlar WHERE (mode & 61440) = 32768" /* S_IFMT, S_IFREG */
#define PART  "LIMIT 1 OFFSET (SELECT CAST(count(*) * ?1 AS INT) " FILES ")"

/* The row at a share of the way through; `take` gets it. */
static int find_row(sqlite3 *db, const char *sql, double share, struct bench_filter *filter,
                    void (*take)(sqlite3_stmt *row, struct bench_filter *filter))
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &row, NULL);
    if (code == SQLITE_OK)
        sqlite3_bind_double(row, 1, share);
    if (code == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        take(row, filter);
    return sqlite3_finalize(row);
}

static void take_size(sqlite3_stmt *row, struct bench_filter *filter)
{
    filter->size_above = sqlite3_column_int64(row, 0);
}

static void take_time(sqlite3_stmt *row, struct bench_filter *filter)
{
    filter->mtime_above = sqlite3_column_int64(row, 0);
}

/* The last two letters or digits before the suffix, and what follows: "*42.jpg". */
static void take_name(sqlite3_stmt *row, struct bench_filter *filter)
{
    const char *name = (const char *)sqlite3_column_text(row, 0);
    const char *leaf = path_leaf(name ? name : "");
    const char *dot = strrchr(leaf, '.');
    const char *at = dot && dot - leaf >= 2 ? dot - 2 : leaf + strlen(leaf);
    while (at > leaf && !*at && at > leaf + strlen(leaf) - 2)
        at--;
    bool is_plain = *at != '\0' && strlen(at) < sizeof(filter->glob) - 2;
    for (const char *c = at; *c && is_plain; c++)
        is_plain = isalnum((unsigned char)*c) || *c == '.' || *c == '_';
    snprintf(filter->glob, sizeof(filter->glob), "*%s", is_plain ? at : "a*");
}

int filter_choose(const char *pack, struct bench_filter *ret_filter, struct sqlpack_error *err)
{
    sqlite3 *db = NULL;
    struct bench_filter filter = {.glob = "*a*"};
    int code = sqlite3_open_v2(pack, &db, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK)
        code = find_row(db, "SELECT sz " FILES " ORDER BY sz " PART, 0.99, &filter, take_size);
    if (code == SQLITE_OK)
        code =
            find_row(db, "SELECT mtime " FILES " ORDER BY mtime " PART, 0.99, &filter, take_time);
    if (code == SQLITE_OK)
        code = find_row(db, "SELECT name " FILES " ORDER BY name " PART, 0.42, &filter, take_name);
    int status =
        code == SQLITE_OK ? 0 : bench_fail_sqlite(err, db, code, "cannot read the pack's metadata");
    sqlite3_close(db);
    if (status == 0)
        *ret_filter = filter;
    return status;
}

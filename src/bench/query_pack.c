/* SPDX-License-Identifier: MIT */
/* Arms that answer queries on metadata from the pack. */
#include <errno.h>
#include <fnmatch.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

#define IS_FILE "(m.mode & 61440) = 32768" /* S_IFMT, S_IFREG */

struct query {
    sqlite3 *db;
    sqlite3_stmt *select;
    void *buffer;
    size_t capacity;
    struct sqlpack *library;
};

static void query_release(struct query *query)
{
    sqlite3_finalize(query->select);
    sqlite3_close(query->db);
    sqlpack_close(query->library);
    free(query->buffer);
}

/* -- statements --------------------------------------------------------------------------- */

/* `table` has the metadata; joined with sqlar for the names, where it is not sqlar itself. */
static int make_statement(enum bench_workload workload, const char *table, char *ret_sql,
                          size_t size)
{
    bool is_sqlar = strcmp(table, "sqlar") == 0;
    const char *join = is_sqlar ? "" : " JOIN sqlar a ON a.id = m.id";
    const char *row = is_sqlar ? "m" : "a";
    const char *data = "";
    char content[32];
    if (workload == BENCH_LIST)
        return snprintf(ret_sql, size, "SELECT name FROM sqlar");
    if (workload == BENCH_FILTER_NAME)
        return snprintf(ret_sql, size, "SELECT name FROM sqlar WHERE name GLOB ?1");
    if (workload == BENCH_FILTER_READ) {
        snprintf(content, sizeof(content), ", %s.data, m.sz", row);
        data = content;
    }
    return snprintf(ret_sql, size, "SELECT %s.name%s FROM %s m%s WHERE m.%s > ?1 AND " IS_FILE, row,
                    data, table, join, workload == BENCH_FILTER_TIME ? "mtime" : "sz");
}

static void bind(const struct bench_task *task, sqlite3_stmt *select)
{
    const struct bench_filter *filter = &task->data->filter;
    if (task->question->workload == BENCH_FILTER_NAME)
        sqlite3_bind_text(select, 1, filter->glob, -1, SQLITE_STATIC);
    else if (task->question->workload == BENCH_FILTER_TIME)
        sqlite3_bind_int64(select, 1, filter->mtime_above);
    else if (task->question->workload != BENCH_LIST)
        sqlite3_bind_int64(select, 1, filter->size_above);
}

/* -- answers ------------------------------------------------------------------------------ */

static int take_content(struct query *query, struct query_answer *answer)
{
    const void *data = sqlite3_column_blob(query->select, 1);
    size_t stored = (size_t)sqlite3_column_bytes(query->select, 1);
    uLongf size = (uLongf)sqlite3_column_int64(query->select, 2);
    if (size > query->capacity || stored > size)
        return -1;
    if (stored == size)
        memcpy(query->buffer, data ? data : "", stored);
    else if (uncompress(query->buffer, &size, data, stored) != Z_OK)
        return -1;
    answer->bytes += size;
    answer->sum += bench_touch(query->buffer, size);
    return 0;
}

static int query_pack(const struct bench_task *task, void *state, struct query_answer *answer,
                      struct sqlpack_error *err)
{
    struct query *query = state;
    bool reads = task->question->workload == BENCH_FILTER_READ;
    bind(task, query->select);
    while (sqlite3_step(query->select) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(query->select, 0);
        query_hit(answer, name ? name : "", (size_t)sqlite3_column_bytes(query->select, 0));
        if (reads && take_content(query, answer) < 0)
            return bench_fail(err, SQLPACK_CORRUPT, "cannot read '%s' from the pack",
                              bench_show(name ? name : "").text);
    }
    int code = sqlite3_reset(query->select);
    return code == SQLITE_OK ? 0 : bench_fail_sqlite(err, query->db, code, "cannot query the pack");
}

static int prepare(const struct bench_task *task, const char *before, const char *table,
                   struct query *query)
{
    char sql[256];
    make_statement(task->question->workload, table, sql, sizeof(sql));
    int code = sqlite3_open_v2(task->pack, &query->db, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK && before)
        code = sqlite3_exec(query->db, before, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(query->db, sql, -1, &query->select, NULL);
    return code;
}

static int run_query(const struct bench_task *task, const char *before, const char *table,
                     struct bench_run *ret_run, struct hist *hist, struct sqlpack_error *err)
{
    auto_release(query_release) struct query query = {0};
    query.capacity = (size_t)task->data->size_max + 1;
    query.buffer = malloc(query.capacity);
    if (!query.buffer)
        return bench_no_memory(err);
    uint64_t opening = bench_now();
    int code = prepare(task, before, table, &query);
    if (code != SQLITE_OK)
        return bench_fail_sqlite(err, query.db, code, "cannot query the pack");
    ret_run->setup_ns = bench_now() - opening;
    return query_loop(task, query_pack, &query, ret_run, hist, err);
}

static int run_stat(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                    struct sqlpack_error *err)
{
    return run_query(task, NULL, "sqlpack_stat", ret_run, hist, err);
}

static int run_sqlar(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                     struct sqlpack_error *err)
{
    return run_query(task, NULL, "sqlar", ret_run, hist, err);
}

static int run_index(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                     struct sqlpack_error *err)
{
    static const char copy[] = "CREATE TEMP TABLE indexed AS SELECT id, mode, mtime, sz FROM "
                               "sqlpack_stat; CREATE INDEX temp.by_sz ON indexed(sz); "
                               "CREATE INDEX temp.by_mtime ON indexed(mtime)";
    return run_query(task, copy, "indexed", ret_run, hist, err);
}

/* -- the library -------------------------------------------------------------------------- */

static bool matches(const struct bench_task *task, const struct sqlpack_entry *entry)
{
    const struct bench_filter *filter = &task->data->filter;
    switch (task->question->workload) {
    case BENCH_LIST:
        return true;
    case BENCH_FILTER_NAME:
        return fnmatch(filter->glob, entry->name, 0) == 0;
    case BENCH_FILTER_TIME:
        return S_ISREG(entry->mode) && entry->mtime > filter->mtime_above;
    default:
        return S_ISREG(entry->mode) && (int64_t)entry->sz > filter->size_above;
    }
}

static int query_library(const struct bench_task *task, void *state, struct query_answer *answer,
                         struct sqlpack_error *err)
{
    struct query *query = state;
    enum bench_workload workload = task->question->workload;
    const struct sqlpack_list_options options = {.names_only = workload == BENCH_LIST ||
                                                               workload == BENCH_FILTER_NAME};
    struct sqlpack_list *list;
    struct sqlpack_entry entry;
    int more;
    if (sqlpack_list_open(query->library, &options, &list, err) < 0)
        return -1;
    while ((more = sqlpack_list_next(list, &entry, err)) > 0)
        if (matches(task, &entry))
            query_hit(answer, entry.name, strlen(entry.name));
    sqlpack_list_close(list);
    return more;
}

static int run_library(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                       struct sqlpack_error *err)
{
    auto_release(query_release) struct query query = {0};
    if (sqlpack_open(task->pack, &query.library, err) < 0)
        return -1;
    return query_loop(task, query_library, &query, ret_run, hist, err);
}

const struct bench_arm arm_query_stat = {
    .name = "S-meta",
    .side = BENCH_PACK,
    .summary = "SELECT on the table of metadata",
    .run = run_stat,
};

const struct bench_arm arm_query_sqlar = {
    .name = "S-sqlar",
    .side = BENCH_PACK,
    .summary = "SELECT on sqlar, whose rows hold the content too",
    .run = run_sqlar,
};

const struct bench_arm arm_query_index = {
    .name = "S-index",
    .side = BENCH_PACK,
    .summary = "the same on a copy of the metadata with an index on size and on time",
    .run = run_index,
};

const struct bench_arm arm_query_library = {
    .name = "S-list",
    .side = BENCH_PACK,
    .summary = "sqlpack_list, which checks every row",
    .run = run_library,
};

/* SPDX-License-Identifier: MIT */
/* Arms that create, overwrite and delete rows, in three classes of durability. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

#define SCHEMA                                                                                     \
    "CREATE TABLE sqlar(id INTEGER PRIMARY KEY, name TEXT NOT NULL, mode INT, mtime INT, sz INT, " \
    "data BLOB); CREATE UNIQUE INDEX sqlar_name ON sqlar(name)"

struct rows {
    const struct bench_task *task;
    struct write_pool pool;
    char *path;
    sqlite3 *db;
    sqlite3_stmt *change;
};

static void rows_release(struct rows *rows)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    bool is_over = rows->task->question->workload == BENCH_WRITE_CREATE;
    sqlite3_finalize(rows->change);
    sqlite3_close(rows->db);
    for (size_t i = 0; is_over && rows->path && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        auto_free char *path = NULL;
        if (asprintf(&path, "%s%s", rows->path, suffixes[i]) < 0)
            path = NULL;
        else
            scratch_remove(path);
    }
    free(rows->path);
    write_pool_release(&rows->pool);
}

static int execute(struct rows *rows, const char *sql)
{
    return sqlite3_exec(rows->db, sql, NULL, NULL, NULL);
}

/* Runs the prepared change on one row; both insert and update take name, size and content. */
static int change_row(struct rows *rows, size_t at, size_t index)
{
    char name[32];
    size_t size = (size_t)rows->task->data->keys[at].size;
    int bytes = snprintf(name, sizeof(name), "%04zu/%02zu", at / 100, at % 100);
    sqlite3_bind_text(rows->change, 1, name, bytes, SQLITE_STATIC);
    if (sqlite3_bind_parameter_count(rows->change) > 1) {
        sqlite3_bind_int64(rows->change, 2, (sqlite3_int64)size);
        sqlite3_bind_blob64(rows->change, 3, write_content(&rows->pool, index), size,
                            SQLITE_STATIC);
    }
    sqlite3_step(rows->change);
    return sqlite3_reset(rows->change);
}

static int prepare(struct rows *rows, enum bench_workload workload)
{
    static const char *const changes[] = {
        [BENCH_WRITE_CREATE] =
            "INSERT INTO sqlar(name, mode, mtime, sz, data) VALUES(?1, 33188, 0, ?2, ?3)",
        [BENCH_WRITE_OVERWRITE] = "UPDATE sqlar SET sz = ?2, data = ?3 WHERE name = ?1",
        [BENCH_WRITE_DELETE] = "DELETE FROM sqlar WHERE name = ?1",
    };
    sqlite3_finalize(rows->change);
    rows->change = NULL;
    return sqlite3_prepare_v2(rows->db, changes[workload], -1, &rows->change, NULL);
}

/* What is overwritten or deleted is there beforehand, from the first run on. */
static int populate(struct rows *rows)
{
    if (execute(rows, "SELECT 1 FROM sqlar LIMIT 1") == SQLITE_OK)
        return SQLITE_OK;
    int code = execute(rows, "PRAGMA synchronous = OFF; BEGIN; " SCHEMA);
    if (code == SQLITE_OK)
        code = prepare(rows, BENCH_WRITE_CREATE);
    for (size_t i = 0; code == SQLITE_OK && i < rows->pool.population; i++)
        code = change_row(rows, i, i);
    return code == SQLITE_OK ? execute(rows, "COMMIT") : code;
}

/* Behind the clock: what was deleted is there again for the next round, under its old number. */
static int restore(struct rows *rows)
{
    int code = sqlite3_open_v2(rows->path, &rows->db, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK)
        code = execute(rows, "PRAGMA synchronous = OFF; BEGIN");
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(rows->db,
                                  "INSERT INTO sqlar(id, name, mode, mtime, sz, data) "
                                  "VALUES(?4, ?1, 33188, 0, ?2, ?3)",
                                  -1, &rows->change, NULL);
    for (size_t i = 0; code == SQLITE_OK && i < rows->pool.count; i++) {
        sqlite3_bind_int64(rows->change, 4, rows->pool.entries[i] + 1);
        code = change_row(rows, rows->pool.entries[i], i);
    }
    return code == SQLITE_OK ? execute(rows, "COMMIT") : code;
}

static int settle(struct rows *rows, const char *journal)
{
    char sql[64];
    bool syncs = rows->task->question->durability != BENCH_SYNC_NONE;
    snprintf(sql, sizeof(sql), "PRAGMA journal_mode = %s", journal);
    int code = execute(rows, sql);
    if (code == SQLITE_OK)
        code = execute(rows, syncs ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF");
    if (code == SQLITE_OK)
        code = prepare(rows, rows->task->question->workload);
    auto_close int folder = open(rows->task->data->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        syncfs(folder);
    return code;
}

/* Operations of one transaction. */
static size_t batch_of(const struct bench_task *task)
{
    if (task->question->durability != BENCH_SYNC_EACH)
        return task->order_count;
    return task->question->batch ? (size_t)task->question->batch : 1;
}

static int change_all(struct rows *rows, struct bench_run *run, struct hist *hist)
{
    const struct bench_task *task = rows->task;
    size_t batch = batch_of(task);
    uint64_t began = bench_now(), before = began;
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < rows->pool.count; i++) {
        if (i % batch == 0)
            code = execute(rows, "BEGIN IMMEDIATE");
        if (code == SQLITE_OK)
            code = change_row(rows, rows->pool.entries[i], i);
        if (code == SQLITE_OK && ((i + 1) % batch == 0 || i + 1 == rows->pool.count))
            code = execute(rows, "COMMIT");
        uint64_t now = bench_now();
        hist_add(hist, now - before);
        before = now;
    }
    sqlite3_finalize(rows->change);
    rows->change = NULL;
    /* closing moves the log of a WAL into the database: a part of the work */
    int closed = sqlite3_close(rows->db);
    rows->db = NULL;
    run->elapsed_ns = bench_now() - began;
    run->op_count = rows->pool.count;
    return code == SQLITE_OK ? closed : code;
}

static int run_rows(const struct bench_task *task, const char *journal, struct bench_run *ret_run,
                    struct hist *hist, struct sqlpack_error *err)
{
    auto_release(rows_release) struct rows rows = {.task = task};
    char leaf[32];
    bool creates = task->question->workload == BENCH_WRITE_CREATE;
    snprintf(leaf, sizeof(leaf), "%s-%s.db", creates ? "written" : "population", journal);
    rows.path = bench_join(task->data->scratch, leaf);
    if (!rows.path || write_pool(task, &rows.pool) < 0)
        return bench_no_memory(err);
    int code =
        sqlite3_open_v2(rows.path, &rows.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK)
        code = populate(&rows);
    if (code == SQLITE_OK)
        code = settle(&rows, journal);
    struct child_meter meter;
    child_meter_start(&meter);
    if (code == SQLITE_OK)
        code = change_all(&rows, ret_run, hist);
    if (code != SQLITE_OK)
        return bench_fail_sqlite(err, rows.db, code, "cannot write into the scratch database");
    child_meter_stop(&meter, ret_run);
    write_count_bytes(task, &rows.pool, ret_run);
    if (task->question->workload == BENCH_WRITE_DELETE && (code = restore(&rows)) != SQLITE_OK)
        return bench_fail_sqlite(err, rows.db, code, "cannot write into the scratch database");
    return 0;
}

static int run_journal(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                       struct sqlpack_error *err)
{
    return run_rows(task, "DELETE", ret_run, hist, err);
}

static int run_wal(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                   struct sqlpack_error *err)
{
    return run_rows(task, "WAL", ret_run, hist, err);
}

const struct bench_arm arm_write_journal = {
    .name = "S-journal",
    .side = BENCH_PACK,
    .summary = "rows in a database with a rollback journal, closing included",
    .run = run_journal,
};

const struct bench_arm arm_write_wal = {
    .name = "S-wal",
    .side = BENCH_PACK,
    .summary = "rows in a database with a write-ahead log, checkpoint and closing included",
    .run = run_wal,
};

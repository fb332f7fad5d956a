/* SPDX-License-Identifier: MIT */
/* Arms that read packs as applications do: through SQLite by name or number, and the library. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

#define BY_NAME "SELECT data FROM sqlar WHERE name = ?1"
#define BY_ID   "SELECT data FROM sqlar WHERE rowid = ?1"
#define SCAN    "SELECT data, rowid FROM sqlar WHERE rowid >= ?1 ORDER BY rowid"

/* More rows between two keys are not folders and links that a scan goes past. */
#define PASSED_MAX 100

struct pack {
    const struct bench_data *data;
    const char *path;
    sqlite3 *db;
    sqlite3_stmt *select;
    sqlite3_blob *blob;
    void *deflated; /* of size_max bytes */
    struct sqlpack *library;
    uint64_t mapped_bytes;
    int64_t last_id; /* of a scan */
};

static void close_pack(void *state)
{
    struct pack *pack = state;
    sqlite3_finalize(pack->select);
    sqlite3_blob_close(pack->blob);
    sqlite3_close(pack->db);
    sqlpack_close(pack->library);
    free(pack->deflated);
    free(pack);
}

static int fail_open(struct pack *pack, int code, struct sqlpack_error *err)
{
    bench_fail_sqlite(err, pack->db, code, "cannot read the pack");
    close_pack(pack);
    return -1;
}

/* "file:" and the path, with what would mean something in a URI escaped. */
static int immutable_uri(const char *path, struct buf *uri)
{
    if (buf_append_text(uri, "file:") < 0)
        return -1;
    for (; *path; path++) {
        char escaped[4];
        snprintf(escaped, sizeof(escaped), strchr("%?#", *path) ? "%%%02x" : "%c",
                 (unsigned char)*path);
        if (buf_append_text(uri, escaped) < 0)
            return -1;
    }
    return buf_append(uri, "?immutable=1", sizeof("?immutable=1"));
}

enum how {
    SELECT_NAME = 1,
    SELECT_ID = 2,
    SELECT_ALL = 4,
    BLOB = 8,
    TRANSACTION = 16,
    IMMUTABLE = 32,
    MAPPED = 64,
};

static const char *statement_of(enum how how)
{
    if (how & SELECT_ALL)
        return SCAN;
    return how & SELECT_NAME ? BY_NAME : BY_ID;
}

static int open_database(struct pack *pack, enum how how)
{
    auto_release(buf_release) struct buf uri = {0};
    int flags = SQLITE_OPEN_READONLY;
    if (how & IMMUTABLE) {
        if (immutable_uri(pack->path, &uri) < 0)
            return SQLITE_NOMEM;
        flags |= SQLITE_OPEN_URI;
    }
    return sqlite3_open_v2(how & IMMUTABLE ? uri.data : pack->path, &pack->db, flags, NULL);
}

/* Maps all of the file, as far as this build of SQLite can. */
static int map(struct pack *pack)
{
    sqlite3_int64 size = 0, limit = INT64_MAX;
    sqlite3_stmt *row = NULL;
    int code = sqlite3_file_control(pack->db, "main", SQLITE_FCNTL_MMAP_SIZE, &limit);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(pack->db, "PRAGMA mmap_size = 1099511627776", -1, &row, NULL);
    if (code == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        limit = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_file *file = NULL;
    if (code == SQLITE_OK)
        code = sqlite3_file_control(pack->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK)
        code = file->pMethods->xFileSize(file, &size);
    pack->mapped_bytes = (uint64_t)(size < limit ? size : limit);
    return code;
}

static int start(struct pack *pack, enum how how)
{
    int code = open_database(pack, how);
    if (code == SQLITE_OK && (how & MAPPED))
        code = map(pack);
    if (code == SQLITE_OK && (how & TRANSACTION))
        code = sqlite3_exec(pack->db, "BEGIN", NULL, NULL, NULL);
    if (code == SQLITE_OK && (how & (SELECT_NAME | SELECT_ID | SELECT_ALL)))
        code = sqlite3_prepare_v3(pack->db, statement_of(how), -1, SQLITE_PREPARE_PERSISTENT,
                                  &pack->select, NULL);
    if (code == SQLITE_OK && (how & BLOB))
        code = sqlite3_blob_open(pack->db, "main", "sqlar", "data", pack->data->keys[0].id, 0,
                                 &pack->blob);
    return code;
}

static int open_pack(const struct bench_task *task, enum how how, void **ret_state,
                     struct sqlpack_error *err)
{
    struct pack *pack = calloc(1, sizeof(*pack));
    if (!pack)
        return bench_no_memory(err);
    pack->data = task->data;
    pack->path = task->pack;
    pack->deflated = malloc(task->data->size_max + 1);
    int code = pack->deflated ? start(pack, how) : SQLITE_NOMEM;
    if (code != SQLITE_OK)
        return fail_open(pack, code, err);
    *ret_state = pack;
    return 0;
}

/* -- content ------------------------------------------------------------------------------ */

/* As sqlar_uncompress: what is shorter than the file is a zlib stream. */
static ssize_t deliver(const struct bench_key *key, const void *data, size_t size, void *buffer,
                       size_t capacity)
{
    if (size == key->size) {
        memcpy(buffer, data, size);
        return (ssize_t)size;
    }
    uLongf inflated = capacity;
    if (uncompress(buffer, &inflated, data, size) == Z_OK)
        return (ssize_t)inflated;
    errno = EIO;
    return -1;
}

static ssize_t read_row(struct pack *pack, size_t key, void *buffer, size_t capacity)
{
    ssize_t got = -1;
    if (sqlite3_step(pack->select) == SQLITE_ROW) {
        const void *data = sqlite3_column_blob(pack->select, 0);
        size_t size = (size_t)sqlite3_column_bytes(pack->select, 0);
        if (data || size == 0)
            got = deliver(&pack->data->keys[key], data ? data : "", size, buffer, capacity);
    }
    if (sqlite3_reset(pack->select) != SQLITE_OK || got < 0) {
        errno = EIO;
        return -1;
    }
    return got;
}

static ssize_t read_by_name(void *state, size_t key, void *buffer, size_t capacity)
{
    struct pack *pack = state;
    sqlite3_bind_text(pack->select, 1, pack->data->keys[key].name, -1, SQLITE_STATIC);
    return read_row(pack, key, buffer, capacity);
}

static ssize_t read_by_id(void *state, size_t key, void *buffer, size_t capacity)
{
    struct pack *pack = state;
    sqlite3_bind_int64(pack->select, 1, pack->data->keys[key].id);
    return read_row(pack, key, buffer, capacity);
}

static ssize_t read_blob(void *state, size_t index, void *buffer, size_t capacity)
{
    struct pack *pack = state;
    const struct bench_key *key = &pack->data->keys[index];
    if (sqlite3_blob_reopen(pack->blob, key->id) != SQLITE_OK) {
        errno = EIO;
        return -1;
    }
    int size = sqlite3_blob_bytes(pack->blob);
    bool is_raw = (uint64_t)size == key->size;
    void *into = is_raw ? buffer : pack->deflated;
    if ((uint64_t)size > key->size || sqlite3_blob_read(pack->blob, into, size, 0) != SQLITE_OK) {
        errno = EIO;
        return -1;
    }
    return is_raw ? size : deliver(key, into, (size_t)size, buffer, capacity);
}

static ssize_t read_library(void *state, size_t index, void *buffer, size_t capacity)
{
    struct pack *pack = state;
    struct sqlpack_error err;
    void *data;
    size_t size;
    if (sqlpack_read(pack->library, pack->data->keys[index].name, &data, &size, &err) < 0) {
        errno = err.os_errno ? err.os_errno : EIO;
        return -1;
    }
    memcpy(buffer, data, size < capacity ? size : capacity);
    free(data);
    return (ssize_t)size;
}

/* -- everything once ---------------------------------------------------------------------- */

static int arrange_by_id(const struct bench_task *task, uint32_t *order, size_t count)
{
    qsort_r(order, count, sizeof(*order), bench_compare_ids, (void *)task->data->keys);
    return 0;
}

/* Goes on to the row of the key, past folders and links; elsewhere another window begins. */
static ssize_t read_next(void *state, size_t index, void *buffer, size_t capacity)
{
    struct pack *pack = state;
    const struct bench_key *key = &pack->data->keys[index];
    if (pack->last_id == 0 || key->id <= pack->last_id || key->id > pack->last_id + PASSED_MAX) {
        sqlite3_reset(pack->select);
        sqlite3_bind_int64(pack->select, 1, key->id);
    }
    pack->last_id = key->id;
    while (sqlite3_step(pack->select) == SQLITE_ROW) {
        if (sqlite3_column_int64(pack->select, 1) != key->id)
            continue;
        const void *data = sqlite3_column_blob(pack->select, 0);
        size_t size = (size_t)sqlite3_column_bytes(pack->select, 0);
        return deliver(key, data ? data : "", size, buffer, capacity);
    }
    errno = EIO;
    return -1;
}

static uint64_t mapped_bytes(const void *state)
{
    return ((const struct pack *)state)->mapped_bytes;
}

/* -- the arms ----------------------------------------------------------------------------- */

static int open_naive(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    return open_pack(task, SELECT_NAME, ret_state, err);
}

static int open_txn(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    return open_pack(task, SELECT_NAME | TRANSACTION, ret_state, err);
}

static int open_rowid(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    return open_pack(task, SELECT_ID | TRANSACTION, ret_state, err);
}

static int open_blob(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    return open_pack(task, BLOB | TRANSACTION, ret_state, err);
}

static int open_scan(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    return open_pack(task, SELECT_ALL | TRANSACTION, ret_state, err);
}

static int open_mapped_scan(const struct bench_task *task, void **ret_state,
                            struct sqlpack_error *err)
{
    return open_pack(task, SELECT_ALL | TRANSACTION | MAPPED, ret_state, err);
}

static int open_immutable(const struct bench_task *task, void **ret_state,
                          struct sqlpack_error *err)
{
    return open_pack(task, BLOB | IMMUTABLE, ret_state, err);
}

static int open_mmap(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    return open_pack(task, BLOB | TRANSACTION | MAPPED, ret_state, err);
}

static int open_library(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    struct pack *pack = calloc(1, sizeof(*pack));
    if (!pack)
        return bench_no_memory(err);
    pack->data = task->data;
    if (sqlpack_open(task->pack, &pack->library, err) < 0) {
        close_pack(pack);
        return -1;
    }
    *ret_state = pack;
    return 0;
}

#define PACK_ARM(id, title, how_arrange, how_open, how_read, what, system_calls)                   \
    const struct bench_arm arm_pack_##id = {.name = (title),                                       \
                                            .side = BENCH_PACK,                                    \
                                            .summary = (what),                                     \
                                            .calls = (system_calls),                               \
                                            .arrange = (how_arrange),                              \
                                            .open = (how_open),                                    \
                                            .read = (how_read),                                    \
                                            .mapped = mapped_bytes,                                \
                                            .close = close_pack}

PACK_ARM(naive, "S-naive", NULL, open_naive, read_by_name,
         "SELECT by name, each in its own transaction",
         "4 fcntl, 3 stat, a pread for each page that is not in SQLite's cache");
PACK_ARM(txn, "S-txn", NULL, open_txn, read_by_name, "SELECT by name, all in one read transaction",
         "a pread for each page that is not in SQLite's cache");
PACK_ARM(rowid, "S-rowid", NULL, open_rowid, read_by_id,
         "SELECT by row number, one read transaction",
         "a pread for each page that is not in SQLite's cache");
PACK_ARM(blob, "S-blob", NULL, open_blob, read_blob, "blob_reopen and blob_read by row number",
         "a pread for each page that is not in SQLite's cache");
PACK_ARM(immutable, "S-imm", NULL, open_immutable, read_blob,
         "as S-blob, with immutable=1: no locks",
         "a pread for each page that is not in SQLite's cache");
PACK_ARM(mmap, "S-mmap", NULL, open_mmap, read_blob, "as S-blob, with the whole pack mapped",
         "none: page faults instead");
PACK_ARM(library, "S-lib", NULL, open_library, read_library,
         "sqlpack_read by name, which checks the digest", NULL);
PACK_ARM(scan, "S-scan", arrange_by_id, open_scan, read_next, "SELECT all, as rows lie in the pack",
         "a pread for each page");
PACK_ARM(mapped_scan, "S-mscan", arrange_by_id, open_mapped_scan, read_next,
         "as S-scan, with the whole pack mapped", "none: page faults instead");

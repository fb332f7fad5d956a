/* SPDX-License-Identifier: MIT */
/* What kvtest of SQLite measures, as it does: the clock runs from opening to closing. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define CACHE_PAGES 1000
#define MMAP_BYTES  "1073741824"

/* An arm's arguments on the command line of kvtest. */
struct kvtest {
    bool is_database, blob, random, mmap, multi, nosync, update, fsync;
};

/* kvtest's generator with its seeds: the same keys in the same order. */
struct kvtest_random {
    uint32_t x, y;
};

static uint32_t draw(struct kvtest_random *random)
{
    random->x = random->x >> 1 ^ (-(random->x & 1) & 0xd0000001u);
    random->y = random->y * 1103515245u + 12345u;
    return random->x ^ random->y;
}

/* One run. */
struct session {
    const struct bench_task *task;
    const struct kvtest *how;
    struct kvtest_random random;
    sqlite3 *db;
    sqlite3_stmt *statement;
    sqlite3_blob *blob;
    void *data;
    size_t capacity;
    uint64_t size; /* of the blob at hand */
};

static void session_release(struct session *session)
{
    sqlite3_finalize(session->statement);
    sqlite3_blob_close(session->blob);
    sqlite3_close(session->db);
    free(session->data);
}

/* -- files -------------------------------------------------------------------------------- */

static char *name_file(const struct session *session, unsigned key)
{
    const struct bench_data *data = session->task->data;
    enum bench_layout layout = session->task->series->layout;
    const char *root = data->trees[layout].root;
    if (layout == BENCH_LAYOUT_FLAT)
        return sqlite3_mprintf("%s/%06d", root, key);
    return sqlite3_mprintf("%s/%02d/%02d/%02d", root, key / 10000, key / 100 % 100, key % 100);
}

static int read_file(struct session *session, const char *path)
{
    struct stat stat_of;
    if (stat(path, &stat_of) < 0)
        return -1;
    FILE *file = fopen(path, "rb");
    auto_free void *content = file ? malloc((size_t)stat_of.st_size) : NULL;
    session->size = content ? fread(content, 1, (size_t)stat_of.st_size, file) : 0;
    if (file)
        fclose(file);
    return session->size == (uint64_t)stat_of.st_size ? 0 : -1;
}

/* Unlike kvtest, --fsync flushes the stream first: there the tail is never synced. */
static int update_file(struct session *session, const char *path)
{
    struct stat stat_of;
    if (stat(path, &stat_of) < 0)
        return -1;
    session->size = (uint64_t)stat_of.st_size;
    auto_free void *content = malloc((size_t)session->size);
    FILE *file = content ? fopen(path, "wb") : NULL;
    if (!file)
        return -1; // cppcheck-suppress memleak
    sqlite3_randomness((int)session->size, content);
    bool is_good = fwrite(content, 1, (size_t)session->size, file) == session->size;
    if (session->how->fsync)
        is_good = is_good && fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && is_good ? 0 : -1;
}

static int do_file(struct session *session, unsigned key)
{
    char *path = name_file(session, key);
    int status = -1;
    if (path)
        status = session->how->update ? update_file(session, path) : read_file(session, path);
    sqlite3_free(path);
    return status;
}

/* -- database ----------------------------------------------------------------------------- */

static int open_database(struct session *session)
{
    const struct kvtest *how = session->how;
    char sql[96];
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(session->task->data->kvtest, &session->db, flags, NULL);
    snprintf(sql, sizeof(sql), "PRAGMA mmap_size = %s; PRAGMA cache_size = %d",
             how->mmap ? MMAP_BYTES : "0", CACHE_PAGES);
    if (code == SQLITE_OK)
        code = sqlite3_exec(session->db, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK && how->nosync)
        code = sqlite3_exec(session->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(session->db, "SELECT max(k) FROM kv", NULL, NULL, NULL);
    if (code == SQLITE_OK && !how->multi)
        code = sqlite3_exec(session->db, "BEGIN", NULL, NULL, NULL);
    return code;
}

static int do_blob(struct session *session, unsigned key)
{
    int code = session->blob
                   ? sqlite3_blob_reopen(session->blob, key)
                   : sqlite3_blob_open(session->db, "main", "kv", "v", key, 0, &session->blob);
    if (code != SQLITE_OK)
        return -1;
    int size = sqlite3_blob_bytes(session->blob);
    if (session->capacity < (size_t)size + 1) {
        void *data = realloc(session->data, (size_t)size + 100);
        if (!data)
            return -1;
        session->data = data;
        session->capacity = (size_t)size + 100;
    }
    session->size = (uint64_t)size;
    return sqlite3_blob_read(session->blob, session->data, size, 0) == SQLITE_OK ? 0 : -1;
}

/* Keeps the length of the old value for the caller, as kvtest's function of that name. */
static void remember(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    struct session *session = sqlite3_user_data(context);
    session->size = (uint64_t)sqlite3_value_int64(values[0]);
    sqlite3_result_int64(context, sqlite3_value_int64(values[0]));
}

static int prepare(struct session *session)
{
    if (!session->how->update)
        return sqlite3_prepare_v2(session->db, "SELECT v FROM kv WHERE k = ?1", -1,
                                  &session->statement, NULL);
    int code = sqlite3_create_function(session->db, "remember", 1, SQLITE_UTF8, session, remember,
                                       NULL, NULL);
    if (code != SQLITE_OK)
        return code;
    return sqlite3_prepare_v2(session->db,
                              "UPDATE kv SET v = randomblob(remember(length(v))) WHERE k = ?1", -1,
                              &session->statement, NULL);
}

static int do_row(struct session *session, unsigned key)
{
    if (!session->statement && prepare(session) != SQLITE_OK)
        return -1;
    sqlite3_reset(session->statement);
    sqlite3_bind_int64(session->statement, 1, key);
    int code = sqlite3_step(session->statement);
    if (session->how->update)
        return code == SQLITE_DONE ? 0 : -1;
    if (code != SQLITE_ROW)
        return -1;
    session->size = (uint64_t)sqlite3_column_bytes(session->statement, 0);
    return sqlite3_column_blob(session->statement, 0) ? 0 : -1;
}

static int close_database(struct session *session)
{
    sqlite3_finalize(session->statement);
    sqlite3_blob_close(session->blob);
    session->statement = NULL;
    session->blob = NULL;
    if (!session->how->multi && sqlite3_exec(session->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    int code = sqlite3_close(session->db);
    session->db = NULL;
    return code == SQLITE_OK ? 0 : -1;
}

/* -- the loop ----------------------------------------------------------------------------- */

static int do_all(struct session *session, struct bench_run *run, struct hist *hist)
{
    const struct bench_task *task = session->task;
    int (*do_one)(struct session *, unsigned) = do_row;
    if (!session->how->is_database)
        do_one = do_file;
    else if (session->how->blob)
        do_one = do_blob;
    unsigned key = 1, keys = (unsigned)task->data->key_count;
    uint64_t before = bench_now();
    for (size_t i = 0; i < task->order_count; i++) {
        if (do_one(session, key) < 0)
            return -1;
        run->bytes += session->size;
        key = session->how->random ? draw(&session->random) % keys + 1 : key % keys + 1;
        uint64_t now = bench_now();
        hist_add(hist, now - before);
        before = now;
    }
    run->op_count = task->order_count;
    return 0;
}

static int run_kvtest(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                      struct sqlpack_error *err)
{
    auto_release(session_release) struct session session = {
        .task = task, .how = task->series->arm->detail, .random = {0x333a13cdu, 0xecb2adeau}};
    struct child_meter meter;
    child_meter_start(&meter);
    uint64_t began = bench_now();
    int code = session.how->is_database ? open_database(&session) : SQLITE_OK;
    ret_run->setup_ns = bench_now() - began;
    if (code != SQLITE_OK || do_all(&session, ret_run, hist) < 0)
        return session.db ? bench_fail_sqlite(err, session.db, code, "cannot use kvtest's database")
                          : bench_fail_errno(err, "cannot use kvtest's files");
    if (session.db && close_database(&session) < 0)
        return bench_fail(err, SQLPACK_IO, "cannot close kvtest's database");
    ret_run->elapsed_ns = bench_now() - began;
    child_meter_stop(&meter, ret_run);
    return 0;
}

/* -- the database ------------------------------------------------------------------------- */

static int insert_all(const struct corpus *corpus, sqlite3_stmt *insert, void *buffer,
                      const struct bench_pace *pace, struct sqlpack_error *err)
{
    int code = SQLITE_DONE;
    for (size_t i = 0; i < corpus->data.key_count && code == SQLITE_DONE; i++) {
        if ((i % 256 == 0 && bench_tick(pace, err) < 0) || corpus_read(corpus, i, buffer, err) < 0)
            return -1;
        sqlite3_bind_int64(insert, 1, (sqlite3_int64)i + 1);
        sqlite3_bind_blob64(insert, 2, buffer, corpus->keys[i].size, SQLITE_STATIC);
        code = sqlite3_step(insert);
        sqlite3_reset(insert);
    }
    return code == SQLITE_DONE
               ? 0
               : bench_fail_sqlite(err, NULL, code, "cannot make kvtest's database");
}

int kvtest_make(const struct corpus *corpus, const char *path, const struct bench_pace *pace,
                struct sqlpack_error *err)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    auto_free void *buffer = malloc(corpus->data.size_max + 1);
    if (!buffer)
        return bench_no_memory(err);
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db,
                            "PRAGMA page_size = 4096; PRAGMA synchronous = OFF; "
                            "CREATE TABLE kv(k INTEGER PRIMARY KEY, v BLOB); BEGIN",
                            NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db, "INSERT INTO kv(k, v) VALUES(?1, ?2)", -1, &insert, NULL);
    int status = code == SQLITE_OK
                     ? insert_all(corpus, insert, buffer, pace, err)
                     : bench_fail_sqlite(err, db, code, "cannot make kvtest's database");
    sqlite3_finalize(insert);
    if (status == 0 && (code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL)) != SQLITE_OK)
        status = bench_fail_sqlite(err, db, code, "cannot make kvtest's database");
    sqlite3_close(db);
    return status;
}

/* -- the rows ------------------------------------------------------------------------------ */

#define KVTEST(id, side_of, title, ...)                                                            \
    static const struct kvtest how_##id = {__VA_ARGS__};                                           \
    static const struct bench_arm arm_##id = {.name = (title),                                     \
                                              .side = (side_of),                                   \
                                              .summary = "as kvtest, with these arguments",        \
                                              .detail = &how_##id,                                 \
                                              .run = run_kvtest}

KVTEST(direct, BENCH_FILES, "direct file access", .is_database = false);
KVTEST(direct_random, BENCH_FILES, "direct file access --random", .random = true);
KVTEST(plain, BENCH_PACK, "(plain database access)", .is_database = true);
KVTEST(blob, BENCH_PACK, "--blob-api", .is_database = true, .blob = true);
KVTEST(blob_random, BENCH_PACK, "--blob-api --random", .is_database = true, .blob = true,
       .random = true);
KVTEST(mmap, BENCH_PACK, "--mmap 1G", .is_database = true, .mmap = true);
KVTEST(mmap_blob_random, BENCH_PACK, "--mmap 1G --blob-api --random", .is_database = true,
       .mmap = true, .blob = true, .random = true);
KVTEST(multi, BENCH_PACK, "--multitrans", .is_database = true, .multi = true);
KVTEST(update_direct, BENCH_FILES, "direct --update", .update = true, .random = true);
KVTEST(update_fsync, BENCH_FILES, "direct --update --fsync", .update = true, .random = true,
       .fsync = true);
KVTEST(update, BENCH_PACK, "--update", .is_database = true, .update = true, .random = true);
KVTEST(update_nosync, BENCH_PACK, "--update --nosync", .is_database = true, .update = true,
       .random = true, .nosync = true);
KVTEST(update_multi, BENCH_PACK, "--update --multitrans", .is_database = true, .update = true,
       .random = true, .multi = true);
KVTEST(update_multi_nosync, BENCH_PACK, "--update --multitrans --nosync", .is_database = true,
       .update = true, .random = true, .multi = true, .nosync = true);

struct row {
    const struct bench_arm *arm;
    enum bench_layout layout;
    enum bench_published published;
    const char *label;     /* NULL: the arm's name */
    const char *reference; /* label of the files that it is compared with; NULL: it is one */
    enum bench_pair pair;
};

#define FLAT "direct file access"
#define TREE BENCH_LAYOUT_ASIS /* as synthetic.c makes it: kvtest's tree */

static const struct row read_rows[] = {
    {&arm_direct, BENCH_LAYOUT_FLAT, BENCH_KV_DIRECT, NULL, NULL, 0},
    {&arm_direct, TREE, BENCH_NOT_PUBLISHED, "direct, tree", FLAT, BENCH_OTHER},
    {&arm_direct_random, BENCH_LAYOUT_FLAT, BENCH_NOT_PUBLISHED, "direct --random", FLAT,
     BENCH_OTHER},
    {&arm_direct_random, TREE, BENCH_NOT_PUBLISHED, "direct --random, tree", FLAT, BENCH_OTHER},
    {&arm_plain, TREE, BENCH_KV_PLAIN, NULL, FLAT, BENCH_ROW},
    {&arm_blob, TREE, BENCH_KV_BLOB, NULL, FLAT, BENCH_ROW},
    {&arm_blob_random, TREE, BENCH_KV_BLOB_RANDOM, NULL, "direct --random", BENCH_ROW},
    {&arm_mmap, TREE, BENCH_KV_MMAP, NULL, FLAT, BENCH_ROW},
    {&arm_mmap_blob_random, TREE, BENCH_KV_MMAP_BLOB_RANDOM, NULL, "direct --random", BENCH_ROW},
    {&arm_multi, TREE, BENCH_NOT_PUBLISHED, NULL, FLAT, BENCH_OTHER},
};
static const struct row none_rows[] = {
    {&arm_update_direct, BENCH_LAYOUT_FLAT, BENCH_NOT_PUBLISHED, NULL, NULL, 0},
    {&arm_update_nosync, TREE, BENCH_NOT_PUBLISHED, NULL, "direct --update", BENCH_ROW},
    {&arm_update_multi_nosync, TREE, BENCH_NOT_PUBLISHED, NULL, "direct --update", BENCH_ROW},
};
static const struct row end_rows[] = {
    {&arm_update, TREE, BENCH_NOT_PUBLISHED, NULL, NULL, 0},
};
static const struct row each_rows[] = {
    {&arm_update_fsync, BENCH_LAYOUT_FLAT, BENCH_NOT_PUBLISHED, NULL, NULL, 0},
    {&arm_update_multi, TREE, BENCH_NOT_PUBLISHED, NULL, "direct --update --fsync", BENCH_ROW},
};

static int add_rows(struct bench_case *question, const struct row *rows, size_t count,
                    struct sqlpack_error *err)
{
    for (const struct row *row = rows; row < rows + count; row++) {
        const char *label = row->label ? row->label : row->arm->name;
        if (plan_series(question, row->arm, row->layout, label, err) < 0)
            return -1;
        question->series[question->series_count - 1].published = row->published;
        if (row->reference && plan_effect(question, row->pair, row->reference, label, err) < 0)
            return -1;
    }
    question->has_free_results = true;
    return 0;
}

#define ADD_ROWS(question, rows, err)                                                              \
    add_rows(question, rows, sizeof(rows) / sizeof((rows)[0]), err)

static struct bench_case *add_update(struct bench_result *result, enum bench_durability durability,
                                     struct sqlpack_error *err)
{
    struct bench_case *question = plan_case(result, BENCH_KVTEST_UPDATE, BENCH_STATELESS, err);
    if (question)
        question->durability = durability;
    return question;
}

int kvtest_plan(struct bench_result *result, struct sqlpack_error *err)
{
    struct bench_case *question = plan_case(result, BENCH_KVTEST_READ, BENCH_WARM, err);
    if (!question || ADD_ROWS(question, read_rows, err) < 0 ||
        plan_series(question, &arm_direct, BENCH_LAYOUT_FLAT, "direct again", err) < 0 ||
        plan_effect(question, BENCH_AA, FLAT, "direct again", err) < 0)
        return -1;
    question->wanted_ops = 1000;
    question = add_update(result, BENCH_SYNC_NONE, err);
    if (!question || ADD_ROWS(question, none_rows, err) < 0)
        return -1;
    question = add_update(result, BENCH_SYNC_END, err);
    if (!question || ADD_ROWS(question, end_rows, err) < 0)
        return -1;
    question = add_update(result, BENCH_SYNC_EACH, err);
    return question ? ADD_ROWS(question, each_rows, err) : -1;
}

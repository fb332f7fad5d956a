/* SPDX-License-Identifier: MIT */
/* The loader against SQLite itself: every page size, random rows, the same dump and no damage. */
#include <sqlite3.h>

#include "lib/internal.h"
#include "tap.h"

/* A small generator (xorshift), so that every run has the same rows. */
static uint64_t state;

static uint64_t next_random(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
}

/* What one trial makes: how many rows, how long their names and contents are. */
struct shape {
    const char *what;
    uint64_t seed;
    size_t row_count;
    uint64_t name_bytes, content_bytes; /* upper bounds */
    size_t batch_rows;
};

struct rows {
    const struct shape *shape;
    uint32_t page_bytes;
    int fd;
    struct loader *loader;
    struct record record;
    struct sqlpack_error err;
    sqlite3 *db; /* where SQLite inserts the same rows; NULL: nowhere */
    sqlite3_stmt *insert_sqlar, *insert_stat;
};

static void make_name(char *name, const struct shape *shape, size_t i)
{
    size_t size = 8 + (size_t)next_random(shape->name_bytes);
    snprintf(name, 9, "%08zu", i);
    memset(name + 8, 'n', size - 8);
    name[size] = '\0';
}

static void append(struct rows *rows, enum table table, int64_t rowid)
{
    auto_release(buf_release) struct buf bytes = {0};
    need(record_end(&rows->record, &bytes) == 0);
    struct payload payload = {.head = (unsigned char *)bytes.data, .head_bytes = bytes.size};
    if (loader_append(rows->loader, table, rowid, &payload, &rows->err) < 0)
        printf("# %s\n", rows->err.message);
}

/* One value of a row, for the record and for SQLite. */
struct value {
    char type; /* n, i, t or b */
    int64_t number;
    const void *data;
    size_t size;
};

static void bind(sqlite3_stmt *stmt, int at, const struct value *value)
{
    if (value->type == 'i')
        sqlite3_bind_int64(stmt, at, value->number);
    else if (value->type == 't')
        sqlite3_bind_text(stmt, at, value->data, (int)value->size, SQLITE_STATIC);
    else if (value->type == 'b')
        sqlite3_bind_blob(stmt, at, value->data, (int)value->size, SQLITE_STATIC);
}

static void insert(sqlite3_stmt *stmt, const struct value *values, int count)
{
    for (int i = 0; i < count; i++)
        bind(stmt, i + 1, &values[i]);
    need(sqlite3_step(stmt) == SQLITE_DONE);
    sqlite3_reset(stmt);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    need(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK);
    return stmt;
}

/* Puts the values into the record; the first is the row's id, which a record leaves NULL. */
static void fill(struct record *record, const struct value *values, int count)
{
    record_begin(record);
    record_null(record);
    for (int i = 1; i < count; i++) {
        if (values[i].type == 'i')
            record_int(record, values[i].number);
        else if (values[i].type == 't')
            record_text(record, values[i].data, values[i].size);
        else
            record_blob(record, values[i].data, values[i].size);
    }
}

/* One entry: a row of sqlar into the batch, one of the index, one of sqlpack_stat. */
static void add_entry(struct rows *rows, size_t i, struct loader_row *row, char *name,
                      char *content)
{
    make_name(name, rows->shape, i);
    size_t size = (size_t)next_random(rows->shape->content_bytes), name_size = strlen(name);
    need(name && content);
    memset(content, 'a' + (int)(i % 26), size);
    int64_t id = (int64_t)i + 1;
    struct value sqlar[6] = {{.type = 'i', .number = id},
                             {.type = 't', .data = name, .size = name_size},
                             {.type = 'i', .number = 33188},
                             {.type = 'i', .number = (int64_t)next_random(1ull << 40) - 1000},
                             {.type = 'i', .number = (int64_t)size},
                             {.type = 'b', .data = content, .size = size}};
    struct value stat[13] = {{.type = 'i', .number = id}};
    for (int k = 1; k < 10; k++)
        stat[k] = (struct value){.type = 'i',
                                 .number = (int64_t)next_random(UINT64_MAX >> next_random(63))};
    stat[10] = (struct value){.type = 'b', .data = content, .size = next_random(9) ? 0 : size};
    stat[11] = (struct value){.type = 'b', .data = name, .size = name_size < 16 ? name_size : 16};
    stat[12] = (struct value){.type = 'i', .number = (int64_t)next_random(UINT64_MAX)};
    if (rows->db) {
        insert(rows->insert_sqlar, sqlar, 6);
        insert(rows->insert_stat, stat, 13);
    }
    struct buf head = {0};
    fill(&rows->record, sqlar, 5);
    record_blob_tail(&rows->record, size);
    need(record_end(&rows->record, &head) == 0);
    *row = (struct loader_row){.id = id,
                               .payload = {.head = (unsigned char *)head.data,
                                           .head_bytes = head.size,
                                           .tail = (unsigned char *)content,
                                           .tail_bytes = size}};
    record_begin(&rows->record);
    record_text(&rows->record, name, name_size);
    record_int(&rows->record, id);
    append(rows, TABLE_SQLAR_NAME, 0);
    fill(&rows->record, stat, 13);
    append(rows, TABLE_STAT, id);
}

static void load(struct rows *rows)
{
    const struct shape *shape = rows->shape;
    state = shape->seed;
    struct loader_batch batch = {0};
    batch.rows = calloc(shape->batch_rows, sizeof(*batch.rows));
    char **texts = calloc(2 * shape->batch_rows, sizeof(*texts));
    for (size_t i = 0; i < 2 * shape->batch_rows; i++)
        texts[i] = malloc(shape->name_bytes + shape->content_bytes + 16);
    for (size_t i = 0; i < shape->row_count; i += batch.row_count) {
        batch.row_count =
            shape->row_count - i < shape->batch_rows ? shape->row_count - i : shape->batch_rows;
        for (size_t k = 0; k < batch.row_count; k++)
            add_entry(rows, i + k, &batch.rows[k], texts[2 * k], texts[2 * k + 1]);
        need(loader_place_begin(rows->loader, &batch, &rows->err) == 0);
        for (size_t k = 0; k < batch.row_count; k++)
            need(loader_place(rows->loader, &batch, k, &rows->err) == 0);
        need(loader_place_end(rows->loader, &batch, &rows->err) == 0);
        need(loader_write(rows->loader, &batch, &rows->err) == 0);
        for (size_t k = 0; k < batch.row_count; k++)
            free((void *)(uintptr_t)batch.rows[k].payload.head);
    }
    for (size_t i = 0; i < 2 * shape->batch_rows; i++)
        free(texts[i]);
    free(texts);
    free(batch.rows);
    loader_batch_release(&batch);
}

static uint64_t run(struct rows *rows, int fd)
{
    rows->fd = fd;
    need(loader_open(fd, "test", rows->page_bytes, &rows->loader, &rows->err) == 0);
    load(rows);
    need(loader_finish(rows->loader, &rows->err) == 0);
    uint64_t pages = loader_page_count(rows->loader);
    loader_close(rows->loader);
    record_release(&rows->record);
    return pages;
}

static char *text_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    char *text = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        text = strdup((const char *)sqlite3_column_text(stmt, 0));
    else
        text = strdup(sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    return text;
}

/* How many rows of one table the other does not have, each way. */
static bool same_rows(sqlite3 *db, const char *table)
{
    char sql[400];
    snprintf(
        sql, sizeof(sql),
        "SELECT (SELECT count(*) FROM (SELECT * FROM main.%s EXCEPT SELECT * FROM pack.%s)) "
        "|| '+' || (SELECT count(*) FROM (SELECT * FROM pack.%s EXCEPT SELECT * FROM main.%s))",
        table, table, table, table);
    char *text = text_of(db, sql);
    bool same = strcmp(text, "0+0") == 0;
    if (!same)
        printf("# %s: %s rows differ\n", table, text);
    free(text);
    return same;
}

static void open_reference(struct rows *rows)
{
    need(sqlite3_open(":memory:", &rows->db) == SQLITE_OK);
    for (int i = 0; i < TABLE_COUNT; i++)
        if (schema_tables[i].sql)
            need(sqlite3_exec(rows->db, schema_tables[i].sql, NULL, NULL, NULL) == SQLITE_OK);
    rows->insert_sqlar = prepare(rows->db, "INSERT INTO sqlar VALUES(?,?,?,?,?,?)");
    rows->insert_stat =
        prepare(rows->db, "INSERT INTO sqlpack_stat VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
}

static void attach(sqlite3 *db, const char *path)
{
    char sql[200];
    snprintf(sql, sizeof(sql), "ATTACH '%s' AS pack", path);
    need(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static void check(const struct shape *shape, uint32_t page_bytes)
{
    char path[] = "/tmp/loader-XXXXXX";
    int fd = mkstemp(path);
    need(fd >= 0);
    struct rows rows = {.shape = shape, .page_bytes = page_bytes};
    open_reference(&rows);
    uint64_t pages = run(&rows, fd);
    struct stat stat;
    need(fstat(fd, &stat) == 0);
    close(fd);
    attach(rows.db, path);
    char *integrity = text_of(rows.db, "PRAGMA pack.integrity_check");
    ok(strcmp(integrity, "ok") == 0, "%s, %u: integrity", shape->what, page_bytes);
    if (strcmp(integrity, "ok") != 0)
        printf("# %s\n", integrity);
    ok(same_rows(rows.db, "sqlar") && same_rows(rows.db, "sqlpack_stat"),
       "%s, %u: the rows that SQLite inserts", shape->what, page_bytes);
    ok((uint64_t)stat.st_size == pages * page_bytes, "%s, %u: no page beyond the count",
       shape->what, page_bytes);
    struct rows forecast = {.shape = shape, .page_bytes = page_bytes};
    ok(run(&forecast, -1) == pages, "%s, %u: the forecast is exact", shape->what, page_bytes);
    free(integrity);
    sqlite3_finalize(rows.insert_sqlar);
    sqlite3_finalize(rows.insert_stat);
    sqlite3_close(rows.db);
    unlink(path);
}

int main(void)
{
    static const struct shape shapes[] = {
        {"empty", 1, 0, 1, 1, 1},
        {"one row", 2, 1, 10, 10, 1},
        {"one large row", 3, 1, 10, 300000, 1},
        {"tiny rows", 4, 3000, 4, 30, 64},
        {"many tiny rows", 5, 20000, 2, 4, 256},
        {"thumbnails", 6, 1500, 30, 12000, 64},
        {"long names", 7, 2000, 900, 500, 7},
        {"names beyond a page", 8, 60, 70000, 100, 5},
        {"mixed sizes", 9, 700, 200, 80000, 33},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (uint32_t page_bytes = 512; page_bytes <= 65536; page_bytes *= 2)
            check(&shapes[i], page_bytes);
    /* every number of rows about the edges at which levels begin */
    for (size_t rows = 1; rows <= 300; rows++) {
        const struct shape shape = {"edge", rows + 100, rows, 200, 900, 16};
        check(&shape, 512);
    }
    return done();
}

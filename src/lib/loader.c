/* SPDX-License-Identifier: MIT */
/* Writes a new pack page by page, much faster than SQLite could insert the rows one by one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

/* Pages are gathered up to this size before they are written. */
#define OUT_BYTES ((size_t)512 << 10)

struct loader {
    struct page_file file;
    struct tree *trees[TABLE_COUNT];
    uint32_t roots[TABLE_COUNT];
    unsigned char *first_page; /* with the header and the schema, as SQLite made it */
    struct page open;          /* the leaf of sqlar that rows are added to */
    unsigned char *open_image; /* its image, which is made when the leaf outlives its batch */
    bool is_open;
    uint32_t open_number; /* 0: the first leaf, which is the root if no other follows */
    int64_t last_id;
};

/* -- the empty database: made by SQLite, so that the schema is written in one place only -- */

static int run_sql(sqlite3 *db, const char *sql, struct sqlpack_error *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fail_sqlite(err, db, "cannot make the tables of a pack");
    return 0;
}

static int create_tables(sqlite3 *db, uint32_t page_bytes, struct sqlpack_error *err)
{
    char sql[160];
    snprintf(sql, sizeof(sql),
             "PRAGMA page_size=%u; PRAGMA application_id=%d; PRAGMA user_version=%d", page_bytes,
             SCHEMA_APPLICATION_ID, SCHEMA_FORMAT);
    if (run_sql(db, sql, err) < 0)
        return -1;
    for (int i = 0; i < TABLE_COUNT; i++)
        if (schema_tables[i].sql && run_sql(db, schema_tables[i].sql, err) < 0)
            return -1;
    return 0;
}

static int find_roots(sqlite3 *db, uint32_t roots[TABLE_COUNT], struct sqlpack_error *err)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?", -1, &stmt,
                           NULL) != SQLITE_OK)
        return fail_sqlite(err, db, "cannot read the tables of a pack");
    int result = 0;
    for (int i = 0; i < TABLE_COUNT && result == 0; i++) {
        sqlite3_bind_text(stmt, 1, schema_tables[i].name, -1, SQLITE_STATIC);
        if (sqlite3_step(stmt) == SQLITE_ROW)
            roots[i] = (uint32_t)sqlite3_column_int64(stmt, 0);
        else
            result = fail_sqlite(err, db, "cannot find table %s", schema_tables[i].name);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return result;
}

/* Takes over the pages of the empty database. */
static int take_template(struct loader *loader, sqlite3 *db, struct sqlpack_error *err)
{
    if (create_tables(db, loader->file.page_bytes, err) < 0 ||
        find_roots(db, loader->roots, err) < 0)
        return -1;
    sqlite3_int64 size = 0;
    unsigned char *image = sqlite3_serialize(db, "main", &size, 0);
    if (!image)
        return fail_no_memory(err);
    loader->file.next = (uint32_t)(size / loader->file.page_bytes) + 1;
    loader->first_page = malloc(loader->file.page_bytes);
    int result = loader->first_page ? 0 : fail_no_memory(err);
    if (loader->first_page) {
        memcpy(loader->first_page, image, loader->file.page_bytes);
        result = page_file_write(&loader->file, 1, image, (size_t)size, err);
    }
    sqlite3_free(image);
    return result;
}

static int make_template(struct loader *loader, struct sqlpack_error *err)
{
    sqlite3 *db;
    int result;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        result = fail_sqlite(err, db, "cannot make an empty database");
    else
        result = take_template(loader, db, err);
    sqlite3_close(db);
    return result;
}

static bool is_index(enum table table)
{
    return table == TABLE_SQLAR_NAME || table == TABLE_CHUNK_KEY || table == TABLE_INFO;
}

int loader_open(int fd, const char *path, uint32_t page_bytes, struct loader **ret_loader,
                struct sqlpack_error *err)
{
    struct loader *loader = calloc(1, sizeof(*loader));
    if (!loader)
        return fail_no_memory(err);
    loader->file = (struct page_file){.fd = fd, .path = path, .page_bytes = page_bytes};
    if (make_template(loader, err) < 0) {
        loader_close(loader);
        return -1;
    }
    for (int i = 0; i < TABLE_COUNT; i++) {
        loader->trees[i] = tree_new(&loader->file, loader->roots[i], is_index((enum table)i));
        if (!loader->trees[i]) {
            loader_close(loader);
            return fail_no_memory(err);
        }
    }
    *ret_loader = loader;
    return 0;
}

void loader_close(struct loader *loader)
{
    if (!loader)
        return;
    for (int i = 0; i < TABLE_COUNT; i++)
        tree_free(loader->trees[i]);
    free(loader->first_page);
    free(loader->open_image);
    free(loader);
}

int loader_append(struct loader *loader, enum table table, int64_t rowid,
                  const struct payload *payload, struct sqlpack_error *err)
{
    return tree_append(loader->trees[table], rowid, payload, err);
}

struct tree *loader_tree(const struct loader *loader, enum table table)
{
    return loader->trees[table];
}

struct page_file *loader_file(struct loader *loader)
{
    return &loader->file;
}

uint64_t loader_page_count(const struct loader *loader)
{
    return loader->file.next - 1;
}

/* -- placing: gives every row its pages; what depends on other rows is done here, in order -- */

static uint32_t cell_bytes(const struct loader_row *row)
{
    return page_varint_bytes(payload_bytes(&row->payload)) + page_varint_bytes((uint64_t)row->id) +
           row->local_bytes + (row->overflow_first ? 4 : 0);
}

/* Writes a row's cell into a leaf. Returns 0, or -1 with errno. */
static int put_cell(struct page *leaf, const struct loader_row *row)
{
    unsigned char *at = page_add(leaf, cell_bytes(row));
    if (!at)
        return 0;
    at = page_put_varint(at, payload_bytes(&row->payload));
    at = page_put_varint(at, (uint64_t)row->id);
    if (payload_copy(&row->payload, 0, at, row->local_bytes) < 0)
        return -1;
    if (row->overflow_first)
        page_put_u32(at + row->local_bytes, row->overflow_first);
    return 0;
}

static struct loader_leaf *add_leaf(struct loader_batch *batch)
{
    if (batch->leaf_count == batch->leaf_capacity) {
        size_t capacity = batch->leaf_capacity ? 2 * batch->leaf_capacity : 64;
        struct loader_leaf *leaves = realloc(batch->leaves, capacity * sizeof(*leaves));
        if (!leaves)
            return NULL;
        batch->leaves = leaves;
        batch->leaf_capacity = capacity;
    }
    struct loader_leaf *leaf = &batch->leaves[batch->leaf_count++];
    *leaf = (struct loader_leaf){0};
    return leaf;
}

/* A leaf's image, from its rows. Returns 0, or -1 with errno. */
static int make_leaf(struct page *page, unsigned char *data, uint32_t page_bytes,
                     const struct loader_row *rows, size_t count)
{
    page_begin(page, data, page_bytes, PAGE_TABLE_LEAF);
    for (size_t i = 0; i < count; i++)
        if (put_cell(page, &rows[i]) < 0)
            return -1;
    return 0;
}

/*
 * The open leaf has no room for the next row. The one that the batch before left
 * behind has its image already, which the batch takes over; the others are made
 * from their rows by loader_write.
 */
static int close_leaf(struct loader *loader, struct loader_batch *batch, struct sqlpack_error *err)
{
    if (loader->open_number == 0)
        loader->open_number = page_file_take(&loader->file);
    if (batch->leaf_count > 0) {
        batch->leaves[batch->leaf_count - 1].number = loader->open_number;
    } else {
        page_end(&loader->open, 0);
        unsigned char *spare = batch->carried;
        batch->carried = loader->open_image;
        batch->carried_number = loader->open_number;
        loader->open_image = spare;
    }
    return tree_add_leaf(loader->trees[TABLE_SQLAR], loader->open_number, loader->last_id, err);
}

static int open_leaf(struct loader *loader, struct loader_batch *batch, size_t row,
                     struct sqlpack_error *err)
{
    if (loader->is_open && close_leaf(loader, batch, err) < 0)
        return -1;
    struct loader_leaf *leaf = add_leaf(batch);
    if (!leaf)
        return fail_no_memory(err);
    loader->open_number = loader->is_open ? page_file_take(&loader->file) : 0;
    loader->is_open = true;
    *leaf = (struct loader_leaf){.number = loader->open_number, .row_first = row};
    page_begin(&loader->open, NULL, loader->file.page_bytes, PAGE_TABLE_LEAF);
    return 0;
}

int loader_place_begin(struct loader *loader, struct loader_batch *batch, struct sqlpack_error *err)
{
    batch->leaf_count = 0;
    batch->carried_number = 0;
    if (loader->file.fd < 0)
        return 0;
    if (!loader->open_image)
        loader->open_image = malloc(loader->file.page_bytes);
    if (!batch->carried)
        batch->carried = malloc(loader->file.page_bytes);
    return loader->open_image && batch->carried ? 0 : fail_no_memory(err);
}

int loader_place(struct loader *loader, struct loader_batch *batch, size_t i,
                 struct sqlpack_error *err)
{
    struct loader_row *row = &batch->rows[i];
    uint32_t page_bytes = loader->file.page_bytes;
    uint64_t total = payload_bytes(&row->payload);
    row->local_bytes = page_local_bytes(page_bytes, false, total);
    row->overflow_first = row->local_bytes < total; /* cell_bytes asks whether, not where */
    uint32_t bytes = cell_bytes(row);
    if ((!loader->is_open || !page_has_room(&loader->open, bytes)) &&
        open_leaf(loader, batch, i, err) < 0)
        return -1;
    uint32_t count = page_overflow_count(page_bytes, total, row->local_bytes);
    row->overflow_first = count ? page_file_take_many(&loader->file, count) : 0;
    loader->last_id = row->id;
    if (batch->leaf_count > 0) {
        page_add(&loader->open, bytes); /* without an image: it only counts */
        batch->leaves[batch->leaf_count - 1].row_count++;
    } else if (put_cell(&loader->open, row) < 0) {
        return fail_errno(err, "cannot read back what is to be packed");
    }
    return 0;
}

int loader_place_end(struct loader *loader, struct loader_batch *batch, struct sqlpack_error *err)
{
    if (batch->leaf_count == 0)
        return 0;
    /* the leaf that stays open gets its image now, so that the next batch can add to it */
    const struct loader_leaf *leaf = &batch->leaves[--batch->leaf_count];
    if (make_leaf(&loader->open, loader->open_image, loader->file.page_bytes,
                  batch->rows + leaf->row_first, leaf->row_count) < 0)
        return fail_errno(err, "cannot read back what is to be packed");
    return 0;
}

/* -- writing: what one thread can do without the others -- */

static int flush_out(const struct loader *loader, struct loader_batch *batch,
                     struct sqlpack_error *err)
{
    size_t size = batch->out_pages * loader->file.page_bytes;
    batch->out_pages = 0;
    return size ? page_file_write(&loader->file, batch->out_first, batch->out, size, err) : 0;
}

/* Room for the image of a page, which is written with those before it. NULL with *err. */
static unsigned char *out_page(const struct loader *loader, struct loader_batch *batch,
                               uint32_t number, struct sqlpack_error *err)
{
    size_t page_bytes = loader->file.page_bytes;
    if (!batch->out)
        batch->out = malloc(OUT_BYTES);
    if (!batch->out) {
        fail_no_memory(err);
        return NULL;
    }
    bool is_next = number == batch->out_first + batch->out_pages;
    if ((!is_next || (batch->out_pages + 1) * page_bytes > OUT_BYTES) &&
        flush_out(loader, batch, err) < 0)
        return NULL;
    if (batch->out_pages == 0)
        batch->out_first = number;
    return batch->out + batch->out_pages++ * page_bytes;
}

static int write_leaf(const struct loader *loader, struct loader_batch *batch,
                      const struct loader_leaf *leaf, struct sqlpack_error *err)
{
    unsigned char *image = out_page(loader, batch, leaf->number, err);
    struct page page;
    if (!image)
        return -1;
    if (make_leaf(&page, image, loader->file.page_bytes, batch->rows + leaf->row_first,
                  leaf->row_count) < 0)
        return fail_errno(err, "cannot read back what is to be packed");
    page_end(&page, 0);
    return 0;
}

static int write_overflow(const struct loader *loader, struct loader_batch *batch,
                          const struct loader_row *row, struct sqlpack_error *err)
{
    uint64_t total = payload_bytes(&row->payload);
    size_t room = loader->file.page_bytes - 4;
    uint32_t number = row->overflow_first;
    for (uint64_t at = row->local_bytes; at < total;) {
        size_t part = total - at < room ? (size_t)(total - at) : room;
        bool is_last = at + part == total;
        uint32_t next = page_number_behind(loader->file.page_bytes, number);
        unsigned char *image = out_page(loader, batch, number, err);
        if (!image)
            return -1;
        unsigned char *data = page_put_u32(image, is_last ? 0 : next);
        if (payload_copy(&row->payload, at, data, part) < 0)
            return fail_errno(err, "cannot read back what is to be packed");
        if (part < room)
            memset(data + part, 0, room - part);
        at += part;
        number = next;
    }
    return 0;
}

int loader_write(const struct loader *loader, struct loader_batch *batch, struct sqlpack_error *err)
{
    if (loader->file.fd < 0)
        return 0;
    if (batch->carried_number && page_file_write(&loader->file, batch->carried_number,
                                                 batch->carried, loader->file.page_bytes, err) < 0)
        return -1;
    const struct loader_leaf *leaf = batch->leaves, *end = leaf + batch->leaf_count;
    for (size_t i = 0; i < batch->row_count; i++) {
        if (leaf < end && leaf->row_first == i && write_leaf(loader, batch, leaf++, err) < 0)
            return -1;
        if (write_overflow(loader, batch, &batch->rows[i], err) < 0)
            return -1;
    }
    return flush_out(loader, batch, err);
}

void loader_batch_release(struct loader_batch *batch)
{
    free(batch->leaves);
    free(batch->carried);
    free(batch->out);
    *batch = (struct loader_batch){0};
}

/* -- the end -- */

/* The leaf that is still open: the root, where it is the only one. */
static int finish_sqlar(struct loader *loader, struct sqlpack_error *err)
{
    struct tree *tree = loader->trees[TABLE_SQLAR];
    if (!loader->is_open)
        return tree_finish(tree, err);
    uint32_t number = loader->open_number ? loader->open_number : loader->roots[TABLE_SQLAR];
    page_end(&loader->open, 0);
    if (page_file_write(&loader->file, number, loader->open.data, loader->file.page_bytes, err) < 0)
        return -1;
    if (number == loader->roots[TABLE_SQLAR])
        return 0;
    if (tree_add_leaf(tree, number, loader->last_id, err) < 0)
        return -1;
    return tree_finish(tree, err);
}

/*
 * The header as it is after a first transaction: its page count is valid, since
 * the change counter and the number it was valid for agree. The version of SQLite
 * that made the schema is left out, so that every version gives the same bytes.
 */
static int write_header(struct loader *loader, struct sqlpack_error *err)
{
    unsigned char *header = loader->first_page;
    page_put_u32(header + 24, 1);
    page_put_u32(header + 28, (uint32_t)loader_page_count(loader));
    page_put_u32(header + 92, 1);
    page_put_u32(header + 96, 3040000);
    return page_file_write(&loader->file, 1, header, loader->file.page_bytes, err);
}

int loader_finish(struct loader *loader, struct sqlpack_error *err)
{
    if (finish_sqlar(loader, err) < 0)
        return -1;
    for (int i = 0; i < TABLE_COUNT; i++)
        if (i != TABLE_SQLAR && tree_finish(loader->trees[i], err) < 0)
            return -1;
    return write_header(loader, err);
}

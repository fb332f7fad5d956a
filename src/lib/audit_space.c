/* SPDX-License-Identifier: MIT */
/* How a pack spends its bytes: walks the pages of all its tables and indexes. */
#include <string.h>

#include "lib/internal.h"

#define DEPTH_MAX         20 /* as in SQLite */
#define FILE_HEADER_BYTES 100

struct walk {
    struct sqlpack *pack;
    sqlite3_file *file;
    uint32_t usable;           /* bytes of a page that a b-tree has */
    uint64_t page_count, seen; /* pages of the file; pages met so far */
    unsigned char *pages;      /* one for each level */
    struct sqlpack_audit_space *space;
    struct sqlpack_audit_table *table; /* the one that is walked */
};

static int malformed(const struct walk *walk, struct sqlpack_error *err)
{
    return db_corrupt(walk->pack, err, "a page of its b-trees is malformed");
}

static uint32_t get_u16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t get_u32(const unsigned char *at)
{
    return get_u16(at) << 16 | get_u16(at + 2);
}

/* One page of a b-tree. */
struct node {
    unsigned char *data;
    uint32_t begin;  /* where its header is: behind the file's, on page 1 */
    uint32_t header; /* bytes of it */
    uint32_t cells;
    bool is_leaf, is_index;
};

static int read_node(struct walk *walk, uint32_t number, int depth, struct node *ret_node,
                     struct sqlpack_error *err)
{
    uint32_t page_bytes = walk->space->page_bytes;
    unsigned char *data = walk->pages + (size_t)depth * page_bytes;
    /* a page that is met twice makes more pages than there are */
    if (number < 1 || number > walk->page_count || ++walk->seen > walk->page_count)
        return malformed(walk, err);
    int code = walk->file->pMethods->xRead(walk->file, data, (int)page_bytes,
                                           (sqlite3_int64)(number - 1) * page_bytes);
    if (code != SQLITE_OK)
        return fail(err, SQLPACK_IO, "cannot read '%s': %s", show(walk->pack->path).text,
                    sqlite3_errstr(code));
    struct node node = {.data = data, .begin = number == 1 ? FILE_HEADER_BYTES : 0};
    unsigned kind = data[node.begin];
    node.is_leaf = kind == PAGE_TABLE_LEAF || kind == PAGE_INDEX_LEAF;
    node.is_index = kind == PAGE_INDEX_INTERIOR || kind == PAGE_INDEX_LEAF;
    node.header = node.is_leaf ? 8 : 12;
    node.cells = get_u16(data + node.begin + 3);
    if ((!node.is_leaf && kind != PAGE_TABLE_INTERIOR && kind != PAGE_INDEX_INTERIOR) ||
        node.begin + node.header + 2 * node.cells > walk->usable)
        return malformed(walk, err);
    *ret_node = node;
    return 0;
}

/* -- one cell -------------------------------------------------------------------------------- */

/* What a cell and its chain are made of. */
struct cell {
    uint32_t child;        /* the page to the left of it */
    uint64_t payload;      /* bytes of the record; 0: it has none */
    uint32_t bytes;        /* in the page */
    uint32_t chain;        /* overflow pages */
    uint64_t chain_unused; /* room at their end */
};

static int take_cell(const struct walk *walk, const struct node *node, uint32_t i,
                     struct cell *ret_cell, struct sqlpack_error *err)
{
    const unsigned char *pointer = node->data + node->begin + node->header + (size_t)2 * i;
    const unsigned char *start = node->data + get_u16(pointer), *at = start;
    const unsigned char *end = node->data + walk->usable;
    struct cell cell = {0};
    uint64_t rowid;
    size_t size = 1;
    if (at < pointer || at + 4 > end)
        return malformed(walk, err);
    if (!node->is_leaf) {
        cell.child = get_u32(at);
        at += 4;
    }
    if (node->is_leaf || node->is_index) {
        size = cursor_varint(at, end, &cell.payload);
        at += size;
    }
    if (size && !node->is_index) {
        size = cursor_varint(at, end, &rowid);
        at += size;
    }
    if (!size || cell.payload > (uint64_t)1 << 31)
        return malformed(walk, err);
    uint32_t local = page_local_bytes(walk->usable, node->is_index, cell.payload);
    if (local < cell.payload) {
        cell.chain = page_overflow_count(walk->usable, cell.payload, local);
        cell.chain_unused = (uint64_t)cell.chain * (walk->usable - 4) - (cell.payload - local);
        at += 4;
    }
    cell.bytes = (uint32_t)(at - start) + local;
    if (cell.bytes < 4) /* SQLite never takes less */
        cell.bytes = 4;
    if (cell.bytes > (size_t)(end - start))
        return malformed(walk, err);
    *ret_cell = cell;
    return 0;
}

static int count_cell(struct walk *walk, const struct node *node, const struct cell *cell,
                      uint64_t *used, struct sqlpack_error *err)
{
    struct sqlpack_audit_table *table = walk->table;
    walk->seen += cell->chain;
    if (walk->seen > walk->page_count)
        return malformed(walk, err);
    *used += cell->bytes + 2;
    table->row_count += node->is_leaf || node->is_index;
    table->page_count += cell->chain;
    table->overflow_count += cell->chain;
    table->payload_bytes += cell->payload;
    table->unused_bytes += cell->chain_unused;
    return 0;
}

/* -- a tree ---------------------------------------------------------------------------------- */

/* Where the walk is, from the root down. */
struct place {
    struct node node;
    uint32_t next; /* the cell that comes next; behind the last is the right child */
    uint64_t used;
};

static int enter(struct walk *walk, struct place *places, int *depth, uint32_t number,
                 struct sqlpack_error *err)
{
    if (*depth == DEPTH_MAX)
        return malformed(walk, err);
    struct place *place = &places[*depth];
    if (read_node(walk, number, *depth, &place->node, err) < 0)
        return -1;
    place->next = 0;
    place->used = place->node.begin + place->node.header;
    walk->table->page_count++;
    ++*depth;
    return 0;
}

/* Takes one step. Returns the child to enter, 0: none. */
static int step(struct walk *walk, struct place *place, uint32_t *ret_child,
                struct sqlpack_error *err)
{
    const struct node *node = &place->node;
    struct cell cell = {0};
    *ret_child = 0;
    if (place->next == node->cells) {
        *ret_child = node->is_leaf ? 0 : get_u32(node->data + node->begin + 8);
    } else if (take_cell(walk, node, place->next, &cell, err) < 0 ||
               count_cell(walk, node, &cell, &place->used, err) < 0) {
        return -1;
    }
    place->next++;
    if (cell.child)
        *ret_child = cell.child;
    return 0;
}

static int walk_tree(struct walk *walk, uint32_t root, struct sqlpack_error *err)
{
    struct place places[DEPTH_MAX];
    int depth = 0;
    if (enter(walk, places, &depth, root, err) < 0)
        return -1;
    while (depth > 0) {
        struct place *place = &places[depth - 1];
        uint32_t child;
        if (place->next > place->node.cells) {
            if (place->used > walk->usable)
                return malformed(walk, err);
            walk->table->unused_bytes += walk->usable - place->used;
            depth--;
            continue;
        }
        if (step(walk, place, &child, err) < 0 ||
            (child && enter(walk, places, &depth, child, err) < 0))
            return -1;
    }
    return 0;
}

/* -- all ------------------------------------------------------------------------------------- */

static int walk_named(struct walk *walk, const char *name, int64_t root, struct sqlpack_error *err)
{
    struct sqlpack_audit_space *space = walk->space;
    if (space->table_count == SQLPACK_AUDIT_TABLES)
        return malformed(walk, err);
    walk->table = &space->tables[space->table_count++];
    snprintf(walk->table->name, sizeof(walk->table->name), "%s", name);
    if (root < 1 || root > UINT32_MAX)
        return malformed(walk, err);
    return walk_tree(walk, (uint32_t)root, err);
}

static int walk_all(struct walk *walk, struct sqlpack_error *err)
{
    auto_release(db_release) sqlite3_stmt *statement =
        db_prepare(walk->pack, STATEMENT_SCHEMA, err);
    if (!statement || walk_named(walk, "sqlite_schema", 1, err) < 0)
        return -1;
    int stepped;
    while ((stepped = db_step(walk->pack, statement, err)) > 0) {
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        int64_t root = sqlite3_column_int64(statement, 3);
        if (root && walk_named(walk, name ? name : "", root, err) < 0)
            return -1;
    }
    return stepped;
}

/* Adds the tables up. What no table has is either free or unused. */
static void add_up(struct sqlpack_audit_space *space, uint64_t free_pages, const char *name_index)
{
    uint64_t pages = free_pages, payload = 0;
    for (size_t i = 0; i < space->table_count; i++) {
        const struct sqlpack_audit_table *table = &space->tables[i];
        pages += table->page_count;
        space->unused_bytes += table->unused_bytes;
        if (strcmp(table->name, name_index) == 0)
            space->name_bytes = table->payload_bytes;
        else
            payload += table->payload_bytes;
    }
    space->free_bytes = free_pages * space->page_bytes;
    space->metadata_bytes = payload > space->stored_bytes ? payload - space->stored_bytes : 0;
    uint64_t known = pages * space->page_bytes;
    if (space->pack_bytes > known) /* the page that SQLite locks, and never uses */
        space->unused_bytes += space->pack_bytes - known;
    uint64_t told = space->stored_bytes + space->name_bytes + space->metadata_bytes +
                    space->unused_bytes + space->free_bytes;
    space->format_bytes = space->pack_bytes > told ? space->pack_bytes - told : 0;
}

int sqlpack_audit_pack(struct sqlpack *pack, struct sqlpack_audit_space *ret_space,
                       struct sqlpack_error *err)
{
    struct sqlpack_summary summary;
    if (sqlpack_info(pack, &summary, err) < 0)
        return -1;
    struct sqlpack_audit_space space = {
        .pack_bytes = summary.pack_bytes,
        .pack_allocated_bytes = summary.pack_allocated_bytes,
        .page_bytes = summary.page_bytes,
        .stored_bytes = summary.stored_bytes,
        .content_bytes = summary.content_bytes,
        .tree_allocated_bytes = summary.tree_allocated_bytes,
    };
    auto_free unsigned char *pages = calloc(DEPTH_MAX, space.page_bytes);
    struct walk walk = {.pack = pack,
                        .usable = db_usable_bytes(pack),
                        .page_count = summary.page_count,
                        .seen = summary.free_page_count,
                        .pages = pages,
                        .space = &space};
    if (!pages)
        return fail_no_memory(err);
    sqlite3_file_control(pack->db, "main", SQLITE_FCNTL_FILE_POINTER, &walk.file);
    if (!walk.file || !walk.file->pMethods)
        return fail_sqlite(err, pack->db, "cannot read '%s'", show(pack->path).text);
    if (walk_all(&walk, err) < 0)
        return -1;
    add_up(&space, summary.free_page_count,
           pack->is_own ? schema_tables[TABLE_SQLAR_NAME].name : "sqlite_autoindex_sqlar_1");
    *ret_space = space;
    return 0;
}

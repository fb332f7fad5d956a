/* SPDX-License-Identifier: MIT */
/* Steps through a b-tree of a pack page by page, past SQLite's virtual machine. */
#include <string.h>

#include "lib/internal.h"

/* A list takes two rows an entry, and SQLite about half a microsecond for each. The format is
 * frozen (sqlite.org/fileformat2.html), and the snapshot keeps the pages as they are. */

#define DEPTH_MAX 20 /* as in SQLite */

struct level {
    unsigned char *page; /* page_bytes of it; kept from one page of this level to the next */
    unsigned cell_count;
    unsigned at; /* a leaf: the next cell; else the child that was entered last */
    bool is_leaf;
};

struct cursor {
    struct sqlpack *pack;
    sqlite3_file *file;
    uint32_t root;
    bool is_index;
    uint32_t page_bytes;
    uint32_t usable; /* bytes of a page that the b-tree has */
    uint32_t page_count;
    int depth;        /* levels in use; 0: at the end */
    bool enters_next; /* an index: the next step begins behind an interior cell */
    struct level levels[DEPTH_MAX];
    struct buf payload; /* of a row that has overflow pages */
};

static int corrupt(const struct cursor *cursor, struct sqlpack_error *err)
{
    return db_corrupt(cursor->pack, err, "a page of its b-trees is malformed");
}

static uint32_t get_u16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t get_u32(const unsigned char *at)
{
    return get_u16(at) << 16 | get_u16(at + 2);
}

size_t cursor_varint(const unsigned char *at, const unsigned char *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 8 && at + i < end; i++) {
        value = value << 7 | (at[i] & 0x7f);
        if (at[i] < 0x80) {
            *ret_value = value;
            return i + 1;
        }
    }
    if (at + 8 >= end)
        return 0;
    *ret_value = value << 8 | at[8];
    return 9;
}

/* -- pages --------------------------------------------------------------------------------- */

static int read_page(struct cursor *cursor, uint32_t number, unsigned char *page,
                     struct sqlpack_error *err)
{
    if (number < 2 || number > cursor->page_count)
        return corrupt(cursor, err);
    int code = cursor->file->pMethods->xRead(cursor->file, page, (int)cursor->page_bytes,
                                             (sqlite3_int64)(number - 1) * cursor->page_bytes);
    if (code == SQLITE_OK)
        return 0;
    return fail(err, SQLPACK_IO, "cannot read '%s': %s", show(cursor->pack->path).text,
                sqlite3_errstr(code));
}

/* Reads a page as the next level down. Only an empty tree has a page without a cell. */
static int enter(struct cursor *cursor, uint32_t number, struct sqlpack_error *err)
{
    if (cursor->depth == DEPTH_MAX)
        return corrupt(cursor, err);
    struct level *level = &cursor->levels[cursor->depth];
    if (!level->page && !(level->page = calloc(1, cursor->page_bytes)))
        return fail_errno(err, "cannot read '%s'", show(cursor->pack->path).text);
    if (read_page(cursor, number, level->page, err) < 0)
        return -1;
    unsigned kind = level->page[0];
    level->is_leaf = kind == (cursor->is_index ? PAGE_INDEX_LEAF : PAGE_TABLE_LEAF);
    level->cell_count = get_u16(level->page + 3);
    level->at = 0;
    if ((!level->is_leaf &&
         kind != (cursor->is_index ? PAGE_INDEX_INTERIOR : PAGE_TABLE_INTERIOR)) ||
        (level->cell_count == 0 && (cursor->depth > 0 || !level->is_leaf)) ||
        12 + 2 * level->cell_count > cursor->usable)
        return corrupt(cursor, err);
    cursor->depth++;
    return 0;
}

/* Where a cell begins; NULL: nowhere sensible. */
static const unsigned char *cell_at(const struct cursor *cursor, const struct level *level,
                                    unsigned index)
{
    uint32_t head = level->is_leaf ? 8 : 12;
    uint32_t at = get_u16(level->page + head + (size_t)2 * index);
    if (at < head + 2 * level->cell_count || at + 4 > cursor->usable)
        return NULL;
    return level->page + at;
}

/* Enters the child at level->at: the one left of that cell, or the last one. */
static int enter_child(struct cursor *cursor, struct sqlpack_error *err)
{
    const struct level *level = &cursor->levels[cursor->depth - 1];
    const unsigned char *link =
        level->at == level->cell_count ? level->page + 8 : cell_at(cursor, level, level->at);
    if (!link)
        return corrupt(cursor, err);
    return enter(cursor, get_u32(link), err);
}

/* -- cells --------------------------------------------------------------------------------- */

/* Gathers a payload whose end stands in overflow pages. */
static int gather(struct cursor *cursor, const unsigned char *local, uint32_t local_bytes,
                  uint64_t payload_bytes, struct sqlpack_error *err)
{
    struct buf *payload = &cursor->payload;
    if (payload_bytes > CURSOR_PAYLOAD_MAX)
        return corrupt(cursor, err);
    auto_free unsigned char *page = calloc(1, cursor->page_bytes);
    payload->size = 0;
    if (!page || buf_append(payload, local, local_bytes) < 0)
        return fail_errno(err, "cannot read '%s'", show(cursor->pack->path).text);
    uint32_t next = get_u32(local + local_bytes);
    while (payload->size < payload_bytes) {
        if (read_page(cursor, next, page, err) < 0)
            return -1;
        size_t left = (size_t)payload_bytes - payload->size, room = cursor->usable - 4;
        if (buf_append(payload, page + 4, left < room ? left : room) < 0)
            return fail_errno(err, "cannot read '%s'", show(cursor->pack->path).text);
        next = get_u32(page);
    }
    return 0;
}

static int take_cell(struct cursor *cursor, const struct level *level, unsigned index,
                     struct cursor_row *ret_row, struct sqlpack_error *err)
{
    const unsigned char *end = level->page + cursor->usable;
    const unsigned char *at = cell_at(cursor, level, index);
    uint64_t payload_bytes, rowid = 0;
    size_t size;
    if (!at)
        return corrupt(cursor, err);
    if (!level->is_leaf)
        at += 4;
    if ((size = cursor_varint(at, end, &payload_bytes)) == 0)
        return corrupt(cursor, err);
    at += size;
    if (!cursor->is_index) {
        if ((size = cursor_varint(at, end, &rowid)) == 0)
            return corrupt(cursor, err);
        at += size;
    }
    uint32_t local_bytes = page_local_bytes(cursor->usable, cursor->is_index, payload_bytes);
    bool has_overflow = local_bytes < payload_bytes;
    if (local_bytes + (has_overflow ? 4U : 0U) > (size_t)(end - at))
        return corrupt(cursor, err);
    if (has_overflow) {
        if (gather(cursor, at, local_bytes, payload_bytes, err) < 0)
            return -1;
        at = (const unsigned char *)cursor->payload.data;
    }
    *ret_row = (struct cursor_row){(int64_t)rowid, at, (size_t)payload_bytes};
    return 0;
}

/* -- steps --------------------------------------------------------------------------------- */

/* Steps that end at a cell: up from leaves that are done, down into the next child. */
int cursor_next(struct cursor *cursor, struct cursor_row *ret_row, struct sqlpack_error *err)
{
    while (cursor->depth > 0) {
        struct level *level = &cursor->levels[cursor->depth - 1];
        if (cursor->enters_next) {
            cursor->enters_next = false;
            if (enter_child(cursor, err) < 0)
                return -1;
            while (!cursor->levels[cursor->depth - 1].is_leaf)
                if (enter_child(cursor, err) < 0)
                    return -1;
            continue;
        }
        if (level->at >= level->cell_count) {
            cursor->depth--;
            continue;
        }
        unsigned index = level->at++;
        cursor->enters_next = !level->is_leaf;
        if (!level->is_leaf && !cursor->is_index)
            continue;
        return take_cell(cursor, level, index, ret_row, err) < 0 ? -1 : 1;
    }
    return 0;
}

/* Whether the cell is where the search goes left: its key is the one looked for, or greater. */
static int reaches(struct cursor *cursor, const struct level *level, unsigned index,
                   const struct cursor_key *key, bool *ret_reaches, struct sqlpack_error *err)
{
    if (cursor->is_index) {
        struct cursor_row row;
        struct field name;
        if (take_cell(cursor, level, index, &row, err) < 0)
            return -1;
        if (!field_take(&row, &name, 1) || name.kind != FIELD_TEXT)
            return corrupt(cursor, err);
        size_t common = name.size < key->name_bytes ? name.size : key->name_bytes;
        int order = common ? memcmp(name.data, key->name, common) : 0;
        *ret_reaches = order > 0 || (order == 0 && name.size >= key->name_bytes);
        return 0;
    }
    uint64_t number;
    const unsigned char *end = level->page + cursor->usable;
    const unsigned char *at = cell_at(cursor, level, index);
    size_t size = 0;
    if (at && level->is_leaf)
        size = cursor_varint(at, end, &number); /* the payload's size */
    if (!at || (level->is_leaf && size == 0))
        return corrupt(cursor, err);
    at += level->is_leaf ? size : 4;
    if (cursor_varint(at, end, &number) == 0)
        return corrupt(cursor, err);
    *ret_reaches = (int64_t)number >= key->rowid;
    return 0;
}

/* Puts level->at on the first cell that reaches the key. */
static int search(struct cursor *cursor, struct level *level, const struct cursor_key *key,
                  struct sqlpack_error *err)
{
    unsigned low = 0, high = level->cell_count;
    while (low < high) {
        bool is_there = false;
        unsigned middle = (low + high) / 2;
        if (reaches(cursor, level, middle, key, &is_there, err) < 0)
            return -1;
        if (is_there)
            high = middle;
        else
            low = middle + 1;
    }
    level->at = low;
    return 0;
}

int cursor_seek(struct cursor *cursor, const struct cursor_key *key, struct sqlpack_error *err)
{
    cursor->depth = 0;
    cursor->enters_next = false;
    if (enter(cursor, cursor->root, err) < 0)
        return -1;
    for (;;) {
        struct level *level = &cursor->levels[cursor->depth - 1];
        if (search(cursor, level, key, err) < 0)
            return -1;
        if (level->is_leaf)
            return 0;
        if (enter_child(cursor, err) < 0)
            return -1;
    }
}

/* -- open and close ------------------------------------------------------------------------ */

int cursor_next_name(struct cursor *cursor, int64_t *ret_id, const char **ret_name,
                     size_t *ret_size, struct sqlpack_error *err)
{
    struct cursor_row row;
    struct field fields[2];
    int stepped = cursor_next(cursor, &row, err);
    if (stepped <= 0)
        return stepped;
    if (!field_take(&row, fields, 2) || fields[0].kind != FIELD_TEXT ||
        fields[1].kind != FIELD_INT || memchr(fields[0].data, '\0', fields[0].size))
        return db_corrupt(cursor->pack, err, "a name is no text");
    *ret_id = fields[1].number;
    *ret_name = fields[0].data;
    *ret_size = fields[0].size;
    return 1;
}

int cursor_open(struct sqlpack *pack, enum table table, struct cursor **ret_cursor,
                struct sqlpack_error *err)
{
    struct cursor *cursor = calloc(1, sizeof(*cursor));
    if (!cursor)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    cursor->pack = pack;
    cursor->root = pack->roots[table];
    cursor->is_index = table == TABLE_SQLAR_NAME;
    cursor->page_bytes = db_page_bytes(pack);
    cursor->usable = db_usable_bytes(pack);
    cursor->page_count = (uint32_t)(pack->file_bytes / cursor->page_bytes);
    sqlite3_file_control(pack->db, "main", SQLITE_FCNTL_FILE_POINTER, &cursor->file);
    *ret_cursor = cursor;
    return 0;
}

void cursor_close(struct cursor *cursor)
{
    if (!cursor)
        return;
    for (int i = 0; i < DEPTH_MAX; i++)
        free(cursor->levels[i].page);
    buf_release(&cursor->payload);
    free(cursor);
}

/* SPDX-License-Identifier: MIT */
/* B-trees appended in order: leaves filled to the brim, the pages above them as they get full. */
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

/* Leaves are written in runs of about this size, so that a table's pages lie together. */
#define RUN_BYTES ((uint32_t)256 << 10)

/* A page that a page above will point to. */
struct child {
    uint32_t number;
    int64_t rowid; /* of a table: the last row in it */
};

/* A level above the leaves of a table: the children that no page holds yet. */
struct table_level {
    struct child *children;
    size_t count, capacity;
    size_t fitting;      /* how many of them fit into one page */
    uint32_t cell_bytes; /* what their cells take */
};

/* An index keeps entries on every level. */
struct index_level {
    struct page page; /* its cells are written with their left children */
    uint32_t last_cell_bytes;
    bool is_open;
    bool is_pending; /* an entry came that the page has no room for */
    uint32_t pending_child;
    uint32_t pending_bytes;
    struct buf pending; /* the entry as a cell without its child; empty while only counting */
};

#define LEVELS_MAX 20 /* SQLite's own limit, BTCURSOR_MAX_DEPTH */
struct tree {
    struct page_file *file;
    uint32_t root;
    bool is_index;
    struct page leaf; /* of a table: the open one */
    bool leaf_is_open;
    int64_t last_rowid;
    unsigned char *run; /* images of full leaves, which have no number yet */
    uint32_t run_count, run_capacity;
    struct child *run_children; /* of a table: their last rows */
    struct buf run_entries;     /* of an index: the entries between them, each behind its size */
    struct table_level table[LEVELS_MAX];
    struct index_level index[LEVELS_MAX];
    struct buf cell; /* room to make one */
};

/* -- the making of a tree -- */

struct tree *tree_new(struct page_file *file, uint32_t root, bool is_index)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return NULL;
    uint32_t run = RUN_BYTES / file->page_bytes;
    *tree = (struct tree){.file = file, .root = root, .is_index = is_index, .run_capacity = run};
    tree->run_children = calloc(run, sizeof(*tree->run_children));
    if (tree->run_children)
        return tree;
    free(tree);
    return NULL;
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    for (int i = 0; i < LEVELS_MAX; i++) {
        free(tree->table[i].children);
        free(tree->index[i].page.data);
        buf_release(&tree->index[i].pending);
    }
    free(tree->leaf.data);
    free(tree->run);
    free(tree->run_children);
    buf_release(&tree->run_entries);
    buf_release(&tree->cell);
    free(tree);
}

/* Begins a page in its own memory, made at the first use. */
static int open_page(const struct tree *tree, struct page *page, enum page_kind kind,
                     struct sqlpack_error *err)
{
    unsigned char *data = page->data;
    if (!data && tree->file->fd >= 0) {
        data = malloc(tree->file->page_bytes);
        if (!data)
            return fail_no_memory(err);
    }
    page_begin(page, data, tree->file->page_bytes, kind);
    return 0;
}

/* Ends a page and writes it under a number of its own, or as the root. */
static int write_page(const struct tree *tree, struct page *page, uint32_t right_child,
                      uint32_t number, struct sqlpack_error *err)
{
    page_end(page, right_child);
    return page_file_write(tree->file, number, page->data, tree->file->page_bytes, err);
}

/* -- tables: a page above the leaves holds numbers and row ids only -- */

static uint32_t child_cell_bytes(const struct child *child)
{
    return 4 + page_varint_bytes((uint64_t)child->rowid);
}

/* Counts how many of the children fit; the last one in a page needs no cell. */
static void fit_children(const struct tree *tree, struct table_level *level)
{
    if (level->fitting == 0 && level->count > 0) {
        level->fitting = 1;
        level->cell_bytes = 0;
    }
    while (level->fitting < level->count) {
        uint32_t more = child_cell_bytes(&level->children[level->fitting - 1]) + 2;
        if (12 + level->cell_bytes + more > tree->file->page_bytes)
            break;
        level->cell_bytes += more;
        level->fitting++;
    }
}

static int add_child(struct tree *tree, int depth, struct child child, struct sqlpack_error *err);

/* Writes the first `count` children as one page: the root, or a child of the level above. */
static int write_children(struct tree *tree, int depth, size_t count, bool as_root,
                          struct sqlpack_error *err)
{
    struct table_level *level = &tree->table[depth];
    auto_free unsigned char *image = tree->file->fd < 0 ? NULL : malloc(tree->file->page_bytes);
    if (tree->file->fd >= 0 && !image)
        return fail_no_memory(err);
    struct page page;
    page_begin(&page, image, tree->file->page_bytes, PAGE_TABLE_INTERIOR);
    for (size_t i = 0; i + 1 < count; i++) {
        const struct child *child = &level->children[i];
        unsigned char *at = page_add(&page, child_cell_bytes(child));
        if (at)
            page_put_varint(page_put_u32(at, child->number), (uint64_t)child->rowid);
    }
    struct child last = level->children[count - 1];
    uint32_t number = as_root ? tree->root : page_file_take(tree->file);
    if (write_page(tree, &page, last.number, number, err) < 0)
        return -1;
    level->count -= count;
    memmove(level->children, level->children + count, level->count * sizeof(*level->children));
    level->fitting = 0;
    fit_children(tree, level);
    if (as_root)
        return 0;
    return add_child(tree, depth + 1, (struct child){number, last.rowid}, err);
}

static int add_child(struct tree *tree, int depth, struct child child, struct sqlpack_error *err)
{
    if (depth >= LEVELS_MAX)
        return fail(err, SQLPACK_UNSUPPORTED, "too many rows for one table");
    struct table_level *level = &tree->table[depth];
    if (level->count == level->capacity) {
        size_t capacity = level->capacity ? 2 * level->capacity : 64;
        struct child *children = realloc(level->children, capacity * sizeof(*children));
        if (!children)
            return fail_no_memory(err);
        level->children = children;
        level->capacity = capacity;
    }
    level->children[level->count++] = child;
    fit_children(tree, level);
    /* two must stay behind: SQLite takes a page above the leaves without a cell for damage */
    if (level->count >= level->fitting + 2)
        return write_children(tree, depth, level->fitting, false, err);
    return 0;
}

int tree_add_leaf(struct tree *tree, uint32_t number, int64_t rowid, struct sqlpack_error *err)
{
    return add_child(tree, 0, (struct child){number, rowid}, err);
}

static int finish_table_levels(struct tree *tree, struct sqlpack_error *err)
{
    for (int depth = 0; depth < LEVELS_MAX; depth++) {
        struct table_level *level = &tree->table[depth];
        if (level->count > level->fitting) {
            size_t rest = level->count - level->fitting;
            size_t first = rest > 1 ? level->fitting : level->fitting - 1;
            if (write_children(tree, depth, first, false, err) < 0)
                return -1;
        }
        bool is_top = depth + 1 == LEVELS_MAX || tree->table[depth + 1].count == 0;
        if (level->count > 0 && write_children(tree, depth, level->count, is_top, err) < 0)
            return -1;
        if (is_top)
            return 0;
    }
    return 0;
}

/* -- indexes: an entry that a page has no room for goes up and parts it from the next -- */

static int index_add(struct tree *tree, int depth, uint32_t child, const unsigned char *cell,
                     uint32_t cell_bytes, struct sqlpack_error *err);

static void put_entry(struct index_level *level, bool is_leaf, uint32_t child,
                      const unsigned char *cell, uint32_t cell_bytes)
{
    unsigned char *at = page_add(&level->page, cell_bytes + (is_leaf ? 0 : 4));
    level->last_cell_bytes = cell_bytes + (is_leaf ? 0 : 4);
    if (!at || !cell) /* only counted */
        return;
    if (!is_leaf)
        at = page_put_u32(at, child);
    memcpy(at, cell, cell_bytes);
}

static int flush_run(struct tree *tree, struct sqlpack_error *err);

/* Puts the image of a full leaf into the run. */
static int add_to_run(struct tree *tree, struct page *leaf, struct sqlpack_error *err)
{
    if (tree->file->fd >= 0 && !tree->run) {
        tree->run = malloc((size_t)tree->run_capacity * tree->file->page_bytes);
        if (!tree->run)
            return fail_no_memory(err);
    }
    page_end(leaf, 0);
    if (leaf->data)
        memcpy(tree->run + (size_t)tree->run_count * tree->file->page_bytes, leaf->data,
               tree->file->page_bytes);
    tree->run_count++;
    return 0;
}

/* Remembers the entry between the last leaf of the run and the next. */
static int add_run_entry(struct tree *tree, const unsigned char *cell, uint32_t cell_bytes,
                         struct sqlpack_error *err)
{
    if (buf_append(&tree->run_entries, &cell_bytes, sizeof(cell_bytes)) < 0 ||
        (cell && buf_append(&tree->run_entries, cell, cell_bytes) < 0))
        return fail_no_memory(err);
    return 0;
}

/* Ends the level's page, which gets the entry behind it: up into the level above. */
static int close_index_page(struct tree *tree, int depth, uint32_t right_child,
                            const unsigned char *cell, uint32_t cell_bytes,
                            struct sqlpack_error *err)
{
    struct index_level *level = &tree->index[depth];
    if (depth == 0) {
        if (add_to_run(tree, &level->page, err) < 0 ||
            add_run_entry(tree, cell, cell_bytes, err) < 0)
            return -1;
        return tree->run_count == tree->run_capacity ? flush_run(tree, err) : 0;
    }
    uint32_t number = page_file_take(tree->file);
    if (write_page(tree, &level->page, right_child, number, err) < 0)
        return -1;
    return index_add(tree, depth + 1, number, cell, cell_bytes, err);
}

static int open_index_page(struct tree *tree, int depth, struct sqlpack_error *err)
{
    tree->index[depth].is_open = true;
    return open_page(tree, &tree->index[depth].page,
                     depth == 0 ? PAGE_INDEX_LEAF : PAGE_INDEX_INTERIOR, err);
}

/* The entry that waited parts the page from a new one. */
static int part_at_pending(struct tree *tree, int depth, struct sqlpack_error *err)
{
    struct index_level *level = &tree->index[depth];
    level->is_pending = false;
    const unsigned char *cell = (const unsigned char *)level->pending.data;
    if (close_index_page(tree, depth, level->pending_child, cell, level->pending_bytes, err) < 0)
        return -1;
    return open_index_page(tree, depth, err);
}

static int index_add(struct tree *tree, int depth, uint32_t child, const unsigned char *cell,
                     uint32_t cell_bytes, struct sqlpack_error *err)
{
    if (depth >= LEVELS_MAX)
        return fail(err, SQLPACK_UNSUPPORTED, "too many rows for one index");
    struct index_level *level = &tree->index[depth];
    if (!level->is_open && open_index_page(tree, depth, err) < 0)
        return -1;
    if (level->is_pending && part_at_pending(tree, depth, err) < 0)
        return -1;
    if (page_has_room(&level->page, cell_bytes + (depth ? 4 : 0))) {
        put_entry(level, depth == 0, child, cell, cell_bytes);
        return 0;
    }
    level->is_pending = true;
    level->pending_child = child;
    level->pending_bytes = cell_bytes;
    level->pending.size = 0;
    if (cell && buf_append(&level->pending, cell, cell_bytes) < 0)
        return fail_no_memory(err);
    return 0;
}

int tree_count_index_leaf(struct tree *tree, uint32_t cell_bytes, struct sqlpack_error *err)
{
    return index_add(tree, 1, page_file_take(tree->file), NULL, cell_bytes, err);
}

/*
 * The last entry of all waits, and nothing came behind it that could fill a page
 * of its own: it takes the place of the page's last entry, which goes up instead.
 */
static int share_last_pages(struct tree *tree, int depth, struct sqlpack_error *err)
{
    struct index_level *level = &tree->index[depth];
    uint32_t child_bytes = depth ? 4 : 0, moved = level->last_cell_bytes - child_bytes;
    auto_free unsigned char *cell = NULL;
    uint32_t left = 0;
    if (level->page.data) {
        const unsigned char *at = level->page.data + level->page.content_at;
        cell = malloc(moved);
        if (!cell)
            return fail_no_memory(err);
        if (depth)
            left = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
        memcpy(cell, at + child_bytes, moved);
    }
    page_take_back(&level->page, level->last_cell_bytes);
    if (close_index_page(tree, depth, left, cell, moved, err) < 0 ||
        open_index_page(tree, depth, err) < 0)
        return -1;
    level->is_pending = false;
    put_entry(level, depth == 0, level->pending_child, (const unsigned char *)level->pending.data,
              level->pending_bytes);
    return 0;
}

static int finish_index(struct tree *tree, struct sqlpack_error *err)
{
    uint32_t right_child = 0;
    for (int depth = 0; depth < LEVELS_MAX; depth++) {
        struct index_level *level = &tree->index[depth];
        if (!level->is_open && open_index_page(tree, depth, err) < 0)
            return -1;
        if (level->is_pending && share_last_pages(tree, depth, err) < 0)
            return -1;
        if (depth == 0 && flush_run(tree, err) < 0)
            return -1;
        bool is_top = depth + 1 == LEVELS_MAX || !tree->index[depth + 1].is_open;
        uint32_t number = is_top ? tree->root : page_file_take(tree->file);
        if (write_page(tree, &level->page, right_child, number, err) < 0)
            return -1;
        if (is_top)
            return 0;
        right_child = number;
    }
    return 0;
}

/* Writes the images of a run from one to before another, which have consecutive numbers. */
static int write_run(const struct tree *tree, uint32_t from, uint32_t to, struct sqlpack_error *err)
{
    size_t page_bytes = tree->file->page_bytes;
    if (!tree->run || from == to)
        return 0;
    return page_file_write(tree->file, tree->run_children[from].number,
                           tree->run + from * page_bytes, (to - from) * page_bytes, err);
}

/* Gives the leaves of the run their numbers and writes them. */
static int number_run(const struct tree *tree, uint32_t count, struct sqlpack_error *err)
{
    uint32_t written = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = page_file_take(tree->file);
        tree->run_children[i].number = number;
        if (i > 0 && number != tree->run_children[i - 1].number + 1) {
            /* the lock page lies between */
            if (write_run(tree, written, i, err) < 0)
                return -1;
            written = i;
        }
    }
    return write_run(tree, written, count, err);
}

/* Puts the leaves of the run into the file, and tells the level above. */
static int flush_run(struct tree *tree, struct sqlpack_error *err)
{
    uint32_t count = tree->run_count;
    tree->run_count = 0;
    if (number_run(tree, count, err) < 0)
        return -1;
    const char *entry = tree->run_entries.data;
    for (uint32_t i = 0; i < count; i++) {
        if (!tree->is_index) {
            if (add_child(tree, 0, tree->run_children[i], err) < 0)
                return -1;
            continue;
        }
        uint32_t bytes;
        memcpy(&bytes, entry, sizeof(bytes));
        entry += sizeof(bytes);
        const unsigned char *cell = tree->file->fd < 0 ? NULL : (const unsigned char *)entry;
        if (index_add(tree, 1, tree->run_children[i].number, cell, bytes, err) < 0)
            return -1;
        entry += cell ? bytes : 0;
    }
    tree->run_entries.size = 0;
    return 0;
}

static int close_leaf(struct tree *tree, struct sqlpack_error *err)
{
    if (add_to_run(tree, &tree->leaf, err) < 0)
        return -1;
    tree->run_children[tree->run_count - 1].rowid = tree->last_rowid;
    return tree->run_count == tree->run_capacity ? flush_run(tree, err) : 0;
}

static int finish_table(struct tree *tree, struct sqlpack_error *err)
{
    bool is_alone = tree->run_count == 0 && tree->table[0].count == 0;
    if (!tree->leaf_is_open && is_alone && open_page(tree, &tree->leaf, PAGE_TABLE_LEAF, err) < 0)
        return -1;
    if (is_alone)
        return write_page(tree, &tree->leaf, 0, tree->root, err);
    if (tree->leaf_is_open && close_leaf(tree, err) < 0)
        return -1;
    if (flush_run(tree, err) < 0)
        return -1;
    return finish_table_levels(tree, err);
}

/* Makes the cell of a row without a child: in tree->cell, or only its size while counting. */
static int make_cell(struct tree *tree, int64_t rowid, const struct payload *payload,
                     uint32_t *ret_bytes, struct sqlpack_error *err)
{
    uint64_t total = payload_bytes(payload);
    uint32_t local = page_local_bytes(tree->file->page_bytes, tree->is_index, total);
    uint32_t chain = 0;
    if (local < total) {
        chain = page_file_write_chain(tree->file, payload, local, err);
        if (chain == 0)
            return -1;
    }
    uint32_t bytes = page_varint_bytes(total) + local + (chain ? 4 : 0);
    if (!tree->is_index)
        bytes += page_varint_bytes((uint64_t)rowid);
    *ret_bytes = bytes;
    if (tree->file->fd < 0)
        return 0;
    tree->cell.size = 0;
    if (buf_reserve(&tree->cell, bytes) < 0)
        return fail_no_memory(err);
    unsigned char *at = page_put_varint((unsigned char *)tree->cell.data, total);
    if (!tree->is_index)
        at = page_put_varint(at, (uint64_t)rowid);
    if (payload_copy(payload, 0, at, local) < 0)
        return fail_errno(err, "cannot read back what is to be packed");
    if (chain)
        page_put_u32(at + local, chain);
    return 0;
}

int tree_append(struct tree *tree, int64_t rowid, const struct payload *payload,
                struct sqlpack_error *err)
{
    uint32_t bytes;
    if (make_cell(tree, rowid, payload, &bytes, err) < 0)
        return -1;
    const unsigned char *cell = tree->file->fd < 0 ? NULL : (unsigned char *)tree->cell.data;
    if (tree->is_index)
        return index_add(tree, 0, 0, cell, bytes, err);
    if (tree->leaf_is_open && !page_has_room(&tree->leaf, bytes)) {
        if (close_leaf(tree, err) < 0)
            return -1;
        tree->leaf_is_open = false;
    }
    if (!tree->leaf_is_open && open_page(tree, &tree->leaf, PAGE_TABLE_LEAF, err) < 0)
        return -1;
    tree->leaf_is_open = true;
    tree->last_rowid = rowid;
    unsigned char *at = page_add(&tree->leaf, bytes);
    if (at && cell)
        memcpy(at, cell, bytes);
    return 0;
}

int tree_finish(struct tree *tree, struct sqlpack_error *err)
{
    return tree->is_index ? finish_index(tree, err) : finish_table(tree, err);
}

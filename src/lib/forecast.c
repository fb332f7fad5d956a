/* SPDX-License-Identifier: MIT */
/* Counts the pages of a pack for every page size at once: what the loader would do, much faster. */
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

/*
 * The leaves of the three large trees are counted here, since what a row takes in
 * a leaf is nearly always the same for all page sizes; whatever a full leaf leads
 * to is left to the loader's own trees.
 */
struct leaves {
    uint32_t room[SQLPACK_PAGE_SIZES];          /* left in the open leaf */
    bool is_split[SQLPACK_PAGE_SIZES];          /* there is a leaf before the open one */
    int64_t last_rowid;                         /* of a table */
    uint32_t last_bytes[SQLPACK_PAGE_SIZES];    /* of an index: the last cell in the open leaf */
    uint32_t pending_bytes[SQLPACK_PAGE_SIZES]; /* ... a cell that it has no room for; 0: none */
};

struct forecast {
    struct loader *loaders[SQLPACK_PAGE_SIZES];
    struct leaves leaves[TABLE_STAT + 1];
    uint32_t most_local[2][SQLPACK_PAGE_SIZES]; /* of a table, of an index */
};

#define LEAF_HEADER   8
#define POINTER_BYTES 2

static uint32_t page_bytes_of(size_t i)
{
    return (uint32_t)512 << i;
}

void forecast_close(struct forecast *forecast)
{
    if (!forecast)
        return;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        loader_close(forecast->loaders[i]);
    free(forecast);
}

int forecast_open(struct forecast **ret_forecast, struct sqlpack_error *err)
{
    struct forecast *forecast = calloc(1, sizeof(*forecast));
    if (!forecast)
        return fail_no_memory(err);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        if (loader_open(-1, "", page_bytes_of(i), &forecast->loaders[i], err) < 0) {
            forecast_close(forecast);
            return -1;
        }
        for (int is_index = 0; is_index < 2; is_index++)
            forecast->most_local[is_index][i] = page_most_local(page_bytes_of(i), is_index);
        for (size_t table = 0; table <= TABLE_STAT; table++)
            forecast->leaves[table].room[i] = page_bytes_of(i) - LEAF_HEADER;
    }
    *ret_forecast = forecast;
    return 0;
}

struct loader *forecast_loader(const struct forecast *forecast, size_t i)
{
    return forecast->loaders[i];
}

/* A table's open leaf is full. */
static int close_leaf(struct forecast *forecast, enum table table, size_t i,
                      struct sqlpack_error *err)
{
    struct leaves *leaves = &forecast->leaves[table];
    uint32_t number = page_file_take(loader_file(forecast->loaders[i]));
    leaves->room[i] = page_bytes_of(i) - LEAF_HEADER;
    leaves->is_split[i] = true;
    return tree_add_leaf(loader_tree(forecast->loaders[i], table), number, leaves->last_rowid, err);
}

/* An entry came for which an index's leaf has no room, and another behind it. */
static int part_leaf(struct forecast *forecast, enum table table, size_t i,
                     struct sqlpack_error *err)
{
    struct leaves *leaves = &forecast->leaves[table];
    uint32_t bytes = leaves->pending_bytes[i];
    leaves->pending_bytes[i] = 0;
    leaves->room[i] = page_bytes_of(i) - LEAF_HEADER;
    return tree_count_index_leaf(loader_tree(forecast->loaders[i], table), bytes, err);
}

/* Counts the overflow pages of a row. Returns its bytes in the leaf but for its numbers. */
static uint32_t take_chain(struct forecast *forecast, size_t i, bool is_index,
                           uint64_t payload_bytes, uint32_t *ret_chain)
{
    *ret_chain = 0;
    if (payload_bytes <= forecast->most_local[is_index][i])
        return (uint32_t)payload_bytes;
    uint32_t local = page_local_bytes(page_bytes_of(i), is_index, payload_bytes);
    *ret_chain = page_overflow_count(page_bytes_of(i), payload_bytes, local);
    page_file_take_many(loader_file(forecast->loaders[i]), *ret_chain);
    return local + 4;
}

static int count_table_row(struct forecast *forecast, enum table table, int64_t rowid,
                           uint64_t payload_bytes, uint32_t *ret_chains, struct sqlpack_error *err)
{
    struct leaves *leaves = &forecast->leaves[table];
    uint32_t fixed = page_varint_bytes(payload_bytes) + page_varint_bytes((uint64_t)rowid);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        uint32_t need =
            fixed + POINTER_BYTES + take_chain(forecast, i, false, payload_bytes, &ret_chains[i]);
        if (need > leaves->room[i] && close_leaf(forecast, table, i, err) < 0)
            return -1;
        leaves->room[i] -= need;
    }
    leaves->last_rowid = rowid;
    return 0;
}

static int count_index_row(struct forecast *forecast, enum table table, uint64_t payload_bytes,
                           uint32_t *ret_chains, struct sqlpack_error *err)
{
    struct leaves *leaves = &forecast->leaves[table];
    uint32_t fixed = page_varint_bytes(payload_bytes);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        uint32_t cell = fixed + take_chain(forecast, i, true, payload_bytes, &ret_chains[i]);
        if (leaves->pending_bytes[i] && part_leaf(forecast, table, i, err) < 0)
            return -1;
        if (cell + POINTER_BYTES > leaves->room[i]) {
            leaves->pending_bytes[i] = cell;
        } else {
            leaves->room[i] -= cell + POINTER_BYTES;
            leaves->last_bytes[i] = cell;
        }
    }
    return 0;
}

int forecast_row(struct forecast *forecast, enum table table, int64_t rowid, uint64_t payload_bytes,
                 uint32_t ret_chains[SQLPACK_PAGE_SIZES], struct sqlpack_error *err)
{
    uint32_t chains[SQLPACK_PAGE_SIZES];
    if (!ret_chains)
        ret_chains = chains;
    return table == TABLE_SQLAR_NAME
               ? count_index_row(forecast, table, payload_bytes, ret_chains, err)
               : count_table_row(forecast, table, rowid, payload_bytes, ret_chains, err);
}

/* Ends the leaves of one page size; an entry that waits shares the last two pages of an index. */
static int finish_leaves(struct forecast *forecast, size_t i, struct sqlpack_error *err)
{
    if (forecast->leaves[TABLE_SQLAR].is_split[i] && close_leaf(forecast, TABLE_SQLAR, i, err) < 0)
        return -1;
    if (forecast->leaves[TABLE_STAT].is_split[i] && close_leaf(forecast, TABLE_STAT, i, err) < 0)
        return -1;
    struct leaves *names = &forecast->leaves[TABLE_SQLAR_NAME];
    if (!names->pending_bytes[i])
        return 0;
    names->pending_bytes[i] = names->last_bytes[i];
    return part_leaf(forecast, TABLE_SQLAR_NAME, i, err);
}

int forecast_finish(struct forecast *forecast, uint64_t ret_pages[SQLPACK_PAGE_SIZES],
                    struct sqlpack_error *err)
{
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        if (finish_leaves(forecast, i, err) < 0 || loader_finish(forecast->loaders[i], err) < 0)
            return -1;
        ret_pages[i] = loader_page_count(forecast->loaders[i]);
    }
    return 0;
}

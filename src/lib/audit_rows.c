/* SPDX-License-Identifier: MIT */
/* Counts the rows that a pack of the tree would have: the same records, ids and order as pack. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/audit.h"

int rows_open(struct rows *rows, const char *dir, struct sqlpack_pack_result *counts,
              const struct sqlpack_pack_options *options, struct sqlpack_error *err)
{
    rows->packer = (struct packer){.dir = dir, .path = "", .options = options, .result = counts};
    rows->packer.ids.next = 1;
    rows->packer.loss_hash = hash_stream_new();
    rows->links = links_new();
    if (!rows->packer.loss_hash || !rows->links)
        return fail_no_memory(err);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        if (values_init(&rows->pages[i]) < 0)
            return fail_no_memory(err);
    rows->root_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rows->root_fd < 0)
        return fail_errno(err, "cannot read folder '%s'", show(dir).text);
    return forecast_open(&rows->forecast, err);
}

void rows_release(struct rows *rows)
{
    forecast_close(rows->forecast);
    links_free(rows->links);
    hash_stream_free(rows->packer.loss_hash);
    free(rows->packer.users.ids);
    free(rows->packer.groups.ids);
    record_release(&rows->packer.record);
    buf_release(&rows->packer.room);
    buf_release(&rows->late_folders);
    buf_release(&rows->late_files);
    buf_release(&rows->losses);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        values_release(&rows->pages[i]);
    if (rows->root_fd >= 0)
        close(rows->root_fd);
}

/* -- files in chunks ------------------------------------------------------------------------- */

/* Appends a record, and `tail_bytes` behind it, to a table of every page size. */
static int append_everywhere(struct rows *rows, enum table table, int64_t rowid,
                             uint64_t tail_bytes, struct sqlpack_error *err)
{
    const struct payload payload = {.head_bytes = record_size(&rows->packer.record),
                                    .tail_bytes = tail_bytes};
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        struct loader *loader = forecast_loader(rows->forecast, i);
        uint64_t before = loader_page_count(loader);
        if (loader_append(loader, table, rowid, &payload, err) < 0)
            return -1;
        if (table == TABLE_CHUNK)
            rows->chunk_pages[i] += loader_page_count(loader) - before;
    }
    return 0;
}

static int add_run(struct rows *rows, int64_t id, struct data_run run, struct sqlpack_error *err)
{
    while (run.from < run.to) {
        struct data_run cut = run_cut(&run);
        uint64_t size = cut.to - cut.from;
        const struct piece piece = {.offset = cut.from, .len = size, .stored_bytes = size};
        int64_t rowid = ++rows->packer.chunk_rows;
        rows_chunk(&rows->packer.record, id, &piece);
        if (append_everywhere(rows, TABLE_CHUNK, rowid, size, err) < 0)
            return -1;
        rows_chunk_key(&rows->packer.record, id, &piece, rowid);
        if (append_everywhere(rows, TABLE_CHUNK_KEY, 0, 0, err) < 0)
            return -1;
        rows->chunk_bytes += size;
        rows->packer.result->stored_bytes += size;
    }
    return 0;
}

/* Looks where a file has data. One that cannot be opened any more counts as having no holes. */
static int add_chunks(struct rows *rows, const struct sqlpack_entry *entry, bool is_sparse,
                      struct sqlpack_error *err)
{
    struct stat stat;
    struct data_run run;
    auto_close int fd = is_sparse ? audit_open(rows->root_fd, entry->name, &stat) : -1;
    for (uint64_t at = 0; run_next(fd, at, entry->sz, &run); at = run.to)
        if (add_run(rows, entry->id, run, err) < 0)
            return -1;
    return 0;
}

/* -- one entry ------------------------------------------------------------------------------- */

/* Makes a further name of a file a link, as pack does. */
static int resolve_link(struct rows *rows, struct sqlpack_entry *entry, const struct stat *stat,
                        bool is_chunked, struct sqlpack_error *err)
{
    bool has_names = S_ISREG(entry->mode) && stat->st_nlink > 1;
    const struct link_group *group = has_names ? links_find(rows->links, stat) : NULL;
    entry->link = group ? group->id : 0;
    entry->target = group ? group->name : entry->target;
    entry->id = ids_take(&rows->packer.ids, entry, is_chunked);
    if (!has_names || group)
        return 0;
    const struct link_group first = {.id = entry->id, .name = (char *)(uintptr_t)entry->name};
    return links_add(rows->links, stat, &first) < 0 ? fail_no_memory(err) : 0;
}

/* Counts the pages of a file's row, for the time of its reads. */
static void count_chains(struct rows *rows, const uint32_t chains[SQLPACK_PAGE_SIZES])
{
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        rows->chains[i] += chains[i];
        values_add(&rows->pages[i], 1 + (uint64_t)chains[i], 1);
    }
}

/* Counts the rows of sqlpack_stat and sqlar. */
static int add_rows(struct rows *rows, const struct sqlpack_entry *entry, bool is_chunked,
                    struct sqlpack_error *err)
{
    struct record *record = &rows->packer.record;
    uint32_t chains[SQLPACK_PAGE_SIZES];
    rows_stat(record, entry, 0);
    uint64_t stat_bytes = record_size(record);
    if (rows_sqlar(record, &rows->packer.room, entry, is_chunked, entry->sz) < 0)
        return fail_no_memory(err);
    bool is_file = S_ISREG(entry->mode) && !entry->link;
    uint64_t sqlar_bytes = record_size(record) + (is_file && !is_chunked ? entry->sz : 0);
    if (entry->id >= ID_LATE_FOLDER) {
        const struct late_size late = {(uint32_t)stat_bytes, (uint32_t)sqlar_bytes};
        struct buf *list = is_chunked ? &rows->late_files : &rows->late_folders;
        return buf_append(list, &late, sizeof(late)) < 0 ? fail_no_memory(err) : 0;
    }
    if (forecast_row(rows->forecast, TABLE_STAT, entry->id, stat_bytes, NULL, err) < 0)
        return -1;
    if (!entry->name[0])
        return 0;
    if (forecast_row(rows->forecast, TABLE_SQLAR, entry->id, sqlar_bytes, chains, err) < 0)
        return -1;
    if (!is_file)
        return 0;
    rows->packer.result->stored_bytes += entry->sz;
    count_chains(rows, chains);
    return 0;
}

int rows_add(struct rows *rows, const struct survey_entry *found, struct row_made *ret_made,
             struct sqlpack_error *err)
{
    uint64_t stored_before = rows->packer.result->stored_bytes;
    struct sqlpack_entry entry = found->entry;
    struct packer *packer = &rows->packer;
    bool is_chunked = found->is_sparse || (S_ISREG(entry.mode) && entry.sz > ROW_CONTENT_MAX);
    entry.has_digest = S_ISREG(entry.mode) || S_ISLNK(entry.mode);
    if (resolve_link(rows, &entry, &found->stat, is_chunked, err) < 0)
        return -1;
    is_chunked = is_chunked && !entry.link;
    if (owner_set_add(&packer->users, entry.uid) < 0 ||
        owner_set_add(&packer->groups, entry.gid) < 0)
        return fail_no_memory(err);
    rows_count(packer->result, &entry, &found->stat);
    if (entry.name[0]) {
        rows_name(&packer->record, &entry);
        if (forecast_row(rows->forecast, TABLE_SQLAR_NAME, 0, record_size(&packer->record), NULL,
                         err) < 0)
            return -1;
    }
    if (add_rows(rows, &entry, is_chunked, err) < 0 ||
        (is_chunked && add_chunks(rows, &entry, found->is_sparse, err) < 0))
        return -1;
    if (entry.link)
        links_met(rows->links, &found->stat);
    *ret_made = (struct row_made){.is_further = entry.link != 0,
                                  .is_chunked = is_chunked,
                                  .data_bytes = packer->result->stored_bytes - stored_before};
    return 0;
}

/* -- the end --------------------------------------------------------------------------------- */

static int add_late_row(struct rows *rows, int64_t id, const struct late_size *late,
                        struct sqlpack_error *err)
{
    if (forecast_row(rows->forecast, TABLE_STAT, id, late->stat_bytes, NULL, err) < 0)
        return -1;
    return forecast_row(rows->forecast, TABLE_SQLAR, id, late->sqlar_bytes, NULL, err);
}

/* Folders from the last one met to the first, whose id is the highest; then files. */
static int add_late_rows(struct rows *rows, struct sqlpack_error *err)
{
    const struct late_size *folders = (const void *)rows->late_folders.data;
    const struct late_size *files = (const void *)rows->late_files.data;
    for (size_t i = rows->late_folders.size / sizeof(*folders); i > 0; i--)
        if (add_late_row(rows, ID_LATE_FILE - (int64_t)i, &folders[i - 1], err) < 0)
            return -1;
    for (size_t i = 0; i < rows->late_files.size / sizeof(*files); i++)
        if (add_late_row(rows, ID_LATE_FILE + (int64_t)i, &files[i], err) < 0)
            return -1;
    return 0;
}

static int add_losses(struct rows *rows, struct sqlpack_error *err)
{
    const size_t *sizes = (const void *)rows->losses.data;
    for (size_t n = 0; n < rows->losses.size / sizeof(*sizes); n++) {
        const struct payload payload = {.head_bytes = sizes[n]};
        for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
            if (loader_append(forecast_loader(rows->forecast, i), TABLE_LOSS, (int64_t)n + 1,
                              &payload, err) < 0)
                return -1;
    }
    return 0;
}

int rows_end(struct rows *rows, uint64_t ret_pages[SQLPACK_PAGE_SIZES], struct sqlpack_error *err)
{
    if (add_late_rows(rows, err) < 0 || add_losses(rows, err) < 0)
        return -1;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        rows->packer.loader = forecast_loader(rows->forecast, i);
        if (pack_append_summary(&rows->packer, err) < 0)
            return -1;
    }
    return forecast_finish(rows->forecast, ret_pages, err);
}

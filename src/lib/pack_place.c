/* SPDX-License-Identifier: MIT */
/* The part of packing that is done in the order of names: ids, links, rows, places. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "lib/pack.h"

int pack_append(struct packer *packer, enum table table, int64_t rowid, struct record *record,
                struct sqlpack_error *err)
{
    packer->room.size = 0;
    if (record_end(record, &packer->room) < 0)
        return fail_no_memory(err);
    const struct payload payload = {.head = (unsigned char *)packer->room.data,
                                    .head_bytes = packer->room.size};
    return loader_append(packer->loader, table, rowid, &payload, err);
}

/* -- problems -- */

static int tell(struct packer *packer, const struct sqlpack_problem *problem,
                struct sqlpack_error *err)
{
    report_problem(&packer->report, problem);
    if (problem->kind != SQLPACK_LOSS)
        return 0;
    struct record *record = &packer->record;
    rows_loss(record, problem);
    hash_stream_bytes(packer->loss_hash, problem->name, strlen(problem->name));
    hash_stream_bytes(packer->loss_hash, problem->what, strlen(problem->what));
    hash_stream_int(packer->loss_hash, problem->os_errno);
    return pack_append(packer, TABLE_LOSS, ++packer->loss_rows, record, err);
}

/* Tells what was met before, or while, the item at `position` was read. */
static int tell_until(struct packer *packer, struct kept_problems *problems, size_t position,
                      struct sqlpack_error *err)
{
    while (problems->told < problems->count &&
           problems->list[problems->told].position <= position) {
        const struct kept_problem *kept = &problems->list[problems->told++];
        const struct sqlpack_problem problem = {
            .kind = kept->kind, .name = kept->name, .what = kept->what, .os_errno = kept->os_errno};
        if (tell(packer, &problem, err) < 0)
            return -1;
    }
    return 0;
}

/* -- what is told of an entry -- */

/* Makes a further name of a file a hard link, and remembers a first one. */
static int resolve_link(struct packer *packer, struct item *item, struct sqlpack_error *err)
{
    struct sqlpack_entry *entry = &item->entry;
    bool has_names = S_ISREG(entry->mode) && item->stat.st_nlink > 1;
    const struct link_group *group = has_names ? links_find(packer->links, &item->stat) : NULL;
    if (group) {
        entry->link = group->id;
        entry->target = group->name;
        entry->sz = group->sz;
        entry->has_digest = group->has_digest;
        memcpy(entry->digest, group->digest, sizeof(group->digest));
    }
    entry->id = ids_take(&packer->ids, entry, item->is_chunked);
    if (!has_names || group)
        return 0;
    struct link_group first = {.id = entry->id,
                               .name = item->where.name,
                               .sz = entry->sz,
                               .has_digest = entry->has_digest};
    memcpy(first.digest, entry->digest, sizeof(first.digest));
    pthread_mutex_lock(&packer->links_mutex);
    int result = links_add(packer->links, &item->stat, &first);
    pthread_mutex_unlock(&packer->links_mutex);
    return result < 0 ? fail_no_memory(err) : 0;
}

/* -- rows -- */

/* Puts both rows aside until those of all other entries are written. */
static int append_late(struct packer *packer, struct late_rows *late, const struct item *item,
                       struct sqlpack_error *err)
{
    auto_release(buf_release) struct buf rows = {0};
    struct late_frame frame = {.id = item->entry.id};
    if (buf_append(&rows, &frame, sizeof(frame)) < 0)
        return fail_no_memory(err);
    rows_stat(&packer->record, &item->entry, hash_seal(&item->entry));
    if (record_end(&packer->record, &rows) < 0)
        return fail_no_memory(err);
    frame.stat_bytes = rows.size - sizeof(frame);
    if (rows_sqlar(&packer->record, &packer->room, &item->entry, item->is_chunked,
                   item->stored_bytes) < 0 ||
        record_end(&packer->record, &rows) < 0)
        return fail_no_memory(err);
    frame.sqlar_bytes = rows.size - sizeof(frame) - frame.stat_bytes;
    memcpy(rows.data, &frame, sizeof(frame));
    if (buf_append(&rows, &frame, sizeof(frame)) < 0)
        return fail_no_memory(err);
    if (spool_append(&late->spool, rows.data, rows.size) < 0)
        return fail_errno(err, "cannot write beside '%s'", show(packer->path).text);
    late->count++;
    return 0;
}

static int append_pieces(struct packer *packer, const struct batch *batch, const struct item *item,
                         struct sqlpack_error *err)
{
    struct record *record = &packer->record;
    for (size_t i = 0; i < item->piece_count; i++) {
        const struct piece *piece = &batch->pieces[item->piece_first + i];
        int64_t rowid = ++packer->chunk_rows;
        rows_chunk(record, item->entry.id, piece);
        packer->room.size = 0;
        if (record_end(record, &packer->room) < 0)
            return fail_no_memory(err);
        const struct payload payload = {.head = (unsigned char *)packer->room.data,
                                        .head_bytes = packer->room.size,
                                        .tail_bytes = piece->stored_bytes,
                                        .spool = batch->spool.file.fd,
                                        .spool_at = piece->spool_at};
        if (loader_append(packer->loader, TABLE_CHUNK, rowid, &payload, err) < 0)
            return -1;
        packer->result->stored_bytes += piece->stored_bytes;
        rows_chunk_key(record, item->entry.id, piece, rowid);
        if (pack_append(packer, TABLE_CHUNK_KEY, 0, record, err) < 0)
            return -1;
    }
    return 0;
}

/* Makes the head of the batch's next row. The heads before it may move by that. */
static int make_head(struct packer *packer, struct batch *batch, const struct item *item)
{
    size_t count = batch->rows.row_count, head_at = batch->heads.size;
    const char *data = batch->heads.data;
    if (rows_sqlar(&packer->record, &packer->room, &item->entry, item->is_chunked,
                   item->stored_bytes) < 0 ||
        record_end(&packer->record, &batch->heads) < 0)
        return -1;
    struct loader_row *rows = batch->rows.rows;
    batch->head_at[count] = head_at;
    rows[count] = (struct loader_row){.id = item->entry.id,
                                      .payload.head_bytes = batch->heads.size - head_at};
    for (size_t i = batch->heads.data == data ? count : 0; i <= count; i++)
        rows[i].payload.head = (unsigned char *)batch->heads.data + batch->head_at[i];
    return 0;
}

/* Appends the entry to the batch's rows of sqlar, and places it. */
static int place_sqlar(struct packer *packer, struct batch *batch, const struct item *item,
                       struct sqlpack_error *err)
{
    if (make_head(packer, batch, item) < 0)
        return fail_no_memory(err);
    struct loader_row *row = &batch->rows.rows[batch->rows.row_count];
    if (S_ISREG(item->entry.mode) && !item->entry.link) {
        row->payload.tail_bytes = item->stored_bytes;
        packer->result->stored_bytes += item->stored_bytes;
        row->payload.spool = batch->spool.file.fd;
        row->payload.spool_at = item->spool_at;
        if (!item->is_spooled)
            row->payload.tail = (unsigned char *)batch->content.data + item->content_at;
    }
    return loader_place(packer->loader, &batch->rows, batch->rows.row_count++, err);
}

static int place_rows(struct packer *packer, struct batch *batch, const struct item *item,
                      struct sqlpack_error *err)
{
    const struct sqlpack_entry *entry = &item->entry;
    struct record *record = &packer->record;
    bool is_late = entry->id >= ID_LATE_FOLDER;
    if (entry->name[0]) {
        rows_name(record, entry);
        if (pack_append(packer, TABLE_SQLAR_NAME, 0, record, err) < 0)
            return -1;
    }
    if (is_late) {
        struct late_rows *late = item->is_chunked ? &packer->late_files : &packer->late_folders;
        if (append_late(packer, late, item, err) < 0)
            return -1;
        return item->is_chunked ? append_pieces(packer, batch, item, err) : 0;
    }
    rows_stat(record, entry, hash_seal(entry));
    if (pack_append(packer, TABLE_STAT, entry->id, record, err) < 0)
        return -1;
    return entry->name[0] ? place_sqlar(packer, batch, item, err) : 0;
}

/* -- folders that are left out -- */

/* Remembers a folder that has no row, so that nothing below it gets one. */
static int add_lost_folder(struct packer *packer, const char *name)
{
    struct name_list *lost = &packer->lost_folders;
    if (lost->count == lost->capacity) {
        size_t capacity = lost->capacity ? 2 * lost->capacity : 16;
        char **names = realloc(lost->names, capacity * sizeof(*names));
        if (!names)
            return -1;
        lost->names = names;
        lost->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy)
        return -1;
    lost->names[lost->count++] = copy;
    return 0;
}

/* Whether the name is below one of them. Forgets those that the order of names has passed. */
static bool is_below_lost(struct packer *packer, const char *name)
{
    struct name_list *lost = &packer->lost_folders;
    for (size_t i = lost->count; i-- > 0;) {
        size_t length = strlen(lost->names[i]);
        int order = strncmp(name, lost->names[i], length);
        if (order == 0 && name[length] == '/')
            return true;
        if (order > 0 || (order == 0 && (unsigned char)name[length] > '/')) {
            free(lost->names[i]);
            lost->names[i] = lost->names[--lost->count];
        }
    }
    return false;
}

void lost_folders_release(struct packer *packer)
{
    for (size_t i = 0; i < packer->lost_folders.count; i++)
        free(packer->lost_folders.names[i]);
    free(packer->lost_folders.names);
}

/* Leaves an item out that was read, or not: returns 0, or -1. */
static int leave_out(struct packer *packer, const struct item *item, struct sqlpack_error *err)
{
    const char *name = item->where.name;
    if (!name[0])
        return fail(err, SQLPACK_IO, "cannot read folder '%s' itself", show(packer->dir).text);
    if (item->where.type == DT_DIR && add_lost_folder(packer, name) < 0)
        return fail_no_memory(err);
    return 0;
}

/* -- one item -- */

static int place_item(struct packer *packer, struct batch *batch, struct item *item,
                      struct sqlpack_error *err)
{
    struct sqlpack_entry *entry = &item->entry;
    packer->result->skipped_count += item->is_too_large;
    if (!item->is_read)
        return leave_out(packer, item, err);
    if (is_below_lost(packer, item->where.name))
        return tell(packer,
                    &(struct sqlpack_problem){.kind = SQLPACK_LOSS,
                                              .name = item->where.name,
                                              .what = "is in a folder that is left out"},
                    err);
    entry->name = item->where.name;
    entry->xattr = entry->xattr_bytes ? batch->extras.data + item->xattr_at : NULL;
    entry->target = S_ISLNK(entry->mode) ? batch->extras.data + item->target_at : NULL;
    if (packer->options->reproducible)
        entry->ctime_ns = SQLPACK_NO_TIME;
    if (resolve_link(packer, item, err) < 0)
        return -1;
    if (owner_set_add(&packer->users, entry->uid) < 0 ||
        owner_set_add(&packer->groups, entry->gid) < 0)
        return fail_no_memory(err);
    rows_count(packer->result, entry, &item->stat);
    hash_sum_add(&packer->root, entry, false);
    if (place_rows(packer, batch, item, err) < 0)
        return -1;
    if (!entry->link)
        return 0;
    pthread_mutex_lock(&packer->links_mutex);
    links_met(packer->links, &item->stat);
    pthread_mutex_unlock(&packer->links_mutex);
    return 0;
}

int pack_place(struct packer *packer, struct batch *batch, size_t end, struct sqlpack_error *err)
{
    batch->rows.row_count = 0;
    if (loader_place_begin(packer->loader, &batch->rows, err) < 0)
        return -1;
    for (; batch->done < end; batch->done++) {
        if (tell_until(packer, &batch->walk_problems, batch->done, err) < 0 ||
            tell_until(packer, &batch->read_problems, batch->done, err) < 0 ||
            place_item(packer, batch, &batch->items[batch->done], err) < 0)
            return -1;
    }
    if (end == batch->count && tell_until(packer, &batch->walk_problems, end, err) < 0)
        return -1;
    return loader_place_end(packer->loader, &batch->rows, err);
}

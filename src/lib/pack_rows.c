/* SPDX-License-Identifier: MIT */
/* The ids of a pack and its rows as records: what packing writes, and audit only counts. */
#include <stdlib.h>
#include <string.h>

#include "lib/pack.h"

/* Whether a plain extractor, run by the owner, could not fill the folder once its mode is set. */
static bool is_closed_folder(const struct sqlpack_entry *entry)
{
    return S_ISDIR(entry->mode) && (entry->mode & 0300) != 0300 && entry->name[0];
}

int64_t ids_take(struct ids *ids, const struct sqlpack_entry *entry, bool is_chunked)
{
    if (!entry->name[0])
        return 0;
    if (is_chunked && !entry->link)
        return ID_LATE_FILE + (int64_t)ids->late_files++;
    if (is_closed_folder(entry)) /* from the top down: those within come before those around */
        return ID_LATE_FILE - 1 - (int64_t)ids->late_folders++;
    return ids->next++;
}

void rows_name(struct record *record, const struct sqlpack_entry *entry)
{
    record_begin(record);
    record_text(record, entry->name, strlen(entry->name));
    record_int(record, entry->id);
}

void rows_stat(struct record *record, const struct sqlpack_entry *entry, int64_t seal)
{
    record_begin(record);
    record_null(record); /* the id is the row's key */
    record_int(record, entry->mode);
    record_int(record, entry->mtime);
    record_int(record, entry->mtime_ns);
    record_int(record, (int64_t)entry->sz);
    record_int(record, entry->uid);
    record_int(record, entry->gid);
    if (entry->ctime_ns == SQLPACK_NO_TIME)
        record_null(record);
    else
        record_int(record, entry->ctime_ns);
    if (entry->rdev)
        record_int(record, (int64_t)entry->rdev);
    else
        record_null(record);
    if (entry->link)
        record_int(record, entry->link);
    else
        record_null(record);
    if (entry->xattr)
        record_blob(record, entry->xattr, entry->xattr_bytes);
    else
        record_null(record);
    if (entry->has_digest)
        record_blob(record, entry->digest, sizeof(entry->digest));
    else
        record_null(record);
    record_int8(record, seal);
}

/* The path from the folder of `name` to `target`, both under the root: "../" as often as it takes.
 */
static int relative_path(struct buf *path, const char *name, const char *target)
{
    size_t common = 0;
    for (size_t i = 0; name[i] && name[i] == target[i]; i++)
        if (name[i] == '/')
            common = i + 1;
    path->size = 0;
    for (const char *at = name + common; *at; at++)
        if (*at == '/' && buf_append_text(path, "../") < 0)
            return -1;
    return buf_append_text(path, target + common);
}

int rows_sqlar(struct record *record, struct buf *room, const struct sqlpack_entry *entry,
               bool is_chunked, uint64_t stored_bytes)
{
    record_begin(record);
    record_null(record);
    record_text(record, entry->name, strlen(entry->name));
    if (entry->link || S_ISLNK(entry->mode)) {
        const char *target = entry->target;
        size_t size = entry->sz;
        if (entry->link) {
            if (relative_path(room, entry->name, entry->target) < 0)
                return -1;
            target = room->data;
            size = room->size;
        }
        record_int(record, entry->link ? S_IFLNK | 0777 : entry->mode);
        record_int(record, -1);
        record_int(record, (int64_t)size);
        record_text(record, target, size);
        return 0;
    }
    record_int(record, entry->mode);
    record_int(record, entry->mtime);
    record_int(record, (int64_t)entry->sz);
    if (S_ISDIR(entry->mode) || is_chunked)
        record_null(record);
    else
        record_blob_tail(record, S_ISREG(entry->mode) ? stored_bytes : 0);
    return 0;
}

void rows_chunk(struct record *record, int64_t id, const struct piece *piece)
{
    record_begin(record);
    record_int(record, id);
    record_int(record, (int64_t)piece->offset);
    record_int(record, (int64_t)piece->len);
    record_blob_tail(record, piece->stored_bytes);
}

void rows_chunk_key(struct record *record, int64_t id, const struct piece *piece, int64_t rowid)
{
    record_begin(record);
    record_int(record, id);
    record_int(record, (int64_t)piece->offset);
    record_int(record, rowid);
}

void rows_loss(struct record *record, const struct sqlpack_problem *problem)
{
    record_begin(record);
    record_text(record, problem->name, strlen(problem->name));
    record_text(record, problem->what, strlen(problem->what));
    record_int(record, problem->os_errno);
}

/* -- what a pack tells of its entries as a whole -- */

int owner_set_add(struct owner_set *set, uint32_t id)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (set->ids[middle] == id)
            return 0;
        if (set->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? 2 * set->capacity : 16;
        uint32_t *ids = realloc(set->ids, capacity * sizeof(*ids));
        if (!ids)
            return -1;
        set->ids = ids;
        set->capacity = capacity;
    }
    memmove(set->ids + low + 1, set->ids + low, (set->count - low) * sizeof(*set->ids));
    set->ids[low] = id;
    set->count++;
    return 0;
}

void rows_count(struct sqlpack_pack_result *result, const struct sqlpack_entry *entry,
                const struct stat *stat)
{
    if (entry->link) {
        result->hard_link_count++;
        return;
    }
    result->tree_allocated_bytes += (uint64_t)stat->st_blocks * 512;
    result->tree_inode_count++;
    if (S_ISREG(entry->mode)) {
        result->file_count++;
        result->content_bytes += entry->sz;
    } else if (S_ISDIR(entry->mode)) {
        result->folder_count += entry->id != 0; /* the root is not an entry of its own */
    } else if (S_ISLNK(entry->mode)) {
        result->symlink_count++;
    } else {
        result->special_count++;
    }
}

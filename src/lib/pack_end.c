/* SPDX-License-Identifier: MIT */
/* The end of a pack: late rows, owners, and what sqlpack_info tells of the whole. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "lib/pack.h"

/* -- late rows -- */

/* Appends one pair of rows: that of sqlpack_stat, then that of sqlar. */
static int place_late(struct packer *packer, struct loader_batch *batch,
                      const struct late_frame *frame, const unsigned char *rows,
                      struct sqlpack_error *err)
{
    const struct payload stat = {.head = rows, .head_bytes = frame->stat_bytes};
    batch->rows[0] = (struct loader_row){
        .id = frame->id,
        .payload = {.head = rows + frame->stat_bytes, .head_bytes = frame->sqlar_bytes}};
    batch->row_count = 1;
    if (loader_append(packer->loader, TABLE_STAT, frame->id, &stat, err) < 0 ||
        loader_place_begin(packer->loader, batch, err) < 0 ||
        loader_place(packer->loader, batch, 0, err) < 0 ||
        loader_place_end(packer->loader, batch, err) < 0)
        return -1;
    return loader_write(packer->loader, batch, err);
}

/* Reads the pair of rows whose front frame is at *at; moves *at behind the rear one. */
static int next_late(const struct spool *spool, uint64_t *at, struct late_frame *ret_frame,
                     struct buf *rows)
{
    rows->size = 0;
    if (spool_read(spool, *at, ret_frame, sizeof(*ret_frame)) < 0)
        return -1;
    size_t size = ret_frame->stat_bytes + ret_frame->sqlar_bytes;
    if (buf_reserve(rows, size) < 0 ||
        spool_read(spool, *at + sizeof(*ret_frame), rows->data, size) < 0)
        return -1;
    *at += size + 2 * sizeof(*ret_frame);
    return 0;
}

/* Where the pair begins that ends before `end`. */
static int previous_late(const struct spool *spool, uint64_t end, uint64_t *ret_at)
{
    struct late_frame frame;
    if (spool_read(spool, end - sizeof(frame), &frame, sizeof(frame)) < 0)
        return -1;
    *ret_at = end - frame.stat_bytes - frame.sqlar_bytes - 2 * sizeof(frame);
    return 0;
}

/* Appends the rows that were put aside, by ascending id. */
static int place_all_late(struct packer *packer, struct late_rows *late, bool backwards,
                          struct sqlpack_error *err)
{
    struct loader_row row;
    struct loader_batch batch = {.rows = &row};
    auto_release(buf_release) struct buf rows = {0};
    struct late_frame frame;
    int result = spool_flush(&late->spool);
    uint64_t at = backwards ? late->spool.size : 0;
    for (uint64_t i = 0; i < late->count && result == 0; i++) {
        uint64_t begin = at;
        if (backwards)
            result = previous_late(&late->spool, at, &begin);
        at = begin;
        if (result == 0)
            result = next_late(&late->spool, &begin, &frame, &rows);
        if (result < 0)
            break;
        if (!backwards)
            at = begin;
        if (place_late(packer, &batch, &frame, (unsigned char *)rows.data, err) < 0) {
            loader_batch_release(&batch);
            return -1;
        }
    }
    loader_batch_release(&batch);
    if (result < 0)
        return fail_errno(err, "cannot read back what was written beside '%s'",
                          show(packer->path).text);
    return 0;
}

/* -- owners -- */

/* The name of a user or group: in *room. Returns 1, or 0 where it has none. */
static int find_name(bool is_user, uint32_t id, struct buf *room, const char **ret_name)
{
    for (;;) {
        if (buf_reserve(room, 4096) < 0)
            return 0;
        struct passwd user, *found_user = NULL;
        struct group group, *found_group = NULL;
        int code = is_user ? getpwuid_r(id, &user, room->data, room->capacity, &found_user)
                           : getgrgid_r(id, &group, room->data, room->capacity, &found_group);
        if (code == ERANGE && room->capacity < (size_t)1 << 20) {
            room->size = room->capacity; /* so that the next reserve grows it */
            continue;
        }
        room->size = 0;
        *ret_name = found_user ? user.pw_name : found_group ? group.gr_name : NULL;
        return *ret_name != NULL;
    }
}

static int append_owners(struct packer *packer, const struct owner_set *set, bool is_user,
                         struct hash_stream *hash, int64_t *rowid, struct sqlpack_error *err)
{
    const char *kind = is_user ? "user" : "group", *name;
    auto_release(buf_release) struct buf room = {0};
    struct record *record = &packer->record;
    for (size_t i = 0; i < set->count; i++) {
        if (!find_name(is_user, set->ids[i], &room, &name))
            continue;
        record_begin(record);
        record_text(record, kind, strlen(kind));
        record_int(record, set->ids[i]);
        record_text(record, name, strlen(name));
        hash_stream_bytes(hash, kind, strlen(kind));
        hash_stream_int(hash, set->ids[i]);
        hash_stream_bytes(hash, name, strlen(name));
        if (pack_append(packer, TABLE_OWNER, ++*rowid, record, err) < 0)
            return -1;
    }
    return 0;
}

/* -- sqlpack_info -- */

/* One row: a number, a text or a digest. */
struct info {
    const char *key;
    const char *text;
    const uint8_t *digest;
    int64_t number;
};

static int compare_info(const void *a, const void *b)
{
    return strcmp(((const struct info *)a)->key, ((const struct info *)b)->key);
}

static void hash_info(struct hash_stream *hash, const struct info *info)
{
    hash_stream_bytes(hash, info->key, strlen(info->key));
    if (info->text)
        hash_stream_bytes(hash, info->text, strlen(info->text));
    else if (info->digest)
        hash_stream_bytes(hash, info->digest, SQLPACK_DIGEST_BYTES);
    else
        hash_stream_int(hash, info->number);
}

static int append_fact(struct packer *packer, const struct info *info, struct sqlpack_error *err)
{
    struct record *record = &packer->record;
    record_begin(record);
    record_text(record, info->key, strlen(info->key));
    if (info->text)
        record_text(record, info->text, strlen(info->text));
    else if (info->digest)
        record_blob(record, info->digest, SQLPACK_DIGEST_BYTES);
    else
        record_int(record, info->number);
    return pack_append(packer, TABLE_INFO, 0, record, err);
}

static int append_info(struct packer *packer, const uint8_t *owner_digest, struct hash_stream *hash,
                       struct sqlpack_error *err)
{
    const struct sqlpack_pack_result *result = packer->result;
    uint8_t loss_digest[SQLPACK_DIGEST_BYTES], seal[SQLPACK_DIGEST_BYTES];
    hash_stream_end(packer->loss_hash, loss_digest);
    struct info rows[] = {
        {.key = INFO_FORMAT, .number = SCHEMA_FORMAT},
        {.key = INFO_HASH, .text = INFO_HASH_XXH3},
        {.key = INFO_ROOT_DIGEST, .digest = result->root_digest},
        {.key = INFO_OWNER_DIGEST, .digest = owner_digest},
        {.key = INFO_LOSS_DIGEST, .digest = loss_digest},
        {.key = INFO_FILES, .number = (int64_t)result->file_count},
        {.key = INFO_FOLDERS, .number = (int64_t)result->folder_count},
        {.key = INFO_SYMLINKS, .number = (int64_t)result->symlink_count},
        {.key = INFO_SPECIALS, .number = (int64_t)result->special_count},
        {.key = INFO_HARD_LINKS, .number = (int64_t)result->hard_link_count},
        {.key = INFO_CONTENT_BYTES, .number = (int64_t)result->content_bytes},
        {.key = INFO_STORED_BYTES, .number = (int64_t)result->stored_bytes},
        {.key = INFO_SEAL, .digest = seal},
        /* the last, since it is left out where the place of the tree must not matter */
        {.key = INFO_TREE_ALLOCATED, .number = (int64_t)result->tree_allocated_bytes},
    };
    size_t count = sizeof(rows) / sizeof(rows[0]) - packer->options->reproducible;
    qsort(rows, count, sizeof(rows[0]), compare_info);
    hash_stream_reset(hash);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, INFO_SEAL) != 0)
            hash_info(hash, &rows[i]);
    hash_stream_end(hash, seal);
    for (size_t i = 0; i < count; i++)
        if (append_fact(packer, &rows[i], err) < 0)
            return -1;
    return 0;
}

int pack_append_summary(struct packer *packer, struct sqlpack_error *err)
{
    struct hash_stream *hash = hash_stream_new();
    if (!hash)
        return fail_no_memory(err);
    int64_t rowid = 0;
    uint8_t owner_digest[SQLPACK_DIGEST_BYTES];
    int result = 0;
    if (!packer->options->reproducible) { /* elsewhere the same number may have another name */
        result = append_owners(packer, &packer->groups, false, hash, &rowid, err);
        if (result == 0)
            result = append_owners(packer, &packer->users, true, hash, &rowid, err);
    }
    hash_stream_end(hash, owner_digest);
    if (result == 0)
        result = append_info(packer, owner_digest, hash, err);
    hash_stream_free(hash);
    return result;
}

int pack_end(struct packer *packer, struct sqlpack_error *err)
{
    if (place_all_late(packer, &packer->late_folders, true, err) < 0 ||
        place_all_late(packer, &packer->late_files, false, err) < 0)
        return -1;
    hash_sum_digest(&packer->root, packer->result->root_digest);
    return pack_append_summary(packer, err) < 0 ? -1 : loader_finish(packer->loader, err);
}

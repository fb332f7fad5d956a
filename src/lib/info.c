/* SPDX-License-Identifier: MIT */
/* What a pack says of itself: its counts, how its space is used, losses, owners. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/internal.h"

#define INFO_ROWS_MAX 100

/* -- the sealed account -------------------------------------------------------------------- */

static void take_fact(struct sqlpack_summary *summary, const char *key, sqlite3_stmt *statement,
                      bool *has_stored)
{
    const struct {
        const char *key;
        uint64_t *to;
    } counts[] = {
        {INFO_FILES, &summary->file_count},
        {INFO_FOLDERS, &summary->folder_count},
        {INFO_SYMLINKS, &summary->symlink_count},
        {INFO_SPECIALS, &summary->special_count},
        {INFO_HARD_LINKS, &summary->hard_link_count},
        {INFO_CONTENT_BYTES, &summary->content_bytes},
        {INFO_STORED_BYTES, &summary->stored_bytes},
        {INFO_TREE_ALLOCATED, &summary->tree_allocated_bytes},
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (strcmp(key, counts[i].key) == 0)
            *counts[i].to = (uint64_t)sqlite3_column_int64(statement, 1);
    *has_stored |= strcmp(key, INFO_STORED_BYTES) == 0;
    if (strcmp(key, INFO_ROOT_DIGEST) == 0 &&
        sqlite3_column_bytes(statement, 1) == SQLPACK_DIGEST_BYTES) {
        summary->has_root_digest = true;
        memcpy(summary->root_digest, sqlite3_column_blob(statement, 1), SQLPACK_DIGEST_BYTES);
    }
}

static void hash_fact(struct hash_stream *hash, sqlite3_stmt *statement)
{
    hash_stream_bytes(hash, sqlite3_column_text(statement, 0),
                      (size_t)sqlite3_column_bytes(statement, 0));
    if (sqlite3_column_type(statement, 1) == SQLITE_INTEGER) {
        hash_stream_int(hash, sqlite3_column_int64(statement, 1));
        return;
    }
    const void *value = sqlite3_column_blob(statement, 1);
    hash_stream_bytes(hash, value ? value : "", (size_t)sqlite3_column_bytes(statement, 1));
}

struct account {
    struct hash_stream *hash;
    uint8_t seal[SQLPACK_DIGEST_BYTES];
    bool has_seal, has_stored;
    unsigned row_count;
};

static void account_release(struct account *account)
{
    hash_stream_free(account->hash);
}

static int take_facts(struct sqlpack *pack, struct account *account,
                      struct sqlpack_summary *summary, struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_INFO, err);
    if (!statement)
        return -1;
    int stepped;
    while ((stepped = db_step(pack, statement, err)) > 0) {
        size_t size;
        const char *key = name_column(statement, 0, &size);
        if (!key || ++account->row_count > INFO_ROWS_MAX)
            return db_corrupt(pack, err, "sqlpack_info makes no sense");
        if (strcmp(key, INFO_SEAL) != 0) {
            take_fact(summary, key, statement, &account->has_stored);
            hash_fact(account->hash, statement);
        } else if (sqlite3_column_bytes(statement, 1) == SQLPACK_DIGEST_BYTES) {
            account->has_seal = true;
            memcpy(account->seal, sqlite3_column_blob(statement, 1), SQLPACK_DIGEST_BYTES);
        }
    }
    sqlite3_reset(statement);
    return stepped;
}

/* Whether there are as many rows as were counted: another program may have deleted some. */
static int compare_count(struct sqlpack *pack, const struct sqlpack_summary *summary,
                         bool *ret_is_equal, struct sqlpack_error *err)
{
    uint64_t counted = summary->file_count + summary->folder_count + summary->symlink_count +
                       summary->special_count + summary->hard_link_count;
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_ROW_COUNT, err);
    if (!statement || db_step(pack, statement, err) < 0)
        return -1;
    *ret_is_equal = (uint64_t)sqlite3_column_int64(statement, 0) == counted;
    sqlite3_reset(statement);
    return 0;
}

/* Fills the summary from sqlpack_info. Returns 1 where all of it can be relied on, 0, -1. */
static int read_account(struct sqlpack *pack, struct sqlpack_summary *summary,
                        struct sqlpack_error *err)
{
    auto_release(account_release) struct account account = {.hash = hash_stream_new()};
    if (!account.hash)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    if (take_facts(pack, &account, summary, err) < 0)
        return -1;
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    hash_stream_end(account.hash, digest);
    bool is_sealed = account.has_seal && memcmp(digest, account.seal, sizeof(digest)) == 0;
    bool may_be_odd, is_complete;
    if (names_may_be_odd(pack, &may_be_odd, err) < 0)
        return -1;
    if (!is_sealed)
        summary->tree_allocated_bytes = 0;
    if (!is_sealed || !account.has_stored || may_be_odd)
        return 0;
    return compare_count(pack, summary, &is_complete, err) < 0 ? -1 : is_complete;
}

/* -- counting ------------------------------------------------------------------------------ */

static void count_row(struct sqlpack_summary *summary, const struct reader_row *row)
{
    const struct sqlpack_entry *entry = &row->entry;
    summary->foreign_count += entry->is_foreign;
    if (row->skip_why)
        summary->skipped_count++;
    else if (entry->link)
        summary->hard_link_count++;
    else if (S_ISDIR(entry->mode))
        summary->folder_count++;
    else if (S_ISLNK(entry->mode))
        summary->symlink_count++;
    else if (!S_ISREG(entry->mode))
        summary->special_count++;
    else {
        summary->file_count++;
        summary->content_bytes += entry->sz;
        summary->stored_bytes += row->stored_bytes;
    }
}

static int count_chunks(struct sqlpack *pack, struct sqlpack_summary *summary,
                        struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_STORED_CHUNKS, err);
    if (!statement)
        return -1;
    int64_t last_id = INT64_MIN;
    int stepped;
    while ((stepped = db_step(pack, statement, err)) > 0) {
        int64_t id = sqlite3_column_int64(statement, 0);
        if (id <= last_id)
            return db_corrupt(pack, err, "the rows of sqlpack_chunk are not in order");
        last_id = id;
        summary->stored_bytes += (uint64_t)sqlite3_column_int64(statement, 1);
    }
    sqlite3_reset(statement);
    return stepped;
}

/* Goes over all rows, not over their content. */
static int count_all(struct sqlpack *pack, struct sqlpack_summary *summary,
                     struct sqlpack_error *err)
{
    struct reader_rows *rows;
    struct reader_row row;
    summary->file_count = summary->folder_count = summary->symlink_count = 0;
    summary->special_count = summary->hard_link_count = 0;
    summary->content_bytes = summary->stored_bytes = 0;
    if (reader_rows_open(pack, (struct id_range){INT64_MIN, INT64_MAX}, false, &rows, err) < 0)
        return -1;
    int stepped;
    while ((stepped = reader_rows_next(rows, &row, err)) > 0)
        count_row(summary, &row);
    reader_rows_close(rows);
    if (stepped < 0)
        return -1;
    return pack->is_own ? count_chunks(pack, summary, err) : 0;
}

static int count_loss(void *user, const char *name, const char *what, int os_errno)
{
    (void)name;
    (void)what;
    (void)os_errno;
    ++*(uint64_t *)user;
    return 0;
}

int sqlpack_info(struct sqlpack *pack, struct sqlpack_summary *ret_summary,
                 struct sqlpack_error *err)
{
    struct sqlpack_summary summary = {.format = pack->format};
    struct stat stat_of;
    if (stat(pack->path, &stat_of) < 0)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    summary.pack_bytes = pack->file_bytes;
    summary.pack_allocated_bytes = (uint64_t)stat_of.st_blocks * 512;
    summary.page_bytes = db_page_bytes(pack);
    summary.page_count = pack->file_bytes / summary.page_bytes;
    summary.free_page_count = db_free_pages(pack);
    int told = pack->is_own ? read_account(pack, &summary, err) : 0;
    if (told < 0 || (told == 0 && count_all(pack, &summary, err) < 0))
        return -1;
    if (pack->is_own && sqlpack_losses(pack, count_loss, &summary.loss_count, err) < 0)
        return -1;
    *ret_summary = summary;
    return 0;
}

/* -- losses and owners --------------------------------------------------------------------- */

int sqlpack_losses(struct sqlpack *pack,
                   int (*each)(void *user, const char *name, const char *what, int os_errno),
                   void *user, struct sqlpack_error *err)
{
    if (!pack->is_own)
        return 0;
    auto_release(db_release) sqlite3_stmt *statement = db_prepare(pack, STATEMENT_LOSSES, err);
    if (!statement)
        return -1;
    int64_t last_id = INT64_MIN;
    int stepped;
    while ((stepped = db_step(pack, statement, err)) > 0) {
        size_t size;
        int64_t id = sqlite3_column_int64(statement, 0);
        const char *name = name_column(statement, 1, &size);
        const char *what = name_column(statement, 2, &size);
        if (id <= last_id || !name || !what)
            return db_corrupt(pack, err, "sqlpack_loss makes no sense");
        last_id = id;
        if (each(user, name, what, sqlite3_column_int(statement, 3)) != 0)
            return 0;
    }
    return stepped;
}

int sqlpack_owners(struct sqlpack *pack,
                   int (*each)(void *user, bool is_group, uint32_t id, const char *name),
                   void *user, struct sqlpack_error *err)
{
    if (!pack->is_own)
        return 0;
    auto_release(db_release) sqlite3_stmt *statement = db_prepare(pack, STATEMENT_OWNERS, err);
    if (!statement)
        return -1;
    int64_t last_id = INT64_MIN;
    int stepped;
    while ((stepped = db_step(pack, statement, err)) > 0) {
        size_t size;
        int64_t rowid = sqlite3_column_int64(statement, 0);
        const char *kind = name_column(statement, 1, &size);
        int64_t id = sqlite3_column_int64(statement, 2);
        const char *name = name_column(statement, 3, &size);
        bool is_group = kind && strcmp(kind, OWNER_GROUP) == 0;
        if (rowid <= last_id || !name || id < 0 || id > UINT32_MAX ||
            (!is_group && (!kind || strcmp(kind, OWNER_USER) != 0)))
            return db_corrupt(pack, err, "sqlpack_owner makes no sense");
        last_id = rowid;
        if (each(user, is_group, (uint32_t)id, name) != 0)
            return 0;
    }
    return stepped;
}

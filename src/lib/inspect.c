/* SPDX-License-Identifier: MIT */
/* Checks what stands beside the rows of a pack: structure, folders, chunks, the facts in info. */
#include <string.h>

#include "lib/internal.h"

#define BANNER "*** in database"

static void report_lines(struct report *report, const char *text)
{
    while (*text) {
        size_t size = strcspn(text, "\n");
        auto_free char *line = strndup(text, size);
        if (line && strncmp(line, BANNER, strlen(BANNER)) != 0)
            report_difference(report, "", "structure: %s", show(line).text);
        text += size + (text[size] == '\n');
    }
}

int inspect_structure(struct sqlpack *pack, struct report *report, struct sqlpack_error *err)
{
    auto_release(db_release) sqlite3_stmt *statement = db_prepare(pack, STATEMENT_INTEGRITY, err);
    if (!statement)
        return -1;
    int result;
    while ((result = db_step(pack, statement, err)) > 0) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        if (!text)
            return fail(err, SQLPACK_NO_MEMORY, "out of memory");
        if (strcmp(text, "ok") != 0)
            report_lines(report, text);
    }
    return result;
}

/* -- folders ------------------------------------------------------------------------------------
 */

/* A name that others may lie below. */
struct ancestor {
    size_t length; /* of its name */
    int64_t id;
    enum { KIND_UNKNOWN, KIND_FOLDER, KIND_OTHER } kind;
};

/*
 * The names whose content may still come, as names arrive in order. What is in 'a'
 * ends before 'a0', since '0' follows '/'; so each of them is a prefix of the next
 * one and of the present name, and lengths are enough.
 */
struct ancestry {
    struct sqlpack *pack;
    struct buf name;      /* the last one's */
    struct buf ancestors; /* struct ancestor each */
};

static void ancestry_release(struct ancestry *ancestry)
{
    buf_release(&ancestry->name);
    buf_release(&ancestry->ancestors);
}

static struct ancestor *ancestor_at(const struct ancestry *ancestry, size_t index)
{
    return (struct ancestor *)(void *)ancestry->ancestors.data + index;
}

static size_t ancestor_count(const struct ancestry *ancestry)
{
    return ancestry->ancestors.size / sizeof(struct ancestor);
}

/* Drops the names that the present one comes behind. */
static void ancestry_advance(struct ancestry *ancestry, const char *name)
{
    for (size_t count; (count = ancestor_count(ancestry)) > 0;) {
        size_t length = ancestor_at(ancestry, count - 1)->length;
        if (strncmp(name, ancestry->name.data, length) == 0 && (unsigned char)name[length] <= '/')
            return;
        ancestry->ancestors.size -= sizeof(struct ancestor);
    }
}

static struct ancestor *ancestry_find(const struct ancestry *ancestry, size_t length)
{
    for (size_t i = ancestor_count(ancestry); i > 0; i--) {
        struct ancestor *ancestor = ancestor_at(ancestry, i - 1);
        if (ancestor->length <= length)
            return ancestor->length == length ? ancestor : NULL;
    }
    return NULL;
}

static int ancestry_add(struct ancestry *ancestry, int64_t id, const char *name,
                        struct sqlpack_error *err)
{
    const struct ancestor ancestor = {.length = strlen(name), .id = id};
    ancestry->name.size = 0;
    if (buf_append(&ancestry->name, name, ancestor.length + 1) < 0 ||
        buf_append(&ancestry->ancestors, &ancestor, sizeof(ancestor)) < 0)
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    return 0;
}

/* Whether the name of that length, which the present one begins with, is a folder. */
static int ancestry_has_folder(struct ancestry *ancestry, size_t length, bool *ret_has,
                               struct sqlpack_error *err)
{
    struct ancestor *ancestor = ancestry_find(ancestry, length);
    struct reader_row row;
    if (ancestor && ancestor->kind == KIND_UNKNOWN) {
        int found = row_by_id(ancestry->pack, ancestor->id, NULL, -1, &row, err);
        if (found < 0)
            return -1;
        ancestor->kind = found && S_ISDIR(row.entry.mode) ? KIND_FOLDER : KIND_OTHER;
    }
    *ret_has = ancestor && ancestor->kind == KIND_FOLDER;
    return 0;
}

/* What another program wrote need not have a folder above it. */
static int report_stray(struct sqlpack *pack, int64_t id, struct report *report,
                        struct sqlpack_error *err)
{
    struct reader_row row;
    int found = row_by_id(pack, id, NULL, -1, &row, err);
    if (found > 0 && !row.entry.is_foreign)
        report_difference(report, row.entry.name, "folder-missing: no folder is above it");
    return found < 0 ? -1 : 0;
}

static int inspect_folder_of(struct ancestry *ancestry, int64_t id, const char *name,
                             struct report *report, struct sqlpack_error *err)
{
    const char *slash = strrchr(name, '/');
    bool has_folder = true;
    ancestry_advance(ancestry, name);
    if (slash && ancestry_has_folder(ancestry, (size_t)(slash - name), &has_folder, err) < 0)
        return -1;
    if (!has_folder && report_stray(ancestry->pack, id, report, err) < 0)
        return -1;
    return ancestry_add(ancestry, id, name, err);
}

uint64_t inspect_name(int64_t id, const char *name)
{
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    uint64_t number;
    if (name[strspn(name, "./")] == '\0')
        return 0;
    hash_digest(name, strlen(name), digest);
    memcpy(&number, digest, sizeof(number));
    return (number ^ (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
}

int inspect_folders(struct sqlpack *pack, uint64_t *ret_names, struct report *report,
                    struct sqlpack_error *err)
{
    auto_release(db_release) sqlite3_stmt *statement =
        db_prepare(pack, STATEMENT_INDEXED_NAMES, err);
    if (!statement)
        return -1;
    auto_release(ancestry_release) struct ancestry ancestry = {.pack = pack};
    uint64_t names = 0;
    int result;
    while ((result = db_step(pack, statement, err)) > 0) {
        size_t size;
        int64_t id = sqlite3_column_int64(statement, 0);
        const char *name = name_column(statement, 1, &size);
        if (!name)
            return db_corrupt(pack, err, "the name in row %lld is no text", (long long)id);
        names += inspect_name(id, name);
        if (inspect_folder_of(&ancestry, id, name, report, err) < 0)
            return -1;
    }
    *ret_names = names;
    return result;
}

/* -- chunks -------------------------------------------------------------------------------------
 */

/* The file whose pieces are being looked at. */
struct pieces {
    int64_t id;
    bool is_known;
    char *name;
    uint64_t size, end; /* of the file; of the last piece */
};

static void pieces_release(struct pieces *pieces)
{
    free(pieces->name);
    *pieces = (struct pieces){0};
}

/* Takes up the file with the id, which must be one in pieces. */
static int pieces_begin(struct pieces *pieces, struct sqlpack *pack, int64_t id,
                        struct report *report, struct sqlpack_error *err)
{
    struct reader_row row;
    pieces_release(pieces);
    pieces->id = id;
    int result = row_by_id(pack, id, NULL, -1, &row, err);
    if (result < 0)
        return -1;
    pieces->is_known = result > 0 && row.is_chunked && !row.skip_why;
    pieces->name = strdup(pieces->is_known ? row.entry.name : "");
    if (!pieces->name)
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    if (pieces->is_known)
        pieces->size = row.entry.sz;
    else
        report_difference(report, "", "chunk-stray: pieces with the id %lld belong to no file",
                          (long long)id);
    return 0;
}

static void inspect_piece(struct pieces *pieces, int64_t offset, int64_t length,
                          struct report *report)
{
    uint64_t end;
    if (!pieces->is_known)
        return;
    if (offset < 0 || length <= 0 ||
        __builtin_add_overflow((uint64_t)offset, (uint64_t)length, &end) || end > pieces->size)
        report_difference(report, pieces->name, "chunk-outside: a piece at %lld leaves the file",
                          (long long)offset);
    else if ((uint64_t)offset < pieces->end)
        report_difference(report, pieces->name, "chunk-overlap: a piece at %lld covers another",
                          (long long)offset);
    else
        pieces->end = end;
}

int inspect_chunks(struct sqlpack *pack, struct report *report, struct sqlpack_error *err)
{
    auto_release(db_release) sqlite3_stmt *statement =
        db_prepare(pack, STATEMENT_CHUNK_PLACES, err);
    if (!statement)
        return -1;
    auto_release(pieces_release) struct pieces pieces = {0};
    int result;
    while ((result = db_step(pack, statement, err)) > 0) {
        int64_t id = sqlite3_column_int64(statement, 0);
        if ((!pieces.name || id != pieces.id) && pieces_begin(&pieces, pack, id, report, err) < 0)
            return -1;
        inspect_piece(&pieces, sqlite3_column_int64(statement, 1),
                      sqlite3_column_int64(statement, 2), report);
    }
    return result;
}

/* -- info ---------------------------------------------------------------------------------------
 */

static void hash_release(struct hash_stream **hash)
{
    hash_stream_free(*hash);
}

/* Adds a column to a hash as a typed field. */
static void hash_column(struct hash_stream *hash, sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_INTEGER) {
        hash_stream_int(hash, sqlite3_column_int64(statement, column));
        return;
    }
    const void *data = sqlite3_column_blob(statement, column);
    hash_stream_bytes(hash, data ? data : "", (size_t)sqlite3_column_bytes(statement, column));
}

/* A table whose rows have a digest in info: over its columns from first to last. */
struct facts {
    enum statement which;
    int first, last;
    const char *key;   /* of the digest; a row with that key, in info itself, is left out */
    const char *types; /* of the columns: t text, i integer, * any */
    const char *table;
};

/* A text and a blob of the same bytes have the same digest, but only one is what a reader takes. */
static bool has_types(sqlite3_stmt *statement, const struct facts *facts)
{
    for (int i = 0; i <= facts->last - facts->first; i++) {
        int type = sqlite3_column_type(statement, facts->first + i);
        if ((facts->types[i] == 't' && type != SQLITE_TEXT) ||
            (facts->types[i] == 'i' && type != SQLITE_INTEGER))
            return false;
    }
    return true;
}

static int digest_facts(struct sqlpack *pack, const struct facts *facts,
                        uint8_t ret_digest[SQLPACK_DIGEST_BYTES], struct report *report,
                        struct sqlpack_error *err)
{
    auto_release(db_release) sqlite3_stmt *statement = db_prepare(pack, facts->which, err);
    auto_release(hash_release) struct hash_stream *hash = hash_stream_new();
    if (!statement)
        return -1;
    if (!hash)
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    int result;
    while ((result = db_step(pack, statement, err)) > 0) {
        if (!has_types(statement, facts))
            report_difference(report, "", "malformed: a row of %s", facts->table);
        const char *key = (const char *)sqlite3_column_text(statement, facts->first);
        if (key && strcmp(key, facts->key) == 0)
            continue;
        for (int column = facts->first; column <= facts->last; column++)
            hash_column(hash, statement, column);
    }
    hash_stream_end(hash, ret_digest);
    return result;
}

/* Looks a value of info up. Returns the statement on its row, NULL where there is none: then
 * *ret_failed tells why. */
static sqlite3_stmt *find_info(struct sqlpack *pack, const char *key, bool *ret_failed,
                               struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_INFO_VALUE, err);
    *ret_failed = true;
    if (!statement)
        return NULL;
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    int result = db_step(pack, statement, err);
    *ret_failed = result < 0;
    return result > 0 ? statement : NULL;
}

uint64_t inspect_expected(struct sqlpack *pack, const char *key)
{
    bool failed;
    struct sqlpack_error err;
    sqlite3_stmt *statement = pack->is_own ? find_info(pack, key, &failed, &err) : NULL;
    if (!statement)
        return 0;
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return number > 0 ? (uint64_t)number : 0;
}

uint64_t inspect_expected_entries(struct sqlpack *pack)
{
    static const char *const counts[] = {INFO_FILES, INFO_FOLDERS, INFO_SYMLINKS, INFO_SPECIALS,
                                         INFO_HARD_LINKS};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        sum += inspect_expected(pack, counts[i]);
    return sum;
}

static int inspect_digest(struct sqlpack *pack, const char *key, const uint8_t *digest,
                          struct report *report, bool *ret_matches, struct sqlpack_error *err)
{
    bool failed;
    sqlite3_stmt *statement = find_info(pack, key, &failed, err);
    if (failed)
        return -1;
    *ret_matches = statement && sqlite3_column_bytes(statement, 0) == SQLPACK_DIGEST_BYTES &&
                   memcmp(sqlite3_column_blob(statement, 0), digest, SQLPACK_DIGEST_BYTES) == 0;
    if (!*ret_matches)
        report_difference(report, "", "info-differs: %s is not that of the rows", key);
    if (statement)
        sqlite3_reset(statement);
    return 0;
}

static int inspect_count(struct sqlpack *pack, const char *key, uint64_t count,
                         struct report *report, struct sqlpack_error *err)
{
    bool failed;
    sqlite3_stmt *statement = find_info(pack, key, &failed, err);
    if (failed)
        return -1;
    if (!statement || sqlite3_column_type(statement, 0) != SQLITE_INTEGER ||
        (uint64_t)sqlite3_column_int64(statement, 0) != count)
        report_difference(report, "", "info-differs: %s is not %llu", key,
                          (unsigned long long)count);
    if (statement)
        sqlite3_reset(statement);
    return 0;
}

int inspect_info(struct sqlpack *pack, const struct tally *tally, struct report *report,
                 bool *ret_root_matches, struct sqlpack_error *err)
{
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {
        {INFO_FILES, tally->file_count},           {INFO_FOLDERS, tally->folder_count},
        {INFO_SYMLINKS, tally->symlink_count},     {INFO_SPECIALS, tally->special_count},
        {INFO_HARD_LINKS, tally->hard_link_count}, {INFO_CONTENT_BYTES, tally->content_bytes},
    };
    static const struct facts tables[] = {
        {STATEMENT_INFO, 0, 1, INFO_SEAL, "t*", "sqlpack_info"},
        {STATEMENT_OWNERS, 1, 3, INFO_OWNER_DIGEST, "tit", "sqlpack_owner"},
        {STATEMENT_LOSSES, 1, 3, INFO_LOSS_DIGEST, "tti", "sqlpack_loss"},
    };
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    bool matches;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (digest_facts(pack, &tables[i], digest, report, err) < 0 ||
            inspect_digest(pack, tables[i].key, digest, report, &matches, err) < 0)
            return -1;
    hash_sum_digest(&tally->sum, digest);
    if (inspect_digest(pack, INFO_ROOT_DIGEST, digest, report, ret_root_matches, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (inspect_count(pack, counts[i].key, counts[i].count, report, err) < 0)
            return -1;
    return 0;
}

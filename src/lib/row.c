/* SPDX-License-Identifier: MIT */
/* Makes entries from rows: those that sqlpack sealed, and those that another program wrote. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/internal.h"

#define NS_MAX     999999999
#define UNKNOWN_ID UINT32_MAX
#define LINK_MODE  (S_IFLNK | 0777)
#define NO_MTIME   (-1) /* of symlinks and hard links, in sqlar */

/* -- sqlpack_stat -------------------------------------------------------------------------- */

static bool take_int(const struct field *field, int64_t min, int64_t max, int64_t *ret)
{
    *ret = field->number;
    return field->kind == FIELD_INT && *ret >= min && *ret <= max;
}

/* The same where NULL stands for `none`. */
static bool take_int_or_null(const struct field *field, int64_t min, int64_t none, int64_t *ret)
{
    *ret = none;
    return field->kind == FIELD_NULL || take_int(field, min, INT64_MAX, ret);
}

/* Bytes, but not none of them; or NULL. */
static bool take_blob(const struct field *field, const void **ret, size_t *ret_size)
{
    *ret = field->data;
    *ret_size = field->size;
    if (field->kind == FIELD_BLOB)
        return field->size > 0;
    *ret = NULL;
    *ret_size = 0;
    return field->kind == FIELD_NULL;
}

static bool is_known_type(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
    case S_IFIFO:
    case S_IFCHR:
    case S_IFBLK:
        return true;
    default:
        return false;
    }
}

enum stat_column {
    STAT_ID,
    STAT_MODE,
    STAT_MTIME,
    STAT_MTIME_NS,
    STAT_SZ,
    STAT_UID,
    STAT_GID,
    STAT_CTIME_NS,
    STAT_RDEV,
    STAT_LINK,
    STAT_XATTR,
    STAT_DIGEST,
    STAT_SEAL,
    STAT_COLUMNS
};

static bool take_stat(const struct field *fields, struct sqlpack_entry *entry, int64_t *ret_seal)
{
    int64_t mode, mtime_ns, sz, uid, gid, rdev;
    const void *digest;
    size_t digest_bytes;
    if (!take_int(&fields[STAT_MODE], 0, S_IFMT | 07777, &mode) ||
        !take_int(&fields[STAT_MTIME], INT64_MIN, INT64_MAX, &entry->mtime) ||
        !take_int(&fields[STAT_MTIME_NS], 0, NS_MAX, &mtime_ns) ||
        !take_int(&fields[STAT_SZ], 0, INT64_MAX, &sz) ||
        !take_int(&fields[STAT_UID], 0, UINT32_MAX, &uid) ||
        !take_int(&fields[STAT_GID], 0, UINT32_MAX, &gid) ||
        !take_int_or_null(&fields[STAT_CTIME_NS], INT64_MIN, SQLPACK_NO_TIME, &entry->ctime_ns) ||
        !take_int_or_null(&fields[STAT_RDEV], 1, 0, &rdev) ||
        !take_int_or_null(&fields[STAT_LINK], 1, 0, &entry->link) ||
        !take_blob(&fields[STAT_XATTR], &entry->xattr, &entry->xattr_bytes) ||
        !take_blob(&fields[STAT_DIGEST], &digest, &digest_bytes) ||
        !take_int(&fields[STAT_SEAL], INT64_MIN, INT64_MAX, ret_seal))
        return false;
    entry->has_digest = digest;
    if (digest_bytes != (digest ? SQLPACK_DIGEST_BYTES : 0))
        return false;
    if (digest)
        memcpy(entry->digest, digest, SQLPACK_DIGEST_BYTES);
    entry->mode = (uint32_t)mode;
    entry->mtime_ns = (uint32_t)mtime_ns;
    entry->sz = (uint64_t)sz;
    entry->uid = (uint32_t)uid;
    entry->gid = (uint32_t)gid;
    entry->rdev = (uint64_t)rdev;
    return is_known_type(entry->mode);
}

/* Returns 1 where the seal fits, 0 where not. */
static int take_sealed(struct sqlpack *pack, const struct field *fields, int64_t id,
                       const char *name, struct sqlpack_entry *ret_entry, struct sqlpack_error *err)
{
    int64_t seal;
    ret_entry->id = id;
    ret_entry->name = name;
    ret_entry->target = NULL;
    ret_entry->is_foreign = false;
    if (!take_stat(fields, ret_entry, &seal))
        return db_corrupt(pack, err, "the metadata of '%s' make no sense", show(name).text);
    return hash_seal(ret_entry) == seal;
}

int row_stat(struct sqlpack *pack, sqlite3_stmt *statement, int column, const char *name,
             struct sqlpack_entry *ret_entry, struct sqlpack_error *err)
{
    struct field fields[STAT_COLUMNS];
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return 0;
    for (int i = 0; i < STAT_COLUMNS; i++)
        field_take_column(statement, column + i, &fields[i]);
    return take_sealed(pack, fields, fields[STAT_ID].number, name, ret_entry, err);
}

int row_stat_record(struct sqlpack *pack, const struct cursor_row *row, const char *name,
                    struct sqlpack_entry *ret_entry, struct sqlpack_error *err)
{
    struct field fields[STAT_COLUMNS];
    if (!field_take(row, fields, STAT_COLUMNS))
        return db_corrupt(pack, err, "a row of sqlpack_stat is malformed");
    return take_sealed(pack, fields, row->rowid, name, ret_entry, err);
}

/* -- sqlar --------------------------------------------------------------------------------- */

/* What stands in sqlar, as it is. */
struct raw {
    int64_t id, mode, mtime, sz;
    bool has_sz; /* it is not NULL */
    const char *name;
    size_t name_bytes;
    int data_type;       /* SQLITE_NULL, _TEXT, _BLOB or what has no place there */
    const void *data;    /* NULL where it was not asked for */
    uint64_t data_bytes; /* of TEXT and BLOB */
};

static int take_raw(struct sqlpack *pack, sqlite3_stmt *statement, struct raw *raw,
                    struct sqlpack_error *err)
{
    *raw = (struct raw){.id = sqlite3_column_int64(statement, 0)};
    raw->name = name_column(statement, 1, &raw->name_bytes);
    if (!raw->name)
        return db_corrupt(pack, err, "the name in row %lld is no text", (long long)raw->id);
    struct field fields[3];
    for (int i = 0; i < 3; i++)
        field_take_column(statement, 2 + i, &fields[i]);
    raw->has_sz = fields[2].kind != FIELD_NULL;
    if (!take_int(&fields[0], 0, S_IFMT | 07777, &raw->mode) ||
        !take_int(&fields[1], INT64_MIN, INT64_MAX, &raw->mtime) ||
        (raw->has_sz && !take_int(&fields[2], -1, INT64_MAX, &raw->sz)))
        return db_corrupt(pack, err, "the metadata of '%s' make no sense", show(raw->name).text);
    raw->data_type = sqlite3_column_type(statement, 6);
    if (sqlite3_column_type(statement, 5) != SQLITE_NULL) {
        raw->data_bytes = (uint64_t)sqlite3_column_int64(statement, 5);
        if (raw->data_type == SQLITE_BLOB)
            raw->data = raw->data_bytes ? sqlite3_column_blob(statement, 6) : "";
        raw->data_type = SQLITE_BLOB;
    } else if (raw->data_type == SQLITE_TEXT) {
        raw->data = sqlite3_column_text(statement, 6);
        raw->data_bytes = (uint64_t)sqlite3_column_bytes(statement, 6);
    }
    return 0;
}

/* Whether data holds a text that can be a symlink's target; a NUL ends the column_text of both. */
static bool is_target(const struct raw *raw)
{
    return raw->data && raw->data_bytes > 0 && !memchr(raw->data, '\0', raw->data_bytes);
}

/* Takes the content of a regular file over. */
static int take_content(struct sqlpack *pack, const struct raw *raw, struct reader_row *row,
                        struct sqlpack_error *err)
{
    row->stored = raw->data;
    row->stored_bytes = raw->data_bytes;
    if (raw->data_bytes == row->entry.sz ||
        (raw->data_bytes < row->entry.sz && raw->data_bytes > 0 &&
         codec_is_possible(row->entry.sz, raw->data_bytes)))
        return 0;
    return db_corrupt(pack, err, "%llu bytes cannot be the content of '%s', which has %llu",
                      (unsigned long long)raw->data_bytes, show(row->entry.name).text,
                      (unsigned long long)row->entry.sz);
}

/* -- rows that sqlpack sealed -------------------------------------------------------------- */

/* Appends the path that leads from the folder of `name` to `first`. */
static int relative_path(struct buf *path, const char *name, const char *first)
{
    size_t common = 0;
    for (size_t i = 0; name[i] && name[i] == first[i]; i++)
        if (name[i] == '/')
            common = i + 1;
    for (const char *at = strchr(name + common, '/'); at; at = strchr(at + 1, '/'))
        if (buf_append_text(path, "../") < 0)
            return -1;
    if (buf_append_text(path, first + common) < 0)
        return -1;
    return buf_terminate(path);
}

/* Whether the row is the further hard link that its stat row describes. Returns 1, 0, -1. */
static int link_agrees(struct sqlpack *pack, const struct raw *raw, struct sqlpack_entry *entry,
                       struct sqlpack_error *err)
{
    if (raw->mode != LINK_MODE || raw->mtime != NO_MTIME || raw->data_type != SQLITE_TEXT)
        return 0;
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_FIRST_LINK, err);
    if (!statement)
        return -1;
    sqlite3_bind_int64(statement, 1, entry->link);
    int found = db_step(pack, statement, err);
    if (found <= 0)
        return found;
    size_t size;
    const char *first = name_column(statement, 0, &size);
    int64_t mode = sqlite3_column_int64(statement, 1);
    if (!first || !path_is_safe(first, size) || (mode & S_IFMT) != (entry->mode & S_IFMT) ||
        sqlite3_column_type(statement, 2) != SQLITE_NULL)
        return 0;
    pack->scratch.size = 0;
    if (relative_path(&pack->scratch, entry->name, first) < 0)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    entry->target = first;
    return raw->sz == (int64_t)raw->data_bytes && raw->data_bytes == pack->scratch.size &&
           memcmp(raw->data, pack->scratch.data, pack->scratch.size) == 0;
}

/* Whether what stands in sqlar is what sqlpack derives from the stat row. Returns 1, 0, -1. */
static int agrees(struct sqlpack *pack, const struct raw *raw, struct sqlpack_entry *entry,
                  struct sqlpack_error *err)
{
    if (!raw->has_sz)
        return 0;
    if (entry->link)
        return link_agrees(pack, raw, entry, err);
    if (raw->mode != entry->mode)
        return 0;
    switch (entry->mode & S_IFMT) {
    case S_IFREG:
        return raw->mtime == entry->mtime && raw->sz == (int64_t)entry->sz &&
               (raw->data_type == SQLITE_BLOB || (raw->data_type == SQLITE_NULL && raw->sz > 0));
    case S_IFLNK:
        entry->target = raw->data;
        return raw->mtime == NO_MTIME && raw->sz == (int64_t)entry->sz &&
               raw->data_type == SQLITE_TEXT && raw->data_bytes == entry->sz && is_target(raw);
    case S_IFDIR:
        return raw->mtime == entry->mtime && raw->sz == 0 && entry->sz == 0 &&
               raw->data_type == SQLITE_NULL;
    default:
        return raw->mtime == entry->mtime && raw->sz == 0 && entry->sz == 0 &&
               raw->data_type == SQLITE_BLOB && raw->data_bytes == 0;
    }
}

/* Returns 1 where the row is sqlpack's own, 0, -1. */
static int decode_own(struct sqlpack *pack, sqlite3_stmt *statement, const struct raw *raw,
                      struct reader_row *row, struct sqlpack_error *err)
{
    int sealed = row_stat(pack, statement, ROW_SQLAR_COLUMNS, raw->name, &row->entry, err);
    if (sealed <= 0)
        return sealed;
    int agreed = agrees(pack, raw, &row->entry, err);
    if (agreed <= 0 || !S_ISREG(row->entry.mode) || row->entry.link)
        return agreed;
    row->is_chunked = raw->data_type == SQLITE_NULL;
    if (!row->is_chunked && take_content(pack, raw, row, err) < 0)
        return -1;
    return 1;
}

/* -- rows of other programs ---------------------------------------------------------------- */

static int foreign_file(struct sqlpack *pack, const struct raw *raw, struct reader_row *row,
                        struct sqlpack_error *err)
{
    if (raw->data_type == SQLITE_NULL) {
        if (raw->has_sz && raw->sz == 0)
            row->stored = "";
        else
            row->skip_why = "it has no content"; /* sqlite3 -A stores so what it cannot read */
        return 0;
    }
    if (!raw->has_sz || raw->sz < 0 || raw->data_type != SQLITE_BLOB)
        return db_corrupt(pack, err, "the content of '%s' makes no sense", show(raw->name).text);
    row->entry.sz = (uint64_t)raw->sz;
    return take_content(pack, raw, row, err);
}

static int foreign_symlink(struct sqlpack *pack, const struct raw *raw, struct reader_row *row,
                           struct sqlpack_error *err)
{
    if (!is_target(raw) || (raw->sz > 0 && raw->sz != (int64_t)raw->data_bytes))
        return db_corrupt(pack, err, "the target of '%s' makes no sense", show(raw->name).text);
    row->entry.sz = raw->data_bytes;
    row->entry.target = raw->data;
    return 0;
}

static int decode_foreign(struct sqlpack *pack, const struct raw *raw, struct reader_row *row,
                          struct sqlpack_error *err)
{
    struct sqlpack_entry *entry = &row->entry;
    *entry = (struct sqlpack_entry){
        .id = raw->id,
        .name = entry->name,
        .mode = (uint32_t)raw->mode,
        .mtime = raw->mtime,
        .uid = UNKNOWN_ID,
        .gid = UNKNOWN_ID,
        .ctime_ns = SQLPACK_NO_TIME,
        .is_foreign = true,
    };
    if ((entry->mode & S_IFMT) == 0)
        entry->mode |= raw->data_type == SQLITE_NULL && raw->sz == 0 ? S_IFDIR : S_IFREG;
    switch (entry->mode & S_IFMT) {
    case S_IFREG:
        return foreign_file(pack, raw, row, err);
    case S_IFLNK:
        return foreign_symlink(pack, raw, row, err);
    case S_IFDIR:
        if (raw->data_type == SQLITE_NULL || raw->data_bytes == 0)
            return 0;
        return db_corrupt(pack, err, "folder '%s' has content", show(raw->name).text);
    case S_IFIFO:
        return 0;
    case S_IFCHR:
    case S_IFBLK:
        row->skip_why = "it is a device without its number";
        return 0;
    default:
        return db_corrupt(pack, err, "'%s' has a type that is not known", show(raw->name).text);
    }
}

int row_decode(struct sqlpack *pack, sqlite3_stmt *statement, const char *known_name,
               struct reader_row *ret_row, struct sqlpack_error *err)
{
    struct raw raw;
    struct name_verdict verdict = {.name = known_name};
    if (take_raw(pack, statement, &raw, err) < 0)
        return -1;
    if (!known_name && names_judge(pack, raw.id, raw.name, raw.name_bytes, &verdict, err) < 0)
        return -1;
    if (raw.id < 1)
        verdict.skip_why = "its row has no usable number";
    *ret_row = (struct reader_row){0};
    if (pack->is_own && !verdict.skip_why && strcmp(verdict.name, raw.name) == 0) {
        int is_own = decode_own(pack, statement, &raw, ret_row, err);
        if (is_own != 0)
            return is_own < 0 ? -1 : 0;
        *ret_row = (struct reader_row){0};
    }
    ret_row->entry.name = verdict.name;
    if (decode_foreign(pack, &raw, ret_row, err) < 0)
        return -1;
    if (verdict.skip_why)
        ret_row->skip_why = verdict.skip_why;
    return 0;
}

/* -- single rows --------------------------------------------------------------------------- */

static int fetch(struct sqlpack *pack, sqlite3_stmt *statement, const char *known_name,
                 int64_t content_max, struct reader_row *ret_row, struct sqlpack_error *err)
{
    sqlite3_bind_int64(statement, 1, content_max);
    int found = db_step(pack, statement, err);
    if (found <= 0)
        return found;
    return row_decode(pack, statement, known_name, ret_row, err) < 0 ? -1 : 1;
}

int row_by_id(struct sqlpack *pack, int64_t id, const char *known_name, int64_t content_max,
              struct reader_row *ret_row, struct sqlpack_error *err)
{
    sqlite3_stmt *statement =
        db_statement(pack, pack->is_own ? STATEMENT_ROW_BY_ID : STATEMENT_ROW_BY_ID_FOREIGN, err);
    if (!statement)
        return -1;
    sqlite3_bind_int64(statement, 2, id);
    return fetch(pack, statement, known_name, content_max, ret_row, err);
}

int row_by_name(struct sqlpack *pack, const char *raw_name, const char *known_name,
                int64_t content_max, struct reader_row *ret_row, struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_statement(
        pack, pack->is_own ? STATEMENT_ROW_BY_NAME : STATEMENT_ROW_BY_NAME_FOREIGN, err);
    if (!statement)
        return -1;
    sqlite3_bind_text(statement, 2, raw_name, -1, SQLITE_TRANSIENT);
    return fetch(pack, statement, known_name, content_max, ret_row, err);
}

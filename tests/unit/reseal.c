/* SPDX-License-Identifier: MIT */
/* Seals every row of a pack anew, as one who forges a pack would: reseal PACK. */
#include <err.h>
#include <string.h>

#include "lib/internal.h"

static uint32_t owner(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL
               ? UINT32_MAX
               : (uint32_t)sqlite3_column_int64(row, column);
}

static struct sqlpack_entry read_entry(sqlite3_stmt *row)
{
    struct sqlpack_entry entry = {
        .id = sqlite3_column_int64(row, 0),
        .name = (const char *)sqlite3_column_text(row, 1),
        .mode = (uint32_t)sqlite3_column_int64(row, 2),
        .mtime = sqlite3_column_int64(row, 3),
        .mtime_ns = (uint32_t)sqlite3_column_int64(row, 4),
        .sz = (uint64_t)sqlite3_column_int64(row, 5),
        .uid = owner(row, 6),
        .gid = owner(row, 7),
        .rdev = (uint64_t)sqlite3_column_int64(row, 8),
        .link = sqlite3_column_int64(row, 9),
        .xattr = sqlite3_column_blob(row, 10),
        .xattr_bytes = (size_t)sqlite3_column_bytes(row, 10),
        .has_digest = sqlite3_column_bytes(row, 11) == SQLPACK_DIGEST_BYTES,
    };
    if (entry.has_digest)
        memcpy(entry.digest, sqlite3_column_blob(row, 11), SQLPACK_DIGEST_BYTES);
    return entry;
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    sqlite3_stmt *row, *update;
    if (argc != 2)
        errx(2, "usage: reseal PACK");
    if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db,
                           "SELECT s.id, ifnull(a.name, ''), s.mode, s.mtime, s.mtime_ns, s.sz, "
                           "s.uid, s.gid, s.rdev, s.link, s.xattr, s.digest "
                           "FROM sqlpack_stat s LEFT JOIN sqlar a ON a.id = s.id",
                           -1, &row, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "UPDATE sqlpack_stat SET seal = ?1 WHERE id = ?2", -1, &update,
                           NULL) != SQLITE_OK)
        errx(1, "%s: %s", argv[1], sqlite3_errmsg(db));
    while (sqlite3_step(row) == SQLITE_ROW) {
        struct sqlpack_entry entry = read_entry(row);
        sqlite3_bind_int64(update, 1, hash_seal(&entry));
        sqlite3_bind_int64(update, 2, entry.id);
        if (sqlite3_step(update) != SQLITE_DONE)
            errx(1, "%s: %s", argv[1], sqlite3_errmsg(db));
        sqlite3_reset(update);
    }
    sqlite3_finalize(row);
    sqlite3_finalize(update);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

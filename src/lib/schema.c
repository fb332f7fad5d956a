/* SPDX-License-Identifier: MIT */
/* The tables of a pack. sqlpack(5) explains every column. */
#include "lib/internal.h"

const struct schema_table schema_tables[TABLE_COUNT] = {
    [TABLE_SQLAR] = {"sqlar", "CREATE TABLE sqlar(id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
                              "mode INT, mtime INT, sz INT, data BLOB)"},
    [TABLE_SQLAR_NAME] = {"sqlar_name", "CREATE UNIQUE INDEX sqlar_name ON sqlar(name)"},
    [TABLE_STAT] = {"sqlpack_stat",
                    "CREATE TABLE sqlpack_stat(id INTEGER PRIMARY KEY, mode INT, mtime INT, "
                    "mtime_ns INT, sz INT, uid INT, gid INT, ctime_ns INT, rdev INT, link INT, "
                    "xattr BLOB, digest BLOB, seal INT)"},
    [TABLE_CHUNK] = {"sqlpack_chunk", "CREATE TABLE sqlpack_chunk(id INT, offset INT, len INT, "
                                      "data BLOB, PRIMARY KEY(id, offset))"},
    [TABLE_CHUNK_KEY] = {"sqlite_autoindex_sqlpack_chunk_1", NULL},
    [TABLE_OWNER] = {"sqlpack_owner", "CREATE TABLE sqlpack_owner(kind TEXT, id INT, name TEXT)"},
    [TABLE_LOSS] = {"sqlpack_loss",
                    "CREATE TABLE sqlpack_loss(name TEXT, what TEXT, os_errno INT)"},
    [TABLE_INFO] = {"sqlpack_info",
                    "CREATE TABLE sqlpack_info(key TEXT PRIMARY KEY, value) WITHOUT ROWID"},
};

/* SPDX-License-Identifier: MIT */
/* The tables of a pack and every SQL statement that reads one. sqlpack(5) explains every column. */
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

/* sqlite3 -A and the sqlar program; others write the types in full. */
const char *const schema_foreign_sqlar[] = {
    "CREATE TABLE sqlar(name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB)",
    "CREATE TABLE sqlar(name TEXT PRIMARY KEY, mode INTEGER, mtime INTEGER, sz INTEGER, data BLOB)",
    NULL,
};

/* The columns that row_decode takes, in this order. The data itself comes where it is no blob, or
 * one of at most ?1 bytes, or a symlink's; the length of a blob stands in the row's header. */
#define ROW_OF_SQLAR                                                                               \
    "a.rowid, a.name, a.mode, a.mtime, a.sz, "                                                     \
    "CASE WHEN typeof(a.data) = 'blob' THEN length(a.data) END, "                                  \
    "CASE WHEN typeof(a.data) <> 'blob' THEN a.data "                                              \
    "WHEN length(a.data) <= CASE a.mode & 61440 WHEN 40960 THEN 4096 ELSE ?1 END THEN a.data END"

/* The columns that row_stat takes. */
#define ROW_OF_STAT                                                                                \
    "s.id, s.mode, s.mtime, s.mtime_ns, s.sz, s.uid, s.gid, s.ctime_ns, s.rdev, s.link, s.xattr, " \
    "s.digest, s.seal"

#define ROWS                                                                                       \
    "SELECT " ROW_OF_SQLAR ", " ROW_OF_STAT " FROM sqlar a LEFT JOIN sqlpack_stat s ON s.id = "    \
    "a.id "
#define ROWS_FOREIGN "SELECT " ROW_OF_SQLAR " FROM sqlar a "

const char *const schema_statements[STATEMENT_COUNT] = {
    [STATEMENT_CELL_CHECK] = "PRAGMA cell_size_check = ON",
    [STATEMENT_NO_MMAP] = "PRAGMA mmap_size = 0",
    [STATEMENT_BEGIN] = "BEGIN",
    [STATEMENT_SCHEMA] = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema",

    [STATEMENT_ROWS] = ROWS "WHERE a.id BETWEEN ?2 AND ?3 ORDER BY a.id",
    [STATEMENT_ROWS_FOREIGN] = ROWS_FOREIGN "WHERE a.rowid BETWEEN ?2 AND ?3 ORDER BY a.rowid",
    [STATEMENT_ROW_BY_ID] = ROWS "WHERE a.id = ?2",
    [STATEMENT_ROW_BY_ID_FOREIGN] = ROWS_FOREIGN "WHERE a.rowid = ?2",
    [STATEMENT_ROW_BY_NAME] = ROWS "WHERE a.name = ?2",
    [STATEMENT_ROW_BY_NAME_FOREIGN] = ROWS_FOREIGN "WHERE a.name = ?2",
    [STATEMENT_STAT_BY_ID] = "SELECT " ROW_OF_STAT " FROM sqlpack_stat s WHERE s.id = ?1",
    [STATEMENT_FIRST_LINK] = "SELECT a.name, s.mode, s.link FROM sqlar a "
                             "JOIN sqlpack_stat s ON s.id = a.id WHERE a.id = ?1",
    [STATEMENT_SIZES] = "SELECT id, sz FROM sqlpack_stat ORDER BY id",
    [STATEMENT_ID_ENDS] = "SELECT (SELECT min(rowid) FROM sqlar), (SELECT max(rowid) FROM sqlar)",
    [STATEMENT_STAT_END] = "SELECT max(id) FROM sqlpack_stat",

    [STATEMENT_NAMES_NORMAL] = "SELECT rowid, name FROM sqlar "
                               "ORDER BY sqlpack_normal(name), sqlpack_form(name), name",
    [STATEMENT_DOUBLES_CREATE] =
        "CREATE TEMP TABLE IF NOT EXISTS sqlpack_doubles(id INTEGER PRIMARY KEY)",
    [STATEMENT_DOUBLES_ADD] = "INSERT OR IGNORE INTO temp.sqlpack_doubles(id) VALUES(?1)",
    [STATEMENT_DOUBLES_FIND] = "SELECT 1 FROM temp.sqlpack_doubles WHERE id = ?1",

    [STATEMENT_SORT_CREATE] =
        "CREATE TEMP TABLE IF NOT EXISTS sqlpack_sort(seq INTEGER PRIMARY KEY, key INT, "
        "id INT, name TEXT)",
    [STATEMENT_SORT_ADD] = "INSERT INTO temp.sqlpack_sort(key, id, name) VALUES(?1, ?2, ?3)",
    [STATEMENT_SORT_UP] = "SELECT id, name FROM temp.sqlpack_sort ORDER BY key, seq",
    [STATEMENT_SORT_DOWN] = "SELECT id, name FROM temp.sqlpack_sort ORDER BY key DESC, seq DESC",
    [STATEMENT_SORT_BACK] = "SELECT id, name FROM temp.sqlpack_sort ORDER BY seq DESC",
    [STATEMENT_SORT_CLEAR] = "DELETE FROM temp.sqlpack_sort", /* DROP fails beside open reads */

    [STATEMENT_CHUNKS] = "SELECT rowid, offset, len, "
                         "CASE WHEN typeof(data) = 'blob' THEN length(data) END "
                         "FROM sqlpack_chunk WHERE id = ?1 ORDER BY offset",

    [STATEMENT_INFO] = "SELECT key, value FROM sqlpack_info ORDER BY key",
    [STATEMENT_INFO_VALUE] = "SELECT value FROM sqlpack_info WHERE key = ?1",
    [STATEMENT_STORED_CHUNKS] = "SELECT rowid, CASE WHEN typeof(data) = 'blob' "
                                "THEN length(data) END FROM sqlpack_chunk ORDER BY rowid",
    [STATEMENT_ROW_COUNT] = "SELECT count(*) FROM sqlar",
    [STATEMENT_LOSSES] = "SELECT rowid, name, what, os_errno FROM sqlpack_loss ORDER BY rowid",
    [STATEMENT_OWNERS] = "SELECT rowid, kind, id, name FROM sqlpack_owner ORDER BY rowid",

    [STATEMENT_STAT_COUNT] = "SELECT count(*) FROM sqlpack_stat WHERE id BETWEEN ?1 AND ?2 "
                             "AND id <> 0",
    [STATEMENT_ORPHANS] = "SELECT id FROM sqlpack_stat s WHERE id BETWEEN ?1 AND ?2 AND id <> 0 "
                          "AND NOT EXISTS (SELECT 1 FROM sqlar a WHERE a.id = s.id)",
    [STATEMENT_NAME_BY_ID] = "SELECT name FROM sqlar WHERE rowid = ?1",
    [STATEMENT_INDEXED_NAMES] = "SELECT rowid, name FROM sqlar ORDER BY name",
    [STATEMENT_INTEGRITY] = "PRAGMA integrity_check(20)",
    [STATEMENT_CHUNK_PLACES] = "SELECT id, offset, len FROM sqlpack_chunk ORDER BY id, offset",
};

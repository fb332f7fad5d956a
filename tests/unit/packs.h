/* SPDX-License-Identifier: MIT */
/* Makes small packs row by row, as sqlpack writes them and as it never would. */
#ifndef TESTS_PACKS_H
#define TESTS_PACKS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tap.h"

static char packs_folder[] = "/tmp/sqlpack-test-XXXXXX";

/* Makes the scratch folder and enters it. */
static inline void packs_begin(void)
{
    need(mkdtemp(packs_folder) && chdir(packs_folder) == 0);
}

static inline void packs_end(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", packs_folder);
    need(chdir("/") == 0 && system(command) == 0);
}

/* Runs SQL, printf-like (sqlite3_mprintf's %q and %Q too). */
static inline void run_sql(sqlite3 *db, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *sql = sqlite3_vmprintf(format, args);
    va_end(args);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        printf("# %s: %s\n", sql, message);
    need(message == NULL);
    sqlite3_free(sql);
}

/* An empty pack in a new file. */
static inline sqlite3 *pack_new(const char *path, int page_bytes)
{
    sqlite3 *db;
    unlink(path);
    need(sqlite3_open(path, &db) == SQLITE_OK);
    run_sql(db, "PRAGMA page_size=%d; PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY",
            page_bytes);
    run_sql(db, "PRAGMA application_id=%d; PRAGMA user_version=%d", SCHEMA_APPLICATION_ID,
            SCHEMA_FORMAT);
    for (int i = 0; i < TABLE_COUNT; i++)
        if (schema_tables[i].sql)
            run_sql(db, "%s", schema_tables[i].sql);
    run_sql(db, "INSERT INTO sqlpack_info VALUES('format', %d)", SCHEMA_FORMAT);
    return db;
}

/* An archive as sqlite3 -A makes it. */
static inline sqlite3 *archive_new(const char *path)
{
    sqlite3 *db;
    unlink(path);
    need(sqlite3_open(path, &db) == SQLITE_OK);
    run_sql(db, "CREATE TABLE sqlar(\n  name TEXT PRIMARY KEY,  -- name of the file\n"
                "  mode INT, -- access permissions\n  mtime INT,\n  sz INT, /* size */\n"
                "  data BLOB\n)");
    return db;
}

static inline void bind_some(sqlite3_stmt *statement, int at, int64_t number)
{
    if (number)
        sqlite3_bind_int64(statement, at, number);
    else
        sqlite3_bind_null(statement, at);
}

/* The sealed row of sqlpack_stat. */
static inline void add_stat(sqlite3 *db, const struct sqlpack_entry *entry)
{
    sqlite3_stmt *add;
    need(sqlite3_prepare_v2(db, "INSERT INTO sqlpack_stat VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", -1,
                            &add, NULL) == SQLITE_OK);
    const int64_t numbers[] = {entry->id,          entry->mode, entry->mtime, entry->mtime_ns,
                               (int64_t)entry->sz, entry->uid,  entry->gid};
    for (int i = 0; i < 7; i++)
        sqlite3_bind_int64(add, i + 1, numbers[i]);
    if (entry->ctime_ns != SQLPACK_NO_TIME)
        sqlite3_bind_int64(add, 8, entry->ctime_ns);
    bind_some(add, 9, (int64_t)entry->rdev);
    bind_some(add, 10, entry->link);
    if (entry->xattr)
        sqlite3_bind_blob(add, 11, entry->xattr, (int)entry->xattr_bytes, SQLITE_STATIC);
    if (entry->has_digest)
        sqlite3_bind_blob(add, 12, entry->digest, SQLPACK_DIGEST_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(add, 13, hash_seal(entry));
    need(sqlite3_step(add) == SQLITE_DONE);
    sqlite3_finalize(add);
}

/* The row of sqlar: `data` is text for a link, NULL for none. */
static inline void add_sqlar(sqlite3 *db, const struct sqlpack_entry *entry, const void *data,
                             size_t size, bool is_text)
{
    sqlite3_stmt *add;
    need(sqlite3_prepare_v2(db,
                            "INSERT INTO sqlar(rowid,name,mode,mtime,sz,data) "
                            "VALUES(?,?,?,?,?,?)",
                            -1, &add, NULL) == SQLITE_OK);
    sqlite3_bind_int64(add, 1, entry->id);
    sqlite3_bind_text(add, 2, entry->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(add, 3, is_text ? (S_IFLNK | 0777) : entry->mode);
    sqlite3_bind_int64(add, 4, is_text ? -1 : entry->mtime);
    sqlite3_bind_int64(add, 5, is_text ? (int64_t)size : (int64_t)entry->sz);
    if (is_text)
        sqlite3_bind_text(add, 6, data, (int)size, SQLITE_STATIC);
    else if (data)
        sqlite3_bind_blob64(add, 6, data, size, SQLITE_STATIC);
    need(sqlite3_step(add) == SQLITE_DONE);
    sqlite3_finalize(add);
}

/* An entry with some metadata. */
static inline struct sqlpack_entry entry_of(int64_t id, const char *name, uint32_t mode)
{
    return (struct sqlpack_entry){
        .id = id,
        .name = name,
        .mode = mode,
        .mtime = 1700000000 + id,
        .mtime_ns = 123456789,
        .uid = 1000,
        .gid = 100,
        .ctime_ns = id % 2 ? 1700000000000000000 + id : SQLPACK_NO_TIME,
    };
}

static inline void add_root(sqlite3 *db)
{
    struct sqlpack_entry root = entry_of(0, "", S_IFDIR | 0750);
    add_stat(db, &root);
}

static inline void add_folder(sqlite3 *db, int64_t id, const char *name)
{
    struct sqlpack_entry entry = entry_of(id, name, S_IFDIR | 0755);
    add_stat(db, &entry);
    add_sqlar(db, &entry, NULL, 0, false);
}

/* A regular file, its content stored as it is. Returns its entry. */
static inline struct sqlpack_entry add_file(sqlite3 *db, int64_t id, const char *name,
                                            const void *content, size_t size)
{
    struct sqlpack_entry entry = entry_of(id, name, S_IFREG | 0644);
    entry.sz = size;
    entry.has_digest = true;
    hash_digest(content, size, entry.digest);
    add_stat(db, &entry);
    add_sqlar(db, &entry, content, size, false);
    return entry;
}

static inline void add_symlink(sqlite3 *db, int64_t id, const char *name, const char *target)
{
    struct sqlpack_entry entry = entry_of(id, name, S_IFLNK | 0777);
    entry.sz = strlen(target);
    add_stat(db, &entry);
    add_sqlar(db, &entry, target, strlen(target), true);
}

/* A further name of the file `first`; `path` leads there from its folder. */
static inline void add_link(sqlite3 *db, int64_t id, const char *name,
                            const struct sqlpack_entry *first, const char *path)
{
    struct sqlpack_entry entry = *first;
    entry.id = id;
    entry.name = name;
    entry.link = first->id;
    add_stat(db, &entry);
    add_sqlar(db, &entry, path, strlen(path), true);
}

/* Closes the database and opens the pack. */
static inline struct sqlpack *reopen(sqlite3 *db, const char *path)
{
    struct sqlpack *pack;
    struct sqlpack_error err;
    need(sqlite3_close(db) == SQLITE_OK);
    if (sqlpack_open(path, &pack, &err) == 0)
        return pack;
    printf("# %s\n", err.message);
    need(false);
    return NULL;
}

/* How a read ends. */
static inline enum sqlpack_status read_status(struct sqlpack *pack, const char *name)
{
    struct sqlpack_error err;
    void *data;
    size_t size;
    if (sqlpack_read(pack, name, &data, &size, &err) < 0)
        return err.status;
    free(data);
    return SQLPACK_OK;
}

/* Whether a read gives these bytes. */
static inline bool reads_as(struct sqlpack *pack, const char *name, const void *want,
                            size_t want_bytes)
{
    struct sqlpack_error err;
    void *data;
    size_t size;
    if (sqlpack_read(pack, name, &data, &size, &err) < 0) {
        printf("# %s\n", err.message);
        return false;
    }
    bool is_same = size == want_bytes && memcmp(data, want, size) == 0;
    free(data);
    return is_same;
}

#endif

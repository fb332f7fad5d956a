/* SPDX-License-Identifier: MIT */
/* Tests of lib/db and lib/gate: what is opened as a pack, and what is refused, and how. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "packs.h"

static enum sqlpack_status open_status(const char *path, struct sqlpack_error *err)
{
    struct sqlpack *pack;
    if (sqlpack_open(path, &pack, err) < 0)
        return err->status;
    sqlpack_close(pack);
    return SQLPACK_OK;
}

#define refuses(path, want, name)                                                                  \
    do {                                                                                           \
        struct sqlpack_error refuses_err = {.message = "(opened)"};                                \
        if (!is_int(open_status(path, &refuses_err), want, name))                                  \
            printf("#   %s\n", refuses_err.message);                                               \
    } while (0)
#define opens(path, name) refuses(path, SQLPACK_OK, name)

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    need(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* Overwrites bytes of a file. */
static void poke(const char *path, long offset, const void *data, size_t size)
{
    FILE *file = fopen(path, "r+b");
    need(file && fseek(file, offset, SEEK_SET) == 0 && fwrite(data, 1, size, file) == size &&
         fclose(file) == 0);
}

static void make_pack(const char *path)
{
    sqlite3 *db = pack_new(path, 1024);
    add_root(db);
    add_file(db, 1, "a", "hello", 5);
    sqlite3_close(db);
}

static void refuses_what_is_no_database(void)
{
    struct sqlpack_error err;
    refuses("missing.db", SQLPACK_NOT_FOUND, "a file that is not there");
    mkdir("folder.db", 0755);
    is_int(open_status("folder.db", &err), SQLPACK_NOT_A_PACK, "a folder");
    is_text(err.message, "cannot read 'folder.db': it is a folder", "it says so");
    need(mkfifo("fifo.db", 0644) == 0);
    alarm(10);
    refuses("fifo.db", SQLPACK_NOT_A_PACK, "a FIFO, without waiting for a writer");
    is_int(open_status("/dev/zero", &err), SQLPACK_NOT_A_PACK, "a device");
    is_text(err.message, "cannot read '/dev/zero': it is not a regular file", "it says so");
    alarm(0);
    write_file("empty.db", "", 0);
    is_int(open_status("empty.db", &err), SQLPACK_NOT_A_PACK, "an empty file");
    is_text(err.message, "cannot read 'empty.db': it is empty", "it says so");
    write_file("short.db", "SQLite format 3", 16);
    refuses("short.db", SQLPACK_NOT_A_PACK, "a header alone");
    char text[2000];
    memset(text, 'x', sizeof(text));
    write_file("text.db", text, sizeof(text));
    is_int(open_status("text.db", &err), SQLPACK_NOT_A_PACK, "a text");
    is_text(err.message, "cannot read 'text.db': it is not an SQLite database", "it says why");
    memset(text, 0, sizeof(text));
    memcpy(text, "SQLite format 3", 16);
    write_file("zeros.db", text, sizeof(text));
    refuses("zeros.db", SQLPACK_CORRUPT, "a header and zeros");
}

static void opens_any_path(void)
{
    make_pack("./file:x?mode=memory");
    opens("file:x?mode=memory", "a name that looks like a URI");
    make_pack("./:memory:");
    opens(":memory:", "a name that SQLite gives a meaning");
    need(symlink(":memory:", "link.db") == 0);
    opens("link.db", "a symlink");
    make_pack("na\nme.db");
    need(truncate("na\nme.db", 1024) == 0);
    struct sqlpack_error err;
    open_status("na\nme.db", &err);
    ok(strstr(err.message, "'na\\nme.db'"), "a message shows the name escaped: %s", err.message);
}

static void judges_the_header(void)
{
    make_pack("h.db");
    poke("h.db", 18, "\2\2", 2);
    refuses("h.db", SQLPACK_WAL, "WAL mode");
    ok(access("h.db-wal", F_OK) < 0 && access("h.db-shm", F_OK) < 0, "and makes no files for it");
    poke("h.db", 18, "\3\3", 2);
    refuses("h.db", SQLPACK_CORRUPT, "a file format of the future");
    poke("h.db", 18, "\1\1", 2);
    poke("h.db", 56, "\0\0\0\2", 4);
    refuses("h.db", SQLPACK_NOT_A_PACK, "UTF-16");
    poke("h.db", 56, "\0\0\0\1", 4);
    poke("h.db", 60, "\0\0\0\2", 4);
    refuses("h.db", SQLPACK_NEWER, "a later format");
    poke("h.db", 68, "\0\0\0\0", 4);
    opens("h.db", "another program's user_version means nothing");
    poke("h.db", 16, "\0\3", 2);
    refuses("h.db", SQLPACK_CORRUPT, "a page size of 3");
    make_pack("reserved.db");
    poke("reserved.db", 20, "\xff", 1);
    refuses("reserved.db", SQLPACK_CORRUPT, "pages that do not fit the reserved bytes");
    sqlite3_close(pack_new("room.db", 512));
    poke("room.db", 20, "\x28", 1);
    refuses("room.db", SQLPACK_CORRUPT, "pages with less room than SQLite gives");
    sqlite3 *db = pack_new("format.db", 512);
    run_sql(db, "PRAGMA application_id=0; PRAGMA user_version=0;"
                "UPDATE sqlpack_info SET value=2 WHERE key='format'");
    sqlite3_close(db);
    refuses("format.db", SQLPACK_NEWER, "a later format that went through a dump");
}

static void knows_what_is_cut_off(void)
{
    struct sqlpack_error err;
    make_pack("cut.db");
    struct stat stat_of;
    need(stat("cut.db", &stat_of) == 0 && truncate("cut.db", stat_of.st_size - 1) == 0);
    is_int(open_status("cut.db", &err), SQLPACK_CORRUPT, "one byte too short");
    ok(strstr(err.message, "cut off"), "it says so: %s", err.message);
    make_pack("long.db");
    need(truncate("long.db", stat_of.st_size + 5000) == 0);
    opens("long.db", "a file that is longer, as an interrupted writer leaves it");
}

/* Leaves a pack with a change half done, as a killed writer does. */
static void make_hot(const char *path)
{
    make_pack(path);
    pid_t child = fork();
    need(child >= 0);
    if (child == 0) {
        sqlite3 *db;
        need(sqlite3_open(path, &db) == SQLITE_OK);
        run_sql(db, "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN");
        for (int i = 0; i < 200; i++)
            run_sql(db, "INSERT INTO sqlpack_loss VALUES('%q', hex(randomblob(500)), 0)", "x");
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void meets_journals(void)
{
    struct stat before, after, journal;
    make_hot("hot.db");
    need(stat("hot.db", &before) == 0 && stat("hot.db-journal", &journal) == 0);
    refuses("hot.db", SQLPACK_BUSY, "a hot journal");
    need(stat("hot.db", &after) == 0);
    ok(stat("hot.db-journal", &journal) == 0, "the journal is still there");
    ok(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec && before.st_size == after.st_size,
       "the pack is unchanged");
    make_pack("cold.db");
    write_file("cold.db-journal", "", 0);
    opens("cold.db", "an empty journal");
    char zeros[512] = {0};
    write_file("cold.db-journal", zeros, sizeof(zeros));
    opens("cold.db", "a zeroed journal");
    ok(access("cold.db-journal", F_OK) == 0, "it is still there");
    make_pack("odd.db");
    need(mkfifo("odd.db-journal", 0644) == 0);
    alarm(10);
    refuses("odd.db", SQLPACK_BUSY, "a FIFO for a journal, without waiting");
    alarm(0);
    make_pack("wal.db");
    write_file("wal.db-wal", "x", 1);
    refuses("wal.db", SQLPACK_BUSY, "a -wal file beside it");
    ok(access("wal.db-shm", F_OK) < 0, "and makes no -shm file");
}

/* Waits for a writer that has the pack for a moment. */
static void waits_for_a_writer(void)
{
    int ready[2];
    make_pack("locked.db");
    need(pipe(ready) == 0);
    pid_t child = fork();
    need(child >= 0);
    if (child == 0) {
        sqlite3 *db;
        need(sqlite3_open("locked.db", &db) == SQLITE_OK);
        run_sql(db, "BEGIN EXCLUSIVE; INSERT INTO sqlpack_loss VALUES('x', 'y', 0)");
        need(write(ready[1], "x", 1) == 1);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        run_sql(db, "COMMIT");
        _exit(0);
    }
    char byte;
    need(read(ready[0], &byte, 1) == 1);
    opens("locked.db", "a pack that is locked for a moment");
    waitpid(child, NULL, 0);
}

/* -- the schema ----------------------------------------------------------------------------- */

static void judge_schema(const char *sql, enum sqlpack_status want, const char *name)
{
    sqlite3 *db = pack_new("schema.db", 1024);
    run_sql(db, "PRAGMA writable_schema=ON");
    run_sql(db, "%s", sql);
    sqlite3_close(db);
    refuses("schema.db", want, name);
}

static void judges_the_schema(void)
{
    judge_schema("CREATE TABLE notes(a, b DEFAULT 5, CHECK(CAST(a AS INT) > 3))", SQLPACK_OK,
                 "a table of the user");
    judge_schema("CREATE TABLE names(generated, [as] INT)", SQLPACK_OK, "columns with odd names");
    judge_schema("CREATE INDEX mine ON sqlar(mtime DESC, sz)", SQLPACK_OK, "a plain index");
    judge_schema("ANALYZE", SQLPACK_OK, "statistics");
    judge_schema("CREATE VIEW v AS SELECT 1", SQLPACK_CORRUPT, "a view");
    judge_schema("DROP TABLE sqlar; CREATE VIEW sqlar AS SELECT 1 AS name", SQLPACK_CORRUPT,
                 "a view called sqlar");
    judge_schema("CREATE TRIGGER t AFTER INSERT ON sqlar BEGIN SELECT 1; END", SQLPACK_CORRUPT,
                 "a trigger");
    judge_schema("CREATE VIRTUAL TABLE f USING fts5(a)", SQLPACK_CORRUPT, "a virtual table");
    judge_schema("CREATE TABLE g(a, b GENERATED ALWAYS AS (a + 1))", SQLPACK_CORRUPT,
                 "a generated column");
    judge_schema("CREATE TABLE g(a, b/**/AS/**/(a + 1) STORED)", SQLPACK_CORRUPT,
                 "a generated column in short");
    judge_schema("CREATE INDEX mine ON sqlar(mtime + 1)", SQLPACK_CORRUPT,
                 "an index over an expression");
    judge_schema("CREATE INDEX mine ON sqlar(mtime) WHERE sz > 1", SQLPACK_CORRUPT,
                 "a partial index");
    judge_schema("CREATE INDEX mine ON sqlar(mtime) WHERE sz", SQLPACK_CORRUPT,
                 "a partial index in short");
    judge_schema("CREATE INDEX mine ON sqlar(name COLLATE NOCASE)", SQLPACK_CORRUPT,
                 "an index with another collation");
    judge_schema("DROP INDEX sqlar_name", SQLPACK_NOT_A_PACK, "no index of names");
    judge_schema("DROP TABLE sqlpack_loss", SQLPACK_CORRUPT, "a table that is missing");
    judge_schema("DROP TABLE sqlpack_loss; CREATE TABLE sqlpack_loss(name, what, os_errno)",
                 SQLPACK_CORRUPT, "a table with other columns");
    judge_schema("DROP TABLE sqlar; CREATE TABLE sqlar(id INTEGER PRIMARY KEY, name TEXT NOT NULL "
                 "COLLATE NOCASE, mode INT, mtime INT, sz INT, data BLOB);"
                 "CREATE UNIQUE INDEX sqlar_name ON sqlar(name)",
                 SQLPACK_NOT_A_PACK, "names with another collation");
    judge_schema("DROP INDEX sqlar_name; CREATE UNIQUE INDEX sqlar_name ON sqlar(name DESC)",
                 SQLPACK_CORRUPT, "an index of names that is turned round");
}

static void judges_large_schemas(void)
{
    sqlite3 *db = pack_new("many.db", 1024);
    for (int i = 0; i < 70; i++)
        run_sql(db, "CREATE TABLE t%d(a)", i);
    sqlite3_close(db);
    refuses("many.db", SQLPACK_CORRUPT, "70 tables");
    db = pack_new("very.db", 1024);
    run_sql(db, "BEGIN");
    for (int i = 0; i < 5000; i++)
        run_sql(db, "CREATE TABLE t%d(a)", i);
    run_sql(db, "COMMIT");
    sqlite3_close(db);
    struct sqlpack_error err;
    is_int(open_status("very.db", &err), SQLPACK_CORRUPT, "5,000 tables");
    ok(strstr(err.message, "larger"), "without reading all of them: %s", err.message);
    db = pack_new("wide.db", 1024);
    run_sql(db, "CREATE TABLE t(a /* %10000s */)", "x");
    sqlite3_close(db);
    refuses("wide.db", SQLPACK_CORRUPT, "a definition of 10,000 bytes");
}

/* Spaces, comments, letter case and quotes make no difference. */
static void knows_archives(void)
{
    static const char *const forms[] = {
        "CREATE TABLE sqlar(name TEXT PRIMARY KEY,mode INT,mtime INT,sz INT,data BLOB)",
        "create table sqlar (\"name\" text primary key, [mode] integer, `mtime` integer, "
        "sz integer, data blob)",
        "CREATE TABLE 'sqlar'(name TEXT PRIMARY KEY -- a 'name'\n, mode INT /* ( */, mtime INT, "
        "sz INT, data BLOB)",
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        unlink("form.db");
        sqlite3 *db;
        need(sqlite3_open("form.db", &db) == SQLITE_OK);
        run_sql(db, "%s", forms[i]);
        sqlite3_close(db);
        refuses("form.db", i < 2 ? SQLPACK_OK : SQLPACK_NOT_A_PACK,
                i < 2 ? "an archive in another hand" : "a name as a string is no known form");
    }
    sqlite3 *db;
    need(sqlite3_open("other.db", &db) == SQLITE_OK);
    run_sql(db, "CREATE TABLE files(name TEXT PRIMARY KEY)");
    sqlite3_close(db);
    refuses("other.db", SQLPACK_NOT_A_PACK, "a database without sqlar");
}

static void survives_vacuum_and_dump(void)
{
    sqlite3 *db;
    make_pack("v.db");
    need(sqlite3_open("v.db", &db) == SQLITE_OK);
    run_sql(db, "VACUUM");
    sqlite3_close(db);
    opens("v.db", "after VACUUM");
    if (system("command -v sqlite3 >/dev/null") != 0) {
        skip("after a dump", "no sqlite3 here");
        return;
    }
    need(system("sqlite3 v.db .dump | sqlite3 d.db") == 0);
    opens("d.db", "after a dump");
}

int main(void)
{
    packs_begin();
    refuses_what_is_no_database();
    opens_any_path();
    judges_the_header();
    knows_what_is_cut_off();
    meets_journals();
    waits_for_a_writer();
    judges_the_schema();
    judges_large_schemas();
    knows_archives();
    survives_vacuum_and_dump();
    packs_end();
    return done();
}

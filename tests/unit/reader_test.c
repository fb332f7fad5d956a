/* SPDX-License-Identifier: MIT */
/* Tests of lib/reader, row, name: entries and rows, own, foreign, malformed. */
#include "packs.h"

/* Finds an entry that must be there. */
static struct sqlpack_entry find(struct sqlpack *pack, const char *name)
{
    struct sqlpack_error err;
    struct sqlpack_entry entry = {.name = "(none)"};
    if (sqlpack_find(pack, name, &entry, &err) < 0)
        printf("# %s\n", err.message);
    return entry;
}

static enum sqlpack_status find_status(struct sqlpack *pack, const char *name)
{
    struct sqlpack_error err;
    struct sqlpack_entry entry;
    return sqlpack_find(pack, name, &entry, &err) < 0 ? err.status : SQLPACK_OK;
}

/* Steps over all rows: their number, or -1 and the status. */
static int count_rows(struct sqlpack *pack, struct id_range range, bool with_content,
                      enum sqlpack_status *ret_status)
{
    struct sqlpack_error err;
    struct reader_rows *rows;
    struct reader_row row;
    int count = 0, stepped;
    need(reader_rows_open(pack, range, with_content, &rows, &err) == 0);
    while ((stepped = reader_rows_next(rows, &row, &err)) > 0)
        count++;
    if (stepped == 0)
        is_int(reader_rows_next(rows, &row, &err), 0, "a walk that has ended stays so");
    reader_rows_close(rows);
    *ret_status = stepped < 0 ? err.status : SQLPACK_OK;
    return stepped < 0 ? -1 : count;
}

#define ALL_IDS ((struct id_range){INT64_MIN, INT64_MAX})

/* -- packs as sqlpack writes them ------------------------------------------------------------- */

static void fill_own(sqlite3 *db)
{
    add_root(db);
    add_folder(db, 1, "a");
    struct sqlpack_entry file = add_file(db, 2, "a/file", "hello", 5);
    add_file(db, 3, "empty", "", 0);
    add_symlink(db, 4, "link", "a/file");
    add_link(db, 5, "z/deep/hard", &file, "../../a/file");
    struct sqlpack_entry device = entry_of(6, "dev", S_IFCHR | 0600);
    device.rdev = 0x103;
    device.xattr = "user.x\0\1\0\0\0y";
    device.xattr_bytes = 12;
    add_stat(db, &device);
    add_sqlar(db, &device, "", 0, false);
}

static void reads_own_packs(void)
{
    sqlite3 *db = pack_new("own.db", 1024);
    fill_own(db);
    struct sqlpack *pack = reopen(db, "own.db");
    struct sqlpack_entry entry = find(pack, "a/file");
    ok(entry.id == 2 && entry.mode == (S_IFREG | 0644) && entry.mtime == 1700000002 &&
           entry.mtime_ns == 123456789 && entry.sz == 5 && entry.uid == 1000 && entry.gid == 100,
       "a file has its metadata");
    ok(entry.has_digest && !entry.is_foreign && !entry.xattr && !entry.target && !entry.link,
       "and nothing else");
    is_int(entry.ctime_ns, SQLPACK_NO_TIME, "no change time");
    is_int(find(pack, "empty").ctime_ns, 1700000000000000003, "a change time");
    is_text(find(pack, "link").target, "a/file", "a symlink has its target");
    is_int(find(pack, "link").mtime, 1700000004, "and its true time");
    entry = find(pack, "z/deep/hard");
    ok(entry.link == 2 && entry.mode == (S_IFREG | 0644) && entry.sz == 5, "a hard link");
    is_text(entry.target, "a/file", "has the first name for a target");
    entry = find(pack, "dev");
    ok(entry.rdev == 0x103 && entry.xattr_bytes == 12 && memcmp(entry.xattr, "user.x", 7) == 0,
       "a device has its number and attributes");
    entry = find(pack, "");
    ok(entry.id == 0 && *entry.name == '\0' && entry.mode == (S_IFDIR | 0750), "the root");
    is_text(find(pack, "./a//file").name, "a/file", "a name is found in other spellings");
    is_text(find(pack, "a/").name, "a", "and with a slash behind it");
    is_int(find_status(pack, "nope"), SQLPACK_NOT_FOUND, "a name that is not there");
    is_int(find_status(pack, "../a"), SQLPACK_NOT_FOUND, "a name that leads out");
    is_int(find_status(pack, "a/.."), SQLPACK_NOT_FOUND, "a name that leads back");
    ok(reads_as(pack, "a/file", "hello", 5), "content of a file");
    ok(reads_as(pack, "z/deep/hard", "hello", 5), "content of a hard link");
    ok(reads_as(pack, "link", "a/file", 6), "target of a symlink");
    ok(reads_as(pack, "empty", "", 0), "content of an empty file");
    is_int(read_status(pack, "a"), SQLPACK_INVALID, "a folder has no content");
    is_int(read_status(pack, "dev"), SQLPACK_INVALID, "a device has none");
    is_int(read_status(pack, "nope"), SQLPACK_NOT_FOUND, "nor what is not there");
    sqlpack_close(pack);
}

/* What other programs did to a row after it was sealed. */
static void knows_foreign_rows(void)
{
    static const struct {
        const char *sql, *name, *why;
    } changes[] = {
        {"UPDATE sqlar SET mode=33261 WHERE id=2", "a/file", "another mode"},
        {"UPDATE sqlar SET mtime=7 WHERE id=2", "a/file", "another time"},
        {"UPDATE sqlar SET sz=6, data=x'414243444546' WHERE id=2", "a/file", "another size"},
        {"DELETE FROM sqlpack_stat WHERE id=2", "a/file", "no stat row"},
        {"UPDATE sqlpack_stat SET seal=seal+1 WHERE id=2", "a/file", "another seal"},
        {"UPDATE sqlpack_stat SET uid=0 WHERE id=2", "a/file", "another owner"},
        {"UPDATE sqlar SET name='b' WHERE id=2", "b", "another name"},
        {"UPDATE sqlar SET data='other!' WHERE id=4; UPDATE sqlar SET sz=6 WHERE id=4;"
         "UPDATE sqlar SET mtime=5 WHERE id=4",
         "link", "another symlink"},
        {"UPDATE sqlar SET data='../a/file', sz=9 WHERE id=5", "z/deep/hard", "a link elsewhere"},
        {"UPDATE sqlar SET data='../../b/file' WHERE id=5", "z/deep/hard", "another first name"},
        {"DELETE FROM sqlar WHERE id=2", "z/deep/hard", "a link without its first name"},
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        sqlite3 *db = pack_new("changed.db", 1024);
        fill_own(db);
        run_sql(db, "%s", changes[i].sql);
        struct sqlpack *pack = reopen(db, "changed.db");
        struct sqlpack_entry entry = find(pack, changes[i].name);
        ok(entry.is_foreign && !entry.has_digest && entry.uid == UINT32_MAX && !entry.link,
           "foreign: %s", changes[i].why);
        sqlpack_close(pack);
    }
}

static void refuses_malformed_rows(void)
{
    static const char *const changes[] = {
        "UPDATE sqlpack_stat SET rdev=0 WHERE id=2",
        "UPDATE sqlpack_stat SET link=0 WHERE id=2",
        "UPDATE sqlpack_stat SET xattr=x'' WHERE id=2",
        "UPDATE sqlpack_stat SET mode=NULL WHERE id=2",
        "UPDATE sqlpack_stat SET mode=61440 WHERE id=2",
        "UPDATE sqlpack_stat SET mtime_ns=1000000000 WHERE id=2",
        "UPDATE sqlpack_stat SET sz=-1 WHERE id=2",
        "UPDATE sqlpack_stat SET uid=4294967296 WHERE id=2",
        "UPDATE sqlpack_stat SET digest=x'00' WHERE id=2",
        "UPDATE sqlpack_stat SET ctime_ns=1.5 WHERE id=2",
        "UPDATE sqlar SET mode='x' WHERE id=2",
        "UPDATE sqlar SET mode=61440 WHERE id=2",
        "UPDATE sqlar SET mtime=1.5 WHERE id=2",
        "UPDATE sqlar SET sz=-2 WHERE id=2",
        "UPDATE sqlar SET sz=-1 WHERE id=2",
        "UPDATE sqlar SET sz=NULL WHERE id=2",
        "UPDATE sqlar SET sz=7 WHERE id=4",
        "UPDATE sqlar SET sz=4 WHERE id=2",
        "UPDATE sqlar SET sz=9223372036854775807 WHERE id=2",
        "UPDATE sqlar SET data='hello' WHERE id=2",
        "UPDATE sqlar SET data=12345 WHERE id=2",
        "UPDATE sqlar SET data=x'00' WHERE id=1",
        "UPDATE sqlar SET data='' WHERE id=4",
        "UPDATE sqlar SET data=x'610062', sz=3 WHERE id=4",
        "UPDATE sqlar SET name=x'62' WHERE id=2",
        "UPDATE sqlar SET name=CAST(x'620063' AS TEXT) WHERE id=2",
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        enum sqlpack_status status;
        sqlite3 *db = pack_new("malformed.db", 1024);
        fill_own(db);
        run_sql(db, "%s", changes[i]);
        struct sqlpack *pack = reopen(db, "malformed.db");
        count_rows(pack, ALL_IDS, false, &status);
        is_int(status, SQLPACK_CORRUPT, changes[i]);
        sqlpack_close(pack);
    }
}

/* -- archives of other programs -------------------------------------------------------------- */

static void add_foreign(sqlite3 *db, const char *name, uint32_t mode, int64_t sz, const char *data)
{
    run_sql(db, "INSERT INTO sqlar VALUES(%Q, %u, 5, %lld, %s)", name, mode, sz, data);
}

static void reads_archives(void)
{
    sqlite3 *db = archive_new("archive.db");
    add_foreign(db, ".", S_IFDIR | 0700, 0, "NULL");
    add_foreign(db, "./dot", S_IFREG | 0600, 2, "x'4142'");
    add_foreign(db, "/slash", S_IFREG | 0600, 2, "x'4142'");
    add_foreign(db, "tail/", S_IFDIR | 0755, 0, "NULL");
    add_foreign(db, "a//./b", S_IFREG | 0600, 0, "x''");
    add_foreign(db, "link", S_IFLNK | 0777, -1, "'dot'");
    add_foreign(db, "blob", S_IFLNK | 0777, 3, "x'646f74'");
    add_foreign(db, "bare", 0644, 1, "x'41'");
    add_foreign(db, "../out", S_IFREG | 0600, 2, "x'4142'");
    add_foreign(db, "slash", S_IFREG | 0600, 3, "x'414243'");
    run_sql(db, "INSERT INTO sqlar VALUES('unread', 33188, 5, NULL, NULL);"
                "INSERT INTO sqlar(rowid, name, mode, mtime, sz) VALUES(-7, 'below', 16877, 5, 0)");
    struct sqlpack *pack = reopen(db, "archive.db");
    struct sqlpack_entry entry = find(pack, "");
    ok(entry.mode == (S_IFDIR | 0700) && entry.mtime == 5 && entry.id == 0, "'.' is the root");
    is_text(find(pack, "dot").name, "dot", "./name");
    is_text(find(pack, "tail").name, "tail", "name/");
    is_text(find(pack, "a/b").name, "a/b", "a//./b");
    is_int(find(pack, "slash").sz, 3, "the plain one of two spellings");
    is_text(find(pack, "link").target, "dot", "a symlink with the size -1");
    is_text(find(pack, "blob").target, "dot", "a symlink as a blob");
    is_int(find(pack, "bare").mode, S_IFREG | 0644, "a mode without a type is a file");
    ok(reads_as(pack, "dot", "AB", 2) && reads_as(pack, "a/b", "", 0), "contents");
    is_int(find_status(pack, "a"), SQLPACK_NOT_FOUND, "a folder without a row");
    is_int(read_status(pack, "unread"), SQLPACK_CORRUPT, "a file that sqlite3 could not read");

    struct sqlpack_error err;
    struct reader_rows *rows;
    struct reader_row row;
    int skipped = 0, used = 0;
    need(reader_rows_open(pack, ALL_IDS, true, &rows, &err) == 0);
    while (reader_rows_next(rows, &row, &err) > 0) {
        skipped += row.skip_why != NULL;
        used += !row.skip_why;
        ok(*row.entry.name, "a row has a name: %s%s%s", row.entry.name, row.skip_why ? ": " : "",
           row.skip_why ? row.skip_why : "");
    }
    reader_rows_close(rows);
    is_int(skipped, 4, "the unsafe, the double, the empty and the misplaced one are skipped");
    is_int(used, 7, "the others are not");
    struct sqlpack_summary summary;
    need(sqlpack_info(pack, &summary, &err) == 0);
    ok(summary.format == 0 && summary.skipped_count == 4 && summary.foreign_count == 11 &&
           summary.file_count == 4 && summary.folder_count == 1 && summary.symlink_count == 2,
       "the counts");
    sqlpack_close(pack);
}

static void invents_a_root(void)
{
    struct sqlpack *pack = reopen(archive_new("bare.db"), "bare.db");
    struct sqlpack_entry entry = find(pack, "");
    ok(entry.mode == (S_IFDIR | 0755) && entry.is_foreign && entry.mtime == SQLPACK_NO_TIME,
       "the root of an archive without one");
    sqlpack_close(pack);
}

/* -- ranges ------------------------------------------------------------------------------------ */

static void splits_into_ranges(void)
{
    struct sqlpack_error err;
    sqlite3 *db = pack_new("split.db", 1024);
    run_sql(db, "BEGIN");
    char name[16], content[2000] = {0};
    for (int i = 1; i <= 3000; i++) {
        snprintf(name, sizeof(name), "%05d", i);
        add_file(db, i, name, content, i > 2900 ? sizeof(content) : 10);
    }
    add_folder(db, ID_LATE_FOLDER, "late");
    run_sql(db, "COMMIT");
    struct sqlpack *pack = reopen(db, "split.db");
    for (unsigned count = 1; count <= 8; count++) {
        struct id_range ranges[8];
        unsigned made;
        enum sqlpack_status status;
        need(reader_split(pack, count, ranges, &made, &err) == 0);
        int total = 0, least = 5000;
        for (unsigned i = 0; i < made; i++) {
            int rows = count_rows(pack, ranges[i], true, &status);
            total += rows;
            least = rows < least ? rows : least;
            need(i == 0 || ranges[i].first == ranges[i - 1].last + 1);
        }
        ok(made == count && total == 3001 && least > 2600 / (int)count, "%u ranges", count);
    }
    sqlpack_close(pack);
}

int main(void)
{
    packs_begin();
    reads_own_packs();
    knows_foreign_rows();
    refuses_malformed_rows();
    reads_archives();
    invents_a_root();
    splits_into_ranges();
    packs_end();
    return done();
}

/* SPDX-License-Identifier: MIT */
/* Tests of lib/list, cursor, field, info: the order of lists, b-trees of any shape, the summary. */
#include "packs.h"

/* The names that a list gives, a space behind each; "!" and the status where it fails. */
static const char *list_of(struct sqlpack *pack, struct sqlpack_list_options options)
{
    static char text[4096];
    struct sqlpack_error err;
    struct sqlpack_list *list;
    struct sqlpack_entry entry;
    text[0] = '\0';
    int stepped = sqlpack_list_open(pack, &options, &list, &err);
    if (stepped == 0) {
        while ((stepped = sqlpack_list_next(list, &entry, &err)) > 0) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof(text) - used, "%s%s", entry.name,
                     entry.is_foreign ? "* " : " ");
        }
        if (stepped == 0)
            is_int(sqlpack_list_next(list, &entry, &err), 0, "a list that has ended stays so");
        sqlpack_list_close(list);
    }
    if (stepped < 0)
        snprintf(text, sizeof(text), "!%d", (int)err.status);
    return text;
}

#define LIST(...) list_of(pack, (struct sqlpack_list_options){__VA_ARGS__})

static void keeps_the_order(void)
{
    sqlite3 *db = pack_new("order.db", 512);
    add_root(db);
    add_folder(db, 1, "a");
    add_file(db, 2, "a-b", "12", 2);
    struct sqlpack_entry file = add_file(db, 3, "a/c", "123", 3);
    add_folder(db, ID_LATE_FOLDER, "a/d");
    add_file(db, 4, "a/d/e", "1", 1);
    add_link(db, 5, "a/f", &file, "c");
    add_file(db, ID_LATE_FILE, "a0", "12", 2);
    add_symlink(db, 6, "b", "a");
    add_file(db, 7, "q-r", "1", 1);
    add_file(db, 8, "q/s", "1", 1);
    struct sqlpack *pack = reopen(db, "order.db");
    is_text(LIST(0), "a a-b a/c a/d a/d/e a/f a0 b q-r q/s ", "by name");
    is_text(LIST(.names_only = true), "a a-b a/c a/d a/d/e a/f a0 b q-r q/s ", "names alone");
    is_text(LIST(.reverse = true), "q/s q-r b a0 a/f a/d/e a/d a/c a-b a ", "backwards");
    is_text(LIST(.sort = SQLPACK_BY_SIZE), "a a/d a/d/e b q-r q/s a-b a0 a/c a/f ",
            "by size, then name");
    is_text(LIST(.sort = SQLPACK_BY_SIZE, .reverse = true), "a/f a/c a0 a-b q/s q-r b a/d/e a/d a ",
            "the same backwards");
    is_text(LIST(.sort = SQLPACK_BY_TIME), "a a-b a/c a/f a/d/e b q-r q/s a/d a0 ", "by time");
    is_text(LIST(.below = "a"), "a a/c a/d a/d/e a/f ", "below a folder");
    is_text(LIST(.below = "./a/d/"), "a/d a/d/e ", "in another spelling");
    is_text(LIST(.below = "a/d/e"), "a/d/e ", "a file alone");
    is_text(LIST(.below = "b"), "b ", "the last name");
    is_text(LIST(.below = "a/d", .reverse = true), "a/d/e a/d ", "below, backwards");
    is_text(LIST(.below = "a/"), "a a/c a/d a/d/e a/f ", "a slash behind it");
    is_text(LIST(.below = "q"), "q/s ", "below a folder without a row");
    is_text(LIST(.below = "nope"), "!2", "a name that is not there");
    is_text(LIST(.below = "../a"), "!2", "a name that leads out");
    sqlpack_close(pack);
}

#define TEXT_BYTES 200

static void skipped(void *user, const char *name, const char *why)
{
    char *text = user;
    size_t used = strlen(text);
    snprintf(text + used, TEXT_BYTES - used, "%s%s", name,
             strcmp(why, NAME_IS_UNSAFE) == 0 ? "? " : "= ");
}

static void knows_rows_of_others(void)
{
    char left_out[TEXT_BYTES] = "";
    sqlite3 *db = pack_new("others.db", 512);
    add_root(db);
    add_file(db, 1, "m", "12", 2);
    add_file(db, 2, "n", "12", 2);
    run_sql(db, "REPLACE INTO sqlar(name,mode,mtime,sz,data) VALUES('m',33188,1,1,x'41');"
                "INSERT INTO sqlar(name,mode,mtime,sz,data) VALUES('./a',33188,1,1,x'41');"
                "INSERT INTO sqlar(name,mode,mtime,sz,data) VALUES('./n',33188,1,1,x'41');"
                "INSERT INTO sqlar(name,mode,mtime,sz,data) VALUES('z//..',33188,1,1,x'41');"
                "INSERT INTO sqlar(name,mode,mtime,sz,data) VALUES('n//b/',16877,1,0,NULL);"
                "INSERT INTO sqlar(name,mode,mtime,sz,data) VALUES('.',16877,1,0,NULL)");
    struct sqlpack *pack = reopen(db, "others.db");
    is_text(LIST(.skipped = skipped, .user = left_out), "a* m* n n/b* ", "names made normal");
    is_text(left_out, "z//..? ./n= ", "and what is left out");
    left_out[0] = '\0';
    is_text(LIST(.names_only = true, .skipped = skipped, .user = left_out), "a m n n/b ",
            "names alone");
    is_text(left_out, "z//..? ./n= ", "leave the same out");
    is_text(LIST(.below = "n"), "n n/b* ", "below one of them");
    sqlpack_close(pack);
}

/* A row renamed in place leaves no trace but its name. */
static void copes_with_renamed_rows(void)
{
    char left_out[TEXT_BYTES] = "";
    sqlite3 *db = pack_new("renamed.db", 512);
    add_root(db);
    add_file(db, 1, "m", "12", 2);
    add_file(db, 2, "n", "12", 2);
    add_file(db, 3, "o", "12", 2);
    run_sql(db, "UPDATE sqlar SET name='./p' WHERE id=1; UPDATE sqlar SET name='/o' WHERE id=2");
    struct sqlpack *pack = reopen(db, "renamed.db");
    is_text(LIST(.skipped = skipped, .user = left_out), "p* o ", "all but the double");
    is_text(left_out, "/o= ", "which is named");
    sqlpack_close(pack);
}

static void refuses_names_that_are_none(void)
{
    static const char *const names[] = {"x'62'", "CAST(x'620063' AS TEXT)"};
    for (size_t i = 0; i < 2; i++) {
        sqlite3 *db = pack_new("names.db", 512);
        add_root(db);
        add_file(db, 1, "a", "12", 2);
        run_sql(db, "UPDATE sqlar SET name=%s", names[i]);
        struct sqlpack *pack = reopen(db, "names.db");
        is_text(LIST(.names_only = true), "!7", names[i]);
        sqlpack_close(pack);
    }
}

/* -- b-trees -------------------------------------------------------------------------------------
 */

/* A name of `size` bytes for a number, in the order of numbers. */
static void make_name(char *name, int number, size_t size)
{
    int head = sprintf(name, "%06d", number);
    for (size_t i = (size_t)head; i < size; i++)
        name[i] = i % 200 == 199 && i + 1 < size ? '/' : 'x';
    name[size] = '\0';
}

/* Lists with cursors and compares with SQL, for pages of any size and names of any length. */
static void walks_any_tree(int page_bytes, int count, size_t name_bytes)
{
    static char name[4096], xattr[3000];
    struct sqlpack_error err;
    sqlite3 *db = pack_new("tree.db", page_bytes);
    run_sql(db, "BEGIN");
    for (int i = 1; i <= count; i++) {
        make_name(name, i, name_bytes);
        struct sqlpack_entry entry = entry_of(i, name, S_IFREG | 0600);
        entry.xattr = i % 50 == 0 ? xattr : NULL;
        entry.xattr_bytes = entry.xattr ? sizeof(xattr) : 0;
        add_stat(db, &entry);
        add_sqlar(db, &entry, "", 0, false);
    }
    run_sql(db, "COMMIT");
    struct sqlpack *pack = reopen(db, "tree.db");
    struct sqlpack_list *list;
    struct sqlpack_entry entry;
    int seen = 0, wrong = 0, stepped;
    need(sqlpack_list_open(pack, NULL, &list, &err) == 0);
    while ((stepped = sqlpack_list_next(list, &entry, &err)) > 0) {
        make_name(name, ++seen, name_bytes);
        wrong += strcmp(entry.name, name) != 0 || entry.id != seen || entry.is_foreign ||
                 entry.mtime != 1700000000 + seen || !entry.xattr == (seen % 50 == 0);
    }
    sqlpack_list_close(list);
    ok(stepped == 0 && seen == count && wrong == 0, "%d rows, names of %zu bytes, pages of %d",
       count, name_bytes, page_bytes);
    make_name(name, count / 2, name_bytes);
    need(sqlpack_list_open(pack, &(struct sqlpack_list_options){.below = name}, &list, &err) == 0);
    ok(sqlpack_list_next(list, &entry, &err) == 1 && entry.id == count / 2 &&
           sqlpack_list_next(list, &entry, &err) == 0,
       "and a look-up among them");
    sqlpack_list_close(list);
    sqlpack_close(pack);
}

static void poke(const char *path, long offset, const void *data, size_t size)
{
    FILE *file = fopen(path, "r+b");
    need(file && fseek(file, offset, SEEK_SET) == 0 && fwrite(data, 1, size, file) == size &&
         fclose(file) == 0);
}

/* A pack of 5,000 files; tells where the root page of a table begins. */
static long make_trees(const char *path, enum table table)
{
    char name[8];
    sqlite3 *db = pack_new(path, 512);
    run_sql(db, "BEGIN");
    for (int i = 1; i <= 5000; i++) {
        snprintf(name, sizeof(name), "%05d", i);
        add_file(db, i, name, "", 0);
    }
    run_sql(db, "COMMIT");
    struct sqlpack *pack = reopen(db, path);
    long at = (long)(pack->roots[table] - 1) * 512;
    sqlpack_close(pack);
    return at;
}

/* Whether a list over a b-tree whose root was changed ends, with CORRUPT. */
static void refuses_tree(const char *name, enum table table, long offset, const char *bytes,
                         size_t size)
{
    long at = make_trees("loop.db", table);
    struct sqlpack *pack;
    struct sqlpack_error err;
    poke("loop.db", at + offset, bytes, size);
    need(sqlpack_open("loop.db", &pack, &err) == 0);
    alarm(20);
    is_text(LIST(0), "!7", name);
    alarm(0);
    sqlpack_close(pack);
}

static void refuses_malformed_trees(void)
{
    refuses_tree("a child that is no page", TABLE_SQLAR_NAME, 8, "\x7f\0\0\0", 4);
    refuses_tree("page 0 as a child", TABLE_STAT, 8, "\0\0\0\0", 4);
    refuses_tree("a page of another kind", TABLE_STAT, 0, "\x0a", 1);
    refuses_tree("a page without cells", TABLE_SQLAR_NAME, 3, "\0\0", 2);
    refuses_tree("more cells than a page has", TABLE_STAT, 3, "\xff\xff", 2);
    refuses_tree("a cell outside of its page", TABLE_SQLAR_NAME, 12, "\x02\x00", 2);
    refuses_tree("a cell within the header", TABLE_STAT, 12, "\x00\x01", 2);
}

/* Makes the child `to` of a root page (-1: the root itself) stand in for the child `from`. */
static void link_child(const char *path, long root, int from, int to)
{
    unsigned char page[512], number[4] = {0};
    FILE *file = fopen(path, "rb");
    need(file && fseek(file, root, SEEK_SET) == 0 && fread(page, 1, 512, file) == 512);
    fclose(file);
    int count = page[3] << 8 | page[4];
    need((page[0] == PAGE_INDEX_INTERIOR || page[0] == PAGE_TABLE_INTERIOR) && count >= 2);
    int from_at = from < count ? page[12 + 2 * from] << 8 | page[13 + 2 * from] : 8;
    int to_at = page[12] << 8 | page[13];
    uint32_t self = (uint32_t)(root / 512) + 1;
    number[2] = (unsigned char)(self >> 8);
    number[3] = (unsigned char)self;
    poke(path, root + from_at, to < 0 ? number : page + to_at, 4);
}

static int count_rows(struct sqlpack *pack)
{
    struct sqlpack_error err;
    struct reader_rows *rows;
    struct reader_row row;
    int stepped;
    need(reader_rows_open(pack, (struct id_range){INT64_MIN, INT64_MAX}, false, &rows, &err) == 0);
    while ((stepped = reader_rows_next(rows, &row, &err)) > 0)
        continue;
    reader_rows_close(rows);
    return stepped == 0 ? 0 : (int)err.status;
}

/* A child that is entered twice gives the same rows twice, and without end where it is the root. */
static void ends_in_circles(void)
{
    static const enum table tables[] = {TABLE_SQLAR_NAME, TABLE_STAT, TABLE_SQLAR};
    static const struct {
        int from, to;
        const char *name;
    } links[] = {{0, -1, "the first child is the root"},
                 {1000, -1, "the last child is the root"},
                 {1, 0, "a child twice"}};
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
            struct sqlpack *pack;
            struct sqlpack_error err;
            long root = make_trees("circle.db", tables[t]);
            link_child("circle.db", root, links[i].from, links[i].to);
            need(sqlpack_open("circle.db", &pack, &err) == 0);
            alarm(20);
            if (tables[t] == TABLE_SQLAR)
                is_int(count_rows(pack), SQLPACK_CORRUPT, links[i].name);
            else
                is_text(LIST(0), "!7", links[i].name);
            alarm(0);
            sqlpack_close(pack);
        }
    }
}

/* -- the summary
 * ----------------------------------------------------------------------------------- */

static int count_owner(void *user, bool is_group, uint32_t id, const char *name)
{
    char *text = user;
    size_t used = strlen(text);
    snprintf(text + used, TEXT_BYTES - used, "%s%u=%s ", is_group ? "g" : "u", id, name);
    return 0;
}

static int stop_at_once(void *user, const char *name, const char *what, int os_errno)
{
    ++*(int *)user;
    return strcmp(name, "x") == 0 && strcmp(what, "gone") == 0 && os_errno == 2;
}

static void tells_the_rest(void)
{
    struct sqlpack_error err;
    struct sqlpack_summary summary;
    char owners[TEXT_BYTES] = "";
    int losses = 0;
    sqlite3 *db = pack_new("rest.db", 1024);
    add_root(db);
    add_file(db, 1, "a", "hello", 5);
    run_sql(db, "INSERT INTO sqlpack_owner VALUES('user', 0, 'root'), ('group', 5, 'tty');"
                "INSERT INTO sqlpack_loss VALUES('x', 'gone', 2), ('y', 'changed', 0)");
    struct sqlpack *pack = reopen(db, "rest.db");
    is_int(sqlpack_owners(pack, count_owner, owners, &err), 0, "owners");
    is_text(owners, "u0=root g5=tty ", "by number and name");
    is_int(sqlpack_losses(pack, stop_at_once, &losses, &err), 0, "losses");
    is_int(losses, 1, "until the caller has enough");
    is_int(sqlpack_info(pack, &summary, &err), 0, "the summary");
    ok(summary.format == 1 && summary.file_count == 1 && summary.folder_count == 0 &&
           summary.content_bytes == 5 && summary.stored_bytes == 5 && summary.loss_count == 2 &&
           summary.page_bytes == 1024 && summary.page_count * 1024 == summary.pack_bytes &&
           summary.tree_allocated_bytes == 0 && summary.foreign_count == 0,
       "counts rows where no sealed account stands");
    sqlpack_close(pack);
    db = pack_new("rest.db", 1024);
    run_sql(db, "INSERT INTO sqlpack_owner VALUES('nobody', 0, 'root')");
    pack = reopen(db, "rest.db");
    is_int(sqlpack_owners(pack, count_owner, owners, &err), -1, "an owner of no known kind");
    sqlpack_close(pack);
}

int main(void)
{
    packs_begin();
    keeps_the_order();
    knows_rows_of_others();
    copes_with_renamed_rows();
    refuses_names_that_are_none();
    for (int page_bytes = 512; page_bytes <= 65536; page_bytes *= 2) {
        walks_any_tree(page_bytes, 3000, 12);
        walks_any_tree(page_bytes, 300, 150);
        walks_any_tree(page_bytes, 100, 3000);
    }
    walks_any_tree(512, 40000, 100);
    refuses_malformed_trees();
    ends_in_circles();
    tells_the_rest();
    packs_end();
    return done();
}

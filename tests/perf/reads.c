/* SPDX-License-Identifier: MIT */
/* Times reads of whole files in random order, from a tree and from the pack made of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>
#include <zlib.h>

/* What a program does that knows nothing of sqlpack: one statement, found by the file's name. */
#define SELECT_CONTENT "SELECT data, sz FROM sqlar WHERE name = ?"

/* Regular files whose content stands in their row. */
#define SELECT_NAMES                                                                               \
    "SELECT name, sz FROM sqlar WHERE mode & 61440 = 32768 AND data IS NOT NULL ORDER BY name"

struct file {
    char *path; /* TREE/NAME */
    char *name; /* within path */
};

struct comparison {
    const char *tree;
    sqlite3 *db;
    sqlite3_stmt *select;
    struct file *files;
    size_t file_count, capacity;
    unsigned char *content; /* room for the largest file, for each layout */
    unsigned char *other;
    size_t largest;
};

static int fail(const char *what, const char *name, const char *why)
{
    fprintf(stderr, "reads: %s '%s': %s\n", what, name, why);
    return -1;
}

static int add_file(struct comparison *c, const char *name, size_t size)
{
    if (c->file_count == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 4096;
        struct file *files = realloc(c->files, c->capacity * sizeof(*files));
        if (!files)
            return fail("cannot list", name, "out of memory");
        c->files = files;
    }
    size_t length = strlen(c->tree) + 1;
    char *path = malloc(length + strlen(name) + 1);
    if (!path)
        return fail("cannot list", name, "out of memory");
    sprintf(path, "%s/%s", c->tree, name);
    c->files[c->file_count++] = (struct file){path, path + length};
    if (size > c->largest)
        c->largest = size;
    return 0;
}

static int open_pack(struct comparison *c, const char *pack)
{
    sqlite3_stmt *names;
    if (sqlite3_open_v2(pack, &c->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(c->db, SELECT_CONTENT, -1, &c->select, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(c->db, SELECT_NAMES, -1, &names, NULL) != SQLITE_OK)
        return fail("cannot open", pack, sqlite3_errmsg(c->db));
    int result;
    while ((result = sqlite3_step(names)) == SQLITE_ROW)
        if (add_file(c, (const char *)sqlite3_column_text(names, 0),
                     (size_t)sqlite3_column_int64(names, 1)) < 0)
            return -1;
    if (result != SQLITE_DONE)
        return fail("cannot read", pack, sqlite3_errmsg(c->db));
    sqlite3_finalize(names);
    if (c->file_count == 0)
        return fail("cannot compare", pack, "it holds no file");
    c->content = malloc(c->largest + 1);
    c->other = malloc(c->largest + 1);
    return c->content && c->other ? 0 : fail("cannot read", pack, "out of memory");
}

/* Puts the files in a random order, the same for the same number of files. */
static void shuffle(struct comparison *c)
{
    uint64_t state = 1;
    for (size_t i = c->file_count - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t k = (size_t)((state >> 33) % (i + 1));
        struct file moved = c->files[i];
        c->files[i] = c->files[k];
        c->files[k] = moved;
    }
}

/* Reads one file of the tree into `to`. Returns its size, or -1. */
static ssize_t read_from_tree(struct comparison *c, const struct file *file, unsigned char *to)
{
    struct stat st;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail("cannot open", file->path, strerror(errno));
    if (st.st_size < 0 || (size_t)st.st_size > c->largest)
        return fail("cannot compare", file->path, "it has grown");
    ssize_t size = read(fd, to, (size_t)st.st_size);
    close(fd);
    if (size != st.st_size)
        return fail("cannot read", file->path, size < 0 ? strerror(errno) : "it is short");
    return size;
}

/* Reads one file out of the pack into `to`. Returns its size, or -1. */
static ssize_t read_from_pack(struct comparison *c, const struct file *file, unsigned char *to)
{
    sqlite3_bind_text(c->select, 1, file->name, -1, SQLITE_STATIC);
    if (sqlite3_step(c->select) != SQLITE_ROW)
        return fail("cannot find", file->name, sqlite3_errmsg(c->db));
    const void *data = sqlite3_column_blob(c->select, 0);
    size_t stored = (size_t)sqlite3_column_bytes(c->select, 0);
    uLongf size = (uLongf)sqlite3_column_int64(c->select, 1);
    bool fits = size <= c->largest;
    if (fits && stored == size && size > 0)
        memcpy(to, data, size);
    else if (fits && stored != size)
        fits = uncompress(to, &size, data, stored) == Z_OK;
    sqlite3_reset(c->select);
    return fits ? (ssize_t)size : fail("cannot read", file->name, "it is damaged");
}

/* Whether both layouts give the same bytes for the first `count` files; warms both up. */
static int compare(struct comparison *c, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ssize_t size = read_from_tree(c, &c->files[i], c->content);
        ssize_t other = read_from_pack(c, &c->files[i], c->other);
        if (size < 0 || other < 0)
            return -1;
        if (size != other || memcmp(c->content, c->other, (size_t)size) != 0)
            return fail("cannot compare", c->files[i].name, "tree and pack differ");
    }
    return 0;
}

static double microseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Microseconds a read over the first `count` files, or -1. */
static double time_round(struct comparison *c, size_t count,
                         ssize_t (*read_one)(struct comparison *c, const struct file *file,
                                             unsigned char *to))
{
    double start = microseconds_now();
    for (size_t i = 0; i < count; i++)
        if (read_one(c, &c->files[i], c->content) < 0)
            return -1;
    return (microseconds_now() - start) / (double)count;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#define ROUNDS 5

static int run(struct comparison *c, const char *pack, size_t count)
{
    if (open_pack(c, pack) < 0)
        return -1;
    shuffle(c);
    if (count == 0 || count > c->file_count)
        count = c->file_count;
    if (compare(c, count) < 0)
        return -1;
    double tree[ROUNDS], packed[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        tree[i] = time_round(c, count, read_from_tree);
        packed[i] = time_round(c, count, read_from_pack);
        if (tree[i] < 0 || packed[i] < 0)
            return -1;
    }
    double tree_us = median(tree, ROUNDS), pack_us = median(packed, ROUNDS);
    printf("%zu files in random order, warm, the same bytes both ways, median of %d rounds:\n"
           "  from the tree (open, fstat, read, close)   %7.2f us a read\n"
           "  from the pack (SELECT by name, uncompress) %7.2f us a read\n"
           "  the %s is %.2f times as fast (first comparison; bench will do this properly)\n",
           count, ROUNDS, tree_us, pack_us, pack_us < tree_us ? "pack" : "tree",
           pack_us < tree_us ? tree_us / pack_us : pack_us / tree_us);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: reads PACK TREE [FILES]\n");
        return 2;
    }
    struct comparison c = {.tree = argv[2]};
    int result = run(&c, argv[1], argc == 4 ? strtoul(argv[3], NULL, 10) : 0);
    sqlite3_finalize(c.select);
    sqlite3_close(c.db);
    for (size_t i = 0; i < c.file_count; i++)
        free(c.files[i].path);
    free(c.files);
    free(c.content);
    free(c.other);
    return result < 0 ? 1 : 0;
}

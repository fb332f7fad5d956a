/* SPDX-License-Identifier: MIT */
/* What is read: the files that a pack and a tree have in common, checked to be the same. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"
#include "util/path.h"
#include "util/workers.h"

#define KEYS_MAX      2000000u
#define KEY_BYTES_MAX (64u << 20)
#define SHARE         64                       /* keys that a thread takes at once */
#define IS_FILE       "(mode & 61440) = 32768" /* S_IFMT, S_IFREG */

void corpus_release(struct corpus *corpus)
{
    for (size_t i = 0; i < BENCH_LAYOUTS; i++)
        layout_release(&corpus->trees[i]);
    buf_release(&corpus->names);
    free(corpus->keys);
    free(corpus->by_id);
    free(corpus->replay);
    free(corpus->concat);
    free(corpus->kvtest);
    free(corpus->pack);
    for (size_t i = 0; i < PACK_COPIES_MAX; i++)
        free(corpus->copies[i]);
    free(corpus->dir);
    *corpus = (struct corpus){0};
}

/* -- keys --------------------------------------------------------------------------------- */

static void count_depth(const char *name, struct bench_corpus *counts)
{
    unsigned depth = 0;
    for (; (name = strchr(name, '/')) != NULL; name++)
        depth++;
    if (depth > counts->depth)
        counts->depth = depth;
}

/* One row: a key, unless it is not content in one row, or too large to be held. */
static int take_row(struct corpus *corpus, sqlite3_stmt *row, struct bench_corpus *counts)
{
    const char *name = (const char *)sqlite3_column_text(row, 1);
    size_t name_bytes = (size_t)sqlite3_column_bytes(row, 1);
    sqlite3_int64 size = sqlite3_column_int64(row, 2);
    sqlite3_int64 stored = sqlite3_column_int64(row, 3);
    if (!name || size < 0 || !path_is_safe(name, name_bytes)) {
        corpus->odd_name_count++;
        return 0;
    }
    if ((stored == 0 && size > 0) || size > KEY_BYTES_MAX) {
        counts->chunked_count++;
        counts->chunked_bytes += (uint64_t)size;
        return 0;
    }
    struct bench_key *key = &corpus->keys[corpus->data.key_count];
    *key = (struct bench_key){.id = sqlite3_column_int64(row, 0),
                              .size = (uint64_t)size,
                              .offset = corpus->names.size, /* of the name, until all are read */
                              .is_deflated = stored != size};
    if (buf_append(&corpus->names, name, name_bytes + 1) < 0)
        return -1;
    corpus->data.key_count++;
    counts->empty_count += size == 0;
    counts->inflated_count += key->is_deflated;
    counts->bytes += key->size;
    if (key->size > corpus->data.size_max)
        corpus->data.size_max = key->size;
    count_depth(name, counts);
    return 0;
}

static int compare_sizes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static int count_sizes(const struct corpus *corpus, struct bench_corpus *counts)
{
    size_t count = corpus->data.key_count;
    auto_free uint64_t *sizes = calloc(count + 1, sizeof(*sizes));
    if (!sizes)
        return -1;
    for (size_t i = 0; i < count; i++)
        sizes[i] = corpus->keys[i].size;
    qsort(sizes, count, sizeof(*sizes), compare_sizes);
    counts->size_min = sizes[0];
    counts->size_p10 = sizes[count / 10];
    counts->size_p50 = sizes[count / 2];
    counts->size_p90 = sizes[(size_t)((double)count * 0.90)];
    counts->size_p99 = sizes[(size_t)((double)count * 0.99)];
    counts->size_max = sizes[count - 1];
    return 0;
}

static int64_t query_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int64_t number = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        number = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return number;
}

static int read_keys(struct corpus *corpus, sqlite3 *db, struct bench_corpus *counts,
                     struct sqlpack_error *err)
{
    int64_t count = query_number(db, "SELECT count(*) FROM sqlar WHERE " IS_FILE);
    int64_t step = count / KEYS_MAX + 1; /* a share of them, evenly, where there are too many */
    corpus->keys = calloc((size_t)(count / step) + 2, sizeof(*corpus->keys));
    if (!corpus->keys)
        return bench_no_memory(err);
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(
        db, "SELECT rowid, name, sz, length(data) FROM sqlar WHERE " IS_FILE " ORDER BY name", -1,
        &row, NULL);
    int64_t index = 0;
    int status = 0;
    while (code == SQLITE_OK && status == 0 && sqlite3_step(row) == SQLITE_ROW)
        if (index++ % step == 0 && index <= count)
            status = take_row(corpus, row, counts);
    code = sqlite3_finalize(row);
    if (status < 0)
        return bench_no_memory(err);
    if (code != SQLITE_OK)
        return bench_fail_sqlite(err, db, code, "cannot read the pack's names");
    corpus->has_stat =
        query_number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlpack_stat'") > 0;
    corpus->has_pieces = counts->chunked_count > 0;
    counts->entry_count = (uint64_t)query_number(db, "SELECT count(*) FROM sqlar");
    counts->folder_count =
        (uint64_t)query_number(db, "SELECT count(*) FROM sqlar WHERE (mode & 61440) = 16384");
    return 0;
}

static int sort_by_id(struct corpus *corpus)
{
    size_t count = corpus->data.key_count;
    corpus->by_id = calloc(count + 1, sizeof(*corpus->by_id));
    if (!corpus->by_id)
        return -1;
    for (size_t i = 0; i < count; i++)
        corpus->by_id[i] = (uint32_t)i;
    qsort_r(corpus->by_id, count, sizeof(*corpus->by_id), bench_compare_ids, corpus->keys);
    corpus->data.by_id = corpus->by_id;
    return 0;
}

static int fail_empty(const struct corpus *corpus, const struct bench_corpus *counts,
                      struct sqlpack_error *err)
{
    const char *why = "no file in it has content";
    if (counts->chunked_count)
        why = "every file is above 64 MiB, or has holes and is stored in pieces";
    else if (corpus->odd_name_count)
        why = "the names in the pack are not plain, like './a'";
    return bench_fail(err, SQLPACK_INVALID, "cannot measure '%s': %s", bench_show(corpus->dir).text,
                      why);
}

int corpus_keys(struct corpus *corpus, struct bench_corpus *counts, struct sqlpack_error *err)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(corpus->pack, &db, SQLITE_OPEN_READONLY, NULL);
    int status = code == SQLITE_OK ? read_keys(corpus, db, counts, err)
                                   : bench_fail_sqlite(err, db, code, "cannot open the pack");
    sqlite3_close(db);
    if (status < 0)
        return -1;
    if (counts->bytes == 0)
        return fail_empty(corpus, counts, err);
    for (size_t i = 0; i < corpus->data.key_count; i++) {
        corpus->keys[i].name = corpus->names.data + corpus->keys[i].offset;
        corpus->keys[i].offset = 0;
    }
    if (count_sizes(corpus, counts) < 0 || sort_by_id(corpus) < 0)
        return bench_no_memory(err);
    counts->file_count = corpus->data.key_count;
    corpus->data.keys = corpus->keys;
    corpus->data.trees = corpus->trees;
    corpus->data.pack = corpus->pack;
    return 0;
}

/* -- the same on both sides --------------------------------------------------------------- */

struct comparison {
    const struct corpus *corpus;
    const struct bench_pace *pace;
    atomic_size_t next;
    atomic_uint_fast64_t differences;
    atomic_flag is_told; /* the hooks are called by one thread at a time */
    atomic_int failed;
    struct sqlpack_error err;
};

static void tell_difference(struct comparison *comparison, const char *name, const char *what)
{
    atomic_fetch_add(&comparison->differences, 1);
    const struct sqlpack_hooks *hooks = comparison->pace->hooks;
    if (!hooks->problem)
        return;
    const struct sqlpack_problem problem = {.kind = SQLPACK_DIFFERENCE, .name = name, .what = what};
    while (atomic_flag_test_and_set(&comparison->is_told))
        ;
    hooks->problem(hooks->user, &problem);
    atomic_flag_clear(&comparison->is_told);
}

static int tell_progress(struct comparison *comparison, struct sqlpack_error *err)
{
    if (atomic_flag_test_and_set(&comparison->is_told))
        return 0;
    int status = bench_tick(comparison->pace, err);
    atomic_flag_clear(&comparison->is_told);
    return status;
}

/* Whether the file holds these bytes and no more. */
static bool file_is(const struct bench_tree *tree, size_t key, const void *data, size_t size,
                    char *buffer)
{
    auto_close int fd =
        open(tree->paths[key], O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | tree->open_flags);
    return fd >= 0 && file_read(fd, buffer, size + 1) == (ssize_t)size &&
           memcmp(buffer, data, size) == 0;
}

static int compare_key(struct comparison *comparison, struct sqlpack *pack, size_t index,
                       char *buffer, struct sqlpack_error *err)
{
    const struct corpus *corpus = comparison->corpus;
    const struct bench_key *key = &corpus->keys[index];
    auto_free void *data = NULL;
    size_t size;
    if (sqlpack_read(pack, key->name, &data, &size, err) < 0)
        return -1;
    const struct bench_tree *mount = &corpus->trees[BENCH_LAYOUT_MOUNT];
    if (size != key->size || !file_is(&corpus->trees[BENCH_LAYOUT_ASIS], index, data, size, buffer))
        tell_difference(comparison, key->name, "is not the same in the pack");
    else if (mount->root && !file_is(mount, index, data, size, buffer))
        tell_difference(comparison, key->name, "is not the same where the pack is mounted");
    return 0;
}

static int compare_some(void *arg)
{
    struct comparison *comparison = arg;
    const struct bench_data *data = &comparison->corpus->data;
    struct sqlpack_error err;
    struct sqlpack *pack = NULL;
    auto_free char *buffer = malloc(data->size_max + 1);
    int status = -1;
    if (buffer)
        status = sqlpack_open(data->pack, &pack, &err);
    else
        bench_no_memory(&err);
    while (status == 0 && !atomic_load(&comparison->failed)) {
        size_t first = atomic_fetch_add(&comparison->next, SHARE);
        for (size_t i = first; status == 0 && i < first + SHARE && i < data->key_count; i++)
            status = compare_key(comparison, pack, i, buffer, &err);
        if (first + SHARE >= data->key_count)
            break;
        if (status == 0)
            status = tell_progress(comparison, &err);
    }
    sqlpack_close(pack);
    if (status < 0 && atomic_exchange(&comparison->failed, 1) == 0)
        comparison->err = err;
    return 0;
}

int corpus_compare(const struct corpus *corpus, const struct bench_pace *pace,
                   uint64_t *ret_differences, struct sqlpack_error *err)
{
    struct comparison comparison = {.corpus = corpus, .pace = pace, .is_told = ATOMIC_FLAG_INIT};
    errno = 0;
    if (workers_run(workers_default(0), compare_some, &comparison) < 0)
        return bench_fail_errno(err, "cannot start a thread");
    if (atomic_load(&comparison.failed)) {
        *err = comparison.err;
        return -1;
    }
    *ret_differences = atomic_load(&comparison.differences);
    return 0;
}

/* What the tree takes on disk, by its files and the folders that they are in. */
int corpus_space(const struct corpus *corpus, struct bench_corpus *counts,
                 struct sqlpack_error *err)
{
    const struct bench_tree *tree = &corpus->trees[BENCH_LAYOUT_ASIS];
    uint64_t files = 0;
    struct stat stat_of;
    struct statvfs room;
    for (size_t i = 0; i < corpus->data.key_count; i++) {
        if (lstat(tree->paths[i], &stat_of) < 0)
            return bench_fail_errno(err, "cannot look at '%s'", bench_show(tree->paths[i]).text);
        uint64_t allocated = (uint64_t)stat_of.st_blocks * 512;
        files += allocated;
        if (allocated > (uint64_t)stat_of.st_size)
            counts->padding_bytes += allocated - (uint64_t)stat_of.st_size;
    }
    for (size_t i = 0; i < tree->folder_count; i++)
        if (lstat(tree->folder_paths[i], &stat_of) == 0)
            counts->folder_allocated_bytes += (uint64_t)stat_of.st_blocks * 512;
    if (!counts->tree_allocated_bytes)
        counts->tree_allocated_bytes = files + counts->folder_allocated_bytes;
    if (!counts->tree_inode_count)
        counts->tree_inode_count = corpus->data.key_count + tree->folder_count;
    if (statvfs(tree->root, &room) == 0 && room.f_files > 0)
        counts->inode_percent = 100 * (double)counts->tree_inode_count / (double)room.f_files;
    return 0;
}

int corpus_stamp(const struct corpus *corpus, uint64_t *ret_stamp, struct sqlpack_error *err)
{
    uint64_t stamp = 0;
    for (size_t i = 0; i < corpus->data.key_count; i++) {
        struct stat stat_of;
        const char *path = corpus->trees[BENCH_LAYOUT_ASIS].paths[i];
        if (lstat(path, &stat_of) < 0)
            return bench_fail_errno(err, "cannot look at '%s'", bench_show(path).text);
        uint64_t seed = stamp ^ (uint64_t)stat_of.st_ino ^ (uint64_t)stat_of.st_size << 20 ^
                        (uint64_t)stat_of.st_mtim.tv_sec << 32 ^ (uint64_t)stat_of.st_mtim.tv_nsec;
        stamp = bench_seed_next(&seed);
    }
    *ret_stamp = stamp;
    return 0;
}

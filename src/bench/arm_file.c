/* SPDX-License-Identifier: MIT */
/* Arms that read files as applications do, from the naive way to the best one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define FOLDERS_OPEN 1024u

/* What all three need; the third keeps folders open, each at its number modulo their count. */
struct files {
    const struct bench_tree *tree;
    int flags;
    uint32_t open_folders[FOLDERS_OPEN]; /* number of the folder and 1; 0: none */
    int handles[FOLDERS_OPEN];
};

static struct files *make_files(const struct bench_task *task)
{
    struct files *files = calloc(1, sizeof(*files));
    if (!files)
        return NULL;
    files->tree = &task->data->trees[task->series->layout];
    files->flags = O_RDONLY | O_CLOEXEC | files->tree->open_flags;
    return files;
}

static int open_files(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    struct files *files = make_files(task);
    if (!files)
        return bench_no_memory(err);
    *ret_state = files;
    return 0;
}

/* -- stdio -------------------------------------------------------------------------------- */

/* fopen knows no O_NOATIME: on a user's tree the descriptor is opened before. */
static FILE *open_stream(const struct files *files, const char *path)
{
    if (files->flags == (O_RDONLY | O_CLOEXEC))
        return fopen(path, "rb");
    int fd = open(path, files->flags);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!stream && fd >= 0)
        close(fd);
    return stream;
}

static ssize_t read_stdio(void *state, size_t key, void *buffer, size_t capacity)
{
    const struct files *files = state;
    const char *path = files->tree->paths[key];
    struct stat stat_of;
    if (stat(path, &stat_of) < 0)
        return -1;
    FILE *stream = open_stream(files, path);
    if (!stream)
        return -1;
    size_t want = (uint64_t)stat_of.st_size < capacity ? (size_t)stat_of.st_size : capacity;
    size_t got = fread(buffer, 1, want, stream);
    fclose(stream);
    return (ssize_t)got;
}

/* -- whole path --------------------------------------------------------------------------- */

static ssize_t read_path(void *state, size_t key, void *buffer, size_t capacity)
{
    const struct files *files = state;
    int fd = open(files->tree->paths[key], files->flags);
    struct stat stat_of;
    if (fd < 0)
        return -1;
    ssize_t got = -1;
    if (fstat(fd, &stat_of) == 0)
        got = file_read(fd, buffer,
                        (uint64_t)stat_of.st_size < capacity ? (size_t)stat_of.st_size : capacity);
    close(fd);
    return got;
}

/* -- folders kept open -------------------------------------------------------------------- */

static int open_folder(struct files *files, uint32_t folder)
{
    size_t slot = folder % FOLDERS_OPEN;
    if (files->open_folders[slot] == folder + 1)
        return files->handles[slot];
    if (files->open_folders[slot])
        close(files->handles[slot]);
    files->open_folders[slot] = 0;
    int fd = open(files->tree->folder_paths[folder], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        files->open_folders[slot] = folder + 1;
        files->handles[slot] = fd;
    }
    return fd;
}

static int open_folders(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    struct files *files = make_files(task);
    if (!files)
        return bench_no_memory(err);
    for (uint32_t i = 0; i < files->tree->folder_count && i < FOLDERS_OPEN; i++)
        if (open_folder(files, i) < 0)
            return bench_fail_errno(err, "cannot open '%s'",
                                    bench_show(files->tree->folder_paths[i]).text);
    *ret_state = files;
    return 0;
}

static ssize_t read_best(void *state, size_t key, void *buffer, size_t capacity)
{
    struct files *files = state;
    int folder = open_folder(files, files->tree->folders[key]);
    int fd = folder < 0 ? -1 : openat(folder, files->tree->leaves[key], files->flags);
    if (fd < 0)
        return -1;
    ssize_t got;
    do
        got = read(fd, buffer, capacity);
    while (got < 0 && errno == EINTR);
    close(fd);
    return got;
}

static void close_files(void *state)
{
    struct files *files = state;
    for (size_t i = 0; i < FOLDERS_OPEN; i++)
        if (files->open_folders[i])
            close(files->handles[i]);
    free(files);
}

/* -- everything once ---------------------------------------------------------------------- */

/* Keys ascend by name, as a sorted walk finds them. */
static int arrange_by_name(const struct bench_task *task, uint32_t *order, size_t count)
{
    (void)task;
    qsort(order, count, sizeof(*order), bench_compare_keys);
    return 0;
}

struct inode {
    ino_t number;
    uint32_t key;
};

static int compare_inodes(const void *a, const void *b)
{
    const struct inode *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

/* A walk has the inode numbers from readdir, for nothing. */
static int arrange_by_inode(const struct bench_task *task, uint32_t *order, size_t count)
{
    auto_free struct inode *inodes = calloc(count, sizeof(*inodes));
    if (!inodes)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct stat stat_of;
        if (lstat(task->data->trees[task->series->layout].paths[order[i]], &stat_of) < 0)
            return -1;
        inodes[i] = (struct inode){.number = stat_of.st_ino, .key = order[i]};
    }
    qsort(inodes, count, sizeof(*inodes), compare_inodes);
    for (size_t i = 0; i < count; i++)
        order[i] = inodes[i].key;
    return 0;
}

const struct bench_arm arm_file_stdio = {
    .name = "F-stdio",
    .side = BENCH_FILES,
    .summary = "stat, fopen, fread, fclose, as kvtest reads",
    .calls = "stat open fstat read read close",
    .open = open_files,
    .read = read_stdio,
    .close = close_files,
};

const struct bench_arm arm_file_path = {
    .name = "F-path",
    .side = BENCH_FILES,
    .summary = "open by whole path, fstat, read, close",
    .calls = "open fstat read close",
    .open = open_files,
    .read = read_path,
    .close = close_files,
};

const struct bench_arm arm_file_best = {
    .name = "F-best",
    .side = BENCH_FILES,
    .summary = "openat on folders kept open, one read, close",
    .calls = "openat read close",
    .open = open_folders,
    .read = read_best,
    .close = close_files,
};

const struct bench_arm arm_file_walk = {
    .name = "F-walk",
    .side = BENCH_FILES,
    .summary = "as F-path, in the order of names",
    .calls = "open fstat read close",
    .arrange = arrange_by_name,
    .open = open_files,
    .read = read_path,
    .close = close_files,
};

/* A mounted pack is read as files are, whose arms these are on that side. */
const struct bench_arm arm_mount_path = {
    .name = "M-path",
    .side = BENCH_PACK,
    .summary = "as F-path, where the pack is mounted",
    .calls = "open fstat read close",
    .open = open_files,
    .read = read_path,
    .close = close_files,
};

const struct bench_arm arm_mount_walk = {
    .name = "M-walk",
    .side = BENCH_PACK,
    .summary = "as F-walk, where the pack is mounted",
    .calls = "open fstat read close",
    .arrange = arrange_by_name,
    .open = open_files,
    .read = read_path,
    .close = close_files,
};

const struct bench_arm arm_file_inode = {
    .name = "F-inode",
    .side = BENCH_FILES,
    .summary = "as F-best, in the order of inodes",
    .calls = "openat read close",
    .arrange = arrange_by_inode,
    .open = open_folders,
    .read = read_best,
    .close = close_files,
};

/* SPDX-License-Identifier: MIT */
/* The timed loop of queries on metadata, and the arm that answers them by a walk over the tree. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

int query_loop(const struct bench_task *task, query_function *query, void *state,
               struct bench_run *ret_run, struct hist *hist, struct sqlpack_error *err)
{
    struct child_meter meter;
    struct query_answer answer = {0};
    child_meter_start(&meter);
    uint64_t began = bench_now(), before = began;
    for (size_t i = 0; i < task->order_count; i++) {
        answer = (struct query_answer){0};
        if (query(task, state, &answer, err) < 0)
            return -1;
        uint64_t now = bench_now();
        hist_add(hist, now - before);
        before = now;
    }
    ret_run->elapsed_ns = before - began;
    child_meter_stop(&meter, ret_run);
    ret_run->op_count = task->order_count;
    ret_run->match_count = answer.match_count;
    ret_run->bytes = answer.bytes * task->order_count;
    ret_run->sum = answer.sum;
    return 0;
}

/* The sum does not depend on the order, so that sets are compared. */
void query_hit(struct query_answer *answer, const char *name, size_t size)
{
    uint64_t hash = bench_hash(name, size);
    answer->match_count++;
    answer->sum += hash;
}

/* -- the walk ----------------------------------------------------------------------------- */

struct walk {
    const struct bench_task *task;
    const struct bench_tree *tree;
    struct query_answer *answer;
    struct buf path; /* of the entry, below the root */
    void *buffer;    /* for content */
    size_t capacity;
};

static int walk_folder(struct walk *walk, int fd);

static int read_hit(struct walk *walk, int folder, const char *leaf)
{
    auto_close int fd = openat(folder, leaf, O_RDONLY | O_CLOEXEC | walk->tree->open_flags);
    ssize_t got = fd < 0 ? -1 : file_read(fd, walk->buffer, walk->capacity);
    if (got < 0)
        return -1;
    walk->answer->bytes += (uint64_t)got;
    walk->answer->sum += bench_touch(walk->buffer, (size_t)got);
    return 0;
}

/* Whether a query needs more of an entry than its name. */
static bool needs_stat(enum bench_workload workload)
{
    return workload != BENCH_LIST && workload != BENCH_FILTER_NAME;
}

static bool matches(const struct bench_task *task, const struct stat *stat_of, const char *path)
{
    const struct bench_filter *filter = &task->data->filter;
    switch (task->question->workload) {
    case BENCH_LIST:
        return true;
    case BENCH_FILTER_NAME:
        return fnmatch(filter->glob, path, 0) == 0;
    case BENCH_FILTER_TIME:
        return S_ISREG(stat_of->st_mode) && stat_of->st_mtim.tv_sec > filter->mtime_above;
    default:
        return S_ISREG(stat_of->st_mode) && stat_of->st_size > filter->size_above;
    }
}

static int visit(struct walk *walk, int folder, const struct dirent *entry)
{
    enum bench_workload workload = walk->task->question->workload;
    struct stat stat_of = {0};
    bool is_folder = entry->d_type == DT_DIR;
    if (needs_stat(workload) || entry->d_type == DT_UNKNOWN) {
        if (fstatat(folder, entry->d_name, &stat_of, AT_SYMLINK_NOFOLLOW) < 0)
            return -1;
        is_folder = S_ISDIR(stat_of.st_mode);
    }
    if (entry->d_type == DT_SOCK || S_ISSOCK(stat_of.st_mode))
        return 0; /* packs hold none */
    if (matches(walk->task, &stat_of, walk->path.data)) {
        query_hit(walk->answer, walk->path.data, walk->path.size);
        if (workload == BENCH_FILTER_READ && read_hit(walk, folder, entry->d_name) < 0)
            return -1;
    }
    if (!is_folder)
        return 0;
    int fd = file_open_quietly(folder, entry->d_name,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, &stat_of);
    return fd < 0 ? -1 : walk_folder(walk, fd);
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Takes the descriptor over. */
static int walk_folder(struct walk *walk, int fd)
{
    size_t size = walk->path.size;
    DIR *folder = fdopendir(fd);
    int status = 0;
    if (!folder) {
        close(fd);
        return -1;
    }
    for (const struct dirent *entry; status == 0 && (errno = 0, entry = readdir(folder)) != NULL;) {
        if (is_dots(entry->d_name))
            continue;
        walk->path.size = size;
        if ((size && buf_append_char(&walk->path, '/') < 0) ||
            buf_append_text(&walk->path, entry->d_name) < 0 || buf_terminate(&walk->path) < 0)
            status = -1;
        else
            status = visit(walk, fd, entry);
    }
    if (errno)
        status = -1;
    walk->path.size = size;
    closedir(folder);
    return status;
}

static int query_walk(const struct bench_task *task, void *state, struct query_answer *answer,
                      struct sqlpack_error *err)
{
    struct walk *walk = state;
    walk->tree = &task->data->trees[task->series->layout];
    walk->answer = answer;
    walk->path.size = 0;
    struct stat stat_of;
    int fd =
        file_open_quietly(AT_FDCWD, walk->tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC, &stat_of);
    int status = fd < 0 ? -1 : walk_folder(walk, fd);
    walk->answer = NULL;
    return status < 0
               ? bench_fail_errno(err, "cannot walk over '%s'", bench_show(walk->tree->root).text)
               : 0;
}

static void walk_release(struct walk *walk)
{
    buf_release(&walk->path);
    free(walk->buffer);
}

static int run_walk(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                    struct sqlpack_error *err)
{
    auto_release(walk_release) struct walk walk = {.task = task};
    walk.capacity = (size_t)task->data->size_max + 1;
    walk.buffer = malloc(walk.capacity);
    if (!walk.buffer)
        return bench_no_memory(err);
    return query_loop(task, query_walk, &walk, ret_run, hist, err);
}

const struct bench_arm arm_walk_files = {
    .name = "F-find",
    .side = BENCH_FILES,
    .summary = "a walk with readdir, and fstatat where names do not tell",
    .calls = "fstatat an entry; openat fstat getdents close a folder",
    .run = run_walk,
};

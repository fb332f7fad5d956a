/* SPDX-License-Identifier: MIT */
/* The arm that creates, overwrites and deletes files, in three classes of durability. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define A_FOLDER      100u
#define DELETE_ONE_IN 10u
#define POOL_BYTES    (8u << 20)
#define CONTENT_STEP  4099u /* so that no two writes in a row have the same content */

void write_pool_release(struct write_pool *pool)
{
    free(pool->data);
    free(pool->entries);
}

static size_t count_population(const struct bench_task *task)
{
    size_t all = task->order_count * DELETE_ONE_IN;
    if (task->question->workload == BENCH_WRITE_CREATE)
        return 0;
    if (task->question->workload == BENCH_WRITE_OVERWRITE)
        return task->order_count;
    return all < task->data->key_count ? all : task->data->key_count;
}

int write_pool(const struct bench_task *task, struct write_pool *ret_pool)
{
    struct bench_random random;
    size_t most = task->order_count * CONTENT_STEP;
    size_t bytes = (size_t)task->data->size_max + (most < POOL_BYTES ? most : POOL_BYTES);
    ret_pool->bytes = bytes - (size_t)task->data->size_max;
    ret_pool->data = malloc(bytes);
    ret_pool->entries = calloc(task->order_count, sizeof(*ret_pool->entries));
    ret_pool->population = count_population(task);
    if (!ret_pool->data || !ret_pool->entries)
        return -1;
    bench_random_seed(&random, task->seed);
    bench_random_fill(&random, ret_pool->data, bytes);
    if (ret_pool->population > 0)
        order_permutations(&random, ret_pool->entries, task->order_count, ret_pool->population);
    else
        for (size_t i = 0; i < task->order_count; i++)
            ret_pool->entries[i] = (uint32_t)i;
    return 0;
}

const void *write_content(const struct write_pool *pool, size_t index)
{
    return pool->data + index * CONTENT_STEP % pool->bytes;
}

void write_count_bytes(const struct bench_task *task, const struct write_pool *pool,
                       struct bench_run *run)
{
    for (size_t i = 0; i < task->order_count; i++)
        if (task->question->workload != BENCH_WRITE_DELETE)
            run->bytes += task->data->keys[pool->entries[i]].size;
    run->sum = run->bytes;
}

/* -- files -------------------------------------------------------------------------------- */

struct writer {
    const struct bench_task *task;
    struct write_pool pool;
    char *root;
    char *path, *hidden; /* of the file at hand, and of its copy in the making */
    size_t folder_bytes; /* of path */
};

static void writer_release(struct writer *writer)
{
    if (writer->root)
        scratch_remove(writer->root);
    free(writer->root);
    free(writer->path);
    free(writer->hidden);
    write_pool_release(&writer->pool);
}

static void name_file(struct writer *writer, size_t index)
{
    size_t room = strlen(writer->root) + 64;
    writer->folder_bytes =
        (size_t)snprintf(writer->path, room, "%s/%04zu", writer->root, index / A_FOLDER);
    snprintf(writer->path + writer->folder_bytes, room - writer->folder_bytes, "/%02zu",
             index % A_FOLDER);
    snprintf(writer->hidden, room, "%.*s/.new", (int)writer->folder_bytes, writer->path);
}

static int write_new(const char *path, int flags, const void *data, size_t size, bool sync)
{
    auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    return fd < 0 || file_write(fd, data, size) < 0 || (sync && fsync(fd) < 0) ? -1 : 0;
}

static int sync_folder(struct writer *writer)
{
    writer->path[writer->folder_bytes] = '\0';
    auto_close int fd = open(writer->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    writer->path[writer->folder_bytes] = '/';
    return fd < 0 || fsync(fd) < 0 ? -1 : 0;
}

/* Whole or not at all: a copy, flushed, takes the name; then the folder is flushed. */
static int write_durably(struct writer *writer, const void *data, size_t size)
{
    if (write_new(writer->hidden, O_TRUNC, data, size, true) < 0 ||
        rename(writer->hidden, writer->path) < 0)
        return -1;
    return sync_folder(writer);
}

static int write_one(struct writer *writer, size_t index)
{
    const struct bench_task *task = writer->task;
    bool each = task->question->durability == BENCH_SYNC_EACH;
    enum bench_workload workload = task->question->workload;
    size_t at = writer->pool.entries[index];
    size_t size = (size_t)task->data->keys[at].size;
    const void *data = write_content(&writer->pool, index);
    name_file(writer, at);
    if (workload == BENCH_WRITE_DELETE)
        return unlink(writer->path) < 0 || (each && sync_folder(writer) < 0) ? -1 : 0;
    if (each)
        return write_durably(writer, data, size);
    return write_new(writer->path, workload == BENCH_WRITE_CREATE ? O_EXCL : 0, data, size, false);
}

/* Folders, and the files that are overwritten or deleted, are there and flushed beforehand. */
static int populate(struct writer *writer)
{
    const struct bench_task *task = writer->task;
    size_t population = writer->pool.population;
    size_t names = population > task->order_count ? population : task->order_count;
    if (mkdir(writer->root, 0700) < 0)
        return -1;
    for (size_t i = 0; i < names; i++) {
        name_file(writer, i);
        writer->path[writer->folder_bytes] = '\0';
        if (i % A_FOLDER == 0 && mkdir(writer->path, 0700) < 0)
            return -1;
        writer->path[writer->folder_bytes] = '/';
        if (i < population && write_new(writer->path, O_EXCL, write_content(&writer->pool, i),
                                        (size_t)task->data->keys[i].size, false) < 0)
            return -1;
    }
    auto_close int fd = open(writer->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || syncfs(fd) < 0 ? -1 : 0;
}

static int write_all(struct writer *writer, struct bench_run *run, struct hist *hist)
{
    const struct bench_task *task = writer->task;
    uint64_t began = bench_now(), before = began;
    for (size_t i = 0; i < task->order_count; i++) {
        if (write_one(writer, i) < 0)
            return -1;
        uint64_t now = bench_now();
        hist_add(hist, now - before);
        before = now;
    }
    if (task->question->durability == BENCH_SYNC_END) {
        auto_close int fd = open(writer->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || syncfs(fd) < 0)
            return -1;
    }
    run->elapsed_ns = bench_now() - began;
    run->op_count = task->order_count;
    return 0;
}

static int run_files(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                     struct sqlpack_error *err)
{
    auto_release(writer_release) struct writer writer = {.task = task};
    writer.root = bench_join(task->data->scratch, "written");
    if (!writer.root || write_pool(task, &writer.pool) < 0)
        return bench_no_memory(err);
    writer.path = malloc(strlen(writer.root) + 64);
    writer.hidden = malloc(strlen(writer.root) + 64);
    if (!writer.path || !writer.hidden)
        return bench_no_memory(err);
    struct child_meter meter;
    if (populate(&writer) < 0)
        return bench_fail_errno(err, "cannot write into scratch");
    child_meter_start(&meter);
    if (write_all(&writer, ret_run, hist) < 0)
        return bench_fail_errno(err, "cannot write '%s'", bench_show(writer.path).text);
    child_meter_stop(&meter, ret_run);
    write_count_bytes(task, &writer.pool, ret_run);
    return 0;
}

const struct bench_arm arm_write_files = {
    .name = "F-write",
    .side = BENCH_FILES,
    .summary = "open, write, close; synced each: a copy, fsync, rename, fsync of the folder",
    .calls = "open write close; unlink",
    .run = run_files,
};

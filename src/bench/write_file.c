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

#define A_FOLDER         100u
#define DELETE_ONE_IN    4u
#define POPULATION_MAX   4000u
#define POPULATION_BYTES (48u << 20)
#define RUN_OPS          2000u /* 20 ms and more */
#define RUN_BYTES        (24u << 20)
#define LEAF_BYTES       32
#define POOL_BYTES       (8u << 20)
#define CONTENT_STEP     4099u /* so that no two writes in a row have the same content */

void write_pool_release(struct write_pool *pool)
{
    free(pool->data);
    free(pool->entries);
}

/* The first keys, up to so many and so many bytes; one at least. */
static size_t count_keys(const struct bench_data *data, size_t most, uint64_t bytes)
{
    size_t count = 0;
    uint64_t sum = 0;
    while (count < data->key_count && count < most && (count == 0 || sum < bytes))
        sum += data->keys[count++].size;
    return count;
}

size_t write_ops(const struct bench_data *data, enum bench_workload workload)
{
    size_t population = count_keys(data, POPULATION_MAX, POPULATION_BYTES);
    if (workload == BENCH_WRITE_DELETE)
        return (population + DELETE_ONE_IN - 1) / DELETE_ONE_IN;
    return count_keys(data, RUN_OPS, RUN_BYTES);
}

int write_pool(const struct bench_task *task, struct write_pool *ret_pool)
{
    struct bench_random random;
    size_t most = task->order_count * CONTENT_STEP;
    bool creates = task->question->workload == BENCH_WRITE_CREATE;
    size_t bytes = (size_t)task->data->size_max + (most < POOL_BYTES ? most : POOL_BYTES);
    ret_pool->bytes = bytes - (size_t)task->data->size_max;
    ret_pool->data = malloc(bytes);
    ret_pool->entries = calloc(task->order_count, sizeof(*ret_pool->entries));
    ret_pool->population = creates ? 0 : count_keys(task->data, POPULATION_MAX, POPULATION_BYTES);
    ret_pool->count = task->order_count;
    if (!creates && ret_pool->count > ret_pool->population)
        ret_pool->count = ret_pool->population;
    if (!ret_pool->data || !ret_pool->entries)
        return -1;
    bench_random_seed(&random, task->seed);
    bench_random_fill(&random, ret_pool->data, bytes);
    if (!creates)
        order_permutations(&random, ret_pool->entries, ret_pool->count, ret_pool->population);
    else
        for (size_t i = 0; i < ret_pool->count; i++)
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
    for (size_t i = 0; i < pool->count; i++)
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

/* Folders, and in them the files that are overwritten or deleted. */
static int make_files(struct writer *writer)
{
    size_t population = writer->pool.population;
    size_t names = population ? population : writer->pool.count;
    if (mkdir(writer->root, 0700) < 0)
        return -1;
    for (size_t i = 0; i < names; i++) {
        name_file(writer, i);
        writer->path[writer->folder_bytes] = '\0';
        if (i % A_FOLDER == 0 && mkdir(writer->path, 0700) < 0)
            return -1;
        writer->path[writer->folder_bytes] = '/';
        if (i < population && write_new(writer->path, O_EXCL, write_content(&writer->pool, i),
                                        (size_t)writer->task->data->keys[i].size, false) < 0)
            return -1;
    }
    return 0;
}

/* New folders for files to be created; the others share one population, made by the first run. */
static int populate(struct writer *writer)
{
    if (access(writer->root, F_OK) < 0 && make_files(writer) < 0)
        return -1;
    auto_close int fd = open(writer->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || syncfs(fd) < 0 ? -1 : 0;
}

static int write_all(struct writer *writer, struct bench_run *run, struct hist *hist)
{
    const struct bench_task *task = writer->task;
    uint64_t began = bench_now(), before = began;
    for (size_t i = 0; i < writer->pool.count; i++) {
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
    run->op_count = writer->pool.count;
    return 0;
}

/* Behind the clock: what was deleted is there again for the next round. */
static int restore(struct writer *writer)
{
    for (size_t i = 0; i < writer->pool.count; i++) {
        size_t at = writer->pool.entries[i];
        name_file(writer, at);
        if (write_new(writer->path, O_EXCL, write_content(&writer->pool, i),
                      (size_t)writer->task->data->keys[at].size, false) < 0)
            return -1;
    }
    return 0;
}

static int leave(struct writer *writer)
{
    if (writer->task->question->workload == BENCH_WRITE_CREATE)
        return scratch_retire(writer->root);
    return writer->task->question->workload == BENCH_WRITE_DELETE ? restore(writer) : 0;
}

static int run_files(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                     struct sqlpack_error *err)
{
    auto_release(writer_release) struct writer writer = {.task = task};
    char leaf[LEAF_BYTES] = "population";
    if (task->question->workload == BENCH_WRITE_CREATE)
        snprintf(leaf, sizeof(leaf), "written-%016llx", (unsigned long long)task->seed);
    writer.root = bench_join(task->data->scratch, leaf);
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
    if (leave(&writer) < 0)
        return bench_fail_errno(err, "cannot write into scratch");
    return 0;
}

const struct bench_arm arm_write_files = {
    .name = "F-write",
    .side = BENCH_FILES,
    .summary = "open, write, close; synced each: a copy, fsync, rename, fsync of the folder",
    .calls = "open write close; unlink",
    .run = run_files,
};

/* SPDX-License-Identifier: MIT */
/* The timed loop of all arms that read whole files, on one thread or several. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

#define THREADS_MAX 64

/* One thread's share of the order: every threads-th key, from `first` on. */
struct reader {
    const struct bench_task *task;
    size_t first, step;
    void *state, *buffer;
    size_t capacity;
    struct hist *hist;
    pthread_barrier_t *start;
    uint64_t bytes, sum, op_count;
    int os_errno;
    size_t failed_key;
    bool has_wrong_size;
};

/* Returns 0, or -1 with what went wrong in the reader. */
static int read_once(struct reader *reader)
{
    const struct bench_task *task = reader->task;
    const struct bench_key *keys = task->data->keys;
    ssize_t (*read_one)(void *, size_t, void *, size_t) = task->series->arm->read;
    uint64_t bytes = 0, sum = 0, before = bench_now();
    for (size_t i = reader->first; i < task->order_count; i += reader->step) {
        size_t key = task->order[i];
        ssize_t got = read_one(reader->state, key, reader->buffer, reader->capacity);
        if (got < 0 || (uint64_t)got != keys[key].size) {
            reader->os_errno = errno;
            reader->failed_key = key;
            reader->has_wrong_size = got >= 0;
            return -1;
        }
        sum += bench_touch(reader->buffer, (size_t)got);
        bytes += (uint64_t)got;
        uint64_t now = bench_now();
        hist_add(reader->hist, now - before);
        before = now;
    }
    reader->bytes += bytes;
    reader->sum = sum;
    reader->op_count += (task->order_count - reader->first + reader->step - 1) / reader->step;
    return 0;
}

static size_t passes_of(const struct bench_task *task)
{
    return task->passes ? task->passes : 1;
}

static int read_share(struct reader *reader)
{
    int status = 0;
    for (size_t i = 0; i < passes_of(reader->task) && status == 0; i++)
        status = read_once(reader);
    return status;
}

static void *read_on_thread(void *arg)
{
    struct reader *reader = arg;
    pthread_barrier_wait(reader->start);
    return read_share(reader) < 0 ? reader : NULL;
}

static int tell_failure(const struct reader *reader, struct sqlpack_error *err)
{
    const struct bench_task *task = reader->task;
    const char *name = task->data->keys[reader->failed_key].name;
    if (reader->has_wrong_size)
        return bench_fail(err, SQLPACK_IO, "cannot measure %s: the size of '%s' has changed",
                          task->series->label, bench_show(name).text);
    errno = reader->os_errno;
    return bench_fail_errno(err, "cannot measure %s: cannot read '%s'", task->series->label,
                            bench_show(name).text);
}

/* Handles belong to one thread each, and are opened outside the clock. */
static int open_readers(const struct bench_task *task, struct reader *readers, size_t count,
                        struct hist *hist, struct sqlpack_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct reader *reader = &readers[i];
        *reader = (struct reader){.task = task, .first = i, .step = count, .hist = hist};
        reader->capacity = (size_t)task->data->size_max + 1;
        reader->buffer = malloc(reader->capacity);
        if (count > 1)
            reader->hist = calloc(1, sizeof(*reader->hist));
        if (!reader->buffer || !reader->hist)
            return bench_no_memory(err);
        memset(reader->buffer, 0, reader->capacity); /* its pages are there before the clock is */
        if (task->series->arm->open(task, &reader->state, err) < 0)
            return -1;
    }
    return 0;
}

static int run_threads(struct reader *readers, size_t count, uint64_t *ret_elapsed_ns,
                       struct sqlpack_error *err)
{
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)count + 1);
    for (size_t i = 0; i < count; i++) {
        readers[i].start = &start;
        errno = pthread_create(&threads[i], NULL, read_on_thread, &readers[i]);
        if (errno) /* the process ends here, and those that wait with it */
            return bench_fail_errno(err, "cannot start a thread");
    }
    pthread_barrier_wait(&start);
    uint64_t began = bench_now();
    const struct reader *failed = NULL;
    for (size_t i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        if (result)
            failed = result;
    }
    *ret_elapsed_ns = bench_now() - began;
    return failed ? tell_failure(failed, err) : 0;
}

static int run_alone(struct reader *reader, uint64_t *ret_elapsed_ns, struct sqlpack_error *err)
{
    uint64_t began = bench_now();
    if (read_share(reader) < 0)
        return tell_failure(reader, err);
    *ret_elapsed_ns = bench_now() - began;
    return 0;
}

static void close_readers(struct reader *readers, size_t count, struct bench_run *run,
                          struct hist *hist)
{
    for (size_t i = 0; i < count; i++) {
        struct reader *reader = &readers[i];
        const struct bench_arm *arm = reader->task->series->arm;
        run->op_count += reader->op_count;
        run->bytes += reader->bytes;
        run->sum += reader->sum; /* of one pass */
        if (arm->mapped)
            run->mapped_bytes = arm->mapped(reader->state);
        arm->close(reader->state);
        free(reader->buffer);
        if (count == 1)
            continue;
        hist_merge(hist, reader->hist);
        free(reader->hist);
    }
}

/* The arm's own order of the same keys, pass by pass. */
static int arrange(const struct bench_task *task, uint32_t **ret_order)
{
    size_t keys = task->data->key_count;
    auto_free uint32_t *order = calloc(task->order_count, sizeof(*order));
    if (!order)
        return -1;
    memcpy(order, task->order, task->order_count * sizeof(*order));
    for (size_t first = 0; first < task->order_count; first += keys) {
        size_t rest = task->order_count - first;
        if (task->series->arm->arrange(task, order + first, rest < keys ? rest : keys) < 0)
            return -1;
    }
    *ret_order = order;
    order = NULL;
    return 0;
}

int read_loop(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
              struct sqlpack_error *err)
{
    struct bench_task arranged = *task;
    auto_free uint32_t *order = NULL;
    size_t count = task->question->threads ? task->question->threads : 1;
    auto_free struct reader *readers = calloc(count, sizeof(*readers));
    if (!readers || count > THREADS_MAX ||
        (task->series->arm->arrange && arrange(task, &order) < 0))
        return bench_no_memory(err);
    if (order)
        arranged.order = order;
    uint64_t opening = bench_now();
    if (open_readers(&arranged, readers, count, hist, err) < 0)
        return -1;
    ret_run->setup_ns = bench_now() - opening;
    struct child_meter meter;
    child_meter_start(&meter);
    if ((count > 1 ? run_threads(readers, count, &ret_run->elapsed_ns, err)
                   : run_alone(readers, &ret_run->elapsed_ns, err)) < 0)
        return -1;
    child_meter_stop(&meter, ret_run);
    ret_run->passes = passes_of(task);
    close_readers(readers, count, ret_run, hist);
    return 0;
}

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

/* One thread's share of a part of the order: every step-th key from `first` on. */
struct reader {
    const struct bench_task *task;
    size_t first, last, step;
    void *state, *buffer;
    size_t capacity;
    struct hist *hist;
    pthread_barrier_t *start;
    uint64_t began_ns, ended_ns;   /* of the latest part */
    uint64_t bytes, sum, op_count; /* of all parts read so far */
    int os_errno;
    size_t failed_key;
    bool has_wrong_size;
};

/* Returns 0, or -1 with what went wrong in the reader. */
static int read_share(struct reader *reader)
{
    const struct bench_task *task = reader->task;
    const struct bench_key *keys = task->data->keys;
    const struct bench_clock *clock = &task->data->clock;
    ssize_t (*read_one)(void *, size_t, void *, size_t) = task->series->arm->read;
    uint64_t bytes = 0, sum = 0, before = clock_stamp(clock);
    for (size_t i = reader->first; i < reader->last; i += reader->step) {
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
        uint64_t now = clock_stamp(clock);
        hist_add(reader->hist, clock_ns(clock, now - before));
        before = now;
    }
    if (reader->last > reader->first)
        reader->op_count += (reader->last - reader->first + reader->step - 1) / reader->step;
    reader->bytes += bytes;
    reader->sum += sum;
    return 0;
}

static void *read_on_thread(void *arg)
{
    struct reader *reader = arg;
    pthread_barrier_wait(reader->start);
    reader->began_ns = bench_now();
    int status = read_share(reader);
    reader->ended_ns = bench_now();
    return status < 0 ? reader : NULL;
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
        *reader = (struct reader){.task = task, .step = count, .hist = hist};
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

/* From the first that begins to the last that ends: whoever waits for them wakes up late. */
static int run_threads(struct reader *readers, size_t count, uint64_t *elapsed_ns,
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
    const struct reader *failed = NULL;
    uint64_t began = UINT64_MAX, ended = 0;
    for (size_t i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        if (result)
            failed = result;
        began = readers[i].began_ns < began ? readers[i].began_ns : began;
        ended = readers[i].ended_ns > ended ? readers[i].ended_ns : ended;
    }
    *elapsed_ns += ended - began;
    pthread_barrier_destroy(&start);
    return failed ? tell_failure(failed, err) : 0;
}

static int run_alone(struct reader *reader, uint64_t *elapsed_ns, struct sqlpack_error *err)
{
    uint64_t began = bench_now();
    if (read_share(reader) < 0)
        return tell_failure(reader, err);
    *elapsed_ns += bench_now() - began;
    return 0;
}

/* Every part that the parent asks for. What is read again does not count towards the sum. */
static int take_turns(const struct bench_task *task, struct reader *readers, size_t count,
                      struct child_meter *meter, struct bench_run *run, struct sqlpack_error *err)
{
    uint32_t part;
    for (uint32_t turn = 0; child_next(task, run->elapsed_ns, meter, &part); turn++) {
        for (size_t i = 0; i < count; i++) {
            readers[i].first = task_part(task, part) + i;
            readers[i].last = task_part(task, part + 1);
        }
        if ((count > 1 ? run_threads(readers, count, &run->elapsed_ns, err)
                       : run_alone(readers, &run->elapsed_ns, err)) < 0)
            return -1;
        for (size_t i = 0; turn + 1 == task->part_count && i < count; i++)
            run->sum += readers[i].sum;
    }
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

int read_loop(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
              struct sqlpack_error *err)
{
    size_t count = task->question->threads ? task->question->threads : 1;
    auto_free struct reader *readers = calloc(count, sizeof(*readers));
    if (!readers || count > THREADS_MAX)
        return bench_no_memory(err);
    uint64_t opening = bench_now();
    if (open_readers(task, readers, count, hist, err) < 0)
        return -1;
    ret_run->setup_ns = bench_now() - opening;
    struct child_meter meter;
    child_meter_start(&meter);
    if (take_turns(task, readers, count, &meter, ret_run, err) < 0)
        return -1;
    child_meter_stop(&meter, ret_run);
    close_readers(readers, count, ret_run, hist);
    return 0;
}

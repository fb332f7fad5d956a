/* SPDX-License-Identifier: MIT */
/* The first read of a fresh process: what opening a connection and reading a schema cost. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

struct arrival {
    uint64_t size, sum;
};

static void read_one(const struct bench_task *task, size_t key, void *buffer, int pipe_end)
{
    const struct bench_arm *arm = task->series->arm;
    struct sqlpack_error err;
    void *state;
    size_t capacity = (size_t)task->data->size_max + 1;
    if (arm->open(task, &state, &err) < 0)
        _exit(1);
    ssize_t got = arm->read(state, key, buffer, capacity);
    if (got < 0)
        _exit(1);
    const struct arrival arrival = {.size = (uint64_t)got, .sum = bench_touch(buffer, (size_t)got)};
    _exit(file_write(pipe_end, &arrival, sizeof(arrival)) < 0);
}

static int await_one(const struct bench_task *task, size_t key, void *buffer,
                     struct arrival *ret_arrival, struct sqlpack_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return bench_fail_errno(err, "cannot make a pipe");
    pid_t child = fork();
    if (child == 0)
        read_one(task, key, buffer, ends[1]);
    close(ends[1]);
    ssize_t got = child < 0 ? -1 : file_read(ends[0], ret_arrival, sizeof(*ret_arrival));
    close(ends[0]);
    if (child < 0)
        return bench_fail_errno(err, "cannot start a process");
    if (got == sizeof(*ret_arrival) && ret_arrival->size == task->data->keys[key].size)
        return 0;
    return bench_fail(err, SQLPACK_IO, "cannot measure %s: cannot read '%s'", task->series->label,
                      bench_show(task->data->keys[key].name).text);
}

int first_loop(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
               struct sqlpack_error *err)
{
    auto_free void *buffer = malloc(task->data->size_max + 1);
    if (!buffer)
        return bench_no_memory(err);
    struct child_meter meter;
    child_meter_start(&meter);
    for (size_t i = 0; i < task->order_count; i++) {
        struct arrival arrival = {0};
        uint64_t began = bench_now();
        if (await_one(task, task->order[i], buffer, &arrival, err) < 0)
            return -1;
        uint64_t took = bench_now() - began;
        hist_add(hist, took);
        ret_run->elapsed_ns += took;
        ret_run->sum += arrival.sum;
        ret_run->bytes += arrival.size;
        while (wait(NULL) < 0 && errno == EINTR)
            ;
    }
    child_meter_stop(&meter, ret_run);
    ret_run->op_count = task->order_count;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Goes through a whole pack with several threads, each on a handle of its own. */
#include <string.h>

#include "lib/internal.h"
#include "util/workers.h"

/* More ranges than threads, so that none is left with a long one at the end. */
#define RANGES_A_THREAD 8
#define RANGES_MAX      ((unsigned)(WORKERS_MAX * RANGES_A_THREAD))

struct sweep {
    const struct sweep_options *options;
    atomic_uint next_task, next_range;
    pthread_mutex_t mutex; /* guards what follows */
    struct id_range ranges[RANGES_MAX];
    unsigned range_count; /* 0: the pack is not cut yet */
    bool has_failed;
    struct sqlpack_error err; /* the first one */
};

static void note_failure(struct sweep *sweep, const struct sqlpack_error *err)
{
    pthread_mutex_lock(&sweep->mutex);
    if (!sweep->has_failed)
        sweep->err = *err;
    sweep->has_failed = true;
    atomic_store(&sweep->next_task, sweep->options->task_count);
    atomic_store(&sweep->next_range, RANGES_MAX);
    pthread_mutex_unlock(&sweep->mutex);
}

/* Stretches the ranges so that no id lies outside of all of them. */
static void close_gaps(struct id_range *ranges, unsigned count)
{
    ranges[0].first = INT64_MIN;
    for (unsigned i = 1; i < count; i++)
        ranges[i - 1].last = ranges[i].first - 1;
    ranges[count - 1].last = INT64_MAX;
}

/* Whoever comes first cuts the pack into ranges, while others may be at their tasks. */
static int cut(struct sweep *sweep, struct sqlpack *pack, struct sqlpack_error *err)
{
    unsigned count = workers_default(sweep->options->jobs) * RANGES_A_THREAD;
    int result = 0;
    pthread_mutex_lock(&sweep->mutex);
    if (sweep->range_count == 0) {
        result = reader_split(pack, count, sweep->ranges, &sweep->range_count, err);
        if (result == 0)
            close_gaps(sweep->ranges, sweep->range_count);
    }
    pthread_mutex_unlock(&sweep->mutex);
    return result;
}

static int do_tasks(struct sweep *sweep, struct sqlpack *pack, struct sqlpack_error *err)
{
    const struct sweep_options *options = sweep->options;
    for (;;) {
        unsigned task = atomic_fetch_add(&sweep->next_task, 1);
        if (task >= options->task_count)
            return 0;
        if (options->task(options->user, task, pack, err) < 0)
            return -1;
    }
}

static int do_ranges(struct sweep *sweep, struct sqlpack *pack, struct sqlpack_error *err)
{
    const struct sweep_options *options = sweep->options;
    if (cut(sweep, pack, err) < 0)
        return -1;
    for (;;) {
        unsigned range = atomic_fetch_add(&sweep->next_range, 1);
        if (range >= sweep->range_count)
            return 0;
        if (options->range(options->user, pack, sweep->ranges[range], err) < 0)
            return -1;
    }
}

static int work(void *arg)
{
    struct sweep *sweep = arg;
    struct sqlpack *pack = NULL;
    struct sqlpack_error err;
    if (sqlpack_open(sweep->options->path, &pack, &err) < 0 || ahead_begin(pack, &err) < 0 ||
        do_tasks(sweep, pack, &err) < 0 || do_ranges(sweep, pack, &err) < 0)
        note_failure(sweep, &err);
    sqlpack_close(pack);
    return 0;
}

int sweep_run(const struct sweep_options *options, struct sqlpack_error *err)
{
    struct sweep sweep = {.options = options};
    pthread_mutex_init(&sweep.mutex, NULL);
    workers_run(workers_default(options->jobs), work, &sweep);
    pthread_mutex_destroy(&sweep.mutex);
    if (sweep.has_failed)
        *err = sweep.err;
    return sweep.has_failed ? -1 : 0;
}

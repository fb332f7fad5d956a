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
    struct id_range ranges[RANGES_MAX];
    unsigned step_count; /* the tasks, then the ranges */
    atomic_uint next;
    pthread_mutex_t mutex;
    bool has_failed;
    struct sqlpack_error err; /* the first one */
};

static void note_failure(struct sweep *sweep, const struct sqlpack_error *err)
{
    pthread_mutex_lock(&sweep->mutex);
    if (!sweep->has_failed)
        sweep->err = *err;
    sweep->has_failed = true;
    atomic_store(&sweep->next, sweep->step_count);
    pthread_mutex_unlock(&sweep->mutex);
}

static int work(void *arg)
{
    struct sweep *sweep = arg;
    const struct sweep_options *options = sweep->options;
    struct sqlpack *pack = NULL;
    struct sqlpack_error err;
    int result = 0;
    for (;;) {
        unsigned step = atomic_fetch_add(&sweep->next, 1);
        if (step >= sweep->step_count)
            break;
        if (!pack && (result = sqlpack_open(options->path, &pack, &err)) == 0)
            result = ahead_begin(pack, &err);
        if (result == 0 && step < options->task_count)
            result = options->task(options->user, step, pack, &err);
        else if (result == 0)
            result = options->range(options->user, pack, sweep->ranges[step - options->task_count],
                                    &err);
        if (result < 0) {
            note_failure(sweep, &err);
            break;
        }
    }
    sqlpack_close(pack);
    return 0;
}

/* Stretches the ranges so that no id lies outside of all of them. */
static void close_gaps(struct id_range *ranges, unsigned count)
{
    ranges[0].first = INT64_MIN;
    for (unsigned i = 1; i < count; i++)
        ranges[i - 1].last = ranges[i].first - 1;
    ranges[count - 1].last = INT64_MAX;
}

int sweep_run(struct sqlpack *pack, const struct sweep_options *options, struct sqlpack_error *err)
{
    struct sweep sweep = {.options = options};
    unsigned jobs = workers_default(options->jobs), count = 0;
    if (reader_split(pack, jobs * RANGES_A_THREAD, sweep.ranges, &count, err) < 0)
        return -1;
    if (count == 0)
        count = 1;
    close_gaps(sweep.ranges, count);
    sweep.step_count = options->task_count + count;
    pthread_mutex_init(&sweep.mutex, NULL);
    workers_run(jobs, work, &sweep);
    pthread_mutex_destroy(&sweep.mutex);
    if (sweep.has_failed)
        *err = sweep.err;
    return sweep.has_failed ? -1 : 0;
}

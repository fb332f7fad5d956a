/* SPDX-License-Identifier: MIT */
/* Tests that work is shared out over threads, and what becomes of errors. */
#include "util/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "tap.h"

#define STEPS 1000

struct job {
    atomic_int next, calls, in_caller;
    atomic_bool takes_signals;
    int fails_at; /* with EIO; -1: never */
    pthread_t caller;
};

static int work(void *arg)
{
    struct job *job = arg;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    atomic_fetch_add(&job->calls, 1);
    if (pthread_equal(pthread_self(), job->caller))
        atomic_fetch_add(&job->in_caller, 1);
    else if (!sigismember(&blocked, SIGINT))
        atomic_store(&job->takes_signals, true);
    for (;;) {
        int step = atomic_fetch_add(&job->next, 1);
        if (step >= STEPS)
            return 0;
        if (step == job->fails_at) {
            errno = EIO;
            return -1;
        }
        sched_yield();
    }
}

static struct job run(unsigned jobs, int fails_at, int *ret_result)
{
    struct job job = {.fails_at = fails_at, .caller = pthread_self()};
    errno = 0;
    *ret_result = workers_run(jobs, work, &job);
    return job;
}

int main(void)
{
    int result;
    struct job job = run(1, -1, &result);
    ok(result == 0 && job.calls == 1 && job.in_caller == 1, "one job runs in the caller's thread");
    job = run(4, -1, &result);
    ok(result == 0 && job.calls == 4 && job.in_caller == 0, "four jobs run in threads");
    ok(job.next >= STEPS, "all is done");
    ok(!job.takes_signals, "signals are for the caller's thread");
    job = run(4, 500, &result);
    ok(result == -1 && errno == EIO && job.calls == 4, "an error comes back with its errno");
    job = run(1000, -1, &result);
    ok(result == 0 && job.calls == WORKERS_MAX, "there is a limit");
    ok(workers_default(0) >= 1 && workers_default(0) <= WORKERS_MAX, "one a processor");
    is_int(workers_default(3), 3, "or as many as asked for");
    is_int(workers_default(100000), WORKERS_MAX, "within the limit");
    return done();
}

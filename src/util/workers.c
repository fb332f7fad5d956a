/* SPDX-License-Identifier: MIT */
/* Runs one function on several threads at once. */
#include "util/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)512 << 10)

struct crew {
    int (*work)(void *arg);
    void *arg;
    atomic_int failure; /* errno of the first that failed, plus 1; 0: none did */
};

unsigned workers_default(unsigned jobs)
{
    if (jobs == 0) {
        cpu_set_t usable;
        long count = sched_getaffinity(0, sizeof(usable), &usable) == 0
                         ? CPU_COUNT(&usable)
                         : sysconf(_SC_NPROCESSORS_ONLN);
        jobs = count > 0 ? (unsigned)count : 1;
    }
    return jobs < WORKERS_MAX ? jobs : WORKERS_MAX;
}

static void run_one(struct crew *crew)
{
    errno = 0;
    if (crew->work(crew->arg) == 0)
        return;
    int none = 0;
    atomic_compare_exchange_strong(&crew->failure, &none, errno + 1);
}

static void *thread_main(void *arg)
{
    run_one(arg);
    return NULL;
}

/* Starts up to `jobs` threads; gives how many there are. */
static unsigned start(struct crew *crew, unsigned jobs, pthread_t *ret_threads)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return 0;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* threads inherit it */
    unsigned count = 0;
    while (count < jobs && pthread_create(&ret_threads[count], &attributes, thread_main, crew) == 0)
        count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return count;
}

int workers_run(unsigned jobs, int (*work)(void *arg), void *arg)
{
    struct crew crew = {.work = work, .arg = arg};
    pthread_t threads[WORKERS_MAX];
    unsigned count = jobs > 1 ? start(&crew, jobs < WORKERS_MAX ? jobs : WORKERS_MAX, threads) : 0;
    if (count == 0)
        run_one(&crew);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    int failure = atomic_load(&crew.failure);
    if (failure == 0)
        return 0;
    errno = failure - 1;
    return -1;
}

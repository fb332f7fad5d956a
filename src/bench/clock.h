/* SPDX-License-Identifier: MIT */
/* The clock of single operations: the processor's own counter where the kernel trusts it too. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* CLOCK_MONOTONIC, nanoseconds. */
static inline uint64_t bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * CLOCK_MONOTONIC costs 35 ns in a virtual machine of 2026, which is 2 % of an operation of
 * 1.7 us; the time-stamp counter that it is made from costs 20. As in fio, the counter is used
 * where the kernel has chosen it as its clock source: it then has one rate, and runs alike on all
 * processors.
 */
struct bench_clock {
    double tick_ns; /* of a tick of the counter; 0: CLOCK_MONOTONIC */
};

/* Takes 20 ms to compare both clocks, where there are two. */
struct bench_clock clock_choose(void);

static inline uint64_t clock_stamp(const struct bench_clock *clock)
{
#if defined(__x86_64__)
    if (clock->tick_ns > 0)
        return __rdtsc();
#endif
    (void)clock;
    return bench_now();
}

/* The time between two stamps, in nanoseconds. */
static inline uint64_t clock_ns(const struct bench_clock *clock, uint64_t ticks)
{
    return clock->tick_ns > 0 ? (uint64_t)((double)ticks * clock->tick_ns) : ticks;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Chooses the clock of single operations, and finds its rate. */
#include <fcntl.h>
#include <string.h>

#include "bench/clock.h"
#include "util/auto.h"
#include "util/file.h"

#define SOURCE         "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CALIBRATION_NS 20000000u /* a stamp is 50 ns off at most: 0.0003 % */

#if defined(__x86_64__)
static bool kernel_trusts_counter(void)
{
    char text[32];
    auto_close int fd = open(SOURCE, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : file_read(fd, text, sizeof(text) - 1);
    return size > 0 && strncmp(text, "tsc\n", (size_t)size) == 0;
}

struct bench_clock clock_choose(void)
{
    struct bench_clock clock = {0};
    if (!kernel_trusts_counter())
        return clock;
    uint64_t began = bench_now(), first = __rdtsc(), now = began;
    while (now - began < CALIBRATION_NS)
        now = bench_now();
    uint64_t ticks = __rdtsc() - first;
    clock.tick_ns = ticks ? (double)(now - began) / (double)ticks : 0;
    return clock;
}
#else
struct bench_clock clock_choose(void)
{
    return (struct bench_clock){0};
}
#endif

/* SPDX-License-Identifier: MIT */
/* Figures that others published, to stand beside this machine's. */
#include <math.h>

#include "bench/bench.h"

static const char *const systems[BENCH_SYSTEMS] = {"Win7", "Win10", "MacPro", "Ubuntu", "Android"};

/* Microseconds a blob, 100,000 of 8 to 12 KB, pages of 4 KiB: SQLite's kvtest, 2017-05-22. */
static const double kvtest_us[][BENCH_SYSTEMS] = {
    [BENCH_KV_DIRECT] = {100, 46, 7.9, 3.2, 145},
    [BENCH_KV_PLAIN] = {22, 6.9, 4.4, 2.4, 128},
    [BENCH_KV_BLOB] = {18, 5.8, 3.6, 1.9, 105},
    [BENCH_KV_BLOB_RANDOM] = {28, 8.4, 4.8, 2.6, 135},
    [BENCH_KV_MMAP] = {9, 3.4, 5.2, 2.1, 45},
    [BENCH_KV_MMAP_BLOB_RANDOM] = {13, 4.4, 4.7, 2.2, 78},
};

const char *bench_system_name(size_t system)
{
    return systems[system];
}

double bench_published_us(enum bench_published row, size_t system)
{
    return row >= BENCH_KV_DIRECT && row <= BENCH_KV_MMAP_BLOB_RANDOM ? kvtest_us[row][system]
                                                                      : (double)NAN;
}

/* "SQLite3 versus Ext4 - A Simple Benchmark on Ubuntu", 2023-06-05: it never timed the write. */
double bench_published_seconds(enum bench_workload operation, enum bench_published row)
{
    if (operation == BENCH_CSV_READ && row == BENCH_CSV_FILE)
        return 0.0305;
    if (operation == BENCH_CSV_READ && row == BENCH_CSV_SQLITE)
        return 0.0304;
    if (operation == BENCH_CSV_QUERY && row == BENCH_CSV_FILE)
        return 0.0188;
    if (operation == BENCH_CSV_QUERY && row == BENCH_CSV_SQLITE)
        return 0.0028;
    return NAN;
}

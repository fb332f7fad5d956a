/* SPDX-License-Identifier: MIT */
/* The words for workloads, cache states, layouts and presets, the same in every output. */
#include "bench/bench.h"

const char *bench_workload_name(enum bench_workload workload)
{
    static const char *const names[BENCH_WORKLOADS] = {
        [BENCH_READ_RANDOM] = "random read",
        [BENCH_READ_ZIPF] = "zipf read",
        [BENCH_READ_ASCENDING] = "ascending read",
        [BENCH_READ_DESCENDING] = "descending read",
        [BENCH_READ_REPLAY] = "replayed read",
        [BENCH_READ_ALL] = "full read",
        [BENCH_FILTER_SIZE] = "filter by size",
        [BENCH_FILTER_TIME] = "filter by time",
        [BENCH_FILTER_NAME] = "filter by name",
        [BENCH_FILTER_READ] = "filter and read",
        [BENCH_LIST] = "list names",
        [BENCH_FIRST_READ] = "first read",
        [BENCH_WRITE_CREATE] = "create",
        [BENCH_WRITE_OVERWRITE] = "overwrite",
        [BENCH_WRITE_DELETE] = "delete",
        [BENCH_DO_PACK] = "pack",
        [BENCH_DO_UNPACK] = "unpack",
        [BENCH_DO_VERIFY] = "verify",
        [BENCH_KVTEST_READ] = "kvtest read",
        [BENCH_KVTEST_UPDATE] = "kvtest update",
        [BENCH_CSV_WRITE] = "sequential write",
        [BENCH_CSV_READ] = "full record read",
        [BENCH_CSV_QUERY] = "filtered query",
    };
    return names[workload];
}

const char *bench_state_name(enum bench_state state)
{
    static const char *const names[] = {[BENCH_WARM] = "warm",
                                        [BENCH_COLD] = "data cold",
                                        [BENCH_FULL_COLD] = "full cold",
                                        [BENCH_STATELESS] = ""};
    return names[state];
}

const char *bench_durability_name(enum bench_durability durability)
{
    static const char *const names[] = {[BENCH_NOT_A_WRITE] = "",
                                        [BENCH_SYNC_NONE] = "no sync",
                                        [BENCH_SYNC_END] = "sync at the end",
                                        [BENCH_SYNC_EACH] = "sync each"};
    return names[durability];
}

const char *bench_layout_name(enum bench_layout layout)
{
    static const char *const names[BENCH_LAYOUTS] = {[BENCH_LAYOUT_ASIS] = "asis",
                                                     [BENCH_LAYOUT_FLAT] = "flat",
                                                     [BENCH_LAYOUT_FANOUT] = "fanout",
                                                     [BENCH_LAYOUT_FRESH] = "fresh",
                                                     [BENCH_LAYOUT_MOUNT] = "mount"};
    return names[layout];
}

const char *bench_preset_name(enum bench_preset preset)
{
    static const char *const names[] = {[BENCH_PRESET_DEFAULT] = "default",
                                        [BENCH_PRESET_QUICK] = "quick",
                                        [BENCH_PRESET_FULL] = "full",
                                        [BENCH_PRESET_KVTEST] = "kvtest",
                                        [BENCH_PRESET_CSV] = "csv"};
    return names[preset];
}

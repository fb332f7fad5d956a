/* SPDX-License-Identifier: MIT */
/* Whole commands, through the library: pack, unpack and verify. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

static int do_it(const struct bench_task *task, const char *path, struct sqlpack_error *err)
{
    const struct bench_data *data = task->data;
    switch (task->question->workload) {
    case BENCH_DO_PACK: {
        const struct sqlpack_pack_options options = {0};
        struct sqlpack_pack_result result;
        return sqlpack_pack(data->trees[BENCH_LAYOUT_ASIS].root, path, &options, &result, err);
    }
    case BENCH_DO_UNPACK: {
        const struct sqlpack_unpack_options options = {.untrusted = true};
        struct sqlpack_unpack_result result;
        return sqlpack_unpack(data->pack, path, &options, &result, err);
    }
    default: {
        const struct sqlpack_verify_options options = {0};
        struct sqlpack_verify_result result;
        return sqlpack_verify(data->pack, &options, &result, err);
    }
    }
}

static int run_whole(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                     struct sqlpack_error *err)
{
    auto_free char *path = bench_join(task->data->scratch, "whole");
    if (!path)
        return bench_no_memory(err);
    struct child_meter meter;
    child_meter_start(&meter);
    uint64_t began = bench_now();
    int status = do_it(task, path, err);
    ret_run->elapsed_ns = bench_now() - began;
    child_meter_stop(&meter, ret_run);
    scratch_remove(path);
    hist_add(hist, ret_run->elapsed_ns);
    ret_run->op_count = 1;
    for (size_t i = 0; i < task->data->key_count; i++)
        ret_run->bytes += task->data->keys[i].size;
    return status;
}

const struct bench_arm arm_whole = {
    .name = "sqlpack",
    .side = BENCH_PACK,
    .summary = "the command as a call of the library, flushed to disk",
    .run = run_whole,
};

/* SPDX-License-Identifier: MIT */
/* The control: all content in one plain file, an index of names in memory, one pread each. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/file.h"

struct concat {
    const struct bench_data *data;
    int fd;
};

static int open_concat(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    struct concat *concat = calloc(1, sizeof(*concat));
    if (!concat)
        return bench_no_memory(err);
    concat->data = task->data;
    concat->fd = open(task->data->concat, O_RDONLY | O_CLOEXEC);
    if (concat->fd < 0) {
        bench_fail_errno(err, "cannot open '%s'", bench_show(task->data->concat).text);
        free(concat);
        return -1;
    }
    *ret_state = concat;
    return 0;
}

static int compare_names(const void *name, const void *key)
{
    return strcmp(name, ((const struct bench_key *)key)->name);
}

/* The key's number is not used: an application knows a name, and so looks it up. */
static ssize_t read_concat(void *state, size_t index, void *buffer, size_t capacity)
{
    const struct concat *concat = state;
    const struct bench_data *data = concat->data;
    const struct bench_key *key = bsearch(data->keys[index].name, data->keys, data->key_count,
                                          sizeof(*data->keys), compare_names);
    if (!key || key->size > capacity) {
        errno = ENOENT;
        return -1;
    }
    return file_pread(concat->fd, buffer, (size_t)key->size, (off_t)key->offset);
}

static void close_concat(void *state)
{
    struct concat *concat = state;
    close(concat->fd);
    free(concat);
}

const struct bench_arm arm_concat = {
    .name = "C-concat",
    .side = BENCH_CONTROL,
    .summary = "one plain file, names looked up in memory, pread",
    .calls = "pread",
    .open = open_concat,
    .read = read_concat,
    .close = close_concat,
};

/* Content lies in the order of the keys. */
static int arrange_by_offset(const struct bench_task *task, uint32_t *order, size_t count)
{
    (void)task;
    qsort(order, count, sizeof(*order), bench_compare_keys);
    return 0;
}

const struct bench_arm arm_concat_scan = {
    .name = "C-scan",
    .side = BENCH_CONTROL,
    .summary = "as C-concat, from the front to the end",
    .calls = "pread",
    .arrange = arrange_by_offset,
    .open = open_concat,
    .read = read_concat,
    .close = close_concat,
};

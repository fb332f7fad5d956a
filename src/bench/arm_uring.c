/* SPDX-License-Identifier: MIT */
/* The arm that reads files through io_uring: open, read and close in one system call. */
#include "bench/run.h"

#ifdef SQLPACK_URING
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>

#include "util/auto.h"

#define STEPS 3

struct uring {
    struct io_uring ring;
    const struct bench_tree *tree;
    int flags;
};

static int open_ring(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    const int none = -1;
    struct uring *uring = calloc(1, sizeof(*uring));
    if (!uring)
        return bench_no_memory(err);
    int code = io_uring_queue_init(STEPS, &uring->ring, 0);
    if (code == 0) {
        code = io_uring_register_files(&uring->ring, &none, 1);
        if (code < 0)
            io_uring_queue_exit(&uring->ring);
    }
    if (code < 0) {
        free(uring);
        errno = -code;
        return bench_fail_errno(err, "cannot set up io_uring");
    }
    uring->tree = &task->data->trees[task->series->layout];
    uring->flags = O_RDONLY | uring->tree->open_flags; /* a direct descriptor has no O_CLOEXEC */
    *ret_state = uring;
    return 0;
}

/* Waits for all steps. Returns what the read gave, or the first error. */
static int collect(struct uring *uring)
{
    int size = 0, failed = 0;
    for (int i = 0; i < STEPS; i++) {
        struct io_uring_cqe *done;
        int code = io_uring_wait_cqe(&uring->ring, &done);
        if (code < 0)
            return code;
        if (done->res < 0 && failed == 0)
            failed = done->res;
        if (done->user_data == 1)
            size = done->res;
        io_uring_cqe_seen(&uring->ring, done);
    }
    return failed ? failed : size;
}

/* A hard link, so that the end of the file, a short read, does not call off the close. */
static ssize_t read_ring(void *state, size_t key, void *buffer, size_t capacity)
{
    struct uring *uring = state;
    struct io_uring_sqe *step = io_uring_get_sqe(&uring->ring);
    io_uring_prep_openat_direct(step, AT_FDCWD, uring->tree->paths[key], uring->flags, 0, 0);
    step->flags |= IOSQE_IO_LINK;
    step->user_data = 0;
    step = io_uring_get_sqe(&uring->ring);
    io_uring_prep_read(step, 0, buffer, (unsigned)capacity, 0);
    step->flags |= IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK;
    step->user_data = 1;
    step = io_uring_get_sqe(&uring->ring);
    io_uring_prep_close_direct(step, 0);
    step->user_data = 2;
    int code = io_uring_submit_and_wait(&uring->ring, STEPS);
    if (code >= 0)
        code = collect(uring);
    if (code >= 0)
        return code;
    errno = -code;
    return -1;
}

static void close_ring(void *state)
{
    struct uring *uring = state;
    io_uring_queue_exit(&uring->ring);
    free(uring);
}

static const struct bench_arm arm = {
    .name = "F-uring",
    .side = BENCH_FILES,
    .summary = "open, read and close linked in one call of io_uring",
    .calls = "io_uring_enter",
    .open = open_ring,
    .read = read_ring,
    .close = close_ring,
};
const struct bench_arm *const arm_file_uring = &arm;
#else
const struct bench_arm *const arm_file_uring = NULL;
#endif

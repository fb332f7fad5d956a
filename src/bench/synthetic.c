/* SPDX-License-Identifier: MIT */
/* Files of random content, the same for the same seed. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define A_FOLDER  100u
#define SIZE_MAX_ (64u << 20)

static double normal(struct bench_random *random)
{
    double u = 1 - bench_random_unit(random); /* not 0: Box and Muller take its logarithm */
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * bench_random_unit(random));
}

static uint64_t draw_size(const struct bench_sizes *sizes, struct bench_random *random)
{
    double size = sizes->a;
    if (sizes->shape == BENCH_UNIFORM)
        size += (double)bench_random_below(random, (uint64_t)(sizes->b - sizes->a) + 1);
    else if (sizes->shape == BENCH_LOGNORMAL)
        size *= exp(sizes->b * normal(random));
    return size < SIZE_MAX_ ? (uint64_t)size : SIZE_MAX_;
}

uint64_t synthetic_bytes(const struct bench_sizes *sizes)
{
    double mean = sizes->a;
    if (sizes->shape == BENCH_UNIFORM)
        mean = (sizes->a + sizes->b) / 2;
    else if (sizes->shape == BENCH_LOGNORMAL)
        mean *= exp(sizes->b * sizes->b / 2);
    double bytes = (mean + 4096) * (double)sizes->count;
    return bytes < 0x1p62 ? (uint64_t)bytes : UINT64_C(1) << 62;
}

/* As kvtest exports: key 12345 is 01/23/45, in every folder a hundred. */
static int make_file(const char *root, uint64_t key, const void *data, size_t size,
                     struct sqlpack_error *err)
{
    auto_free char *path = NULL;
    unsigned high = (unsigned)(key / A_FOLDER / A_FOLDER);
    unsigned middle = (unsigned)(key / A_FOLDER % A_FOLDER), low = (unsigned)(key % A_FOLDER);
    if (asprintf(&path, "%s/%02u/%02u/%02u", root, high, middle, low) < 0) {
        path = NULL;
        return bench_no_memory(err);
    }
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    auto_close int fd = open(path, flags, 0600);
    if (fd < 0 && errno == ENOENT && layout_parents(path, strlen(root)) == 0)
        fd = open(path, flags, 0600);
    if (fd < 0 || file_write(fd, data, size) < 0)
        return bench_fail_errno(err, "cannot write '%s'", bench_show(path).text);
    return 0;
}

int synthetic_make(const struct bench_sizes *sizes, const char *root, uint64_t seed,
                   const struct bench_pace *pace, struct sqlpack_error *err)
{
    struct bench_random random;
    bench_random_seed(&random, seed);
    if (mkdir(root, 0700) < 0)
        return bench_fail_errno(err, "cannot create '%s'", bench_show(root).text);
    auto_release(buf_release) struct buf data = {0};
    for (uint64_t i = 1; i <= sizes->count; i++) {
        size_t size = (size_t)draw_size(sizes, &random);
        if (buf_reserve(&data, size + 1) < 0)
            return bench_no_memory(err);
        bench_random_fill(&random, data.data, size);
        if ((i % 256 == 0 && bench_tick(pace, err) < 0) ||
            make_file(root, i, data.data, size, err) < 0)
            return -1;
    }
    return 0;
}

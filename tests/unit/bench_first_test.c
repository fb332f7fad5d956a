/* SPDX-License-Identifier: MIT */
/* First reads: a fresh process of sqlpack reads what it is told to, and failures are failures. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/run.h"
#include "tap.h"
#include "util/buf.h"
#include "util/file.h"

#define SIZE  ((size_t)3000)
#define READS ((size_t)3)

static unsigned char content[SIZE];

/* Reads the file so often, as one that has `size` bytes. */
static int first(const char *program, const char *path, uint64_t size, struct bench_run *ret_run,
                 struct sqlpack_error *err)
{
    static struct hist hist;
    const uint32_t order[READS] = {0};
    const struct bench_key key = {.name = "the name", .size = size};
    const struct bench_tree trees[BENCH_LAYOUTS] = {[BENCH_LAYOUT_ASIS] = {.paths = &path}};
    const struct bench_data data = {
        .keys = &key, .key_count = 1, .size_max = size, .trees = trees, .program = program};
    const struct bench_series series = {.arm = &arm_file_path, .label = "F-path"};
    const struct bench_task task = {
        .data = &data, .series = &series, .order = order, .order_count = READS};
    *ret_run = (struct bench_run){0};
    return first_loop(&task, ret_run, &hist, err);
}

static void test_reads(const char *program, const char *path)
{
    struct bench_run run;
    struct sqlpack_error err;
    need(first(program, path, SIZE, &run, &err) == 0);
    ok(run.op_count == READS && run.bytes == READS * SIZE, "every read brings the whole content");
    ok(run.sum == READS * bench_touch(content, SIZE), "it is the content of the file");
    ok(run.setup_ns > 0 && run.setup_ns < run.elapsed_ns, "the start is told, and is not all");
    ok(run.minor_faults > 0 && run.read_calls > 0, "what the processes used is counted");
}

static void test_failures(const char *program, const char *path)
{
    struct bench_run run;
    struct sqlpack_error err;
    ok(first(program, path, SIZE - 1, &run, &err) == -1, "a file that is longer is refused");
    ok(first(program, path, SIZE + 1, &run, &err) == -1, "a file that is shorter is refused");
    ok(first(program, "not/there", SIZE, &run, &err) == -1 && err.os_errno == ENOENT,
       "a missing file gives its reason");
    ok(strstr(err.message, "cannot read 'the name'") != NULL, "and its name");
    ok(first("/bin/true", path, SIZE, &run, &err) == -1, "a program that tells nothing is none");
    ok(first("/not/there", path, SIZE, &run, &err) == -1 &&
           strstr(err.message, "cannot start a process") != NULL,
       "a program that does not start is told");
}

int main(void)
{
    struct bench_random random;
    struct buf program = {0};
    char path[] = "/tmp/first-XXXXXX";
    int fd = mkstemp(path);
    const char *build = getenv("BUILD");
    bench_random_seed(&random, 1);
    bench_random_fill(&random, content, SIZE);
    need(fd >= 0 && file_write(fd, content, SIZE) == 0 && close(fd) == 0);
    need(buf_append_text(&program, build ? build : "build") == 0);
    need(buf_append(&program, "/sqlpack", sizeof("/sqlpack")) == 0);
    test_reads(program.data, path);
    test_failures(program.data, path);
    unlink(path);
    buf_release(&program);
    return done();
}

/* SPDX-License-Identifier: MIT */
/* One lookup from a fresh process: this program started anew, until it has a file's content. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

const struct bench_arm *const first_arms[] = {&arm_file_path, &arm_pack_naive, &arm_pack_immutable,
                                              &arm_pack_library, NULL};

/* What the fresh process writes to its standard output. */
struct arrival {
    uint64_t main_ns; /* when its main had begun */
    uint64_t size, sum;
    int os_errno; /* 0: it has read the file */
};

/* -- the fresh process -------------------------------------------------------------------- */

enum word { ARM, PATH, NAME, ID, SIZE, OPEN_FLAGS, WORDS };

static const struct bench_arm *find_arm(const char *name)
{
    const struct bench_arm *const *at = first_arms;
    while (*at && strcmp((*at)->name, name) != 0)
        at++;
    return *at;
}

static bool take_number(const char *text, int64_t least, int64_t most, int64_t *ret_number)
{
    char *end;
    errno = 0;
    *ret_number = strtoll(text, &end, 10);
    return errno == 0 && end != text && !*end && *ret_number >= least && *ret_number <= most;
}

static ssize_t read_one(const struct bench_task *task, void **ret_state, void *buffer,
                        size_t capacity)
{
    struct sqlpack_error err;
    if (task->series->arm->open(task, ret_state, &err) == 0)
        return task->series->arm->read(*ret_state, 0, buffer, capacity);
    errno = err.os_errno ? err.os_errno : EIO;
    return -1;
}

int bench_first_read(int count, char **words)
{
    struct arrival arrival = {.main_ns = bench_now()};
    int64_t id, size, flags;
    const struct bench_arm *arm = count == WORDS ? find_arm(words[ARM]) : NULL;
    if (!arm || !take_number(words[ID], INT64_MIN, INT64_MAX, &id) ||
        !take_number(words[SIZE], 0, PTRDIFF_MAX - 1, &size) ||
        !take_number(words[OPEN_FLAGS], 0, INT_MAX, &flags) || (flags & ~O_NOATIME))
        return -1;
    const char *path = words[PATH];
    const struct bench_key key = {.name = words[NAME], .id = id, .size = (uint64_t)size};
    const struct bench_tree trees[BENCH_LAYOUTS] = {
        [BENCH_LAYOUT_ASIS] = {.paths = &path, .open_flags = (int)flags}};
    const struct bench_data data = {
        .keys = &key, .key_count = 1, .size_max = key.size, .trees = trees, .pack = path};
    const struct bench_series series = {.arm = arm};
    const struct bench_task task = {.data = &data, .series = &series, .pack = path};
    size_t capacity = (size_t)size + 1;
    auto_free void *buffer = malloc(capacity);
    void *state = NULL;
    ssize_t got = buffer ? read_one(&task, &state, buffer, capacity) : -1;
    if (got < 0) {
        arrival.os_errno = errno;
    } else {
        arrival.size = (uint64_t)got;
        arrival.sum = bench_touch(buffer, (size_t)got);
    }
    int status = file_write(STDOUT_FILENO, &arrival, sizeof(arrival));
    if (state)
        arm->close(state);
    return status;
}

/* -- the one that measures it ------------------------------------------------------------- */

/* Not by fork, which copies what maps the memory of the bench. Returns 0 or an errno. */
static int start(const struct bench_task *task, size_t index, int pipe_end, pid_t *ret_child)
{
    const struct bench_data *data = task->data;
    const struct bench_arm *arm = task->series->arm;
    const struct bench_key *key = &data->keys[index];
    const struct bench_tree *tree = &data->trees[task->series->layout];
    char id[24], size[24], flags[24];
    snprintf(id, sizeof(id), "%lld", (long long)key->id);
    snprintf(size, sizeof(size), "%llu", (unsigned long long)key->size);
    snprintf(flags, sizeof(flags), "%d", tree->open_flags);
    const char *words[] = {"sqlpack",
                           "bench",
                           BENCH_FIRST_READ_OPTION,
                           [3 + ARM] = arm->name,
                           [3 + PATH] = arm->side == BENCH_FILES ? tree->paths[index] : task->pack,
                           [3 + NAME] = key->name,
                           [3 + ID] = id,
                           [3 + SIZE] = size,
                           [3 + OPEN_FLAGS] = flags,
                           [3 + WORDS] = NULL};
    posix_spawn_file_actions_t actions;
    int status = posix_spawn_file_actions_init(&actions);
    if (status)
        return status;
    status = posix_spawn_file_actions_adddup2(&actions, pipe_end, STDOUT_FILENO);
    if (status == 0)
        status =
            posix_spawn(ret_child, data->program, &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

/* From the start to the content; the end of the process lies behind the clock. */
static int time_one(const struct bench_task *task, size_t key, uint64_t *ret_began,
                    uint64_t *ret_took, struct arrival *ret_arrival, struct sqlpack_error *err)
{
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return bench_fail_errno(err, "cannot make a pipe");
    *ret_began = bench_now();
    int status = start(task, key, ends[1], &child);
    close(ends[1]);
    ssize_t got = status ? -1 : file_read(ends[0], ret_arrival, sizeof(*ret_arrival));
    *ret_took = bench_now() - *ret_began;
    close(ends[0]);
    errno = status;
    if (status)
        return bench_fail_errno(err, "cannot start a process");
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    const struct bench_key *wanted = &task->data->keys[key];
    if (got == sizeof(*ret_arrival) && !ret_arrival->os_errno && ret_arrival->size == wanted->size)
        return 0;
    errno = got == sizeof(*ret_arrival) && ret_arrival->os_errno ? ret_arrival->os_errno : EIO;
    return bench_fail_errno(err, "cannot measure %s: cannot read '%s'", task->series->label,
                            bench_show(wanted->name).text);
}

int first_loop(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
               struct sqlpack_error *err)
{
    struct child_meter meter;
    child_meter_start(&meter);
    for (size_t i = 0; i < task->order_count; i++) {
        struct arrival arrival = {0};
        uint64_t began = 0, took = 0;
        if (time_one(task, task->order[i], &began, &took, &arrival, err) < 0)
            return -1;
        hist_add(hist, took);
        ret_run->elapsed_ns += took;
        ret_run->setup_ns += arrival.main_ns - began;
        ret_run->sum += arrival.sum;
        ret_run->bytes += arrival.size;
    }
    child_meter_stop(&meter, ret_run);
    ret_run->op_count = task->order_count;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Runs one arm in a process of its own: a fresh heap, fresh handles, and counters of its own. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define TICK_MS 200

/* -- counters ----------------------------------------------------------------------------- */

enum meter {
    USER_NS,
    SYSTEM_NS,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    VOLUNTARY,
    INVOLUNTARY,
    READ_CALLS,
    WRITE_CALLS,
    STORAGE_READ,
    STORAGE_WRITE,
    METERS,
};
_Static_assert(METERS <= sizeof(((struct child_meter *)0)->values) / sizeof(uint64_t), "room");

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static uint64_t find_number(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void read_io(uint64_t *values)
{
    char text[512];
    auto_close int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : file_read(fd, text, sizeof(text) - 1);
    text[size < 0 ? 0 : size] = '\0';
    values[READ_CALLS] = find_number(text, "syscr: ");
    values[WRITE_CALLS] = find_number(text, "syscw: ");
    values[STORAGE_READ] = find_number(text, "\nread_bytes: ");
    values[STORAGE_WRITE] = find_number(text, "\nwrite_bytes: ");
}

static void take(uint64_t *values)
{
    struct rusage usage = {0}, of_children = {0}; /* fresh processes, of first reads */
    getrusage(RUSAGE_SELF, &usage);
    getrusage(RUSAGE_CHILDREN, &of_children);
    values[USER_NS] = ns_of(usage.ru_utime) + ns_of(of_children.ru_utime);
    values[SYSTEM_NS] = ns_of(usage.ru_stime) + ns_of(of_children.ru_stime);
    values[MINOR_FAULTS] = (uint64_t)(usage.ru_minflt + of_children.ru_minflt);
    values[MAJOR_FAULTS] = (uint64_t)(usage.ru_majflt + of_children.ru_majflt);
    values[VOLUNTARY] = (uint64_t)(usage.ru_nvcsw + of_children.ru_nvcsw);
    values[INVOLUNTARY] = (uint64_t)(usage.ru_nivcsw + of_children.ru_nivcsw);
}

void child_meter_start(struct child_meter *meter)
{
    uint64_t before[METERS];
    read_io(before);
    read_io(meter->values);
    /* what one look at the counters itself counts */
    meter->values[READ_CALLS] += meter->values[READ_CALLS] - before[READ_CALLS];
    take(meter->values);
}

void child_meter_stop(const struct child_meter *meter, struct bench_run *run)
{
    uint64_t now[METERS];
    take(now);
    read_io(now);
    for (size_t i = 0; i < METERS; i++)
        now[i] = now[i] > meter->values[i] ? now[i] - meter->values[i] : 0;
    run->user_ns = now[USER_NS];
    run->system_ns = now[SYSTEM_NS];
    run->minor_faults = now[MINOR_FAULTS];
    run->major_faults = now[MAJOR_FAULTS];
    run->voluntary_switches = now[VOLUNTARY];
    run->involuntary_switches = now[INVOLUNTARY];
    run->read_calls = now[READ_CALLS];
    run->write_calls = now[WRITE_CALLS];
    run->storage_read_bytes = now[STORAGE_READ];
    run->storage_write_bytes = now[STORAGE_WRITE];
}

/* -- the child ---------------------------------------------------------------------------- */

/* What the child hands back; in memory that both share. */
struct report {
    int status;
    bool is_complete;
    struct bench_run run;
    struct hist hist;
    struct sqlpack_error err;
};

static void behave_as_child(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static void work(const struct bench_task *task, struct report *report)
{
    behave_as_child();
    const struct bench_arm *arm = task->series->arm;
    if (arm->run)
        report->status = arm->run(task, &report->run, &report->hist, &report->err);
    else if (task->question->workload == BENCH_FIRST_READ)
        report->status = first_loop(task, &report->run, &report->hist, &report->err);
    else
        report->status = read_loop(task, &report->run, &report->hist, &report->err);
    report->is_complete = true;
    _exit(0);
}

/* -- the parent --------------------------------------------------------------------------- */

/* The child holds the other end of the pipe until it is gone. */
static int await(pid_t child, int pipe_end, const struct bench_pace *pace,
                 struct sqlpack_error *err)
{
    struct pollfd end = {.fd = pipe_end, .events = POLLIN};
    int status = 0;
    while (status == 0 && poll(&end, 1, TICK_MS) <= 0)
        status = bench_tick(pace, err);
    if (status < 0)
        kill(child, SIGKILL);
    int how;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int take_report(const struct bench_task *task, const struct report *report,
                       struct bench_run *ret_run, struct hist *hist, struct sqlpack_error *err)
{
    if (!report->is_complete)
        return bench_fail(err, SQLPACK_IO, "cannot measure %s: its process was killed",
                          task->series->label);
    if (report->status < 0) {
        *err = report->err;
        return -1;
    }
    struct bench_run run = report->run;
    run.is_done = true;
    run.resident_percent = ret_run->resident_percent;
    run.proof = ret_run->proof;
    run.is_proven = ret_run->is_proven;
    *ret_run = run;
    if (hist)
        hist_merge(hist, &report->hist);
    return 0;
}

static int run_child(const struct bench_task *task, struct report *report,
                     const struct bench_pace *pace, struct sqlpack_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return bench_fail_errno(err, "cannot make a pipe");
    pid_t child = fork();
    if (child == 0)
        work(task, report);
    close(ends[1]);
    int status = child < 0 ? bench_fail_errno(err, "cannot start a process")
                           : await(child, ends[0], pace, err);
    close(ends[0]);
    return status;
}

int child_run(const struct bench_task *task, const struct bench_pace *pace,
              struct bench_run *ret_run, struct hist *hist, struct sqlpack_error *err)
{
    if (bench_tick(pace, err) < 0)
        return -1;
    struct report *report =
        mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED)
        return bench_no_memory(err);
    bool is_behind = cache_is_behind(task);
    uint64_t paged_in = is_behind ? cache_paged_in() : 0;
    int status = run_child(task, report, pace, err);
    if (is_behind)
        report->run.storage_read_bytes = cache_paged_in() - paged_in;
    if (status == 0)
        status = take_report(task, report, ret_run, hist, err);
    munmap(report, sizeof(*report));
    return status;
}

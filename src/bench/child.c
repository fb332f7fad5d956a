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
#include <sys/socket.h>
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

/* What the parent says to a child that takes turns: a part of the order, or that it is over. */
#define NO_MORE_TURNS UINT32_MAX

bool child_next(const struct bench_task *task, uint64_t elapsed_ns, struct child_meter *meter,
                uint32_t *ret_part)
{
    meter->values[WRITE_CALLS]++;
    meter->values[READ_CALLS]++;
    meter->values[VOLUNTARY]++;
    return file_write(task->link, &elapsed_ns, sizeof(elapsed_ns)) == 0 &&
           file_read(task->link, ret_part, sizeof(*ret_part)) == sizeof(*ret_part) &&
           *ret_part != NO_MORE_TURNS;
}

/* -- the parent --------------------------------------------------------------------------- */

static bool takes_turns(const struct bench_task *task)
{
    return task->series->arm->read && task->question->workload != BENCH_FIRST_READ;
}

/* Until the child says something, or is gone. */
static int await(const struct child *child, const struct bench_pace *pace,
                 struct sqlpack_error *err)
{
    struct pollfd link = {.fd = child->task.link, .events = POLLIN};
    int status = 0;
    while (status == 0 && poll(&link, 1, TICK_MS) <= 0)
        status = bench_tick(pace, err);
    return status;
}

static void reap(struct child *child)
{
    int how;
    while (child->pid > 0 && waitpid(child->pid, &how, 0) < 0 && errno == EINTR)
        ;
    child->pid = 0;
}

void child_release(struct child *child)
{
    if (child->pid > 0)
        kill(child->pid, SIGKILL);
    reap(child);
    if (child->report) {
        close(child->task.link);
        munmap(child->report, sizeof(*child->report));
    }
    child->report = NULL;
}

/* Once it has ended: what it reported, or why it could not. */
static int take_report(struct child *child, struct bench_run *ret_run, struct hist *hist,
                       struct sqlpack_error *err)
{
    const struct report *report = child->report;
    reap(child);
    if (!report->is_complete)
        return bench_fail(err, SQLPACK_IO, "cannot measure %s: its process was killed",
                          child->task.series->label);
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

/* The child says how long it has been reading, when it is ready for a turn. */
static int await_ready(struct child *child, const struct bench_pace *pace,
                       struct sqlpack_error *err)
{
    if (await(child, pace, err) < 0)
        return -1;
    if (file_read(child->task.link, &child->elapsed_ns, sizeof(child->elapsed_ns)) ==
        sizeof(child->elapsed_ns))
        return 0;
    struct bench_run run = {0};
    if (take_report(child, &run, NULL, err) == 0)
        bench_fail(err, SQLPACK_IO, "cannot measure %s: its process has ended too early",
                   child->task.series->label);
    return -1;
}

static int start(struct child *child, struct sqlpack_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return bench_fail_errno(err, "cannot make a socket");
    child->task.link = ends[1];
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        work(&child->task, child->report);
    }
    child->task.link = ends[0];
    close(ends[1]);
    return child->pid < 0 ? bench_fail_errno(err, "cannot start a process") : 0;
}

int child_start(const struct bench_task *task, const struct bench_pace *pace,
                struct child *ret_child, struct sqlpack_error *err)
{
    auto_release(child_release) struct child child = {.task = *task,
                                                      .is_behind = cache_is_behind(task)};
    if (bench_tick(pace, err) < 0)
        return -1;
    child.task.link = -1;
    child.report = mmap(NULL, sizeof(*child.report), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (child.report == MAP_FAILED) {
        child.report = NULL;
        bench_no_memory(err);
        return -1;
    }
    if (start(&child, err) < 0 || (takes_turns(task) && await_ready(&child, pace, err) < 0))
        return -1;
    *ret_child = child;
    child = (struct child){0};
    return 0;
}

static void tell(const struct child *child, uint32_t part)
{
    /* one that is gone is noticed where its answer is awaited */
    send(child->task.link, &part, sizeof(part), MSG_NOSIGNAL);
}

int child_turn(struct child *child, uint32_t part, const struct bench_pace *pace,
               struct sqlpack_error *err)
{
    uint64_t paged_in = child->is_behind ? cache_paged_in() : 0;
    if (bench_tick(pace, err) < 0)
        return -1;
    tell(child, part);
    if (await_ready(child, pace, err) < 0)
        return -1;
    if (child->is_behind)
        child->behind_bytes += cache_paged_in() - paged_in;
    return 0;
}

int child_end(struct child *child, const struct bench_pace *pace, struct bench_run *ret_run,
              struct hist *hist, struct sqlpack_error *err)
{
    tell(child, NO_MORE_TURNS);
    if (await(child, pace, err) < 0 || take_report(child, ret_run, hist, err) < 0)
        return -1;
    if (child->is_behind)
        ret_run->storage_read_bytes = child->behind_bytes;
    return 0;
}

int child_run(const struct bench_task *task, const struct bench_pace *pace,
              struct bench_run *ret_run, struct hist *hist, struct sqlpack_error *err)
{
    auto_release(child_release) struct child child = {0};
    if (child_start(task, pace, &child, err) < 0 ||
        (takes_turns(task) && child_turn(&child, 0, pace, err) < 0))
        return -1;
    return child_end(&child, pace, ret_run, hist, err);
}

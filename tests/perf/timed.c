/* SPDX-License-Identifier: MIT */
/* Runs one command and notes what it took: wall, user and system time, and peak memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int fail(const char *verb, const char *name)
{
    fprintf(stderr, "timed: cannot %s '%s': %s\n", verb, name, strerror(errno));
    return 125;
}

/* Appends "LABEL wall user sys peak" (seconds, KiB), tab separated. Returns 0 or an exit status. */
static int note(const char *log, const char *label, double wall, const struct rusage *usage)
{
    FILE *file = fopen(log, "a");
    if (!file)
        return fail("open", log);
    fprintf(file, "%s\t%.6f\t%.6f\t%.6f\t%ld\n", label, wall, seconds_of(usage->ru_utime),
            seconds_of(usage->ru_stime), usage->ru_maxrss);
    return fclose(file) == 0 ? 0 : fail("write", log);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: timed LOG LABEL COMMAND [ARGUMENT...]\n");
        return 125;
    }
    double start = seconds_now();
    pid_t pid = fork();
    if (pid < 0)
        return fail("start", argv[3]);
    if (pid == 0) {
        execvp(argv[3], argv + 3);
        _exit(fail("run", argv[3]));
    }
    int status;
    struct rusage usage;
    if (wait4(pid, &status, 0, &usage) != pid)
        return fail("wait for", argv[3]);
    double wall = seconds_now() - start;
    if (!WIFEXITED(status))
        return 128 + WTERMSIG(status);
    if (WEXITSTATUS(status) != 0)
        return WEXITSTATUS(status);
    return note(argv[1], argv[2], wall, &usage);
}

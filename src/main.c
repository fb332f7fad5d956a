/* SPDX-License-Identifier: MIT */
/* Finds the command, runs it, checks that stdout was written, gives the exit status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/notice.h"
#include "cli/text.h"
#include "cmd/cmd.h"
#include "sqlpack.h"

#define COMMAND_ENTRY(name) &cmd_##name,
const struct command *const commands[] = {COMMANDS(COMMAND_ENTRY) NULL};

const struct command *command_find(const char *name)
{
    for (const struct command *const *at = commands; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

/*
 * A closed descriptor 0, 1 or 2 would be given to the next file that is opened: to the pack. What
 * stands in for it refuses to be used, so that output is not lost without a word.
 */
static int fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return -1;
    return 0;
}

static int refuse(const char *name)
{
    const struct command *near = NULL;
    unsigned best = 3;
    for (const struct command *const *at = commands; *at; at++) {
        unsigned distance = text_distance((*at)->name, name);
        if (distance < best) {
            best = distance;
            near = *at;
        }
    }
    return notice_usage(NULL, "unknown command '%s'%s%s%s", notice_name(name).text,
                        near ? "; did you mean '" : "", near ? near->name : "", near ? "'?" : "");
}

static int run(int argc, char **argv)
{
    if (argc < 2)
        return notice_usage(NULL, "missing command");
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        printf("sqlpack %s\n", sqlpack_version());
        return EXIT_DONE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return cmd_help.run(&cmd_help, 1, argv);
    const struct command *command = command_find(name);
    if (command)
        return command->run(command, argc - 1, argv + 1);
    if (*name == '-')
        return notice_usage(NULL, "unknown option '%s'", notice_name(name).text);
    return refuse(name);
}

/* Output that did not arrive is a failure of the command, whatever else it did. */
static int close_stdout(int status)
{
    bool is_broken = fflush(stdout) != 0 || ferror(stdout);
    int os_errno = errno;
    if (fclose(stdout) != 0 && !is_broken) {
        is_broken = true;
        os_errno = errno;
    }
    if (!is_broken)
        return status;
    return notice_fail(NULL, EXIT_SYSTEM, "cannot write to standard output: %s",
                       strerror(os_errno));
}

/* Ends by the signal itself, so that a shell script that waits for us stops too. */
static void end_by_signal(int status)
{
    int number = notice_signal();
    if (number == 0 || status != EXIT_SIGNAL + number)
        return;
    signal(number, SIG_DFL);
    raise(number);
}

int main(int argc, char **argv)
{
    if (fill_standard_descriptors() < 0)
        return EXIT_SYSTEM;
    signal(SIGXFSZ, SIG_IGN); /* a write above the limit shall fail, not kill */
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    int status = close_stdout(run(argc, argv));
    end_by_signal(status);
    return status;
}

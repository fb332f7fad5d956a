/* SPDX-License-Identifier: MIT */
/* sqlpack help: lists the commands, or prints the help of one. */
#include <stdio.h>

#include "cli/notice.h"
#include "cmd/cmd.h"

static void print_names(void)
{
    for (const struct command *const *at = commands; *at; at++)
        printf("%s\t%s\n", (*at)->name, (*at)->summary);
}

static void print_commands(void)
{
    printf("usage: sqlpack COMMAND [OPTION...] ARGUMENT...\n\n"
           "pack a directory tree into one SQLite archive, and back\n\n");
    for (const struct command *const *at = commands; *at; at++)
        printf("  %-10s%s\n", (*at)->name, (*at)->summary);
    printf("\n'sqlpack COMMAND --help' tells the options of a command; sqlpack(1) tells all.\n");
}

static int run(const struct command *self, int argc, char **argv)
{
    bool names = false;
    const struct opt opts[] = {
        OPT_FLAG(0, "names", &names, "print names and summaries for programs, a tab between"),
        OPT_END,
    };
    int status;
    int first = opt_parse(self, opts, argc, argv, &status);
    if (first < 0)
        return status;
    if (first == argc) {
        if (names)
            print_names();
        else
            print_commands();
        return EXIT_DONE;
    }
    const struct command *command = command_find(argv[first]);
    if (!command)
        return notice_usage(self, "no such command: '%s'", notice_name(argv[first]).text);
    char option[] = "--help";
    return command->run(command, 2, (char *[]){argv[first], option, NULL});
}

const struct command cmd_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "list the commands, or print the help of one",
    .run = run,
};

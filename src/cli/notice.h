/* SPDX-License-Identifier: MIT */
/* Owns stderr: errors with a hint, warnings, the one progress line; and the exit status. */
#ifndef CLI_NOTICE_H
#define CLI_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/opt.h"
#include "sqlpack.h"

enum notice_progress {
    NOTICE_PROGRESS_AUTO, /* on a terminal */
    NOTICE_PROGRESS_ALWAYS,
    NOTICE_PROGRESS_NEVER,
};

enum exit_status {
    EXIT_DONE = 0,     /* all that was asked is done */
    EXIT_PARTLY = 1,   /* finished, but something is missing, changed or different */
    EXIT_USAGE = 2,    /* wrong usage; nothing was touched */
    EXIT_SYSTEM = 3,   /* space, I/O, permission, memory; rolled back */
    EXIT_BAD_PACK = 4, /* the pack is damaged, hostile or no pack */
    EXIT_BUSY = 5,     /* another process writes the pack */
    EXIT_SIGNAL = 128, /* plus the number of the signal; rolled back */
};

/* The voice of one run of a command. Set up by notice_begin; fields are for notice.c. */
struct notice {
    const struct command *command;
    const char *pack; /* the pack's path, for hints that name it; NULL: unknown. Set by you. */
    bool quiet, verbose;
    bool by_time; /* entries of progress are milliseconds of a plan. Set by you. */
    bool shows_progress, line_is_shown;
    uint64_t started_ns, drawn_ns; /* CLOCK_MONOTONIC */
};

void notice_begin(struct notice *notice, const struct command *self,
                  const struct opt_common *common);

/* Takes the progress line away. Call it before you print to stdout; safe to call twice. */
void notice_end(struct notice *notice);

/*
 * The hooks for a long call: progress draws the line, problem prints a warning
 * (notes not with --quiet, what was skipped only with --verbose). From here on
 * SIGINT, SIGTERM and SIGHUP make the call end with CANCELLED; the second one
 * ends the process at once.
 */
struct sqlpack_hooks notice_hooks(struct notice *notice);

/* Prints an error with its hint. Returns the exit status for it. */
int notice_error(struct notice *notice, const struct sqlpack_error *err);

/* Prints "sqlpack COMMAND: MESSAGE". Escape names first (notice_name). */
void notice_warning(struct notice *notice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a failure without a pack; `self` may be NULL. Returns `status`. */
int notice_fail(const struct command *self, enum exit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for wrong usage, with a hint at --help. Returns EXIT_USAGE. `self` may be NULL. */
int notice_usage(const struct command *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A name for a message: escaped for a terminal, shortened in the middle. */
struct notice_name {
    char text[512];
};
struct notice_name notice_name(const char *name);

/* The signal that asked the process to stop, 0: none. */
int notice_signal(void);

#endif

/* SPDX-License-Identifier: MIT */
/* The list of commands. A new one is one line here and one file beside it. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "cli/opt.h"

// clang-format off
#define COMMANDS(X) \
    X(pack)         \
    X(unpack)       \
    X(ls)           \
    X(cat)          \
    X(info)         \
    X(audit)        \
    X(verify)       \
    X(digest)       \
    X(bench)        \
    X(help)
// clang-format on

#define DECLARE_COMMAND(name) extern const struct command cmd_##name;
COMMANDS(DECLARE_COMMAND)

/* All of them in this order, then NULL. */
extern const struct command *const commands[];

/* The command of that name, NULL: there is none. */
const struct command *command_find(const char *name);

#endif

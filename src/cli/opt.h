/* SPDX-License-Identifier: MIT */
/* One table a command: parses its options, prints --help, answers --list-options. */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A command. `arguments` is the usage and the rule at once: "PACK [DIR] [PATH...]"
 * takes one argument or more. `details` (may be NULL) is printed below the options:
 * lines of up to 80 columns, each ended by a newline.
 */
struct command {
    const char *name;
    const char *arguments;
    const char *summary; /* one line, lower case, no full stop */
    const char *details;
    int (*run)(const struct command *self, int argc, char **argv); /* returns the exit status */
};

enum opt_kind {
    OPT_KIND_END,
    OPT_KIND_HEAD, /* a heading in --help */
    OPT_KIND_FLAG,
    OPT_KIND_TEXT,
    OPT_KIND_NUMBER,
    OPT_KIND_BYTES,
    OPT_KIND_PERCENT,
    OPT_KIND_LIST,
    OPT_KIND_CHOICE,
};

/* A growing list of texts; all zero is the empty one. Items are borrowed from argv or `owned`. */
struct opt_list {
    const char **items;
    size_t count;
    size_t capacity;
    char **owned; /* whole files that items point into */
    size_t owned_count;
};
int opt_list_add(struct opt_list *list, const char *item); /* 0, or -1 with errno ENOMEM */
void opt_list_release(struct opt_list *list);

/* One option. Made by the macros below, which check the type of the target. */
struct opt {
    enum opt_kind kind;
    char letter;       /* 0: it has none */
    const char *name;  /* the long name, without dashes */
    const char *value; /* what --help calls its value; NULL for a flag */
    const char *help;  /* what it does, and its default; wrapped where it is long */
    union {
        bool *flag;
        const char **text;
        int64_t *number;
        uint64_t *bytes;
        double *percent;
        struct opt_list *list;
        int *choice; /* index into choices */
    } target;
    int64_t min, max;           /* of a number, both included */
    const char *const *choices; /* ends with NULL */
};

// clang-format off
#define OPT_HEAD(text) {.kind = OPT_KIND_HEAD, .help = text}
#define OPT_FLAG(c, n, to, h) \
    {.kind = OPT_KIND_FLAG, .letter = c, .name = n, .help = h, .target.flag = to}
#define OPT_TEXT(c, n, v, to, h) \
    {.kind = OPT_KIND_TEXT, .letter = c, .name = n, .value = v, .help = h, .target.text = to}
#define OPT_NUMBER(c, n, v, to, lo, hi, h) \
    {.kind = OPT_KIND_NUMBER, .letter = c, .name = n, .value = v, .help = h, \
     .target.number = to, .min = lo, .max = hi}
#define OPT_BYTES(c, n, v, to, h) \
    {.kind = OPT_KIND_BYTES, .letter = c, .name = n, .value = v, .help = h, .target.bytes = to}
#define OPT_PERCENT(c, n, v, to, h) \
    {.kind = OPT_KIND_PERCENT, .letter = c, .name = n, .value = v, .help = h, .target.percent = to}
#define OPT_LIST(c, n, v, to, h) \
    {.kind = OPT_KIND_LIST, .letter = c, .name = n, .value = v, .help = h, .target.list = to}
#define OPT_CHOICE(c, n, v, to, list, h) \
    {.kind = OPT_KIND_CHOICE, .letter = c, .name = n, .value = v, .help = h, \
     .target.choice = to, .choices = list}
#define OPT_END {.kind = OPT_KIND_END}
// clang-format on

/* The options that commands share. All zero is the default. */
struct opt_common {
    bool quiet, verbose, json;
    int progress; /* enum notice_progress */
    int64_t jobs; /* 0: one a processor */
};
extern const char *const opt_progress_choices[]; /* "auto", "always", "never" */

/* Every command has the first; -h, --help and --version come by themselves. */
#define OPT_COMMON(c)                                                                              \
    OPT_HEAD("Output:"),                                                                           \
        OPT_FLAG('q', "quiet", &(c)->quiet, "print nothing but errors and losses"),                \
        OPT_FLAG('v', "verbose", &(c)->verbose, "say more"),                                       \
        OPT_FLAG(0, "json", &(c)->json, "print JSON, one object a line")
/* For commands that take long. */
#define OPT_PROGRESS(c)                                                                            \
    OPT_CHOICE(0, "progress", "WHEN", &(c)->progress, opt_progress_choices,                        \
               "show progress on stderr: auto, always or never")
/* For commands that work in threads. */
#define OPT_JOBS(c)                                                                                \
    OPT_NUMBER('j', "jobs", "N", &(c)->jobs, 1, 1024,                                              \
               "work in N threads (default: one a processor)")

/*
 * Parses argv[1...]: options and arguments in any order, "--" ends options. Moves
 * the arguments to the end of argv and returns the index of the first; their
 * number fits `self->arguments`. Returns -1 where the command is over: *ret_status
 * is then its exit status (0 after --help, 2 after a usage error, which is told).
 * Values borrow from argv. At most 64 options.
 */
int opt_parse(const struct command *self, const struct opt *opts, int argc, char **argv,
              int *ret_status);

/*
 * Adds the names in the file `path` ("-" is standard input) to a list: one a line,
 * or each ended by NUL where `nul` is set. A last line without its end counts,
 * empty lines do not, and no other byte means anything. Returns 0, or the exit
 * status after telling what is wrong.
 */
int opt_read_names(const struct command *self, const char *path, bool nul, struct opt_list *list);

#endif

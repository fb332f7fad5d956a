/* SPDX-License-Identifier: MIT */
/* Owns stderr: errors with a hint, warnings, the one progress line; and the exit status. */
#include "cli/notice.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/text.h"
#include "util/path.h"

#define DRAW_EVERY_NS 100000000u /* ten times a second */
#define BAR_CELLS     20

static volatile sig_atomic_t stop_signal;

int notice_signal(void)
{
    return stop_signal;
}

static volatile sig_atomic_t stop_second; /* when it came, by the monotonic clock */

/*
 * The first signal asks for a clean end; one that comes more than a second later
 * gets its way. Two at once are one: timeout(1) sends to the process and to its group.
 */
static void on_signal(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!stop_signal) {
        stop_second = (sig_atomic_t)now.tv_sec;
        stop_signal = number;
    } else if (now.tv_sec > stop_second + 1) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};

#define SIGNAL_COUNT (sizeof(signals) / sizeof(signals[0]))

static void catch_signals(void)
{
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction old;
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        /* nohup and shells' background jobs ignore some of them: leave that so */
        if (sigaction(signals[i].number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i].number, &action, NULL);
    }
}

static const char *signal_name(void)
{
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (signals[i].number == stop_signal)
            return signals[i].name;
    return "a signal";
}

struct notice_name notice_name(const char *name)
{
    struct notice_name shown = {""};
    path_show(name, shown.text, sizeof(shown.text));
    return shown;
}

/* -- messages ----------------------------------------------------------------------------- */

static void clear_line(struct notice *notice)
{
    if (notice->line_is_shown)
        fputs("\r\033[K", stderr);
    notice->line_is_shown = false;
}

__attribute__((format(printf, 2, 0))) static void say(const struct command *command,
                                                      const char *format, va_list args)
{
    fprintf(stderr, "sqlpack%s%s: ", command ? " " : "", command ? command->name : "");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void notice_warning(struct notice *notice, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    clear_line(notice);
    say(notice->command, format, args);
    va_end(args);
}

int notice_fail(const struct command *self, enum exit_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(self, format, args);
    va_end(args);
    return (int)status;
}

int notice_usage(const struct command *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(self, format, args);
    va_end(args);
    fprintf(stderr, "  hint: 'sqlpack %s%s--help' tells the usage\n", self ? self->name : "",
            self ? " " : "");
    return EXIT_USAGE;
}

/* -- errors ------------------------------------------------------------------------------- */

static int exit_status_of(enum sqlpack_status status)
{
    switch (status) {
    case SQLPACK_OK:
        return EXIT_DONE;
    case SQLPACK_INVALID:
    case SQLPACK_NOT_FOUND:
    case SQLPACK_EXISTS:
        return EXIT_USAGE;
    case SQLPACK_NOT_A_PACK:
    case SQLPACK_WAL:
    case SQLPACK_NEWER:
    case SQLPACK_CORRUPT:
        return EXIT_BAD_PACK;
    case SQLPACK_BUSY:
        return EXIT_BUSY;
    case SQLPACK_CANCELLED:
        return EXIT_SIGNAL + (stop_signal ? stop_signal : SIGTERM);
    case SQLPACK_IO:
    case SQLPACK_NO_MEMORY:
    case SQLPACK_UNSUPPORTED:
        break;
    }
    return EXIT_SYSTEM;
}

/* What to do about an error. The first row that fits counts. */
static const struct hint {
    const char *command; /* NULL: any */
    enum sqlpack_status status;
    int os_errno;     /* 0: any */
    const char *text; /* "PACK" stands for the pack's path */
} hints[] = {
    {"pack", SQLPACK_EXISTS, 0, "--force replaces it"},
    {"unpack", SQLPACK_EXISTS, 0, "--into unpacks into an existing folder"},
    {"bench", SQLPACK_INVALID, EXDEV,
     "--scratch names a folder on the same one; --allow-cross-fs compares two file systems"},
    {NULL, SQLPACK_WAL, 0, "sqlite3 PACK 'PRAGMA journal_mode=DELETE' ends the WAL mode"},
    {NULL, SQLPACK_NEWER, 0, "a later sqlpack reads it"},
    {NULL, SQLPACK_BUSY, 0,
     "wait for the other program; if none is running, sqlite3 PACK 'PRAGMA "
     "user_version' completes or undoes its change"},
    {NULL, SQLPACK_IO, ENOSPC, "free some space, or write to another file system"},
    {NULL, SQLPACK_IO, EDQUOT, "free some space, or write to another file system"},
    {NULL, SQLPACK_IO, EFBIG, "raise the limit on file sizes (ulimit -f)"},
    {NULL, SQLPACK_IO, EMFILE, "raise the limit on open files (ulimit -n), or use fewer --jobs"},
    {NULL, SQLPACK_IO, ENFILE, "the system has too many files open; use fewer --jobs"},
    {NULL, SQLPACK_IO, ENOLCK, "copy the pack to a local disk: locks do not work here"},
    {NULL, SQLPACK_NO_MEMORY, 0, "use fewer --jobs"},
};

/* Prints a path so that a shell reads it back as one word. */
static void print_quoted(const char *path)
{
    if (path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "_-+=.,:@%/")] == '\0') {
        fputs(path, stderr);
        return;
    }
    fputc('\'', stderr);
    for (; *path; path++)
        fputs(*path == '\'' ? "'\\''" : (char[]){*path, '\0'}, stderr);
    fputc('\'', stderr);
}

static void print_hint(const struct notice *notice, const struct sqlpack_error *err)
{
    const struct hint *end = hints + sizeof(hints) / sizeof(hints[0]);
    const struct hint *hint = hints;
    while (hint < end &&
           ((hint->command && strcmp(hint->command, notice->command->name) != 0) ||
            hint->status != err->status || (hint->os_errno && hint->os_errno != err->os_errno)))
        hint++;
    if (hint == end)
        return;
    const char *place = strstr(hint->text, "PACK");
    if (!place || !notice->pack) {
        fprintf(stderr, "  hint: %s\n", hint->text);
        return;
    }
    fprintf(stderr, "  hint: %.*s", (int)(place - hint->text), hint->text);
    print_quoted(notice->pack);
    fprintf(stderr, "%s\n", place + strlen("PACK"));
}

int notice_error(struct notice *notice, const struct sqlpack_error *err)
{
    clear_line(notice);
    if (err->status == SQLPACK_CANCELLED && stop_signal) {
        fprintf(stderr, "sqlpack %s: stopped by %s\n", notice->command->name, signal_name());
        return exit_status_of(err->status);
    }
    fprintf(stderr, "sqlpack %s: %s\n", notice->command->name, err->message);
    print_hint(notice, err);
    return exit_status_of(err->status);
}

/* -- progress and problems ---------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* Draws "[#####     ]  41%  12,345  1.2 GiB  310.0 MiB/s  0:12 left". */
static void draw(struct notice *notice, const struct sqlpack_progress *progress, uint64_t now)
{
    char line[256];
    double seconds = (double)(now - notice->started_ns) / 1e9;
    double rate = seconds > 0 ? (double)progress->bytes / seconds : 0;
    bool by_bytes = progress->bytes_total > 0;
    double done = by_bytes ? (double)progress->bytes : (double)progress->entry_count;
    double total = by_bytes ? (double)progress->bytes_total : (double)progress->entry_total;
    size_t size = 0;
    if (total > 0) {
        double share = done < total ? done / total : 1;
        int cells = (int)(share * BAR_CELLS);
        size += (size_t)snprintf(line, sizeof(line), "[%.*s%*s] %3d%%  ", cells,
                                 "####################", BAR_CELLS - cells, "", (int)(share * 100));
    }
    if (!notice->by_time)
        size += (size_t)snprintf(line + size, sizeof(line) - size, "%s entries  %s  %s",
                                 text_count(progress->entry_count).text,
                                 text_bytes(progress->bytes).text, text_rate(rate).text);
    if (total > 0 && done > 0 && done < total && seconds >= 1)
        snprintf(line + size, sizeof(line) - size, "  %s left",
                 text_duration((uint64_t)(seconds * (total - done) / done + 0.5)).text);
    fprintf(stderr, "\r%.*s\033[K", terminal_columns() - 1, line);
    fflush(stderr);
    notice->line_is_shown = true;
    notice->drawn_ns = now;
}

static int on_progress(void *user, const struct sqlpack_progress *progress)
{
    struct notice *notice = user;
    if (notice->shows_progress) {
        uint64_t now = now_ns();
        if (now - notice->drawn_ns >= DRAW_EVERY_NS)
            draw(notice, progress, now);
    }
    return stop_signal;
}

static void on_problem(void *user, const struct sqlpack_problem *problem)
{
    struct notice *notice = user;
    if ((problem->kind == SQLPACK_NOTE && notice->quiet) ||
        (problem->kind == SQLPACK_SKIPPED && !notice->verbose))
        return;
    const char *name = *problem->name ? problem->name : ".";
    notice_warning(notice, "'%s': %s%s%s", notice_name(name).text, problem->what,
                   problem->os_errno ? ": " : "",
                   problem->os_errno ? strerror(problem->os_errno) : "");
}

void notice_begin(struct notice *notice, const struct command *self,
                  const struct opt_common *common)
{
    const char *term = getenv("TERM");
    bool is_terminal = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
    *notice = (struct notice){.command = self,
                              .quiet = common->quiet,
                              .verbose = common->verbose,
                              .started_ns = now_ns()};
    notice->drawn_ns = notice->started_ns;
    notice->shows_progress =
        common->progress == NOTICE_PROGRESS_ALWAYS ||
        (common->progress == NOTICE_PROGRESS_AUTO && is_terminal && !common->quiet);
}

struct sqlpack_hooks notice_hooks(struct notice *notice)
{
    catch_signals();
    return (struct sqlpack_hooks){.progress = on_progress, .problem = on_problem, .user = notice};
}

void notice_end(struct notice *notice)
{
    clear_line(notice);
    fflush(stderr); /* it is line-buffered, and no newline follows */
}

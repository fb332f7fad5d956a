/* SPDX-License-Identifier: MIT */
/* Unit tests that speak TAP: a test is a main that calls ok, is_int, is_text and done. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

/* Tells one result; the name is a printf format. Returns whether it is good. */
__attribute__((format(printf, 3, 4))) static inline bool tap_result(bool is_good, int line,
                                                                    const char *name, ...)
{
    va_list args;
    va_start(args, name);
    printf("%sok %d - ", is_good ? "" : "not ", ++tap_count);
    vprintf(name, args);
    printf("\n");
    va_end(args);
    if (!is_good) {
        printf("#   in line %d\n", line);
        tap_failed++;
    }
    fflush(stdout);
    return is_good;
}

static inline bool tap_int(long long got, long long want, int line, const char *name)
{
    bool is_good = tap_result(got == want, line, "%s", name);
    if (!is_good)
        printf("#   got  %lld\n#   want %lld\n", got, want);
    return is_good;
}

static inline bool tap_text(const char *got, const char *want, int line, const char *name)
{
    bool is_good = tap_result(got && want && strcmp(got, want) == 0, line, "%s", name);
    if (!is_good)
        printf("#   got  '%s'\n#   want '%s'\n", got ? got : "(null)", want ? want : "(null)");
    return is_good;
}

/* ok(condition, "name %d", ...); is_int(got, want, "name"); is_text(got, want, "name") */
#define ok(condition, ...)       tap_result(condition, __LINE__, __VA_ARGS__)
#define is_int(got, want, name)  tap_int((long long)(got), (long long)(want), __LINE__, name)
#define is_text(got, want, name) tap_text(got, want, __LINE__, name)

/* Counts one test as passed that this machine cannot run. */
static inline void skip(const char *name, const char *reason)
{
    printf("ok %d - %s # SKIP %s\n", ++tap_count, name, reason);
}

/* Ends the test without any: nothing here can run. */
static inline int skip_all(const char *reason)
{
    printf("1..0 # SKIP %s\n", reason);
    return 0;
}

/* Gives up the whole program: what it needs is not there. */
#define need(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("Bail out! line %d: %s\n", __LINE__, #condition);                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Prints the plan; return what it returns from main. */
static inline int done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed ? 1 : 0;
}

#endif

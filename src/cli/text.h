/* SPDX-License-Identifier: MIT */
/* Sizes, counts, times and modes as a person writes and reads them. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A short text, returned by value: text_bytes(n).text lives as long as the expression. */
struct text {
    char text[48];
};

struct text text_bytes(uint64_t bytes);      /* "412.3 MiB"; "512 B" */
struct text text_rate(double bytes);         /* bytes a second: "1.2 GiB/s" */
struct text text_count(uint64_t count);      /* "1,234,567" */
struct text text_number(int64_t number);     /* "-1234567" */
struct text text_percent(double percent);    /* "41.5%" */
struct text text_duration(uint64_t seconds); /* "0:07", "12:34", "3:02:01" */
struct text text_mode(uint32_t mode);        /* "drwxr-xr-x", as ls -l shows it */

/* Local time to the second: "2026-11-30 13:02:03"; the bare number where no calendar has it. */
struct text text_time(int64_t seconds);

/*
 * Each reads a whole text and returns false, without touching *ret_, where it is
 * anything else: a sign, a space, a trailing character, a number out of range.
 */
bool text_parse_number(const char *text, int64_t min, int64_t max, int64_t *ret_number);

/* "4096", "4K", "1.5M", "412.3 MiB": K, M, G, T, P and KiB are powers of 1024; KB are of 1000. */
bool text_parse_bytes(const char *text, uint64_t *ret_bytes);

/* "5%", "0.25%" or "5": 0 to 100. */
bool text_parse_percent(const char *text, double *ret_percent);

/* How many single changes lead from one word to another; to guess what was meant. */
unsigned text_distance(const char *a, const char *b);

#endif

/* SPDX-License-Identifier: MIT */
/* Sizes, counts, times and modes as a person writes and reads them. */
#include "cli/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#define DISTANCE_MAX 31 /* longer words are never typing mistakes of ours */

static struct text scaled(double bytes, const char *suffix)
{
    static const char units[] = "KMGTPE";
    struct text text;
    size_t unit = 0;
    double value = bytes / 1024;
    /* 1023.95 would print as 1024.0 */
    for (; value >= 1023.95 && units[unit + 1]; unit++)
        value /= 1024;
    snprintf(text.text, sizeof(text.text), "%.1f %ciB%s", value, units[unit], suffix);
    return text;
}

struct text text_bytes(uint64_t bytes)
{
    struct text text;
    if (bytes >= 1024)
        return scaled((double)bytes, "");
    snprintf(text.text, sizeof(text.text), "%u B", (unsigned)bytes);
    return text;
}

struct text text_rate(double bytes)
{
    struct text text;
    if (bytes >= 1024)
        return scaled(bytes, "/s");
    snprintf(text.text, sizeof(text.text), "%.0f B/s", bytes);
    return text;
}

struct text text_count(uint64_t count)
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    struct text text = {""};
    char *at = text.text;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

struct text text_number(int64_t number)
{
    struct text text;
    snprintf(text.text, sizeof(text.text), "%lld", (long long)number);
    return text;
}

struct text text_percent(double percent)
{
    struct text text;
    if (!isfinite(percent))
        strcpy(text.text, "-");
    else
        snprintf(text.text, sizeof(text.text), "%.1f%%", percent);
    return text;
}

struct text text_duration(uint64_t seconds)
{
    struct text text;
    unsigned long long minutes = seconds / 60;
    unsigned rest = (unsigned)(seconds % 60);
    if (minutes < 60)
        snprintf(text.text, sizeof(text.text), "%llu:%02u", minutes, rest);
    else
        snprintf(text.text, sizeof(text.text), "%llu:%02llu:%02u", minutes / 60, minutes % 60,
                 rest);
    return text;
}

static char type_letter(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return '-';
    case S_IFDIR:
        return 'd';
    case S_IFLNK:
        return 'l';
    case S_IFIFO:
        return 'p';
    case S_IFCHR:
        return 'c';
    case S_IFBLK:
        return 'b';
    case S_IFSOCK:
        return 's';
    default:
        return '?';
    }
}

struct text text_mode(uint32_t mode)
{
    struct text text;
    char *at = text.text;
    *at++ = type_letter(mode);
    for (int bit = 8; bit >= 0; bit--)
        *at++ = mode & (1U << bit) ? "xwr"[bit % 3] : '-';
    *at = '\0';
    if (mode & S_ISUID)
        text.text[3] = mode & S_IXUSR ? 's' : 'S';
    if (mode & S_ISGID)
        text.text[6] = mode & S_IXGRP ? 's' : 'S';
    if (mode & S_ISVTX)
        text.text[9] = mode & S_IXOTH ? 't' : 'T';
    return text;
}

struct text text_time(int64_t seconds)
{
    struct text text;
    time_t time = (time_t)seconds;
    struct tm tm;
    if (!localtime_r(&time, &tm) ||
        strftime(text.text, sizeof(text.text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
        return text_number(seconds);
    return text;
}

bool text_parse_number(const char *text, int64_t min, int64_t max, int64_t *ret_number)
{
    bool is_negative = *text == '-';
    int64_t number = 0;
    text += is_negative;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, *text - '0', &number)) /* negative: -2^63 fits too */
            return false;
    }
    if (!is_negative && __builtin_sub_overflow((int64_t)0, number, &number))
        return false;
    if (number < min || number > max)
        return false;
    *ret_number = number;
    return true;
}

/* What "", "B", "K", "KB", "KiB" ... stand for; 0: nothing. */
static uint64_t unit_bytes(const char *unit)
{
    static const char letters[] = "KMGTPE";
    if (!*unit || strcasecmp(unit, "B") == 0)
        return 1;
    const char *letter = strchr(letters, toupper((unsigned char)*unit));
    if (!letter)
        return 0;
    bool is_decimal = strcasecmp(unit + 1, "B") == 0;
    if (unit[1] && !is_decimal && strcasecmp(unit + 1, "iB") != 0)
        return 0;
    uint64_t bytes = 1;
    for (const char *at = letters; at <= letter; at++)
        bytes *= is_decimal ? 1000 : 1024;
    return bytes;
}

/* Reads "12" or "12.5": the whole part, and the rest as a fraction of 1; false: neither. */
static bool parse_decimal(const char **at, uint64_t *ret_whole, double *ret_rest)
{
    if (!isdigit((unsigned char)**at))
        return false;
    *ret_whole = 0;
    *ret_rest = 0;
    for (; isdigit((unsigned char)**at); (*at)++)
        if (__builtin_mul_overflow(*ret_whole, 10, ret_whole) ||
            __builtin_add_overflow(*ret_whole, (uint64_t)(**at - '0'), ret_whole))
            return false;
    if (**at != '.')
        return true;
    (*at)++;
    if (!isdigit((unsigned char)**at))
        return false;
    for (double place = 0.1; isdigit((unsigned char)**at); (*at)++, place /= 10)
        *ret_rest += place * (**at - '0');
    return true;
}

bool text_parse_bytes(const char *text, uint64_t *ret_bytes)
{
    uint64_t whole;
    double rest;
    if (!parse_decimal(&text, &whole, &rest))
        return false;
    if (*text == ' ' && text[1])
        text++;
    uint64_t unit = unit_bytes(text);
    if (unit == 0 || __builtin_mul_overflow(whole, unit, &whole))
        return false;
    return !__builtin_add_overflow(whole, (uint64_t)(rest * (double)unit), ret_bytes);
}

bool text_parse_percent(const char *text, double *ret_percent)
{
    uint64_t whole;
    double rest;
    if (!parse_decimal(&text, &whole, &rest))
        return false;
    text += *text == '%';
    if (*text || (double)whole + rest > 100)
        return false;
    *ret_percent = (double)whole + rest;
    return true;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

unsigned text_distance(const char *a, const char *b)
{
    size_t size_a = strlen(a);
    size_t size_b = strlen(b);
    if (size_a > DISTANCE_MAX || size_b > DISTANCE_MAX)
        return DISTANCE_MAX + 1;
    unsigned row[DISTANCE_MAX + 1];
    for (unsigned j = 0; j <= size_b; j++)
        row[j] = j;
    for (unsigned i = 1; i <= size_a; i++) {
        unsigned corner = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= size_b; j++) {
            unsigned replaced = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            row[j] = least(replaced, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[size_b];
}

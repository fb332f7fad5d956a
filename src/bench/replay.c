/* SPDX-License-Identifier: MIT */
/* Reads a log of reads: a path a line, or the requests of a web server. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"

#define READS_MAX 2000000u

static unsigned hex(char c)
{
    return (unsigned)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
}

/* %41 becomes A, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++)
        if (at[0] == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
            *to++ = (char)(hex(at[1]) << 4 | hex(at[2]));
            at += 2;
        } else {
            *to++ = *at;
        }
    *to = '\0';
}

/* The path of `... "GET /a/b.jpg?x=1 HTTP/1.1" ...`, the whole line where there is no request. */
static char *find_path(char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
    char *request = strstr(line, "\"GET ");
    if (!request)
        request = strstr(line, "\"HEAD ");
    if (!request)
        return line;
    char *path = strchr(request, ' ') + 1;
    path[strcspn(path, " ?#\"")] = '\0';
    unescape(path);
    return path;
}

/* The name in the pack: without "./" and slashes in front. */
static const char *find_name(const char *path)
{
    for (;;)
        if (*path == '/')
            path++;
        else if (path[0] == '.' && path[1] == '/')
            path += 2;
        else
            return path;
}

static int compare_names(const void *name, const void *key)
{
    return strcmp(name, ((const struct bench_key *)key)->name);
}

static int read_lines(struct corpus *corpus, FILE *file, size_t *ret_line_count)
{
    const struct bench_data *data = &corpus->data;
    auto_free char *line = NULL;
    size_t room = 0, capacity = 0;
    while (corpus->data.replay_count < READS_MAX && getline(&line, &room, file) > 0) {
        const char *name = find_name(find_path(line));
        if (!*name)
            continue;
        ++*ret_line_count;
        const struct bench_key *key =
            bsearch(name, data->keys, data->key_count, sizeof(*data->keys), compare_names);
        if (!key)
            continue;
        if (corpus->data.replay_count == capacity) {
            capacity = capacity ? capacity * 2 : 1024;
            uint32_t *grown = reallocarray(corpus->replay, capacity, sizeof(*grown));
            if (!grown)
                return -1;
            corpus->replay = grown;
        }
        corpus->replay[corpus->data.replay_count++] = (uint32_t)(key - data->keys);
    }
    corpus->data.replay = corpus->replay;
    return 0;
}

int replay_read(struct corpus *corpus, const char *path, struct bench_result *result,
                struct sqlpack_error *err)
{
    size_t line_count = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return bench_fail_errno(err, "cannot open '%s'", bench_show(path).text);
    int status = read_lines(corpus, file, &line_count);
    bool is_broken = ferror(file);
    fclose(file);
    if (status < 0)
        return bench_no_memory(err);
    if (is_broken)
        return bench_fail(err, SQLPACK_IO, "cannot read '%s'", bench_show(path).text);
    if (corpus->data.replay_count == 0)
        return bench_fail(err, SQLPACK_INVALID, "cannot replay '%s': it names no file of '%s'",
                          bench_show(path).text, bench_show(corpus->dir).text);
    return bench_note(result, err, "replayed read: %zu of %zu reads in the log are of files here",
                      corpus->data.replay_count, line_count);
}

/* SPDX-License-Identifier: MIT */
/* A file of a benchmark's report: a stream in memory, then a file that appears whole or not. */
#ifndef CMD_BENCH_FILE_H
#define CMD_BENCH_FILE_H

#include <stdio.h>

#include "sqlpack.h"
#include "util/auto.h"

struct bench_file {
    FILE *stream; /* write here */
    char *text;
    size_t size;
};

/* Return 0, or -1 with *err. Publishing ends the stream and replaces an existing file. */
int bench_file_open(struct bench_file *file, struct sqlpack_error *err);
int bench_file_publish(struct bench_file *file, const char *path, struct sqlpack_error *err);
void bench_file_release(struct bench_file *file);

#endif

/* SPDX-License-Identifier: MIT */
/* Writes a file of a benchmark's report whole or not at all. */
#include "cmd/bench_file.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "cli/notice.h"
#include "util/file.h"

int bench_file_open(struct bench_file *file, struct sqlpack_error *err)
{
    *file = (struct bench_file){0};
    file->stream = open_memstream(&file->text, &file->size);
    return file->stream ? 0 : bench_fail_errno(err, "cannot write the report");
}

int bench_file_publish(struct bench_file *file, const char *path, struct sqlpack_error *err)
{
    auto_release(new_file_release) struct new_file target = NEW_FILE_NONE;
    bool is_lost = ferror(file->stream);
    is_lost |= fclose(file->stream) != 0;
    file->stream = NULL;
    errno = ENOMEM; /* what a stream in memory fails for */
    if (is_lost || new_file_open(&target, path) < 0 ||
        file_write(target.fd, file->text, file->size) < 0 ||
        new_file_publish(&target, true, false) < 0)
        return bench_fail_errno(err, "cannot write '%s'", notice_name(path).text);
    return 0;
}

void bench_file_release(struct bench_file *file)
{
    if (file->stream)
        fclose(file->stream);
    free(file->text);
}

/* SPDX-License-Identifier: MIT */
/* Copies of the pack: arms that read cold in turns need a file each, as the cache is per file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/run.h"
#include "util/auto.h"

#define PIECE_BYTES (64 << 20) /* between two looks at whether to stop */

/* How many arms of one case want to read a pack cold. */
static size_t count_readers(const struct bench_result *result)
{
    size_t most = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        size_t readers = 0;
        for (size_t j = 0; question->state == BENCH_COLD && round_has_turns(question) &&
                           j < question->series_count;
             j++)
            readers += bench_opens_pack(&question->series[j]);
        most = readers > most ? readers : most;
    }
    return most;
}

/* A copy elsewhere would be another disk's. */
static bool is_worth_it(const struct corpus *corpus, uint64_t *ret_bytes)
{
    struct stat pack, scratch;
    if (stat(corpus->pack, &pack) < 0 || stat(corpus->data.scratch, &scratch) < 0)
        return false;
    *ret_bytes = (uint64_t)pack.st_size;
    return pack.st_dev == scratch.st_dev && !cache_refuses_cold(corpus->pack);
}

static int copy(const char *from, const char *to, const struct bench_pace *pace,
                struct sqlpack_error *err)
{
    auto_close int source = open(from, O_RDONLY | O_CLOEXEC);
    auto_close int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t got = source < 0 || target < 0 ? -1 : 1;
    while (got > 0) {
        if (bench_tick(pace, err) < 0)
            return -1;
        got = copy_file_range(source, NULL, target, NULL, PIECE_BYTES, 0);
    }
    if (got < 0 || fsync(target) < 0)
        return bench_fail_errno(err, "cannot copy '%s'", bench_show(from).text);
    return 0;
}

/* One more. Where the disk fills meanwhile, it is given up. */
static int add_copy(struct corpus *corpus, const struct scratch *scratch,
                    const struct bench_pace *pace, bool *ret_is_full, struct sqlpack_error *err)
{
    char leaf[32];
    snprintf(leaf, sizeof(leaf), "copy-%zu.db", corpus->data.copy_count + 1);
    auto_free char *path = bench_join(scratch->path, leaf);
    if (!path)
        return bench_no_memory(err);
    int status = copy(corpus->pack, path, pace, err);
    *ret_is_full = status < 0 && (err->os_errno == ENOSPC || err->os_errno == EDQUOT);
    if (*ret_is_full)
        scratch_remove(path);
    if (status < 0)
        return *ret_is_full ? 0 : -1;
    corpus->copies[corpus->data.copy_count++] = path;
    path = NULL;
    return 0;
}

int copies_make(struct corpus *corpus, const struct scratch *scratch,
                const struct bench_result *result, const struct bench_pace *pace,
                struct sqlpack_error *err)
{
    size_t readers = count_readers(result);
    uint64_t bytes = 0;
    struct sqlpack_error no_room;
    bool is_full = false;
    if (readers < 2 || !is_worth_it(corpus, &bytes))
        return 0;
    corpus->data.copies = corpus->copies;
    /* the writes that follow take twice the content at most */
    uint64_t needed = bytes + 2 * result->corpus.bytes;
    while (corpus->data.copy_count + 1 < readers && corpus->data.copy_count < PACK_COPIES_MAX &&
           !is_full && scratch_need(scratch, needed, &no_room) == 0)
        if (add_copy(corpus, scratch, pace, &is_full, err) < 0)
            return -1;
    return 0;
}

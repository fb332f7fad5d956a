/* SPDX-License-Identifier: MIT */
/* Contents that are there more than once: files of the same size are read and compared by digest.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/audit.h"
#include "util/workers.h"

#define TOP_DEFAULT 10
#define PIECE_BYTES ((size_t)256 << 10)

int same_add(struct same *same, const char *name, const struct stat *stat)
{
    if (same->count == same->capacity) {
        size_t capacity = same->capacity ? 2 * same->capacity : 1024;
        struct same_file *files = realloc(same->files, capacity * sizeof(*files));
        if (!files)
            return -1;
        same->files = files;
        same->capacity = capacity;
    }
    same->files[same->count++] = (struct same_file){.size = (uint64_t)stat->st_size,
                                                    .allocated = (uint64_t)stat->st_blocks * 512,
                                                    .name_at = same->names.size};
    return buf_append(&same->names, name, strlen(name) + 1);
}

void same_release(struct same *same)
{
    free(same->files);
    buf_release(&same->names);
}

/* Largest first; of equal size by digest, then as they came. */
static int compare(const void *a, const void *b)
{
    const struct same_file *left = a, *right = b;
    if (left->size != right->size)
        return left->size > right->size ? -1 : 1;
    int order = memcmp(left->digest, right->digest, sizeof(left->digest));
    if (order != 0)
        return order;
    return (left->name_at > right->name_at) - (left->name_at < right->name_at);
}

/* -- reading --------------------------------------------------------------------------------- */

struct comparing {
    struct same *same;
    struct report *report;
    int root_fd;
    atomic_size_t next;
    pthread_mutex_t mutex;
    struct sqlpack_error err;
    bool has_failed;
};

/* Reads a file into its digest. Returns 0, or -1 where it cannot be read. */
static int digest_file(const struct comparing *comparing, struct same_file *file,
                       struct hash_stream *hash, char *piece)
{
    struct stat stat;
    auto_close int fd =
        audit_open(comparing->root_fd, comparing->same->names.data + file->name_at, &stat);
    ssize_t n = fd < 0 ? -1 : 1;
    hash_stream_reset(hash);
    while (n > 0) {
        n = file_read(fd, piece, PIECE_BYTES);
        if (n > 0)
            hash_stream_add(hash, piece, (size_t)n);
    }
    if (n == 0)
        hash_stream_end(hash, file->digest);
    return (int)n;
}

static int work(void *arg)
{
    struct comparing *comparing = arg;
    struct same *same = comparing->same;
    struct sqlpack_error err;
    struct hash_stream *hash = hash_stream_new();
    auto_free char *piece = malloc(PIECE_BYTES);
    int result = hash && piece ? 0 : fail_no_memory(&err);
    while (result == 0 && !comparing->has_failed) {
        size_t i = atomic_fetch_add(&comparing->next, 1);
        if (i >= same->count)
            break;
        struct same_file *file = &same->files[i];
        bool has_peer = (i > 0 && file[-1].size == file->size) ||
                        (i + 1 < same->count && file[1].size == file->size);
        /* one that cannot be read is like no other: its place stands for its digest */
        if (!has_peer || digest_file(comparing, file, hash, piece) < 0)
            memcpy(file->digest, &i, sizeof(i));
        result = report_progress(comparing->report, 0, has_peer ? file->size : 0, &err);
    }
    if (result < 0) {
        pthread_mutex_lock(&comparing->mutex);
        comparing->err = err;
        comparing->has_failed = true;
        pthread_mutex_unlock(&comparing->mutex);
    }
    hash_stream_free(hash);
    return result;
}

/* -- telling --------------------------------------------------------------------------------- */

/* Counts the copies in a run of equal files. */
static int count_run(const struct same *same, size_t first, size_t end, struct top *top,
                     struct sqlpack_audit_result *result)
{
    struct sqlpack_audit_group group = {.name = same->names.data + same->files[first].name_at,
                                        .file_count = end - first};
    for (size_t i = first + 1; i < end; i++) {
        group.content_bytes += same->files[i].size;
        group.allocated_bytes += same->files[i].allocated;
    }
    result->duplicate_count += end - first - 1;
    result->duplicate_content_bytes += group.content_bytes;
    result->duplicate_allocated_bytes += group.allocated_bytes;
    return top_offer(top, &group, group.content_bytes);
}

static int tell(const struct same *same, struct top *top, struct sqlpack_audit_result *result)
{
    for (size_t first = 0, end; first < same->count; first = end) {
        const struct same_file *file = &same->files[first];
        for (end = first + 1; end < same->count; end++)
            if (same->files[end].size != file->size ||
                memcmp(same->files[end].digest, file->digest, sizeof(file->digest)) != 0)
                break;
        if (end - first > 1 && count_run(same, first, end, top, result) < 0)
            return -1;
    }
    return top_take(top, &result->duplicates, &result->duplicate_count_listed);
}

int same_end(struct same *same, int root_fd, const struct sqlpack_audit_options *options,
             struct sqlpack_audit_result *result, struct report *report, struct sqlpack_error *err)
{
    struct comparing comparing = {.same = same, .report = report, .root_fd = root_fd};
    auto_release(top_release) struct top top = {0};
    if (top_init(&top, options->top_count ? options->top_count : TOP_DEFAULT) < 0)
        return fail_no_memory(err);
    if (same->count > 0)
        qsort(same->files, same->count, sizeof(*same->files), compare);
    pthread_mutex_init(&comparing.mutex, NULL);
    workers_run(workers_default(options->jobs), work, &comparing);
    pthread_mutex_destroy(&comparing.mutex);
    if (comparing.has_failed) {
        *err = comparing.err;
        return -1;
    }
    if (same->count > 0)
        qsort(same->files, same->count, sizeof(*same->files), compare);
    return tell(same, &top, result) < 0 ? fail_no_memory(err) : 0;
}

/* SPDX-License-Identifier: MIT */
/* Which files are read to see how well the tree compresses, and the reading of them. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/audit.h"
#include "util/workers.h"

#define SAMPLE_MAX     ((size_t)65536)
#define DEFAULT_SHARE  0.02
#define DEFAULT_LEAST  ((size_t)512)
#define DEFAULT_MOST   ((size_t)4096)
#define DEFAULT_BYTES  ((uint64_t)256 << 20) /* ... that so much is read of */
#define WHOLE_BYTES    ((uint64_t)1 << 20)   /* larger files are read in so many pieces, as long */
#define PIECES         4
#define WEIGHT_AT_ZERO 512.0 /* a row takes space even where its content is tiny */

int audit_open(int root_fd, const char *name, struct stat *ret_stat)
{
    int fd = file_open_quietly(root_fd, name,
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, ret_stat);
    if (fd >= 0 && !S_ISREG(ret_stat->st_mode)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* -- the choice ------------------------------------------------------------------------------ */

static size_t wanted(const struct sqlpack_audit_options *options, uint64_t file_count)
{
    double share = options->sample_percent > 0 ? options->sample_percent / 100 : DEFAULT_SHARE;
    double count = share * (double)file_count;
    size_t most = SAMPLE_MAX;
    if (options->sample_count)
        return options->sample_count < SAMPLE_MAX ? (size_t)options->sample_count : SAMPLE_MAX;
    if (options->sample_percent <= 0) {
        most = DEFAULT_MOST;
        count = count < (double)DEFAULT_LEAST ? (double)DEFAULT_LEAST : count;
    }
    return count >= (double)most ? most : count < 1 ? 1 : (size_t)count;
}

int sampling_init(struct sampling *sampling, const struct sqlpack_audit_options *options)
{
    *sampling = (struct sampling){.limit = wanted(options, UINT64_MAX) + 1};
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++)
        sampling->ratios[i] = 1;
    if (options->level == SQLPACK_STORE)
        return 0;
    sampling->row_stride = 1;
    sampling->rows = malloc(KEPT_ROWS * sizeof(*sampling->rows));
    sampling->heap = malloc(sampling->limit * sizeof(*sampling->heap));
    return sampling->heap && sampling->rows ? 0 : -1;
}

void sampling_release(struct sampling *sampling)
{
    for (size_t i = 0; i < sampling->count; i++)
        free(sampling->heap[i].name);
    free(sampling->heap);
    free(sampling->rows);
}

/* Keeps every second run only. */
static void thin_out(struct sampling *sampling)
{
    for (size_t to = 0, from = 0; from < KEPT_ROWS; to += KEPT_RUN, from += 2 * KEPT_RUN)
        memmove(sampling->rows + to, sampling->rows + from, KEPT_RUN * sizeof(*sampling->rows));
    sampling->row_count = KEPT_ROWS / 2;
    sampling->row_stride *= 2;
}

void sampling_row(struct sampling *sampling, size_t name_bytes, uint64_t size, size_t suffix)
{
    uint64_t run = sampling->rows_met++ / KEPT_RUN;
    if (!sampling->rows || run % sampling->row_stride != 0)
        return;
    if (sampling->row_count == KEPT_ROWS) {
        thin_out(sampling);
        if (run % sampling->row_stride != 0)
            return;
    }
    sampling->rows[sampling->row_count++] = (struct kept_row){
        .size = (float)size,
        .suffix = (uint16_t)suffix,
        .name_bytes = name_bytes < UINT16_MAX ? (uint16_t)name_bytes : UINT16_MAX};
}

static double weight_of(uint64_t size)
{
    return (double)size + WEIGHT_AT_ZERO;
}

/* A number above 0, up to 1, that depends on the name alone: so each run takes the same sample. */
static double random_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
    return ((double)(hash >> 11) + 1) / 9007199254740992.0;
}

static void swap(struct candidate *a, struct candidate *b)
{
    struct candidate other = *a;
    *a = *b;
    *b = other;
}

static void sink(struct candidate *heap, size_t count)
{
    for (size_t at = 0, child = 1; child < count; at = child, child = 2 * at + 1) {
        if (child + 1 < count && heap[child + 1].key > heap[child].key)
            child++;
        if (heap[at].key >= heap[child].key)
            return;
        swap(&heap[at], &heap[child]);
    }
}

static void rise(struct candidate *heap, size_t at)
{
    for (; at > 0 && heap[at].key > heap[(at - 1) / 2].key; at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

/*
 * Priority sampling (Duffield, Lund, Thorup, JACM 54(6), 2007): the files with the
 * smallest random number divided by their size are a sample in proportion to size,
 * taken in one pass. The first key that is not in it tells what each stands for.
 */
int sampling_offer(struct sampling *sampling, const char *name, const struct candidate *file)
{
    double key = random_of(name) / weight_of(file->size);
    bool is_full = sampling->count == sampling->limit;
    sampling->file_count++;
    if (is_full && key >= sampling->heap[0].key)
        return 0;
    char *copy = strdup(name);
    if (!copy)
        return -1;
    struct candidate *slot = &sampling->heap[is_full ? 0 : sampling->count];
    if (is_full)
        free(slot->name);
    *slot = *file;
    slot->key = key;
    slot->name = copy;
    if (is_full)
        sink(sampling->heap, sampling->count);
    else
        rise(sampling->heap, sampling->count++);
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    return (left->key > right->key) - (left->key < right->key);
}

/* How many of the candidates, which are sorted, are read. */
static size_t affordable(const struct sampling *sampling,
                         const struct sqlpack_audit_options *options)
{
    size_t count = wanted(options, sampling->file_count);
    uint64_t bytes = 0;
    if (count > sampling->count)
        count = sampling->count;
    if (options->sample_count || options->sample_percent > 0)
        return count;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = sampling->heap[i].size;
        bytes += size < WHOLE_BYTES ? size : WHOLE_BYTES;
        if (bytes > DEFAULT_BYTES)
            return i > DEFAULT_LEAST ? i : count < DEFAULT_LEAST ? count : DEFAULT_LEAST;
    }
    return count;
}

/* Keeps the sample of the files offered, and tells what each stands for. */
static void draw(struct sampling *sampling, const struct sqlpack_audit_options *options)
{
    qsort(sampling->heap, sampling->count, sizeof(*sampling->heap), compare_keys);
    size_t count = affordable(sampling, options);
    sampling->is_whole = count == sampling->file_count;
    double threshold = sampling->is_whole ? 0 : sampling->heap[count].key;
    for (size_t i = count; i < sampling->count; i++)
        free(sampling->heap[i].name);
    sampling->count = count;
    for (size_t i = 0; i < count; i++) {
        double chance = weight_of(sampling->heap[i].size) * threshold;
        sampling->heap[i].weight = sampling->is_whole || chance >= 1 ? 1 : 1 / chance;
    }
}

/* -- the reading ----------------------------------------------------------------------------- */

struct reading {
    struct sampling *sampling;
    const struct sqlpack_audit_options *options;
    struct report *report;
    int root_fd;
    atomic_size_t next;
    atomic_uint_fast64_t bytes;
    pthread_mutex_t mutex;
    struct sqlpack_error err; /* the first one */
    bool has_failed;
};

struct reader {
    struct codec *codec;
    struct buf content;
    uint32_t raw_room[SQLPACK_PAGE_SIZES], packed_room[SQLPACK_PAGE_SIZES];
};

/* Compresses some bytes of a file. Returns what was read, 0 for nothing. */
static size_t try_piece(struct reader *reader, int fd, uint64_t at, size_t size,
                        uint64_t *stored_bytes)
{
    const void *stream;
    if (buf_reserve(&reader->content, size) < 0)
        return 0;
    ssize_t n = file_pread(fd, reader->content.data, size, (off_t)at);
    if (n <= 0)
        return 0;
    size_t stored = codec_compress(reader->codec, reader->content.data, (size_t)n, &stream);
    *stored_bytes += stored ? stored : (size_t)n;
    return (size_t)n;
}

/* What is read of so many bytes of data: the whole, or the i-th of PIECES parts of it. */
static struct data_run window(uint64_t size, uint64_t i)
{
    if (size <= WHOLE_BYTES)
        return (struct data_run){0, i ? 0 : size};
    uint64_t part = WHOLE_BYTES / PIECES, from = (size - WHOLE_BYTES) / PIECES * i + part * i;
    return (struct data_run){from, from + part};
}

/* Counts what a piece takes, of which a part was read and tells of the whole. */
static void count_piece(struct reader *reader, struct candidate *candidate, uint64_t size,
                        uint64_t read, uint64_t stored)
{
    double share = (double)read / (double)size;
    uint64_t packed = (uint64_t)((double)stored / share);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        candidate->raw_cost[i] +=
            share * piece_cost((uint32_t)512 << i, size, &reader->raw_room[i]);
        candidate->packed_cost[i] +=
            share * piece_cost((uint32_t)512 << i, packed, &reader->packed_room[i]);
    }
}

/* Reads what the windows show of a piece, before which the file has so much data. */
static uint64_t read_piece(struct reader *reader, struct candidate *candidate, int fd,
                           const struct data_run *piece, uint64_t before)
{
    uint64_t size = piece->to - piece->from, read = 0;
    for (uint64_t i = 0; i < PIECES; i++) {
        struct data_run part = window(candidate->size, i);
        uint64_t stored = 0;
        if (part.from < before)
            part.from = before;
        if (part.to > before + size)
            part.to = before + size;
        if (part.from >= part.to)
            continue;
        uint64_t n = try_piece(reader, fd, piece->from + part.from - before,
                               (size_t)(part.to - part.from), &stored);
        if (n > 0 && candidate->is_chunked)
            count_piece(reader, candidate, size, n, stored);
        candidate->stored_bytes += stored;
        read += n;
    }
    return read;
}

/* Reads a file, or parts of it, as pack would compress it. Returns the bytes read. */
static uint64_t read_one(struct reader *reader, struct candidate *candidate, int root_fd)
{
    struct stat stat;
    struct data_run run, piece;
    uint64_t before = 0, read = 0;
    auto_close int fd = audit_open(root_fd, candidate->name, &stat);
    if (fd < 0)
        return 0;
    memset(reader->raw_room, 0, sizeof(reader->raw_room));
    memset(reader->packed_room, 0, sizeof(reader->packed_room));
    int holes_fd = candidate->is_sparse ? fd : -1;
    for (uint64_t at = 0;
         before < candidate->size && run_next(holes_fd, at, candidate->content, &run);
         at = piece.to) {
        piece = candidate->is_chunked ? run_cut(&run) : run;
        read += read_piece(reader, candidate, fd, &piece, before);
        before += piece.to - piece.from;
    }
    if (read == 0)
        return 0;
    double scale = (double)candidate->size / (double)read;
    candidate->is_read = true;
    candidate->stored_bytes = (uint64_t)(scale * (double)candidate->stored_bytes);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        candidate->raw_cost[i] *= scale;
        candidate->packed_cost[i] *= scale;
    }
    return read;
}

static int work(void *arg)
{
    struct reading *reading = arg;
    struct sqlpack_error err;
    int level = reading->options->level;
    struct reader reader = {.codec = codec_new(level ? level : CODEC_LEVEL)};
    int result = reader.codec ? 0 : fail_no_memory(&err);
    while (result == 0 && !reading->has_failed) {
        size_t i = atomic_fetch_add(&reading->next, 1);
        if (i >= reading->sampling->count)
            break;
        uint64_t bytes = read_one(&reader, &reading->sampling->heap[i], reading->root_fd);
        atomic_fetch_add(&reading->bytes, bytes);
        result = report_progress(reading->report, 0, bytes, &err);
    }
    if (result < 0) {
        pthread_mutex_lock(&reading->mutex);
        reading->err = err;
        reading->has_failed = true;
        pthread_mutex_unlock(&reading->mutex);
    }
    codec_free(reader.codec);
    buf_release(&reader.content);
    return result;
}

int sampling_read(struct sampling *sampling, int root_fd,
                  const struct sqlpack_audit_options *options, struct report *report,
                  struct sqlpack_audit_result *result, struct sqlpack_error *err)
{
    struct reading reading = {
        .sampling = sampling, .options = options, .report = report, .root_fd = root_fd};
    draw(sampling, options);
    pthread_mutex_init(&reading.mutex, NULL);
    workers_run(workers_default(options->jobs), work, &reading);
    pthread_mutex_destroy(&reading.mutex);
    if (reading.has_failed)
        *err = reading.err;
    result->sample_bytes = reading.bytes;
    for (size_t i = 0; i < sampling->count; i++)
        result->sample_count += sampling->heap[i].is_read;
    return reading.has_failed ? -1 : 0;
}

/* SPDX-License-Identifier: MIT */
/* Brings a large file into the spool, deflated by all threads that have time. */
#include <errno.h>
#include <stdlib.h>

#include "lib/pack.h"

/* Parts of a file that are on their way at the same time. */
#define PART_COUNT ((size_t)4)
#define PART_BYTES ((size_t)1 << 20)

/* A large file on its way into the spool. */
struct spooling {
    struct packer *packer;
    struct batch *batch;
    struct item *item;
    struct part parts[PART_COUNT]; /* a ring */
    size_t handed_over, collected; /* how many parts so far */
    uint32_t adler;                /* of what the parts were given */
    bool deflates;                 /* one row's content; else it is stored as it is */
    struct buf piece;              /* the piece being gathered, of a file in chunks */
    uint64_t at;                   /* in the file */
    bool is_too_long;              /* more than a row can hold */
};

static int append_to_spool(void *user, const void *data, size_t size)
{
    struct spooling *spooling = user;
    struct spool *spool = &spooling->batch->spool;
    if (spool->size - spooling->item->spool_at + size > ROW_CONTENT_MAX) {
        spooling->is_too_long = true;
        errno = EFBIG;
        return -1;
    }
    return spool_append(spool, data, size);
}

/* -- deflate in parts -- */

bool pack_help(struct packer *packer, struct codec *codec)
{
    struct part *part = packer->parts;
    if (!part)
        return false;
    packer->parts = part->next;
    pthread_mutex_unlock(&packer->turn_mutex);
    int result = codec_deflate_part(codec, part->content.data, part->content.size, part->is_last,
                                    &part->stream);
    pthread_mutex_lock(&packer->turn_mutex);
    part->state = result == 0 ? PART_DONE : PART_FAILED;
    pthread_cond_broadcast(&packer->turn_changed);
    return true;
}

/* Waits for the oldest part, at work meanwhile. Returns 0, or -1 with errno. */
static int await_part(struct spooling *spooling)
{
    struct packer *packer = spooling->packer;
    struct part *part = &spooling->parts[spooling->collected++ % PART_COUNT];
    pthread_mutex_lock(&packer->turn_mutex);
    while (part->state == PART_WAITS)
        if (!pack_help(packer, spooling->batch->codec))
            pthread_cond_wait(&packer->turn_changed, &packer->turn_mutex);
    pthread_mutex_unlock(&packer->turn_mutex);
    errno = ENOMEM;
    return part->state == PART_DONE ? 0 : -1;
}

/* Brings the oldest part into the spool. */
static int collect_part(struct spooling *spooling)
{
    struct part *part = &spooling->parts[spooling->collected % PART_COUNT];
    if (await_part(spooling) < 0 ||
        append_to_spool(spooling, part->stream.data, part->stream.size) < 0)
        return -1;
    part->content.size = part->stream.size = 0;
    return 0;
}

/* Offers the part that was filled to whoever has time, and makes room for the next. */
static int hand_over(struct spooling *spooling, bool is_last)
{
    struct packer *packer = spooling->packer;
    struct part *part = &spooling->parts[spooling->handed_over++ % PART_COUNT];
    part->is_last = is_last;
    part->next = NULL;
    pthread_mutex_lock(&packer->turn_mutex);
    part->state = PART_WAITS;
    struct part **end = &packer->parts;
    while (*end)
        end = &(*end)->next;
    *end = part;
    pthread_cond_broadcast(&packer->turn_changed);
    pthread_mutex_unlock(&packer->turn_mutex);
    return spooling->handed_over - spooling->collected == PART_COUNT ? collect_part(spooling) : 0;
}

static int add_to_parts(struct spooling *spooling, const void *data, size_t size)
{
    spooling->adler = codec_adler(spooling->adler, data, size);
    while (size > 0) {
        struct buf *content = &spooling->parts[spooling->handed_over % PART_COUNT].content;
        size_t room = PART_BYTES - content->size, n = size < room ? size : room;
        if (buf_append(content, data, n) < 0)
            return -1;
        if (content->size == PART_BYTES && hand_over(spooling, false) < 0)
            return -1;
        data = (const char *)data + n;
        size -= n;
    }
    return 0;
}

static int begin_stream(struct spooling *spooling)
{
    spooling->adler = CODEC_ADLER_EMPTY;
    return append_to_spool(spooling, CODEC_STREAM_HEAD, CODEC_STREAM_HEAD_BYTES);
}

static int end_stream(struct spooling *spooling)
{
    unsigned char tail[CODEC_STREAM_TAIL_BYTES];
    int result = hand_over(spooling, true);
    while (result == 0 && spooling->collected < spooling->handed_over)
        result = collect_part(spooling);
    if (result < 0)
        return -1;
    codec_stream_tail(spooling->adler, tail);
    return append_to_spool(spooling, tail, sizeof(tail));
}

/* Forgets all parts; those that another thread has at hand are waited for. */
static void drop_parts(struct spooling *spooling)
{
    while (spooling->collected < spooling->handed_over)
        (void)await_part(spooling);
    for (size_t i = 0; i < PART_COUNT; i++) {
        buf_release(&spooling->parts[i].content);
        buf_release(&spooling->parts[i].stream);
    }
}

/* -- one row -- */

/* Takes content that goes into a row: of files without holes. */
static int write_row_content(void *user, const void *data, size_t size)
{
    struct spooling *spooling = user;
    spooling->at += size;
    return spooling->deflates ? add_to_parts(spooling, data, size)
                              : append_to_spool(spooling, data, size);
}

static int spool_row(struct spooling *spooling, bool deflates, struct sqlpack_error *err)
{
    struct batch *batch = spooling->batch;
    struct item *item = spooling->item;
    spooling->at = 0;
    spooling->deflates = deflates;
    if (deflates && begin_stream(spooling) < 0)
        return fail_errno(err, "cannot pack '%s'", show(item->where.name).text);
    int result = source_stream(&item->where, &batch->source, write_row_content, spooling,
                               &batch->read_problems.report, err);
    if (result == 1 && deflates && end_stream(spooling) < 0)
        result = fail_errno(err, "cannot pack '%s'", show(item->where.name).text);
    drop_parts(spooling);
    return result;
}

/* -- chunks -- */

static struct piece *add_piece(struct batch *batch)
{
    if (batch->piece_count == batch->piece_capacity) {
        size_t capacity = batch->piece_capacity ? 2 * batch->piece_capacity : 64;
        struct piece *pieces = realloc(batch->pieces, capacity * sizeof(*pieces));
        if (!pieces)
            return NULL;
        batch->pieces = pieces;
        batch->piece_capacity = capacity;
    }
    return &batch->pieces[batch->piece_count++];
}

/* Ends the piece that was gathered: compresses it into the spool. */
static int end_piece(struct spooling *spooling)
{
    struct batch *batch = spooling->batch;
    struct buf *content = &spooling->piece;
    if (content->size == 0)
        return 0;
    struct piece *piece = add_piece(batch);
    if (!piece)
        return -1;
    const void *stored = content->data;
    size_t size = codec_compress(batch->codec, content->data, content->size, &stored);
    if (size == 0) {
        stored = content->data;
        size = content->size;
    }
    *piece = (struct piece){.offset = spooling->at - content->size,
                            .len = content->size,
                            .spool_at = batch->spool.size,
                            .stored_bytes = size};
    content->size = 0;
    return spool_append(&batch->spool, stored, size);
}

/* Takes content that goes into chunks; a hole ends a piece. */
static int write_chunk_content(void *user, const void *data, size_t size)
{
    struct spooling *spooling = user;
    if (!data) {
        int result = end_piece(spooling);
        spooling->at += size;
        return result;
    }
    while (size > 0) {
        size_t room = CHUNK_BYTES - spooling->piece.size;
        size_t part = size < room ? size : room;
        if (buf_append(&spooling->piece, data, part) < 0)
            return -1;
        spooling->at += part;
        data = (const char *)data + part;
        size -= part;
        if (spooling->piece.size == CHUNK_BYTES && end_piece(spooling) < 0)
            return -1;
    }
    return 0;
}

static int spool_chunks(struct spooling *spooling, struct sqlpack_error *err)
{
    struct batch *batch = spooling->batch;
    struct item *item = spooling->item;
    spooling->at = 0;
    spooling->is_too_long = false;
    spool_rewind(&batch->spool, item->spool_at);
    item->is_chunked = true;
    item->piece_first = batch->piece_count;
    int result = source_stream(&item->where, &batch->source, write_chunk_content, spooling,
                               &batch->read_problems.report, err);
    if (result == 1 && end_piece(spooling) < 0)
        result = fail_errno(err, "cannot pack '%s'", show(item->where.name).text);
    item->piece_count = batch->piece_count - item->piece_first;
    buf_release(&spooling->piece);
    return result;
}

/* -- which of both -- */

/* Whether a large file is worth the time of deflate: its beginning tells. */
static bool is_compressible(const struct batch *batch, int fd)
{
    size_t size = (size_t)128 << 10;
    auto_free char *start = malloc(size);
    const void *stream;
    ssize_t n = start ? file_pread(fd, start, size, 0) : 0;
    return n > 0 && codec_compress(batch->codec, start, (size_t)n, &stream) > 0;
}

/* Forgets the first attempt at a file, with what it reported. */
static void start_again(struct spooling *spooling, size_t problem_count)
{
    struct kept_problems *problems = &spooling->batch->read_problems;
    while (problems->count > problem_count) {
        problems->count--;
        free(problems->list[problems->count].name);
        free(problems->list[problems->count].what);
    }
    spool_rewind(&spooling->batch->spool, spooling->item->spool_at);
    spooling->is_too_long = false;
}

/*
 * Brings a large file into the spool: as one row's content if that is short
 * enough, deflated if that makes it smaller, else in chunks.
 */
int pack_spool(struct packer *packer, struct batch *batch, struct item *item,
               struct sqlpack_error *err)
{
    struct spooling spooling = {.packer = packer, .batch = batch, .item = item};
    size_t problem_count = batch->read_problems.count;
    item->is_spooled = true;
    item->spool_at = batch->spool.size;
    uint64_t size = (uint64_t)batch->source.stat.st_size;
    bool deflates = packer->level > 0 && is_compressible(batch, batch->source.fd);
    if (batch->source.is_sparse || (!deflates && size > ROW_CONTENT_MAX))
        return spool_chunks(&spooling, err);
    int result = spool_row(&spooling, deflates, err);
    if (result == 1 && deflates && batch->spool.size - item->spool_at >= batch->source.entry.sz) {
        start_again(&spooling, problem_count);
        if (size > ROW_CONTENT_MAX)
            return spool_chunks(&spooling, err);
        result = spool_row(&spooling, false, err);
    }
    if (result < 0 && spooling.is_too_long) {
        start_again(&spooling, problem_count);
        return spool_chunks(&spooling, err);
    }
    item->stored_bytes = batch->spool.size - item->spool_at;
    return result;
}

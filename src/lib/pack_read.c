/* SPDX-License-Identifier: MIT */
/* The part of packing that every thread does by itself: takes names, reads and compresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/pack.h"

/* -- problems that wait for their turn -- */

static void keep(void *user, const struct sqlpack_problem *problem)
{
    struct kept_problems *problems = user;
    if (problems->count == problems->capacity) {
        size_t capacity = problems->capacity ? 2 * problems->capacity : 16;
        struct kept_problem *list = realloc(problems->list, capacity * sizeof(*list));
        if (!list) {
            problems->failed = true;
            return;
        }
        problems->list = list;
        problems->capacity = capacity;
    }
    struct kept_problem kept = {.position = problems->position,
                                .kind = problem->kind,
                                .name = strdup(problem->name),
                                .what = strdup(problem->what),
                                .os_errno = problem->os_errno};
    if (!kept.name || !kept.what) {
        free(kept.name);
        free(kept.what);
        problems->failed = true;
        return;
    }
    problems->list[problems->count++] = kept;
}

void kept_problems_init(struct kept_problems *problems)
{
    problems->hooks = (struct sqlpack_hooks){.problem = keep, .user = problems};
    report_init(&problems->report, &problems->hooks);
}

static void forget_problems(struct kept_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        free(problems->list[i].name);
        free(problems->list[i].what);
    }
    problems->count = problems->told = 0;
}

void kept_problems_release(struct kept_problems *problems)
{
    forget_problems(problems);
    free(problems->list);
    report_release(&problems->report);
}

/* -- the batch -- */

int batch_init(struct batch *batch, const struct packer *packer, struct sqlpack_error *err)
{
    *batch = (struct batch){
        .source = SOURCE_NONE,
        .spool = {.file = NEW_FILE_NONE, .path = packer->path, .is_dry = packer->options->dry_run},
    };
    kept_problems_init(&batch->walk_problems);
    kept_problems_init(&batch->read_problems);
    batch->rows.rows = calloc(BATCH_NAMES, sizeof(*batch->rows.rows));
    return batch->rows.rows ? 0 : fail_no_memory(err);
}

static void forget_items(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        scan_entry_release(&batch->items[i].where);
    batch->count = batch->done = 0;
    forget_problems(&batch->walk_problems);
    forget_problems(&batch->read_problems);
}

void batch_release(struct batch *batch)
{
    forget_items(batch);
    kept_problems_release(&batch->walk_problems);
    kept_problems_release(&batch->read_problems);
    free(batch->rows.rows);
    loader_batch_release(&batch->rows);
    buf_release(&batch->content);
    buf_release(&batch->extras);
    buf_release(&batch->heads);
    free(batch->pieces);
    spool_release(&batch->spool);
    source_release(&batch->source);
}

static int take_names(struct packer *packer, struct batch *batch, struct sqlpack_error *err)
{
    size_t wanted = atomic_load(&packer->batch_names);
    while (batch->count < wanted && !packer->scan_ended) {
        batch->walk_problems.position = batch->count;
        struct item *item = &batch->items[batch->count];
        *item = (struct item){0};
        int result = scan_next(packer->scan, &batch->walk_problems.report, &item->where, err);
        if (result < 0)
            return -1;
        if (result == 0)
            packer->scan_ended = true;
        else
            batch->count++;
    }
    /* the last batch may be empty, but for problems that the walk met in the end */
    return batch->count || batch->walk_problems.count ? 1 : 0;
}

int pack_take(struct packer *packer, struct batch *batch, struct sqlpack_error *err)
{
    forget_items(batch);
    pthread_mutex_lock(&packer->scan_mutex);
    int result = take_names(packer, batch, err);
    if (result > 0)
        batch->ticket = packer->next_ticket++;
    pthread_mutex_unlock(&packer->scan_mutex);
    return result;
}

/* -- small content -- */

/* Puts the stored form of the content, which source_read appended, in its place. */
static void store_content(struct batch *batch, struct item *item)
{
    const struct source *source = &batch->source;
    char *data = batch->content.data + source->content_at;
    const void *stream;
    item->content_at = source->content_at;
    item->stored_bytes = item->entry.sz;
    size_t size = codec_compress(batch->codec, data, item->entry.sz, &stream);
    if (size) {
        memcpy(data, stream, size);
        item->stored_bytes = size;
        batch->content.size = source->content_at + size;
    }
}

static int keep_bytes(struct buf *extras, const void *data, size_t size, size_t *ret_at)
{
    *ret_at = extras->size;
    return buf_append(extras, data, size);
}

/* -- one item -- */

/* Whether the file is known by another name already: then its content is not needed. */
static bool is_known_link(struct packer *packer, const struct stat *stat)
{
    if (!S_ISREG(stat->st_mode) || stat->st_nlink < 2)
        return false;
    pthread_mutex_lock(&packer->links_mutex);
    bool is_known = links_find(packer->links, stat) != NULL;
    pthread_mutex_unlock(&packer->links_mutex);
    return is_known;
}

static bool is_own(const struct packer *packer, const struct stat *stat)
{
    for (int i = 0; i < 2; i++)
        if (packer->own[i].st_ino && packer->own[i].st_ino == stat->st_ino &&
            packer->own[i].st_dev == stat->st_dev)
            return true;
    return false;
}

static int read_content(struct packer *packer, struct batch *batch, struct item *item,
                        struct sqlpack_error *err)
{
    struct source *source = &batch->source;
    int result = 1;
    if (source->fd >= 0 && !is_known_link(packer, &source->stat)) {
        result = pack_spool(packer, batch, item, err);
        if (item->is_chunked && source->entry.sz == 0)
            item->is_chunked = false; /* it shrank to nothing: an ordinary empty file */
    }
    const struct sqlpack_entry *entry = &source->entry;
    item->entry.sz = entry->sz;
    item->entry.has_digest = entry->has_digest;
    memcpy(item->entry.digest, entry->digest, sizeof(entry->digest));
    if (result == 1 && source->fd < 0 && S_ISREG(entry->mode))
        store_content(batch, item);
    return result;
}

static int read_item(struct packer *packer, struct batch *batch, size_t i,
                     struct sqlpack_error *err)
{
    struct item *item = &batch->items[i];
    struct source *source = &batch->source;
    batch->read_problems.position = i;
    source->content = &batch->content;
    int result = source_read(&item->where, &packer->source_options, source,
                             &batch->read_problems.report, err);
    item->is_too_large = source->is_too_large;
    if (result != 1)
        return result;
    if (is_own(packer, &source->stat)) {
        report_problem(&batch->read_problems.report,
                       &(struct sqlpack_problem){.kind = SQLPACK_NOTE,
                                                 .name = item->where.name,
                                                 .what = "is the pack itself, left out"});
        batch->content.size = source->content_at;
        return 0;
    }
    item->entry = source->entry;
    item->stat = source->stat;
    result = read_content(packer, batch, item, err);
    if (result != 1)
        return result;
    if (keep_bytes(&batch->extras, source->xattr.data, source->entry.xattr_bytes, &item->xattr_at) <
            0 ||
        (source->entry.target && keep_bytes(&batch->extras, source->entry.target,
                                            source->entry.sz + 1, &item->target_at) < 0))
        return fail_no_memory(err);
    item->is_read = true;
    return 0;
}

/* Forgets the content of the items placed so far; large buffers are given back. */
static void empty_buffers(struct batch *batch)
{
    batch->content.size = batch->extras.size = batch->heads.size = 0;
    batch->piece_count = 0;
    spool_rewind(&batch->spool, 0);
    if (batch->content.capacity > 4 * BATCH_BYTES)
        buf_release(&batch->content);
}

int pack_read(struct packer *packer, struct batch *batch, size_t *ret_end,
              struct sqlpack_error *err)
{
    empty_buffers(batch);
    size_t end = batch->part = batch->done;
    while (end < batch->count && batch->content.size < BATCH_BYTES && batch->spool.size == 0 &&
           batch->piece_count == 0) {
        if (read_item(packer, batch, end, err) < 0)
            return -1;
        end++;
    }
    if (spool_flush(&batch->spool) < 0)
        return fail_errno(err, "cannot write beside '%s'", show(packer->path).text);
    if (batch->walk_problems.failed || batch->read_problems.failed)
        return fail_no_memory(err);
    *ret_end = end;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* The threads of packing: who reads, who places, and who waits for whom. */
#include <stdlib.h>

#include "lib/pack.h"
#include "util/workers.h"

/*
 * A batch is read by the thread that took its names, and placed in its turn by
 * whichever thread comes by then; so a thread that has read one goes on to the
 * next, as long as there is a free batch. Two a thread make up for batches that
 * take longer than others.
 */
#define BATCHES_A_THREAD 2

/* With turn_mutex held: waits for a change, at work on a part of a large file if there is one. */
static void wait_for_change(struct packer *packer, struct codec *codec)
{
    if (!pack_help(packer, codec))
        pthread_cond_wait(&packer->turn_changed, &packer->turn_mutex);
}

/* Remembers the first error; the other threads stop when they see it. */
static int stop_all(struct packer *packer, const struct sqlpack_error *err)
{
    pthread_mutex_lock(&packer->turn_mutex);
    if (!packer->failed)
        packer->err = *err;
    packer->failed = true;
    pthread_cond_broadcast(&packer->turn_changed);
    pthread_mutex_unlock(&packer->turn_mutex);
    return -1;
}

/* A batch that nobody needs; NULL when the run has failed. */
static struct batch *take_free(struct packer *packer, struct codec *codec)
{
    pthread_mutex_lock(&packer->turn_mutex);
    while (!packer->free && !packer->failed)
        wait_for_change(packer, codec);
    struct batch *batch = packer->failed ? NULL : packer->free;
    if (batch) {
        packer->free = batch->next;
        batch->codec = codec;
    }
    pthread_mutex_unlock(&packer->turn_mutex);
    return batch;
}

static void give_back(struct packer *packer, struct batch *batch)
{
    pthread_mutex_lock(&packer->turn_mutex);
    batch->next = packer->free;
    packer->free = batch;
    pthread_cond_broadcast(&packer->turn_changed);
    pthread_mutex_unlock(&packer->turn_mutex);
}

/* The next batches shall have as many names as bring the usual amount of content. */
static void suggest_names(struct packer *packer, size_t count, uint64_t bytes)
{
    size_t now = atomic_load(&packer->batch_names);
    uint64_t mean = bytes / (count ? count : 1) + 1;
    size_t wish = BATCH_BYTES / mean > BATCH_NAMES ? BATCH_NAMES : (size_t)(BATCH_BYTES / mean);
    size_t next = (3 * now + wish) / 4;
    atomic_store(&packer->batch_names, next ? next : 1);
}

/* Writes the pages of a part that is placed, and reports it. */
static int write_placed(struct packer *packer, struct batch *batch, struct sqlpack_error *err)
{
    if (loader_write(packer->loader, &batch->rows, err) < 0)
        return -1;
    uint64_t bytes = 0;
    for (size_t i = batch->part; i < batch->done; i++)
        bytes += batch->items[i].entry.sz;
    suggest_names(packer, batch->done - batch->part, bytes);
    return report_progress(&packer->report, batch->done - batch->part, bytes, err);
}

/* Places a part of a batch of large files, which its own thread must do before it reads on. */
static int place_part(struct packer *packer, struct batch *batch, size_t end,
                      struct sqlpack_error *err)
{
    pthread_mutex_lock(&packer->turn_mutex);
    while ((packer->turn != batch->ticket || packer->is_placing) && !packer->failed)
        wait_for_change(packer, batch->codec);
    if (packer->failed)
        *err = packer->err;
    int result = packer->failed ? -1 : 0;
    pthread_mutex_unlock(&packer->turn_mutex);
    /* until the batch is handed in, it is nobody else's turn */
    if (result == 0)
        result = pack_place(packer, batch, end, err);
    return result < 0 ? -1 : write_placed(packer, batch, err);
}

/*
 * Hands in a batch that is read, and places it and those behind it whose turn has
 * come, unless another thread is at that: then it will come to this one. Gives
 * what was placed here as a list.
 */
static int hand_in(struct packer *packer, struct batch *batch, struct batch **ret_placed,
                   struct sqlpack_error *err)
{
    struct batch **end = ret_placed;
    int result = 0;
    *ret_placed = NULL;
    pthread_mutex_lock(&packer->turn_mutex);
    packer->ready[batch->ticket % packer->batch_count] = batch;
    bool places = !packer->is_placing;
    packer->is_placing = true;
    while (places && result == 0 && !packer->failed) {
        struct batch **next = &packer->ready[packer->turn % packer->batch_count];
        if (!*next)
            break;
        *end = *next;
        *next = NULL;
        pthread_mutex_unlock(&packer->turn_mutex);
        (*end)->next = NULL;
        result = pack_place(packer, *end, (*end)->count, err);
        end = &(*end)->next;
        pthread_mutex_lock(&packer->turn_mutex);
        packer->turn++;
    }
    if (places)
        packer->is_placing = false;
    pthread_cond_broadcast(&packer->turn_changed);
    pthread_mutex_unlock(&packer->turn_mutex);
    return result;
}

static int run_batch(struct packer *packer, struct batch *batch, struct sqlpack_error *err)
{
    struct batch *placed, *next;
    for (;;) {
        size_t end;
        if (pack_read(packer, batch, &end, err) < 0)
            return -1;
        if (end == batch->count)
            break;
        if (place_part(packer, batch, end, err) < 0)
            return -1;
    }
    if (hand_in(packer, batch, &placed, err) < 0)
        return -1;
    for (; placed; placed = next) {
        next = placed->next;
        if (write_placed(packer, placed, err) < 0)
            return -1;
        give_back(packer, placed);
    }
    return 0;
}

/* When no names are left, parts of large files may be. */
static void help_until_end(struct packer *packer, struct codec *codec)
{
    pthread_mutex_lock(&packer->scan_mutex);
    uint64_t end = packer->next_ticket; /* the walk is over, so no more are given */
    pthread_mutex_unlock(&packer->scan_mutex);
    pthread_mutex_lock(&packer->turn_mutex);
    while (packer->turn != end && !packer->failed)
        wait_for_change(packer, codec);
    pthread_mutex_unlock(&packer->turn_mutex);
}

static int work(void *user)
{
    struct packer *packer = user;
    struct sqlpack_error err;
    struct batch *batch;
    struct codec *codec = codec_new(packer->level);
    int result = codec ? 0 : fail_no_memory(&err);
    while (result == 0 && (batch = take_free(packer, codec)) != NULL) {
        result = pack_take(packer, batch, &err);
        if (result > 0) {
            result = run_batch(packer, batch, &err);
        } else {
            give_back(packer, batch);
            break;
        }
    }
    if (result == 0)
        help_until_end(packer, codec);
    codec_free(codec);
    return result < 0 ? stop_all(packer, &err) : 0;
}

static int make_batches(struct packer *packer, unsigned jobs, struct sqlpack_error *err)
{
    size_t count = jobs > 1 ? (size_t)BATCHES_A_THREAD * jobs : 1;
    packer->batches = calloc(count, sizeof(struct batch));
    packer->ready = calloc(count, sizeof(struct batch *));
    if (!packer->batches || !packer->ready)
        return fail_no_memory(err);
    for (; packer->batch_count < count; packer->batch_count++) {
        struct batch *batch = &packer->batches[packer->batch_count];
        if (batch_init(batch, packer, err) < 0) {
            batch_release(batch);
            return -1;
        }
        batch->next = packer->free;
        packer->free = batch;
    }
    return 0;
}

int pack_entries(struct packer *packer, struct sqlpack_error *err)
{
    unsigned jobs = workers_default(packer->options->jobs);
    int result = make_batches(packer, jobs, err);
    if (result == 0 && (workers_run(jobs, work, packer) < 0 || packer->failed)) {
        *err = packer->err;
        result = -1;
    }
    for (size_t i = 0; i < packer->batch_count; i++)
        batch_release(&packer->batches[i]);
    free(packer->batches);
    free(packer->ready);
    return result;
}

/* SPDX-License-Identifier: MIT */
/* Reads a whole tree with several threads and hands its entries on in order. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/internal.h"
#include "util/workers.h"

/* What one thread reads at a time, with content and without. The last two bound what deep trees
 * hold: descriptors, names. */
#define BATCH_CONTENTS 64
#define BATCH_ENTRIES  256
#define BATCH_FOLDERS  4
#define BATCH_NAMES    ((size_t)64 << 10)

/* One entry of a batch; xattr and target are in batch.bytes until the batch is handed on. */
struct slot {
    struct scan_entry where;
    struct survey_entry found;
    size_t xattr_at, target_at;
};

struct batch {
    struct slot slots[BATCH_ENTRIES];
    size_t count;
    struct buf bytes;
    uint64_t content_bytes;
    bool is_read;
};

/*
 * The batches are filled by the walk, read and handed on in the order of their
 * numbers. Whichever thread is free takes the next of these three steps; the
 * first and the last are done by one thread at a time.
 */
struct reading {
    const struct survey_options *options;
    struct report *report, walk_report;
    struct sqlpack_hooks walk_hooks;
    struct scan *scan;
    struct links *links;
    struct batch *batches;
    uint64_t batch_count;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t filled, handed; /* how many batches were */
    bool is_filling, is_handing, is_at_end, has_failed;
    struct sqlpack_error err; /* the first one */
};

/* -- reading: by many threads --------------------------------------------------------------- */

/* What a thread keeps from one entry to the next. */
struct surveyor {
    struct reading *reading;
    struct source source;
    struct buf content;
    bool is_cancelled;
    struct sqlpack_error err;
};

static bool is_ignored(const struct reading *reading, const struct stat *stat)
{
    const struct stat *ignored = reading->options->ignored;
    return ignored && stat->st_dev == ignored->st_dev && stat->st_ino == ignored->st_ino;
}

/* Whether it can be seen before the file is read that it is the one to be ignored. */
static bool is_ignored_name(const struct reading *reading, const struct scan_entry *where)
{
    const char *leaf = reading->options->ignored_leaf;
    struct stat stat;
    return leaf && strcmp(leaf, where->leaf) == 0 &&
           fstatat(where->folder->fd, where->leaf, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_ignored(reading, &stat);
}

static int tell_progress(void *user, const void *data, size_t size)
{
    (void)data;
    struct surveyor *surveyor = user;
    if (report_progress(surveyor->reading->report, 0, size, &surveyor->err) == 0)
        return 0;
    surveyor->is_cancelled = true;
    errno = ECANCELED;
    return -1;
}

/* Reads what `where` names. Returns as source_read. */
static int read_source(struct surveyor *surveyor, const struct scan_entry *where, uint64_t *bytes,
                       struct sqlpack_error *err)
{
    const struct reading *reading = surveyor->reading;
    const struct survey_options *options = reading->options;
    struct source_options how = {
        .no_xattrs = options->no_xattrs,
        .no_content = options->no_content || (options->wants_content &&
                                              !options->wants_content(options->user, where->name)),
        .max_file_bytes = options->max_file_bytes,
        .quiet_before_ns = options->quiet_before_ns,
    };
    surveyor->content.size = 0;
    surveyor->source.content = &surveyor->content;
    int result = source_read(where, &how, &surveyor->source, reading->report, err);
    if (result != 1)
        return result;
    *bytes += surveyor->content.size;
    if (surveyor->source.fd < 0 || is_ignored(reading, &surveyor->source.stat))
        return 1;
    result = source_stream(where, &surveyor->source, tell_progress, surveyor, reading->report, err);
    if (surveyor->is_cancelled)
        *err = surveyor->err;
    return result;
}

static int keep_slot(struct batch *batch, struct slot *slot, const struct source *source)
{
    slot->found.entry = source->entry;
    slot->found.stat = source->stat;
    slot->found.is_sparse = source->is_sparse;
    slot->found.state = SURVEY_READ;
    slot->xattr_at = batch->bytes.size;
    if (buf_append(&batch->bytes, source->entry.xattr, source->entry.xattr_bytes) < 0)
        return -1;
    slot->target_at = batch->bytes.size;
    const char *target = source->entry.target;
    return target ? buf_append(&batch->bytes, target, strlen(target) + 1) : 0;
}

/* What is known of an entry that was left out. */
static void found_nothing(const struct surveyor *surveyor, struct slot *slot)
{
    slot->found.state = slot->where.type == DT_SOCK ? SURVEY_SOCKET : SURVEY_UNREADABLE;
    if (!surveyor->source.is_too_large)
        return;
    slot->found.entry = surveyor->source.entry;
    slot->found.stat = surveyor->source.stat;
    slot->found.state = SURVEY_TOO_LARGE;
}

static int read_slot(struct surveyor *surveyor, struct batch *batch, struct slot *slot,
                     struct sqlpack_error *err)
{
    slot->found = (struct survey_entry){.entry.name = slot->where.name};
    if (slot->where.type == DT_REG && is_ignored_name(surveyor->reading, &slot->where)) {
        slot->found.state = SURVEY_IGNORED;
        return 0;
    }
    int result = read_source(surveyor, &slot->where, &batch->content_bytes, err);
    folder_drop(slot->where.folder);
    slot->where.folder = NULL;
    if (result < 0)
        return -1;
    if (result == 0) {
        found_nothing(surveyor, slot);
        return 0;
    }
    if (is_ignored(surveyor->reading, &surveyor->source.stat))
        slot->found.state = SURVEY_IGNORED;
    else if (keep_slot(batch, slot, &surveyor->source) < 0)
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    return 0;
}

/* Lets the slots point to what lies in the batch, which moves no more. */
static void point_into(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct slot *slot = &batch->slots[i];
        struct sqlpack_entry *entry = &slot->found.entry;
        entry->name = slot->where.name;
        if (entry->xattr)
            entry->xattr = batch->bytes.data + slot->xattr_at;
        if (entry->target)
            entry->target = batch->bytes.data + slot->target_at;
    }
}

static int read_batch(struct surveyor *surveyor, struct batch *batch, struct sqlpack_error *err)
{
    for (size_t i = 0; i < batch->count; i++)
        if (read_slot(surveyor, batch, &batch->slots[i], err) < 0)
            return -1;
    point_into(batch);
    return report_progress(surveyor->reading->report, batch->count, batch->content_bytes, err);
}

/* -- filling: the walk ------------------------------------------------------------------------ */

static void empty_batch(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        scan_entry_release(&batch->slots[i].where);
    batch->count = 0;
    batch->bytes.size = 0;
    batch->content_bytes = 0;
    batch->is_read = false;
}

/* Fills a batch with the next names. Returns 1, 0 at the end of the tree, -1. */
static int fill_batch(struct reading *reading, struct batch *batch, struct sqlpack_error *err)
{
    size_t folders = 0, names = 0;
    const struct folder *last = NULL;
    size_t most = reading->options->no_content ? BATCH_ENTRIES : BATCH_CONTENTS;
    while (batch->count < most && folders < BATCH_FOLDERS && names < BATCH_NAMES) {
        struct scan_entry *where = &batch->slots[batch->count].where;
        int result = scan_next(reading->scan, &reading->walk_report, where, err);
        if (result <= 0)
            return result;
        batch->count++;
        names += strlen(where->name);
        folders += where->folder != last;
        last = where->folder;
    }
    return 1;
}

/* -- handing on, in order -----------------------------------------------------------------------
 */

/* Makes the entry a further name of a file where it is one. */
static int join_group(struct reading *reading, struct survey_entry *found,
                      struct sqlpack_error *err)
{
    struct sqlpack_entry *entry = &found->entry;
    if (!S_ISREG(entry->mode) || found->stat.st_nlink < 2)
        return 0;
    const struct link_group *group = links_find(reading->links, &found->stat);
    if (group) {
        entry->link = group->id;
        entry->target = group->name;
        entry->has_digest = group->has_digest;
        memcpy(entry->digest, group->digest, SQLPACK_DIGEST_BYTES);
        return 1;
    }
    struct link_group first = {
        .id = entry->id, .name = (char *)(uintptr_t)entry->name, .has_digest = entry->has_digest};
    memcpy(first.digest, entry->digest, SQLPACK_DIGEST_BYTES);
    if (links_add(reading->links, &found->stat, &first) < 0)
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    return 0;
}

static int hand_batch(struct reading *reading, struct batch *batch, struct sqlpack_error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct survey_entry *found = &batch->slots[i].found;
        found->entry.id = (int64_t)(reading->handed * BATCH_ENTRIES + i);
        int joined = found->state == SURVEY_READ ? join_group(reading, found, err) : 0;
        if (joined < 0 || reading->options->each(reading->options->user, found, err) < 0)
            return -1;
        if (joined)
            links_met(reading->links, &found->stat);
    }
    return 0;
}

/* -- the threads ----------------------------------------------------------------------------------
 */

static void note_failure(struct reading *reading, const struct sqlpack_error *err)
{
    if (!reading->has_failed)
        reading->err = *err;
    reading->has_failed = true;
}

/* The steps are called with the mutex held and give it up for their work. */
static void step_hand(struct reading *reading)
{
    struct batch *batch = &reading->batches[reading->handed % reading->batch_count];
    struct sqlpack_error err;
    reading->is_handing = true;
    pthread_mutex_unlock(&reading->mutex);
    int result = hand_batch(reading, batch, &err);
    empty_batch(batch);
    pthread_mutex_lock(&reading->mutex);
    reading->is_handing = false;
    reading->handed++;
    if (result < 0)
        note_failure(reading, &err);
}

static void step_fill_and_read(struct reading *reading, struct surveyor *surveyor)
{
    struct batch *batch = &reading->batches[reading->filled % reading->batch_count];
    struct sqlpack_error err;
    reading->is_filling = true;
    pthread_mutex_unlock(&reading->mutex);
    int result = fill_batch(reading, batch, &err);
    pthread_mutex_lock(&reading->mutex);
    reading->is_filling = false;
    reading->is_at_end = result == 0;
    if (result < 0)
        note_failure(reading, &err);
    if (result < 0 || batch->count == 0)
        return;
    reading->filled++;
    pthread_cond_broadcast(&reading->changed);
    pthread_mutex_unlock(&reading->mutex);
    result = read_batch(surveyor, batch, &err);
    pthread_mutex_lock(&reading->mutex);
    batch->is_read = true;
    if (result < 0)
        note_failure(reading, &err);
}

static bool can_hand(const struct reading *reading)
{
    return !reading->is_handing && reading->handed < reading->filled &&
           reading->batches[reading->handed % reading->batch_count].is_read;
}

static bool can_fill(const struct reading *reading)
{
    return !reading->is_filling && !reading->is_at_end &&
           reading->filled - reading->handed < reading->batch_count;
}

static int work(void *arg)
{
    struct reading *reading = arg;
    struct surveyor surveyor = {.reading = reading, .source = SOURCE_NONE};
    pthread_mutex_lock(&reading->mutex);
    while (!reading->has_failed && !(reading->is_at_end && reading->handed == reading->filled)) {
        if (can_hand(reading))
            step_hand(reading);
        else if (can_fill(reading))
            step_fill_and_read(reading, &surveyor);
        else {
            pthread_cond_wait(&reading->changed, &reading->mutex);
            continue;
        }
        pthread_cond_broadcast(&reading->changed);
    }
    pthread_mutex_unlock(&reading->mutex);
    source_release(&surveyor.source);
    buf_release(&surveyor.content);
    return 0;
}

/* A folder that the walk could not read: what lies below it is unknown. */
static void walk_problem(void *user, const struct sqlpack_problem *problem)
{
    const struct reading *reading = user;
    if (problem->kind == SQLPACK_LOSS && reading->options->unreadable)
        reading->options->unreadable(reading->options->user, problem->name);
    report_problem(reading->report, problem);
}

static int run(struct reading *reading, unsigned jobs, struct sqlpack_error *err)
{
    reading->batch_count = jobs + 2;
    reading->batches = calloc(reading->batch_count, sizeof(*reading->batches));
    reading->links = links_new();
    if (!reading->batches || !reading->links)
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    workers_run(jobs, work, reading);
    if (reading->has_failed)
        *err = reading->err;
    return reading->has_failed ? -1 : 0;
}

int survey_run(const char *dir, const struct survey_options *options, struct report *report,
               struct sqlpack_error *err)
{
    static const struct scan_options everything = {0};
    struct reading reading = {.options = options, .report = report};
    reading.walk_hooks = (struct sqlpack_hooks){.problem = walk_problem, .user = &reading};
    if (scan_open(dir, options->scan ? options->scan : &everything, &reading.scan, err) < 0)
        return -1;
    report_init(&reading.walk_report, &reading.walk_hooks);
    pthread_mutex_init(&reading.mutex, NULL);
    pthread_cond_init(&reading.changed, NULL);
    int result = run(&reading, workers_default(options->jobs), err);
    for (uint64_t i = 0; reading.batches && i < reading.batch_count; i++) {
        empty_batch(&reading.batches[i]);
        buf_release(&reading.batches[i].bytes);
    }
    free(reading.batches);
    links_free(reading.links);
    scan_close(reading.scan);
    report_release(&reading.walk_report);
    pthread_mutex_destroy(&reading.mutex);
    pthread_cond_destroy(&reading.changed);
    return result;
}

/* SPDX-License-Identifier: MIT */
/* Walks over the rows of a pack with several threads and makes the entry of each. */
#include <errno.h>
#include <string.h>

#include "lib/restore.h"

/* How much a thread does before it reports. */
#define REPORT_ENTRIES 64
#define REPORT_BYTES   ((uint64_t)4 << 20)

/* Rows of a listed range at most. */
#define BATCH_ROWS 256

/* -- who does what ------------------------------------------------------------------------- */

static void skip_row(void *user, const char *name, const char *why)
{
    struct run *run = user;
    policy_loss(&run->policy, name, 0, "%s", why);
}

/* A selected name that leads to nothing. */
static void tell_missing(struct run *run, const char *name)
{
    if (run->pass == PASS_FILES)
        policy_loss(&run->policy, name, 0, "is not in the pack");
}

/* Opens the list of the next selected name. Returns 1, 0 where there is none, -1. */
static int open_list(struct run *run, struct sqlpack_error *err)
{
    while (run->next_name < run->selection.count) {
        const char *name = run->selection.names[run->next_name++];
        const struct sqlpack_list_options options = {
            .below = name,
            .names_only = true,
            .skipped = run->pass == PASS_FILES ? skip_row : NULL,
            .user = run,
        };
        if (!path_is_safe(name, strlen(name))) {
            tell_missing(run, name);
            continue;
        }
        if (sqlpack_list_open(run->pack, &options, &run->list, err) == 0)
            return 1;
        if (err->status != SQLPACK_NOT_FOUND)
            return -1;
        tell_missing(run, name);
    }
    return 0;
}

/* The next entry of the open list. Returns 1, 0 at its end, -1. */
static int next_of_list(struct run *run, int64_t *ret_id, struct sqlpack_error *err)
{
    struct sqlpack_entry entry;
    int more = run->list ? sqlpack_list_next(run->list, &entry, err) : 0;
    if (more > 0)
        *ret_id = entry.id;
    if (more >= 0 || err->status != SQLPACK_NOT_FOUND)
        return more;
    tell_missing(run, run->selection.names[run->next_name - 1]);
    return 0;
}

/* The id of the next selected entry. Returns 1, 0 at the end, -1. */
static int next_id(struct run *run, int64_t *ret_id, struct sqlpack_error *err)
{
    if (run->pushed_back) {
        *ret_id = run->pushed_back;
        run->pushed_back = 0;
        return 1;
    }
    for (;;) {
        int more = next_of_list(run, ret_id, err);
        if (more != 0)
            return more;
        sqlpack_list_close(run->list);
        run->list = NULL;
        more = open_list(run, err);
        if (more <= 0)
            return more;
    }
}

/* Ids in a row that the list gives one after the other. */
static int next_listed(struct run *run, struct id_range *ret_range, struct sqlpack_error *err)
{
    int64_t id;
    int more = next_id(run, &id, err);
    if (more <= 0)
        return more;
    *ret_range = (struct id_range){.first = id, .last = id};
    for (int i = 1; i < BATCH_ROWS; i++) {
        more = next_id(run, &id, err);
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        if (id != ret_range->last + 1) {
            run->pushed_back = id;
            break;
        }
        ret_range->last = id;
    }
    return 1;
}

/* The next range of rows to restore. Returns 1, 0 at the end, -1. */
static int next_range(struct run *run, struct id_range *ret_range, struct sqlpack_error *err)
{
    pthread_mutex_lock(&run->mutex);
    int more = 0;
    if (run->selection.names)
        more = next_listed(run, ret_range, err);
    else if (run->next_range < run->range_count) {
        *ret_range = run->ranges[run->next_range++];
        more = 1;
    }
    pthread_mutex_unlock(&run->mutex);
    return more;
}

/* -- progress ------------------------------------------------------------------------------ */

static int report_now(struct worker *worker, struct sqlpack_error *err)
{
    uint64_t entries = worker->new_entries, bytes = worker->new_bytes;
    worker->new_entries = 0;
    worker->new_bytes = 0;
    return report_progress(&worker->run->report, entries, bytes, err);
}

static int report_some(struct worker *worker, struct sqlpack_error *err)
{
    if (worker->new_entries < REPORT_ENTRIES && worker->new_bytes < REPORT_BYTES)
        return 0;
    return report_now(worker, err);
}

/* The content of a row on its way to the file. */
struct feed {
    struct worker *worker;
    const struct reader_row *row;
    int (*write)(void *sink, const void *data, size_t size);
    void *sink;
    bool is_stopped;
    struct sqlpack_error err; /* why */
};

static int feed_write(void *user, const void *data, size_t size)
{
    struct feed *feed = user;
    feed->worker->new_bytes += size;
    if (report_some(feed->worker, &feed->err) < 0) {
        feed->is_stopped = true;
        errno = ECANCELED;
        return -1;
    }
    return feed->write(feed->sink, data, size);
}

static int feed_give(void *user, int (*write)(void *sink, const void *data, size_t size),
                     void *sink, struct sqlpack_error *err)
{
    struct feed *feed = user;
    feed->write = write;
    feed->sink = sink;
    if (reader_content(feed->worker->pack, feed->row, feed_write, feed, err) == 0)
        return 0;
    if (feed->is_stopped)
        *err = feed->err;
    return -1;
}

/* -- one row ------------------------------------------------------------------------------- */

/* A folder on the way could not be entered or made. */
static int fail_folder(struct worker *worker, const char *name, struct sqlpack_error *err)
{
    if (make_is_fatal(errno))
        return fail_errno(err, "cannot create the folder of '%s'", show(name).text);
    if (errno == ENOTDIR || errno == ELOOP)
        policy_loss(&worker->run->policy, name, 0, "something that is no folder is in its way");
    else
        policy_loss(&worker->run->policy, name, errno, "its folder cannot be entered");
    return MADE_NOT;
}

static int count_content(struct worker *worker, const struct sqlpack_entry *entry,
                         struct sqlpack_error *err)
{
    struct run *run = worker->run;
    uint64_t limit = run->options->total_bytes;
    uint64_t before = atomic_fetch_add(&run->total_bytes, entry->sz);
    if (limit && (before > limit || entry->sz > limit - before))
        return fail(err, SQLPACK_INVALID,
                    "cannot unpack '%s': its content is more than the %llu bytes allowed",
                    show(run->path).text, (unsigned long long)limit);
    return 0;
}

/* `row` is where its content is. */
static int restore_file(struct worker *worker, const struct sqlpack_entry *entry,
                        const struct reader_row *row, struct sqlpack_error *err)
{
    struct feed feed = {.worker = worker, .row = row};
    const struct content content = {.give = feed_give, .user = &feed};
    const char *leaf;
    if (count_content(worker, entry, err) < 0)
        return -1;
    int folder = place_of(&worker->place, entry->name, true, &leaf);
    if (folder < 0)
        return fail_folder(worker, entry->name, err);
    int made = make_file(&worker->run->policy, folder, leaf, entry, &content, err);
    if (made == MADE)
        worker->result.content_bytes += entry->sz;
    return made;
}

/* What a special file is, and whether it is to be made. */
static bool is_special_wanted(struct worker *worker, const struct sqlpack_entry *entry)
{
    const struct sqlpack_unpack_options *options = worker->run->options;
    if (options->specials && (S_ISFIFO(entry->mode) || !options->untrusted))
        return true;
    worker->result.left_out_count++;
    policy_loss(&worker->run->policy, entry->name, 0,
                S_ISFIFO(entry->mode) ? "is a FIFO and left out" : "is a device node and left out");
    return false;
}

static int restore_special(struct worker *worker, const struct sqlpack_entry *entry,
                           struct sqlpack_error *err)
{
    const char *leaf;
    if (!is_special_wanted(worker, entry))
        return MADE_NOT;
    int folder = place_of(&worker->place, entry->name, true, &leaf);
    if (folder < 0)
        return fail_folder(worker, entry->name, err);
    return make_special(&worker->run->policy, folder, leaf, entry, err);
}

static int restore_symlink(struct worker *worker, const struct sqlpack_entry *entry,
                           struct sqlpack_error *err)
{
    const char *leaf;
    int folder = place_of(&worker->place, entry->name, true, &leaf);
    if (folder < 0)
        return fail_folder(worker, entry->name, err);
    return make_symlink(&worker->run->policy, folder, leaf, entry, err);
}

static int restore_folder(struct worker *worker, const struct sqlpack_entry *entry,
                          struct sqlpack_error *err)
{
    if (place_enter(&worker->place, entry->name, strlen(entry->name), true) < 0)
        return fail_folder(worker, entry->name, err) < 0 ? -1 : 0;
    worker->result.folder_count++;
    pthread_mutex_lock(&worker->run->mutex);
    folders_keep(&worker->run->folders, entry);
    pthread_mutex_unlock(&worker->run->mutex);
    return 0;
}

/* Counts what came of one entry; passes -1 on. */
static int count_made(struct worker *worker, int made, uint64_t *count)
{
    if (made == MADE)
        (*count)++;
    if (made == MADE_KEPT)
        worker->result.skipped_count++;
    return made < 0 ? -1 : 0;
}

/* Any entry that is no folder and no symlink; `row` is where its content is. */
static int restore_by_type(struct worker *worker, const struct sqlpack_entry *entry,
                           const struct reader_row *row, struct sqlpack_error *err)
{
    struct sqlpack_unpack_result *result = &worker->result;
    switch (entry->mode & S_IFMT) {
    case S_IFREG:
        return count_made(worker, restore_file(worker, entry, row, err), &result->file_count);
    case S_IFIFO:
    case S_IFCHR:
    case S_IFBLK:
        return count_made(worker, restore_special(worker, entry, err), &result->special_count);
    default:
        policy_loss(&worker->run->policy, entry->name, 0, "is of an unknown type");
        return 0;
    }
}

/* A further name of a symlink: its target stands in the row of the first. */
static int restore_symlink_apart(struct worker *worker, const struct sqlpack_entry *entry,
                                 struct sqlpack_error *err)
{
    struct sqlpack_entry first;
    auto_release(buf_release) struct buf name = {0};
    if (buf_append_text(&name, entry->name) < 0 || buf_terminate(&name) < 0)
        return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    if (sqlpack_find(worker->pack, entry->target, &first, err) < 0)
        return -1;
    if (!S_ISLNK(first.mode) || first.link) {
        policy_loss(&worker->run->policy, name.data, 0, "is a hard link to something else");
        return MADE_NOT;
    }
    first.name = name.data;
    return restore_symlink(worker, &first, err);
}

/* A further name that cannot be a link to the first: the file once more. */
static int restore_apart(struct worker *worker, const struct reader_row *row,
                         struct sqlpack_error *err)
{
    struct sqlpack_entry entry = row->entry;
    entry.link = 0;
    if (S_ISLNK(entry.mode))
        return count_made(worker, restore_symlink_apart(worker, &entry, err),
                          &worker->result.symlink_count);
    return restore_by_type(worker, &entry, row, err);
}

static int link_to_first(struct worker *worker, const struct sqlpack_entry *entry,
                         struct sqlpack_error *err)
{
    const char *leaf;
    struct subject first = {.fd = -1};
    first.folder = place_of(&worker->first_place, entry->target, false, &first.leaf);
    if (first.folder < 0)
        return MADE_APART;
    int folder = place_of(&worker->place, entry->name, true, &leaf);
    if (folder < 0)
        return fail_folder(worker, entry->name, err);
    return make_link(&worker->run->policy, &first, folder, leaf, entry, err);
}

static int restore_link(struct worker *worker, const struct reader_row *row,
                        struct sqlpack_error *err)
{
    const struct sqlpack_entry *entry = &row->entry;
    if (!selection_has(&worker->run->selection, entry->target, false))
        return restore_apart(worker, row, err);
    int made = link_to_first(worker, entry, err);
    if (made != MADE_APART)
        return count_made(worker, made, &worker->result.hard_link_count);
    policy_loss(&worker->run->policy, entry->name, 0, "is a copy, not a hard link to '%s'",
                show(entry->target).text);
    return restore_apart(worker, row, err);
}

/* The pass in which an entry is made. */
static enum pass pass_of(const struct sqlpack_entry *entry)
{
    if (entry->link)
        return PASS_LINKS;
    return S_ISLNK(entry->mode) ? PASS_SYMLINKS : PASS_FILES;
}

static bool is_wanted(struct run *run, const struct reader_row *row)
{
    const struct sqlpack_entry *entry = &row->entry;
    if (row->skip_why && run->pass == PASS_FILES)
        skip_row(run, entry->name, row->skip_why);
    if (row->skip_why || entry->name[0] == '\0')
        return false;
    /* what is listed was selected by its name; the patterns are to be asked in any case */
    return run->selection.exclude_count == 0 ||
           !exclude_matches(run->selection.excludes, run->selection.exclude_count, entry->name,
                            S_ISDIR(entry->mode));
}

static int count_row(struct worker *worker, const struct sqlpack_entry *entry,
                     struct sqlpack_error *err)
{
    struct sqlpack_unpack_result *result = &worker->result;
    if (entry->link)
        result->hard_link_count++;
    else if (S_ISDIR(entry->mode))
        result->folder_count++;
    else if (S_ISLNK(entry->mode))
        result->symlink_count++;
    else if (!S_ISREG(entry->mode))
        result->special_count += is_special_wanted(worker, entry);
    else {
        result->file_count++;
        result->content_bytes += entry->sz;
        return count_content(worker, entry, err);
    }
    return 0;
}

static int restore_row(struct worker *worker, const struct reader_row *row,
                       struct sqlpack_error *err)
{
    struct run *run = worker->run;
    const struct sqlpack_entry *entry = &row->entry;
    if (!is_wanted(run, row))
        return 0;
    enum pass pass = pass_of(entry);
    if (pass != run->pass && !run->options->dry_run) {
        atomic_store_explicit(&run->waits[pass], true, memory_order_relaxed);
        return 0;
    }
    worker->new_entries++;
    if (run->options->dry_run)
        return count_row(worker, entry, err);
    switch (pass) {
    case PASS_LINKS:
        return restore_link(worker, row, err);
    case PASS_SYMLINKS:
        return count_made(worker, restore_symlink(worker, entry, err),
                          &worker->result.symlink_count);
    default:
        return S_ISDIR(entry->mode) ? restore_folder(worker, entry, err)
                                    : restore_by_type(worker, entry, row, err);
    }
}

/* -- threads ------------------------------------------------------------------------------- */

static void auto_rows_release(struct reader_rows **rows)
{
    reader_rows_close(*rows);
}

static int restore_range(struct worker *worker, struct id_range range, struct sqlpack_error *err)
{
    struct run *run = worker->run;
    /* among other entries, many may stay as they are: their content need not be read */
    bool with_content = run->pass == PASS_FILES && !run->target.is_merge && !run->options->dry_run;
    auto_release(auto_rows_release) struct reader_rows *rows = NULL;
    if (reader_rows_open(worker->pack, range, with_content, &rows, err) < 0)
        return -1;
    struct reader_row row;
    int more;
    while ((more = reader_rows_next(rows, &row, err)) > 0) {
        if (atomic_load_explicit(&run->is_over, memory_order_relaxed))
            return 0;
        if (restore_row(worker, &row, err) < 0 || report_some(worker, err) < 0)
            return -1;
    }
    return more;
}

static int restore_ranges(struct worker *worker, struct sqlpack_error *err)
{
    struct id_range range;
    int more;
    while ((more = next_range(worker->run, &range, err)) > 0)
        if (restore_range(worker, range, err) < 0)
            return -1;
    return more < 0 ? -1 : report_now(worker, err);
}

static struct worker *take_worker(struct run *run)
{
    pthread_mutex_lock(&run->mutex);
    struct worker *worker = &run->workers[run->next_worker++];
    pthread_mutex_unlock(&run->mutex);
    return worker;
}

static int work(void *arg)
{
    struct run *run = arg;
    struct sqlpack_error err;
    if (restore_ranges(take_worker(run), &err) == 0)
        return 0;
    pthread_mutex_lock(&run->mutex);
    if (!atomic_exchange(&run->is_over, true))
        run->err = err;
    pthread_mutex_unlock(&run->mutex);
    return -1;
}

int pass_run(struct run *run, enum pass pass, struct sqlpack_error *err)
{
    run->pass = pass;
    run->next_worker = 0;
    run->next_range = 0;
    run->next_name = 0;
    run->pushed_back = 0;
    int result = workers_run(run->jobs, work, run);
    sqlpack_list_close(run->list);
    run->list = NULL;
    if (result < 0)
        *err = run->err;
    return result;
}

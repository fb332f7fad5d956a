/* SPDX-License-Identifier: MIT */
/* Restores a pack to disk: one run, from the first check to the folder that appears whole. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "lib/restore.h"

/* Descriptors that are open beside those of the places: streams, packs, target, a file each. */
#define OTHER_DESCRIPTORS 16

/* File systems that compress: what does not fit by its size may fit all the same. */
#define MAGIC_BTRFS    0x9123683E
#define MAGIC_BCACHEFS 0xca451a4e
#define MAGIC_ZFS      0x2fc12fc1

static void run_release(struct run *run)
{
    for (unsigned i = 0; i < run->jobs; i++) {
        place_release(&run->workers[i].place);
        place_release(&run->workers[i].first_place);
        sqlpack_close(run->workers[i].pack);
    }
    buf_release(&run->folders.records);
    selection_release(&run->selection);
    policy_release(&run->policy);
    target_release(&run->target);
    sqlpack_close(run->pack);
    pthread_mutex_destroy(&run->mutex);
    report_release(&run->report);
}

/* -- before anything is made ---------------------------------------------------------------- */

static int check_options(const struct sqlpack_unpack_options *options, struct sqlpack_error *err)
{
    if ((options->replace || options->skip_existing) && !options->into)
        return fail(err, SQLPACK_INVALID,
                    "cannot unpack: to replace or keep files is for an existing folder");
    return 0;
}

/* Whether the content surely does not fit. */
static int check_space(const struct run *run, const struct sqlpack_summary *summary,
                       struct sqlpack_error *err)
{
    struct statvfs space;
    struct statfs type;
    if (fstatvfs(run->target.fd, &space) < 0 || fstatfs(run->target.fd, &type) < 0)
        return fail_errno(err, "cannot read the free space of '%s'", show(run->dir).text);
    uint64_t bytes = summary->content_bytes;
    if (summary->tree_allocated_bytes > 0 && summary->tree_allocated_bytes < bytes)
        bytes = summary->tree_allocated_bytes; /* holes take none */
    uint64_t inodes = summary->file_count + summary->folder_count + summary->symlink_count;
    uint64_t free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    errno = ENOSPC;
    if (space.f_files > 0 && inodes > space.f_favail)
        return fail_errno(err, "cannot unpack into '%s': %llu files need more than the %llu left",
                          show(run->dir).text, (unsigned long long)inodes,
                          (unsigned long long)space.f_favail);
    bool compresses = type.f_type == MAGIC_BTRFS || type.f_type == (long)MAGIC_BCACHEFS ||
                      type.f_type == MAGIC_ZFS;
    if (space.f_blocks > 0 && !compresses && bytes > free_bytes)
        return fail_errno(err, "cannot unpack into '%s': %llu bytes do not fit in the %llu left",
                          show(run->dir).text, (unsigned long long)bytes,
                          (unsigned long long)free_bytes);
    return 0;
}

static int check_limit(const struct run *run, const struct sqlpack_summary *summary,
                       struct sqlpack_error *err)
{
    uint64_t limit = run->options->total_bytes;
    if (limit && summary->content_bytes > limit)
        return fail(err, SQLPACK_INVALID,
                    "cannot unpack '%s': its %llu bytes of content are more than the %llu allowed",
                    show(run->path).text, (unsigned long long)summary->content_bytes,
                    (unsigned long long)limit);
    return 0;
}

static int read_fact(struct sqlpack *pack, const char *key, uint64_t *ret_fact,
                     struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_INFO_VALUE, err);
    if (!statement)
        return -1;
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    int found = db_step(pack, statement, err);
    int64_t fact = found > 0 ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    *ret_fact = fact > 0 ? (uint64_t)fact : 0;
    return found < 0 ? -1 : 0;
}

/* What the pack says of itself: nothing, where another program has changed it since. */
static int read_summary(struct sqlpack *pack, struct sqlpack_summary *summary,
                        struct sqlpack_error *err)
{
    const struct {
        const char *key;
        uint64_t *fact;
    } facts[] = {
        {INFO_FILES, &summary->file_count},
        {INFO_FOLDERS, &summary->folder_count},
        {INFO_SYMLINKS, &summary->symlink_count},
        {INFO_SPECIALS, &summary->special_count},
        {INFO_HARD_LINKS, &summary->hard_link_count},
        {INFO_CONTENT_BYTES, &summary->content_bytes},
        {INFO_TREE_ALLOCATED, &summary->tree_allocated_bytes},
    };
    bool is_changed;
    if (names_may_be_odd(pack, &is_changed, err) < 0)
        return -1;
    for (size_t i = 0; !is_changed && i < sizeof(facts) / sizeof(facts[0]); i++)
        if (read_fact(pack, facts[i].key, facts[i].fact, err) < 0)
            return -1;
    return 0;
}

/* Refuses at once what cannot end well, as far as the pack's own numbers tell. */
static int check_summary(struct run *run, struct sqlpack_error *err)
{
    struct sqlpack_summary summary = {0};
    if (run->selection.names || run->selection.exclude_count > 0)
        return 0; /* they are about the whole */
    if (read_summary(run->pack, &summary, err) < 0)
        return -1;
    run->report.progress.entry_total = summary.file_count + summary.folder_count +
                                       summary.symlink_count + summary.special_count +
                                       summary.hard_link_count;
    run->report.progress.bytes_total = summary.content_bytes;
    if (check_limit(run, &summary, err) < 0)
        return -1;
    return run->options->dry_run || !run->target.was_empty ? 0 : check_space(run, &summary, err);
}

/* How many folders each thread may hold open. */
static unsigned choose_levels(struct run *run)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return PLACE_LEVELS;
    if (limit.rlim_cur < 64)
        run->jobs = 1;
    uint64_t others = OTHER_DESCRIPTORS + 4 * (uint64_t)run->jobs;
    uint64_t left = limit.rlim_cur > others ? limit.rlim_cur - others : 0;
    uint64_t each = left / (2 * (uint64_t)run->jobs);
    return each < 2 ? 2 : each < PLACE_LEVELS ? (unsigned)each : PLACE_LEVELS;
}

static int open_workers(struct run *run, struct sqlpack_error *err)
{
    run->jobs = workers_default(run->options->jobs);
    unsigned levels = choose_levels(run);
    for (unsigned i = 0; i < run->jobs; i++) {
        struct worker *worker = &run->workers[i];
        worker->run = run;
        place_init(&worker->place, run->target.fd, levels);
        place_init(&worker->first_place, run->target.fd, levels);
        worker->place.replaces = run->target.is_merge && run->options->replace;
        worker->place.strips = run->policy.is_careful;
        if (sqlpack_open(run->path, &worker->pack, err) < 0 ||
            (!run->selection.names && ahead_begin(worker->pack, err) < 0))
            return -1;
    }
    return 0;
}

/* Ranges that hold all ids there can be. */
static int split(struct run *run, struct sqlpack_error *err)
{
    unsigned count = run->jobs * RANGES_A_THREAD;
    if (reader_split(run->pack, count, run->ranges, &run->range_count, err) < 0)
        return -1;
    if (run->range_count == 0)
        run->range_count = 1;
    run->ranges[0].first = INT64_MIN;
    for (unsigned i = 1; i < run->range_count; i++)
        run->ranges[i - 1].last = run->ranges[i].first - 1;
    run->ranges[run->range_count - 1].last = INT64_MAX;
    return 0;
}

/* -- the run ------------------------------------------------------------------------------- */

/* Whether new entries in the target take more from it than the process gives them. */
static int look_at_target(struct run *run, struct sqlpack_error *err)
{
    struct stat stat;
    struct policy *policy = &run->policy;
    policy->is_merge = run->target.is_merge;
    if (run->target.fd < 0)
        return 0;
    if (fstat(run->target.fd, &stat) < 0)
        return fail_errno(err, "cannot read '%s'", show(run->dir).text);
    policy->is_careful = policy->is_merge || (stat.st_mode & S_ISGID) != 0 ||
                         stat.st_gid != policy->gid || target_has_default_acl(run->target.fd);
    return 0;
}

static int confine(struct run *run, struct sqlpack_error *err)
{
    struct sandbox sandbox = {
        .pack = run->path,
        .target = run->target.fd,
        .parent = run->target.parent,
    };
    /* names that another program wrote are sorted anew */
    if (names_may_be_odd(run->pack, &sandbox.sorts, err) < 0)
        return -1;
    int confined = sandbox_enter(&sandbox, err);
    run->result.is_confined = confined > 0;
    return confined < 0 ? -1 : 0;
}

static int prepare(struct run *run, struct sqlpack_error *err)
{
    const struct sqlpack_unpack_options *options = run->options;
    if (sqlpack_open(run->path, &run->pack, err) < 0 ||
        selection_init(&run->selection, options, err) < 0 ||
        target_open(&run->target, run->dir, options->into, options->dry_run, err) < 0 ||
        policy_init(&run->policy, run->pack, options, &run->report, err) < 0 ||
        look_at_target(run, err) < 0 || check_summary(run, err) < 0 || open_workers(run, err) < 0 ||
        split(run, err) < 0)
        return -1;
    return options->sandbox && run->target.fd >= 0 ? confine(run, err) : 0;
}

static int restore(struct run *run, struct sqlpack_error *err)
{
    if (pass_run(run, PASS_FILES, err) < 0)
        return -1;
    for (enum pass pass = PASS_SYMLINKS; pass < PASS_COUNT; pass++)
        if (run->waits[pass] && pass_run(run, pass, err) < 0)
            return -1;
    if (run->options->dry_run)
        return 0;
    if (folders_finish(run, err) < 0)
        return -1;
    bool sync = !run->options->no_sync;
    if (sync && target_flush(&run->target, err) < 0)
        return -1;
    /* the last moment to stop */
    if (report_progress(&run->report, 0, 0, err) < 0)
        return -1;
    return target_publish(&run->target, sync, err);
}

static void add_result(struct sqlpack_unpack_result *sum, const struct sqlpack_unpack_result *part)
{
    sum->file_count += part->file_count;
    sum->folder_count += part->folder_count;
    sum->symlink_count += part->symlink_count;
    sum->special_count += part->special_count;
    sum->hard_link_count += part->hard_link_count;
    sum->skipped_count += part->skipped_count;
    sum->left_out_count += part->left_out_count;
    sum->content_bytes += part->content_bytes;
}

static int run_all(struct run *run, struct sqlpack_unpack_result *ret_result,
                   struct sqlpack_error *err)
{
    if (check_options(run->options, err) < 0 || prepare(run, err) < 0 || restore(run, err) < 0)
        return -1;
    for (unsigned i = 0; i < run->jobs; i++)
        add_result(&run->result, &run->workers[i].result);
    run->result.loss_count = run->report.loss_count;
    run->result.taken_count = run->policy.taken_count;
    *ret_result = run->result;
    return 0;
}

int sqlpack_unpack(const char *path, const char *dir, const struct sqlpack_unpack_options *options,
                   struct sqlpack_unpack_result *ret_result, struct sqlpack_error *err)
{
    struct run *run = calloc(1, sizeof(*run));
    if (!run)
        return fail(err, SQLPACK_NO_MEMORY, "cannot unpack: out of memory");
    run->path = path;
    run->dir = dir;
    run->options = options;
    run->target = (struct target)TARGET_NONE;
    report_init(&run->report, &options->hooks);
    pthread_mutex_init(&run->mutex, NULL);
    int result = run_all(run, ret_result, err);
    run_release(run);
    free(run);
    return result;
}

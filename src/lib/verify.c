/* SPDX-License-Identifier: MIT */
/* Checks a pack: structure, every row, every content, what the rows add up to. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>

#include "lib/internal.h"

/* How often the caller hears of progress: after so many entries or bytes of one thread. */
#define TELL_ENTRIES 64
#define TELL_BYTES   ((uint64_t)4 << 20)

struct verification {
    const char *path;
    const struct sqlpack_verify_options *options;
    struct report report;
    struct sample sample;
    bool is_own;           /* a pack of sqlpack; else the archive of another program */
    pthread_mutex_t mutex; /* guards the tally */
    struct tally tally;
    uint64_t indexed_names; /* what tally.names must be */
};

void report_difference(struct report *report, const char *name, const char *format, ...)
{
    char what[800];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    report_problem(
        report, &(struct sqlpack_problem){.kind = SQLPACK_DIFFERENCE, .name = name, .what = what});
}

/* -- the share of the contents that is read -------------------------------------------------------
 */

static int sample_init(struct sample *sample, const struct sqlpack_verify_options *options,
                       struct sqlpack_error *err)
{
    *sample = (struct sample){.limit = UINT64_MAX};
    if (options->quick)
        sample->limit = 0;
    else if (options->sample_percent > 0 && options->sample_percent < 100)
        sample->limit = (uint64_t)(options->sample_percent / 100 * 0x1p64);
    if (getrandom(&sample->seed, sizeof(sample->seed), 0) != sizeof(sample->seed))
        return fail_errno(err, "cannot draw a sample");
    return 0;
}

bool sample_takes(const struct sample *sample, const char *name)
{
    if (sample->limit == 0 || sample->limit == UINT64_MAX)
        return sample->limit != 0;
    uint64_t hash = sample->seed;
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        hash = (hash ^ *at) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32) * UINT64_C(0x94d049bb133111eb);
    return (hash ^ hash >> 31) < sample->limit;
}

/* -- rows
 * ------------------------------------------------------------------------------------------- */

/* One thread's work on one range. */
struct patrol {
    struct verification *verification;
    struct sqlpack *pack;
    struct tally tally;
    uint64_t untold_entries, untold_bytes;
    bool is_cancelled;
    struct sqlpack_error err; /* then */
};

static int tell(struct patrol *patrol, struct sqlpack_error *err)
{
    uint64_t entries = patrol->untold_entries, bytes = patrol->untold_bytes;
    patrol->untold_entries = patrol->untold_bytes = 0;
    return report_progress(&patrol->verification->report, entries, bytes, err);
}

static int take_content(void *user, const void *data, size_t size)
{
    (void)data;
    struct patrol *patrol = user;
    patrol->untold_bytes += size;
    if (patrol->untold_bytes < TELL_BYTES || tell(patrol, &patrol->err) == 0)
        return 0;
    patrol->is_cancelled = true;
    errno = ECANCELED;
    return -1;
}

static int check_content(struct patrol *patrol, const struct reader_row *row,
                         struct sqlpack_error *err)
{
    const struct sqlpack_entry *entry = &row->entry;
    if (!sample_takes(&patrol->verification->sample, entry->name))
        return 0;
    patrol->tally.read_count++;
    patrol->tally.read_bytes += entry->sz;
    if (reader_content(patrol->pack, row, take_content, patrol, err) == 0)
        return 0;
    if (patrol->is_cancelled)
        *err = patrol->err;
    if (patrol->is_cancelled || err->status != SQLPACK_CORRUPT)
        return -1;
    report_difference(&patrol->verification->report, entry->name, "content-damaged: %s",
                      err->message);
    return 0;
}

/* A further name must tell of the content what the first one does. */
static int check_link(struct patrol *patrol, const struct sqlpack_entry *entry,
                      struct sqlpack_error *err)
{
    struct report *report = &patrol->verification->report;
    struct reader_row first;
    int result = row_by_id(patrol->pack, entry->link, NULL, -1, &first, err);
    if (result < 0)
        return -1;
    if (result == 0 || first.entry.is_foreign || first.entry.link != 0 ||
        !S_ISREG(first.entry.mode) || strcmp(first.entry.name, entry->target) != 0)
        report_difference(report, entry->name, "link-broken: its first name is no file");
    else if (first.entry.sz != entry->sz || first.entry.has_digest != entry->has_digest ||
             memcmp(first.entry.digest, entry->digest, SQLPACK_DIGEST_BYTES) != 0)
        report_difference(report, entry->name, "link-broken: its digest is not that of '%s'",
                          show(first.entry.name).text);
    return 0;
}

static void count_row(struct tally *tally, const struct sqlpack_entry *entry)
{
    tally->entry_count++;
    tally->foreign_count += entry->is_foreign;
    hash_sum_add(&tally->sum, entry, false);
    if (entry->link)
        tally->hard_link_count++;
    else if (S_ISREG(entry->mode))
        tally->file_count++;
    else if (S_ISDIR(entry->mode))
        tally->folder_count++;
    else if (S_ISLNK(entry->mode))
        tally->symlink_count++;
    else
        tally->special_count++;
    if (S_ISREG(entry->mode) && !entry->link)
        tally->content_bytes += entry->sz;
}

/* The name as it stands in the table: that of another program may have been made normal. */
static int count_name(struct patrol *patrol, const struct reader_row *row,
                      struct sqlpack_error *err)
{
    const char *name = row->entry.name;
    if (row->entry.is_foreign || row->skip_why) {
        size_t size;
        sqlite3_stmt *statement = db_statement(patrol->pack, STATEMENT_NAME_BY_ID, err);
        if (!statement)
            return -1;
        sqlite3_bind_int64(statement, 1, row->entry.id);
        if (db_step(patrol->pack, statement, err) < 0)
            return -1;
        name = name_column(statement, 0, &size);
    }
    patrol->tally.names += name ? inspect_name(row->entry.id, name) : 0;
    return 0;
}

static int check_row(struct patrol *patrol, const struct reader_row *row, struct sqlpack_error *err)
{
    const struct sqlpack_entry *entry = &row->entry;
    struct verification *verification = patrol->verification;
    if (count_name(patrol, row, err) < 0)
        return -1;
    if (row->skip_why) {
        report_difference(&verification->report, entry->name, "unusable: %s", row->skip_why);
        return 0;
    }
    count_row(&patrol->tally, entry);
    if (entry->is_foreign && verification->is_own)
        report_difference(&verification->report, entry->name,
                          "foreign: written by another program");
    if (entry->link)
        return check_link(patrol, entry, err);
    if (S_ISREG(entry->mode) || S_ISLNK(entry->mode))
        return check_content(patrol, row, err);
    return 0;
}

/* -- metadata without a row
 * -------------------------------------------------------------------------- */

/* Begins a statement on a range of ids. */
static sqlite3_stmt *on_range(struct sqlpack *pack, enum statement which, struct id_range range,
                              struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_prepare(pack, which, err);
    if (!statement)
        return NULL;
    sqlite3_bind_int64(statement, 1, range.first);
    sqlite3_bind_int64(statement, 2, range.last);
    return statement;
}

static int report_orphans(struct patrol *patrol, struct id_range range, struct sqlpack_error *err)
{
    auto_release(db_release) sqlite3_stmt *statement =
        on_range(patrol->pack, STATEMENT_ORPHANS, range, err);
    if (!statement)
        return -1;
    int result;
    while ((result = db_step(patrol->pack, statement, err)) > 0)
        report_difference(&patrol->verification->report, "",
                          "orphan: the metadata with the id %lld belongs to no entry",
                          (long long)sqlite3_column_int64(statement, 0));
    return result;
}

/* As much metadata as rows that are sealed: then each belongs to one of them. */
static int check_orphans(struct patrol *patrol, struct id_range range, struct sqlpack_error *err)
{
    if (!patrol->verification->is_own)
        return 0;
    auto_release(db_release) sqlite3_stmt *statement =
        on_range(patrol->pack, STATEMENT_STAT_COUNT, range, err);
    if (!statement || db_step(patrol->pack, statement, err) < 0)
        return -1;
    uint64_t sealed = patrol->tally.entry_count - patrol->tally.foreign_count;
    if ((uint64_t)sqlite3_column_int64(statement, 0) == sealed)
        return 0;
    return report_orphans(patrol, range, err);
}

/* -- ranges and tasks
 * -------------------------------------------------------------------------------- */

static void add_tally(struct verification *verification, const struct tally *part)
{
    struct tally *tally = &verification->tally;
    pthread_mutex_lock(&verification->mutex);
    tally->entry_count += part->entry_count;
    tally->foreign_count += part->foreign_count;
    tally->read_count += part->read_count;
    tally->read_bytes += part->read_bytes;
    tally->file_count += part->file_count;
    tally->folder_count += part->folder_count;
    tally->symlink_count += part->symlink_count;
    tally->special_count += part->special_count;
    tally->hard_link_count += part->hard_link_count;
    tally->content_bytes += part->content_bytes;
    tally->names += part->names;
    hash_sum_merge(&tally->sum, &part->sum);
    pthread_mutex_unlock(&verification->mutex);
}

static int walk_rows(struct patrol *patrol, struct reader_rows *rows, struct sqlpack_error *err)
{
    struct reader_row row;
    int result;
    while ((result = reader_rows_next(rows, &row, err)) > 0) {
        if (check_row(patrol, &row, err) < 0)
            return -1;
        if (++patrol->untold_entries >= TELL_ENTRIES && tell(patrol, err) < 0)
            return -1;
    }
    return result < 0 ? -1 : tell(patrol, err);
}

static int check_range(void *user, struct sqlpack *pack, struct id_range range,
                       struct sqlpack_error *err)
{
    struct verification *verification = user;
    struct patrol patrol = {.verification = verification, .pack = pack};
    struct reader_rows *rows;
    if (reader_rows_open(pack, range, verification->sample.limit > 0, &rows, err) < 0)
        return -1;
    int result = walk_rows(&patrol, rows, err);
    reader_rows_close(rows);
    if (result == 0)
        result = check_orphans(&patrol, range, err);
    add_tally(verification, &patrol.tally);
    return result;
}

enum task { TASK_STRUCTURE, TASK_FOLDERS, TASK_CHUNKS, TASK_COUNT };

static int run_task(void *user, unsigned number, struct sqlpack *pack, struct sqlpack_error *err)
{
    struct verification *verification = user;
    if (number == TASK_STRUCTURE)
        return inspect_structure(pack, &verification->report, err);
    if (number == TASK_FOLDERS)
        return inspect_folders(pack, &verification->indexed_names, &verification->report, err);
    return pack->is_own ? inspect_chunks(pack, &verification->report, err) : 0;
}

/* -- the call
 * ---------------------------------------------------------------------------------------- */

/* The root has no row in sqlar, only its metadata. */
static int check_root(struct verification *verification, struct sqlpack *pack,
                      struct sqlpack_error *err)
{
    struct sqlpack_entry root;
    if (sqlpack_find(pack, "", &root, err) < 0)
        return -1;
    if (root.is_foreign)
        report_difference(&verification->report, "",
                          "foreign: the metadata of the root is not sealed");
    hash_sum_add(&verification->tally.sum, &root, false);
    return 0;
}

/* What progress leads to. */
static void expect(struct verification *verification, struct sqlpack *pack)
{
    struct sqlpack_progress *progress = &verification->report.progress;
    uint64_t times = verification->options->dir ? 2 : 1;
    progress->entry_total = times * inspect_expected_entries(pack);
    if (verification->sample.limit == UINT64_MAX)
        progress->bytes_total = times * inspect_expected(pack, INFO_CONTENT_BYTES);
}

static void note_foreign(struct report *report)
{
    report_problem(report, &(struct sqlpack_problem){
                               .kind = SQLPACK_NOTE,
                               .name = "",
                               .what = "no-digests: made by another program, so content is only "
                                       "known to be whole"});
}

static int check_pack(struct verification *verification, struct sqlpack *pack,
                      struct sqlpack_verify_result *result, struct sqlpack_error *err)
{
    const struct sweep_options sweep = {.path = verification->path,
                                        .jobs = verification->options->jobs,
                                        .task_count = TASK_COUNT,
                                        .task = run_task,
                                        .range = check_range,
                                        .user = verification};
    verification->is_own = pack->is_own;
    expect(verification, pack);
    if (!pack->is_own)
        note_foreign(&verification->report);
    if (sweep_run(&sweep, err) < 0)
        return -1;
    if (verification->tally.names != verification->indexed_names)
        report_difference(&verification->report, "",
                          "index-differs: names lead to other rows than have them");
    if (pack->is_own && (check_root(verification, pack, err) < 0 ||
                         inspect_info(pack, &verification->tally, &verification->report,
                                      &result->root_digest_matches, err) < 0))
        return -1;
    hash_sum_digest(&verification->tally.sum, result->root_digest);
    return 0;
}

/* Every thread opens the pack by its name: it must be the same file for all of them. */
static int check_same(const struct verification *verification, const struct stat *before,
                      struct sqlpack_error *err)
{
    struct stat now;
    if (stat(verification->path, &now) == 0 && now.st_dev == before->st_dev &&
        now.st_ino == before->st_ino)
        return 0;
    return fail(err, SQLPACK_BUSY, "cannot verify '%s': it was replaced meanwhile",
                show(verification->path).text);
}

/* A folder that is not there shall not be told at the end of a long run. */
static int check_dir(const char *dir, struct sqlpack_error *err)
{
    auto_close int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return dir && fd < 0 ? fail_errno(err, "cannot read folder '%s'", show(dir).text) : 0;
}

static int run(struct verification *verification, struct sqlpack_verify_result *result,
               struct sqlpack_error *err)
{
    struct stat before;
    struct sqlpack *pack;
    if (stat(verification->path, &before) < 0)
        return fail_errno(err, "cannot open '%s'", show(verification->path).text);
    if (check_dir(verification->options->dir, err) < 0 ||
        sample_init(&verification->sample, verification->options, err) < 0 ||
        sqlpack_open(verification->path, &pack, err) < 0)
        return -1;
    int status = check_pack(verification, pack, result, err);
    if (status == 0 && verification->options->dir)
        status = compare_tree(verification->path, verification->options, &verification->sample,
                              &verification->report, err);
    sqlpack_close(pack);
    return status < 0 ? -1 : check_same(verification, &before, err);
}

int sqlpack_verify(const char *path, const struct sqlpack_verify_options *options,
                   struct sqlpack_verify_result *ret_result, struct sqlpack_error *err)
{
    struct verification verification = {.path = path, .options = options};
    struct sqlpack_verify_result result = {0};
    report_init(&verification.report, &options->hooks);
    pthread_mutex_init(&verification.mutex, NULL);
    int status = run(&verification, &result, err);
    result.entry_count = verification.tally.entry_count;
    result.foreign_count = verification.tally.foreign_count;
    result.read_count = verification.tally.read_count;
    result.content_bytes = verification.tally.read_bytes;
    result.difference_count = verification.report.difference_count;
    pthread_mutex_destroy(&verification.mutex);
    report_release(&verification.report);
    if (status == 0)
        *ret_result = result;
    return status;
}

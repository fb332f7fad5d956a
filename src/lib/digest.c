/* SPDX-License-Identifier: MIT */
/* The root digest of a folder or of a pack. */
#include <string.h>

#include "lib/internal.h"

struct digesting {
    const char *path;
    const struct sqlpack_digest_options *options;
    struct report report;
    pthread_mutex_t mutex; /* guards the sum */
    struct hash_sum sum;
};

int digest_write(void *hash, const void *data, size_t size)
{
    static const char zeros[4096];
    if (data) {
        hash_stream_add(hash, data, size);
        return 0;
    }
    for (size_t part; size > 0; size -= part) {
        part = size < sizeof(zeros) ? size : sizeof(zeros);
        hash_stream_add(hash, zeros, part);
    }
    return 0;
}

static int add_found(void *user, const struct survey_entry *found, struct sqlpack_error *err)
{
    (void)err;
    struct digesting *digesting = user;
    if (found->state == SURVEY_READ)
        hash_sum_add(&digesting->sum, &found->entry, digesting->options->content_only);
    return 0;
}

static int digest_tree(struct digesting *digesting, struct sqlpack_error *err)
{
    const struct survey_options options = {
        .jobs = digesting->options->jobs, .each = add_found, .user = digesting};
    return survey_run(digesting->path, &options, &digesting->report, err);
}

/* Reads the content of a row that another program wrote: such a row has no digest. */
static int complete(struct sqlpack *pack, struct reader_row *row, struct sqlpack_error *err)
{
    if (row->entry.has_digest || !(S_ISREG(row->entry.mode) || S_ISLNK(row->entry.mode)))
        return 0;
    struct hash_stream *hash = hash_stream_new();
    if (!hash)
        return fail(err, SQLPACK_NO_MEMORY, "out of memory");
    int result = reader_content(pack, row, digest_write, hash, err);
    if (result == 0) {
        hash_stream_end(hash, row->entry.digest);
        row->entry.has_digest = true;
    }
    hash_stream_free(hash);
    return result;
}

static int add_row(struct digesting *digesting, struct sqlpack *pack, struct reader_row *row,
                   struct hash_sum *sum, struct sqlpack_error *err)
{
    if (row->skip_why) {
        report_problem(&digesting->report, &(struct sqlpack_problem){.kind = SQLPACK_LOSS,
                                                                     .name = row->entry.name,
                                                                     .what = row->skip_why});
        return 0;
    }
    if (complete(pack, row, err) < 0)
        return -1;
    hash_sum_add(sum, &row->entry, digesting->options->content_only);
    return 0;
}

/* How often the caller hears of progress: after so many entries of one thread. */
#define TELL_ENTRIES 256

static int add_rows(struct digesting *digesting, struct sqlpack *pack, struct reader_rows *rows,
                    struct hash_sum *sum, struct sqlpack_error *err)
{
    struct reader_row row;
    int result;
    uint64_t untold = 0;
    while ((result = reader_rows_next(rows, &row, err)) > 0) {
        if (add_row(digesting, pack, &row, sum, err) < 0)
            return -1;
        if (++untold < TELL_ENTRIES)
            continue;
        if (report_progress(&digesting->report, untold, 0, err) < 0)
            return -1;
        untold = 0;
    }
    return result < 0 ? -1 : report_progress(&digesting->report, untold, 0, err);
}

static int add_range(void *user, struct sqlpack *pack, struct id_range range,
                     struct sqlpack_error *err)
{
    struct digesting *digesting = user;
    struct hash_sum sum = {0};
    struct reader_rows *rows;
    if (reader_rows_open(pack, range, false, &rows, err) < 0)
        return -1;
    int result = add_rows(digesting, pack, rows, &sum, err);
    reader_rows_close(rows);
    pthread_mutex_lock(&digesting->mutex);
    hash_sum_merge(&digesting->sum, &sum);
    pthread_mutex_unlock(&digesting->mutex);
    return result;
}

/* The root has no row in sqlar. */
static int add_root(struct digesting *digesting, struct sqlpack *pack, struct sqlpack_error *err)
{
    struct sqlpack_entry root;
    if (sqlpack_find(pack, "", &root, err) < 0)
        return -1;
    hash_sum_add(&digesting->sum, &root, digesting->options->content_only);
    return 0;
}

static int digest_pack(struct digesting *digesting, struct sqlpack_error *err)
{
    const struct sweep_options options = {.path = digesting->path,
                                          .jobs = digesting->options->jobs,
                                          .range = add_range,
                                          .user = digesting};
    struct sqlpack *pack;
    if (sqlpack_open(digesting->path, &pack, err) < 0)
        return -1;
    digesting->report.progress.entry_total = inspect_expected_entries(pack);
    int result = add_root(digesting, pack, err);
    if (result == 0)
        result = sweep_run(&options, err);
    sqlpack_close(pack);
    return result;
}

int sqlpack_digest(const char *path, const struct sqlpack_digest_options *options,
                   uint8_t ret_digest[SQLPACK_DIGEST_BYTES], struct sqlpack_error *err)
{
    struct digesting digesting = {.path = path, .options = options};
    struct stat stat_of_path;
    if (stat(path, &stat_of_path) < 0)
        return fail_errno(err, "cannot open '%s'", show(path).text);
    report_init(&digesting.report, &options->hooks);
    pthread_mutex_init(&digesting.mutex, NULL);
    int result =
        S_ISDIR(stat_of_path.st_mode) ? digest_tree(&digesting, err) : digest_pack(&digesting, err);
    pthread_mutex_destroy(&digesting.mutex);
    report_release(&digesting.report);
    if (result == 0)
        hash_sum_digest(&digesting.sum, ret_digest);
    return result;
}

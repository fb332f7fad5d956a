/* SPDX-License-Identifier: MIT */
/* Finds entries by name, steps through ranges of rows, and cuts a pack into such ranges. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/internal.h"

/* -- by name ------------------------------------------------------------------------------- */

/* A root that nothing is known of. */
static const struct sqlpack_entry unknown_root = {
    .name = "",
    .mode = S_IFDIR | 0755,
    .mtime = SQLPACK_NO_TIME,
    .uid = UINT32_MAX,
    .gid = UINT32_MAX,
    .ctime_ns = SQLPACK_NO_TIME,
    .is_foreign = true,
};

/* The root as sqlite3 -A stores it. Returns 1, 0, -1. */
static int find_foreign_root(struct sqlpack *pack, struct reader_row *row,
                             struct sqlpack_error *err)
{
    static const char *const names[] = {".", "./", "/"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int found = row_by_name(pack, names[i], "", -1, row, err);
        if (found < 0 || (found > 0 && S_ISDIR(row->entry.mode)))
            return found;
    }
    return 0;
}

static int find_root(struct sqlpack *pack, struct reader_row *row, struct sqlpack_error *err)
{
    *row = (struct reader_row){0};
    if (pack->is_own) {
        sqlite3_stmt *statement = db_statement(pack, STATEMENT_STAT_BY_ID, err);
        if (!statement)
            return -1;
        sqlite3_bind_int64(statement, 1, 0);
        int sealed = db_step(pack, statement, err);
        if (sealed > 0)
            sealed = row_stat(pack, statement, 0, "", &row->entry, err);
        if (sealed < 0)
            return -1;
        if (sealed > 0 && S_ISDIR(row->entry.mode))
            return 0;
    }
    int found = find_foreign_root(pack, row, err);
    if (found < 0)
        return -1;
    if (!found)
        *row = (struct reader_row){.entry = unknown_root};
    row->entry.id = 0;
    row->skip_why = NULL;
    return 0;
}

/* Looks for a normal name in the ways that other programs write it. Returns 1, 0, -1. */
static int find_odd(struct sqlpack *pack, const char *name, int64_t content_max,
                    struct reader_row *row, struct sqlpack_error *err)
{
    static const struct {
        const char *before, *after;
    } forms[] = {{"./", ""}, {"/", ""}, {"", "/"}}; /* as enum name_form orders them */
    bool may_be_odd;
    if (names_may_be_odd(pack, &may_be_odd, err) < 0)
        return -1;
    if (!may_be_odd)
        return 0;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct buf *raw = &pack->scratch;
        raw->size = 0;
        if (buf_append_text(raw, forms[i].before) < 0 || buf_append_text(raw, name) < 0 ||
            buf_append_text(raw, forms[i].after) < 0 || buf_terminate(raw) < 0)
            return fail_errno(err, "cannot read '%s'", show(pack->path).text);
        int found = row_by_name(pack, raw->data, name, content_max, row, err);
        if (found != 0)
            return found;
    }
    int64_t id;
    int found = names_find_other(pack, name, &id, err);
    return found > 0 ? row_by_id(pack, id, name, content_max, row, err) : found;
}

static int fail_not_found(const struct sqlpack *pack, const char *name, struct sqlpack_error *err)
{
    return fail(err, SQLPACK_NOT_FOUND, "cannot find '%s' in '%s'", show(name).text,
                show(pack->path).text);
}

int reader_find(struct sqlpack *pack, const char *name, int64_t content_max,
                struct reader_row *ret_row, struct sqlpack_error *err)
{
    enum name_form form;
    struct reader_row row;
    if (name_form(name, strlen(name), &pack->normal, &form) < 0)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    if (*name == '\0' || form == NAME_ROOT) {
        if (find_root(pack, &row, err) < 0)
            return -1;
        *ret_row = row;
        return 0;
    }
    if (form == NAME_UNSAFE)
        return fail_not_found(pack, name, err);
    if (form == NAME_PLAIN &&
        (buf_append_text(&pack->normal, name) < 0 || buf_terminate(&pack->normal) < 0))
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    const char *normal = pack->normal.data;
    int found = row_by_name(pack, normal, normal, content_max, &row, err);
    if (found == 0)
        found = find_odd(pack, normal, content_max, &row, err);
    if (found == 0)
        return fail_not_found(pack, name, err);
    if (found < 0)
        return -1;
    *ret_row = row;
    return 0;
}

int sqlpack_find(struct sqlpack *pack, const char *name, struct sqlpack_entry *ret_entry,
                 struct sqlpack_error *err)
{
    struct reader_row row;
    if (reader_find(pack, name, -1, &row, err) < 0)
        return -1;
    *ret_entry = row.entry;
    return 0;
}

/* -- by id --------------------------------------------------------------------------------- */

struct reader_rows {
    struct sqlpack *pack;
    sqlite3_stmt *statement;
    int64_t last_id;
    bool has_begun;
    bool has_ended; /* SQLite would begin anew */
};

int reader_rows_open(struct sqlpack *pack, struct id_range range, bool with_content,
                     struct reader_rows **ret_rows, struct sqlpack_error *err)
{
    struct reader_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    rows->pack = pack;
    rows->statement = db_prepare(pack, pack->is_own ? STATEMENT_ROWS : STATEMENT_ROWS_FOREIGN, err);
    if (!rows->statement) {
        free(rows);
        return -1;
    }
    sqlite3_bind_int64(rows->statement, 1, with_content ? (int64_t)READER_STORED_MAX : -1);
    sqlite3_bind_int64(rows->statement, 2, range.first);
    sqlite3_bind_int64(rows->statement, 3, range.last);
    *ret_rows = rows;
    return 0;
}

int reader_rows_next(struct reader_rows *rows, struct reader_row *ret_row,
                     struct sqlpack_error *err)
{
    struct reader_row row;
    do {
        int stepped = rows->has_ended ? 0 : db_step(rows->pack, rows->statement, err);
        rows->has_ended = stepped <= 0;
        if (stepped <= 0)
            return stepped;
        int64_t id = sqlite3_column_int64(rows->statement, 0);
        if (rows->has_begun && id <= rows->last_id)
            return db_corrupt(rows->pack, err, "the rows of sqlar are not in order");
        rows->has_begun = true;
        rows->last_id = id;
        if (row_decode(rows->pack, rows->statement, NULL, &row, err) < 0)
            return -1;
    } while (*row.entry.name == '\0' && !row.skip_why);
    *ret_row = row;
    return 1;
}

void reader_rows_close(struct reader_rows *rows)
{
    if (!rows)
        return;
    sqlite3_finalize(rows->statement);
    free(rows);
}

/* -- ranges -------------------------------------------------------------------------------- */

/* What a row costs beside its content, in bytes of content. */
#define ROW_WEIGHT 4096

/* Every stride-th id and the weight of what stands before it; the stride grows with the pack. */
#define MARKS 1024
struct marks {
    int64_t ids[MARKS];
    uint64_t weights[MARKS];
    size_t count;
    uint64_t stride, row_count, weight;
};

static void mark(struct marks *marks, int64_t id, int64_t sz)
{
    if (marks->count == MARKS) {
        marks->count /= 2;
        marks->stride *= 2;
        for (size_t i = 0; i < marks->count; i++) {
            marks->ids[i] = marks->ids[2 * i];
            marks->weights[i] = marks->weights[2 * i];
        }
    }
    if (marks->row_count % marks->stride == 0) {
        marks->ids[marks->count] = id;
        marks->weights[marks->count] = marks->weight;
        marks->count++;
    }
    marks->row_count++;
    marks->weight += ROW_WEIGHT;
    if (sz > 0 && marks->weight < UINT64_MAX / 4)
        marks->weight += (uint64_t)sz;
}

static int mark_all(struct sqlpack *pack, struct marks *marks, struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_SIZES, err);
    if (!statement)
        return -1;
    int64_t last_id = INT64_MIN;
    int stepped;
    while ((stepped = db_step(pack, statement, err)) > 0) {
        int64_t id = sqlite3_column_int64(statement, 0);
        if (marks->row_count && id <= last_id)
            return db_corrupt(pack, err, "the rows of sqlpack_stat are not in order");
        last_id = id;
        mark(marks, id, sqlite3_column_int64(statement, 1));
    }
    sqlite3_reset(statement);
    return stepped;
}

/* Where to cut: the ids at which ranges but the first begin. */
static int cut_by_weight(struct sqlpack *pack, unsigned count, int64_t *ret_cuts,
                         unsigned *ret_cut_count, struct sqlpack_error *err)
{
    auto_free struct marks *marks = calloc(1, sizeof(*marks));
    if (!marks)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    marks->stride = 1;
    if (mark_all(pack, marks, err) < 0)
        return -1;
    size_t at = 1; /* the root, which has no row in sqlar, or the first row begins no range */
    for (unsigned i = 1; i < count; i++) {
        uint64_t wanted = marks->weight / count * i;
        while (at < marks->count && marks->weights[at] < wanted)
            at++;
        if (at >= marks->count)
            break;
        ret_cuts[(*ret_cut_count)++] = marks->ids[at++];
    }
    return 0;
}

/* Sizes would cost as much as reading: sqlar's rows are among the content. */
static int cut_by_id(struct sqlpack *pack, unsigned count, int64_t *ret_cuts,
                     unsigned *ret_cut_count, struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_ID_ENDS, err);
    if (!statement || db_step(pack, statement, err) < 0)
        return -1;
    int64_t first = sqlite3_column_int64(statement, 0), last = sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    uint64_t step = ((uint64_t)last - (uint64_t)first) / count;
    for (unsigned i = 1; step > 0 && i < count; i++)
        ret_cuts[(*ret_cut_count)++] = (int64_t)((uint64_t)first + step * i);
    return 0;
}

int reader_split(struct sqlpack *pack, unsigned count, struct id_range *ret_ranges,
                 unsigned *ret_count, struct sqlpack_error *err)
{
    unsigned cut_count = 0;
    auto_free int64_t *cuts = calloc(count, sizeof(*cuts));
    if (!cuts)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    int cut = pack->is_own ? cut_by_weight(pack, count, cuts, &cut_count, err)
                           : cut_by_id(pack, count, cuts, &cut_count, err);
    if (cut < 0)
        return -1;
    for (unsigned i = 0; i <= cut_count; i++) {
        ret_ranges[i].first = i ? cuts[i - 1] : INT64_MIN;
        ret_ranges[i].last = i < cut_count ? cuts[i] - 1 : INT64_MAX;
    }
    *ret_count = cut_count + 1;
    return 0;
}

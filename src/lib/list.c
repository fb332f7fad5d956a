/* SPDX-License-Identifier: MIT */
/* Lists entries: by name along the index, or spooled in another order. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/internal.h"

/* Ids ascend with names within each class of ids, so a walk along the names meets the stat rows of
 * each class nearly in their order: one cursor each runs beside it. */
#define CLASSES    3
#define NEAR_IDS   16 /* a cursor steps up to so far; beyond, one row is looked up alone */
#define MISSES_MAX 32 /* look-ups in a row, after which the cursor is put there */

struct stat_cursor {
    struct cursor *cursor; /* NULL: not begun */
    struct cursor_row row; /* where it stands */
    bool has_row;
    unsigned misses;
};

enum walk {
    WALK_EXACT,  /* the entry that options.below names */
    WALK_ENTER,  /* after it */
    WALK_BELOW,  /* what is below it */
    WALK_ALL,    /* every name along the index */
    WALK_NORMAL, /* every name, made normal and sorted anew */
    WALK_SORTED, /* the spool */
};

struct sqlpack_list {
    struct sqlpack *pack;
    struct sqlpack_list_options options;
    struct buf below; /* options.below, made normal; ends with NUL */
    enum walk walk;
    struct cursor *index; /* gives id and name; NULL for the last two walks */
    sqlite3_stmt *names;  /* gives them there */
    struct buf last;      /* the last name of the walk */
    struct buf normal;    /* the present name, made normal */
    struct stat_cursor stats[CLASSES];
    bool has_spool; /* its table exists */
    bool has_found; /* an entry was given */
    bool has_ended; /* SQLite would begin anew */
};

static int fail_memory(const struct sqlpack_list *list, struct sqlpack_error *err)
{
    return fail_errno(err, "cannot list '%s'", show(list->pack->path).text);
}

/* -- the stat row of an id ----------------------------------------------------------------- */

static int step_stat(struct sqlpack_list *list, struct stat_cursor *stat, struct sqlpack_error *err)
{
    int64_t last = stat->row.rowid;
    int stepped = cursor_next(stat->cursor, &stat->row, err);
    if (stepped > 0 && stat->has_row && stat->row.rowid <= last)
        return db_corrupt(list->pack, err, "the rows of sqlpack_stat are not in order");
    stat->has_row = stepped > 0;
    return stepped < 0 ? -1 : 0;
}

static int put_stat(struct sqlpack_list *list, struct stat_cursor *stat, int64_t id,
                    struct sqlpack_error *err)
{
    const struct cursor_key key = {.rowid = id};
    if (!stat->cursor && cursor_open(list->pack, TABLE_STAT, &stat->cursor, err) < 0)
        return -1;
    stat->misses = 0;
    stat->has_row = false;
    return cursor_seek(stat->cursor, &key, err) < 0 ? -1 : step_stat(list, stat, err);
}

/* Finds the stat row of an id on its cursor. Returns 1, 0 where it is not near, -1. */
static int find_stat(struct sqlpack_list *list, int64_t id, struct stat_cursor **ret_stat,
                     struct sqlpack_error *err)
{
    int class = id < ID_LATE_FOLDER ? 0 : id < ID_LATE_FILE ? 1 : 2;
    struct stat_cursor *stat = &list->stats[class];
    if ((!stat->cursor || stat->misses > MISSES_MAX) && put_stat(list, stat, id, err) < 0)
        return -1;
    while (stat->has_row && stat->row.rowid < id && id - stat->row.rowid <= NEAR_IDS)
        if (step_stat(list, stat, err) < 0)
            return -1;
    *ret_stat = stat;
    bool is_found = stat->has_row && stat->row.rowid == id;
    stat->misses = is_found ? 0 : stat->misses + 1;
    return is_found;
}

/* -- one entry ----------------------------------------------------------------------------- */

/* Fills an entry without a look at sqlar, whose rows stand among the content. Returns 1, or 0
 * where sqlar must tell: symlinks, hard links, rows of other programs (no seal is over a name
 * that had to be made normal). */
static int fill_from_stat(struct sqlpack_list *list, int64_t id, const char *name,
                          struct sqlpack_entry *entry, struct sqlpack_error *err)
{
    struct stat_cursor *stat;
    if (!list->pack->is_own)
        return 0;
    int filled = find_stat(list, id, &stat, err);
    if (filled > 0)
        filled = row_stat_record(list->pack, &stat->row, name, entry, err);
    return filled > 0 ? !S_ISLNK(entry->mode) && entry->link == 0 : filled;
}

static int fill(struct sqlpack_list *list, int64_t id, const char *name,
                struct sqlpack_entry *entry, struct sqlpack_error *err)
{
    struct reader_row row;
    int filled = fill_from_stat(list, id, name, entry, err);
    if (filled != 0)
        return filled < 0 ? -1 : 0;
    int found = row_by_id(list->pack, id, name, -1, &row, err);
    if (found < 0)
        return -1;
    if (!found)
        return db_corrupt(list->pack, err, "'%s' is in the index of names only", show(name).text);
    *entry = row.entry;
    return 0;
}

/* -- the walk over the names --------------------------------------------------------------- */

static void skip(const struct sqlpack_list *list, const char *name, const char *why)
{
    if (list->options.skipped)
        list->options.skipped(list->options.user, name, why);
}

/* Takes a name from the index. Returns 1, or 0 where the row is to be passed over. */
static int take_indexed(struct sqlpack_list *list, int64_t id, const char *raw, size_t size,
                        const char **ret_name, struct sqlpack_error *err)
{
    struct name_verdict verdict;
    if (name_ascends(list->pack, raw, size, &list->last, err) < 0)
        return -1;
    *ret_name = list->last.data;
    if (path_is_safe(list->last.data, size))
        return 1;
    if (names_judge(list->pack, id, list->last.data, size, &verdict, err) < 0)
        return -1;
    *ret_name = verdict.name;
    if (verdict.skip_why)
        skip(list, verdict.name, verdict.skip_why);
    return !verdict.skip_why && *verdict.name;
}

/* The same where rows of one normal name follow each other, the best one first. */
static int take_sorted(struct sqlpack_list *list, const char *raw, size_t size,
                       const char **ret_name, struct sqlpack_error *err)
{
    enum name_form form;
    if (name_form(raw, size, &list->normal, &form) < 0)
        return fail_memory(list, err);
    *ret_name = form == NAME_PLAIN ? raw : list->normal.data;
    if (form == NAME_UNSAFE) {
        skip(list, raw, NAME_IS_UNSAFE);
        return 0;
    }
    if (form == NAME_ROOT || !path_is_below(*ret_name, list->below.data))
        return 0;
    if (list->last.data && strcmp(list->last.data, *ret_name) == 0) {
        skip(list, raw, NAME_IS_DOUBLE);
        return 0;
    }
    list->last.size = 0;
    if (buf_append_text(&list->last, *ret_name) < 0 || buf_terminate(&list->last) < 0)
        return fail_memory(list, err);
    return 1;
}

/* After the entry itself comes what begins with its name and a slash. */
static int seek_below(struct sqlpack_list *list, struct sqlpack_error *err)
{
    auto_release(buf_release) struct buf from = {0};
    if (buf_append(&from, list->below.data, list->below.size) < 0 ||
        buf_append_char(&from, '/') < 0)
        return fail_memory(list, err);
    const struct cursor_key key = {.name = from.data, .name_bytes = from.size};
    list->walk = WALK_BELOW;
    return cursor_seek(list->index, &key, err);
}

static int next_indexed(struct sqlpack_list *list, int64_t *ret_id, const char **ret_name,
                        struct sqlpack_error *err)
{
    const char *raw;
    size_t size;
    for (;;) {
        if (list->walk == WALK_ENTER && seek_below(list, err) < 0)
            return -1;
        int stepped = cursor_next_name(list->index, ret_id, &raw, &size, err);
        if (stepped < 0)
            return -1;
        const struct buf *below = &list->below;
        bool is_below =
            stepped > 0 && size >= below->size && memcmp(raw, below->data, below->size) == 0;
        if (list->walk == WALK_EXACT) {
            list->walk = WALK_ENTER;
            if (!is_below || size > below->size)
                continue;
        } else if (list->walk == WALK_BELOW && is_below) {
            is_below = size > below->size && raw[below->size] == '/';
        }
        if (!is_below)
            return 0;
        int taken = take_indexed(list, *ret_id, raw, size, ret_name, err);
        if (taken != 0)
            return taken;
    }
}

static int next_sorted(struct sqlpack_list *list, int64_t *ret_id, const char **ret_name,
                       struct sqlpack_error *err)
{
    for (;;) {
        int stepped = db_step(list->pack, list->names, err);
        if (stepped <= 0)
            return stepped;
        size_t size;
        const char *raw = name_column(list->names, 1, &size);
        if (!raw)
            return db_corrupt(list->pack, err, "a name is no text");
        *ret_id = sqlite3_column_int64(list->names, 0);
        *ret_name = raw;
        int taken = list->walk == WALK_SORTED ? 1 : take_sorted(list, raw, size, ret_name, err);
        if (taken != 0)
            return taken;
    }
}

/* Steps to the next id and name, normal and safe. Returns 1, 0, -1. */
static int next_name(struct sqlpack_list *list, int64_t *ret_id, const char **ret_name,
                     struct sqlpack_error *err)
{
    return list->index ? next_indexed(list, ret_id, ret_name, err)
                       : next_sorted(list, ret_id, ret_name, err);
}

/* -- other orders -------------------------------------------------------------------------- */

static int64_t sort_key(enum sqlpack_sort sort, const struct sqlpack_entry *entry)
{
    int64_t key;
    if (sort == SQLPACK_BY_SIZE)
        return entry->sz < INT64_MAX ? (int64_t)entry->sz : INT64_MAX;
    if (sort == SQLPACK_BY_NAME)
        return 0;
    if (__builtin_mul_overflow(entry->mtime, 1000000000, &key) ||
        __builtin_add_overflow(key, entry->mtime_ns, &key))
        return entry->mtime < 0 ? INT64_MIN : INT64_MAX;
    return key;
}

static int fill_spool(struct sqlpack_list *list, sqlite3_stmt *add, struct sqlpack_error *err)
{
    struct sqlpack_entry entry = {0};
    const char *name = NULL;
    int64_t id = 0;
    int stepped;
    while ((stepped = next_name(list, &id, &name, err)) > 0) {
        int64_t key = 0;
        if (list->options.sort != SQLPACK_BY_NAME) {
            if (fill(list, id, name, &entry, err) < 0)
                return -1;
            key = sort_key(list->options.sort, &entry);
        }
        sqlite3_reset(add);
        sqlite3_bind_int64(add, 1, key);
        sqlite3_bind_int64(add, 2, id);
        sqlite3_bind_text(add, 3, name, -1, SQLITE_STATIC);
        if (db_step(list->pack, add, err) < 0)
            return -1;
    }
    return stepped;
}

/* Puts the whole walk into the spool and walks over that. */
static int begin_sorted(struct sqlpack_list *list, struct sqlpack_error *err)
{
    if (db_run(list->pack, STATEMENT_SORT_CREATE, err) < 0 ||
        db_run(list->pack, STATEMENT_SORT_CLEAR, err) < 0)
        return -1;
    list->has_spool = true;
    auto_release(db_release) sqlite3_stmt *add = db_prepare(list->pack, STATEMENT_SORT_ADD, err);
    if (!add || fill_spool(list, add, err) < 0)
        return -1;
    sqlite3_finalize(list->names);
    cursor_close(list->index);
    list->index = NULL;
    enum statement which = list->options.sort == SQLPACK_BY_NAME ? STATEMENT_SORT_BACK
                           : list->options.reverse               ? STATEMENT_SORT_DOWN
                                                                 : STATEMENT_SORT_UP;
    list->names = db_prepare(list->pack, which, err);
    list->walk = WALK_SORTED;
    return list->names ? 0 : -1;
}

/* -- the list ------------------------------------------------------------------------------ */

static int take_below(struct sqlpack_list *list, const char *below, struct sqlpack_error *err)
{
    enum name_form form;
    size_t size = strlen(below);
    if (name_form(below, size, &list->below, &form) < 0)
        return fail_memory(list, err);
    if (form == NAME_UNSAFE && size > 0)
        return fail(err, SQLPACK_NOT_FOUND, "cannot find '%s' in '%s'", show(below).text,
                    show(list->pack->path).text);
    if ((form == NAME_PLAIN && buf_append(&list->below, below, size) < 0) ||
        buf_terminate(&list->below) < 0)
        return fail_memory(list, err);
    return 0;
}

static int begin_walk(struct sqlpack_list *list, struct sqlpack_error *err)
{
    bool is_odd;
    if (names_may_be_odd(list->pack, &is_odd, err) < 0)
        return -1;
    if (is_odd && names_check(list->pack, err) < 0)
        return -1;
    if (is_odd && list->pack->names.has_odd) {
        list->walk = WALK_NORMAL;
        list->names = db_prepare(list->pack, STATEMENT_NAMES_NORMAL, err);
        return list->names ? 0 : -1;
    }
    const struct cursor_key key = {.name = list->below.data, .name_bytes = list->below.size};
    list->walk = list->below.size > 0 ? WALK_EXACT : WALK_ALL;
    if (cursor_open(list->pack, TABLE_SQLAR_NAME, &list->index, err) < 0)
        return -1;
    return cursor_seek(list->index, &key, err);
}

int sqlpack_list_open(struct sqlpack *pack, const struct sqlpack_list_options *options,
                      struct sqlpack_list **ret_list, struct sqlpack_error *err)
{
    struct sqlpack_list *list = calloc(1, sizeof(*list));
    if (!list)
        return fail_errno(err, "cannot list '%s'", show(pack->path).text);
    list->pack = pack;
    if (options)
        list->options = *options;
    bool is_sorted = list->options.sort != SQLPACK_BY_NAME || list->options.reverse;
    if (take_below(list, list->options.below ? list->options.below : "", err) < 0 ||
        begin_walk(list, err) < 0 || (is_sorted && begin_sorted(list, err) < 0)) {
        sqlpack_list_close(list);
        return -1;
    }
    *ret_list = list;
    return 0;
}

int sqlpack_list_next(struct sqlpack_list *list, struct sqlpack_entry *ret_entry,
                      struct sqlpack_error *err)
{
    struct sqlpack_entry entry = {0};
    if (list->has_ended)
        return 0;
    int stepped = next_name(list, &entry.id, &entry.name, err);
    list->has_ended = stepped <= 0;
    if (stepped == 0 && !list->has_found && list->below.size > 0)
        return fail(err, SQLPACK_NOT_FOUND, "cannot find '%s' in '%s'", show(list->below.data).text,
                    show(list->pack->path).text);
    if (stepped <= 0)
        return stepped;
    if (!list->options.names_only && fill(list, entry.id, entry.name, &entry, err) < 0)
        return -1;
    list->has_found = true;
    *ret_entry = entry;
    return 1;
}

void sqlpack_list_close(struct sqlpack_list *list)
{
    if (!list)
        return;
    sqlite3_finalize(list->names);
    cursor_close(list->index);
    for (int i = 0; i < CLASSES; i++)
        cursor_close(list->stats[i].cursor);
    struct sqlpack_error ignored;
    if (list->has_spool)
        db_run(list->pack, STATEMENT_SORT_CLEAR, &ignored);
    buf_release(&list->below);
    buf_release(&list->last);
    buf_release(&list->normal);
    free(list);
}

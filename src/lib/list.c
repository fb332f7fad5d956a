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
    sqlite3_stmt *statement; /* NULL: not begun */
    int64_t id;              /* of the row it stands on */
    bool has_row;
    unsigned misses;
};

enum walk {
    WALK_EXACT,  /* the entry that options.below names */
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
    sqlite3_stmt *names; /* gives id and name */
    struct buf last;     /* the last name of the walk */
    struct buf normal;   /* the present name, made normal */
    struct stat_cursor cursors[CLASSES];
    bool has_spool; /* its table exists */
    bool has_found; /* an entry was given */
    bool has_ended; /* SQLite would begin anew */
};

static int fail_memory(const struct sqlpack_list *list, struct sqlpack_error *err)
{
    return fail_errno(err, "cannot list '%s'", show(list->pack->path).text);
}

/* -- the stat row of an id ----------------------------------------------------------------- */

static int step_cursor(struct sqlpack_list *list, struct stat_cursor *cursor,
                       struct sqlpack_error *err)
{
    int stepped = db_step(list->pack, cursor->statement, err);
    if (stepped < 0)
        return -1;
    cursor->has_row = stepped;
    if (stepped)
        cursor->id = sqlite3_column_int64(cursor->statement, 0);
    return 0;
}

static int put_cursor(struct sqlpack_list *list, struct stat_cursor *cursor, int64_t id,
                      struct sqlpack_error *err)
{
    if (!cursor->statement && !(cursor->statement = db_prepare(list->pack, STATEMENT_STATS, err)))
        return -1;
    sqlite3_reset(cursor->statement);
    sqlite3_bind_int64(cursor->statement, 1, id);
    sqlite3_bind_int64(cursor->statement, 2, INT64_MAX);
    cursor->misses = 0;
    return step_cursor(list, cursor, err);
}

/* Gives the statement that stands on the stat row, or one without a row: then there is none. */
static int find_stat(struct sqlpack_list *list, int64_t id, sqlite3_stmt **ret_statement,
                     bool *ret_found, struct sqlpack_error *err)
{
    int class = id < ID_LATE_FOLDER ? 0 : id < ID_LATE_FILE ? 1 : 2;
    struct stat_cursor *cursor = &list->cursors[class];
    if ((!cursor->statement || cursor->misses > MISSES_MAX) &&
        put_cursor(list, cursor, id, err) < 0)
        return -1;
    while (cursor->has_row && cursor->id < id && id - cursor->id <= NEAR_IDS)
        if (step_cursor(list, cursor, err) < 0)
            return -1;
    *ret_found = cursor->has_row && cursor->id == id;
    *ret_statement = cursor->statement;
    if (*ret_found) {
        cursor->misses = 0;
        return 0;
    }
    cursor->misses++;
    *ret_statement = db_statement(list->pack, STATEMENT_STAT_BY_ID, err);
    if (!*ret_statement)
        return -1;
    sqlite3_bind_int64(*ret_statement, 1, id);
    int found = db_step(list->pack, *ret_statement, err);
    *ret_found = found > 0;
    return found < 0 ? -1 : 0;
}

/* -- one entry ----------------------------------------------------------------------------- */

/* Fills an entry without a look at sqlar, whose rows stand among the content. Returns 1, or 0
 * where sqlar must tell: symlinks, hard links, rows of other programs (no seal is over a name
 * that had to be made normal). */
static int fill_from_stat(struct sqlpack_list *list, int64_t id, const char *name,
                          struct sqlpack_entry *entry, struct sqlpack_error *err)
{
    sqlite3_stmt *statement;
    bool is_found, is_sealed;
    if (!list->pack->is_own)
        return 0;
    if (find_stat(list, id, &statement, &is_found, err) < 0)
        return -1;
    if (!is_found)
        return 0;
    if (row_stat(list->pack, statement, 0, name, entry, &is_sealed, err) < 0)
        return -1;
    return is_sealed && !S_ISLNK(entry->mode) && entry->link == 0;
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

/* Makes normal what stands in the index. Returns 1, or 0 where the row is to be passed over. */
static int take_indexed(struct sqlpack_list *list, int64_t id, const char *raw, size_t size,
                        const char **ret_name, struct sqlpack_error *err)
{
    const char *skip_why = NULL;
    if (name_ascends(list->pack, raw, size, &list->last, err) < 0)
        return -1;
    *ret_name = raw;
    if (!path_is_safe(raw, size) &&
        names_judge(list->pack, id, raw, size, ret_name, &skip_why, err) < 0)
        return -1;
    if (skip_why)
        skip(list, raw, skip_why);
    return !skip_why && **ret_name;
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
        skip(list, raw, "its name is not safe");
        return 0;
    }
    if (form == NAME_ROOT || !path_is_below(*ret_name, list->below.data))
        return 0;
    if (list->last.data && strcmp(list->last.data, *ret_name) == 0) {
        skip(list, raw, "another row has the same name");
        return 0;
    }
    list->last.size = 0;
    if (buf_append_text(&list->last, *ret_name) < 0 || buf_terminate(&list->last) < 0)
        return fail_memory(list, err);
    return 1;
}

static int bind_range(struct sqlpack_list *list, const char *from, size_t from_bytes,
                      const char *below, size_t below_bytes)
{
    sqlite3_reset(list->names);
    sqlite3_bind_text(list->names, 1, from, (int)from_bytes, SQLITE_TRANSIENT);
    return sqlite3_bind_text(list->names, 2, below, (int)below_bytes, SQLITE_TRANSIENT);
}

/* After the entry itself: from `below/` to what comes after all that begins so. */
static int begin_below(struct sqlpack_list *list, struct sqlpack_error *err)
{
    auto_release(buf_release) struct buf from = {0}, until = {0};
    if (buf_append_text(&from, list->below.data) < 0 || buf_append_char(&from, '/') < 0 ||
        buf_append_text(&until, list->below.data) < 0 || buf_append_char(&until, '/' + 1) < 0 ||
        bind_range(list, from.data, from.size, until.data, until.size) != SQLITE_OK)
        return fail_memory(list, err);
    list->walk = WALK_BELOW;
    return 0;
}

/* Steps to the next id and name, normal and safe. Returns 1, 0, -1. */
static int next_name(struct sqlpack_list *list, int64_t *ret_id, const char **ret_name,
                     struct sqlpack_error *err)
{
    for (;;) {
        int stepped = db_step(list->pack, list->names, err);
        if (stepped == 0 && list->walk == WALK_EXACT) {
            if (begin_below(list, err) < 0)
                return -1;
            continue;
        }
        if (stepped <= 0)
            return stepped;
        size_t size;
        const char *raw = name_column(list->names, 1, &size);
        if (!raw)
            return db_corrupt(list->pack, err, "a name is no text");
        *ret_id = sqlite3_column_int64(list->names, 0);
        *ret_name = raw;
        if (list->walk == WALK_SORTED)
            return 1;
        int taken = list->walk == WALK_NORMAL
                        ? take_sorted(list, raw, size, ret_name, err)
                        : take_indexed(list, *ret_id, raw, size, ret_name, err);
        if (taken != 0)
            return taken;
    }
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
    struct sqlpack_entry entry;
    const char *name;
    int64_t id;
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
    if (db_run(list->pack, STATEMENT_SORT_CREATE, err) < 0)
        return -1;
    list->has_spool = true;
    auto_release(db_release) sqlite3_stmt *add = db_prepare(list->pack, STATEMENT_SORT_ADD, err);
    if (!add || fill_spool(list, add, err) < 0)
        return -1;
    sqlite3_finalize(list->names);
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
    enum statement which;
    if (is_odd && list->pack->names.has_odd) {
        list->walk = WALK_NORMAL;
        which = STATEMENT_NAMES_NORMAL;
    } else if (list->below.size == 0) {
        list->walk = WALK_ALL;
        which = STATEMENT_NAMES;
    } else {
        list->walk = WALK_EXACT;
        which = STATEMENT_NAMES_BETWEEN;
    }
    list->names = db_prepare(list->pack, which, err);
    if (!list->names)
        return -1;
    /* With the NUL behind it, `below` is the least name greater than itself. */
    const struct buf *below = &list->below;
    if (list->walk == WALK_EXACT &&
        bind_range(list, below->data, below->size, below->data, below->size + 1) != SQLITE_OK)
        return fail_memory(list, err);
    return 0;
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
    for (int i = 0; i < CLASSES; i++)
        sqlite3_finalize(list->cursors[i].statement);
    struct sqlpack_error ignored;
    if (list->has_spool)
        db_run(list->pack, STATEMENT_SORT_DROP, &ignored);
    buf_release(&list->below);
    buf_release(&list->last);
    buf_release(&list->normal);
    free(list);
}

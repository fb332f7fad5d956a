/* SPDX-License-Identifier: MIT */
/* The names that other programs write: their normal form, and which rows they leave usable. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "lib/internal.h"

/* Appends the parts of a name that mean something. Returns 1, 0 where one is unsafe, -1. */
static int append_parts(struct buf *normal, const char *name, size_t size)
{
    while (size > 0) {
        const char *slash = memchr(name, '/', size);
        size_t part = slash ? (size_t)(slash - name) : size;
        if (part > 0 && !(part == 1 && *name == '.')) {
            if (!path_is_safe(name, part))
                return 0;
            if ((normal->size && buf_append_char(normal, '/') < 0) ||
                buf_append(normal, name, part) < 0)
                return -1;
        }
        part += slash ? 1 : 0;
        name += part;
        size -= part;
    }
    return 1;
}

static bool is_wrapped(const char *before, const struct buf *normal, const char *after,
                       const char *name, size_t size)
{
    size_t head = strlen(before), tail = strlen(after);
    return size == head + normal->size + tail && memcmp(name, before, head) == 0 &&
           memcmp(name + head, normal->data, normal->size) == 0 &&
           memcmp(name + head + normal->size, after, tail) == 0;
}

int name_form(const char *name, size_t size, struct buf *ret_normal, enum name_form *ret_form)
{
    ret_normal->size = 0;
    *ret_form = NAME_PLAIN;
    if (path_is_safe(name, size))
        return 0;
    int made = append_parts(ret_normal, name, size);
    if (made < 0 || buf_terminate(ret_normal) < 0)
        return -1;
    if (made == 0 || size == 0)
        *ret_form = NAME_UNSAFE;
    else if (ret_normal->size == 0)
        *ret_form = NAME_ROOT;
    else if (is_wrapped("./", ret_normal, "", name, size))
        *ret_form = NAME_DOT;
    else if (is_wrapped("/", ret_normal, "", name, size))
        *ret_form = NAME_SLASH;
    else if (is_wrapped("", ret_normal, "/", name, size))
        *ret_form = NAME_TAIL;
    else
        *ret_form = NAME_OTHER;
    return 0;
}

const char *name_column(sqlite3_stmt *statement, int column, size_t *ret_size)
{
    if (sqlite3_column_type(statement, column) != SQLITE_TEXT)
        return NULL;
    const char *name = (const char *)sqlite3_column_text(statement, column);
    if (!name)
        return NULL;
    *ret_size = (size_t)sqlite3_column_bytes(statement, column);
    return memchr(name, '\0', *ret_size) ? NULL : name;
}

/* -- as SQL functions, for sorting --------------------------------------------------------- */

static bool sql_form(sqlite3_context *context, sqlite3_value *value, struct buf *normal,
                     enum name_form *ret_form)
{
    const char *name = (const char *)sqlite3_value_text(value);
    size_t size = (size_t)sqlite3_value_bytes(value);
    if (name && name_form(name, size, normal, ret_form) == 0)
        return true;
    sqlite3_result_error_nomem(context);
    return false;
}

static void sql_normal(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    auto_release(buf_release) struct buf normal = {0};
    enum name_form form;
    if (!sql_form(context, values[0], &normal, &form))
        return;
    if (form == NAME_PLAIN)
        sqlite3_result_value(context, values[0]);
    else if (form != NAME_UNSAFE)
        sqlite3_result_text64(context, normal.data, normal.size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void sql_rank(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    auto_release(buf_release) struct buf normal = {0};
    enum name_form form;
    if (sql_form(context, values[0], &normal, &form))
        sqlite3_result_int(context, (int)form);
}

int name_register(sqlite3 *db)
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    int code = sqlite3_create_function_v2(db, "sqlpack_normal", 1, flags, NULL, sql_normal, NULL,
                                          NULL, NULL);
    if (code != SQLITE_OK)
        return code;
    return sqlite3_create_function_v2(db, "sqlpack_form", 1, flags, NULL, sql_rank, NULL, NULL,
                                      NULL);
}

/* -- all names of a pack ------------------------------------------------------------------- */

/* Compares as the index does: bytes, then length. */
static int compare(const char *a, size_t a_size, const struct buf *b)
{
    size_t common = a_size < b->size ? a_size : b->size;
    int order = common ? memcmp(a, b->data, common) : 0;
    return order ? order : (a_size > b->size) - (a_size < b->size);
}

int name_ascends(struct sqlpack *pack, const char *name, size_t size, struct buf *last,
                 struct sqlpack_error *err)
{
    if (last->data && compare(name, size, last) <= 0)
        return db_corrupt(pack, err, "the index of names is not in order");
    last->size = 0;
    if (buf_append(last, name, size) < 0 || buf_terminate(last) < 0)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    return 0;
}

static void cursor_release(struct cursor **cursor)
{
    cursor_close(*cursor);
}

int names_check(struct sqlpack *pack, struct sqlpack_error *err)
{
    static const struct cursor_key first = {.name = ""};
    auto_release(buf_release) struct buf last = {0}, normal = {0};
    auto_release(cursor_release) struct cursor *cursor = NULL;
    if (pack->names.is_checked)
        return 0;
    if (cursor_open(pack, TABLE_SQLAR_NAME, &cursor, err) < 0 ||
        cursor_seek(cursor, &first, err) < 0)
        return -1;
    int64_t id;
    const char *name;
    size_t size;
    int stepped;
    while ((stepped = cursor_next_name(cursor, &id, &name, &size, err)) > 0) {
        enum name_form form;
        if (name_ascends(pack, name, size, &last, err) < 0)
            return -1;
        if (name_form(name, size, &normal, &form) < 0)
            return fail_errno(err, "cannot read '%s'", show(pack->path).text);
        pack->names.has_odd |= form != NAME_PLAIN;
        pack->names.has_other |= form == NAME_OTHER;
    }
    pack->names.is_checked = stepped == 0;
    return stepped;
}

int names_find_other(struct sqlpack *pack, const char *name, int64_t *ret_id,
                     struct sqlpack_error *err)
{
    static const struct cursor_key first = {.name = ""};
    auto_release(buf_release) struct buf normal = {0};
    auto_release(cursor_release) struct cursor *cursor = NULL;
    if (names_check(pack, err) < 0)
        return -1;
    if (!pack->names.has_other)
        return 0;
    if (cursor_open(pack, TABLE_SQLAR_NAME, &cursor, err) < 0 ||
        cursor_seek(cursor, &first, err) < 0)
        return -1;
    const char *raw;
    size_t size;
    int stepped;
    while ((stepped = cursor_next_name(cursor, ret_id, &raw, &size, err)) > 0) {
        enum name_form form;
        if (name_form(raw, size, &normal, &form) < 0)
            return fail_errno(err, "cannot read '%s'", show(pack->path).text);
        if (form == NAME_OTHER && strcmp(normal.data, name) == 0)
            return 1;
    }
    return stepped;
}

static int fetch_id(struct sqlpack *pack, enum statement which, int column, int64_t *ret_id,
                    struct sqlpack_error *err)
{
    sqlite3_stmt *statement = db_statement(pack, which, err);
    if (!statement || db_step(pack, statement, err) < 0)
        return -1;
    *ret_id = sqlite3_column_int64(statement, column); /* 0 for NULL: there are no rows */
    sqlite3_reset(statement);
    return 0;
}

int names_may_be_odd(struct sqlpack *pack, bool *ret_may_be, struct sqlpack_error *err)
{
    int64_t last_id = 0, last_stat = 0;
    if (pack->names.is_checked || !pack->is_own) {
        *ret_may_be = pack->names.is_checked ? pack->names.has_odd : true;
        return 0;
    }
    /* sqlite3 -A gives what it writes an id above all others; their stat rows stay behind. */
    if (fetch_id(pack, STATEMENT_ID_ENDS, 1, &last_id, err) < 0 ||
        fetch_id(pack, STATEMENT_STAT_END, 0, &last_stat, err) < 0)
        return -1;
    *ret_may_be = last_id > last_stat;
    return 0;
}

/* -- doubles ------------------------------------------------------------------------------- */

/* The row's id goes into the table of doubles where `last` is its normal name, which a better or
 * an earlier row then has; *last becomes its name. */
static int note_double(struct sqlpack *pack, sqlite3_stmt *names, sqlite3_stmt *add,
                       struct buf *last, struct sqlpack_error *err)
{
    auto_release(buf_release) struct buf normal = {0};
    size_t size;
    enum name_form form;
    const char *name = name_column(names, 1, &size);
    if (!name)
        return db_corrupt(pack, err, "a name is no text");
    if (name_form(name, size, &normal, &form) < 0)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    if (form == NAME_UNSAFE || form == NAME_ROOT)
        return 0;
    if (form != NAME_PLAIN) {
        name = normal.data;
        size = normal.size;
    }
    if (last->data && compare(name, size, last) == 0) {
        sqlite3_reset(add);
        sqlite3_bind_int64(add, 1, sqlite3_column_int64(names, 0));
        return db_step(pack, add, err);
    }
    last->size = 0;
    if (buf_append(last, name, size) < 0)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    return 0;
}

static int find_doubles(struct sqlpack *pack, struct sqlpack_error *err)
{
    if (pack->names.has_doubles)
        return 0;
    if (names_check(pack, err) < 0 || db_run(pack, STATEMENT_DOUBLES_CREATE, err) < 0)
        return -1;
    auto_release(buf_release) struct buf last = {0};
    auto_release(db_release) sqlite3_stmt *add = db_prepare(pack, STATEMENT_DOUBLES_ADD, err);
    if (!add)
        return -1;
    auto_release(db_release) sqlite3_stmt *names = db_prepare(pack, STATEMENT_NAMES_NORMAL, err);
    if (!names)
        return -1;
    int stepped;
    while ((stepped = db_step(pack, names, err)) > 0)
        if (note_double(pack, names, add, &last, err) < 0)
            return -1;
    pack->names.has_doubles = stepped == 0;
    return stepped;
}

static int is_double(struct sqlpack *pack, int64_t id, struct sqlpack_error *err)
{
    if (find_doubles(pack, err) < 0)
        return -1;
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_DOUBLES_FIND, err);
    if (!statement)
        return -1;
    sqlite3_bind_int64(statement, 1, id);
    int found = db_step(pack, statement, err);
    sqlite3_reset(statement);
    return found;
}

int names_judge(struct sqlpack *pack, int64_t id, const char *name, size_t size,
                struct name_verdict *ret_verdict, struct sqlpack_error *err)
{
    enum name_form form;
    if (name_form(name, size, &pack->normal, &form) < 0)
        return fail_errno(err, "cannot read '%s'", show(pack->path).text);
    *ret_verdict = (struct name_verdict){.name = name};
    if (form == NAME_PLAIN)
        return 0;
    if (form == NAME_UNSAFE) {
        ret_verdict->skip_why = NAME_IS_UNSAFE;
        return 0;
    }
    int found = form == NAME_ROOT ? 0 : is_double(pack, id, err);
    if (found < 0)
        return -1;
    if (found > 0)
        ret_verdict->skip_why = NAME_IS_DOUBLE;
    else
        ret_verdict->name = pack->normal.data;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Reads a result back from its JSON, whoever may have written it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define FILE_BYTES_MAX ((size_t)256 << 20)
#define CASES_MAX      1000
#define SERIES_MAX     4000 /* of all cases: each has a histogram of 18 KB */
#define EFFECTS_MAX    4000
#define NOTES_MAX      1000
#define DEPTH_MAX      16

/* Where in the document we are: which struct the fields of an object belong to. */
enum place {
    SKIPPED,
    ROOT,
    ENVIRONMENT,
    CORPUS,
    CHOICES,
    CHOICE,
    GATES,
    GATE,
    LINES,
    LINE,
    NOTES,
    CASES,
    CASE,
    ALL_SERIES,
    SERIES,
    SUMMARY,
    WARM_UP,
    RUNS,
    RUN,
    HIST,
    BUCKET_NS,
    BUCKET_COUNTS,
    EFFECTS,
    EFFECT,
};

/* Which container leads where; the elements of a list have no key. */
static const struct step {
    enum place from, to;
    const char *key;
} steps[] = {
    {ROOT, ENVIRONMENT, "environment"},
    {ROOT, CORPUS, "corpus"},
    {CORPUS, CHOICES, "choices"},
    {CHOICES, CHOICE, NULL},
    {ROOT, GATES, "gates"},
    {GATES, GATE, NULL},
    {ROOT, LINES, "lines"},
    {LINES, LINE, NULL},
    {ROOT, NOTES, "notes"},
    {ROOT, CASES, "cases"},
    {CASES, CASE, NULL},
    {CASE, ALL_SERIES, "series"},
    {ALL_SERIES, SERIES, NULL},
    {SERIES, SUMMARY, "summary"},
    {SERIES, WARM_UP, "warm_up"},
    {SERIES, RUNS, "runs"},
    {RUNS, RUN, NULL},
    {SERIES, HIST, "hist"},
    {HIST, BUCKET_NS, "bucket_ns"},
    {HIST, BUCKET_COUNTS, "bucket_count"},
    {CASE, EFFECTS, "effects"},
    {EFFECTS, EFFECT, NULL},
};

struct level {
    int64_t id;
    enum place place;
    void *base;                 /* the struct that is filled; NULL: none */
    const struct field *fields; /* of it */
    size_t count;               /* elements so far, of a list */
};

struct loader {
    struct bench_result *result;
    struct sqlpack_error *err;
    struct level levels[DEPTH_MAX];
    size_t depth;
    bool has_schema;
    size_t total_series, total_effects;
    uint64_t bucket_ns[HIST_BUCKETS]; /* of the open histogram */
    size_t bucket_count;
};

static const struct bench_arm stand_ins[] = {
    [BENCH_FILES] = {.name = "", .side = BENCH_FILES},
    [BENCH_PACK] = {.name = "", .side = BENCH_PACK},
    [BENCH_CONTROL] = {.name = "", .side = BENCH_CONTROL},
};

static int bad(struct loader *loader, const char *what)
{
    return bench_fail(loader->err, SQLPACK_INVALID, "%s", what);
}

/* -- containers ----------------------------------------------------------------------------- */

/* One element more, all zero, in a list that holds `count`; room doubles. NULL: no memory. */
static void *grow(void *list, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return list;
    char *grown = reallocarray(list, count ? 2 * count : 1, size);
    if (grown)
        memset(grown + count * size, 0, (count ? count : 1) * size);
    return grown;
}

#define GROW(list, count)                                                                          \
    __extension__({                                                                                \
        void *grown = grow(list, count, sizeof(*(list)));                                          \
        grown ? (void *)&((list) = grown)[(count)++] : NULL;                                       \
    })

static struct bench_case *open_case(const struct loader *loader)
{
    return &loader->result->cases[loader->result->case_count - 1];
}

static struct bench_series *open_series(const struct loader *loader)
{
    struct bench_case *question = open_case(loader);
    return &question->series[question->series_count - 1];
}

static void *add_series(struct loader *loader)
{
    struct bench_case *question = open_case(loader);
    struct bench_series *series =
        loader->total_series++ < SERIES_MAX ? GROW(question->series, question->series_count) : NULL;
    if (series)
        series->arm = &stand_ins[BENCH_FILES];
    return series;
}

/* Room for all rounds at once: what is not there is a run that was not done. */
static void *add_run(struct loader *loader, size_t index)
{
    struct bench_series *series = open_series(loader);
    if (!series->runs)
        series->runs = calloc(STATS_VALUES_MAX, sizeof(*series->runs));
    return series->runs && index < STATS_VALUES_MAX ? &series->runs[index] : NULL;
}

static void *add_effect(struct loader *loader)
{
    struct bench_case *question = open_case(loader);
    return loader->total_effects++ < EFFECTS_MAX ? GROW(question->effects, question->effect_count)
                                                 : NULL;
}

static void *add_hist(struct loader *loader)
{
    struct bench_series *series = open_series(loader);
    if (!series->hist)
        series->hist = calloc(1, sizeof(*series->hist));
    loader->bucket_count = 0;
    return series->hist;
}

/* Element `index` of a fixed list. */
#define AT(list, index) ((index) < sizeof(list) / sizeof(*(list)) ? &(list)[index] : NULL)

/* The struct that a container fills, with room made for it; NULL: too many, or no memory. */
static void *base_of(struct loader *loader, enum place place, size_t index)
{
    struct bench_result *result = loader->result;
    switch (place) {
    case ENVIRONMENT:
        return &result->environment;
    case CORPUS:
        return &result->corpus;
    case CHOICE:
        return AT(result->corpus.choices, index);
    case GATE:
        return AT(result->gates, index);
    case LINE:
        return AT(result->lines, index);
    case CASE:
        return result->case_count < CASES_MAX ? GROW(result->cases, result->case_count) : NULL;
    case SERIES:
        return add_series(loader);
    case SUMMARY:
        return &open_series(loader)->summary;
    case WARM_UP:
        return &open_series(loader)->warm_up;
    case RUN:
        return add_run(loader, index);
    case HIST:
        return add_hist(loader);
    case EFFECT:
        return add_effect(loader);
    default:
        return NULL;
    }
}

static const struct field *fields_of(enum place place)
{
    static const struct field *const fields[EFFECT + 1] = {
        [ENVIRONMENT] = fields_environment,
        [CORPUS] = fields_corpus,
        [CHOICE] = fields_choice,
        [GATE] = fields_gate,
        [LINE] = fields_line,
        [CASE] = fields_case,
        [SERIES] = fields_series,
        [SUMMARY] = fields_summary,
        [WARM_UP] = fields_run,
        [RUN] = fields_run,
        [HIST] = fields_hist,
        [EFFECT] = fields_effect,
    };
    return fields[place];
}

/* What is not known, by its key or for its depth, is skipped with all that is in it. */
static int open_container(struct loader *loader, const struct load_item *item, int64_t id)
{
    struct level *parent = &loader->levels[loader->depth - 1];
    struct level level = {.id = id};
    size_t index = parent->count++;
    if (loader->depth == DEPTH_MAX)
        return 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        if (steps[i].from != parent->place ||
            (steps[i].key && strcmp(steps[i].key, item->key) != 0))
            continue;
        level.place = steps[i].to;
        level.fields = fields_of(level.place);
        level.base = base_of(loader, level.place, index);
        if (level.fields && !level.base)
            return bad(loader, "it lists more than a bench ever does");
    }
    loader->levels[loader->depth++] = level;
    return 0;
}

/* -- rows ----------------------------------------------------------------------------------- */

static int take_side(struct loader *loader, const struct load_item *item)
{
    for (int i = 0; i <= BENCH_CONTROL; i++) {
        if (strcmp(load_text(item), fields_side(i)) == 0) {
            open_series(loader)->arm = &stand_ins[i];
            return 0;
        }
    }
    return bad(loader, "'side' is none");
}

static int take_bucket(struct loader *loader, const struct level *level,
                       const struct load_item *item)
{
    uint64_t value;
    if (level->count > HIST_BUCKETS || !load_unsigned(item, UINT64_MAX, &value))
        return bad(loader, "its histogram is none");
    if (level->place == BUCKET_NS) {
        loader->bucket_ns[level->count - 1] = value;
        loader->bucket_count = level->count;
    } else if (level->count > loader->bucket_count) {
        return bad(loader, "its histogram is none");
    } else {
        open_series(loader)->hist->buckets[hist_bucket(loader->bucket_ns[level->count - 1])] +=
            value;
    }
    return 0;
}

static int take_note(struct loader *loader, const struct level *level, const struct load_item *item)
{
    struct bench_result *result = loader->result;
    if (level->count > NOTES_MAX)
        return bad(loader, "it lists more than a bench ever does");
    if (bench_note(result, loader->err, "%s", load_text(item)) < 0)
        return -1;
    load_clean(result->notes[result->note_count - 1]);
    return 0;
}

static int take_value(struct loader *loader, const struct load_item *item)
{
    struct level *level = &loader->levels[loader->depth - 1];
    level->count++;
    if (level->place == BUCKET_NS || level->place == BUCKET_COUNTS)
        return take_bucket(loader, level, item);
    if (level->place == NOTES)
        return take_note(loader, level, item);
    if (level->place == ROOT && strcmp(item->key, "schema") == 0)
        loader->has_schema = strcmp(load_text(item), BENCH_SCHEMA) == 0;
    if (level->place == SERIES && strcmp(item->key, "side") == 0)
        return take_side(loader, item);
    for (const struct field *field = level->fields; field && field->kind != FIELD_END; field++)
        if (strcmp(field->key, item->key) == 0 && !load_field(item, field, level->base))
            return bench_fail(loader->err, SQLPACK_INVALID, "'%s' has no fitting value",
                              field->key);
    return 0;
}

static int take_row(struct loader *loader, sqlite3_stmt *rows)
{
    const char *key = (const char *)sqlite3_column_text(rows, LOAD_KEY);
    const struct load_item item = {.key = key ? key : "",
                                   .type = (const char *)sqlite3_column_text(rows, LOAD_TYPE),
                                   .rows = rows};
    int64_t id = sqlite3_column_int64(rows, LOAD_ID);
    int64_t parent = sqlite3_column_int64(rows, LOAD_PARENT);
    if (!item.type)
        return bench_fail(loader->err, SQLPACK_NO_MEMORY, "out of memory");
    bool is_container = strcmp(item.type, "object") == 0 || strcmp(item.type, "array") == 0;
    if (sqlite3_column_type(rows, LOAD_PARENT) == SQLITE_NULL) {
        loader->levels[loader->depth++] = (struct level){
            .id = id, .place = ROOT, .base = loader->result, .fields = fields_result};
        return strcmp(item.type, "object") == 0 ? 0 : bad(loader, "it is no object");
    }
    /* ids grow as the document goes on: whatever is above the parent has ended */
    while (loader->depth > 1 && loader->levels[loader->depth - 1].id > parent)
        loader->depth--;
    if (loader->levels[loader->depth - 1].id != parent)
        return 0;
    return is_container ? open_container(loader, &item, id) : take_value(loader, &item);
}

/* -- the whole ------------------------------------------------------------------------------ */

static int check_series(struct loader *loader, const struct bench_case *question)
{
    for (size_t i = 0; i < question->effect_count; i++)
        if (question->effects[i].files >= question->series_count ||
            question->effects[i].pack >= question->series_count)
            return bad(loader, "an effect compares what is not there");
    return question->round_count <= STATS_VALUES_MAX ? 0 : bad(loader, "it has too many rounds");
}

static int check(struct loader *loader)
{
    const struct bench_result *result = loader->result;
    if (!loader->has_schema)
        return bad(loader, "it is no result of sqlpack bench, or of a later version");
    for (size_t i = 0; i < result->case_count; i++)
        if (check_series(loader, &result->cases[i]) < 0)
            return -1;
    return 0;
}

static int load_document(struct loader *loader, sqlite3 *db, const struct buf *text)
{
    sqlite3_stmt *rows = NULL;
    int result = 0;
    int code = sqlite3_prepare_v2(db, "SELECT key, type, atom, id, parent FROM json_tree(?1)", -1,
                                  &rows, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text64(rows, 1, text->data, text->size, SQLITE_STATIC, SQLITE_UTF8);
    while (code == SQLITE_OK && result == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        result = take_row(loader, rows);
        code = SQLITE_OK;
    }
    sqlite3_finalize(rows);
    if (result < 0)
        return -1;
    return code == SQLITE_DONE ? check(loader)
                               : bench_fail(loader->err, SQLPACK_INVALID, "%s", sqlite3_errmsg(db));
}

static int read_file(const char *path, struct buf *ret_text, struct sqlpack_error *err)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : 1;
    while (size > 0) {
        if (ret_text->size > FILE_BYTES_MAX)
            return bench_fail(err, SQLPACK_INVALID, "cannot read '%s': it is too large",
                              bench_show(path).text);
        if (buf_reserve(ret_text, 1 << 20) < 0)
            return bench_no_memory(err);
        size = file_read(fd, ret_text->data + ret_text->size, 1 << 20);
        ret_text->size += size > 0 ? (size_t)size : 0;
    }
    return size < 0 ? bench_fail_errno(err, "cannot read '%s'", bench_show(path).text) : 0;
}

static void close_db(sqlite3 **db)
{
    sqlite3_close(*db);
}

int bench_load(const char *path, struct bench_result *ret_result, struct sqlpack_error *err)
{
    auto_release(buf_release) struct buf text = {0};
    auto_release(close_db) sqlite3 *db = NULL;
    struct sqlpack_error why = {0};
    if (read_file(path, &text, err) < 0)
        return -1;
    auto_free struct loader *loader = calloc(1, sizeof(*loader));
    if (!loader || sqlite3_open(":memory:", &db) != SQLITE_OK)
        return bench_no_memory(err);
    *ret_result = (struct bench_result){0};
    loader->result = ret_result;
    loader->err = &why;
    if (load_document(loader, db, &text) == 0)
        return 0;
    bench_result_release(ret_result);
    return bench_fail(err, why.status, "cannot read '%s': %s", bench_show(path).text, why.message);
}

const char *bench_compile_option(int index)
{
    return sqlite3_compileoption_get(index);
}

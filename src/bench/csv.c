/* SPDX-License-Identifier: MIT */
/* The published CSV benchmark: records written, read and queried in four places. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define LINE_MAX_    64
#define NAME_MAX_    32
#define DATA         "csv-data"
#define UNFINISHED   "csv-new"
#define WRITE_ROUNDS 6 /* lowest to highest cover the median with 96.9 % */
#define ALL_ROUNDS   11

/* Where records lie. */
enum place { CSV_TEXT, CSV_DATABASE, CSV_FLAT, CSV_FANOUT };

struct record {
    unsigned id;
    char name[LINE_MAX_];
};

/* What a query gathers, as the published one does in a list. */
struct records {
    struct record *items; /* owned */
    size_t count, capacity;
};

static void records_release(struct records *records)
{
    free(records->items);
}

static void take(struct records *records, unsigned id, const char *name)
{
    if (records->count == records->capacity)
        return;
    struct record *record = &records->items[records->count++];
    record->id = id;
    snprintf(record->name, sizeof(record->name), "%s", name);
}

/* A path below scratch: "csv-data.3/0012/001234"; the caller frees it. */
static char *name_path(const char *scratch, const char *what, enum place place, long record)
{
    char *path;
    int size = -1;
    if (record < 0)
        size = asprintf(&path, "%s/%s.%d", scratch, what, (int)place);
    else if (place == CSV_FLAT)
        size = asprintf(&path, "%s/%s.%d/%06ld", scratch, what, (int)place, record);
    else
        size = asprintf(&path, "%s/%s.%d/%04ld/%06ld", scratch, what, (int)place, record / 100,
                        record);
    return size < 0 ? NULL : path;
}

/* -- writing ------------------------------------------------------------------------------ */

static int write_text(const char *path, size_t count)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    fputs("id,name\r\n", file);
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "%u,Name_%u\r\n", i, i);
    bool is_good = !ferror(file);
    return fclose(file) == 0 && is_good ? 0 : -1;
}

static int insert_records(sqlite3 *db, size_t count)
{
    sqlite3_stmt *insert = NULL;
    int code = sqlite3_prepare_v2(db, "INSERT INTO users VALUES(?1, ?2)", -1, &insert, NULL);
    for (unsigned i = 0; code == SQLITE_OK && i < count; i++) {
        char name[32];
        int size = snprintf(name, sizeof(name), "Name_%u", i);
        sqlite3_bind_int64(insert, 1, i);
        sqlite3_bind_text(insert, 2, name, size, SQLITE_STATIC);
        sqlite3_step(insert);
        code = sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_database(const char *path, size_t count)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db,
                            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
                            "CREATE TABLE users(id INTEGER, name TEXT); BEGIN",
                            NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = insert_records(db, count);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    int closed = sqlite3_close(db);
    errno = EIO;
    return code == SQLITE_OK && closed == SQLITE_OK ? 0 : -1;
}

static int write_record(const char *scratch, const char *what, enum place place, unsigned id)
{
    char line[LINE_MAX_];
    auto_free char *path = name_path(scratch, what, place, id);
    if (!path)
        return -1;
    if (place == CSV_FANOUT && id % 100 == 0) {
        char *slash = strrchr(path, '/');
        *slash = '\0';
        if (mkdir(path, 0700) < 0)
            return -1;
        *slash = '/';
    }
    int size = snprintf(line, sizeof(line), "%u,Name_%u\r\n", id, id);
    auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? -1 : file_write(fd, line, (size_t)size);
}

static int write_place(const struct bench_data *data, const char *what, enum place place)
{
    int status = 0;
    auto_free char *path = name_path(data->scratch, what, place, -1);
    if (!path)
        return -1;
    if (place == CSV_TEXT)
        return write_text(path, data->record_count);
    if (place == CSV_DATABASE)
        return write_database(path, data->record_count);
    if (mkdir(path, 0700) < 0)
        return -1;
    for (unsigned i = 0; status == 0 && i < data->record_count; i++)
        status = write_record(data->scratch, what, place, i);
    return status;
}

/*
 * What the reading cases read. It is made by the first of them, behind the writes: these flush
 * the file system, and files that were flushed are slow to remove where blocks are discarded.
 */
static int make_data(const struct bench_data *data, enum place place)
{
    auto_free char *path = name_path(data->scratch, DATA, place, -1);
    auto_free char *unfinished = name_path(data->scratch, UNFINISHED, place, -1);
    if (!path || !unfinished)
        return -1;
    if (access(path, F_OK) == 0)
        return 0;
    return write_place(data, UNFINISHED, place) < 0 ? -1 : rename(unfinished, path);
}

/* -- reading ------------------------------------------------------------------------------ */

static int read_text(const char *path, unsigned above, struct records *records)
{
    char line[LINE_MAX_], name[LINE_MAX_];
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    bool is_head = true;
    while (fgets(line, sizeof(line), file)) {
        unsigned id = (unsigned)strtoul(line, NULL, 10);
        const char *comma = strchr(line, ',');
        if (!is_head && comma && (above == 0 || id > above)) {
            snprintf(name, sizeof(name), "%.*s", (int)strcspn(comma + 1, "\r\n"), comma + 1);
            take(records, id, name);
        }
        is_head = false;
    }
    return fclose(file);
}

static int read_database(const char *path, unsigned above, struct records *records)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *select = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(
            db, above ? "SELECT * FROM users WHERE id > ?1" : "SELECT * FROM users", -1, &select,
            NULL);
    if (code == SQLITE_OK && above)
        sqlite3_bind_int64(select, 1, above);
    while (code == SQLITE_OK && sqlite3_step(select) == SQLITE_ROW)
        take(records, (unsigned)sqlite3_column_int64(select, 0),
             (const char *)sqlite3_column_text(select, 1));
    int ended = sqlite3_finalize(select);
    sqlite3_close(db);
    errno = EIO;
    return code == SQLITE_OK && ended == SQLITE_OK ? 0 : -1;
}

/* The name of a file is its id, so that a query reads only what it wants. */
static int read_folder(const char *scratch, const char *what, enum place place, unsigned above,
                       struct records *records)
{
    for (unsigned id = above ? above + 1 : 0; id < records->capacity; id++) {
        char line[LINE_MAX_];
        auto_free char *path = name_path(scratch, what, place, id);
        auto_close int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        ssize_t size = fd < 0 ? -1 : file_read(fd, line, sizeof(line) - 1);
        if (size < 0)
            return -1;
        line[size] = '\0';
        const char *comma = strchr(line, ',');
        line[strcspn(line, "\r\n")] = '\0';
        take(records, (unsigned)strtoul(line, NULL, 10), comma ? comma + 1 : "");
    }
    return 0;
}

static int read_place(const char *scratch, const char *what, enum place place, unsigned above,
                      struct records *records)
{
    auto_free char *path = name_path(scratch, what, place, -1);
    if (!path)
        return -1;
    if (place == CSV_TEXT)
        return read_text(path, above, records);
    if (place == CSV_DATABASE)
        return read_database(path, above, records);
    return read_folder(scratch, what, place, above, records);
}

/* -- the arms ----------------------------------------------------------------------------- */

static uint64_t sum_of(const struct records *records)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < records->count; i++)
        sum += records->items[i].id +
               bench_hash(records->items[i].name, strlen(records->items[i].name));
    return sum >> (64 - 53); /* any reader of JSON takes it exactly */
}

static int time_once(const struct bench_task *task, const char *what, enum place place,
                     struct records *records, struct hist *hist, struct bench_run *run)
{
    const struct bench_data *data = task->data;
    int status;
    records->count = 0;
    uint64_t began = bench_now();
    if (task->question->workload == BENCH_CSV_WRITE) {
        status = write_place(data, what, place);
    } else {
        /* "WHERE id > 99000" of 100,000 */
        bool is_query = task->question->workload == BENCH_CSV_QUERY;
        size_t above = is_query ? data->record_count / 100 * 99 : 0;
        status = read_place(data->scratch, what, place, (unsigned)above, records);
    }
    uint64_t took = bench_now() - began;
    hist_add(hist, took);
    run->elapsed_ns += took;
    return status;
}

/* What was written is read back, so that the arms' sums tell whether all of it is there. */
static int check_written(const struct bench_data *data, const char *what, enum place place,
                         struct records *records)
{
    auto_free char *path = name_path(data->scratch, what, place, -1);
    return path && read_place(data->scratch, what, place, 0, records) == 0 ? scratch_retire(path)
                                                                           : -1;
}

static int run_csv(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                   struct sqlpack_error *err)
{
    enum place place = *(const enum place *)task->series->arm->detail;
    bool writes = task->question->workload == BENCH_CSV_WRITE; /* once a run */
    auto_release(records_release) struct records records = {
        .items = calloc(task->data->record_count, sizeof(*records.items)),
        .capacity = task->data->record_count};
    if (!records.items)
        return bench_no_memory(err);
    char what[NAME_MAX_] = DATA;
    if (writes)
        snprintf(what, sizeof(what), "csv-%016llx", (unsigned long long)task->seed);
    else if (make_data(task->data, place) < 0)
        return bench_fail_errno(err, "cannot write into scratch");
    struct child_meter meter;
    child_meter_start(&meter);
    for (size_t i = 0; i < task->order_count; i++)
        if (time_once(task, what, place, &records, hist, ret_run) < 0)
            return bench_fail_errno(err, "cannot measure %s", task->series->label);
    child_meter_stop(&meter, ret_run);
    if (writes && check_written(task->data, what, place, &records) < 0)
        return bench_fail_errno(err, "cannot read back what %s has written", task->series->label);
    ret_run->op_count = task->order_count;
    ret_run->match_count = writes ? 0 : records.count;
    ret_run->sum = sum_of(&records);
    return 0;
}

#define CSV(id, side_of, title, what)                                                              \
    static const enum place place_##id = (id);                                                     \
    static const struct bench_arm arm_##id = {.name = (title),                                     \
                                              .side = (side_of),                                   \
                                              .summary = (what),                                   \
                                              .detail = &place_##id,                               \
                                              .run = run_csv}

CSV(CSV_TEXT, BENCH_FILES, "CSV file", "one text file, parsed line by line");
CSV(CSV_DATABASE, BENCH_PACK, "SQLite", "a table without an index, WAL, synchronous=NORMAL");
CSV(CSV_FLAT, BENCH_FILES, "files, flat", "a file for each record, in one folder");
CSV(CSV_FANOUT, BENCH_FILES, "files, fanout", "a file for each record, 100 in a folder");

int csv_plan(struct bench_result *result, struct sqlpack_error *err)
{
    for (enum bench_workload w = BENCH_CSV_WRITE; w <= BENCH_CSV_QUERY; w++) {
        bool writes = w == BENCH_CSV_WRITE;
        struct bench_case *question =
            plan_case(result, w, writes ? BENCH_STATELESS : BENCH_WARM, err);
        if (!question || plan_series(question, &arm_CSV_TEXT, BENCH_LAYOUT_ASIS, NULL, err) < 0 ||
            plan_series(question, &arm_CSV_DATABASE, BENCH_LAYOUT_ASIS, NULL, err) < 0 ||
            plan_series(question, &arm_CSV_FLAT, BENCH_LAYOUT_ASIS, "files, flat", err) < 0 ||
            plan_series(question, &arm_CSV_FANOUT, BENCH_LAYOUT_ASIS, "files, fanout", err) < 0 ||
            plan_effect(question, BENCH_ROW, "CSV file", "SQLite", err) < 0 ||
            plan_effect(question, BENCH_OTHER, "files, flat", "SQLite", err) < 0 ||
            plan_effect(question, BENCH_OTHER, "files, fanout", "SQLite", err) < 0)
            return -1;
        question->series[0].published = BENCH_CSV_FILE;
        question->series[1].published = BENCH_CSV_SQLITE;
        if (writes) {
            question->durability = BENCH_SYNC_NONE;
            question->fixed_ops = 1;
            if (result->round_count <= ALL_ROUNDS) /* else more were asked for */
                question->round_count = WRITE_ROUNDS;
        }
    }
    return 0;
}

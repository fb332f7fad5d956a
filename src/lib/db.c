/* SPDX-License-Identifier: MIT */
/* Opens a pack for reading: the checks before the first query, the snapshot, the statements. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/internal.h"

#define BUSY_RETRY_MS 50
#define BUSY_WAIT_MS  5000

/* The gate's own statements take a few operations a row of the schema; one that takes more than
 * this many walks over a schema that no pack has. */
#define GATE_OPERATIONS 1024

/* A column of a row: content that is handed out in memory, and room for the row around it. */
#define COLUMN_BYTES_MAX ((int)READER_STORED_MAX + (1 << 20))

/* Offsets in the header of the file (sqlite.org/fileformat2.html). */
enum header {
    HEADER_PAGE_SIZE = 16,
    HEADER_WRITE_VERSION = 18,
    HEADER_READ_VERSION = 19,
    HEADER_RESERVED = 20,
    HEADER_CHANGES = 24,
    HEADER_PAGE_COUNT = 28,
    HEADER_FREE_PAGES = 36,
    HEADER_ENCODING = 56,
    HEADER_USER_VERSION = 60,
    HEADER_APPLICATION_ID = 68,
    HEADER_PAGE_COUNT_FOR = 92,
};

static uint32_t header_u32(const unsigned char *header, enum header at)
{
    const unsigned char *bytes = header + at;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

uint32_t db_page_bytes(const struct sqlpack *pack)
{
    uint32_t bytes = (uint32_t)pack->header[HEADER_PAGE_SIZE] << 8 |
                     (uint32_t)pack->header[HEADER_PAGE_SIZE + 1];
    return bytes == 1 ? 65536 : bytes;
}

uint32_t db_usable_bytes(const struct sqlpack *pack)
{
    return db_page_bytes(pack) - pack->header[HEADER_RESERVED];
}

uint32_t db_free_pages(const struct sqlpack *pack)
{
    return header_u32(pack->header, HEADER_FREE_PAGES);
}

/* -- before SQLite ------------------------------------------------------------------------- */

static int refuse(const struct sqlpack *pack, enum sqlpack_status status, const char *why,
                  struct sqlpack_error *err)
{
    return fail(err, status, "cannot read '%s': %s", show(pack->path).text, why);
}

/* A FIFO would block for ever in SQLite's open, so what lies there is looked at first. */
static int check_file(struct sqlpack *pack, struct sqlpack_error *err)
{
    struct stat stat_of;
    if (stat(pack->path, &stat_of) < 0)
        return fail_errno(err, "cannot open '%s'", show(pack->path).text);
    if (S_ISDIR(stat_of.st_mode))
        return refuse(pack, SQLPACK_NOT_A_PACK, "it is a folder", err);
    if (!S_ISREG(stat_of.st_mode))
        return refuse(pack, SQLPACK_NOT_A_PACK, "it is not a regular file", err);
    if (stat_of.st_size == 0)
        return refuse(pack, SQLPACK_NOT_A_PACK, "it is empty", err);
    if (stat_of.st_size < 512)
        return refuse(pack, SQLPACK_NOT_A_PACK, "it is too short for an SQLite database", err);
    return 0;
}

static int fail_open(struct sqlpack *pack, struct sqlpack_error *err)
{
    int os_errno = pack->db ? sqlite3_system_errno(pack->db) : ENOMEM;
    if (os_errno) {
        errno = os_errno;
        return fail_errno(err, "cannot open '%s'", show(pack->path).text);
    }
    if (strlen(pack->path) > 400)
        return refuse(pack, SQLPACK_IO, "SQLite takes no path of more than 512 bytes", err);
    return fail_sqlite(err, pack->db, "cannot open '%s'", show(pack->path).text);
}

static int open_database(struct sqlpack *pack, struct sqlpack_error *err)
{
    /* Where SQLite is built to take URIs, "./" keeps a name like "file:x" from being one. */
    auto_release(buf_release) struct buf path = {0};
    if ((*pack->path != '/' && buf_append_text(&path, "./") < 0) ||
        buf_append_text(&path, pack->path) < 0 || buf_terminate(&path) < 0)
        return fail_errno(err, "cannot open '%s'", show(pack->path).text);
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX |
                SQLITE_OPEN_EXRESCODE;
    if (sqlite3_open_v2(path.data, &pack->db, flags, NULL) != SQLITE_OK)
        return fail_open(pack, err);
    return 0;
}

/* -- how SQLite shall behave --------------------------------------------------------------- */

static int stop_at_large_schema(void *user)
{
    (void)user;
    return 1;
}

static int configure(struct sqlpack *pack, struct sqlpack_error *err)
{
    static const struct {
        int option, value;
    } options[] =
        {
            {SQLITE_DBCONFIG_DEFENSIVE, 1},
            {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
            {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
            {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
            {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        },
      limits[] = {
          {SQLITE_LIMIT_LENGTH, 64 << 10}, /* of the schema's texts; rows get more behind the gate
                                            */
          {SQLITE_LIMIT_SQL_LENGTH, 64 << 10}, {SQLITE_LIMIT_COLUMN, 1000},
          {SQLITE_LIMIT_EXPR_DEPTH, 50},       {SQLITE_LIMIT_COMPOUND_SELECT, 3},
          {SQLITE_LIMIT_VDBE_OP, 25000},       {SQLITE_LIMIT_FUNCTION_ARG, 8},
          {SQLITE_LIMIT_ATTACHED, 0},          {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
          {SQLITE_LIMIT_VARIABLE_NUMBER, 10},  {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
          {SQLITE_LIMIT_WORKER_THREADS, 0},
      };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (sqlite3_db_config(pack->db, options[i].option, options[i].value, NULL) != SQLITE_OK)
            return fail_sqlite(err, pack->db, "cannot set up SQLite");
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        sqlite3_limit(pack->db, limits[i].option, limits[i].value);
    if (name_register(pack->db) != SQLITE_OK)
        return fail_sqlite(err, pack->db, "cannot set up SQLite");
    sqlite3_progress_handler(pack->db, GATE_OPERATIONS, stop_at_large_schema, NULL);
    if (db_run(pack, STATEMENT_CELL_CHECK, err) < 0)
        return -1;
    return db_run(pack, STATEMENT_NO_MMAP, err);
}

/* -- the header ---------------------------------------------------------------------------- */

/* Through SQLite's own handle: closing another descriptor of the file would drop its locks. */
static int read_header(struct sqlpack *pack, struct sqlpack_error *err)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    int code = sqlite3_file_control(pack->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods)
        return fail_sqlite(err, pack->db, "cannot read '%s'", show(pack->path).text);
    code = file->pMethods->xRead(file, pack->header, DB_HEADER_BYTES, 0);
    if (code == SQLITE_OK)
        code = file->pMethods->xFileSize(file, &size);
    if (code == SQLITE_IOERR_SHORT_READ)
        return refuse(pack, SQLPACK_CORRUPT, "it ends within its header", err);
    if (code != SQLITE_OK)
        return fail(err, SQLPACK_IO, "cannot read '%s': %s", show(pack->path).text,
                    sqlite3_errstr(code));
    pack->file_bytes = (uint64_t)size;
    return 0;
}

static int check_header(const struct sqlpack *pack, struct sqlpack_error *err)
{
    const unsigned char *header = pack->header;
    uint32_t page_bytes = db_page_bytes(pack);
    if (memcmp(header, "SQLite format 3", 16) != 0)
        return refuse(pack, SQLPACK_NOT_A_PACK, "it is not an SQLite database", err);
    if (page_bytes < 512 || (page_bytes & (page_bytes - 1)))
        return refuse(pack, SQLPACK_CORRUPT, "its page size is none that SQLite has", err);
    if (db_usable_bytes(pack) < 480)
        return refuse(pack, SQLPACK_CORRUPT, "its pages have less room than SQLite gives", err);
    if (header[HEADER_WRITE_VERSION] == 2 || header[HEADER_READ_VERSION] == 2)
        return refuse(pack, SQLPACK_WAL, "it is in WAL mode", err);
    if (header[HEADER_WRITE_VERSION] != 1 || header[HEADER_READ_VERSION] != 1)
        return refuse(pack, SQLPACK_CORRUPT, "its file format is none that SQLite has", err);
    if (header_u32(header, HEADER_APPLICATION_ID) == SCHEMA_APPLICATION_ID &&
        header_u32(header, HEADER_USER_VERSION) > SCHEMA_FORMAT)
        return refuse(pack, SQLPACK_NEWER, "it was made by a later version of sqlpack", err);
    if (header_u32(header, HEADER_ENCODING) > 1)
        return refuse(pack, SQLPACK_NOT_A_PACK, "its texts are not in UTF-8", err);
    return 0;
}

/* Within the snapshot. Larger is fine: a writer that was interrupted leaves pages behind. */
static int check_size(const struct sqlpack *pack, struct sqlpack_error *err)
{
    if (header_u32(pack->header, HEADER_CHANGES) != header_u32(pack->header, HEADER_PAGE_COUNT_FOR))
        return 0; /* the count is not kept: an SQLite before 3.7 wrote last */
    uint64_t wanted = (uint64_t)header_u32(pack->header, HEADER_PAGE_COUNT) * db_page_bytes(pack);
    if (pack->file_bytes >= wanted)
        return 0;
    return fail(err, SQLPACK_CORRUPT, "cannot read '%s': it is cut off: %llu of %llu bytes",
                show(pack->path).text, (unsigned long long)pack->file_bytes,
                (unsigned long long)wanted);
}

/* -- what lies beside ---------------------------------------------------------------------- */

static int fail_half_done(const struct sqlpack *pack, struct sqlpack_error *err)
{
    return fail(
        err, SQLPACK_BUSY,
        "cannot read '%s': another program left a change half done; its journal lies beside it",
        show(pack->path).text);
}

/*
 * SQLite opens what has the name of a journal: a FIFO would block it. A -wal file beside a pack
 * that is not in WAL mode makes it write.
 */
static int check_beside(const struct sqlpack *pack, struct sqlpack_error *err)
{
    const char *main = sqlite3_db_filename(pack->db, "main");
    struct stat stat_of;
    if (stat(sqlite3_filename_wal(main), &stat_of) == 0 &&
        (!S_ISREG(stat_of.st_mode) || stat_of.st_size > 0))
        return fail_half_done(pack, err);
    if (stat(sqlite3_filename_journal(main), &stat_of) == 0 && !S_ISREG(stat_of.st_mode))
        return fail_half_done(pack, err);
    return 0;
}

/* -- the snapshot and the schema ----------------------------------------------------------- */

/* What a failure behind the gate's first query means. */
static int fail_schema(struct sqlpack *pack, struct sqlpack_error *err)
{
    switch (sqlite3_extended_errcode(pack->db) & 0xff) {
    case SQLITE_CORRUPT:
        if (read_header(pack, err) < 0 || check_size(pack, err) < 0)
            return -1; /* says it better */
        return fail_sqlite(err, pack->db, "cannot read '%s'", show(pack->path).text);
    case SQLITE_READONLY:
        return fail_half_done(pack, err);
    case SQLITE_CANTOPEN:
        return sqlite3_system_errno(pack->db) ? fail_open(pack, err) : fail_half_done(pack, err);
    case SQLITE_INTERRUPT:
        return refuse(pack, SQLPACK_CORRUPT, "its schema is larger than a pack has", err);
    case SQLITE_ERROR:
        return fail(err, SQLPACK_CORRUPT, "cannot read '%s': %s", show(pack->path).text,
                    sqlite3_errmsg(pack->db));
    default:
        return fail_sqlite(err, pack->db, "cannot read '%s'", show(pack->path).text);
    }
}

static const char *column_text(sqlite3_stmt *statement, int column)
{
    return (const char *)sqlite3_column_text(statement, column);
}

/* Returns SQLite's code of the last step; -1 where the gate said no. */
static int read_schema(struct sqlpack *pack, sqlite3_stmt *statement, struct sqlpack_error *err)
{
    struct gate gate = {0};
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct schema_row row = {
            .type = column_text(statement, 0),
            .name = column_text(statement, 1),
            .table = column_text(statement, 2),
            .root = sqlite3_column_int64(statement, 3),
            .sql = column_text(statement, 4),
        };
        if (gate_row(&gate, &row, pack->path, err) < 0)
            return -1;
    }
    if (code == SQLITE_DONE && gate_end(&gate, pack->path, &pack->is_own, err) < 0)
        return -1;
    memcpy(pack->roots, gate.roots, sizeof(pack->roots));
    return code;
}

/* One try to begin the snapshot and read the schema. Returns 1 where the pack is locked. */
static int try_schema(struct sqlpack *pack, struct sqlpack_error *err)
{
    auto_release(db_release) sqlite3_stmt *statement = NULL;
    errno = 0;
    int code =
        sqlite3_prepare_v2(pack->db, schema_statements[STATEMENT_SCHEMA], -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = read_schema(pack, statement, err);
    int lock_errno = errno;
    if (code == SQLITE_DONE)
        return 0;
    if (code == -1)
        return -1;
    if ((code & 0xff) != SQLITE_BUSY)
        return fail_schema(pack, err);
    if (lock_errno != ENOLCK)
        return 1;
    errno = lock_errno; /* SQLite takes a file system without locks for a busy one */
    return fail_errno(err, "cannot lock '%s'", show(pack->path).text);
}

static int begin_snapshot(struct sqlpack *pack, struct sqlpack_error *err)
{
    if (db_run(pack, STATEMENT_BEGIN, err) < 0)
        return -1;
    for (int waited_ms = 0;; waited_ms += BUSY_RETRY_MS) {
        int tried = try_schema(pack, err);
        if (tried <= 0)
            return tried;
        if (waited_ms >= BUSY_WAIT_MS)
            return refuse(pack, SQLPACK_BUSY, "another program is writing it", err);
        struct timespec pause = {.tv_nsec = BUSY_RETRY_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
}

/* A dump that was read back has lost user_version, but not this key. */
static int check_format(struct sqlpack *pack, struct sqlpack_error *err)
{
    if (!pack->is_own)
        return 0;
    sqlite3_stmt *statement = db_statement(pack, STATEMENT_INFO_VALUE, err);
    if (!statement)
        return -1;
    sqlite3_bind_text(statement, 1, INFO_FORMAT, -1, SQLITE_STATIC);
    int found = db_step(pack, statement, err);
    if (found < 0)
        return -1;
    pack->format = found ? sqlite3_column_int64(statement, 0) : SCHEMA_FORMAT;
    sqlite3_reset(statement);
    if (pack->format < 1)
        return refuse(pack, SQLPACK_CORRUPT, "its format has no number", err);
    if (pack->format > SCHEMA_FORMAT)
        return refuse(pack, SQLPACK_NEWER, "it was made by a later version of sqlpack", err);
    return 0;
}

static int pass_gate(struct sqlpack *pack, struct sqlpack_error *err)
{
    if (check_file(pack, err) < 0 || open_database(pack, err) < 0 || configure(pack, err) < 0)
        return -1;
    if (read_header(pack, err) < 0 || check_header(pack, err) < 0 || check_beside(pack, err) < 0)
        return -1;
    if (begin_snapshot(pack, err) < 0)
        return -1;
    if (read_header(pack, err) < 0 || check_header(pack, err) < 0 || check_size(pack, err) < 0)
        return -1;
    sqlite3_progress_handler(pack->db, 0, NULL, NULL);
    sqlite3_limit(pack->db, SQLITE_LIMIT_LENGTH, COLUMN_BYTES_MAX);
    return check_format(pack, err);
}

int sqlpack_open(const char *path, struct sqlpack **ret_pack, struct sqlpack_error *err)
{
    struct sqlpack *pack = calloc(1, sizeof(*pack));
    if (!pack || !(pack->path = strdup(path))) {
        free(pack);
        return fail_errno(err, "cannot open '%s'", show(path).text);
    }
    if (pass_gate(pack, err) < 0) {
        sqlpack_close(pack);
        return -1;
    }
    *ret_pack = pack;
    return 0;
}

void sqlpack_close(struct sqlpack *pack)
{
    if (!pack)
        return;
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(pack->statements[i]);
    sqlite3_close(pack->db);
    codec_free(pack->codec);
    buf_release(&pack->normal);
    buf_release(&pack->scratch);
    free(pack->path);
    free(pack);
}

/* -- the statements ------------------------------------------------------------------------ */

sqlite3_stmt *db_prepare(struct sqlpack *pack, enum statement which, struct sqlpack_error *err)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(pack->db, schema_statements[which], -1, &statement, NULL) == SQLITE_OK)
        return statement;
    fail_sqlite(err, pack->db, "cannot read '%s'", show(pack->path).text);
    return NULL;
}

sqlite3_stmt *db_statement(struct sqlpack *pack, enum statement which, struct sqlpack_error *err)
{
    if (pack->statements[which])
        sqlite3_reset(pack->statements[which]);
    else
        pack->statements[which] = db_prepare(pack, which, err);
    return pack->statements[which];
}

/* Nothing but sorting writes, and that to the folder for temporary files. */
static int fail_temporary(struct sqlpack *pack, struct sqlpack_error *err)
{
    char *file = NULL;
    sqlite3_file_control(pack->db, "main", SQLITE_FCNTL_TEMPFILENAME, &file);
    if (file)
        file[path_leaf(file) - file] = '\0';
    fail_sqlite(err, pack->db, "cannot sort the names of '%s' in a temporary file in '%s'",
                show(pack->path).text, show(file ? file : "").text);
    sqlite3_free(file);
    return -1;
}

int db_step(struct sqlpack *pack, sqlite3_stmt *statement, struct sqlpack_error *err)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return 1;
    if (code == SQLITE_DONE)
        return 0;
    if ((code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_CANTOPEN)
        return fail_temporary(pack, err);
    return fail_sqlite(err, pack->db, "cannot read '%s'", show(pack->path).text);
}

int db_run(struct sqlpack *pack, enum statement which, struct sqlpack_error *err)
{
    auto_release(db_release) sqlite3_stmt *statement = db_prepare(pack, which, err);
    if (!statement)
        return -1;
    int stepped;
    do
        stepped = db_step(pack, statement, err);
    while (stepped > 0);
    return stepped;
}

void db_release(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}

int db_corrupt(const struct sqlpack *pack, struct sqlpack_error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return fail(err, SQLPACK_CORRUPT, "'%s' is damaged: %s", show(pack->path).text, text);
}

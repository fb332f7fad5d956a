/* SPDX-License-Identifier: MIT */
/* Tests of lib/schema: every statement prepares, and none scans without a reason. */
#include "packs.h"

/* Statements that go over a whole table or sort, and why they may. */
static const struct {
    enum statement statement;
    const char *why;
} scans[] = {
    {STATEMENT_SCHEMA, "the gate reads all of it, within bounds"},
    {STATEMENT_SIZES, "a pack is cut into ranges of equal size"},
    {STATEMENT_NAMES_NORMAL, "names of other programs are not in order"},
    {STATEMENT_SORT_UP, "another order is asked for"},
    {STATEMENT_SORT_DOWN, "another order is asked for"},
    {STATEMENT_SORT_BACK, "the spool is read backwards"},
    {STATEMENT_SORT_CLEAR, "the spool is emptied"},
    {STATEMENT_INFO, "it is small"},
    {STATEMENT_STORED_CHUNKS, "chunks are counted"},
    {STATEMENT_ROW_COUNT, "SQLite keeps no count; the index of names is small"},
    {STATEMENT_LOSSES, "all are listed"},
    {STATEMENT_OWNERS, "all are listed"},
    {STATEMENT_CHUNK_PLACES, "verify goes over all chunks"},
    {STATEMENT_INDEXED_NAMES, "verify goes over the whole index"},
};

/* NULL: it may not. */
static const char *why_scans(int statement)
{
    for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++)
        if ((int)scans[i].statement == statement)
            return scans[i].why;
    return NULL;
}

/* Whether the plan of a statement has a step that goes over all rows, or sorts them. */
static bool plan_scans(struct sqlpack *pack, const char *sql, char *ret_step, size_t size)
{
    sqlite3_stmt *explain;
    char *text = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    need(sqlite3_prepare_v2(pack->db, text, -1, &explain, NULL) == SQLITE_OK);
    bool scans_all = false;
    while (sqlite3_step(explain) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(explain, 3);
        bool is_constant = strcmp(step, "SCAN CONSTANT ROW") == 0;
        if ((strncmp(step, "SCAN", 4) == 0 && !is_constant) || strstr(step, "TEMP B-TREE")) {
            scans_all = true;
            snprintf(ret_step, size, "%s", step);
        }
    }
    sqlite3_finalize(explain);
    sqlite3_free(text);
    return scans_all;
}

static void explains_every_statement(struct sqlpack *pack)
{
    struct sqlpack_error err;
    need(db_run(pack, STATEMENT_SORT_CREATE, &err) == 0);
    need(db_run(pack, STATEMENT_DOUBLES_CREATE, &err) == 0);
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_stmt *statement = NULL;
        char step[256] = "";
        if (!ok(schema_statements[i], "statement %d has a text", i))
            continue;
        int code = sqlite3_prepare_v2(pack->db, schema_statements[i], -1, &statement, NULL);
        ok(code == SQLITE_OK, "it prepares: %.60s%s", schema_statements[i],
           code ? sqlite3_errmsg(pack->db) : "");
        sqlite3_finalize(statement);
        if (code || strncmp(schema_statements[i], "SELECT", 6) != 0)
            continue;
        bool scans_all = plan_scans(pack, schema_statements[i], step, sizeof(step));
        const char *why = why_scans(i);
        ok(!scans_all || why, "%s: %s", scans_all ? step : "it looks rows up", why ? why : "");
    }
}

/* An archive of another program has neither an id nor sqlpack's tables. */
static void prepares_for_archives(struct sqlpack *pack)
{
    static const enum statement shared[] = {
        STATEMENT_ROWS_FOREIGN, STATEMENT_ROW_BY_ID_FOREIGN, STATEMENT_ROW_BY_NAME_FOREIGN,
        STATEMENT_NAMES_NORMAL, STATEMENT_ID_ENDS,
    };
    struct sqlpack_error err;
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        sqlite3_stmt *statement = db_prepare(pack, shared[i], &err);
        ok(statement, "it prepares for an archive: %.40s", schema_statements[shared[i]]);
        sqlite3_finalize(statement);
    }
}

int main(void)
{
    packs_begin();
    struct sqlpack *pack = reopen(pack_new("own.db", 1024), "own.db");
    explains_every_statement(pack);
    sqlpack_close(pack);
    pack = reopen(archive_new("archive.db"), "archive.db");
    prepares_for_archives(pack);
    sqlpack_close(pack);
    packs_end();
    return done();
}

/* SPDX-License-Identifier: MIT */
/* Judges the schema of a file that anyone may have made, before any of its rows is read. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/internal.h"

#define GATE_ROWS_MAX      64
#define GATE_SQL_BYTES_MAX ((size_t)8 << 10)

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_QUOTED, /* a name in quotes of any kind; the text is without them */
    TOKEN_OTHER,  /* one character, or a string */
};

struct token {
    enum token_kind kind;
    const char *text;
    size_t size;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static const char *skip_space(const char *at)
{
    for (;;) {
        if (*at && strchr(" \t\r\n\f", *at)) {
            at++;
        } else if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

/* Takes the next token from *sql. SQLite has parsed the text, so every quote has its end. */
static struct token next_token(const char **sql)
{
    const char *at = skip_space(*sql);
    struct token token = {.kind = TOKEN_OTHER, .text = at, .size = 1};
    if (*at == '\0') {
        token.kind = TOKEN_END;
        token.size = 0;
    } else if (is_word(*at)) {
        token.kind = TOKEN_WORD;
        while (is_word(at[token.size]))
            token.size++;
    } else if (strchr("\"`['", *at)) {
        char closing = *at == '[' ? ']' : *at;
        const char *end = strchr(at + 1, closing);
        size_t inner = end ? (size_t)(end - at - 1) : strlen(at + 1);
        *sql = at + 1 + inner + (end ? 1 : 0);
        if (*at == '\'')
            return (struct token){TOKEN_OTHER, at, inner + 1};
        return (struct token){TOKEN_QUOTED, at + 1, inner};
    }
    *sql = at + token.size;
    return token;
}

static bool token_is(const struct token *token, const char *text)
{
    return token->size == strlen(text) && strncasecmp(token->text, text, token->size) == 0;
}

static bool tokens_equal(const struct token *a, const struct token *b)
{
    return (a->kind == TOKEN_END) == (b->kind == TOKEN_END) && a->size == b->size &&
           strncasecmp(a->text, b->text, a->size) == 0;
}

/* Whether two texts differ in nothing but comments, white space, letter case and quotes. */
static bool sql_equals(const char *a, const char *b)
{
    for (;;) {
        struct token of_a = next_token(&a), of_b = next_token(&b);
        if (!tokens_equal(&of_a, &of_b))
            return false;
        if (of_a.kind == TOKEN_END)
            return true;
    }
}

/* CREATE [UNIQUE] INDEX name ON table(column [ASC|DESC], ...): nothing is computed, nothing left
 * out. */
static bool is_plain_index(const char *sql)
{
    struct token token = next_token(&sql);
    if (!token_is(&token, "create"))
        return false;
    int depth = 0;
    while ((token = next_token(&sql)).kind != TOKEN_END) {
        if (token_is(&token, "where") || token_is(&token, "collate"))
            return false;
        if (token.kind != TOKEN_OTHER)
            continue;
        depth += *token.text == '(' ? 1 : *token.text == ')' ? -1 : 0;
        if (depth > 1 || !strchr("(),", *token.text))
            return false;
    }
    return true;
}

/* A plain table: not virtual, no column that is computed. */
static bool is_plain_table(const char *sql)
{
    struct token token = next_token(&sql);
    if (!token_is(&token, "create"))
        return false;
    token = next_token(&sql);
    if (!token_is(&token, "table"))
        return false;
    for (struct token last = token; last.kind != TOKEN_END; last = token) {
        token = next_token(&sql);
        bool is_as = last.kind == TOKEN_WORD && token_is(&last, "as");
        if (is_as && token.kind == TOKEN_OTHER && *token.text == '(')
            return false;
    }
    return true;
}

static int refuse(const struct schema_row *row, const char *path, struct sqlpack_error *err,
                  const char *why)
{
    return fail(err, SQLPACK_CORRUPT, "cannot read '%s': %s '%s' %s", show(path).text,
                show(row->type).text, show(row->name).text, why);
}

static int gate_sqlar(struct gate *gate, const struct schema_row *row, const char *path,
                      struct sqlpack_error *err)
{
    for (const char *const *at = schema_foreign_sqlar; *at; at++) {
        if (sql_equals(row->sql, *at)) {
            gate->has_foreign_sqlar = true;
            return 0;
        }
    }
    if (!is_plain_table(row->sql))
        return refuse(row, path, err, "is not a plain table");
    return fail(err, SQLPACK_NOT_A_PACK,
                "cannot read '%s': its table 'sqlar' has other columns than an SQLite Archive",
                show(path).text);
}

static int gate_table(struct gate *gate, const struct schema_row *row, const char *path,
                      struct sqlpack_error *err)
{
    if (!row->sql || row->root <= 0)
        return refuse(row, path, err, "is not a plain table");
    for (int i = 0; i < TABLE_COUNT; i++) {
        if (strcasecmp(row->name, schema_tables[i].name) != 0)
            continue;
        if (schema_tables[i].sql && sql_equals(row->sql, schema_tables[i].sql)) {
            gate->has[i] = true;
            gate->roots[i] = (uint32_t)row->root;
            return 0;
        }
        if (i == TABLE_SQLAR)
            return gate_sqlar(gate, row, path, err);
        return refuse(row, path, err, "does not have the columns of a pack");
    }
    return is_plain_table(row->sql) ? 0 : refuse(row, path, err, "is not a plain table");
}

static bool is_our_table(const char *name)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        if (strcasecmp(name, schema_tables[i].name) == 0)
            return true;
    return false;
}

static int gate_index(struct gate *gate, const struct schema_row *row, const char *path,
                      struct sqlpack_error *err)
{
    if (strcasecmp(row->name, schema_tables[TABLE_SQLAR_NAME].name) == 0) {
        if (!row->sql || !sql_equals(row->sql, schema_tables[TABLE_SQLAR_NAME].sql))
            return refuse(row, path, err, "is not the index of a pack");
        gate->has[TABLE_SQLAR_NAME] = true;
        gate->roots[TABLE_SQLAR_NAME] = (uint32_t)row->root;
    } else if (strcasecmp(row->name, "sqlite_autoindex_sqlar_1") == 0) {
        gate->roots[TABLE_SQLAR_NAME] = (uint32_t)row->root;
    } else if (row->sql && is_our_table(row->table) && !is_plain_index(row->sql)) {
        return refuse(row, path, err, "is not a plain index");
    } else if (strcasecmp(row->name, schema_tables[TABLE_CHUNK_KEY].name) == 0) {
        gate->has[TABLE_CHUNK_KEY] = true;
    }
    return 0;
}

int gate_row(struct gate *gate, const struct schema_row *row, const char *path,
             struct sqlpack_error *err)
{
    if (++gate->row_count > GATE_ROWS_MAX)
        return fail(err, SQLPACK_CORRUPT, "cannot read '%s': it has more than %d tables",
                    show(path).text, GATE_ROWS_MAX);
    if (!row->type || !row->name || !row->table)
        return fail(err, SQLPACK_CORRUPT, "cannot read '%s': its schema is malformed",
                    show(path).text);
    if (row->sql && strlen(row->sql) > GATE_SQL_BYTES_MAX)
        return refuse(row, path, err, "has a definition that is too long");
    if (strcmp(row->type, "table") == 0)
        return gate_table(gate, row, path, err);
    if (strcmp(row->type, "index") == 0)
        return gate_index(gate, row, path, err);
    return refuse(row, path, err, "has no place in a pack");
}

int gate_end(const struct gate *gate, const char *path, bool *ret_is_own, struct sqlpack_error *err)
{
    if (!gate->has[TABLE_SQLAR] && !gate->has_foreign_sqlar)
        return fail(err, SQLPACK_NOT_A_PACK, "cannot read '%s': it has no table 'sqlar'",
                    show(path).text);
    if (gate->roots[TABLE_SQLAR_NAME] == 0)
        return fail(err, SQLPACK_NOT_A_PACK, "cannot read '%s': its table 'sqlar' has no index",
                    show(path).text);
    bool has_any = false;
    for (int i = TABLE_STAT; i < TABLE_COUNT; i++)
        has_any |= gate->has[i];
    *ret_is_own = gate->has[TABLE_SQLAR] && has_any;
    for (int i = 0; *ret_is_own && i < TABLE_COUNT; i++)
        if (!gate->has[i])
            return fail(err, SQLPACK_CORRUPT, "cannot read '%s': it has no table or index '%s'",
                        show(path).text, schema_tables[i].name);
    return 0;
}

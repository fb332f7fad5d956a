/* SPDX-License-Identifier: MIT */
/* Gives the content of an entry, whole or in pieces, checked against its size and digest. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/internal.h"

#define PIECE_BYTES     ((size_t)256 << 10)
#define CHUNK_BYTES_MAX ((uint64_t)16 << 20)

static const unsigned char zeros[64 << 10];

/* Content on its way out. */
struct content {
    struct sqlpack *pack;
    const struct sqlpack_entry *entry;
    int (*write)(void *user, const void *data, size_t size);
    void *user;
    struct hash_stream *hash; /* NULL: it was checked before, or has no digest */
    uint64_t done;            /* bytes given */
    uint64_t end;             /* where the piece in hand must end */
    bool write_failed;
};

static void content_release(struct content *content)
{
    hash_stream_free(content->hash);
}

static int corrupt(const struct content *content, struct sqlpack_error *err)
{
    return db_corrupt(content->pack, err, "the content of '%s' cannot be restored",
                      show(content->entry->name).text);
}

/* Passes a piece on; for codec_pipe_add. Returns 0, or -1 with errno. */
static int emit(void *user, const void *data, size_t size)
{
    struct content *content = user;
    if (size > content->end - content->done) {
        errno = EBADMSG;
        return -1;
    }
    if (content->hash)
        hash_stream_add(content->hash, data, size);
    content->done += size;
    if (content->write(content->user, data, size) == 0)
        return 0;
    content->write_failed = true;
    return -1;
}

/* What a failure of emit, or of codec_pipe_add around it, means. */
static int fail_emit(const struct content *content, struct sqlpack_error *err)
{
    if (content->write_failed)
        return fail_errno(err, "cannot write the content of '%s'", show(content->entry->name).text);
    if (errno == ENOMEM)
        return fail_errno(err, "cannot read '%s'", show(content->entry->name).text);
    return corrupt(content, err);
}

static int emit_hole(struct content *content, uint64_t size, struct sqlpack_error *err)
{
    while (size > 0) {
        size_t piece = size < SIZE_MAX / 2 ? (size_t)size : SIZE_MAX / 2;
        for (size_t left = content->hash ? piece : 0; left > 0;) {
            size_t part = left < sizeof(zeros) ? left : sizeof(zeros);
            hash_stream_add(content->hash, zeros, part);
            left -= part;
        }
        content->done += piece;
        size -= piece;
        if (content->write(content->user, NULL, piece) < 0) {
            content->write_failed = true;
            return fail_emit(content, err);
        }
    }
    return 0;
}

/* -- from memory --------------------------------------------------------------------------- */

/* Content that fits into memory is checked before any of it is given away. */
static int give_whole(struct content *content, const void *data, size_t size,
                      struct sqlpack_error *err)
{
    const struct sqlpack_entry *entry = content->entry;
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    if (entry->has_digest) {
        hash_digest(data, size, digest);
        if (memcmp(digest, entry->digest, sizeof(digest)) != 0)
            return db_corrupt(content->pack, err, "the content of '%s' differs from its digest",
                              show(entry->name).text);
    }
    if (content->write(content->user, data, size) == 0)
        return 0;
    content->write_failed = true;
    return fail_emit(content, err);
}

static int restore_whole(struct content *content, const void *stored, size_t stored_bytes,
                         struct sqlpack_error *err)
{
    struct sqlpack *pack = content->pack;
    size_t size = (size_t)content->entry->sz;
    if (stored_bytes == size)
        return give_whole(content, stored, size, err);
    if (!pack->codec && !(pack->codec = codec_new(0)))
        return fail_errno(err, "cannot read '%s'", show(content->entry->name).text);
    auto_free void *data = malloc(size);
    if (!data)
        return fail_errno(err, "cannot read '%s'", show(content->entry->name).text);
    if (codec_restore(pack->codec, stored, stored_bytes, data, size) < 0)
        return corrupt(content, err);
    return give_whole(content, data, size, err);
}

/* -- from the pack in pieces --------------------------------------------------------------- */

static void blob_release(sqlite3_blob **blob)
{
    sqlite3_blob_close(*blob);
}

static void pipe_release(struct codec_pipe **pipe)
{
    codec_pipe_free(*pipe);
}

static int open_blob(struct content *content, const char *table, int64_t rowid,
                     sqlite3_blob **ret_blob, struct sqlpack_error *err)
{
    int code = sqlite3_blob_open(content->pack->db, "main", table, "data", rowid, 0, ret_blob);
    if (code == SQLITE_OK)
        return 0;
    if ((code & 0xff) == SQLITE_ERROR) /* the row that was just read is not where it should be */
        return corrupt(content, err);
    return fail_sqlite(err, content->pack->db, "cannot read '%s'", show(content->entry->name).text);
}

/* Gives stored_bytes of a blob, which are `size` of content, raw or as a stream. */
static int give_blob(struct content *content, sqlite3_blob *blob, uint64_t size,
                     struct sqlpack_error *err)
{
    uint64_t stored_bytes = (uint64_t)sqlite3_blob_bytes(blob);
    auto_release(pipe_release) struct codec_pipe *pipe = NULL;
    auto_free unsigned char *piece = malloc(PIECE_BYTES);
    bool is_raw = stored_bytes == size;
    if (!is_raw)
        pipe = codec_pipe_inflate();
    if (!piece || (!is_raw && !pipe))
        return fail_errno(err, "cannot read '%s'", show(content->entry->name).text);
    content->end = content->done + size;
    for (uint64_t at = 0; at < stored_bytes;) {
        uint64_t left = stored_bytes - at;
        size_t part = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        if (sqlite3_blob_read(blob, piece, (int)part, (int)at) != SQLITE_OK)
            return fail_sqlite(err, content->pack->db, "cannot read '%s'",
                               show(content->entry->name).text);
        at += part;
        int given =
            is_raw ? emit(content, piece, part) : codec_pipe_add(pipe, piece, part, emit, content);
        if (given < 0)
            return fail_emit(content, err);
    }
    if (content->done != content->end || (!is_raw && !codec_pipe_is_whole(pipe)))
        return corrupt(content, err);
    return 0;
}

/* Reads a small blob that did not come with its row. */
static int give_small_blob(struct content *content, sqlite3_blob *blob, struct sqlpack_error *err)
{
    size_t size = (size_t)sqlite3_blob_bytes(blob);
    auto_free void *stored = malloc(size + 1);
    if (!stored)
        return fail_errno(err, "cannot read '%s'", show(content->entry->name).text);
    if (sqlite3_blob_read(blob, stored, (int)size, 0) != SQLITE_OK)
        return fail_sqlite(err, content->pack->db, "cannot read '%s'",
                           show(content->entry->name).text);
    return restore_whole(content, stored, size, err);
}

/* -- from chunks --------------------------------------------------------------------------- */

static int give_chunk(struct content *content, sqlite3_stmt *chunks, struct sqlpack_error *err)
{
    for (int column = 0; column < 4; column++)
        if (sqlite3_column_type(chunks, column) != SQLITE_INTEGER)
            return corrupt(content, err);
    int64_t offset = sqlite3_column_int64(chunks, 1), length = sqlite3_column_int64(chunks, 2);
    uint64_t stored_bytes = (uint64_t)sqlite3_column_int64(chunks, 3);
    if (offset < 0 || (uint64_t)offset < content->done || (uint64_t)offset > content->entry->sz ||
        length <= 0 || (uint64_t)length > CHUNK_BYTES_MAX ||
        (uint64_t)length > content->entry->sz - (uint64_t)offset ||
        stored_bytes > (uint64_t)length || !codec_is_possible((uint64_t)length, stored_bytes))
        return corrupt(content, err);
    if (emit_hole(content, (uint64_t)offset - content->done, err) < 0)
        return -1;
    auto_release(blob_release) sqlite3_blob *blob = NULL;
    if (open_blob(content, schema_tables[TABLE_CHUNK].name, sqlite3_column_int64(chunks, 0), &blob,
                  err) < 0)
        return -1;
    if ((uint64_t)sqlite3_blob_bytes(blob) != stored_bytes)
        return corrupt(content, err);
    return give_blob(content, blob, (uint64_t)length, err);
}

static int give_chunks(struct content *content, struct sqlpack_error *err)
{
    struct sqlpack *pack = content->pack;
    sqlite3_stmt *chunks = db_statement(pack, STATEMENT_CHUNKS, err);
    if (!chunks)
        return -1;
    sqlite3_bind_int64(chunks, 1, content->entry->id);
    int stepped;
    while ((stepped = db_step(pack, chunks, err)) > 0)
        if (give_chunk(content, chunks, err) < 0)
            return -1;
    sqlite3_reset(chunks);
    if (stepped < 0)
        return -1;
    return emit_hole(content, content->entry->sz - content->done, err);
}

/* -- any ----------------------------------------------------------------------------------- */

static int check_digest(const struct content *content, struct sqlpack_error *err)
{
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    if (!content->hash)
        return 0;
    hash_stream_end(content->hash, digest);
    if (memcmp(digest, content->entry->digest, sizeof(digest)) == 0)
        return 0;
    return db_corrupt(content->pack, err, "the content of '%s' differs from its digest",
                      show(content->entry->name).text);
}

/* Content that is too large for memory, or not in one blob. */
static int give_in_pieces(struct content *content, const struct reader_row *row,
                          struct sqlpack_error *err)
{
    if (content->entry->has_digest && !(content->hash = hash_stream_new()))
        return fail_errno(err, "cannot read '%s'", show(content->entry->name).text);
    if (row->is_chunked)
        return give_chunks(content, err) < 0 ? -1 : check_digest(content, err);
    auto_release(blob_release) sqlite3_blob *blob = NULL;
    if (open_blob(content, schema_tables[TABLE_SQLAR].name, content->entry->id, &blob, err) < 0 ||
        give_blob(content, blob, content->entry->sz, err) < 0)
        return -1;
    return check_digest(content, err);
}

static int give_file(struct content *content, const struct reader_row *row,
                     struct sqlpack_error *err)
{
    if (row->is_chunked || content->entry->sz > READER_STORED_MAX)
        return give_in_pieces(content, row, err);
    if (row->stored)
        return restore_whole(content, row->stored, row->stored_bytes, err);
    auto_release(blob_release) sqlite3_blob *blob = NULL;
    if (open_blob(content, schema_tables[TABLE_SQLAR].name, content->entry->id, &blob, err) < 0)
        return -1;
    if ((size_t)sqlite3_blob_bytes(blob) != row->stored_bytes)
        return corrupt(content, err);
    return give_small_blob(content, blob, err);
}

/* The row that holds the content of a hard link. */
static int resolve_link(struct sqlpack *pack, const struct sqlpack_entry *entry,
                        struct reader_row *ret_row, struct sqlpack_error *err)
{
    int found = row_by_id(pack, entry->link, NULL, (int64_t)READER_STORED_MAX, ret_row, err);
    if (found < 0)
        return -1;
    const struct sqlpack_entry *first = &ret_row->entry;
    if (!found || ret_row->skip_why || !S_ISREG(first->mode) || first->link ||
        first->sz != entry->sz || first->has_digest != entry->has_digest ||
        memcmp(first->digest, entry->digest, sizeof(entry->digest)) != 0)
        return db_corrupt(pack, err, "hard link '%s' does not lead to its file",
                          show(entry->name).text);
    return 0;
}

int reader_content(struct sqlpack *pack, const struct reader_row *row,
                   int (*write)(void *user, const void *data, size_t size), void *user,
                   struct sqlpack_error *err)
{
    const struct sqlpack_entry *entry = &row->entry;
    if (row->skip_why)
        return fail(err, SQLPACK_CORRUPT, "cannot read '%s': %s", show(entry->name).text,
                    row->skip_why);
    auto_release(content_release) struct content content = {
        .pack = pack, .entry = entry, .write = write, .user = user};
    if (S_ISLNK(entry->mode) && !entry->link)
        return give_whole(&content, entry->target, (size_t)entry->sz, err);
    if (!S_ISREG(entry->mode))
        return fail(err, SQLPACK_INVALID, "cannot read '%s': it is a %s", show(entry->name).text,
                    S_ISDIR(entry->mode) ? "folder" : "special file");
    if (!entry->link)
        return give_file(&content, row, err);
    struct reader_row first;
    if (resolve_link(pack, entry, &first, err) < 0)
        return -1;
    content.entry = &first.entry;
    return give_file(&content, &first, err);
}

/* -- by name ------------------------------------------------------------------------------- */

struct sink {
    int (*write)(void *user, const void *data, size_t size);
    void *user;
};

/* Holes go out as zeros. */
static int fill_holes(void *user, const void *data, size_t size)
{
    struct sink *sink = user;
    if (data)
        return sink->write(sink->user, data, size);
    while (size > 0) {
        size_t part = size < sizeof(zeros) ? size : sizeof(zeros);
        if (sink->write(sink->user, zeros, part) < 0)
            return -1;
        size -= part;
    }
    return 0;
}

int sqlpack_stream(struct sqlpack *pack, const char *name,
                   int (*write)(void *user, const void *data, size_t size), void *user,
                   struct sqlpack_error *err)
{
    struct sink sink = {write, user};
    struct reader_row row;
    if (reader_find(pack, name, (int64_t)READER_STORED_MAX, &row, err) < 0)
        return -1;
    return reader_content(pack, &row, fill_holes, &sink, err);
}

struct memory {
    char *data;
    size_t size, capacity;
};

static int copy(void *user, const void *data, size_t size)
{
    struct memory *memory = user;
    if (size > memory->capacity - memory->size) {
        errno = EOVERFLOW;
        return -1;
    }
    if (data && size)
        memcpy(memory->data + memory->size, data, size); /* a hole is zero already */
    memory->size += size;
    return 0;
}

int sqlpack_read(struct sqlpack *pack, const char *name, void **ret_data, size_t *ret_size,
                 struct sqlpack_error *err)
{
    struct reader_row row;
    if (reader_find(pack, name, (int64_t)READER_STORED_MAX, &row, err) < 0)
        return -1;
    if (row.entry.sz >= SIZE_MAX / 2)
        return fail(err, SQLPACK_NO_MEMORY, "cannot read '%s': it is too large for memory",
                    show(name).text);
    struct memory memory = {.data = calloc(1, (size_t)row.entry.sz + 1),
                            .capacity = (size_t)row.entry.sz};
    if (!memory.data)
        return fail_errno(err, "cannot read '%s'", show(name).text);
    if (reader_content(pack, &row, copy, &memory, err) < 0) {
        free(memory.data);
        return -1;
    }
    *ret_data = memory.data;
    *ret_size = memory.size;
    return 0;
}

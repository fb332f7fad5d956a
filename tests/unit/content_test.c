/* SPDX-License-Identifier: MIT */
/* Tests of lib/content: contents too large for memory, in chunks, behind links. */
#include <errno.h>
#include <zlib.h>

#include "packs.h"

static bool is_foreign(struct sqlpack *pack, const char *name)
{
    struct sqlpack_error err;
    struct sqlpack_entry entry;
    return sqlpack_find(pack, name, &entry, &err) == 0 && entry.is_foreign;
}

/* -- large contents --------------------------------------------------------------------------- */

/* A file of `size` bytes, stored as the bytes or the stream given. */
static void add_stored(sqlite3 *db, int64_t id, const char *name, const void *content, size_t size,
                       const struct buf *stored)
{
    struct sqlpack_entry entry = entry_of(id, name, S_IFREG | 0644);
    entry.sz = size;
    entry.has_digest = true;
    hash_digest(content, size, entry.digest);
    add_stat(db, &entry);
    add_sqlar(db, &entry, stored->data, stored->size, false);
}

static void streams_large_contents(void)
{
    const size_t size = ((size_t)20 << 20) + 12345;
    unsigned char *content = malloc(size), *stream = malloc(size);
    need(content && stream);
    for (size_t i = 0; i < size; i++)
        content[i] = (unsigned char)(i * i >> 7);
    uLongf stream_bytes = size;
    need(compress2(stream, &stream_bytes, content, size, 1) == Z_OK);
    stream[stream_bytes] = 0;
    struct buf raw = {.data = (char *)content, .size = size};
    struct buf packed = {.data = (char *)stream, .size = stream_bytes};
    struct buf less = {.data = (char *)stream, .size = stream_bytes - 5};
    struct buf more = {.data = (char *)stream, .size = stream_bytes + 1};
    sqlite3 *db = pack_new("large.db", 4096);
    add_stored(db, 1, "raw", content, size, &raw);
    add_stored(db, 2, "packed", content, size, &packed);
    add_stored(db, 3, "short", content, size, &less);
    add_stored(db, 4, "surplus", content, size, &more);
    add_stored(db, 5, "less", content, size - 1, &packed);
    content[size / 2] ^= 1;
    add_stored(db, 6, "digest", content, size, &packed);
    content[size / 2] ^= 1;
    struct sqlpack *pack = reopen(db, "large.db");
    ok(reads_as(pack, "raw", content, size), "20 MiB as they are");
    ok(reads_as(pack, "packed", content, size), "20 MiB from a stream");
    is_int(read_status(pack, "short"), SQLPACK_CORRUPT, "a stream that is cut off");
    is_int(read_status(pack, "surplus"), SQLPACK_CORRUPT, "a stream with something behind it");
    is_int(read_status(pack, "less"), SQLPACK_CORRUPT, "a stream of more than was told");
    is_int(read_status(pack, "digest"), SQLPACK_CORRUPT, "another digest");
    sqlpack_close(pack);
    free(content);
    free(stream);
}

/* -- chunks ------------------------------------------------------------------------------------ */

/* A file of 100,000 bytes: a hole, "one" at 1,000, a hole, 200 times 'x' at 50,000 as a stream. */
static void add_chunked(sqlite3 *db, int64_t id, const char *name)
{
    static unsigned char content[100000], xs[200], stream[300];
    content[1000] = 'o';
    content[1001] = 'n';
    content[1002] = 'e';
    memset(xs, 'x', sizeof(xs));
    memcpy(content + 50000, xs, sizeof(xs));
    uLongf stream_bytes = sizeof(stream);
    need(compress(stream, &stream_bytes, xs, sizeof(xs)) == Z_OK);
    struct sqlpack_entry entry = entry_of(id, name, S_IFREG | 0644);
    entry.sz = sizeof(content);
    entry.has_digest = true;
    hash_digest(content, sizeof(content), entry.digest);
    add_stat(db, &entry);
    add_sqlar(db, &entry, NULL, 0, false);
    run_sql(db, "INSERT INTO sqlpack_chunk VALUES(%lld, 1000, 3, x'6f6e65')", id);
    sqlite3_stmt *add;
    need(sqlite3_prepare_v2(db, "INSERT INTO sqlpack_chunk VALUES(?, 50000, 200, ?)", -1, &add,
                            NULL) == SQLITE_OK);
    sqlite3_bind_int64(add, 1, id);
    sqlite3_bind_blob(add, 2, stream, (int)stream_bytes, SQLITE_STATIC);
    need(sqlite3_step(add) == SQLITE_DONE);
    sqlite3_finalize(add);
}

struct pieces {
    uint64_t holes, bytes;
};

static int take_piece(void *user, const void *data, size_t size)
{
    struct pieces *pieces = user;
    *(data ? &pieces->bytes : &pieces->holes) += size;
    return 0;
}

static int fail_piece(void *user, const void *data, size_t size)
{
    (void)user;
    (void)data;
    (void)size;
    errno = EPIPE;
    return -1;
}

static void reads_chunks(void)
{
    static unsigned char content[100000];
    content[1000] = 'o';
    content[1001] = 'n';
    content[1002] = 'e';
    memset(content + 50000, 'x', 200);
    sqlite3 *db = pack_new("chunks.db", 1024);
    add_chunked(db, ID_LATE_FILE, "sparse");
    struct sqlpack *pack = reopen(db, "chunks.db");
    ok(reads_as(pack, "sparse", content, sizeof(content)), "chunks and holes");
    struct sqlpack_error err;
    struct reader_row row;
    struct pieces pieces = {0};
    need(row_by_id(pack, ID_LATE_FILE, NULL, -1, &row, &err) == 1);
    ok(row.is_chunked && !row.stored, "the row tells that it is in chunks");
    is_int(reader_content(pack, &row, take_piece, &pieces, &err), 0, "its pieces");
    ok(pieces.bytes == 203 && pieces.holes == 100000 - 203, "with the holes as such");
    is_int(reader_content(pack, &row, fail_piece, NULL, &err), -1, "a sink that fails");
    ok(err.status == SQLPACK_IO && err.os_errno == EPIPE, "is told with its cause");
    sqlpack_close(pack);
}

static void refuses_malformed_chunks(void)
{
    static const char *const changes[] = {
        "UPDATE sqlpack_chunk SET offset=49000 WHERE offset=50000",
        "UPDATE sqlpack_chunk SET offset=1001 WHERE offset=50000",
        "UPDATE sqlpack_chunk SET offset=99900 WHERE offset=50000",
        "UPDATE sqlpack_chunk SET offset=-1 WHERE offset=1000",
        "UPDATE sqlpack_chunk SET len=199 WHERE offset=50000",
        "UPDATE sqlpack_chunk SET len=201 WHERE offset=50000",
        "UPDATE sqlpack_chunk SET len=0 WHERE offset=1000",
        "UPDATE sqlpack_chunk SET len=2 WHERE offset=1000",
        "UPDATE sqlpack_chunk SET len=3.5 WHERE offset=1000",
        "INSERT INTO sqlpack_chunk VALUES(2199023255552, 2000, 0, x'')",
        "UPDATE sqlpack_chunk SET len=16777217 WHERE offset=1000",
        "UPDATE sqlpack_chunk SET data='one' WHERE offset=1000",
        "UPDATE sqlpack_chunk SET data=x'6f6e66' WHERE offset=1000",
        "DELETE FROM sqlpack_chunk WHERE offset=1000",
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        sqlite3 *db = pack_new("chunks.db", 1024);
        add_chunked(db, ID_LATE_FILE, "sparse");
        run_sql(db, "%s", changes[i]);
        struct sqlpack *pack = reopen(db, "chunks.db");
        is_int(read_status(pack, "sparse"), SQLPACK_CORRUPT, changes[i]);
        sqlpack_close(pack);
    }
}

/* Adds a file of one chunk. */
static void add_one_chunk(sqlite3 *db, int64_t id, const char *name, const struct buf *content,
                          const struct buf *stored)
{
    struct sqlpack_entry entry = entry_of(id, name, S_IFREG | 0644);
    sqlite3_stmt *add;
    entry.sz = content->size;
    entry.has_digest = true;
    hash_digest(content->data, content->size, entry.digest);
    add_stat(db, &entry);
    add_sqlar(db, &entry, NULL, 0, false);
    need(sqlite3_prepare_v2(db, "INSERT INTO sqlpack_chunk VALUES(?, 0, ?, ?)", -1, &add, NULL) ==
         SQLITE_OK);
    sqlite3_bind_int64(add, 1, id);
    sqlite3_bind_int64(add, 2, (int64_t)content->size);
    sqlite3_bind_blob(add, 3, stored->data, (int)stored->size, SQLITE_STATIC);
    need(sqlite3_step(add) == SQLITE_DONE);
    sqlite3_finalize(add);
}

static void bounds_chunks(void)
{
    unsigned char stream[100];
    uLongf stream_bytes = sizeof(stream);
    struct buf most = {.data = calloc(1, ((size_t)16 << 20) + 1), .size = (size_t)16 << 20};
    need(most.data && compress(stream, &stream_bytes, (const unsigned char *)"one", 3) == Z_OK);
    struct buf one = {.data = (char *)"one", .size = 3};
    struct buf longer = {.data = (char *)stream, .size = stream_bytes};
    struct buf more = {.data = most.data, .size = most.size + 1};
    sqlite3 *db = pack_new("bounds.db", 4096);
    add_one_chunk(db, ID_LATE_FILE, "most", &most, &most);
    add_one_chunk(db, ID_LATE_FILE + 1, "more", &more, &more);
    add_one_chunk(db, ID_LATE_FILE + 2, "longer", &one, &longer);
    struct sqlpack *pack = reopen(db, "bounds.db");
    is_int(read_status(pack, "most"), SQLPACK_OK, "a chunk of 16 MiB");
    is_int(read_status(pack, "more"), SQLPACK_CORRUPT, "a byte more");
    is_int(read_status(pack, "longer"), SQLPACK_CORRUPT, "a stream longer than its content");
    sqlpack_close(pack);
    free(most.data);
}

/* A link whose row tells another size than its file's must not fool the caller's buffer. */
static void refuses_links_that_lie(void)
{
    sqlite3 *db = pack_new("lie.db", 1024);
    struct sqlpack_entry first = add_file(db, 1, "first", "hello", 5);
    first.sz = 2;
    add_link(db, 2, "second", &first, "first");
    first.sz = 5;
    first.id = 2;
    add_link(db, 3, "third", &first, "second");
    add_folder(db, 5, "folder");
    first.id = 5;
    add_link(db, 6, "fourth", &first, "folder");
    struct sqlpack *pack = reopen(db, "lie.db");
    is_int(read_status(pack, "second"), SQLPACK_CORRUPT, "a link of another size");
    ok(is_foreign(pack, "third"), "a link to a link is none");
    ok(is_foreign(pack, "fourth"), "nor is one to a folder");
    sqlpack_close(pack);
}

int main(void)
{
    packs_begin();
    streams_large_contents();
    reads_chunks();
    refuses_malformed_chunks();
    bounds_chunks();
    refuses_links_that_lie();
    packs_end();
    return done();
}

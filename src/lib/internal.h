/* SPDX-License-Identifier: MIT */
/* What the files of the library share; nobody outside src/lib includes it. */
#ifndef LIB_INTERNAL_H
#define LIB_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "sqlpack.h"
#include "util/auto.h"
#include "util/buf.h"
#include "util/file.h"
#include "util/path.h"

#define PRINTF(text, first) __attribute__((format(printf, text, first)))

/* -- error.c: fills a struct sqlpack_error ------------------------------------------------- */

/* Each fills *err and returns -1. The text says what failed and on which path. */
int fail(struct sqlpack_error *err, enum sqlpack_status status, const char *format, ...)
    PRINTF(3, 4);

/* The same for a failed system call: the status comes from errno, whose text is added. */
int fail_errno(struct sqlpack_error *err, const char *format, ...) PRINTF(2, 3);

/* The same for a failed call of SQLite on `db`. */
int fail_sqlite(struct sqlpack_error *err, sqlite3 *db, const char *format, ...) PRINTF(3, 4);

/* A name or path as a message shows it: escaped, shortened in the middle. */
struct shown {
    char text[256];
};
struct shown show(const char *name);

/* -- report.c: the hooks of a long call, one caller at a time ------------------------------- */

struct report {
    const struct sqlpack_hooks *hooks;
    pthread_mutex_t mutex;
    struct sqlpack_progress progress;
    uint64_t loss_count, note_count, difference_count;
};

void report_init(struct report *report, const struct sqlpack_hooks *hooks);
void report_release(struct report *report);

/* Adds to the progress and tells the caller. Fails with CANCELLED where the caller says so. */
int report_progress(struct report *report, uint64_t entries, uint64_t bytes,
                    struct sqlpack_error *err);

/* Reports one problem and counts it. */
void report_problem(struct report *report, const struct sqlpack_problem *problem);

/* -- hash.c: digests, seals and the root digest --------------------------------------------- */

/* XXH3-128 of some bytes, in the canonical (big-endian) form. */
void hash_digest(const void *data, size_t size, uint8_t ret_digest[SQLPACK_DIGEST_BYTES]);

/* The same for content that comes in pieces. */
struct hash_stream;
struct hash_stream *hash_stream_new(void); /* NULL: out of memory */
void hash_stream_add(struct hash_stream *stream, const void *data, size_t size);
void hash_stream_int(struct hash_stream *stream, int64_t value); /* typed fields, for tables */
void hash_stream_bytes(struct hash_stream *stream, const void *data, size_t size);
void hash_stream_end(const struct hash_stream *stream, uint8_t ret_digest[SQLPACK_DIGEST_BYTES]);
void hash_stream_reset(struct hash_stream *stream);
void hash_stream_free(struct hash_stream *stream); /* NULL is fine */

/* The seal of a row of sqlpack_stat: over id, name and all columns but ctime_ns. */
int64_t hash_seal(const struct sqlpack_entry *entry);

/* A root digest in the making: the sum of the hashes of entries, in any order. */
struct hash_sum {
    unsigned __int128 sum;
};
void hash_sum_add(struct hash_sum *sum, const struct sqlpack_entry *entry, bool content_only);
void hash_sum_remove(struct hash_sum *sum, const struct sqlpack_entry *entry, bool content_only);
void hash_sum_merge(struct hash_sum *sum, const struct hash_sum *other);
void hash_sum_digest(const struct hash_sum *sum, uint8_t ret_digest[SQLPACK_DIGEST_BYTES]);

/* -- schema.c: the tables and every SQL statement ------------------------------------------- */

#define SCHEMA_FORMAT         1          /* of sqlpack's tables: user_version and info 'format' */
#define SCHEMA_APPLICATION_ID 0x53514c70 /* "SQLp" */

/* The tables and indexes of a pack, in the order of their root pages. */
enum table {
    TABLE_SQLAR,
    TABLE_SQLAR_NAME, /* the index */
    TABLE_STAT,
    TABLE_CHUNK,
    TABLE_CHUNK_KEY, /* the index of its primary key */
    TABLE_OWNER,
    TABLE_LOSS,
    TABLE_INFO,
    TABLE_COUNT,
};
struct schema_table {
    const char *name; /* as sqlite_schema has it */
    const char *sql;  /* NULL for an index that SQLite makes itself */
};
extern const struct schema_table schema_tables[TABLE_COUNT];

/* ids: entries in the order of their names from 1; then what a plain -Ax must meet last. */
#define ID_LATE_FOLDER ((int64_t)1 << 40) /* folders that their owner cannot fill, from here */
#define ID_LATE_FILE   ((int64_t)1 << 41) /* files in chunks, from here up */

/* Keys of sqlpack_info. */
#define INFO_FORMAT         "format"
#define INFO_HASH           "hash"
#define INFO_HASH_XXH3      "xxh3-128"
#define INFO_ROOT_DIGEST    "root_digest"
#define INFO_OWNER_DIGEST   "owner_digest" /* over kind, id, name of the rows, by rowid */
#define INFO_LOSS_DIGEST    "loss_digest"  /* over name, what, os_errno of the rows, by rowid */
#define INFO_SEAL           "seal" /* digest over key, value of all other rows, by key */
#define INFO_FILES          "file_count"
#define INFO_FOLDERS        "folder_count"
#define INFO_SYMLINKS       "symlink_count"
#define INFO_SPECIALS       "special_count"
#define INFO_HARD_LINKS     "hard_link_count"
#define INFO_CONTENT_BYTES  "content_bytes"
#define INFO_TREE_ALLOCATED "tree_allocated_bytes"

/* -- attr.c: extended attributes as one blob ------------------------------------------------- */

/*
 * Reads the attributes of an open file or folder into `ret_blob` (emptied first):
 * sorted by name; for each its name, a NUL, the size of its value as four bytes,
 * little-endian, and the value. Returns 0, or -1 with errno; a file system
 * without attributes has none. attr_read_link does it for a name that must not
 * be opened (a symlink, a FIFO, a device).
 */
int attr_read(int fd, struct buf *ret_blob);
int attr_read_link(int folder, const char *leaf, struct buf *ret_blob);

struct attr {
    const char *name; /* ends with NUL */
    const void *value;
    size_t size;
};
/* Steps through a blob; *at begins at 0. Returns 1, 0 at the end, -1 where it is malformed. */
int attr_next(const void *blob, size_t blob_bytes, size_t *at, struct attr *ret_attr);

/* -- codec.c: compresses and restores content ------------------------------------------------- */

#define CODEC_LEVEL 6 /* the default */

struct codec; /* one thread's */
struct codec *codec_new(int level); /* 1 to 12, or 0: never compress. NULL: out of memory */
void codec_free(struct codec *codec); /* NULL is fine */

/*
 * Compresses `size` bytes to a zlib stream in the codec's own buffer, valid until
 * the next call. Returns its size, or 0 where it would not be smaller (or is not
 * worth trying): then the bytes are stored as they are.
 */
size_t codec_compress(struct codec *codec, const void *data, size_t size, const void **ret_stream);

/*
 * Restores exactly `size` bytes. Returns 0, or -1 where the stream is not a whole
 * zlib stream of that many bytes and nothing behind it.
 */
int codec_restore(struct codec *codec, const void *stream, size_t stream_bytes, void *data,
                  size_t size);

/* Whether `sz` bytes can come from a stream of this many (deflate makes 1032:1 at best). */
bool codec_is_possible(uint64_t sz, uint64_t stored_bytes);

/* Deflate and inflate in pieces, for content that is not held in memory. `write` as for
 * sqlpack_stream. codec_pipe_add returns 0, or -1 with errno (EBADMSG: a malformed stream). */
struct codec_pipe;
struct codec_pipe *codec_pipe_deflate(int level); /* NULL: out of memory */
struct codec_pipe *codec_pipe_inflate(void);      /* NULL: out of memory */
int codec_pipe_add(struct codec_pipe *pipe, const void *data, size_t size, bool last,
                   int (*write)(void *user, const void *data, size_t size), void *user);
bool codec_pipe_is_whole(const struct codec_pipe *pipe); /* inflate: the stream ended exactly */
void codec_pipe_free(struct codec_pipe *pipe);           /* NULL is fine */

/* -- scan.c: walks a directory tree in the order of the pack ----------------------------------- */

/* An open folder, shared by the entries that were found in it. */
struct folder {
    int fd;
    atomic_uint holders;
};
void folder_drop(struct folder *folder); /* NULL is fine; the last one closes it */

/* One name that the walk met; nothing is known of it but its type. */
struct scan_entry {
    struct folder *folder; /* where it lies; held by the entry */
    char *name;            /* path under the root; "" is the root; owned */
    const char *leaf;      /* its name in the folder; "." for the root */
    unsigned char type;    /* DT_DIR, DT_REG ..., as readdir tells it, never DT_UNKNOWN */
};
void scan_entry_release(struct scan_entry *entry);

struct scan_options {
    const char *const *excludes;
    size_t exclude_count;
    const char *const *files; /* walk only these names, what is below, the folders above */
    size_t file_count;
    bool one_file_system;
};

/*
 * Begins a walk of the folder `dir`: the root, then every name in the bytewise
 * order of full names. The options are borrowed until scan_close.
 */
struct scan;
int scan_open(const char *dir, const struct scan_options *options, struct scan **ret_scan,
              struct sqlpack_error *err);

/* The next entry, which the caller releases. A folder that cannot be read is a loss and passed
 * over. Not thread-safe. */
int scan_next(struct scan *scan, struct report *report, struct scan_entry *ret_entry,
              struct sqlpack_error *err);
void scan_close(struct scan *scan); /* NULL is fine */

/* -- exclude.c: which names are left out ---------------------------------------------------------- */

/*
 * Whether one of the patterns takes out `name` itself. A pattern without '/'
 * matches the last part of a name anywhere, one with '/' the whole name from the
 * root; one that ends in '/' matches folders only; '*' and '?' never match '/'.
 */
bool exclude_matches_one(const char *const *patterns, size_t count, const char *name,
                         bool is_folder);

/* The same for `name` or any folder above it. */
bool exclude_matches(const char *const *patterns, size_t count, const char *name, bool is_folder);

/* -- source.c: reads one entry of a tree: metadata, attributes, content ------------------------- */

/* Content up to this size is read whole; larger files are read in pieces. */
#define SOURCE_WHOLE_BYTES ((uint64_t)8 << 20)

struct source_options {
    bool no_xattrs;
    bool no_content;         /* metadata only: no digest either */
    uint64_t max_file_bytes; /* leave larger files out; 0: none is too large */
    int64_t quiet_before_ns; /* ctime_ns is kept where nothing changed since, in ns since 1970 */
};

/* One entry as it was read. Zeroed by SOURCE_NONE once, then used for one entry after another. */
struct source {
    struct sqlpack_entry entry; /* without id, link, and the target of a hard link; name borrowed */
    struct stat stat;           /* of the moment its content was read */
    struct buf xattr, target;   /* what the entry points into */
    struct buf *content; /* set by the caller: where the content of a file is appended */
    size_t content_at;   /* its entry.sz bytes begin here */
    int fd;              /* a file too large to be read whole, or sparse: open; else -1; owned */
    bool is_sparse;      /* it has holes */
    bool is_too_large;   /* left out for max_file_bytes */
};
#define SOURCE_NONE {.fd = -1}
void source_release(struct source *source);

/*
 * Reads what `where` names. Returns 1 where *source is filled, 0 where the entry
 * is left out (a socket, a file too large, one that cannot be read or is gone:
 * reported as a problem), -1 for what ends the whole run. A file that changes
 * while it is read is stored as it was read, and reported. A file that is not
 * read whole (source->fd >= 0) has no digest yet: see source_stream.
 */
int source_read(const struct scan_entry *where, const struct source_options *options,
                struct source *source, struct report *report, struct sqlpack_error *err);

/*
 * Reads a file that source_read left open into its digest and, where it is not
 * NULL, on to `write`: holes as calls with NULL data. Fills digest and sz.
 * Returns as source_read; errors of `write` (-1 with errno) end the run.
 */
int source_stream(const struct scan_entry *where, struct source *source,
                  int (*write)(void *user, const void *data, size_t size), void *user,
                  struct report *report, struct sqlpack_error *err);

/* -- links.c: which names are one file ---------------------------------------------------------- */

/* The files with more than one name that a walk has met. Not thread-safe. */
struct links;
struct link_group {
    int64_t id;                           /* of the first name */
    char *name;                           /* the first name; links_add copies it */
    uint8_t digest[SQLPACK_DIGEST_BYTES]; /* of the content */
    bool has_digest;
};
struct links *links_new(void); /* NULL: out of memory */
void links_free(struct links *links);

/* The group of a file that was met before, or NULL. Valid until links_add or links_met. */
const struct link_group *links_find(const struct links *links, const struct stat *stat);

/* Notes the first name of a file. Returns 0, or -1 when out of memory. */
int links_add(struct links *links, const struct stat *stat, const struct link_group *group);

/* Notes a further name: a group is forgotten when it has met as many as the file has. */
void links_met(struct links *links, const struct stat *stat);

/* -- db.c: opens a pack for reading; the gate of every read ------------------------------------ */

/* One row as it was read. Pointers are valid until the next step. */
struct reader_row {
    struct sqlpack_entry entry;
    const void *stored;   /* content as stored; NULL without content, and where it is in chunks */
    size_t stored_bytes;  /* equal to entry.sz: stored raw */
    bool is_chunked;      /* the content is in sqlpack_chunk */
    const char *skip_why; /* not NULL: the row cannot be used (unsafe or double name): why */
};

/* ids from first to last, both included. */
struct id_range {
    int64_t first, last;
};

/* -- reader.c: finds, lists and reads entries --------------------------------------------------- */

/* Splits the pack into up to `count` ranges of ids of about the same size on disk. */
int reader_split(struct sqlpack *pack, unsigned count, struct id_range *ret_ranges,
                 unsigned *ret_count, struct sqlpack_error *err);

/*
 * Steps through the rows of a range by id. A row whose types or bounds make no
 * sense ends the walk with CORRUPT. `with_content` false leaves `stored` out and
 * reads no content page.
 */
struct reader_rows;
int reader_rows_open(struct sqlpack *pack, struct id_range range, bool with_content,
                     struct reader_rows **ret_rows, struct sqlpack_error *err);
int reader_rows_next(struct reader_rows *rows, struct reader_row *ret_row,
                     struct sqlpack_error *err);
void reader_rows_close(struct reader_rows *rows); /* NULL is fine */

/*
 * Gives the content of a row's file to `write`, piece by piece, with the holes of
 * a sparse file as calls with NULL data; checks size and digest at the end. Fails
 * with CORRUPT; with IO where `write` returns -1 with errno.
 */
int reader_content(struct sqlpack *pack, const struct reader_row *row,
                   int (*write)(void *user, const void *data, size_t size), void *user,
                   struct sqlpack_error *err);

#endif

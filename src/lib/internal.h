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

/* -- error.c: fills a struct sqlpack_error ----------------------------------------------------- */

/* Each fills *err and returns -1. The text says what failed and on which path. */
int fail(struct sqlpack_error *err, enum sqlpack_status status, const char *format, ...)
    PRINTF(3, 4);

/* The same where nothing can be said but that memory is out. */
int fail_no_memory(struct sqlpack_error *err);

/* The same for a failed system call: the status comes from errno, whose text is added. */
int fail_errno(struct sqlpack_error *err, const char *format, ...) PRINTF(2, 3);

/* The same for a failed call of SQLite on `db`. */
int fail_sqlite(struct sqlpack_error *err, sqlite3 *db, const char *format, ...) PRINTF(3, 4);

/* A name or path as a message shows it: escaped, shortened in the middle. */
struct shown {
    char text[256];
};
struct shown show(const char *name);

/* -- report.c: the hooks of a long call, one caller at a time ---------------------------------- */

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

/* -- hash.c: digests, seals and the root digest ------------------------------------------------ */

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

__extension__ typedef unsigned __int128 uint128; /* not ISO C */

/* A root digest in the making: the sum of the hashes of entries, in any order. */
struct hash_sum {
    uint128 sum;
};
void hash_sum_add(struct hash_sum *sum, const struct sqlpack_entry *entry, bool content_only);
void hash_sum_remove(struct hash_sum *sum, const struct sqlpack_entry *entry, bool content_only);
void hash_sum_merge(struct hash_sum *sum, const struct hash_sum *other);
void hash_sum_digest(const struct hash_sum *sum, uint8_t ret_digest[SQLPACK_DIGEST_BYTES]);

/* -- schema.c: the tables and every SQL statement ---------------------------------------------- */

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

/* The forms of sqlar that other programs make; ends with NULL. */
extern const char *const schema_foreign_sqlar[];

/* The statements of the reading side. Those that end in _FOREIGN are for archives without
 * sqlpack's tables; the others that name sqlar alone serve both. */
enum statement {
    STATEMENT_CELL_CHECK,
    STATEMENT_NO_MMAP,
    STATEMENT_BEGIN,
    STATEMENT_SCHEMA,
    STATEMENT_ROWS, /* ?1: largest content to give, ?2 and ?3: ids */
    STATEMENT_ROWS_FOREIGN,
    STATEMENT_ROW_BY_ID, /* ?1: largest content to give, ?2: id */
    STATEMENT_ROW_BY_ID_FOREIGN,
    STATEMENT_ROW_BY_NAME, /* ?1: largest content to give, ?2: name */
    STATEMENT_ROW_BY_NAME_FOREIGN,
    STATEMENT_STAT_BY_ID, /* ?1: id */
    STATEMENT_FIRST_LINK, /* ?1: id of the first name of a hard link */
    STATEMENT_SIZES,
    STATEMENT_ID_ENDS,
    STATEMENT_STAT_END,
    STATEMENT_NAMES_NORMAL,
    STATEMENT_DOUBLES_CREATE,
    STATEMENT_DOUBLES_ADD,  /* ?1: id */
    STATEMENT_DOUBLES_FIND, /* ?1: id */
    STATEMENT_SORT_CREATE,
    STATEMENT_SORT_ADD, /* ?1: key, ?2: id, ?3: name */
    STATEMENT_SORT_UP,
    STATEMENT_SORT_DOWN,
    STATEMENT_SORT_BACK,
    STATEMENT_SORT_CLEAR,
    STATEMENT_CHUNKS, /* ?1: id */
    STATEMENT_INFO,
    STATEMENT_INFO_VALUE, /* ?1: key */
    STATEMENT_STORED_CHUNKS,
    STATEMENT_ROW_COUNT,
    STATEMENT_LOSSES,
    STATEMENT_OWNERS,
    STATEMENT_STAT_COUNT, /* ?1 and ?2: ids */
    STATEMENT_ORPHANS,    /* ?1 and ?2: ids */
    STATEMENT_NAME_BY_ID, /* ?1: id */
    STATEMENT_INDEXED_NAMES,
    STATEMENT_INTEGRITY,
    STATEMENT_CHUNK_PLACES,
    STATEMENT_COUNT,
};
extern const char *const schema_statements[STATEMENT_COUNT];

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
#define INFO_SEAL           "seal"         /* digest over key, value of all other rows, by key */
#define INFO_FILES          "file_count"
#define INFO_FOLDERS        "folder_count"
#define INFO_SYMLINKS       "symlink_count"
#define INFO_SPECIALS       "special_count"
#define INFO_HARD_LINKS     "hard_link_count"
#define INFO_CONTENT_BYTES  "content_bytes"
#define INFO_STORED_BYTES   "stored_bytes" /* the same as stored; counted where it is missing */
#define INFO_TREE_ALLOCATED "tree_allocated_bytes"

/* The two values of sqlpack_owner.kind. */
#define OWNER_USER  "user"
#define OWNER_GROUP "group"

/* -- attr.c: extended attributes as one blob --------------------------------------------------- */

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

/* -- codec.c: compresses and restores content -------------------------------------------------- */

#define CODEC_LEVEL 6 /* the default */

struct codec;                         /* one thread's */
struct codec *codec_new(int level);   /* 1 to 12, or 0: never compress. NULL: out of memory */
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

/*
 * A zlib stream in parts, which several threads may deflate at a time: the head, the
 * parts in order, the tail made of the Adler-32 of all content. codec_deflate_part
 * appends one part to *stream; it returns 0, or -1 with errno.
 */
#define CODEC_STREAM_HEAD       "\x78\x9c"
#define CODEC_STREAM_HEAD_BYTES ((size_t)2)
#define CODEC_STREAM_TAIL_BYTES ((size_t)4)
#define CODEC_ADLER_EMPTY       ((uint32_t)1) /* of no bytes */
int codec_deflate_part(struct codec *codec, const void *data, size_t size, bool is_last,
                       struct buf *stream);
uint32_t codec_adler(uint32_t adler, const void *data, size_t size);
void codec_stream_tail(uint32_t adler, unsigned char ret_tail[CODEC_STREAM_TAIL_BYTES]);

/* Inflates in pieces, for content that is not held in memory. `write` as for sqlpack_stream.
 * codec_pipe_add returns 0, or -1 with errno (EBADMSG: a malformed stream). */
struct codec_pipe;
struct codec_pipe *codec_pipe_inflate(void); /* NULL: out of memory */
int codec_pipe_add(struct codec_pipe *pipe, const void *data, size_t size,
                   int (*write)(void *user, const void *data, size_t size), void *user);
bool codec_pipe_is_whole(const struct codec_pipe *pipe); /* the stream ended exactly */
void codec_pipe_free(struct codec_pipe *pipe);           /* NULL is fine */

/* -- listing.c: the names in one folder -------------------------------------------------------- */

/*
 * One step of a walk through a folder: an entry or, where the text ends in '/',
 * the way down into a folder. Sorting the texts gives the order of full names, in
 * which what is in 'a' comes behind 'a-b', since '-' is less than '/'.
 */
struct listing_step {
    uint64_t prefix; /* the first eight bytes of the text, big-endian: most pairs need no more */
    size_t text_at;
};
struct listing {
    struct buf texts;
    struct listing_step *steps; /* sorted */
    size_t count;
};

/* Reads them. Returns 0, or -1 with errno; then *listing has what could be read. */
int listing_read(int folder, struct listing *listing);
const char *listing_text(const struct listing *listing, size_t i);
unsigned char listing_type(const struct listing *listing, size_t i); /* DT_DIR ... */
void listing_release(struct listing *listing);

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

/* The names in the root folder, and a descriptor of it; before the first entry is asked for. */
const struct listing *scan_root_listing(const struct scan *scan);
int scan_root_fd(const struct scan *scan);

/* The next entry, which the caller releases. A folder that cannot be read is a loss and passed
 * over. Not thread-safe. */
int scan_next(struct scan *scan, struct report *report, struct scan_entry *ret_entry,
              struct sqlpack_error *err);
void scan_close(struct scan *scan); /* NULL is fine */

/* -- exclude.c: which names are left out ------------------------------------------------------- */

/*
 * Whether one of the patterns takes out `name` itself. A pattern without '/'
 * matches the last part of a name anywhere, one with '/' the whole name from the
 * root; one that ends in '/' matches folders only; '*' and '?' never match '/'.
 */
bool exclude_matches_one(const char *const *patterns, size_t count, const char *name,
                         bool is_folder);

/* The same for `name` or any folder above it. */
bool exclude_matches(const char *const *patterns, size_t count, const char *name, bool is_folder);

/* -- source.c: reads one entry of a tree: metadata, attributes, content ------------------------ */

/* Content up to this size is read whole; larger files are read in pieces. */
#define SOURCE_WHOLE_BYTES ((uint64_t)2 << 20)

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
    struct buf *content;        /* set by the caller: where the content of a file is appended */
    size_t content_at;          /* its entry.sz bytes begin here */
    int fd;            /* a file too large to be read whole, or sparse: open; else -1; owned */
    bool is_sparse;    /* it has holes */
    bool is_too_large; /* left out for max_file_bytes */
};
#define SOURCE_NONE                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }
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

/* -- spool.c: bytes that wait outside the memory ----------------------------------------------- */

/* A nameless file beside the pack; made at the first use. */
struct spool {
    const char *path; /* of the pack; borrowed */
    bool is_dry;      /* nothing is kept, only counted */
    bool in_memory;   /* beside nothing, where nothing may be written */
    struct new_file file;
    uint64_t size;   /* bytes appended */
    struct buf tail; /* the last of them, not in the file yet */
};
#define SPOOL_NONE                                                                                 \
    {                                                                                              \
        .file = NEW_FILE_NONE                                                                      \
    }
/* Return 0, or -1 with errno. */
int spool_append(struct spool *spool, const void *data, size_t size);
int spool_flush(struct spool *spool); /* after it, all bytes are in spool->file.fd */
int spool_read(const struct spool *spool, uint64_t at, void *data, size_t size); /* flushed */
void spool_rewind(struct spool *spool, uint64_t size); /* forgets what is behind `size` */
void spool_release(struct spool *spool);

/* -- page.c: how SQLite's file format places a row (sqlite.org/fileformat2.html) --------------- */

/* The kinds of b-tree pages; the numbers are the format's. */
enum page_kind {
    PAGE_INDEX_INTERIOR = 2,
    PAGE_TABLE_INTERIOR = 5,
    PAGE_INDEX_LEAF = 10,
    PAGE_TABLE_LEAF = 13,
};

#define PAGE_VARINT_MAX 9 /* bytes */
unsigned page_varint_bytes(uint64_t value);
unsigned char *page_put_varint(unsigned char *at, uint64_t value); /* returns the byte behind it */
unsigned char *page_put_u32(unsigned char *at, uint32_t value);    /* big-endian */

/* How many of a payload's bytes stand in the cell itself: all, up to page_most_local; else the rest
 * goes to overflow pages. */
uint32_t page_most_local(uint32_t page_bytes, bool is_index);
uint32_t page_local_bytes(uint32_t page_bytes, bool is_index, uint64_t payload_bytes);
uint32_t page_overflow_count(uint32_t page_bytes, uint64_t payload_bytes, uint32_t local_bytes);

/* The page at byte 2^30, which SQLite locks and never uses. */
uint32_t page_lock_number(uint32_t page_bytes);
uint32_t page_number_behind(uint32_t page_bytes, uint32_t number); /* the next that may be used */

/* One b-tree page in the making. With data NULL it only counts. */
struct page {
    unsigned char *data; /* page_bytes of it */
    uint32_t page_bytes;
    enum page_kind kind;
    uint32_t cell_count;
    uint32_t content_at; /* where the lowest cell begins: cells grow down from the end */
};
void page_begin(struct page *page, unsigned char *data, uint32_t page_bytes, enum page_kind kind);
bool page_has_room(const struct page *page, uint32_t cell_bytes);
unsigned char *page_add(struct page *page, uint32_t cell_bytes); /* where to put it; NULL: counts */
void page_take_back(struct page *page, uint32_t cell_bytes);     /* forgets the last cell */
void page_end(struct page *page, uint32_t right_child);          /* writes the header */

/* -- record.c: a row as SQLite's record format has it ------------------------------------------ */

/* Values are added in the order of the columns, then the record is made. */
#define RECORD_COLUMNS_MAX 16
struct record {
    unsigned char types[RECORD_COLUMNS_MAX * PAGE_VARINT_MAX];
    size_t type_bytes;
    struct buf values;
    bool failed; /* out of memory */
};
void record_begin(struct record *record);
void record_null(struct record *record);
void record_int(struct record *record, int64_t value);
void record_int8(struct record *record, int64_t value); /* always eight bytes */
void record_text(struct record *record, const char *text, size_t size);
void record_blob(struct record *record, const void *data, size_t size);
void record_blob_tail(struct record *record, uint64_t size); /* the last value; its bytes follow */
int record_end(struct record *record, struct buf *out); /* appends it; 0, or -1 out of memory */
size_t record_size(const struct record *record);        /* what record_end would append */
void record_release(struct record *record);

/* -- page_file.c: the pages of a new file ------------------------------------------------------ */

/* The pages of a new file, numbered from 1. */
struct page_file {
    int fd;           /* -1: nothing is written, pages are only counted */
    const char *path; /* for messages */
    uint32_t page_bytes;
    uint32_t next; /* the number that comes next */
};
uint32_t page_file_take(struct page_file *file);                      /* never the lock page */
uint32_t page_file_take_many(struct page_file *file, uint32_t count); /* returns the first */
int page_file_write(const struct page_file *file, uint32_t number, const void *data, size_t size,
                    struct sqlpack_error *err);

/* The bytes of a row: a head and a tail, both NULL where pages are only counted. */
struct payload {
    const unsigned char *head;
    size_t head_bytes;
    const unsigned char *tail; /* NULL: the tail stands in a file */
    uint64_t tail_bytes;
    int spool; /* that file */
    uint64_t spool_at;
};
uint64_t payload_bytes(const struct payload *payload);
int payload_copy(const struct payload *payload, uint64_t from, void *data, size_t size); /* errno */

/* Writes what a cell has no room for. Returns the first overflow page; 0: failed, with *err. */
uint32_t page_file_write_chain(struct page_file *file, const struct payload *payload, uint64_t from,
                               struct sqlpack_error *err);

/* -- tree.c: b-trees appended in order --------------------------------------------------------- */

/* A whole tree, or the pages above the leaves of a table. */
struct tree;
struct tree *tree_new(struct page_file *file, uint32_t root, bool is_index);
void tree_free(struct tree *tree); /* NULL is fine */

/* Appends a row; its rowid, or its record in an index, is greater than all before it. */
int tree_append(struct tree *tree, int64_t rowid, const struct payload *payload,
                struct sqlpack_error *err);

/* For a table whose leaves the caller writes: adds the next leaf, whose last row is rowid. */
int tree_add_leaf(struct tree *tree, uint32_t number, int64_t rowid, struct sqlpack_error *err);

/* For an index whose pages are only counted, and its leaves by the caller: one more is full, and
 * the entry behind it, a cell of so many bytes, goes up. The last leaf is tree_finish's. */
int tree_count_index_leaf(struct tree *tree, uint32_t cell_bytes, struct sqlpack_error *err);

/* Writes what is left and puts the top of the tree into its root page. */
int tree_finish(struct tree *tree, struct sqlpack_error *err);

/* -- loader.c: writes a new pack page by page -------------------------------------------------- */

/* One row of sqlar on its way to its pages. */
struct loader_row {
    int64_t id;
    struct payload payload;
    uint32_t local_bytes;    /* the loader's: what stands in the leaf */
    uint32_t overflow_first; /* the loader's: its first overflow page; 0: none */
};

/* Rows that one thread brings at once; all zero at first, then used again and again. */
struct loader_leaf {
    uint32_t number;
    size_t row_first, row_count;
};
struct loader_batch {
    struct loader_row *rows; /* the caller's */
    size_t row_count;
    struct loader_leaf *leaves; /* opened by this batch and full */
    size_t leaf_count, leaf_capacity;
    unsigned char *carried;  /* the image of the leaf that was open before this batch, now full */
    uint32_t carried_number; /* 0: it did not get full */
    unsigned char *out;      /* pages on their way to the file */
    size_t out_pages;
    uint32_t out_first;
};
void loader_batch_release(struct loader_batch *batch);

struct loader;

/* Begins a pack in an empty file (fd -1: only counts its pages). fd and path are borrowed. */
int loader_open(int fd, const char *path, uint32_t page_bytes, struct loader **ret_loader,
                struct sqlpack_error *err);
void loader_close(struct loader *loader); /* NULL is fine */

/*
 * Gives the rows of a batch their pages: one caller at a time, in the order of
 * ids; where a row comes to lie depends only on what came before it. loader_write
 * then writes them, from any thread.
 */
int loader_place_begin(struct loader *loader, struct loader_batch *batch,
                       struct sqlpack_error *err);
int loader_place(struct loader *loader, struct loader_batch *batch, size_t row,
                 struct sqlpack_error *err);
int loader_place_end(struct loader *loader, struct loader_batch *batch, struct sqlpack_error *err);
int loader_write(const struct loader *loader, struct loader_batch *batch,
                 struct sqlpack_error *err);

/* Appends a row to another table or index: in its order, one caller at a time. */
int loader_append(struct loader *loader, enum table table, int64_t rowid,
                  const struct payload *payload, struct sqlpack_error *err);

/* Finishes all trees and writes the header. Returns 0 or -1; then the file is a database. */
int loader_finish(struct loader *loader, struct sqlpack_error *err);
uint64_t loader_page_count(const struct loader *loader);

/* What forecast.c counts with; both belong to the loader. */
struct tree *loader_tree(const struct loader *loader, enum table table);
struct page_file *loader_file(struct loader *loader);

/* -- forecast.c: how many pages a pack takes, for every page size at once ---------------------- */

struct forecast;
int forecast_open(struct forecast **ret_forecast, struct sqlpack_error *err);
void forecast_close(struct forecast *forecast); /* NULL is fine */

/*
 * Counts a row by the size of its record, in the order in which it would be
 * appended: of TABLE_SQLAR, TABLE_STAT, or TABLE_SQLAR_NAME, whose rows have no
 * rowid. Where ret_chains is not NULL, it gets the overflow pages of this row.
 */
int forecast_row(struct forecast *forecast, enum table table, int64_t rowid, uint64_t payload_bytes,
                 uint32_t ret_chains[SQLPACK_PAGE_SIZES], struct sqlpack_error *err);

/* The loader of the i-th page size, to append rows of the other tables to. */
struct loader *forecast_loader(const struct forecast *forecast, size_t i);

/* Ends it. ret_pages gets all pages of the pack, by page size from 512 up. */
int forecast_finish(struct forecast *forecast, uint64_t ret_pages[SQLPACK_PAGE_SIZES],
                    struct sqlpack_error *err);

/* -- links.c: which names are one file --------------------------------------------------------- */

/* The files with more than one name that a walk has met. Not thread-safe. */
struct links;
struct link_group {
    int64_t id; /* of the first name */
    char *name; /* the first name; links_add copies it */
    uint64_t sz;
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

/* -- survey.c: reads a whole tree with several threads, in order ------------------------------- */

enum survey_state {
    SURVEY_READ,
    SURVEY_IGNORED,    /* it is options.ignored */
    SURVEY_SOCKET,     /* reported as a note */
    SURVEY_TOO_LARGE,  /* reported as skipped: `entry` and `stat` tell its size */
    SURVEY_UNREADABLE, /* reported as a loss: nothing but its name is known */
};

/* An entry, with its digest where its content was read; a further hard link has the first name as
 * `target`, and its link is not 0. Ids count the entries. Valid until `each` returns. */
struct survey_entry {
    struct sqlpack_entry entry;
    struct stat stat;
    enum survey_state state;
    bool is_sparse; /* it has holes */
};

struct survey_options {
    unsigned jobs;                   /* 0: one a processor */
    const struct scan_options *scan; /* NULL: everything */
    bool no_xattrs, no_content;      /* as in source_options */
    uint64_t max_file_bytes;         /* as in source_options */
    int64_t quiet_before_ns;         /* as in source_options */
    const struct stat *ignored;      /* a file that is not part of the tree; NULL: none */
    const char *ignored_leaf;        /* its usual name: it is then not even read */
    bool (*wants_content)(void *user, const char *name); /* whether to read it; NULL: always */
    /* Gets the root and every entry, in the order of their names, by one thread at a time. */
    int (*each)(void *user, const struct survey_entry *found, struct sqlpack_error *err);
    /* Hears, before `each` gets what follows, of folders whose content is unknown. NULL is fine. */
    void (*unreadable)(void *user, const char *name);
    void *user;
};

/* Losses are reported and the call succeeds all the same. */
int survey_run(const char *dir, const struct survey_options *options, struct report *report,
               struct sqlpack_error *err);

/* -- gate.c: judges the schema of a file that anyone may have made ----------------------------- */

/* A row of sqlite_schema. */
struct schema_row {
    const char *type, *name, *table, *sql; /* sql is NULL for an index that SQLite made itself */
    int64_t root;                          /* its root page; 0 where it has none */
};

/* What the rows so far hold; all zero at first. */
struct gate {
    unsigned row_count;
    bool has[TABLE_COUNT]; /* in the form of this format */
    uint32_t roots[TABLE_COUNT];
    bool has_foreign_sqlar; /* in the form of other programs */
};

/* Takes the next row. Fails with CORRUPT where no honest program writes it, NOT_A_PACK where it is
 * an sqlar of a form that sqlpack does not know. `path` is for messages. */
int gate_row(struct gate *gate, const struct schema_row *row, const char *path,
             struct sqlpack_error *err);

/* Ends it: *ret_is_own tells whether sqlpack's own tables are there. */
int gate_end(const struct gate *gate, const char *path, bool *ret_is_own,
             struct sqlpack_error *err);

/* -- db.c: opens a pack for reading; the statements -------------------------------------------- */

#define DB_HEADER_BYTES 100

struct sqlpack {
    sqlite3 *db;
    char *path;     /* as the caller gave it, for messages */
    bool is_own;    /* it has sqlpack's tables; else it is an archive of another program */
    int64_t format; /* 0 for the latter */
    unsigned char header[DB_HEADER_BYTES]; /* the file's, as it is in the snapshot */
    uint64_t file_bytes;
    uint32_t roots[TABLE_COUNT]; /* root pages; of an archive only that of the index of names */
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared when first used */
    struct codec *codec;                       /* made when first used */
    struct names {
        bool is_checked;  /* names_check went over all names */
        bool has_odd;     /* some are not as sqlpack writes them */
        bool has_other;   /* some of them are NAME_OTHER */
        bool has_doubles; /* the table of doubles is filled */
    } names;
    struct buf normal;  /* the last odd name, made normal */
    struct buf scratch; /* for what is built and used within one function */
};

/* The shared statement, reset, to be bound; or a new one, which the caller finalizes. */
sqlite3_stmt *db_statement(struct sqlpack *pack, enum statement which, struct sqlpack_error *err);
sqlite3_stmt *db_prepare(struct sqlpack *pack, enum statement which, struct sqlpack_error *err);

/* What the header says: bytes of a page, those of them that b-trees use, unused pages. */
uint32_t db_page_bytes(const struct sqlpack *pack);
uint32_t db_usable_bytes(const struct sqlpack *pack);
uint32_t db_free_pages(const struct sqlpack *pack);

/* Steps: 1 a row, 0 the end, -1. */
int db_step(struct sqlpack *pack, sqlite3_stmt *statement, struct sqlpack_error *err);

/* Runs a statement that gives no rows. */
int db_run(struct sqlpack *pack, enum statement which, struct sqlpack_error *err);

/* Finalizes *statement, for auto_release. */
void db_release(sqlite3_stmt **statement);

/* Fails with CORRUPT: "'PACK' is damaged: " and the text. */
int db_corrupt(const struct sqlpack *pack, struct sqlpack_error *err, const char *format, ...)
    PRINTF(3, 4);

/* -- name.c: the names that other programs write ----------------------------------------------- */

/* How a name is written, in the order of preference where several mean the same entry. */
enum name_form {
    NAME_PLAIN, /* as sqlpack writes it */
    NAME_DOT,   /* ./name */
    NAME_SLASH, /* /name */
    NAME_TAIL,  /* name/ */
    NAME_OTHER, /* with further needless slashes and dots */
    NAME_ROOT,  /* "." or "/": the root folder itself */
    NAME_UNSAFE,
};

/* Tells the form; of an odd one, its normal form goes into ret_normal (emptied first; terminated).
 * Returns -1 when out of memory. */
int name_form(const char *name, size_t size, struct buf *ret_normal, enum name_form *ret_form);

/* Makes the SQL functions sqlpack_normal and sqlpack_form. Returns SQLite's code. */
int name_register(sqlite3 *db);

/* The name in a column, or NULL: it is no text, or has a NUL in it. */
const char *name_column(sqlite3_stmt *statement, int column, size_t *ret_size);

/* Whether a name comes after the last one, which it then becomes: a b-tree that leads in circles
 * does not go on for ever. Fails with CORRUPT. */
int name_ascends(struct sqlpack *pack, const char *name, size_t size, struct buf *last,
                 struct sqlpack_error *err);

/* Goes over all names once: fills pack->names. */
int names_check(struct sqlpack *pack, struct sqlpack_error *err);

/* Finds the row whose name is written as nobody would guess (NAME_OTHER) and means `name`; the
 * whole index is searched. Returns 1, 0, -1. */
int names_find_other(struct sqlpack *pack, const char *name, int64_t *ret_id,
                     struct sqlpack_error *err);

/* Whether rows of another program may be there that are not known to be plain; cheap. */
int names_may_be_odd(struct sqlpack *pack, bool *ret_may_be, struct sqlpack_error *err);

#define NAME_IS_UNSAFE "its name is not safe"
#define NAME_IS_DOUBLE "another row has the same name"

/* What to make of a row's name. */
struct name_verdict {
    const char *name;     /* its normal form; the raw name where the row cannot be used */
    const char *skip_why; /* NULL, or why the row cannot be used */
};

/* Judges the name of row `id`. The result borrows from `name`, or is valid until the next call. */
int names_judge(struct sqlpack *pack, int64_t id, const char *name, size_t size,
                struct name_verdict *ret_verdict, struct sqlpack_error *err);

/* -- cursor.c: steps through a b-tree, past SQLite's virtual machine --------------------------- */

#define CURSOR_PAYLOAD_MAX ((uint64_t)9 << 20)

struct cursor;

/* One row. The payload is its record, valid until the next step. */
struct cursor_row {
    int64_t rowid; /* of a table; 0 for an index */
    const unsigned char *payload;
    size_t payload_bytes;
};

/* Where to begin: at this rowid of a table, or at this first column of an index. */
struct cursor_key {
    int64_t rowid;
    const char *name;
    size_t name_bytes;
};

/* For a table of a pack that is_own, or the index of names of any. Seek before the first step. */
int cursor_open(struct sqlpack *pack, enum table table, struct cursor **ret_cursor,
                struct sqlpack_error *err);
int cursor_seek(struct cursor *cursor, const struct cursor_key *key, struct sqlpack_error *err);

/* Steps: 1 a row, 0 the end, -1. The caller sees to it that keys ascend, and ends where not. */
int cursor_next(struct cursor *cursor, struct cursor_row *ret_row, struct sqlpack_error *err);

/* The same for the index of names. The name has no NUL in it, and none behind it. */
int cursor_next_name(struct cursor *cursor, int64_t *ret_id, const char **ret_name,
                     size_t *ret_size, struct sqlpack_error *err);
void cursor_close(struct cursor *cursor); /* NULL is fine */

/* Reads a number of one to nine bytes before `end`. Returns its bytes, or 0. */
size_t cursor_varint(const unsigned char *at, const unsigned char *end, uint64_t *ret_value);

/* -- field.c: the values of a row -------------------------------------------------------------- */

enum field_kind { FIELD_NULL, FIELD_INT, FIELD_TEXT, FIELD_BLOB, FIELD_OTHER };
struct field {
    enum field_kind kind;
    int64_t number;   /* of FIELD_INT */
    const void *data; /* of FIELD_TEXT and FIELD_BLOB */
    size_t size;
};

/* Takes the first `count` columns from a record. Returns false where it is malformed. */
bool field_take(const struct cursor_row *row, struct field *fields, size_t count);
void field_take_column(sqlite3_stmt *statement, int column, struct field *ret_field);

/* -- row.c: makes entries from rows, sealed or foreign ----------------------------------------- */

/* Larger contents are never handed out in memory: reader_content streams them. */
#define READER_STORED_MAX ((size_t)8 << 20)

/* One row as it was read. Pointers are valid until the next step. */
struct reader_row {
    struct sqlpack_entry entry;
    const void *stored;   /* content as stored; NULL where reader_content must fetch it: not asked
                             for, in chunks, or more than READER_STORED_MAX bytes */
    size_t stored_bytes;  /* equal to entry.sz: stored raw */
    bool is_chunked;      /* the content is in sqlpack_chunk */
    const char *skip_why; /* not NULL: the row cannot be used (unsafe or double name): why */
};

#define ROW_SQLAR_COLUMNS 7 /* in a row statement: those of sqlar, then those of sqlpack_stat */

/*
 * Reads the columns of sqlpack_stat, which begin at `column`, into all of *ret_entry
 * but target. Returns 1, or 0 where there is no row or its seal does not fit `name`.
 * Types and bounds that make no sense: CORRUPT.
 */
int row_stat(struct sqlpack *pack, sqlite3_stmt *statement, int column, const char *name,
             struct sqlpack_entry *ret_entry, struct sqlpack_error *err);

/* The same for a row that a cursor found. */
int row_stat_record(struct sqlpack *pack, const struct cursor_row *row, const char *name,
                    struct sqlpack_entry *ret_entry, struct sqlpack_error *err);

/*
 * Reads a whole row. `known_name` is its normal name where that was found out before,
 * else NULL: then skip_why tells unsafe and double names, and the name is "" where
 * another program stored the root folder.
 */
int row_decode(struct sqlpack *pack, sqlite3_stmt *statement, const char *known_name,
               struct reader_row *ret_row, struct sqlpack_error *err);

/* Fetches a row by id or by its exact name; content up to content_max bytes comes with it, none
 * for -1. Returns 1, 0 where there is none, -1. Valid until the next call of the same kind. */
int row_by_id(struct sqlpack *pack, int64_t id, const char *known_name, int64_t content_max,
              struct reader_row *ret_row, struct sqlpack_error *err);
int row_by_name(struct sqlpack *pack, const char *raw_name, const char *known_name,
                int64_t content_max, struct reader_row *ret_row, struct sqlpack_error *err);

/* ids from first to last, both included. */
struct id_range {
    int64_t first, last;
};

/* -- reader.c: finds, lists and reads entries -------------------------------------------------- */

/* Splits the pack into up to `count` ranges of ids of about the same size on disk. */
int reader_split(struct sqlpack *pack, unsigned count, struct id_range *ret_ranges,
                 unsigned *ret_count, struct sqlpack_error *err);

/* Finds a row by its name as sqlpack_find does, its content with it as row_by_id gives it. */
int reader_find(struct sqlpack *pack, const char *name, int64_t content_max,
                struct reader_row *ret_row, struct sqlpack_error *err);

/*
 * Steps through the rows of a range by id; the root folder is never among them. A row whose types
 * or bounds make no sense ends the walk with CORRUPT. `with_content` false leaves `stored` out and
 * reads no content page.
 */
struct reader_rows;
int reader_rows_open(struct sqlpack *pack, struct id_range range, bool with_content,
                     struct reader_rows **ret_rows, struct sqlpack_error *err);
int reader_rows_next(struct reader_rows *rows, struct reader_row *ret_row,
                     struct sqlpack_error *err);
void reader_rows_close(struct reader_rows *rows); /* NULL is fine */

/*
 * Gives the content of a row's file (of its group, for a hard link; the target,
 * for a symlink) to `write`, piece by piece, with the holes of
 * a sparse file as calls with NULL data; checks size and digest at the end. Fails
 * with CORRUPT; with IO where `write` returns -1 with errno.
 */
int reader_content(struct sqlpack *pack, const struct reader_row *row,
                   int (*write)(void *user, const void *data, size_t size), void *user,
                   struct sqlpack_error *err);

/* -- ahead.c: reads pages ahead ---------------------------------------------------------------- */

/* Makes an open handle read pages ahead until it is closed: for going through most of a pack. */
int ahead_begin(struct sqlpack *pack, struct sqlpack_error *err);

/* -- sweep.c: goes through a whole pack with several threads ----------------------------------- */

struct sweep_options {
    const char *path;
    unsigned jobs;       /* 0: one a processor */
    unsigned task_count; /* things to do beside the ranges, which begin first */
    /* Each call gets a handle that no other thread uses meanwhile. */
    int (*task)(void *user, unsigned number, struct sqlpack *pack, struct sqlpack_error *err);
    int (*range)(void *user, struct sqlpack *pack, struct id_range range,
                 struct sqlpack_error *err);
    void *user;
};

/* Calls task() for every task and range() for ranges that hold all ids there can be. The first
 * error ends it. The caller holds a handle open, so that all threads see the same snapshot. */
int sweep_run(const struct sweep_options *options, struct sqlpack_error *err);

/* -- digest.c, verify.c, inspect.c, compare.c: is everything as it was? ------------------------ */

/* Takes content, as reader_content gives it, into a struct hash_stream. */
int digest_write(void *hash, const void *data, size_t size);

/* Reports a difference. The text begins with its id and a colon: "content-differs: ...". */
void report_difference(struct report *report, const char *name, const char *format, ...)
    PRINTF(3, 4);

/* Which contents are read. */
struct sample {
    uint64_t seed;
    uint64_t limit; /* contents whose hash is below it; UINT64_MAX: all; 0: none */
};
bool sample_takes(const struct sample *sample, const char *name);

/* What the rows of a pack add up to, without those that are skipped. */
struct tally {
    uint64_t entry_count, foreign_count, read_count;
    uint64_t file_count, folder_count, symlink_count, special_count, hard_link_count;
    uint64_t content_bytes; /* apparent size of all files, each inode once */
    uint64_t read_bytes;
    struct hash_sum sum;
    uint64_t names; /* sum of inspect_name over all rows */
};

/* Checks what stands beside the rows of sqlar; each reports what is wrong. */
int inspect_structure(struct sqlpack *pack, struct report *report, struct sqlpack_error *err);
int inspect_folders(struct sqlpack *pack, uint64_t *ret_names, struct report *report,
                    struct sqlpack_error *err);
int inspect_chunks(struct sqlpack *pack, struct report *report, struct sqlpack_error *err);
int inspect_info(struct sqlpack *pack, const struct tally *tally, struct report *report,
                 bool *ret_root_matches, struct sqlpack_error *err);

/* A name and where it leads, as a number: the sums over table and index must be equal. The names
 * of the root, which some programs store, count as nothing. */
uint64_t inspect_name(int64_t id, const char *name);

/* A number that info holds, and the number of entries, for progress alone; 0: unknown. */
uint64_t inspect_expected(struct sqlpack *pack, const char *key);
uint64_t inspect_expected_entries(struct sqlpack *pack);

/* Reports every difference between the tree options->dir and the pack `path`. */
int compare_tree(const char *path, const struct sqlpack_verify_options *options,
                 const struct sample *sample, struct report *report, struct sqlpack_error *err);

#endif

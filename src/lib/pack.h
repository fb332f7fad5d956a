/* SPDX-License-Identifier: MIT */
/* What the files of packing share: pack.c, pack_read.c, pack_place.c, pack_end.c, choose.c. */
#ifndef LIB_PACK_H
#define LIB_PACK_H

#include "lib/internal.h"

/* A batch ends at so many names, or before if their content is more than this. */
#define BATCH_NAMES ((size_t)256)
#define BATCH_BYTES ((size_t)512 << 10)

/* Stored content beyond this goes to sqlpack_chunk: SQLite holds 1e9 bytes in a row, name and
 * all. Files that have holes go there too. */
#define ROW_CONTENT_MAX ((uint64_t)999000000)
#define CHUNK_BYTES     ((size_t)4 << 20) /* of content in one piece */

/* One piece of a file in chunks: where it stands in the spool. */
struct piece {
    uint64_t offset, len; /* in the file */
    uint64_t spool_at, stored_bytes;
};

/* A part of a large file, which any thread may deflate. */
struct part {
    struct part *next; /* of those that wait */
    struct buf content, stream;
    bool is_last;
    enum { PART_IDLE, PART_WAITS, PART_DONE, PART_FAILED } state;
};

/* One name of a batch, from the walk to its rows. */
struct item {
    struct scan_entry where;
    struct sqlpack_entry entry; /* pointers filled when it is placed: xattr and target stand in */
    size_t xattr_at, target_at; /* batch->extras */
    bool is_read;               /* else it is left out */
    bool is_too_large;          /* it is left out for its size */
    struct stat stat;
    size_t content_at;     /* stored content in batch->content ... */
    uint64_t stored_bytes; /* ... of this size */
    bool is_spooled;       /* stored content is in batch->spool, from spool_at */
    uint64_t spool_at;
    bool is_chunked;
    size_t piece_first, piece_count; /* in batch->pieces */
};

/* A problem that a batch met, kept until its turn comes. */
struct kept_problem {
    size_t position; /* the item before which it is told */
    enum sqlpack_problem_kind kind;
    char *name, *what;
    int os_errno;
};
struct kept_problems {
    struct report report; /* what the walk and the reading report to */
    struct sqlpack_hooks hooks;
    struct kept_problem *list;
    size_t count, capacity, told;
    size_t position; /* of what is reported now */
    bool failed;     /* out of memory */
};
void kept_problems_init(struct kept_problems *problems);
void kept_problems_release(struct kept_problems *problems);

/* A run of names: taken, read, placed in turn, written. */
struct batch {
    struct batch *next; /* in a list */
    uint64_t ticket;    /* its turn */
    struct item items[BATCH_NAMES];
    size_t count;
    size_t part; /* a batch of large files comes in parts: where the one at hand begins */
    size_t done; /* items placed so far */
    struct kept_problems walk_problems, read_problems;
    struct buf content, extras, heads;
    struct piece *pieces;
    size_t piece_count, piece_capacity;
    struct spool spool;
    struct source source;
    struct codec *codec; /* of the thread that reads it */
    struct loader_batch rows;
    size_t head_at[BATCH_NAMES]; /* where the head of each row begins in heads */
};

/* Rows whose ids are known only in the end, each with its row of sqlpack_stat; see ID_LATE_*. */
struct late_rows {
    struct spool spool;
    uint64_t count;
};

/* What stands before and behind a pair of late rows, so that they are read from either side. */
struct late_frame {
    int64_t id;
    size_t stat_bytes, sqlar_bytes; /* the record of sqlpack_stat, then that of sqlar */
};

/* The ids given so far: entries in the order of their names, and those that come late. */
struct ids {
    int64_t next; /* begins at 1 */
    uint64_t late_folders, late_files;
};

/* Users and groups that own entries. */
struct owner_set {
    uint32_t *ids; /* sorted */
    size_t count, capacity;
};

/* Names, owned. */
struct name_list {
    char **names;
    size_t count, capacity;
};

struct packer {
    const char *dir, *path;
    const struct sqlpack_pack_options *options;
    struct sqlpack_pack_result *result;
    int level;
    struct report report;
    struct source_options source_options;
    struct scan_options scan_options;
    struct scan *scan;
    struct new_file file;
    struct stat own[2]; /* the new file, and the one that it replaces: not part of the tree */
    struct loader *loader;

    pthread_mutex_t scan_mutex;
    uint64_t next_ticket;
    bool scan_ended;
    atomic_size_t batch_names; /* how many names a batch takes, as their sizes suggest */

    pthread_mutex_t turn_mutex;
    pthread_cond_t turn_changed; /* or a batch was freed, a part came or is done, all is over */
    uint64_t turn;
    bool is_placing;      /* a thread is at it, and looks at what is ready before it ends */
    struct batch *free;   /* batches that nobody needs */
    struct batch **ready; /* batches that are read, by ticket modulo batch_count */
    struct part *parts;   /* parts that wait for a thread, oldest first */
    bool failed;
    struct sqlpack_error err;
    struct batch *batches;
    size_t batch_count;

    pthread_mutex_t links_mutex; /* for reading links elsewhere, and for changing them */
    struct links *links;

    /* what follows belongs to the thread that places */
    struct ids ids;
    int64_t loss_rows, chunk_rows;
    struct late_rows late_folders, late_files;
    struct name_list lost_folders; /* folders without a row, as far as names below them may come */
    struct owner_set users, groups;
    struct hash_sum root;
    struct hash_stream *loss_hash;
    struct record record; /* room to make rows in */
    struct buf room;
};

/* pack.c: before which time, in ns since 1970, a file must have changed last to count as at rest.
 */
int64_t pack_quiet_before(void);

/* Fails with INVALID where there is no such level or page size. */
int pack_check_form(int level, uint32_t page_bytes, struct sqlpack_error *err);

/* pack_turn.c: reads, places and writes all entries, with the threads that were asked for. */
int pack_entries(struct packer *packer, struct sqlpack_error *err);

/* choose.c: sets result->page_bytes; where it chooses, choices and sample_count too. */
int choose_page_size(struct packer *packer, struct sqlpack_error *err);

/* The rule: of the smallest packs that are read fast, or the smallest of all. */
uint32_t choose_best(const struct sqlpack_page_choice *choices, bool smallest);

/* Fills what a read takes, from the mean of pages in a file's chain and of its stored bytes. */
void choose_model_read(struct sqlpack_page_choice *choice, double read_pages, double stored_bytes);
double choose_mmap_us(double read_pages, double stored_bytes); /* of a read with mmap */

/* pack_read.c: the batch's own part. Returns 1 with names, 0 at the end of the tree, -1. */
int pack_take(struct packer *packer, struct batch *batch, struct sqlpack_error *err);
/* Reads and compresses the next items, as far as memory allows; batch->done to *ret_end. */
int pack_read(struct packer *packer, struct batch *batch, size_t *ret_end,
              struct sqlpack_error *err);

int batch_init(struct batch *batch, const struct packer *packer, struct sqlpack_error *err);
void batch_release(struct batch *batch);

/*
 * pack_large.c: brings a file that source_read left open into the batch's spool: as
 * one row's content if that is short enough, deflated if that makes it smaller,
 * else in chunks. Returns as source_stream.
 */
int pack_spool(struct packer *packer, struct batch *batch, struct item *item,
               struct sqlpack_error *err);

/* With turn_mutex held, which is given up meanwhile: deflates one part that waits. Returns
 * whether there was one. */
bool pack_help(struct packer *packer, struct codec *codec);

/* pack_rows.c: the id of the next entry; then its rows, each from record_begin to before
 * record_end. rows_sqlar builds a link's path in `room`; it returns -1 when out of memory. */
int64_t ids_take(struct ids *ids, const struct sqlpack_entry *entry, bool is_chunked);
void rows_name(struct record *record, const struct sqlpack_entry *entry);
void rows_stat(struct record *record, const struct sqlpack_entry *entry, int64_t seal);
int rows_sqlar(struct record *record, struct buf *room, const struct sqlpack_entry *entry,
               bool is_chunked, uint64_t stored_bytes);
void rows_chunk(struct record *record, int64_t id, const struct piece *piece);
void rows_chunk_key(struct record *record, int64_t id, const struct piece *piece, int64_t rowid);
void rows_loss(struct record *record, const struct sqlpack_problem *problem);

/* Adds an entry to the counts of a result, and an owner to a set (-1: out of memory). */
void rows_count(struct sqlpack_pack_result *result, const struct sqlpack_entry *entry,
                const struct stat *stat);
int owner_set_add(struct owner_set *set, uint32_t id);

/* pack_place.c: in turn, gives the items before `end` ids, rows and pages. */
int pack_place(struct packer *packer, struct batch *batch, size_t end, struct sqlpack_error *err);
void lost_folders_release(struct packer *packer);

/* pack_end.c: late rows, owners, losses and the summary of the pack. */
int pack_end(struct packer *packer, struct sqlpack_error *err);

/* Its part that depends on the tree alone: owners, and the counts of packer->result. */
int pack_append_summary(struct packer *packer, struct sqlpack_error *err);

/* Ends `record` and appends it to a table or index; pack_end uses it too. */
int pack_append(struct packer *packer, enum table table, int64_t rowid, struct record *record,
                struct sqlpack_error *err);

#endif

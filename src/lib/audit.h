/* SPDX-License-Identifier: MIT */
/* What the files of audit share: audit.c and audit_*.c. */
#ifndef LIB_AUDIT_H
#define LIB_AUDIT_H

#include "lib/pack.h"

/* -- audit_values.c: how values are spread, in bounded memory ---------------------------------- */

/* Counts of values in buckets that are exact up to 64 and within 1.6 % above. */
#define VALUES_BUCKETS (64 + 58 * 64)
struct values {
    double *counts; /* VALUES_BUCKETS of them */
};
int values_init(struct values *values); /* 0, or -1 when out of memory */
void values_add(struct values *values, uint64_t value, double count);
uint64_t values_at(const struct values *values, double share); /* 0.5: the median */
void values_release(struct values *values);

/* -- audit_groups.c: classes of sizes, suffixes, folders --------------------------------------- */

/* A file as far as groups ask. */
struct counted_file {
    uint64_t size, allocated, padding;
    uint64_t data; /* what of it a pack stores: all but the holes of a file that is stored so */
};

/* The groups of highest rank so far, the highest first. */
struct ranked {
    struct sqlpack_audit_group group; /* its name is owned */
    uint64_t rank;
};
struct top {
    struct ranked *items;
    size_t count, limit;
};
int top_init(struct top *top, size_t limit); /* 0, or -1 when out of memory */
/* Offers a group of a rank above 0; its name is copied. Returns 0, or -1 when out of memory. */
int top_offer(struct top *top, const struct sqlpack_audit_group *group, uint64_t rank);
/* Hands the groups over. */
int top_take(struct top *top, struct sqlpack_audit_group **ret_groups, size_t *ret_count);
void top_release(struct top *top);

/* Files whose names end alike; the table is full at so many, further ones count as none. */
#define SUFFIXES_MAX 1024
#define SUFFIX_SLOTS 2048
#define SUFFIX_BYTES 16
struct suffix {
    char text[SUFFIX_BYTES]; /* with its dot, in lower case; "" is none */
    struct sqlpack_audit_group group;
    uint64_t data_bytes;            /* of its files */
    struct stratum {                /* audit_sample.c: its files in the sample */
        uint64_t count, sure_bytes; /* all of them; those that would be in every sample */
        double bytes, saved;        /* what the others stand for; then all, and what they save */
    } stratum;
};

/* A folder that the walk is in or below. */
struct frame {
    size_t path_bytes;
    struct sqlpack_audit_group group;
    uint64_t name_count, name_bytes; /* entries in it, and what their names take in a folder */
};

struct groups {
    struct sqlpack_audit_class *classes; /* the result's */
    uint64_t data_bytes[SQLPACK_AUDIT_CLASSES];
    struct suffix *suffixes; /* a hash table, and at SUFFIX_SLOTS those without */
    size_t suffix_count;
    struct buf path; /* of the folder on top */
    struct frame *frames;
    size_t depth, capacity;
    struct top folders, wide;
    /* what folders would take on file systems of other blocks */
    const struct sqlpack_audit_options *options;
    struct sqlpack_audit_blocks *blocks;
};
int groups_init(struct groups *groups, const struct sqlpack_audit_options *options,
                struct sqlpack_audit_result *result);
/* Goes to the folder of an entry, which it counts as a name of it. -1: out of memory. */
int groups_enter(struct groups *groups, const char *name);
/* Counts a file in the folder that was entered. */
struct suffix *groups_file(struct groups *groups, const char *name,
                           const struct counted_file *file);
size_t groups_class(uint64_t size);
int groups_end(struct groups *groups, struct sqlpack_audit_result *result);
void groups_release(struct groups *groups);

/* -- audit_pieces.c: files in pieces ------------------------------------------------------------
 */

/* Bytes of a file that follow each other. */
struct data_run {
    uint64_t from, to;
};
/* The next data of a file at `at` or behind it; with fd < 0 there are no holes. False: none. */
bool run_next(int fd, uint64_t at, uint64_t size, struct data_run *ret_run);
/* The next piece of a run, as pack cuts it: what remains of the run begins behind it. */
struct data_run run_cut(struct data_run *run);

/* Where a row of sqlar goes, and its like. */
struct row_place {
    uint32_t leaf_bytes, chain;
};
struct row_place place_row(uint32_t page_bytes, size_t name_bytes, uint64_t content_bytes);
/* What a piece takes of pages of that size, with what it leaves empty in the leaf before its own.
 * `room`: what is left in the open leaf, 0 at first. */
double piece_cost(uint32_t page_bytes, uint64_t stored_bytes, uint32_t *room);

/* -- audit_rows.c: the pack, row by row -------------------------------------------------------- */

/* Rows that come late: their ids follow from the order. */
struct late_size {
    uint32_t stat_bytes, sqlar_bytes;
};

struct rows {
    struct forecast *forecast;
    struct packer packer; /* for the summary: its counts, owners, hash, room */
    struct links *links;
    struct buf late_folders, late_files; /* struct late_size */
    struct buf losses;                   /* sizes of records, as size_t; filled by any thread */
    int root_fd;
    uint64_t chains[SQLPACK_PAGE_SIZES];     /* overflow pages of files' rows */
    struct values pages[SQLPACK_PAGE_SIZES]; /* pages of a file, stored as it is */
    uint64_t chunk_bytes;                    /* content in sqlpack_chunk */
    uint64_t chunk_pages[SQLPACK_PAGE_SIZES];
};
int rows_open(struct rows *rows, const char *dir, struct sqlpack_pack_result *counts,
              const struct sqlpack_pack_options *options, struct sqlpack_error *err);
/* What became of an entry. */
struct row_made {
    bool is_further; /* it is one more name of a file met before */
    bool is_chunked;
    uint64_t data_bytes; /* of a file: what is stored */
};
/* Counts an entry, in order. */
int rows_add(struct rows *rows, const struct survey_entry *found, struct row_made *ret_made,
             struct sqlpack_error *err);
int rows_end(struct rows *rows, uint64_t ret_pages[SQLPACK_PAGE_SIZES], struct sqlpack_error *err);
void rows_release(struct rows *rows);

/* -- audit_sample.c: what compression would give ----------------------------------------------- */

/* A file that may be read once the walk is over. */
struct candidate {
    double key; /* the smaller, the sooner it is taken */
    char *name;
    uint64_t size;    /* of its data */
    uint64_t content; /* as a program reads it, with holes */
    struct suffix *suffix;
    size_t class; /* of content */
    bool is_sparse, is_chunked;
    bool is_read;
    double weight;         /* how many files it stands for */
    uint64_t stored_bytes; /* its data, compressed */
    /* in pieces: what they take, as they are and compressed, by page size */
    double raw_cost[SQLPACK_PAGE_SIZES], packed_cost[SQLPACK_PAGE_SIZES];
};
/* A row in the order of the pack: runs of rows are kept to see how full leaves get. */
struct kept_row {
    float size; /* of the content; 0: it has none */
    uint16_t suffix, name_bytes;
};
#define KEPT_ROWS ((size_t)128 << 10)
#define KEPT_RUN  ((size_t)64) /* rows kept in a row */

struct sampling {
    struct kept_row *rows;
    size_t row_count, row_stride; /* one run of so many is kept */
    uint64_t rows_met;
    struct candidate *heap; /* the largest key first, while walking */
    size_t count, limit;
    uint64_t file_count;                   /* offered */
    bool is_whole;                         /* all of them are in the sample */
    double ratios[SQLPACK_AUDIT_CLASSES];  /* stored to data, by class of size */
    double row_bytes;                      /* stored in rows of sqlar, not in pieces */
    double chunk_cost[SQLPACK_PAGE_SIZES]; /* what all pieces take, as they are */
};
int sampling_init(struct sampling *sampling, const struct sqlpack_audit_options *options);

/* Tells of a row, in the order of the pack. */
void sampling_row(struct sampling *sampling, size_t name_bytes, uint64_t size, size_t suffix);

/* Offers a file with data, described up to `is_chunked`; its name is copied. Returns 0, or -1 when
 * out of memory. */
int sampling_offer(struct sampling *sampling, const char *name, const struct candidate *file);

/* Draws the sample from what was offered, and reads it. */
int sampling_read(struct sampling *sampling, int root_fd,
                  const struct sqlpack_audit_options *options, struct report *report,
                  struct sqlpack_audit_result *result, struct sqlpack_error *err);

/* audit_estimate.c: fills pack_bytes, error_bytes and reads of all pages, stored_bytes, ratios. */
int sampling_estimate(struct sampling *sampling, struct suffix *suffixes,
                      struct sqlpack_audit_result *result, struct sqlpack_error *err);
void sampling_release(struct sampling *sampling);

/* -- audit_same.c: contents that are there more than once -------------------------------------- */

struct same_file {
    uint64_t size, allocated;
    size_t name_at;
    uint8_t digest[SQLPACK_DIGEST_BYTES];
};
struct same {
    struct same_file *files;
    size_t count, capacity;
    struct buf names;
};
int same_add(struct same *same, const char *name, const struct stat *stat);
int same_end(struct same *same, int root_fd, const struct sqlpack_audit_options *options,
             struct sqlpack_audit_result *result, struct report *report, struct sqlpack_error *err);
void same_release(struct same *same);

/* -- audit_freed.c: what the move gives back --------------------------------------------------- */

/* Looks at the file system, before the walk. */
int freed_begin(const char *dir, struct sqlpack_audit_result *result, struct sqlpack_error *err);

/* How many of the bytes that a file's blocks are told to have are not there. */
uint64_t freed_not(const struct sqlpack_audit_result *result, uint64_t allocated);

/* What the move frees. `data_bytes`: of each class of sizes. */
void freed_end(const struct sqlpack_audit_options *options,
               const uint64_t data_bytes[SQLPACK_AUDIT_CLASSES],
               struct sqlpack_audit_result *result);

/* -- audit_try.c: copies the tree, deletes the copy, looks what that freed --------------------- */

int try_move(const char *dir, const struct sqlpack_audit_options *options,
             struct sqlpack_audit_result *result, struct sqlpack_error *err);

/* Opens a file of the tree by its name under the root; a symlink, or what is no regular file, is
 * an error. Returns a descriptor, or -1 with errno. */
int audit_open(int root_fd, const char *name, struct stat *ret_stat);

#endif

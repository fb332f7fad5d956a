/* SPDX-License-Identifier: MIT */
/*
 * The public interface of sqlpack: packs a directory tree into one SQLite
 * archive, reads it, verifies it and restores it.
 *
 * A pack is an ordinary SQLite Archive (a table `sqlar`) with the metadata that
 * sqlar cannot hold in tables beside it; sqlpack(5) gives the format.
 *
 * Conventions. Functions return 0, or -1 with *err filled and the ret_ outputs
 * untouched; iterators return 1 for an entry, 0 at the end, -1. Names are paths
 * under the packed root: raw bytes, '/' between parts, none before the first.
 * A handle belongs to one thread at a time and survives no fork.
 */
#ifndef SQLPACK_H
#define SQLPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SQLPACK_API   __attribute__((visibility("default")))
#define SQLPACK_CHECK __attribute__((warn_unused_result)) SQLPACK_API
#else
#define SQLPACK_API
#define SQLPACK_CHECK
#endif

#define SQLPACK_VERSION "0.1.0"

/* The version of the library that is linked, which may differ from SQLPACK_VERSION. */
SQLPACK_API const char *sqlpack_version(void);

/* -- errors ------------------------------------------------------------------------------- */

/* What a program can act on. */
enum sqlpack_status {
    SQLPACK_OK = 0,
    SQLPACK_INVALID,     /* an argument makes no sense; nothing was touched */
    SQLPACK_NOT_FOUND,   /* no such entry, file or folder */
    SQLPACK_EXISTS,      /* the output exists */
    SQLPACK_NOT_A_PACK,  /* not an SQLite Archive that sqlpack reads */
    SQLPACK_WAL,         /* a pack in WAL mode, which a reader would have to write to */
    SQLPACK_NEWER,       /* made by a later version of the format */
    SQLPACK_CORRUPT,     /* damaged or hostile; refused */
    SQLPACK_IO,          /* the system failed; os_errno says how */
    SQLPACK_NO_MEMORY,   /* out of memory */
    SQLPACK_BUSY,        /* another process writes the pack, or left a change half done */
    SQLPACK_CANCELLED,   /* the progress callback asked to stop */
    SQLPACK_UNSUPPORTED, /* not possible on this system */
};

/* Owned by the caller; holds no pointer, so it needs no release and cannot go stale. */
struct sqlpack_error {
    enum sqlpack_status status;
    int os_errno;       /* errno of the failed system call, else 0 */
    char message[1024]; /* one line: what failed, on which path, and why; no newline */
};

/* -- what long calls report --------------------------------------------------------------- */

struct sqlpack_progress {
    uint64_t entry_count; /* entries done */
    uint64_t entry_total; /* 0 where it is not known yet */
    uint64_t bytes;       /* content bytes done */
    uint64_t bytes_total; /* 0 where it is not known yet */
};

enum sqlpack_problem_kind {
    SQLPACK_NOTE,       /* nothing is lost that could have been kept: a socket left out */
    SQLPACK_LOSS,       /* something is missing or changed: a file that cannot be read */
    SQLPACK_DIFFERENCE, /* verify: something is not as it was packed */
    SQLPACK_SKIPPED,    /* left out as asked for: a file above max_file_bytes */
};

struct sqlpack_problem {
    enum sqlpack_problem_kind kind;
    const char *name; /* the entry's name; "" is the root, or the pack as a whole */
    const char *what; /* a short phrase: "cannot be read" */
    int os_errno;     /* 0 where no system call failed */
};

/*
 * Callbacks of a long call; any may be NULL. They are never called twice at a time, but
 * from any thread of the call. The pointers they get are valid until they return.
 */
struct sqlpack_hooks {
    int (*progress)(void *user, const struct sqlpack_progress *progress); /* non-zero cancels */
    void (*problem)(void *user, const struct sqlpack_problem *problem);
    void *user;
};

/* -- entries ------------------------------------------------------------------------------ */

#define SQLPACK_DIGEST_BYTES 16
#define SQLPACK_NO_TIME      INT64_MIN

/* One entry: a row of sqlpack_stat with its name. The pointers are borrowed; see each call. */
struct sqlpack_entry {
    int64_t id;         /* sqlar.id; 0 is the root folder */
    const char *name;   /* "" is the root folder */
    uint32_t mode;      /* st_mode: type and permission bits */
    int64_t mtime;      /* seconds since 1970, rounded down; SQLPACK_NO_TIME: not known */
    uint32_t mtime_ns;  /* 0 to 999,999,999 nanoseconds after mtime */
    uint64_t sz;        /* bytes of content; of the target, for a symlink; 0 for a folder */
    uint32_t uid, gid;  /* 2^32-1 where they are not known */
    int64_t ctime_ns;   /* change time of the source, ns since 1970, or SQLPACK_NO_TIME */
    uint64_t rdev;      /* device number of a device node, as makedev makes it */
    int64_t link;       /* id of the first name, where this is a further hard link; else 0 */
    const void *xattr;  /* extended attributes, as sqlpack(5) encodes them; NULL: none */
    size_t xattr_bytes; /* of xattr */
    const char *target; /* a symlink's target; the first name, for a further hard link */
    bool has_digest;    /* whether digest holds anything */
    bool is_foreign;    /* written by another program: only name, mode, mtime, sz are known */
    uint8_t digest[SQLPACK_DIGEST_BYTES]; /* XXH3-128 of the content, big-endian */
};

/* -- pack --------------------------------------------------------------------------------- */

#define SQLPACK_STORE    (-1) /* level: store every file as it is */
#define SQLPACK_PAGE_MIN 1    /* page_bytes: the page size that makes the smallest pack */

/* All zero is the default. Strings are borrowed until the call returns. */
struct sqlpack_pack_options {
    int level;                   /* 1 to 12; 0: the default, 6; SQLPACK_STORE */
    uint32_t page_bytes;         /* 512 to 65536, a power of two; 0: chosen; SQLPACK_PAGE_MIN */
    unsigned jobs;               /* threads; 0: one a processor */
    const char *const *excludes; /* patterns of what to leave out, as sqlpack(1) explains them */
    size_t exclude_count;
    const char *const *files; /* pack these names under the folder only; NULL: all */
    size_t file_count;
    uint64_t max_file_bytes; /* leave larger files out; 0: none is too large */
    bool one_file_system;    /* do not descend into other file systems */
    bool replace;            /* replace an existing pack */
    bool dry_run;            /* read everything, write nothing */
    bool no_xattrs;          /* leave extended attributes and ACLs out */
    bool reproducible;       /* equal trees in different places give equal bytes */
    bool no_sync;            /* do not flush to disk: for scratch work */
    struct sqlpack_hooks hooks;
};

/* What one page size would give; see sqlpack_pack_result. */
struct sqlpack_page_choice {
    uint32_t page_bytes;
    double entry_bytes; /* what an entry takes in the pack, everything included */
    double read_us;     /* modelled time of reading one file by SQL, without mmap */
    double read_pages;  /* pages that such a read goes through one after the other */
};

#define SQLPACK_PAGE_SIZES 8

struct sqlpack_pack_result {
    uint64_t file_count, folder_count, symlink_count, special_count, hard_link_count;
    uint64_t skipped_count;        /* left out by max_file_bytes */
    uint64_t loss_count;           /* rows of sqlpack_loss */
    uint64_t note_count;           /* problems of the kind SQLPACK_NOTE */
    uint64_t content_bytes;        /* apparent size of all files, each inode once */
    uint64_t stored_bytes;         /* the same as stored */
    uint64_t tree_allocated_bytes; /* what the tree takes on disk, folders included */
    uint64_t tree_inode_count;
    uint64_t pack_bytes;           /* size of the pack */
    uint64_t pack_allocated_bytes; /* what it takes on disk */
    uint32_t page_bytes;
    uint8_t root_digest[SQLPACK_DIGEST_BYTES];
    /* 512 to 65536, as estimated from a sample, where the page size was chosen */
    struct sqlpack_page_choice choices[SQLPACK_PAGE_SIZES];
    uint64_t sample_count; /* entries that were looked at for that; 0: it was not chosen */
};

/*
 * Packs the tree under the folder `dir` into a new file `path`, whole or not at
 * all. What cannot be read is left out, reported as a problem and listed in the
 * pack; the call succeeds all the same. Fails with EXISTS, NOT_FOUND, INVALID,
 * IO, NO_MEMORY or CANCELLED.
 */
SQLPACK_CHECK int sqlpack_pack(const char *dir, const char *path,
                               const struct sqlpack_pack_options *options,
                               struct sqlpack_pack_result *ret_result, struct sqlpack_error *err);

/* -- reading ------------------------------------------------------------------------------ */

struct sqlpack;

/*
 * Opens a pack, or any SQLite Archive, for reading; nothing on disk is changed,
 * and one snapshot is seen until the handle is closed, for which writers wait. The
 * caller closes it. Fails with NOT_FOUND, NOT_A_PACK, WAL, NEWER, CORRUPT, BUSY
 * (after five seconds), IO, NO_MEMORY.
 */
SQLPACK_CHECK int sqlpack_open(const char *path, struct sqlpack **ret_pack,
                               struct sqlpack_error *err);
SQLPACK_API void sqlpack_close(struct sqlpack *pack); /* NULL is fine */

/*
 * Finds one entry by its name; "" is the root folder. The entry's pointers are
 * valid until the next call on the pack. Fails with NOT_FOUND, CORRUPT, IO.
 */
SQLPACK_CHECK int sqlpack_find(struct sqlpack *pack, const char *name,
                               struct sqlpack_entry *ret_entry, struct sqlpack_error *err);

/*
 * Reads the content of one entry, decompressed and checked against its digest,
 * into *ret_data, which the caller frees. *ret_size is 0 for an empty file, with
 * *ret_data not NULL. Gives the target of a symlink, the content of the group
 * for a hard link. Fails with NOT_FOUND, INVALID (a folder or a special file),
 * CORRUPT, IO, NO_MEMORY.
 */
SQLPACK_CHECK int sqlpack_read(struct sqlpack *pack, const char *name, void **ret_data,
                               size_t *ret_size, struct sqlpack_error *err);

/*
 * The same in pieces, in bounded memory, for content of any size. `write` gets
 * the content in order; it returns 0, or -1 with errno, which ends the call with
 * IO. A digest that does not match is found at the end: CORRUPT.
 */
SQLPACK_CHECK int sqlpack_stream(struct sqlpack *pack, const char *name,
                                 int (*write)(void *user, const void *data, size_t size),
                                 void *user, struct sqlpack_error *err);

struct sqlpack_list;

enum sqlpack_sort {
    SQLPACK_BY_NAME, /* bytewise */
    SQLPACK_BY_SIZE, /* smallest first, then by name */
    SQLPACK_BY_TIME, /* oldest mtime first, then by name */
};

/* All zero lists everything by name, with the metadata. */
struct sqlpack_list_options {
    const char *below;      /* only this entry and what is below it; NULL or "": all but the root */
    bool names_only;        /* fill id and name only, which is faster */
    enum sqlpack_sort sort; /* other than by name: spools to a temporary file where it must */
    bool reverse;
    /* Told of each row that is left out for its unsafe or double name; may be NULL. */
    void (*skipped)(void *user, const char *name, const char *why);
    void *user;
};

/*
 * Lists entries. One list at a time is open on a pack. The entry's pointers are
 * valid until the next call on the list. Fails with NOT_FOUND where `below` names
 * no entry and none is below it, INVALID, CORRUPT, IO, NO_MEMORY.
 */
SQLPACK_CHECK int sqlpack_list_open(struct sqlpack *pack,
                                    const struct sqlpack_list_options *options,
                                    struct sqlpack_list **ret_list, struct sqlpack_error *err);
SQLPACK_CHECK int sqlpack_list_next(struct sqlpack_list *list, struct sqlpack_entry *ret_entry,
                                    struct sqlpack_error *err);
SQLPACK_API void sqlpack_list_close(struct sqlpack_list *list); /* NULL is fine */

/* What a pack holds, and how its space is used; see sqlpack_info. */
struct sqlpack_summary {
    int64_t format; /* of sqlpack's tables; 0: an archive of another program */
    uint64_t file_count, folder_count, symlink_count, special_count, hard_link_count;
    uint64_t foreign_count; /* rows that another program wrote */
    uint64_t skipped_count; /* rows with an unsafe or a double name, which are left out */
    uint64_t content_bytes; /* apparent size, each inode once */
    uint64_t stored_bytes;  /* the same as stored */
    uint64_t loss_count;
    uint64_t pack_bytes;
    uint64_t pack_allocated_bytes;
    uint64_t tree_allocated_bytes; /* what the tree took on disk when it was packed; 0: unknown */
    uint32_t page_bytes;
    uint64_t page_count, free_page_count;
    bool has_root_digest;
    uint8_t root_digest[SQLPACK_DIGEST_BYTES]; /* as it stands in the pack */
};

/*
 * Tells it. Counts are those that the pack's maker sealed, as long as no other
 * program has added or deleted rows; else all rows are counted, which takes longer and tells
 * foreign_count and skipped_count. Fails with CORRUPT, IO, NO_MEMORY.
 */
SQLPACK_CHECK int sqlpack_info(struct sqlpack *pack, struct sqlpack_summary *ret_summary,
                               struct sqlpack_error *err);

/* Calls `each` for every row of sqlpack_loss; non-zero ends it. */
SQLPACK_CHECK int sqlpack_losses(struct sqlpack *pack,
                                 int (*each)(void *user, const char *name, const char *what,
                                             int os_errno),
                                 void *user, struct sqlpack_error *err);

/* Calls `each` for every user and group name that the pack knows; non-zero ends it. */
SQLPACK_CHECK int sqlpack_owners(struct sqlpack *pack,
                                 int (*each)(void *user, bool is_group, uint32_t id,
                                             const char *name),
                                 void *user, struct sqlpack_error *err);

/* -- unpack ------------------------------------------------------------------------------- */

/* All zero is the default. */
struct sqlpack_unpack_options {
    unsigned jobs;            /* threads; 0: one a processor */
    const char *const *names; /* restore these and what is below them; NULL: all */
    size_t name_count;
    const char *const *excludes;
    size_t exclude_count;
    bool into;          /* merge into an existing folder */
    bool replace;       /* with into: replace existing files, one by one */
    bool skip_existing; /* with into: keep files of the same type, size and time: go on after
                           an interruption; with replace, replace the others */
    bool same_owner;    /* restore owners, also where that fails; root's default */
    bool numeric_owner; /* take user and group numbers, not names */
    bool untrusted;     /* drop set-id bits, foreign owners and device nodes */
    bool specials;      /* make FIFOs and device nodes */
    bool no_xattrs;
    bool no_sync;
    bool dry_run;
    bool sandbox;         /* confine the process to the target with Landlock, for good */
    uint64_t total_bytes; /* refuse to restore more content than this; 0: no limit */
    struct sqlpack_hooks hooks;
};

struct sqlpack_unpack_result {
    uint64_t file_count, folder_count, symlink_count, special_count, hard_link_count;
    uint64_t skipped_count;  /* kept as they were, with skip_existing */
    uint64_t left_out_count; /* special files that were not asked for */
    uint64_t taken_count;    /* entries whose name was taken: losses */
    uint64_t loss_count;     /* problems reported */
    uint64_t content_bytes;
    bool is_confined; /* with sandbox: whether this kernel could */
};

/*
 * Restores a pack into the folder `dir`. A folder that does not exist appears
 * whole or not at all. Nothing outside `dir` is ever touched. What could not be
 * restored is reported as a problem; the call succeeds all the same. Fails with
 * EXISTS, and as sqlpack_open does.
 */
SQLPACK_CHECK int sqlpack_unpack(const char *path, const char *dir,
                                 const struct sqlpack_unpack_options *options,
                                 struct sqlpack_unpack_result *ret_result,
                                 struct sqlpack_error *err);

/* -- verify and digest -------------------------------------------------------------------- */

/* All zero checks everything. */
struct sqlpack_verify_options {
    unsigned jobs;         /* threads; 0: one a processor */
    const char *dir;       /* compare with this tree too; NULL: none */
    double sample_percent; /* read this share of the contents; 0: all */
    bool quick;            /* structure and metadata only, no content */
    struct sqlpack_hooks hooks;
};

struct sqlpack_verify_result {
    uint64_t entry_count;
    uint64_t read_count;                       /* entries whose content was read */
    uint64_t content_bytes;                    /* content read, as apparent size */
    uint64_t difference_count;                 /* problems of the kind SQLPACK_DIFFERENCE */
    uint64_t foreign_count;                    /* rows that another program wrote */
    bool root_digest_matches;                  /* false where the pack has none */
    uint8_t root_digest[SQLPACK_DIGEST_BYTES]; /* as computed from the rows */
};

/* Checks a pack, and compares it with a tree. What is wrong is reported as a problem. */
SQLPACK_CHECK int sqlpack_verify(const char *path, const struct sqlpack_verify_options *options,
                                 struct sqlpack_verify_result *ret_result,
                                 struct sqlpack_error *err);

/* All zero is the default. */
struct sqlpack_digest_options {
    unsigned jobs;
    bool content_only; /* leave owners, times and extended attributes out */
    struct sqlpack_hooks hooks;
};

/* The root digest of a folder or of a pack: equal digests mean equal trees. */
SQLPACK_CHECK int sqlpack_digest(const char *path, const struct sqlpack_digest_options *options,
                                 uint8_t ret_digest[SQLPACK_DIGEST_BYTES],
                                 struct sqlpack_error *err);

/* -- audit -------------------------------------------------------------------------------- */

#define SQLPACK_AUDIT_CLASSES 16 /* of sizes */

/* All zero is the default. Strings are borrowed until the call returns. */
struct sqlpack_audit_options {
    unsigned jobs;       /* threads; 0: one a processor */
    int level;           /* how the pack would be compressed; as for sqlpack_pack */
    uint32_t page_bytes; /* the page size to tell the saving for; as for sqlpack_pack */
    /* Share of the files that is read to estimate compression, and their number; both 0: 2 %, but
     * at least 512 and at most 4,096 files. Never more than 65,536. */
    double sample_percent;
    uint64_t sample_count;
    const char *const *excludes; /* as for sqlpack_pack */
    size_t exclude_count;
    uint64_t max_file_bytes; /* larger files stay files; 0: none is too large */
    bool cross_device;       /* descend into other file systems too */
    bool no_xattrs;          /* the pack would hold no extended attributes */
    bool duplicates;         /* read what has the same size, to find equal contents */
    bool verify_freed; /* copy the tree beside itself, delete the copy, tell what that frees */
    size_t top_count;  /* length of the lists of folders and suffixes; 0: 10 */
    const uint64_t *block_bytes; /* what the tree would take on file systems of these blocks */
    size_t block_count;
    struct sqlpack_hooks hooks;
};

/* Files that have something in common. Padding is what their blocks hold beyond their content. */
struct sqlpack_audit_group {
    char *name; /* of a folder, a suffix (".jpg"; "" is none), the first of equal files */
    uint64_t file_count, content_bytes, allocated_bytes, padding_bytes;
};

/* Files of up to so many bytes that are in no smaller class. */
struct sqlpack_audit_class {
    uint64_t max_bytes; /* UINT64_MAX: the last */
    uint64_t file_count, content_bytes, allocated_bytes, padding_bytes;
    uint64_t packed_bytes; /* estimated: their share of the pack */
};

/* What one page size would give. */
struct sqlpack_audit_page {
    uint32_t page_bytes;
    uint64_t raw_bytes;   /* the pack with all contents stored as they are: exact */
    uint64_t pack_bytes;  /* the pack at the level asked for: estimated, but for SQLPACK_STORE */
    uint64_t error_bytes; /* ... in 95 of 100 samples by less than this */
    double read_pages;    /* pages of a file, one found through the other: mean ... */
    uint64_t read_pages_p99;
    double read_us; /* modelled time of a read by SQL without mmap; NaN: the model ends at 16K */
    double mmap_us; /* the same with mmap */
};

/* The tree on a file system of other blocks: estimated. */
struct sqlpack_audit_blocks {
    uint64_t block_bytes, tree_bytes, pack_bytes;
};

struct sqlpack_audit_result {
    uint64_t file_count, folder_count, symlink_count, special_count, socket_count;
    uint64_t hard_link_count; /* further names of files */
    uint64_t skipped_count;   /* left out by max_file_bytes */
    uint64_t skipped_bytes;   /* ... what they hold */
    uint64_t loss_count;      /* could not be read: then all figures are lower bounds */
    uint64_t entry_count;     /* of the pack */

    uint64_t content_bytes; /* apparent size of all files, each inode once, as all that follows */
    uint64_t tree_allocated_bytes; /* what the tree takes on disk: files, folders, symlinks */
    uint64_t file_allocated_bytes, folder_allocated_bytes;
    uint64_t padding_bytes;              /* what blocks of files hold beyond their content */
    uint64_t hole_count, hole_bytes;     /* files with holes, and what they save */
    uint64_t thin_count, thin_bytes;     /* files with fewer blocks than content, but no holes */
    uint64_t inline_count, inline_bytes; /* in their inodes, and the blocks told of them, which are
                                            none: known of ext4 */
    uint64_t empty_count;
    uint64_t outside_count, outside_allocated_bytes; /* files that have names outside the tree */
    uint64_t size_median, size_p90, size_p99;        /* of a file's content; within 1 % */
    struct sqlpack_audit_class classes[SQLPACK_AUDIT_CLASSES];
    struct sqlpack_audit_group *folders, *suffixes; /* of most padding; a folder's own files */
    size_t folder_count_listed, suffix_count_listed;
    struct sqlpack_audit_group *wide; /* folders with more than 100,000 names: file_count of them */
    size_t wide_count;

    char file_system[16];             /* "ext4"; "" where it is not known */
    uint64_t block_bytes;             /* of it */
    uint64_t inode_count;             /* of the tree */
    uint64_t inode_total, inode_free; /* of the file system; 0: it does not count them */
    uint64_t free_bytes;              /* on the file system, for this user */

    struct sqlpack_audit_page pages[SQLPACK_PAGE_SIZES]; /* 512 to 65536 */
    uint32_t page_bytes;                                 /* the one that is chosen */
    uint64_t pack_bytes, pack_allocated_bytes;           /* with it */
    uint64_t stored_bytes;                               /* contents in it, as stored */
    uint64_t sample_count, sample_bytes;                 /* files read, content compressed */

    int64_t freed_low, freed_high; /* bytes that the move would free, once the tree is deleted */
    uint64_t freed_inode_count;
    uint64_t peak_bytes; /* what the move needs meanwhile: pack and tree at once */

    uint64_t stay_bytes; /* files above this are better left as files; 0: none */
    uint64_t stay_count, stay_content_bytes;
    int64_t stay_saved_bytes; /* what packing those would save */

    struct sqlpack_audit_blocks *blocks; /* as asked for */
    size_t block_count;

    uint64_t duplicate_count,
        duplicate_content_bytes; /* with duplicates: copies beyond the first */
    uint64_t duplicate_allocated_bytes;
    struct sqlpack_audit_group *duplicates; /* that cost most */
    size_t duplicate_count_listed;

    int64_t tried_bytes; /* with verify_freed: what deleting a copy and keeping a pack freed */
    int64_t tried_low, tried_high; /* ... and what was told of that before */
};

/*
 * Tells where the space of the tree under `dir` goes, and what a pack of it would
 * take and free. Nothing is written, but with verify_freed. What cannot be read is
 * reported as a problem; the call succeeds all the same. The caller releases the
 * result. Fails with NOT_FOUND, INVALID, IO, NO_MEMORY or CANCELLED.
 */
SQLPACK_CHECK int sqlpack_audit(const char *dir, const struct sqlpack_audit_options *options,
                                struct sqlpack_audit_result *ret_result, struct sqlpack_error *err);
SQLPACK_API void sqlpack_audit_release(struct sqlpack_audit_result *result);

/* What one table or index of a pack takes. */
struct sqlpack_audit_table {
    char name[48];
    uint64_t row_count;
    uint64_t page_count, overflow_count; /* all its pages, and those of them in chains */
    uint64_t payload_bytes;              /* the records themselves */
    uint64_t unused_bytes;               /* room in its pages that nothing stands in */
};

#define SQLPACK_AUDIT_TABLES 9

/* Where the bytes of a pack are; all parts together are pack_bytes. */
struct sqlpack_audit_space {
    uint64_t pack_bytes, pack_allocated_bytes;
    uint32_t page_bytes;
    uint64_t stored_bytes;   /* contents as stored */
    uint64_t name_bytes;     /* the index of names, without unused room */
    uint64_t metadata_bytes; /* all other records */
    uint64_t format_bytes;   /* page headers, cell pointers, links of chains */
    uint64_t unused_bytes;   /* room in pages that nothing stands in */
    uint64_t free_bytes;     /* pages that are not in use */
    struct sqlpack_audit_table tables[SQLPACK_AUDIT_TABLES];
    size_t table_count;
    uint64_t tree_allocated_bytes; /* what the tree took when it was packed; 0: unknown */
    uint64_t content_bytes;
};

/* Tells how the space of an open pack is spent. Fails with CORRUPT, IO, NO_MEMORY. */
SQLPACK_CHECK int sqlpack_audit_pack(struct sqlpack *pack, struct sqlpack_audit_space *ret_space,
                                     struct sqlpack_error *err);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* What the files that restore a pack share; nobody else includes it. */
#ifndef LIB_RESTORE_H
#define LIB_RESTORE_H

#include "lib/internal.h"
#include "util/workers.h"

/* -- place.c: walks the folders beneath a target, and never outside it --------------------------
 */

/* One thread's place in a tree: the current folder and up to PLACE_LEVELS folders above it. */
#define PLACE_LEVELS 64

struct place {
    int root;            /* the top; borrowed */
    bool replaces;       /* what stands in a new folder's way and is no folder is removed */
    bool strips;         /* new folders may inherit ACLs or the set-gid bit: they are taken away */
    uint64_t made_count; /* folders that were made */
    bool no_openat2;     /* the kernel has none: one open for each part */
    unsigned limit;      /* levels that are held at most */
    unsigned depth;      /* levels that are held */
    struct buf path;     /* the name of the current folder */
    struct place_level {
        int fd;
        size_t path_bytes; /* its name is so long a part of path */
    } levels[PLACE_LEVELS];
};

/* Begins at the folder `root`, which is borrowed. `limit`: descriptors to hold, 0: PLACE_LEVELS. */
void place_init(struct place *place, int root, unsigned limit);
void place_release(struct place *place);

/*
 * Goes to the folder `name` (of `size` bytes; none is the root) without ever
 * following a symlink, and makes what is missing with mode 0700 where `create` is
 * set. Returns a descriptor for the *at calls, valid until the next call, or -1
 * with errno: ENOTDIR or ELOOP where something else stands in the way.
 */
int place_enter(struct place *place, const char *name, size_t size, bool create);

/* The same for the folder that holds `name`; *ret_leaf is the last part of the name. */
int place_of(struct place *place, const char *name, bool create, const char **ret_leaf);

/* Takes inherited ACLs and all mode bits but 0700 from an open folder. Returns 0 or -1 with errno.
 */
int place_strip(int fd);

/* -- target.c: the folder that is being filled, which appears whole or not at all ----------------
 */

struct target {
    int fd;                              /* the folder, open for reading; owned */
    int parent;                          /* what holds it, where it is new; owned */
    char *leaf;                          /* the name it gets there; owned */
    char hidden[FILE_HIDDEN_NAME_BYTES]; /* its name until it is published; "" where it existed */
    bool was_empty;                      /* nothing was in it */
    bool is_merge; /* other entries may lie in it: they stay, and files appear complete */
    bool is_ours;  /* what it holds is removed again, unless it is published */
};
#define TARGET_NONE                                                                                \
    {                                                                                              \
        .fd = -1, .parent = -1                                                                     \
    }

/*
 * Opens `dir`, to be filled: where it does not exist, a hidden folder beside it.
 * An existing one must be empty, unless `into` is set. With `dry_run`, nothing is
 * made: fd may then be -1. Fails with EXISTS,
 * NOT_FOUND, IO, NO_MEMORY.
 */
int target_open(struct target *target, const char *dir, bool into, bool dry_run,
                struct sqlpack_error *err);

/* Whether new entries in a folder get an ACL from it. */
bool target_has_default_acl(int folder);

/* Flushes all that was written to disk. */
int target_flush(const struct target *target, struct sqlpack_error *err);

/* Gives it its name, and flushes that where `sync` is set. */
int target_publish(struct target *target, bool sync, struct sqlpack_error *err);

/* Closes it; what was not published is removed. Safe to call twice. */
void target_release(struct target *target);

/* Removes all that is in a folder, however deep it goes. Returns 0, or -1 with errno. */
int target_clear(int folder);

/* -- owners.c: which owner here stands for one in a pack -----------------------------------------
 */

struct owners {
    struct owner {
        uint32_t id;    /* in the pack */
        uint32_t local; /* here */
        bool is_group;
    } * items; /* those that differ, by kind and id; owned */
    size_t count, capacity;
};

/* Looks up the names that a pack has for its owners. */
int owners_load(struct owners *owners, struct sqlpack *pack, struct sqlpack_error *err);
uint32_t owners_map(const struct owners *owners, bool is_group, uint32_t id);
void owners_release(struct owners *owners);

/* -- meta.c: owner, attributes, mode and times of an entry on disk -------------------------------
 */

/* What holds for all entries of one unpack. */
struct policy {
    const struct sqlpack_unpack_options *options;
    struct report *report;
    uid_t uid; /* the owner and group that new entries have by themselves */
    gid_t gid;
    mode_t umask;
    bool sets_owner; /* owners are restored */
    bool is_careful; /* new entries may have a group, a mode or ACLs from their folder */
    bool is_merge;   /* other entries may lie in the target */
    struct owners owners;
    atomic_uint told;          /* kinds of attributes whose leaving out was told */
    atomic_ullong taken_count; /* entries whose name was taken */
};

/* Begins one that makes new entries; reads the owners of the pack and looks them up here. */
int policy_init(struct policy *policy, struct sqlpack *pack,
                const struct sqlpack_unpack_options *options, struct report *report,
                struct sqlpack_error *err);
void policy_release(struct policy *policy);

/* Reports a loss of an entry. */
void policy_loss(struct policy *policy, const char *name, int os_errno, const char *format, ...)
    PRINTF(4, 5);

/* What an entry gets beyond its content and its time. */
struct meta_plan {
    uid_t uid; /* -1: as it is */
    gid_t gid;
    mode_t mode;     /* permission bits */
    bool sets_owner; /* it has another owner by itself */
    bool sets_mode;  /* it must be set at the end */
    bool sets_attrs;
};
struct meta_plan meta_plan(const struct policy *policy, const struct sqlpack_entry *entry);

/* An entry on disk: open, or a name in a folder, for what must not be opened. */
struct subject {
    int fd; /* -1: by name */
    int folder;
    const char *leaf;
};

/* Applies all of it. What cannot be set is reported as a loss. */
void meta_apply(struct policy *policy, const struct subject *subject,
                const struct sqlpack_entry *entry, const struct meta_plan *plan);

/* -- make.c: makes one entry in a folder --------------------------------------------------------
 */

/* How an attempt ended; -1 with *err: the run is over. */
enum made {
    MADE,
    MADE_KEPT,  /* it was there already, and the same */
    MADE_NOT,   /* it is not there; reported as a loss */
    MADE_APART, /* make_link only: it cannot be a link, and must be made by itself */
};

/* Gives the content of a file to `write`, as reader_content does. */
struct content {
    int (*give)(void *user, int (*write)(void *sink, const void *data, size_t size), void *sink,
                struct sqlpack_error *err);
    void *user;
};

/* Each makes the entry under the name `leaf` in `folder`. */
int make_file(struct policy *policy, int folder, const char *leaf,
              const struct sqlpack_entry *entry, const struct content *content,
              struct sqlpack_error *err);
int make_symlink(struct policy *policy, int folder, const char *leaf,
                 const struct sqlpack_entry *entry, struct sqlpack_error *err);
int make_special(struct policy *policy, int folder, const char *leaf,
                 const struct sqlpack_entry *entry, struct sqlpack_error *err);
int make_link(struct policy *policy, const struct subject *first, int folder, const char *leaf,
              const struct sqlpack_entry *entry, struct sqlpack_error *err);

/*
 * Whether the entry `fd` (O_PATH will do) has another name than the one that it
 * was opened by: the file system takes upper and lower case, or Unicode forms, for
 * the same. *ret_name is then its name.
 */
bool make_folds(int fd, const char *leaf, char ret_name[NAME_MAX + 1]);

/* Whether a system call that failed so means that the system as a whole fails. */
bool make_is_fatal(int os_errno);

/* -- sandbox.c: confines the process with Landlock ------------------------------------------------
 */

struct sandbox {
    const char *pack; /* may be read */
    int target;       /* all below it may be changed */
    int parent;       /* folders in it may be made, renamed and removed; -1: none */
    bool sorts;       /* SQLite needs temporary files */
};

/*
 * Confines this thread, and those that it starts, for good. Returns 1, or 0 where
 * the kernel cannot, or -1.
 */
int sandbox_enter(const struct sandbox *sandbox, struct sqlpack_error *err);

/* -- select.c: which entries are restored
 * ---------------------------------------------------------- */

struct selection {
    char **names; /* cleaned, sorted bytewise, none below another; owned; NULL: everything */
    size_t count;
    const char *const *excludes; /* borrowed */
    size_t exclude_count;
};

int selection_init(struct selection *selection, const struct sqlpack_unpack_options *options,
                   struct sqlpack_error *err);
void selection_release(struct selection *selection);
bool selection_has(const struct selection *selection, const char *name, bool is_folder);

/* -- pass.c: walks over the rows, with several threads
 * --------------------------------------------- */

/* What is made comes in three passes, so that no file is ever made through a link. */
enum pass {
    PASS_FILES, /* folders, files, special files */
    PASS_SYMLINKS,
    PASS_LINKS,
    PASS_COUNT,
};

/* What one thread has to itself. */
struct worker {
    struct run *run;
    struct sqlpack *pack;
    struct place place, first_place;     /* of the entry; of a hard link's first name */
    uint64_t new_entries, new_bytes;     /* not reported yet */
    struct sqlpack_unpack_result result; /* of this thread */
};

/* The folders of a pack, as long as they are few: no need then to look for them in the end. */
struct kept_folders {
    struct buf records; /* struct sqlpack_entry, name, NUL, xattr, each */
    uint64_t count;
    bool is_full; /* they were too many */
};

/* More ranges than threads, so that none is left with a long one at the end. */
#define RANGES_A_THREAD 8
#define RANGES_MAX      (WORKERS_MAX * RANGES_A_THREAD)

/* One unpack. */
struct run {
    const char *path; /* of the pack */
    const char *dir;  /* as the caller named it */
    const struct sqlpack_unpack_options *options;
    struct report report;
    struct policy policy;
    struct target target;
    struct selection selection;
    struct sqlpack *pack; /* of the calling thread, and of `list` */
    struct sqlpack_unpack_result result;
    atomic_ullong total_bytes;     /* of content */
    atomic_bool waits[PASS_COUNT]; /* whether rows wait for the pass */

    struct worker workers[WORKERS_MAX];
    unsigned jobs;
    enum pass pass;
    pthread_mutex_t mutex; /* over all below */
    unsigned next_worker;
    struct id_range ranges[RANGES_MAX]; /* of the whole pack */
    unsigned range_count, next_range;
    size_t next_name; /* of the selection */
    struct sqlpack_list *list;
    int64_t pushed_back; /* an id that the list gave too early; 0: none */
    struct kept_folders folders;
    struct sqlpack_error err; /* the first one */
    atomic_bool is_over;      /* whether there is one */
};

/* Goes over all rows once. */
int pass_run(struct run *run, enum pass pass, struct sqlpack_error *err);

/* -- folders.c: gives the folders their metadata, the deepest first
 * -------------------------------- */

int folders_finish(struct run *run, struct sqlpack_error *err);

/* Keeps a folder that was made for folders_finish. Not thread-safe. */
void folders_keep(struct kept_folders *folders, const struct sqlpack_entry *entry);

#endif

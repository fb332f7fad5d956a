/* SPDX-License-Identifier: MIT */
/* Walks a directory tree in the order of the pack and hands out one name at a time. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

/* Descriptors of folders above the present one are given up beyond this depth, and opened again
 * by way of ".." when the walk comes back. */
#define HELD_LEVELS 32

/* One folder on the way from the root to where the walk is. */
struct level {
    struct folder *folder; /* NULL while it is given up */
    dev_t dev;
    ino_t ino;
    struct listing listing;
    size_t next;
    size_t name_bytes; /* of scan.name: the part that is this folder's name */
    bool is_listed;    /* a name of scan_options.files: everything below is walked */
};

struct scan {
    const struct scan_options *options;
    char **files; /* options.files, cleaned and sorted */
    bool *found;
    dev_t dev; /* of the root */
    struct level *levels;
    size_t depth, capacity;
    struct buf name;
    bool root_is_out; /* the root was handed out */
};

void folder_drop(struct folder *folder)
{
    if (folder && atomic_fetch_sub(&folder->holders, 1) == 1) {
        close(folder->fd);
        free(folder);
    }
}

static struct folder *folder_hold(struct folder *folder)
{
    atomic_fetch_add(&folder->holders, 1);
    return folder;
}

/* Takes over the descriptor, also where it fails. */
static struct folder *folder_new(int fd)
{
    struct folder *folder = malloc(sizeof(*folder));
    if (!folder) {
        close(fd);
        return NULL;
    }
    folder->fd = fd;
    atomic_init(&folder->holders, 1);
    return folder;
}

void scan_entry_release(struct scan_entry *entry)
{
    folder_drop(entry->folder);
    free(entry->name);
    *entry = (struct scan_entry){0};
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Brings a listed name into the form of the pack; "" is the root, NULL an unsafe one. */
static char *clean_name(const char *name)
{
    while (strncmp(name, "./", 2) == 0)
        for (name += 2; *name == '/'; name++)
            continue;
    size_t size = strlen(name);
    while (size > 0 && name[size - 1] == '/')
        size--;
    if (size == 0 || (size == 1 && name[0] == '.'))
        return strdup("");
    return path_is_safe(name, size) ? strndup(name, size) : NULL;
}

static int take_files(struct scan *scan, struct sqlpack_error *err)
{
    const struct scan_options *options = scan->options;
    if (!options->files)
        return 0;
    scan->files = calloc(options->file_count + 1, sizeof(*scan->files));
    scan->found = calloc(options->file_count + 1, sizeof(*scan->found));
    if (!scan->files || !scan->found)
        return fail_no_memory(err);
    for (size_t i = 0; i < options->file_count; i++) {
        scan->files[i] = clean_name(options->files[i]);
        if (!scan->files[i])
            return fail(err, SQLPACK_INVALID, "cannot pack '%s': not a name inside the folder",
                        show(options->files[i]).text);
    }
    qsort(scan->files, options->file_count, sizeof(*scan->files), compare_texts);
    return 0;
}

/* The index of the first listed name that is not less than the text. */
static size_t find_file(const struct scan *scan, const char *text)
{
    size_t low = 0, high = scan->options->file_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(scan->files[middle], text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum wish { WISH_NONE, WISH_PASS_THROUGH, WISH_ALL };

/* Whether the name in scan->name is listed (WISH_ALL) or leads to one that is. */
static enum wish wish_for(struct scan *scan, const struct level *level)
{
    if (!scan->options->files || level->is_listed)
        return WISH_ALL;
    size_t at = find_file(scan, scan->name.data);
    bool is_listed = false;
    for (size_t i = at; i < scan->options->file_count; i++) {
        if (strcmp(scan->files[i], scan->name.data) != 0)
            break;
        scan->found[i] = is_listed = true;
    }
    if (is_listed)
        return WISH_ALL;
    /* what is below 'a' begins with 'a/', which need not follow at once: 'a-b' may lie between */
    if (buf_append(&scan->name, "/", 2) < 0)
        return WISH_ALL;
    scan->name.size -= 2;
    at = find_file(scan, scan->name.data);
    bool leads = at < scan->options->file_count &&
                 strncmp(scan->files[at], scan->name.data, scan->name.size + 1) == 0;
    scan->name.data[scan->name.size] = '\0';
    return leads ? WISH_PASS_THROUGH : WISH_NONE;
}

static void level_release(struct level *level)
{
    folder_drop(level->folder);
    listing_release(&level->listing);
}

static void loss(struct report *report, const char *name, const char *what, int os_errno)
{
    report_problem(report,
                   &(struct sqlpack_problem){
                       .kind = SQLPACK_LOSS, .name = name, .what = what, .os_errno = os_errno});
}

static bool is_above(const struct scan *scan, const struct stat *stat)
{
    for (size_t i = 0; i < scan->depth; i++)
        if (scan->levels[i].dev == stat->st_dev && scan->levels[i].ino == stat->st_ino)
            return true;
    return false;
}

/* Whether the folder just opened is to be walked; says why where that is a loss. */
static bool is_welcome(const struct scan *scan, const struct stat *stat, struct report *report)
{
    if (scan->options->one_file_system && stat->st_dev != scan->dev) {
        report_problem(report,
                       &(struct sqlpack_problem){.kind = SQLPACK_NOTE,
                                                 .name = scan->name.data,
                                                 .what = "is another file system, left out"});
        return false;
    }
    if (is_above(scan, stat)) {
        loss(report, scan->name.data, "contains itself, left out", ELOOP);
        return false;
    }
    return true;
}

static struct level *push_level(struct scan *scan)
{
    if (scan->depth == scan->capacity) {
        size_t capacity = scan->capacity ? 2 * scan->capacity : 16;
        struct level *levels = realloc(scan->levels, capacity * sizeof(*levels));
        if (!levels)
            return NULL;
        scan->levels = levels;
        scan->capacity = capacity;
    }
    if (scan->depth >= HELD_LEVELS) {
        struct level *far = &scan->levels[scan->depth - HELD_LEVELS];
        folder_drop(far->folder);
        far->folder = NULL;
    }
    struct level *level = &scan->levels[scan->depth++];
    *level = (struct level){.name_bytes = scan->name.size};
    return level;
}

/* Whether an error means that the system is short of something, which no file is to blame for. */
static bool is_shortage(int os_errno)
{
    return os_errno == EMFILE || os_errno == ENFILE || os_errno == ENOMEM;
}

/*
 * Goes down into the folder of an open descriptor, which it takes over. Returns
 * 0 where the walk is in it or has passed it over, -1 for an error.
 */
static int enter(struct scan *scan, int fd, const struct stat *stat, bool is_listed,
                 struct report *report, struct sqlpack_error *err)
{
    if (!is_welcome(scan, stat, report)) {
        close(fd);
        return 0;
    }
    struct folder *folder = folder_new(fd);
    struct level *level = folder ? push_level(scan) : NULL;
    if (!level) {
        folder_drop(folder);
        return fail_no_memory(err);
    }
    level->folder = folder;
    level->dev = stat->st_dev;
    level->ino = stat->st_ino;
    level->is_listed = is_listed;
    if (listing_read(folder->fd, &level->listing) < 0) {
        if (is_shortage(errno))
            return fail_errno(err, "cannot read folder '%s'", show(scan->name.data).text);
        loss(report, scan->name.data, "cannot be read completely", errno);
    }
    return 0;
}

/* Makes the root the first level. Takes over the descriptor. */
static int enter_root(struct scan *scan, int fd, const struct stat *stat, const char *dir,
                      struct sqlpack_error *err)
{
    struct folder *folder = folder_new(fd);
    struct level *level = folder && buf_terminate(&scan->name) == 0 ? push_level(scan) : NULL;
    if (!level) {
        folder_drop(folder);
        return fail_no_memory(err);
    }
    level->folder = folder;
    level->is_listed = scan->options->file_count > 0 && !scan->files[0][0];
    if (listing_read(fd, &level->listing) < 0)
        return fail_errno(err, "cannot read folder '%s'", show(dir).text);
    scan->dev = level->dev = stat->st_dev;
    level->ino = stat->st_ino;
    return 0;
}

int scan_open(const char *dir, const struct scan_options *options, struct scan **ret_scan,
              struct sqlpack_error *err)
{
    struct scan *scan = calloc(1, sizeof(*scan));
    if (!scan)
        return fail_no_memory(err);
    scan->options = options;
    int result = take_files(scan, err);
    if (result == 0) {
        struct stat stat;
        int fd = file_open_quietly(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, &stat);
        result = fd < 0 ? fail_errno(err, "cannot read folder '%s'", show(dir).text)
                        : enter_root(scan, fd, &stat, dir, err);
    }
    if (result < 0) {
        scan_close(scan);
        return -1;
    }
    *ret_scan = scan;
    return 0;
}

const struct listing *scan_root_listing(const struct scan *scan)
{
    return &scan->levels[0].listing;
}

int scan_root_fd(const struct scan *scan)
{
    return scan->levels[0].folder->fd;
}

/* Hands out scan->name, whose last part begins at leaf_at. */
static int hand_out(struct scan *scan, struct folder *folder, size_t leaf_at, unsigned char type,
                    struct scan_entry *ret_entry, struct sqlpack_error *err)
{
    char *name = strdup(scan->name.data);
    if (!name)
        return fail_no_memory(err);
    *ret_entry = (struct scan_entry){.folder = folder_hold(folder),
                                     .name = name,
                                     .leaf = name[0] ? name + leaf_at : ".",
                                     .type = type};
    return 1;
}

/* Opens the folder of a level again that was given up, by way of the one below it. */
static int regain(struct level *level, int below)
{
    int fd = openat(below, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat;
    if (fd < 0)
        return -1;
    if (fstat(fd, &stat) < 0 || stat.st_dev != level->dev || stat.st_ino != level->ino) {
        close(fd);
        errno = ESTALE;
        return -1;
    }
    level->folder = folder_new(fd);
    return level->folder ? 0 : -1;
}

/* Leaves the present folder for the one above. */
static int leave(struct scan *scan, struct report *report, struct sqlpack_error *err)
{
    struct level *level = &scan->levels[--scan->depth];
    struct level *above = scan->depth ? level - 1 : NULL;
    int result = 0;
    if (above && !above->folder && regain(above, level->folder->fd) < 0) {
        scan->name.size = above->name_bytes;
        scan->name.data[scan->name.size] = '\0';
        if (is_shortage(errno))
            result = fail_errno(err, "cannot go back to folder '%s'", show(scan->name.data).text);
        else
            loss(report, scan->name.data, "was moved while it was read; the rest is left out",
                 errno);
        /* without the folder there is no way to those above it either, but by their names */
        above->next = above->listing.count;
        above->folder = folder_hold(level->folder);
    }
    level_release(level);
    return result;
}

/* Makes scan->name the name of a step in a folder. Returns where its last part begins. */
static int name_step(struct scan *scan, const struct level *level, const char *text, size_t size,
                     size_t *ret_leaf_at)
{
    scan->name.size = level->name_bytes;
    if (scan->name.size && buf_append_char(&scan->name, '/') < 0)
        return -1;
    *ret_leaf_at = scan->name.size;
    return buf_append(&scan->name, text, size) < 0 ? -1 : buf_terminate(&scan->name);
}

static int descend(struct scan *scan, const char *leaf, bool is_listed, struct report *report,
                   struct sqlpack_error *err)
{
    struct stat stat;
    int fd = file_open_quietly(scan->levels[scan->depth - 1].folder->fd, leaf,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, &stat);
    if (fd >= 0)
        return enter(scan, fd, &stat, is_listed, report, err);
    if (is_shortage(errno))
        return fail_errno(err, "cannot open folder '%s'", show(scan->name.data).text);
    loss(report, scan->name.data, "cannot be read", errno);
    return 0;
}

/* Takes one step in the present folder. Returns 1 for an entry, 0 to go on, -1. */
static int take_step(struct scan *scan, struct report *report, struct scan_entry *ret_entry,
                     struct sqlpack_error *err)
{
    struct level *level = &scan->levels[scan->depth - 1];
    unsigned char type = listing_type(&level->listing, level->next);
    const char *text = listing_text(&level->listing, level->next++);
    size_t size = strlen(text), leaf_at;
    bool descends = text[size - 1] == '/';
    if (name_step(scan, level, text, size - descends, &leaf_at) < 0)
        return fail_no_memory(err);
    const struct scan_options *options = scan->options;
    if (options->exclude_count && exclude_matches_one(options->excludes, options->exclude_count,
                                                      scan->name.data, type == DT_DIR))
        return 0;
    enum wish wish = wish_for(scan, level);
    if (wish == WISH_NONE || (wish == WISH_PASS_THROUGH && type != DT_DIR))
        return 0;
    if (!descends)
        return hand_out(scan, level->folder, leaf_at, type, ret_entry, err);
    return descend(scan, scan->name.data + leaf_at, wish == WISH_ALL, report, err);
}

/* Reports the listed names that were nowhere. */
static void end(struct scan *scan, struct report *report)
{
    for (size_t i = 0; scan->files && i < scan->options->file_count; i++)
        if (!scan->found[i] && scan->files[i][0])
            loss(report, scan->files[i], "is not there", ENOENT);
    free(scan->found);
    scan->found = NULL;
}

int scan_next(struct scan *scan, struct report *report, struct scan_entry *ret_entry,
              struct sqlpack_error *err)
{
    if (!scan->root_is_out) {
        scan->root_is_out = true;
        return hand_out(scan, scan->levels[0].folder, 0, DT_DIR, ret_entry, err);
    }
    while (scan->depth > 0) {
        const struct level *level = &scan->levels[scan->depth - 1];
        int result = level->next < level->listing.count ? take_step(scan, report, ret_entry, err)
                                                        : leave(scan, report, err);
        if (result != 0)
            return result;
    }
    if (scan->found)
        end(scan, report);
    return 0;
}

void scan_close(struct scan *scan)
{
    if (!scan)
        return;
    while (scan->depth > 0)
        level_release(&scan->levels[--scan->depth]);
    for (size_t i = 0; scan->files && i < scan->options->file_count; i++)
        free(scan->files[i]);
    free(scan->files);
    free(scan->found);
    free(scan->levels);
    buf_release(&scan->name);
    free(scan);
}

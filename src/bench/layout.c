/* SPDX-License-Identifier: MIT */
/* The files in their layouts: paths made beforehand, copies, and the plain concatenation. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"
#include "util/path.h"

#define TICK_FILES 256

void layout_release(struct bench_tree *tree)
{
    free(tree->root);
    free(tree->paths);
    free(tree->leaves);
    free(tree->folders);
    free(tree->folder_paths);
    free(tree->texts);
    *tree = (struct bench_tree){0};
}

/* -- paths -------------------------------------------------------------------------------- */

/* Texts move while they grow, so that places are kept until all are there. */
struct layout {
    struct buf texts;
    size_t *paths, *folder_paths; /* places in texts */
    uint32_t *table;              /* open addressing: a folder's number and 1; 0: free */
    size_t table_size;            /* a power of two */
};

static void release(struct layout *layout)
{
    buf_release(&layout->texts);
    free(layout->paths);
    free(layout->folder_paths);
    free(layout->table);
}

/* The number of the folder of a path whose leaf begins at `size` + 1. Returns 0 or -1. */
static int add_folder(struct layout *layout, struct bench_tree *tree, size_t path, size_t size,
                      uint32_t *ret_folder)
{
    size_t mask = layout->table_size - 1;
    size_t slot = (size_t)bench_hash(layout->texts.data + path, size) & mask;
    for (; layout->table[slot]; slot = (slot + 1) & mask) {
        const char *known = layout->texts.data + layout->folder_paths[layout->table[slot] - 1];
        if (strncmp(known, layout->texts.data + path, size) == 0 && known[size] == '\0') {
            *ret_folder = layout->table[slot] - 1;
            return 0;
        }
    }
    if (buf_reserve(&layout->texts, size + 1) < 0)
        return -1;
    layout->folder_paths[tree->folder_count] = layout->texts.size;
    buf_append(&layout->texts, layout->texts.data + path, size);
    buf_append_char(&layout->texts, '\0');
    *ret_folder = (uint32_t)tree->folder_count++;
    layout->table[slot] = *ret_folder + 1;
    return 0;
}

static int add_path(struct layout *layout, struct bench_tree *tree, size_t key, const char *name)
{
    size_t place = layout->texts.size;
    if (buf_append_text(&layout->texts, tree->root) < 0 ||
        buf_append_char(&layout->texts, '/') < 0 ||
        buf_append(&layout->texts, name, strlen(name) + 1) < 0)
        return -1;
    layout->paths[key] = place;
    size_t folder = (size_t)(path_leaf(layout->texts.data + place) - layout->texts.data) - place;
    return add_folder(layout, tree, place, folder - 1, &tree->folders[key]);
}

/* "00/1a/000123" and the like. */
static void name_key(enum bench_layout layout, const struct bench_key *key, size_t index,
                     size_t key_count, char *ret_name, size_t size)
{
    size_t width = 1;
    while (width < 256 && width * width * 256 < key_count)
        width++;
    uint64_t hash = bench_hash(key->name, strlen(key->name));
    if (layout == BENCH_LAYOUT_FLAT)
        snprintf(ret_name, size, "%06zu", index + 1); /* as kvtest numbers them */
    else
        snprintf(ret_name, size, "%02x/%02x/%06zu", (unsigned)(hash % width),
                 (unsigned)(hash / width % width), index + 1);
}

static int add_paths(struct layout *layout, struct bench_tree *tree, const struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->data.key_count; i++) {
        char made[64] = "";
        const struct bench_key *key = &corpus->keys[i];
        bool has_name = tree->layout != BENCH_LAYOUT_FLAT && tree->layout != BENCH_LAYOUT_FANOUT;
        if (!has_name)
            name_key(tree->layout, key, i, corpus->data.key_count, made, sizeof(made));
        if (add_path(layout, tree, i, has_name ? key->name : made) < 0)
            return -1;
    }
    return 0;
}

/* Texts are complete: places become pointers. */
static int settle(struct layout *layout, struct bench_tree *tree, size_t key_count)
{
    tree->texts = layout->texts.data;
    layout->texts = (struct buf){0};
    tree->paths = calloc(key_count, sizeof(*tree->paths));
    tree->leaves = calloc(key_count, sizeof(*tree->leaves));
    tree->folder_paths = calloc(tree->folder_count, sizeof(*tree->folder_paths));
    if (!tree->paths || !tree->leaves || !tree->folder_paths)
        return -1;
    for (size_t i = 0; i < key_count; i++) {
        tree->paths[i] = tree->texts + layout->paths[i];
        tree->leaves[i] = path_leaf(tree->paths[i]);
    }
    for (size_t i = 0; i < tree->folder_count; i++)
        tree->folder_paths[i] = tree->texts + layout->folder_paths[i];
    return 0;
}

static int make_paths(struct corpus *corpus, enum bench_layout kind, const char *root,
                      struct sqlpack_error *err)
{
    auto_release(release) struct layout layout = {.table_size = 16};
    size_t count = corpus->data.key_count;
    struct bench_tree *tree = &corpus->trees[kind];
    tree->layout = kind;
    while (layout.table_size < count * 2)
        layout.table_size *= 2;
    layout.paths = calloc(count, sizeof(*layout.paths));
    layout.folder_paths = calloc(count, sizeof(*layout.folder_paths));
    layout.table = calloc(layout.table_size, sizeof(*layout.table));
    tree->folders = calloc(count, sizeof(*tree->folders));
    tree->root = strdup(root);
    if (!layout.paths || !layout.folder_paths || !layout.table || !tree->folders || !tree->root ||
        add_paths(&layout, tree, corpus) < 0 || settle(&layout, tree, count) < 0)
        return bench_no_memory(err);
    return 0;
}

int layout_asis(struct corpus *corpus, struct sqlpack_error *err)
{
    return make_paths(corpus, BENCH_LAYOUT_ASIS, corpus->dir, err);
}

int layout_check_mount(const struct bench_options *options, struct sqlpack_error *err)
{
    struct stat tree, mount;
    struct bench_shown shown = bench_show(options->mount);
    if (stat(options->dir, &tree) < 0)
        return bench_fail_errno(err, "cannot open '%s'", bench_show(options->dir).text);
    if (stat(options->mount, &mount) < 0)
        return bench_fail_errno(err, "cannot open '%s'", shown.text);
    const char *why = NULL;
    if (!S_ISDIR(mount.st_mode))
        why = "it is not a folder";
    else if (mount.st_dev == tree.st_dev && mount.st_ino == tree.st_ino)
        why = "it is the tree itself";
    return why ? bench_fail(err, SQLPACK_INVALID, "cannot read a mounted pack in '%s': %s",
                            shown.text, why)
               : 0;
}

int layout_mount(struct corpus *corpus, const char *mount, struct sqlpack_error *err)
{
    return make_paths(corpus, BENCH_LAYOUT_MOUNT, mount, err);
}

/* -- copies ------------------------------------------------------------------------------- */

int layout_parents(char *path, size_t root_bytes)
{
    for (char *slash = path + root_bytes; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

/* Creates a file, with the folders above it where they are missing. */
static int create_file(const char *path, size_t root_bytes)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): settle filled every path */
    int fd = open(path, flags, 0600);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    auto_free char *copy = strdup(path);
    if (!copy || layout_parents(copy, root_bytes) < 0)
        return -1;
    return open(path, flags, 0600);
}

int corpus_read(const struct corpus *corpus, size_t key, void *buffer, struct sqlpack_error *err)
{
    const char *path = corpus->trees[BENCH_LAYOUT_ASIS].paths[key];
    auto_close int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | corpus->trees[BENCH_LAYOUT_ASIS].open_flags);
    uint64_t size = corpus->keys[key].size;
    ssize_t got = fd < 0 ? -1 : file_read(fd, buffer, size + 1);
    if (got < 0)
        return bench_fail_errno(err, "cannot read '%s'", bench_show(path).text);
    if ((uint64_t)got != size)
        return bench_fail(err, SQLPACK_IO, "cannot read '%s': its size has changed",
                          bench_show(path).text);
    return 0;
}

static int copy_file(const struct corpus *corpus, const struct bench_tree *tree, size_t key,
                     char *buffer, struct sqlpack_error *err)
{
    if (corpus_read(corpus, key, buffer, err) < 0)
        return -1;
    auto_close int fd = create_file(tree->paths[key], strlen(tree->root));
    if (fd < 0 || file_write(fd, buffer, corpus->keys[key].size) < 0)
        return bench_fail_errno(err, "cannot write '%s'", bench_show(tree->paths[key]).text);
    return 0;
}

int layout_copy(struct corpus *corpus, enum bench_layout layout, const char *root,
                const struct bench_pace *pace, struct sqlpack_error *err)
{
    if (mkdir(root, 0700) < 0)
        return bench_fail_errno(err, "cannot create '%s'", bench_show(root).text);
    if (make_paths(corpus, layout, root, err) < 0)
        return -1;
    corpus->trees[layout].open_flags = corpus->trees[BENCH_LAYOUT_ASIS].open_flags;
    auto_free char *buffer = malloc(corpus->data.size_max + 1);
    if (!buffer)
        return bench_no_memory(err);
    int status = 0;
    for (size_t i = 0; status == 0 && i < corpus->data.key_count; i++) {
        if (i % TICK_FILES == 0)
            status = bench_tick(pace, err);
        if (status == 0)
            status = copy_file(corpus, &corpus->trees[layout], i, buffer, err);
    }
    return status;
}

int concat_write(struct corpus *corpus, const struct bench_pace *pace, struct sqlpack_error *err)
{
    auto_free char *buffer = malloc(corpus->data.size_max + 1);
    auto_close int fd = open(corpus->concat, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (!buffer)
        return bench_no_memory(err);
    uint64_t offset = 0;
    for (size_t i = 0; fd >= 0 && i < corpus->data.key_count; i++) {
        if ((i % TICK_FILES == 0 && bench_tick(pace, err) < 0) ||
            corpus_read(corpus, i, buffer, err) < 0)
            return -1;
        if (file_write(fd, buffer, corpus->keys[i].size) < 0)
            return bench_fail_errno(err, "cannot write '%s'", bench_show(corpus->concat).text);
        corpus->keys[i].offset = offset;
        offset += corpus->keys[i].size;
    }
    if (fd < 0)
        return bench_fail_errno(err, "cannot create '%s'", bench_show(corpus->concat).text);
    corpus->data.concat = corpus->concat;
    return 0;
}

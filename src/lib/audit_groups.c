/* SPDX-License-Identifier: MIT */
/* What files have in common: their size, their suffix, their folder. */
#include <stdlib.h>
#include <string.h>

#include "lib/audit.h"

#define TOP_DEFAULT 10
#define WIDE_NAMES  100000 /* a folder with more names is listed */

/* ext4: an entry of a folder takes 8 bytes and its name, rounded up to 4; two more are always
 * there, 24 bytes together (struct ext4_dir_entry_2). */
#define FOLDER_BYTES      24
#define NAME_BYTES(bytes) (8 + (((bytes) + 3) & ~(size_t)3))

/* -- top ------------------------------------------------------------------------------------- */

int top_init(struct top *top, size_t limit)
{
    *top = (struct top){.items = calloc(limit + 1, sizeof(*top->items)), .limit = limit};
    return top->items ? 0 : -1;
}

int top_offer(struct top *top, const struct sqlpack_audit_group *group, uint64_t rank)
{
    size_t at = top->count;
    while (at > 0 && top->items[at - 1].rank < rank)
        at--;
    if (at == top->limit || rank == 0)
        return 0;
    char *name = strdup(group->name);
    if (!name)
        return -1;
    memmove(&top->items[at + 1], &top->items[at], (top->count - at) * sizeof(*top->items));
    top->items[at] = (struct ranked){.group = *group, .rank = rank};
    top->items[at].group.name = name;
    if (top->count == top->limit)
        free(top->items[top->limit].group.name);
    else
        top->count++;
    return 0;
}

int top_take(struct top *top, struct sqlpack_audit_group **ret_groups, size_t *ret_count)
{
    struct sqlpack_audit_group *groups = calloc(top->count + 1, sizeof(*groups));
    if (!groups)
        return -1;
    for (size_t i = 0; i < top->count; i++)
        groups[i] = top->items[i].group;
    *ret_groups = groups;
    *ret_count = top->count;
    top->count = 0;
    return 0;
}

void top_release(struct top *top)
{
    for (size_t i = 0; i < top->count; i++)
        free(top->items[i].group.name);
    free(top->items);
    *top = (struct top){0};
}

static uint64_t round_up(uint64_t bytes, uint64_t block)
{
    return (bytes + block - 1) / block * block;
}

/* -- classes --------------------------------------------------------------------------------- */

static const uint64_t class_bytes[SQLPACK_AUDIT_CLASSES] = {
    0,        60,       160,      512,       1 << 10, 2 << 10,  4 << 10,    8 << 10,
    16 << 10, 32 << 10, 64 << 10, 128 << 10, 1 << 20, 16 << 20, 1ull << 30, UINT64_MAX,
};

size_t groups_class(uint64_t size)
{
    size_t i = 0;
    while (size > class_bytes[i])
        i++;
    return i;
}

static void add_file(struct sqlpack_audit_group *group, const struct counted_file *file)
{
    group->file_count++;
    group->content_bytes += file->size;
    group->allocated_bytes += file->allocated;
    group->padding_bytes += file->padding;
}

/* -- suffixes -------------------------------------------------------------------------------- */

/* The suffix of a name, "" where it has none that says anything. Returns its hash. */
static unsigned suffix_of(const char *name, char ret_text[SUFFIX_BYTES])
{
    const char *leaf = path_leaf(name), *dot = strrchr(leaf, '.');
    unsigned hash = 0;
    size_t size = 0;
    if (dot && dot > leaf && dot[1])
        for (; dot[size]; size++) {
            char c = dot[size];
            if (size == SUFFIX_BYTES - 1 || c <= ' ' || c > '~') {
                size = 0;
                break;
            }
            ret_text[size] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
            hash = hash * 31 + (unsigned char)ret_text[size];
        }
    memset(ret_text + size, 0, SUFFIX_BYTES - size);
    return hash * 0x9e3779b1u >> 21;
}

static struct suffix *find_suffix(struct groups *groups, const char *name)
{
    char text[SUFFIX_BYTES];
    size_t at = suffix_of(name, text);
    struct suffix *none = &groups->suffixes[SUFFIX_SLOTS];
    if (!text[0])
        return none;
    while (groups->suffixes[at].text[0]) {
        if (memcmp(groups->suffixes[at].text, text, SUFFIX_BYTES) == 0)
            return &groups->suffixes[at];
        at = (at + 1) % SUFFIX_SLOTS;
    }
    if (groups->suffix_count == SUFFIXES_MAX)
        return none;
    groups->suffix_count++;
    memcpy(groups->suffixes[at].text, text, SUFFIX_BYTES);
    return &groups->suffixes[at];
}

struct suffix *groups_file(struct groups *groups, const char *name, const struct counted_file *file)
{
    struct sqlpack_audit_class *class = &groups->classes[groups_class(file->size)];
    class->file_count++;
    class->content_bytes += file->size;
    class->allocated_bytes += file->allocated;
    class->padding_bytes += file->padding;
    groups->data_bytes[groups_class(file->size)] += file->data;
    add_file(&groups->frames[groups->depth - 1].group, file);
    struct suffix *suffix = find_suffix(groups, name);
    add_file(&suffix->group, file);
    suffix->data_bytes += file->data;
    for (size_t i = 0; i < groups->options->block_count; i++) {
        uint64_t block = groups->blocks[i].block_bytes;
        /* holes stay holes */
        uint64_t bytes =
            file->allocated < file->size && file->allocated ? file->allocated : file->size;
        groups->blocks[i].tree_bytes += round_up(bytes, block);
    }
    return suffix;
}

/* -- folders --------------------------------------------------------------------------------- */

/* Leaves the folder on top. */
static int leave(struct groups *groups)
{
    struct frame *frame = &groups->frames[--groups->depth];
    struct sqlpack_audit_group wide = {.file_count = frame->name_count};
    groups->path.size = frame->path_bytes;
    if (buf_terminate(&groups->path) < 0)
        return -1;
    frame->group.name = wide.name = groups->path.data;
    for (size_t i = 0; i < groups->options->block_count; i++) {
        uint64_t block = groups->blocks[i].block_bytes;
        groups->blocks[i].tree_bytes +=
            round_up(FOLDER_BYTES + frame->name_bytes, block) - round_up(FOLDER_BYTES, block);
    }
    if (frame->name_count > WIDE_NAMES && top_offer(&groups->wide, &wide, wide.file_count) < 0)
        return -1;
    int result = top_offer(&groups->folders, &frame->group, frame->group.padding_bytes);
    groups->path.size = groups->depth ? groups->frames[groups->depth - 1].path_bytes : 0;
    return result;
}

/* Goes down into a folder, whose path is the first bytes of `name`. */
static int go_down(struct groups *groups, const char *name, size_t path_bytes)
{
    if (groups->depth == groups->capacity) {
        size_t capacity = groups->capacity ? 2 * groups->capacity : 32;
        struct frame *frames = realloc(groups->frames, capacity * sizeof(*frames));
        if (!frames)
            return -1;
        groups->frames = frames;
        groups->capacity = capacity;
    }
    groups->frames[groups->depth++] = (struct frame){.path_bytes = path_bytes};
    groups->path.size = 0;
    return buf_append(&groups->path, name, path_bytes);
}

int groups_enter(struct groups *groups, const char *name)
{
    if (!name[0])
        return 0;
    size_t parent = (size_t)(path_leaf(name) - name);
    parent -= parent > 0;
    while (groups->depth > 1) {
        size_t path_bytes = groups->frames[groups->depth - 1].path_bytes;
        if (path_bytes <= parent && memcmp(groups->path.data, name, path_bytes) == 0 &&
            name[path_bytes] == '/')
            break;
        if (leave(groups) < 0)
            return -1;
    }
    for (size_t at = groups->path.size; at < parent; at = groups->path.size) {
        size_t from = at ? at + 1 : 0;
        const char *slash = memchr(name + from, '/', parent - from);
        if (go_down(groups, name, slash ? (size_t)(slash - name) : parent) < 0)
            return -1;
    }
    struct frame *frame = &groups->frames[groups->depth - 1];
    frame->name_count++;
    frame->name_bytes += NAME_BYTES(strlen(name) - parent - (parent > 0));
    return 0;
}

/* -- all ------------------------------------------------------------------------------------- */

int groups_init(struct groups *groups, const struct sqlpack_audit_options *options,
                struct sqlpack_audit_result *result)
{
    size_t limit = options->top_count ? options->top_count : TOP_DEFAULT;
    *groups = (struct groups){.classes = result->classes, .options = options};
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++)
        result->classes[i].max_bytes = class_bytes[i];
    groups->suffixes = calloc(SUFFIX_SLOTS + 1, sizeof(*groups->suffixes));
    groups->blocks = result->blocks = calloc(options->block_count + 1, sizeof(*groups->blocks));
    if (!groups->suffixes || !groups->blocks || top_init(&groups->folders, limit) < 0 ||
        top_init(&groups->wide, limit) < 0)
        return -1;
    result->block_count = options->block_count;
    for (size_t i = 0; i < options->block_count; i++)
        groups->blocks[i].block_bytes = options->block_bytes[i];
    return go_down(groups, "", 0);
}

int groups_end(struct groups *groups, struct sqlpack_audit_result *result)
{
    while (groups->depth > 0)
        if (leave(groups) < 0)
            return -1;
    /* the root, too; what they need beyond a first block was counted when they were left */
    for (size_t i = 0; i < result->block_count; i++)
        result->blocks[i].tree_bytes +=
            (result->folder_count + 1) * round_up(FOLDER_BYTES, result->blocks[i].block_bytes);
    struct top top;
    int failed = top_init(&top, groups->folders.limit);
    for (size_t i = 0; i <= SUFFIX_SLOTS && !failed; i++) {
        struct suffix *suffix = &groups->suffixes[i];
        suffix->group.name = suffix->text;
        failed = top_offer(&top, &suffix->group, suffix->group.padding_bytes);
    }
    if (!failed)
        failed = top_take(&top, &result->suffixes, &result->suffix_count_listed);
    top_release(&top);
    if (failed || top_take(&groups->folders, &result->folders, &result->folder_count_listed) < 0)
        return -1;
    return top_take(&groups->wide, &result->wide, &result->wide_count);
}

void groups_release(struct groups *groups)
{
    top_release(&groups->folders);
    top_release(&groups->wide);
    free(groups->suffixes);
    free(groups->frames);
    buf_release(&groups->path);
}

/* SPDX-License-Identifier: MIT */
/* Prints a tree, one line an entry, with all that a restored copy must have in common with it. */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * Shares no code with sqlpack, which it judges. One descriptor is open at a time, and names are
 * relative to it, so that neither depth nor length of a path is a limit.
 */
#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* A name of a folder that is being walked; its content sorts at "name/". */
struct item {
    char *name;
    bool descend;
};

struct level {
    struct item *items;
    size_t count, next;
    size_t path_bytes; /* of the folder's own path, with the '/' behind it */
    dev_t dev;
    ino_t ino;
};

struct group {
    dev_t dev;
    ino_t ino;
    char *first;
};

struct dump {
    bool with_blocks;
    int folder;
    char *path; /* of the current folder, each part with a '/' behind it */
    size_t path_bytes, path_room;
    struct level *levels;
    size_t depth, level_room;
    struct group *groups;
    size_t group_count, group_room;
};

static void *need(void *memory)
{
    if (!memory)
        err(2, "malloc");
    return memory;
}

static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? *room * 2 : 16;
    return need(realloc(array, *room * size));
}

static void print_bytes(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c > ' ' && c < 0x7f && c != '\\')
            putchar(c);
        else
            printf("\\%03o", c);
    }
}

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    size_t a_size = strlen(a->name), b_size = strlen(b->name);
    /* With the '/' of a descent in place of the NUL; no other name holds one. */
    size_t common = a_size < b_size ? a_size : b_size;
    int order = memcmp(a->name, b->name, common);
    if (order)
        return order;
    int a_next = a_size > common ? (unsigned char)a->name[common] : a->descend ? '/' : 0;
    int b_next = b_size > common ? (unsigned char)b->name[common] : b->descend ? '/' : 0;
    return a_next - b_next;
}

static void add_item(struct level *level, size_t *room, const char *name, bool descend)
{
    level->items = grow(level->items, level->count, room, sizeof(*level->items));
    level->items[level->count++] = (struct item){need(strdup(name)), descend};
}

/* Reads the names of the current folder into a new level. */
static void enter(struct dump *dump)
{
    dump->levels = grow(dump->levels, dump->depth, &dump->level_room, sizeof(*dump->levels));
    struct level *level = &dump->levels[dump->depth++];
    *level = (struct level){.path_bytes = dump->path_bytes};
    struct stat stat;
    if (fstat(dump->folder, &stat) < 0)
        err(2, "fstat '%s'", dump->path);
    level->dev = stat.st_dev;
    level->ino = stat.st_ino;
    int fd = openat(dump->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = fd < 0 ? NULL : fdopendir(fd);
    if (!names)
        err(2, "open '%s'", dump->path);
    size_t room = 0;
    for (;;) {
        errno = 0;
        const struct dirent *name = readdir(names);
        if (!name && errno)
            err(2, "read '%s'", dump->path);
        if (!name)
            break;
        if (strcmp(name->d_name, ".") == 0 || strcmp(name->d_name, "..") == 0)
            continue;
        if (fstatat(dump->folder, name->d_name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
            err(2, "stat '%s%s'", dump->path, name->d_name);
        add_item(level, &room, name->d_name, false);
        if (S_ISDIR(stat.st_mode))
            add_item(level, &room, name->d_name, true);
    }
    closedir(names);
    if (level->count)
        qsort(level->items, level->count, sizeof(*level->items), compare_items);
}

static void set_path(struct dump *dump, size_t keep, const char *leaf)
{
    size_t size = strlen(leaf);
    while (keep + size + 2 > dump->path_room) {
        dump->path_room = dump->path_room ? dump->path_room * 2 : 4096;
        dump->path = need(realloc(dump->path, dump->path_room));
    }
    memcpy(dump->path + keep, leaf, size + 1);
    dump->path_bytes = keep + size;
}

static void change_folder(struct dump *dump, const char *leaf)
{
    int fd = openat(dump->folder, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        err(2, "open '%s'", dump->path);
    close(dump->folder);
    dump->folder = fd;
}

/* Back to the folder above; the tree is at rest, so ".." is where we came from. */
static void leave(struct dump *dump)
{
    struct level *level = &dump->levels[--dump->depth];
    for (size_t i = 0; i < level->count; i++)
        free(level->items[i].name);
    free(level->items);
    if (dump->depth == 0)
        return;
    level = &dump->levels[dump->depth - 1];
    change_folder(dump, "..");
    set_path(dump, level->path_bytes, "");
    struct stat stat;
    if (fstat(dump->folder, &stat) < 0 || stat.st_dev != level->dev || stat.st_ino != level->ino)
        errx(2, "'%s' was moved", dump->path);
}

static uint64_t fnv_bytes(uint64_t hash, const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * FNV_PRIME;
    return hash;
}

/* A zero byte only multiplies, so a hole of any size takes a few steps. */
static uint64_t fnv_zeros(uint64_t hash, uint64_t count)
{
    for (uint64_t factor = FNV_PRIME; count; count >>= 1, factor *= factor)
        if (count & 1)
            hash *= factor;
    return hash;
}

static uint64_t hash_data(int fd, uint64_t hash, off_t from, off_t to, const char *name)
{
    static unsigned char data[65536];
    while (from < to) {
        size_t want = to - from < (off_t)sizeof(data) ? (size_t)(to - from) : sizeof(data);
        ssize_t n = pread(fd, data, want, from);
        if (n <= 0)
            err(2, "read '%s'", name);
        hash = fnv_bytes(hash, data, (size_t)n);
        from += n;
    }
    return hash;
}

static uint64_t hash_file(const struct dump *dump, const char *leaf, off_t size)
{
    int fd = openat(dump->folder, leaf, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        err(2, "open '%s%s'", dump->path, leaf);
    uint64_t hash = FNV_START;
    for (off_t at = 0; at < size;) {
        off_t data = lseek(fd, at, SEEK_DATA);
        if (data < 0 && errno != ENXIO)
            err(2, "seek '%s'", leaf);
        if (data < 0 || data > size)
            data = size;
        hash = fnv_zeros(hash, (uint64_t)(data - at));
        at = data;
        if (at == size)
            break;
        off_t hole = lseek(fd, at, SEEK_HOLE);
        if (hole < 0 || hole > size)
            hole = size;
        hash = hash_data(fd, hash, at, hole, leaf);
        at = hole;
    }
    close(fd);
    return hash;
}

static int compare_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void print_attr(const char *path, const char *name)
{
    static unsigned char value[65536];
    ssize_t size = lgetxattr(path, name, value, sizeof(value));
    if (size < 0)
        err(2, "lgetxattr %s", name);
    printf(" ");
    print_bytes(name, strlen(name));
    putchar('=');
    for (ssize_t i = 0; i < size; i++)
        printf("%02x", value[i]);
}

static void print_attrs(const struct dump *dump, const char *leaf)
{
    static char list[65536];
    char path[64 + NAME_MAX];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dump->folder, leaf);
    ssize_t size = llistxattr(path, list, sizeof(list));
    if (size < 0 && errno == EOPNOTSUPP)
        return;
    if (size < 0)
        err(2, "llistxattr '%s%s'", dump->path, leaf);
    static char *names[sizeof(list) / 2];
    size_t count = 0;
    for (char *at = list; at < list + size; at += strlen(at) + 1)
        names[count++] = at;
    qsort(names, count, sizeof(*names), compare_text);
    for (size_t i = 0; i < count; i++)
        print_attr(path, names[i]);
}

/* The least name of a file's group, where this is a further one. */
static const char *first_name(struct dump *dump, const struct stat *stat, const char *leaf)
{
    for (size_t i = 0; i < dump->group_count; i++)
        if (dump->groups[i].ino == stat->st_ino && dump->groups[i].dev == stat->st_dev)
            return dump->groups[i].first;
    dump->groups = grow(dump->groups, dump->group_count, &dump->group_room, sizeof(*dump->groups));
    size_t leaf_bytes = strlen(leaf) + 1;
    char *first = need(malloc(dump->path_bytes + leaf_bytes));
    memcpy(first, dump->path, dump->path_bytes);
    memcpy(first + dump->path_bytes, leaf, leaf_bytes);
    dump->groups[dump->group_count++] = (struct group){stat->st_dev, stat->st_ino, first};
    return NULL;
}

static char type_letter(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return 'f';
    case S_IFDIR:
        return 'd';
    case S_IFLNK:
        return 'l';
    case S_IFIFO:
        return 'p';
    case S_IFCHR:
        return 'c';
    case S_IFBLK:
        return 'b';
    default:
        return 's';
    }
}

static void print_target(const struct dump *dump, const char *leaf)
{
    static char target[65536];
    ssize_t size = readlinkat(dump->folder, leaf, target, sizeof(target));
    if (size < 0)
        err(2, "readlink '%s%s'", dump->path, leaf);
    printf(" -> ");
    print_bytes(target, (size_t)size);
}

static void print_file(struct dump *dump, const char *leaf, const struct stat *stat)
{
    printf(" size=%" PRId64 " digest=%016" PRIx64, (int64_t)stat->st_size,
           hash_file(dump, leaf, stat->st_size));
    if (dump->with_blocks)
        printf(" blocks=%" PRId64, (int64_t)stat->st_blocks);
    const char *first = stat->st_nlink > 1 ? first_name(dump, stat, leaf) : NULL;
    if (first) {
        printf(" link=");
        print_bytes(first, strlen(first));
    }
}

static void print_entry(struct dump *dump, const char *leaf)
{
    struct stat stat;
    if (fstatat(dump->folder, leaf, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        err(2, "stat '%s%s'", dump->path, leaf);
    print_bytes(dump->path, dump->path_bytes);
    print_bytes(leaf, strlen(leaf));
    printf(" %c %04o %u:%u %" PRId64 ".%09ld", type_letter(stat.st_mode),
           (unsigned)(stat.st_mode & 07777), stat.st_uid, stat.st_gid, (int64_t)stat.st_mtim.tv_sec,
           stat.st_mtim.tv_nsec);
    if (S_ISREG(stat.st_mode))
        print_file(dump, leaf, &stat);
    if (S_ISCHR(stat.st_mode) || S_ISBLK(stat.st_mode))
        printf(" dev=%u:%u", major(stat.st_rdev), minor(stat.st_rdev));
    if (S_ISLNK(stat.st_mode))
        print_target(dump, leaf);
    print_attrs(dump, leaf);
    putchar('\n');
}

static void walk(struct dump *dump)
{
    enter(dump);
    while (dump->depth) {
        struct level *level = &dump->levels[dump->depth - 1];
        if (level->next == level->count) {
            leave(dump);
            continue;
        }
        const struct item *item = &level->items[level->next++];
        if (!item->descend) {
            print_entry(dump, item->name);
            continue;
        }
        change_folder(dump, item->name);
        set_path(dump, dump->path_bytes, item->name);
        set_path(dump, dump->path_bytes, "/");
        enter(dump);
    }
}

int main(int argc, char **argv)
{
    struct dump dump = {.with_blocks = argc == 3 && strcmp(argv[1], "-b") == 0};
    if (argc != 2 + dump.with_blocks)
        errx(2, "usage: treedump [-b] DIR    (-b: with allocated blocks)");
    dump.folder = open(argv[argc - 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dump.folder < 0)
        err(2, "open '%s'", argv[argc - 1]);
    set_path(&dump, 0, "");
    print_entry(&dump, ".");
    walk(&dump);
    for (size_t i = 0; i < dump.group_count; i++)
        free(dump.groups[i].first);
    free(dump.groups);
    free(dump.levels);
    free(dump.path);
    close(dump.folder);
    if (fflush(stdout) != 0)
        err(2, "write");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Builds a random tree from a seed, with everything that an archive finds hard. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DEPTH_MAX  12
#define RECENT     16
#define DATA_BYTES ((size_t)300 * 1024)
#define NAME_BYTES 256
#define SIZE_OF(a) (sizeof(a) / sizeof((a)[0]))

struct tree {
    uint64_t state;
    bool specials;      /* FIFOs, sockets and device nodes too */
    bool as_root;       /* owners, devices, modes that shut the owner out */
    int left;           /* entries still to be made */
    int recent[RECENT]; /* some files of the tree, to link to; -1 */
};

/* splitmix64: equal seeds give equal trees everywhere. */
static uint64_t random_bits(struct tree *tree)
{
    uint64_t z = tree->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint32_t below(struct tree *tree, uint32_t limit)
{
    return (uint32_t)(random_bits(tree) % limit);
}

static bool one_in(struct tree *tree, uint32_t n)
{
    return below(tree, n) == 0;
}

/* -- names -------------------------------------------------------------------------------- */

static void any_bytes(struct tree *tree, char *ret_text, size_t size, char but)
{
    for (size_t i = 0; i < size; i++) {
        do
            ret_text[i] = (char)(1 + below(tree, 255));
        while (ret_text[i] == but);
    }
    ret_text[size] = '\0';
}

static void letters(struct tree *tree, char *ret_text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ret_text[i] = (char)('a' + below(tree, 26));
    ret_text[size] = '\0';
}

static void pick_name(struct tree *tree, char ret_name[NAME_BYTES])
{
    /* Neighbours of '/' in order, and what shells, terminals and SQL trip over. */
    static const char *const odd[] = {
        "a",     "a-b", "a.b", "a0",    "a!",      "a b",          "A",        "ab",        "-rf",
        "--",    "...", ".x",  "..x",   "*",       "%s%n",         "\\",       "'",         "\"",
        "\n",    "a\n", " ",   "a ",    "\033[2J", "\xff",         "\xc3\xa4", "a\xcc\x88", "NULL",
        "sqlar", "CON", "~",   "$HOME", "\x01",    "\xe2\x80\xa8", "0",        "1e9",       "?",
    };
    switch (below(tree, 8)) {
    case 0:
    case 1:
        snprintf(ret_name, NAME_BYTES, "%s", odd[below(tree, SIZE_OF(odd))]);
        break;
    case 2:
        any_bytes(tree, ret_name, 1 + below(tree, 12), '/');
        break;
    case 3:
        if (one_in(tree, 4))
            any_bytes(tree, ret_name, 200 + below(tree, 56), '/');
        else
            letters(tree, ret_name, 255);
        break;
    default:
        letters(tree, ret_name, 1 + below(tree, 10));
    }
    if (strcmp(ret_name, ".") == 0 || strcmp(ret_name, "..") == 0)
        snprintf(ret_name, NAME_BYTES, "dot");
}

/* -- metadata ----------------------------------------------------------------------------- */

static struct timespec pick_time(struct tree *tree)
{
    /* All lie in the range of ext4. */
    static const struct timespec edges[] = {
        {-2, 500000000}, {-1, 999999999}, {-1, 0},         {0, 0},          {0, 1},
        {2147483647, 5}, {2147483648, 5}, {4294967296, 7}, {8589934591, 1}, {-2147483648, 0},
        {1, 0},          {1700000000, 0}, {1700000000, 1},
    };
    if (one_in(tree, 3))
        return edges[below(tree, SIZE_OF(edges))];
    return (struct timespec){1600000000 + below(tree, 100000000), below(tree, 1000000000)};
}

static mode_t pick_mode(struct tree *tree, bool is_folder)
{
    static const mode_t common[] = {0644, 0755, 0600, 0444, 0555, 0400, 0000, 0111, 0222};
    mode_t mode = one_in(tree, 3) ? below(tree, 010000) : common[below(tree, SIZE_OF(common))];
    if (!tree->as_root)
        mode |= is_folder ? 0500 : 0400;
    return mode;
}

static uint32_t pick_id(struct tree *tree)
{
    static const uint32_t edges[] = {0, 1, 1000, 65534, 65535, 65536, 0x7fffffff, 0xfffffffe};
    return one_in(tree, 2) ? 0 : edges[below(tree, SIZE_OF(edges))];
}

/* A folder or file system that takes no such attribute is not this program's matter. */
static void set_attr(const char *path, const char *name, const void *value, size_t size)
{
    if (lsetxattr(path, name, value, size, 0) < 0 && errno != EOPNOTSUPP && errno != ENOSPC &&
        errno != EPERM && errno != ERANGE)
        err(2, "lsetxattr %s", name);
}

static void set_acl(struct tree *tree, const char *path, const char *name)
{
    struct {
        uint32_t version;
        struct {
            uint16_t tag, permissions;
            uint32_t id;
        } entries[5];
    } acl = {2,
             {{1, 7, 0xffffffff},
              {2, 5, 1000 + below(tree, 3)},
              {4, 5, 0xffffffff},
              {16, 7, 0xffffffff},
              {32, (uint16_t)below(tree, 8), 0xffffffff}}};
    set_attr(path, name, &acl, sizeof(acl));
}

static void set_attrs(struct tree *tree, int folder, const char *leaf, mode_t type)
{
    static const size_t sizes[] = {0, 1, 7, 100, 700};
    char path[64 + NAME_BYTES], name[64 + NAME_BYTES], value[700 + 1];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder, leaf);
    for (uint32_t i = below(tree, 3); i > 0; i--) {
        char part[32];
        letters(tree, part, 1 + below(tree, 20));
        if (one_in(tree, 4))
            any_bytes(tree, part, 1 + below(tree, 8), '/');
        bool for_user = (type == S_IFREG || type == S_IFDIR) && !one_in(tree, 3);
        if (!for_user && !tree->as_root)
            continue;
        snprintf(name, sizeof(name), "%s.%s", for_user ? "user" : "trusted", part);
        size_t size = sizes[below(tree, SIZE_OF(sizes))];
        any_bytes(tree, value, size, '\0');
        set_attr(path, name, value, size);
    }
    if (type != S_IFLNK && one_in(tree, 4))
        set_acl(tree, path, "system.posix_acl_access");
    if (type == S_IFDIR && one_in(tree, 4))
        set_acl(tree, path, "system.posix_acl_default");
}

/* Owner, attributes, mode and times, in an order in which none undoes another. */
static void finish(struct tree *tree, int folder, const char *leaf, mode_t type)
{
    if (tree->as_root && one_in(tree, 2) &&
        fchownat(folder, leaf, pick_id(tree), pick_id(tree), AT_SYMLINK_NOFOLLOW) < 0)
        err(2, "chown");
    if (one_in(tree, 3))
        set_attrs(tree, folder, leaf, type);
    if (type != S_IFLNK && fchmodat(folder, leaf, pick_mode(tree, type == S_IFDIR), 0) < 0)
        err(2, "chmod");
    struct timespec times[2] = {pick_time(tree), pick_time(tree)};
    if (utimensat(folder, leaf, times, AT_SYMLINK_NOFOLLOW) < 0)
        err(2, "utimensat");
}

/* -- entries ------------------------------------------------------------------------------ */

static void fill(struct tree *tree, char *ret_data, size_t size)
{
    uint32_t kind = below(tree, 4);
    char word[16];
    letters(tree, word, 8);
    for (size_t i = 0; i < size; i++) {
        if (kind == 0) /* noise */
            ret_data[i] = (char)random_bits(tree);
        else if (kind == 1) /* zeros */
            ret_data[i] = '\0';
        else if (kind == 2) /* repetition */
            ret_data[i] = word[i % 8];
        else /* half and half */
            ret_data[i] = i < size / 2 ? word[i % 8] : (char)random_bits(tree);
    }
}

static size_t pick_size(struct tree *tree)
{
    static const size_t edges[] = {0,    1,    2,    100,   511,   512,   513,    1023,      1024,
                                   4095, 4096, 4097, 65535, 65536, 65537, 131073, DATA_BYTES};
    if (one_in(tree, 2))
        return below(tree, 3000);
    return edges[below(tree, SIZE_OF(edges))];
}

static void put(int fd, const char *data, size_t size, off_t at)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, data, size, at);
        if (n <= 0)
            err(2, "write");
        data += n;
        size -= (size_t)n;
        at += n;
    }
}

static void fill_sparse(struct tree *tree, int fd, char *data)
{
    off_t size = (off_t)below(tree, 300) * 4096 + (off_t)below(tree, 2) * 77;
    if (ftruncate(fd, size) < 0)
        err(2, "ftruncate");
    for (uint32_t i = below(tree, 4); i > 0; i--) {
        size_t piece = 1 + below(tree, 9000);
        off_t at = (off_t)below(tree, 300) * 4096;
        fill(tree, data, piece);
        put(fd, data, piece, at);
    }
}

static bool make_file(struct tree *tree, int folder, const char *leaf)
{
    static char data[DATA_BYTES];
    int fd = openat(folder, leaf, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (one_in(tree, 12)) {
        fill_sparse(tree, fd, data);
    } else {
        size_t size = pick_size(tree);
        fill(tree, data, size);
        put(fd, data, size, 0);
    }
    int *recent = &tree->recent[below(tree, RECENT)];
    if (one_in(tree, 3) && *recent < 0)
        *recent = fd;
    else
        close(fd);
    finish(tree, folder, leaf, S_IFREG);
    return true;
}

static bool make_symlink(struct tree *tree, int folder, const char *leaf)
{
    static const char *const targets[] = {"nowhere",  "/etc/passwd", "..", ".",
                                          "a/b/../c", "/",           "a",  "/nonexistent/x"};
    char target[4096];
    switch (below(tree, 4)) {
    case 0:
        any_bytes(tree, target, 1 + below(tree, 60), '\0');
        break;
    case 1:
        letters(tree, target, one_in(tree, 2) ? 4095 : 1 + below(tree, 300));
        break;
    default:
        snprintf(target, sizeof(target), "%s", targets[below(tree, SIZE_OF(targets))]);
    }
    if (symlinkat(target, folder, leaf) < 0)
        return false;
    finish(tree, folder, leaf, S_IFLNK);
    return true;
}

static bool make_link(struct tree *tree, int folder, const char *leaf)
{
    int fd = tree->recent[below(tree, RECENT)];
    char self[32];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    return fd >= 0 && linkat(AT_FDCWD, self, folder, leaf, AT_SYMLINK_FOLLOW) == 0;
}

static bool make_socket(int folder, const char *leaf)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int size =
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, leaf);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        err(2, "socket");
    bool made = size < (int)sizeof(address.sun_path) &&
                bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return made;
}

static bool make_special(struct tree *tree, int folder, const char *leaf)
{
    static const mode_t types[] = {S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK};
    mode_t type = types[below(tree, tree->as_root ? 4 : 2)];
    if (!tree->specials)
        return false;
    if (type == S_IFSOCK ? !make_socket(folder, leaf)
                         : mknodat(folder, leaf, type | 0600,
                                   makedev(below(tree, 4096), below(tree, 1 << 20))) < 0)
        return false;
    finish(tree, folder, leaf, type);
    return true;
}

static void populate(struct tree *tree, int folder, int depth);

static bool make_folder(struct tree *tree, int folder, const char *leaf, int depth)
{
    if (depth == DEPTH_MAX || mkdirat(folder, leaf, 0700) < 0)
        return false;
    int fd = openat(folder, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        err(2, "open");
    populate(tree, fd, depth + 1);
    close(fd);
    finish(tree, folder, leaf, S_IFDIR);
    return true;
}

static void populate(struct tree *tree, int folder, int depth)
{
    /* Some default ACLs before the content, which then inherits them. */
    if (one_in(tree, 12))
        set_attrs(tree, folder, ".", S_IFDIR);
    for (uint32_t i = depth ? below(tree, 9) : UINT32_MAX; i > 0 && tree->left > 0; i--) {
        char leaf[NAME_BYTES];
        pick_name(tree, leaf);
        bool made;
        switch (below(tree, 10)) {
        case 0:
        case 1:
            made = make_folder(tree, folder, leaf, depth);
            break;
        case 2:
            made = make_symlink(tree, folder, leaf);
            break;
        case 3:
            made = make_link(tree, folder, leaf);
            break;
        case 4:
            made = make_special(tree, folder, leaf);
            break;
        default:
            made = make_file(tree, folder, leaf);
        }
        tree->left -= made;
    }
}

/* A path longer than any system call takes. */
static void populate_deep(struct tree *tree, int folder, int depth)
{
    char leaf[NAME_BYTES];
    letters(tree, leaf, 200);
    if (depth == 0) {
        make_file(tree, folder, leaf);
        return;
    }
    if (mkdirat(folder, leaf, 0700) < 0)
        err(2, "mkdir");
    int fd = openat(folder, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        err(2, "open");
    populate_deep(tree, fd, depth - 1);
    close(fd);
    finish(tree, folder, leaf, S_IFDIR);
}

int main(int argc, char **argv)
{
    struct tree tree = {.as_root = geteuid() == 0};
    bool deep = false;
    int option;
    while ((option = getopt(argc, argv, "sd")) != -1) {
        tree.specials |= option == 's';
        deep |= option == 'd';
    }
    if (argc - optind < 2 || argc - optind > 3)
        errx(2, "usage: randtree [-s] [-d] SEED DIR [ENTRIES]    "
                "(-s: FIFOs, sockets, devices too; -d: a path longer than PATH_MAX too)");
    const char *dir = argv[optind + 1];
    tree.state = strtoull(argv[optind], NULL, 10);
    tree.left = argc - optind == 3 ? atoi(argv[optind + 2]) : (int)below(&tree, 80);
    for (int i = 0; i < RECENT; i++)
        tree.recent[i] = -1;
    umask(0);
    if (mkdir(dir, 0700) < 0)
        err(2, "mkdir '%s'", dir);
    int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        err(2, "open '%s'", dir);
    populate(&tree, folder, 0);
    if (deep)
        populate_deep(&tree, folder, 24);
    finish(&tree, folder, ".", S_IFDIR);
    close(folder);
    for (int i = 0; i < RECENT; i++)
        if (tree.recent[i] >= 0)
            close(tree.recent[i]);
    return 0;
}

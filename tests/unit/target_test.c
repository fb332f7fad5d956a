/* SPDX-License-Identifier: MIT */
/* Tests what restoring stands on: places beneath a folder, new folders, clearing, the sandbox. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/restore.h"
#include "tap.h"

#define DEEP 3000

static char scratch[] = "/tmp/sqlpack-target-XXXXXX";

/* A new empty folder in the scratch folder, open. */
static int new_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    need(mkdir(path, 0700) == 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(fd >= 0);
    return fd;
}

static void new_file(int folder, const char *name, const char *text)
{
    auto_close int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    need(fd >= 0 && file_write(fd, text, strlen(text)) == 0);
}

static bool exists(int folder, const char *name)
{
    struct stat stat;
    return fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == 0;
}

static int count_names(int folder)
{
    DIR *dir = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    need(dir != NULL);
    int count = -2; /* "." and ".." */
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static int count_descriptors(void)
{
    int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(fd >= 0);
    int count = count_names(fd) - 2; /* this one, and that of count_names */
    close(fd);
    return count;
}

static int enter(struct place *place, const char *name, bool create)
{
    return place_enter(place, name, strlen(name), create);
}

static void test_enter(bool no_openat2)
{
    const char *how = no_openat2 ? "without openat2" : "with openat2";
    int root = new_folder(no_openat2 ? "enter-old" : "enter");
    struct place place;
    struct stat stat;
    const char *leaf = NULL;
    place_init(&place, root, 0);
    place.no_openat2 = no_openat2;
    ok(enter(&place, "a/b", false) < 0 && errno == ENOENT, "%s: a missing folder is missing", how);
    int fd = place_of(&place, "a/b/file", true, &leaf);
    ok(fd >= 0 && strcmp(leaf, "file") == 0, "%s: the folders of a name are made", how);
    need(fd >= 0);
    new_file(fd, leaf, "x");
    ok(exists(root, "a/b/file"), "%s: the descriptor is that of the last folder", how);
    ok(fstatat(root, "a", &stat, 0) == 0 && (stat.st_mode & 07777) == 0700,
       "%s: folders are private", how);
    ok(enter(&place, "", false) == root, "%s: no name is the root", how);
    ok(place_of(&place, "top", false, &leaf) == root && strcmp(leaf, "top") == 0,
       "%s: a name without folder is in the root", how);
    ok(enter(&place, "a/b/file/c", true) < 0 && errno == ENOTDIR, "%s: a file is no folder", how);
    ok(enter(&place, "a/b", false) >= 0, "%s: after a failure the place is sound", how);
    place_release(&place);
    close(root);
}

static void test_symlinks(bool no_openat2)
{
    const char *how = no_openat2 ? "without openat2" : "with openat2";
    int root = new_folder(no_openat2 ? "links-old" : "links");
    int outside = new_folder(no_openat2 ? "outside-old" : "outside");
    struct place place;
    need(symlinkat(no_openat2 ? "../outside-old" : "../outside", root, "out") == 0);
    need(mkdirat(root, "in", 0700) == 0 && symlinkat("in", root, "same") == 0);
    place_init(&place, root, 0);
    place.no_openat2 = no_openat2;
    ok(enter(&place, "out", true) < 0 && (errno == ELOOP || errno == ENOTDIR),
       "%s: a symlink that leads out is not followed", how);
    ok(enter(&place, "out/sub", true) < 0, "%s: nor as a part of a name", how);
    ok(enter(&place, "same", true) < 0, "%s: nor one that stays inside", how);
    ok(enter(&place, "same/deep/er", false) < 0, "%s: nor in a name of many parts", how);
    is_int(count_names(outside), 0, "nothing was made outside");
    place.replaces = true;
    ok(enter(&place, "out/sub", true) >= 0, "%s: it is replaced where that is asked for", how);
    is_int(count_names(outside), 0, "and nothing was made outside");
    place_release(&place);
    close(outside);
    close(root);
}

/* A chain of folders that is deeper than descriptors and longer than PATH_MAX. */
static void test_deep(bool no_openat2)
{
    const char *how = no_openat2 ? "without openat2" : "with openat2";
    int root = new_folder(no_openat2 ? "deep-old" : "deep");
    struct buf name = {0};
    struct place place;
    bool is_good = true;
    place_init(&place, root, 5);
    place.no_openat2 = no_openat2;
    int before = count_descriptors();
    for (int i = 0; i < DEEP; i++) {
        need(buf_append_text(&name, i ? "/abc" : "abc") == 0);
        is_good = is_good && place_enter(&place, name.data, name.size, true) >= 0;
    }
    ok(is_good, "%s: %d folders in each other", how, DEEP);
    ok(count_descriptors() - before <= 5, "%s: few of them are open", how);
    for (size_t size = name.size; size > 3; size -= 4)
        is_good = is_good && place_enter(&place, name.data, size, false) >= 0;
    ok(is_good, "%s: and up again", how);
    place_release(&place);
    place_init(&place, root, 5);
    place.no_openat2 = no_openat2;
    ok(place_enter(&place, name.data, name.size, true) >= 0, "%s: and down at once", how);
    place_release(&place);
    is_int(count_descriptors(), before, "all are closed again");
    ok(target_clear(root) == 0 && count_names(root) == 0, "%s: and they are removed", how);
    buf_release(&name);
    close(root);
}

static void test_clear(void)
{
    int root = new_folder("clear");
    int outside = new_folder("beside");
    new_file(outside, "stays", "x");
    need(mkdirat(root, "a", 0700) == 0 && mkdirat(root, "a/b", 0700) == 0);
    need(mkdirat(root, "a/b/c", 0700) == 0 && mkdirat(root, "a/closed", 0700) == 0);
    new_file(root, "f", "x");
    new_file(root, "a/b/f", "x");
    new_file(root, "a/closed/f", "x");
    need(symlinkat("../beside", root, "link") == 0 && symlinkat("../../beside", root, "a/l") == 0);
    need(fchmodat(root, "a/closed", 0, 0) == 0 && fchmodat(root, "a", 0500, 0) == 0);
    is_int(target_clear(root), 0, "a tree with closed folders is removed");
    is_int(count_names(root), 0, "all of it");
    ok(exists(outside, "stays"), "and nothing behind its symlinks");
    close(outside);
    close(root);
}

static void test_target(void)
{
    struct sqlpack_error err;
    struct target target;
    char path[256];
    int folder = new_folder("target");
    snprintf(path, sizeof(path), "%s/target/new//", scratch);
    is_int(target_open(&target, path, false, false, &err), 0, "a new folder");
    ok(!exists(folder, "new") && count_names(folder) == 1, "does not show");
    new_file(target.fd, "file", "x");
    target_release(&target);
    is_int(count_names(folder), 0, "and is gone where it is not published");

    need(target_open(&target, path, false, false, &err) == 0);
    new_file(target.fd, "file", "x");
    is_int(target_publish(&target, true, &err), 0, "it is published");
    target_release(&target);
    ok(exists(folder, "new/file") && count_names(folder) == 1, "under its name alone");

    is_int(target_open(&target, path, false, false, &err), -1, "a folder with content");
    is_int(err.status, SQLPACK_EXISTS, "is refused");
    target_release(&target);
    ok(exists(folder, "new/file"), "and left as it is");

    is_int(target_open(&target, path, true, false, &err), 0, "unless other entries may be there");
    new_file(target.fd, "more", "x");
    target_release(&target);
    ok(exists(folder, "new/file") && exists(folder, "new/more"), "which never removes anything");

    need(unlinkat(folder, "new/file", 0) == 0 && unlinkat(folder, "new/more", 0) == 0);
    need(target_open(&target, path, false, false, &err) == 0);
    new_file(target.fd, "file", "x");
    target_release(&target);
    ok(exists(folder, "new") && !exists(folder, "new/file"), "an empty folder is empty again");
    close(folder);
}

static void test_target_race(void)
{
    struct sqlpack_error err;
    struct target target;
    char path[256];
    int folder = new_folder("race");
    snprintf(path, sizeof(path), "%s/race/new", scratch);
    need(target_open(&target, path, false, false, &err) == 0);
    need(mkdirat(folder, "new", 0755) == 0);
    is_int(target_publish(&target, false, &err), -1, "a name that is taken by now");
    is_int(err.status, SQLPACK_EXISTS, "is not replaced");
    target_release(&target);
    is_int(count_names(folder), 1, "and nothing else stays");

    need(unlinkat(folder, "new", AT_REMOVEDIR) == 0 && symlinkat("x", folder, "new") == 0);
    need(target_open(&target, path, false, false, &err) == 0);
    is_int(target_publish(&target, false, &err), -1, "nor is a dangling symlink");
    target_release(&target);
    new_file(folder, "file", "x");
    snprintf(path, sizeof(path), "%s/race/file", scratch);
    is_int(target_open(&target, path, true, false, &err), -1, "a file");
    is_int(err.status, SQLPACK_EXISTS, "is no folder to unpack into");
    target_release(&target);
    close(folder);
}

static void test_left_over(void)
{
    struct sqlpack_error err;
    struct target target, other;
    char path[256];
    int folder = new_folder("left");
    need(mkdirat(folder, ".sqlpack-0123abcd", 0700) == 0);
    need(mkdirat(folder, ".sqlpack-0123abcd/a", 0) == 0);
    need(mkdirat(folder, ".sqlpack-mine", 0700) == 0);
    new_file(folder, ".sqlpack-00000000", "x");
    snprintf(path, sizeof(path), "%s/left/one", scratch);
    need(target_open(&target, path, false, false, &err) == 0);
    ok(!exists(folder, ".sqlpack-0123abcd"), "what a killed run left is removed");
    ok(exists(folder, ".sqlpack-mine") && exists(folder, ".sqlpack-00000000"),
       "but not what only looks like it");
    snprintf(path, sizeof(path), "%s/left/two", scratch);
    need(target_open(&other, path, false, false, &err) == 0);
    is_int(target_publish(&target, false, &err), 0, "nor what another run is filling");
    target_release(&target);
    target_release(&other);
    is_int(count_names(folder), 3, "both are done");
    close(folder);
}

static void test_folds(void)
{
    int folder = new_folder("folds");
    char name[NAME_MAX + 1] = "";
    new_file(folder, "Readme", "x");
    int fd = openat(folder, "Readme", O_PATH | O_CLOEXEC);
    ok(!make_folds(fd, "Readme", name), "an entry has the name that it was opened by");
    ok(make_folds(fd, "README", name), "or another one, where case means nothing");
    is_text(name, "Readme", "which is told");
    close(fd);
    close(folder);
}

static void test_selection(void)
{
    const char *names[] = {"b/c", "a-b", "./a/", "a/x", "b", "b", "z/../y"};
    const char *excludes[] = {"*.tmp"};
    struct sqlpack_unpack_options options = {
        .names = names, .name_count = 7, .excludes = excludes, .exclude_count = 1};
    struct selection selection;
    struct sqlpack_error err;
    need(selection_init(&selection, &options, &err) == 0);
    is_int(selection.count, 4, "names below others, and doubles, are dropped");
    ok(selection_has(&selection, "a", true), "a name is selected");
    ok(selection_has(&selection, "a/x/y", false), "and what is below");
    ok(!selection_has(&selection, "ab", false), "but not what begins with it");
    ok(!selection_has(&selection, "a/x.tmp", false), "nor what is excluded");
    selection_release(&selection);
    names[0] = ".";
    need(selection_init(&selection, &options, &err) == 0);
    ok(!selection.names && selection_has(&selection, "q", false), "the root is everything");
    selection_release(&selection);
}

enum escape {
    WRITE_OUTSIDE = 1,
    MAKE_FILE_BESIDE = 2,
    READ_OUTSIDE = 4,
    REMOVE_OUTSIDE = 8,
    MOVE_OUT = 16,
};

/* Tries to get out; gives what worked, as bits. Ends the process. */
static void try_to_escape(const struct sandbox *sandbox, const char *outside)
{
    struct sqlpack_error err;
    char path[300];
    int got = 0;
    int confined = sandbox_enter(sandbox, &err);
    if (confined != 1)
        _exit(confined == 0 ? 64 : 65);
    snprintf(path, sizeof(path), "%s/new", outside);
    if (open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
        got |= WRITE_OUTSIDE;
    if (openat(sandbox->parent, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
        got |= MAKE_FILE_BESIDE;
    snprintf(path, sizeof(path), "%s/kept", outside);
    if (open(path, O_RDONLY | O_CLOEXEC) >= 0)
        got |= READ_OUTSIDE;
    if (unlink(path) == 0)
        got |= REMOVE_OUTSIDE;
    snprintf(path, sizeof(path), "%s/moved", outside);
    if (renameat(sandbox->target, "inner", AT_FDCWD, path) == 0)
        got |= MOVE_OUT;
    /* what it needs must work all the same */
    int fd = openat(sandbox->target, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 10) < 0 || symlinkat("x", sandbox->target, "l") < 0 ||
        linkat(sandbox->target, "file", sandbox->target, "inner/other", 0) < 0 ||
        renameat(sandbox->target, "inner/sub", sandbox->target, "sub") < 0 ||
        renameat(sandbox->parent, "confined", sandbox->parent, "published") < 0 ||
        open(sandbox->pack, O_RDONLY | O_CLOEXEC) < 0)
        _exit(66);
    execl("/bin/false", "false", (char *)NULL); /* ends with 1 */
    _exit(got);
}

static void test_sandbox(void)
{
    char outside[256], pack[256];
    snprintf(outside, sizeof(outside), "%s/free", scratch);
    snprintf(pack, sizeof(pack), "%s/pack", scratch);
    int free_folder = new_folder("free");
    int parent = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int target = new_folder("confined");
    need(parent >= 0 && mkdirat(target, "inner", 0700) == 0);
    need(mkdirat(target, "inner/sub", 0700) == 0);
    new_file(free_folder, "kept", "x");
    new_file(parent, "pack", "x");
    pid_t child = fork();
    need(child >= 0);
    if (child == 0) {
        const struct sandbox sandbox = {.pack = pack, .target = target, .parent = parent};
        try_to_escape(&sandbox, outside);
    }
    int status = 0;
    need(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 64)
        skip("the kernel confines the process", "no Landlock here");
    else
        is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0, "the kernel confines the process");
    is_int(count_names(free_folder), 1, "nothing changed outside");
    close(free_folder);
    close(target);
    close(parent);
}

int main(void)
{
    need(mkdtemp(scratch) != NULL);
    for (int old = 0; old <= 1; old++) {
        test_enter(old);
        test_symlinks(old);
        test_deep(old);
    }
    test_clear();
    test_target();
    test_target_race();
    test_left_over();
    test_folds();
    test_selection();
    test_sandbox();
    int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok(fd >= 0 && target_clear(fd) == 0 && rmdir(scratch) == 0, "the scratch folder is removed");
    close(fd);
    return done();
}

/* SPDX-License-Identifier: MIT */
/* A folder for what the bench makes, on the tree's file system, and its sure removal. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define FOLDERS_OPEN    32
#define INODES_SPARE_IN 10 /* a tenth of all inodes is left to others */

static int remove_one(const char *path, const struct stat *stat_of, int kind, struct FTW *where)
{
    (void)stat_of;
    (void)kind;
    (void)where;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int scratch_remove(const char *path)
{
    return nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT ? -1
                                                                                             : 0;
}

static int empty_one(const char *path, const struct stat *stat_of, int kind, struct FTW *where)
{
    (void)where;
    return kind == FTW_F && stat_of->st_size > 0 ? truncate(path, 0) : 0;
}

int scratch_retire(const char *path)
{
    struct statvfs room;
    bool is_short = statvfs(path, &room) == 0 && room.f_files > 0 &&
                    room.f_favail < room.f_files / INODES_SPARE_IN;
    return is_short ? scratch_remove(path) : nftw(path, empty_one, FOLDERS_OPEN, FTW_PHYS);
}

void scratch_release(struct scratch *scratch)
{
    if (scratch->path)
        scratch_remove(scratch->path);
    free(scratch->path);
    scratch->path = NULL;
}

/* The folder that holds `dir`, links resolved, so that "tree/" and "." have one too. */
static char *folder_beside(const char *dir)
{
    char *path = realpath(dir, NULL);
    if (!path)
        return NULL;
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0';
    return path;
}

/* Scratch elsewhere would compare two file systems, not two layouts. */
static int check_device(const struct bench_options *options, const char *folder,
                        struct sqlpack_error *err)
{
    struct stat tree, scratch;
    if (options->cross_file_system || !options->dir)
        return 0;
    if (stat(options->dir, &tree) < 0)
        return bench_fail_errno(err, "cannot open '%s'", bench_show(options->dir).text);
    if (stat(folder, &scratch) < 0)
        return bench_fail_errno(err, "cannot open '%s'", bench_show(folder).text);
    if (tree.st_dev == scratch.st_dev)
        return 0;
    bench_fail(err, SQLPACK_INVALID,
               "cannot use '%s' for scratch: it is on another file system than '%s'",
               bench_show(folder).text, bench_show(options->dir).text);
    err->os_errno = EXDEV;
    return -1;
}

/*
 * As chattr +T: ext4 puts folders made here far from each other, so where there is room away from
 * what an earlier run has just deleted (see scratch_retire). Elsewhere it is refused, and not
 * needed.
 */
static void spread_folders(const char *path)
{
    int flags;
    auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return;
    flags |= FS_TOPDIR_FL;
    ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

int scratch_open(const struct bench_options *options, struct scratch *ret_scratch,
                 struct sqlpack_error *err)
{
    char leaf[FILE_HIDDEN_NAME_BYTES];
    auto_free char *beside = NULL;
    const char *folder = options->scratch ? options->scratch : ".";
    if (options->dir && !options->scratch) {
        beside = folder_beside(options->dir);
        if (!beside)
            return bench_fail_errno(err, "cannot open '%s'", bench_show(options->dir).text);
        folder = beside;
    }
    if (check_device(options, folder, err) < 0)
        return -1;
    auto_free char *whole = realpath(folder, NULL);
    if (!whole || file_hidden_name(leaf) < 0)
        return bench_fail_errno(err, "cannot use '%s' for scratch", bench_show(folder).text);
    char *path = bench_join(whole, leaf);
    if (!path)
        return bench_no_memory(err);
    if (mkdir(path, 0700) < 0) {
        bench_fail_errno(err, "cannot create scratch in '%s'", bench_show(folder).text);
        free(path);
        return -1;
    }
    spread_folders(path);
    ret_scratch->path = path;
    return 0;
}

int scratch_need(const struct scratch *scratch, uint64_t bytes, struct sqlpack_error *err)
{
    struct statvfs room;
    if (statvfs(scratch->path, &room) < 0)
        return bench_fail_errno(err, "cannot look at '%s'", bench_show(scratch->path).text);
    uint64_t free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
    if (free_bytes / 6 * 5 >= bytes)
        return 0;
    errno = ENOSPC;
    return bench_fail_errno(err, "cannot use '%s' for scratch: %llu MiB needed, %llu MiB free",
                            bench_show(scratch->path).text,
                            (unsigned long long)(bytes / 5 * 6 >> 20),
                            (unsigned long long)(free_bytes >> 20));
}

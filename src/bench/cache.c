/* SPDX-License-Identifier: MIT */
/* The page cache: filled, emptied, and proven to be so. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define SAMPLE_KEYS  256
#define WARM_PERCENT 99
#define COLD_PERCENT 1

/* Numbers that linux/magic.h does not have. */
#define MAGIC_FUSE 0x65735546
#define MAGIC_CIFS 0xff534d42
#define MAGIC_SMB2 0xfe534d42
#define MAGIC_ZFS  0x2fc12fc1

const char *cache_refuses_cold(const char *path)
{
    struct statfs file_system;
    if (statfs(path, &file_system) < 0)
        return "the file system cannot be asked";
    switch ((unsigned long)file_system.f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
        return "on tmpfs the cache is the storage";
    case NFS_SUPER_MAGIC:
    case MAGIC_CIFS:
    case MAGIC_SMB2:
        return "a network file system has caches elsewhere";
    case MAGIC_FUSE:
        return "a FUSE file system has caches of its own";
    case MAGIC_ZFS:
        return "ZFS has a cache of its own";
    default:
        return NULL;
    }
}

static const struct bench_tree *tree_of(const struct bench_task *task)
{
    return &task->data->trees[task->series->layout];
}

uint64_t cache_paged_in(void)
{
    char text[8192];
    auto_close int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : file_read(fd, text, sizeof(text) - 1);
    text[size < 0 ? 0 : size] = '\0';
    const char *at = strstr(text, "\npgpgin ");
    return at ? strtoull(at + strlen("\npgpgin "), NULL, 10) * 1024 : 0;
}

bool cache_is_behind(const struct bench_task *task)
{
    struct statfs file_system;
    return task->series->layout == BENCH_LAYOUT_MOUNT &&
           statfs(tree_of(task)->root, &file_system) == 0 &&
           (unsigned long)file_system.f_type == MAGIC_FUSE;
}

/* -- all caches of the machine -------------------------------------------------------------- */

static int tell_kernel(const char *what)
{
    auto_close int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : file_write(fd, what, strlen(what));
}

/* 0 is none of its values: who may write is told so, and nothing is dropped. */
int cache_may_drop(struct sqlpack_error *err)
{
    return tell_kernel("0") == 0 || errno == EINVAL
               ? 0
               : bench_fail_errno(err, "cannot drop the machine's caches");
}

int cache_drop(struct sqlpack_error *err)
{
    return tell_kernel("3") == 0 ? 0 : bench_fail_errno(err, "cannot drop the machine's caches");
}

/* -- how much of a file is in the cache ---------------------------------------------------- */

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* Linux 6.5; the same number on all architectures */
#endif

struct cachestat_range {
    uint64_t offset, size;
};

struct cachestat_counts {
    uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

/* Pages of the file in the cache. Returns how that is known. */
static enum bench_proof ask_cachestat(int fd, uint64_t *ret_pages)
{
    struct cachestat_range all = {0}; /* size 0 is up to the end */
    struct cachestat_counts counts;
    if (syscall(SYS_cachestat, fd, &all, &counts, 0) < 0)
        return BENCH_UNVERIFIED;
    *ret_pages = counts.cached;
    return BENCH_BY_CACHESTAT;
}

/* To those who may not write the file, mincore says that all of it is resident. */
static enum bench_proof ask_mincore(int fd, const struct stat *stat_of, size_t page_count,
                                    uint64_t *ret_pages)
{
    if (geteuid() != 0 && geteuid() != stat_of->st_uid)
        return BENCH_UNVERIFIED;
    auto_free unsigned char *pages = malloc(page_count);
    void *map = mmap(NULL, (size_t)stat_of->st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (!pages || map == MAP_FAILED)
        return BENCH_UNVERIFIED;
    bool is_known = mincore(map, (size_t)stat_of->st_size, pages) == 0;
    munmap(map, (size_t)stat_of->st_size);
    *ret_pages = 0;
    for (size_t i = 0; is_known && i < page_count; i++)
        *ret_pages += pages[i] & 1;
    return is_known ? BENCH_BY_MINCORE : BENCH_UNVERIFIED;
}

struct residency {
    uint64_t pages, cached;
    enum bench_proof proof;
    bool is_unknown;
};

static void look_at(const char *path, int flags, struct residency *residency)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    struct stat stat_of;
    if (fd < 0 || fstat(fd, &stat_of) < 0) {
        residency->is_unknown = true;
        return;
    }
    if (stat_of.st_size == 0)
        return;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t page_count = ((size_t)stat_of.st_size + page_bytes - 1) / page_bytes;
    uint64_t cached = 0;
    enum bench_proof proof = ask_cachestat(fd, &cached);
    if (proof == BENCH_UNVERIFIED)
        proof = ask_mincore(fd, &stat_of, page_count, &cached);
    if (proof == BENCH_UNVERIFIED)
        residency->is_unknown = true;
    residency->proof = proof;
    residency->pages += page_count;
    residency->cached += cached < page_count ? cached : page_count;
}

/* -- of a task ----------------------------------------------------------------------------- */

/* The one file that the arm reads; NULL: the files of a tree. */
static const char *single_file(const struct bench_task *task)
{
    if (task->series->layout == BENCH_LAYOUT_MOUNT)
        return NULL;
    switch (task->series->arm->side) {
    case BENCH_PACK:
        return task->pack;
    case BENCH_CONTROL:
        return task->data->concat;
    default:
        return NULL;
    }
}

void cache_prove(const struct bench_task *task, struct bench_run *run)
{
    struct residency residency = {.is_unknown = cache_is_behind(task)};
    const char *single = single_file(task);
    if (single)
        look_at(single, 0, &residency);
    size_t step = task->order_count / SAMPLE_KEYS + 1;
    for (size_t i = 0; !single && !residency.is_unknown && i < task->order_count; i += step)
        look_at(tree_of(task)->paths[task->order[i]], tree_of(task)->open_flags, &residency);
    run->resident_percent = -1;
    run->proof = BENCH_UNVERIFIED;
    run->is_proven = false;
    if (residency.is_unknown || residency.pages == 0)
        return;
    run->proof = residency.proof;
    run->resident_percent = 100 * (double)residency.cached / (double)residency.pages;
    run->is_proven = task->question->state == BENCH_WARM ? run->resident_percent >= WARM_PERCENT
                                                         : run->resident_percent <= COLD_PERCENT;
}

static int fill_file(const char *path, int flags, char *buffer, size_t size,
                     struct sqlpack_error *err)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0)
        got = file_read(fd, buffer, size);
    return got < 0 ? bench_fail_errno(err, "cannot read '%s'", bench_show(path).text) : 0;
}

int cache_fill(const struct bench_task *task, struct sqlpack_error *err)
{
    const size_t size = 1 << 20;
    auto_free char *buffer = malloc(size);
    if (!buffer)
        return bench_no_memory(err);
    const char *single = single_file(task);
    if (single)
        return fill_file(single, 0, buffer, size, err);
    for (size_t i = 0; i < task->data->key_count; i++)
        if (fill_file(tree_of(task)->paths[i], tree_of(task)->open_flags, buffer, size, err) < 0)
            return -1;
    return 0;
}

static int evict_file(const char *path, int flags, struct sqlpack_error *err)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    errno = fd < 0 ? errno : posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return errno ? bench_fail_errno(err, "cannot take '%s' out of the cache", bench_show(path).text)
                 : 0;
}

int cache_evict(const struct bench_task *task, struct sqlpack_error *err)
{
    const char *single = single_file(task);
    if (single)
        return evict_file(single, 0, err);
    for (size_t i = 0; i < task->order_count; i++)
        if (evict_file(tree_of(task)->paths[task->order[i]], tree_of(task)->open_flags, err) < 0)
            return -1;
    return 0;
}

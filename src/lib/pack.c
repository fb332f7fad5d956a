/* SPDX-License-Identifier: MIT */
/* Packs a tree: what is asked for, the threads, and the moment at which the pack appears. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/pack.h"

/* -- the target -- */

static const char *const companions[] = {"-journal", "-wal", "-shm"};

/* What lies beside a pack under the names of SQLite's own files: NULL, or which. */
static const char *find_companion(const char *path)
{
    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
        struct stat stat;
        auto_free char *beside = NULL;
        if (asprintf(&beside, "%s%s", path, companions[i]) < 0)
            beside = NULL;
        if (beside && lstat(beside, &stat) == 0)
            return companions[i];
    }
    return NULL;
}

static int judge_existing(const char *path, const struct stat *stat, bool replace,
                          struct sqlpack_error *err)
{
    if (!S_ISREG(stat->st_mode))
        return fail(err, SQLPACK_INVALID, "cannot create '%s': it exists and is no regular file",
                    show(path).text);
    if (!replace)
        return fail(err, SQLPACK_EXISTS, "cannot create '%s': it exists", show(path).text);
    auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char magic[16];
    if (fd < 0 || stat->st_size == 0)
        return 0; /* SQLite will tell why, when it locks the old pack */
    if (file_read(fd, magic, sizeof(magic)) != sizeof(magic) ||
        memcmp(magic, "SQLite format 3", sizeof(magic)) != 0)
        return fail(err, SQLPACK_NOT_A_PACK, "cannot replace '%s': it is no pack", show(path).text);
    return 0;
}

/* Refuses a target that must not be touched, before anything is read. */
static int check_target(struct packer *packer, struct sqlpack_error *err)
{
    const char *path = packer->path;
    bool replace = packer->options->replace;
    if (!path_leaf(path)[0])
        return fail(err, SQLPACK_INVALID, "cannot create '%s': it names a folder", show(path).text);
    if (lstat(path, &packer->own[1]) < 0) {
        packer->own[1].st_ino = 0;
        if (errno != ENOENT)
            return fail_errno(err, "cannot create '%s'", show(path).text);
    } else if (judge_existing(path, &packer->own[1], replace, err) < 0) {
        return -1;
    }
    const char *companion = find_companion(path);
    if (companion && !replace)
        return fail(err, SQLPACK_EXISTS,
                    "cannot create '%s': a file '%s%s' lies there, which SQLite would apply to it",
                    show(path).text, show(path_leaf(path)).text, companion);
    return 0;
}

/*
 * Brings the old pack to rest and locks it: a journal that was left under its
 * name is rolled back into the old pack, where it belongs, and nobody changes
 * the old pack while the new one takes its name.
 */
static int lock_old(const char *path, sqlite3 **ret_db, struct sqlpack_error *err)
{
    int code =
        sqlite3_open_v2(path, ret_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_PRIVATECACHE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(*ret_db, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return fail_sqlite(err, *ret_db, "cannot replace '%s'", show(path).text);
    return 0;
}

/* Removes companions of a file that is gone: a journal without its database means nothing. */
static int remove_companions(const char *path, struct sqlpack_error *err)
{
    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
        auto_free char *beside = NULL;
        if (asprintf(&beside, "%s%s", path, companions[i]) < 0)
            return fail_no_memory(err);
        if (unlink(beside) < 0 && errno != ENOENT)
            return fail_errno(err, "cannot remove '%s'", show(beside).text);
    }
    return 0;
}

static int publish(struct packer *packer, struct sqlpack_error *err)
{
    const struct sqlpack_pack_options *options = packer->options;
    sqlite3 *old = NULL;
    struct stat stat;
    int result = 0;
    if (options->replace && lstat(packer->path, &stat) == 0)
        result = stat.st_size ? lock_old(packer->path, &old, err) : 0;
    else if (options->replace)
        result = remove_companions(packer->path, err);
    if (result == 0 && new_file_publish(&packer->file, options->replace, !options->no_sync) < 0)
        result = fail_errno(err, "cannot create '%s'", show(packer->path).text);
    sqlite3_close(old);
    return result;
}

/* -- the run -- */

/* A file that was changed in the last minute may change again without a new ctime: a shared
 * mapping is written back when the kernel sees fit. */
#define QUIET_SECONDS 60

int64_t pack_quiet_before(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((int64_t)now.tv_sec - QUIET_SECONDS) * 1000000000 + now.tv_nsec;
}

int pack_check_form(int level, uint32_t page_bytes, struct sqlpack_error *err)
{
    if (level < SQLPACK_STORE || level > 12)
        return fail(err, SQLPACK_INVALID, "no such level: %d", level);
    if (page_bytes > SQLPACK_PAGE_MIN &&
        (page_bytes < 512 || page_bytes > 65536 || (page_bytes & (page_bytes - 1))))
        return fail(err, SQLPACK_INVALID, "no such page size: %u", page_bytes);
    return 0;
}

static void packer_init(struct packer *packer)
{
    const struct sqlpack_pack_options *options = packer->options;
    packer->level = options->level == SQLPACK_STORE ? 0
                    : options->level                ? options->level
                                                    : CODEC_LEVEL;
    packer->file = (struct new_file)NEW_FILE_NONE;
    packer->ids.next = 1;
    atomic_init(&packer->batch_names, 16);
    pthread_mutex_init(&packer->scan_mutex, NULL);
    pthread_mutex_init(&packer->links_mutex, NULL);
    pthread_mutex_init(&packer->turn_mutex, NULL);
    pthread_cond_init(&packer->turn_changed, NULL);
    report_init(&packer->report, &options->hooks);
    packer->source_options = (struct source_options){
        .no_xattrs = options->no_xattrs,
        .max_file_bytes = options->max_file_bytes,
        .quiet_before_ns = pack_quiet_before(),
    };
    packer->scan_options = (struct scan_options){
        .excludes = options->excludes,
        .exclude_count = options->exclude_count,
        .files = options->files,
        .file_count = options->file_count,
        .one_file_system = options->one_file_system,
    };
    const struct spool spool = {
        .file = NEW_FILE_NONE, .path = packer->path, .in_memory = options->dry_run};
    packer->late_folders.spool = packer->late_files.spool = spool;
    packer->links = links_new();
    packer->loss_hash = hash_stream_new();
}

static void packer_release(struct packer *packer)
{
    loader_close(packer->loader);
    scan_close(packer->scan);
    new_file_release(&packer->file);
    spool_release(&packer->late_folders.spool);
    spool_release(&packer->late_files.spool);
    links_free(packer->links);
    lost_folders_release(packer);
    hash_stream_free(packer->loss_hash);
    free(packer->users.ids);
    free(packer->groups.ids);
    record_release(&packer->record);
    buf_release(&packer->room);
    report_release(&packer->report);
    pthread_cond_destroy(&packer->turn_changed);
    pthread_mutex_destroy(&packer->turn_mutex);
    pthread_mutex_destroy(&packer->links_mutex);
    pthread_mutex_destroy(&packer->scan_mutex);
}

static int open_file(struct packer *packer, struct sqlpack_error *err)
{
    if (packer->options->dry_run)
        return 0;
    if (new_file_open(&packer->file, packer->path) < 0 ||
        fstat(packer->file.fd, &packer->own[0]) < 0)
        return fail_errno(err, "cannot create '%s'", show(packer->path).text);
    return 0;
}

/* Writes the whole pack into the file without a name. */
static int fill(struct packer *packer, struct sqlpack_error *err)
{
    if (loader_open(packer->file.fd, packer->path, packer->result->page_bytes, &packer->loader,
                    err) < 0 ||
        pack_entries(packer, err) < 0)
        return -1;
    return pack_end(packer, err);
}

static int run(struct packer *packer, struct sqlpack_error *err)
{
    struct sqlpack_pack_result *result = packer->result;
    if (!packer->links || !packer->loss_hash)
        return fail_no_memory(err);
    if (check_target(packer, err) < 0 ||
        scan_open(packer->dir, &packer->scan_options, &packer->scan, err) < 0 ||
        open_file(packer, err) < 0 || choose_page_size(packer, err) < 0 || fill(packer, err) < 0)
        return -1;
    result->loss_count = packer->report.loss_count;
    result->note_count = packer->report.note_count;
    result->pack_bytes = result->pack_allocated_bytes =
        loader_page_count(packer->loader) * result->page_bytes;
    if (packer->options->dry_run)
        return 0;
    struct stat stat;
    if (publish(packer, err) < 0)
        return -1;
    if (fstat(packer->file.fd, &stat) == 0)
        result->pack_allocated_bytes = (uint64_t)stat.st_blocks * 512;
    return 0;
}

int sqlpack_pack(const char *dir, const char *path, const struct sqlpack_pack_options *options,
                 struct sqlpack_pack_result *ret_result, struct sqlpack_error *err)
{
    struct sqlpack_pack_result result = {0};
    struct packer packer = {.dir = dir, .path = path, .options = options, .result = &result};
    if (pack_check_form(options->level, options->page_bytes, err) < 0)
        return -1;
    packer_init(&packer);
    int code = run(&packer, err);
    packer_release(&packer);
    if (code == 0)
        *ret_result = result;
    return code;
}

const char *sqlpack_version(void)
{
    return SQLPACK_VERSION;
}

/* SPDX-License-Identifier: MIT */
/* Reads one entry of a tree: metadata, attributes, content, and whether it changed meanwhile. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

/* How often a file that changes while it is read is read again. */
#define ATTEMPTS 3

/* Pieces in which a large file is read. */
#define PIECE_BYTES ((size_t)256 << 10)

void source_release(struct source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    buf_release(&source->xattr);
    buf_release(&source->target);
    *source = (struct source)SOURCE_NONE;
}

/* One entry on its way in: what every step below needs. */
struct reading {
    const struct scan_entry *where;
    const struct source_options *options;
    struct source *source;
    struct report *report;
    struct sqlpack_error *err;
};

static void tell(const struct reading *reading, enum sqlpack_problem_kind kind, const char *what,
                 int os_errno)
{
    report_problem(reading->report, &(struct sqlpack_problem){.kind = kind,
                                                              .name = reading->where->name,
                                                              .what = what,
                                                              .os_errno = os_errno});
}

/* Reports that something is not kept, or not as it was. */
static void lose(const struct reading *reading, const char *what, int os_errno)
{
    tell(reading, SQLPACK_LOSS, what, os_errno);
}

/* Whether the system has run out of something, which is no fault of the entry. */
static bool is_shortage(int os_errno)
{
    return os_errno == EMFILE || os_errno == ENFILE || os_errno == ENOMEM;
}

/*
 * The end of an entry that a system call failed on: the entry's own fault leaves
 * it out (0), a shortage of the system ends the run (-1).
 */
static int give_up(const struct reading *reading, const char *what)
{
    if (is_shortage(errno))
        return fail_errno(reading->err, "cannot read '%s'", show(reading->where->name).text);
    lose(reading, errno == ENOENT ? "vanished before it was read" : what, errno);
    return 0;
}

static int64_t ns_of(struct timespec time)
{
    int64_t ns;
    if (__builtin_mul_overflow((int64_t)time.tv_sec, 1000000000, &ns) ||
        __builtin_add_overflow(ns, time.tv_nsec, &ns))
        return time.tv_sec < 0 ? INT64_MIN + 1 : INT64_MAX;
    return ns;
}

/* Fills the entry from source->stat, all but content, target and attributes. */
static void take_stat(const struct reading *reading)
{
    const struct stat *stat = &reading->source->stat;
    struct sqlpack_entry *entry = &reading->source->entry;
    *entry = (struct sqlpack_entry){
        .name = reading->where->name,
        .mode = stat->st_mode,
        .mtime = stat->st_mtim.tv_sec,
        .mtime_ns = (uint32_t)stat->st_mtim.tv_nsec,
        .sz = S_ISREG(stat->st_mode) ? (uint64_t)stat->st_size : 0,
        .uid = stat->st_uid,
        .gid = stat->st_gid,
        .ctime_ns = SQLPACK_NO_TIME,
        .rdev = S_ISCHR(stat->st_mode) || S_ISBLK(stat->st_mode) ? stat->st_rdev : 0,
    };
    int64_t quiet = reading->options->quiet_before_ns;
    if (ns_of(stat->st_mtim) < quiet && ns_of(stat->st_ctim) < quiet)
        entry->ctime_ns = ns_of(stat->st_ctim);
}

/* Reads the attributes: of the open fd or, where that is negative, of the name. */
static int take_attrs(const struct reading *reading, int fd)
{
    struct source *source = reading->source;
    if (reading->options->no_xattrs)
        return 1;
    int result =
        fd >= 0 ? attr_read(fd, &source->xattr)
                : attr_read_link(reading->where->folder->fd, reading->where->leaf, &source->xattr);
    if (result < 0) {
        if (errno == ENOMEM)
            return give_up(reading, "");
        if (fd >= 0 || errno != ENOENT) /* without /proc a link's attributes are out of reach */
            lose(reading, "its extended attributes cannot be read", errno);
        source->xattr.size = 0;
    }
    if (source->xattr.size) {
        source->entry.xattr = source->xattr.data;
        source->entry.xattr_bytes = source->xattr.size;
    }
    return 1;
}

/* Stats a name that is not opened. Returns 1, or how the entry ends. */
static int stat_name(const struct reading *reading)
{
    struct source *source = reading->source;
    if (fstatat(reading->where->folder->fd, reading->where->leaf, &source->stat,
                AT_SYMLINK_NOFOLLOW) < 0)
        return give_up(reading, "cannot be read");
    if (IFTODT(source->stat.st_mode) != reading->where->type) {
        lose(reading, "changed its type while it was read, left out", 0);
        return 0;
    }
    take_stat(reading);
    return 1;
}

static int read_special(const struct reading *reading)
{
    int result = stat_name(reading);
    return result == 1 ? take_attrs(reading, -1) : result;
}

static int read_symlink(const struct reading *reading)
{
    struct source *source = reading->source;
    int result = stat_name(reading);
    if (result != 1)
        return result;
    source->target.size = 0;
    for (;;) {
        if (buf_reserve(&source->target, 256) < 0)
            return give_up(reading, "");
        ssize_t size = readlinkat(reading->where->folder->fd, reading->where->leaf,
                                  source->target.data, source->target.capacity);
        if (size < 0)
            return give_up(reading, "cannot be read");
        source->target.size = (size_t)size;
        if ((size_t)size < source->target.capacity)
            break;
    }
    if (buf_terminate(&source->target) < 0)
        return give_up(reading, "");
    struct sqlpack_entry *entry = &source->entry;
    entry->target = source->target.data;
    entry->sz = source->target.size;
    entry->has_digest = true;
    hash_digest(entry->target, entry->sz, entry->digest);
    return take_attrs(reading, -1);
}

static int read_folder(const struct reading *reading)
{
    auto_close int fd = openat(reading->where->folder->fd, reading->where->leaf,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* what it is can be told without opening it; the walk reports names that cannot be read */
    if (fd < 0 && errno != ENOENT && !is_shortage(errno))
        return read_special(reading);
    if (fd < 0 || fstat(fd, &reading->source->stat) < 0)
        return give_up(reading, "cannot be read");
    take_stat(reading);
    return take_attrs(reading, fd);
}

static bool is_same_state(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/*
 * Whether a file has holes. Fewer blocks than bytes are a hint only: small files
 * may lie in the inode, and some file systems compress.
 */
static bool has_holes(int fd, const struct stat *stat)
{
    if (stat->st_size == 0 || stat->st_blocks >= (stat->st_size + 511) / 512)
        return false;
    off_t hole = lseek(fd, 0, SEEK_HOLE);
    bool found = hole >= 0 && hole < stat->st_size;
    return lseek(fd, 0, SEEK_SET) == 0 && found;
}

/*
 * Appends the file's bytes to the content: as many as it had when it was looked
 * at, so that a file that grows gives its beginning. A file of size 0 is read to
 * its end, since those of /proc do not know their size. Returns 1, 0 where it is
 * too large to be read whole, -1 with errno.
 */
static int read_bytes(int fd, struct source *source)
{
    uint64_t size = (uint64_t)source->stat.st_size;
    size_t want = size ? (size_t)size : 4096;
    struct buf *content = source->content;
    assert(content);
    content->size = source->content_at;
    for (;;) {
        if (buf_reserve(content, want) < 0)
            return -1;
        ssize_t n = file_read(fd, content->data + content->size, want);
        if (n < 0)
            return -1;
        content->size += (size_t)n;
        if (size || (size_t)n < want)
            break;
        if (content->size - source->content_at > SOURCE_WHOLE_BYTES)
            return 0;
    }
    source->entry.sz = content->size - source->content_at;
    return 1;
}

/* Reads a small file until it has not changed meanwhile. Returns as read_bytes. */
static int read_settled(const struct reading *reading, int fd)
{
    struct source *source = reading->source;
    for (int attempt = 1;; attempt++) {
        struct stat after;
        int result = read_bytes(fd, source);
        if (result != 1)
            return result;
        if (fstat(fd, &after) < 0)
            return -1;
        bool settled = is_same_state(&source->stat, &after);
        if (settled && attempt == 1)
            return 1;
        if (settled || attempt == ATTEMPTS) {
            lose(reading, "changed while it was read", 0);
            return 1;
        }
        source->stat = after;
        take_stat(reading);
        if (lseek(fd, 0, SEEK_SET) < 0)
            return -1;
    }
}

/* Keeps the descriptor for source_stream. */
static int leave_open(const struct reading *reading, int *fd)
{
    reading->source->fd = *fd;
    *fd = -1;
    return take_attrs(reading, reading->source->fd);
}

/* Whether the file is left out for its size, which is told. */
static bool is_left_out(const struct reading *reading)
{
    uint64_t limit = reading->options->max_file_bytes;
    if (!limit || (uint64_t)reading->source->stat.st_size <= limit)
        return false;
    reading->source->is_too_large = true;
    tell(reading, SQLPACK_SKIPPED, "is larger than the limit, left out", 0);
    return true;
}

/* Whether the content could be read: the mode tells for most files, without a system call. */
static bool is_readable(const struct reading *reading)
{
    const struct source *source = reading->source;
    if ((source->stat.st_mode & 0444) == 0444 && source->xattr.size == 0)
        return true;
    return faccessat(reading->where->folder->fd, reading->where->leaf, R_OK,
                     AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

/* Fewer blocks than bytes: the file is opened to see whether that is for holes. */
static void look_for_holes(const struct reading *reading)
{
    struct source *source = reading->source;
    if (source->stat.st_blocks >= (source->stat.st_size + 511) / 512)
        return;
    auto_close int fd = openat(reading->where->folder->fd, reading->where->leaf,
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    source->is_sparse = fd >= 0 && has_holes(fd, &source->stat);
}

/* Reads all of a file but its content, which takes half the time of opening it. */
static int read_file_stat(const struct reading *reading)
{
    int result = stat_name(reading);
    if (result != 1 || is_left_out(reading))
        return result == 1 ? 0 : result;
    result = take_attrs(reading, -1);
    if (result != 1)
        return result;
    if (!is_readable(reading))
        return give_up(reading, "cannot be read");
    look_for_holes(reading);
    return 1;
}

static int read_file(const struct reading *reading)
{
    if (reading->options->no_content)
        return read_file_stat(reading);
    struct source *source = reading->source;
    auto_close int fd =
        file_open_quietly(reading->where->folder->fd, reading->where->leaf,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, &source->stat);
    if (fd < 0 && errno == ELOOP) {
        lose(reading, "changed its type while it was read, left out", 0);
        return 0;
    }
    if (fd < 0)
        return give_up(reading, "cannot be read");
    if (!S_ISREG(source->stat.st_mode)) {
        lose(reading, "changed its type while it was read, left out", 0);
        return 0;
    }
    take_stat(reading);
    if (is_left_out(reading))
        return 0;
    uint64_t size = (uint64_t)source->stat.st_size;
    source->is_sparse = has_holes(fd, &source->stat);
    if (source->is_sparse || size > SOURCE_WHOLE_BYTES)
        return leave_open(reading, &fd);
    int result = read_settled(reading, fd);
    if (result < 0)
        return give_up(reading, "cannot be read");
    if (result == 0)
        return lseek(fd, 0, SEEK_SET) < 0 ? give_up(reading, "cannot be read")
                                          : leave_open(reading, &fd);
    source->entry.has_digest = true;
    hash_digest(source->content->data + source->content_at, source->entry.sz, source->entry.digest);
    return take_attrs(reading, fd);
}

int source_read(const struct scan_entry *where, const struct source_options *options,
                struct source *source, struct report *report, struct sqlpack_error *err)
{
    const struct reading reading = {where, options, source, report, err};
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
    source->xattr.size = 0;
    source->is_sparse = source->is_too_large = false;
    if (source->content)
        source->content_at = source->content->size;
    switch (where->type) {
    case DT_REG:
        return read_file(&reading);
    case DT_DIR:
        return read_folder(&reading);
    case DT_LNK:
        return read_symlink(&reading);
    case DT_SOCK:
        tell(&reading, SQLPACK_NOTE, "is a socket, left out", 0);
        return 0;
    case DT_FIFO:
    case DT_CHR:
    case DT_BLK:
        return read_special(&reading);
    default:
        lose(&reading, "has a type that is not known here, left out", 0);
        return 0;
    }
}

/* Where a large file's bytes go. */
struct flow {
    struct hash_stream *hash;
    int (*write)(void *user, const void *data, size_t size);
    void *user;
    unsigned char *piece;
};

/* Sends a run of zeros of a file's hole. */
static int flow_hole(const struct flow *flow, uint64_t size)
{
    memset(flow->piece, 0, PIECE_BYTES);
    while (size > 0) {
        size_t part = size < PIECE_BYTES ? (size_t)size : PIECE_BYTES;
        hash_stream_add(flow->hash, flow->piece, part);
        if (flow->write && flow->write(flow->user, NULL, part) < 0)
            return -1;
        size -= part;
    }
    return 0;
}

/* Where the next data of a file begins, its end where none follows. */
static uint64_t next_data(int fd, uint64_t at, uint64_t end)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? end : at;
    return (uint64_t)data < end ? (uint64_t)data : end;
}

enum flow_result { FLOW_DONE, FLOW_READ_FAILED, FLOW_WRITE_FAILED };

/* Sends the file from start to end. Fills *ret_size with what there was. */
static enum flow_result flow_file(const struct flow *flow, const struct source *source,
                                  uint64_t *ret_size)
{
    uint64_t end = (uint64_t)source->stat.st_size, at = 0, next_hole = source->is_sparse ? 0 : end;
    while (at < end || source->stat.st_size == 0) {
        if (source->is_sparse && at >= next_hole) {
            uint64_t data = next_data(source->fd, at, end);
            if (data > at && flow_hole(flow, data - at) < 0)
                return FLOW_WRITE_FAILED;
            off_t hole = lseek(source->fd, (off_t)data, SEEK_HOLE);
            next_hole = hole > (off_t)data && (uint64_t)hole < end ? (uint64_t)hole : end;
            at = data;
            continue;
        }
        uint64_t room = source->stat.st_size ? next_hole - at : PIECE_BYTES;
        ssize_t n = file_pread(source->fd, flow->piece,
                               room < PIECE_BYTES ? (size_t)room : PIECE_BYTES, (off_t)at);
        if (n < 0)
            return FLOW_READ_FAILED;
        if (n == 0)
            break;
        hash_stream_add(flow->hash, flow->piece, (size_t)n);
        if (flow->write && flow->write(flow->user, flow->piece, (size_t)n) < 0)
            return FLOW_WRITE_FAILED;
        at += (uint64_t)n;
    }
    *ret_size = at;
    return FLOW_DONE;
}

int source_stream(const struct scan_entry *where, struct source *source,
                  int (*write)(void *user, const void *data, size_t size), void *user,
                  struct report *report, struct sqlpack_error *err)
{
    const struct reading reading = {.where = where, .source = source, .report = report, .err = err};
    struct hash_stream *hash = hash_stream_new();
    auto_free unsigned char *piece = malloc(PIECE_BYTES);
    struct flow flow = {hash, write, user, piece};
    enum flow_result result = FLOW_WRITE_FAILED;
    struct stat after;
    errno = ENOMEM;
    if (hash && piece)
        result = flow_file(&flow, source, &source->entry.sz);
    if (result == FLOW_DONE) {
        source->entry.has_digest = true;
        hash_stream_end(hash, source->entry.digest);
    }
    hash_stream_free(hash);
    if (result == FLOW_WRITE_FAILED)
        return fail_errno(err, "cannot pack '%s'", show(where->name).text);
    if (result == FLOW_READ_FAILED || fstat(source->fd, &after) < 0)
        return give_up(&reading, "cannot be read");
    if (!is_same_state(&source->stat, &after))
        lose(&reading, "changed while it was read", 0);
    return 1;
}

/* SPDX-License-Identifier: MIT */
/* What the move to a pack gives back, and how sure that is on each kind of file system. */
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "lib/audit.h"
#include "util/workers.h"

/* A pack is worth it for a class of sizes where it saves at least this share of its blocks. */
#define WORTH_SHARE      0.04
#define STAY_BYTES_LEAST ((uint64_t)64 << 10) /* smaller files are never better left as files */

/* btrfs: what an inode takes in the trees beside content that lies there too (on-disk format: inode
 * item 160 bytes, reference, directory item and index with the name, extent item, each with a key
 * of 25). Where metadata is kept twice, all of it counts twice; nodes are two thirds full or more.
 */
#define BTRFS_INODE_LEAST  ((uint64_t)300)
#define BTRFS_INODE_MOST   ((uint64_t)700)
#define BTRFS_COPIES_FILL  3                /* 2 copies, 3/2 for what nodes have free */
#define BTRFS_INLINE_BYTES ((uint64_t)2048) /* the default of its option max_inline */
#define BTRFS_NODE_BYTES   ((uint64_t)64 * 16384)

#define XFS_INODE_BYTES 512 /* the default; freed by chunks of 64 */

/* How a file system accounts for space. */
enum accounting {
    EXACT,   /* what st_blocks tells is what comes back */
    EXTENTS, /* ... and blocks that say where the pack's are */
    XFS,     /* ... and chunks of inodes */
    BTRFS,   /* small files lie in the metadata, which st_blocks does not tell */
    LAYERED, /* files of a lower layer stay when they are deleted */
    FOREIGN, /* st_blocks may be invented */
    UNKNOWN,
};

static const struct {
    unsigned long magic;
    const char *name;
    enum accounting accounting;
} file_systems[] = {
    {0xef53, "ext4", EXTENTS},
    {0x58465342, "xfs", XFS},
    {0x9123683e, "btrfs", BTRFS},
    {0x01021994, "tmpfs", EXACT},
    {0x794c7630, "overlayfs", LAYERED},
    {0x2fc12fc1, "zfs", FOREIGN},
    {0x6969, "nfs", FOREIGN},
    {0x65735546, "fuse", FOREIGN},
    {0xff534d42, "cifs", FOREIGN},
    {0xfe534d42, "smb", FOREIGN},
    {0x01021997, "9p", FOREIGN},
    {0xf2f52010, "f2fs", UNKNOWN},
    {0x4d44, "vfat", EXACT},
    {0x2011bab0, "exfat", EXACT},
    {0x7366746e, "ntfs", UNKNOWN},
    {0xca451a4e, "bcachefs", UNKNOWN},
    {0x73717368, "squashfs", LAYERED},
    {0x9fa0, "proc", FOREIGN},
};

static enum accounting accounting_of(const struct sqlpack_audit_result *result)
{
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++)
        if (strcmp(file_systems[i].name, result->file_system) == 0)
            return file_systems[i].accounting;
    return UNKNOWN;
}

int freed_begin(const char *dir, struct sqlpack_audit_result *result, struct sqlpack_error *err)
{
    struct statfs type;
    struct statvfs space;
    if (statfs(dir, &type) < 0 || statvfs(dir, &space) < 0)
        return fail_errno(err, "cannot read folder '%s'", show(dir).text);
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++)
        if (file_systems[i].magic == (unsigned long)(unsigned)type.f_type)
            snprintf(result->file_system, sizeof(result->file_system), "%s", file_systems[i].name);
    result->block_bytes = space.f_frsize ? space.f_frsize : 512;
    result->inode_total = space.f_files;
    result->inode_free = space.f_favail;
    result->free_bytes = space.f_bavail * result->block_bytes;
    return 0;
}

/* ext4 tells at least a sector of a file in its inode, so that no one takes it for a hole
 * (ext4_getattr). */
uint64_t freed_not(const struct sqlpack_audit_result *result, uint64_t allocated)
{
    return accounting_of(result) == EXTENTS ? allocated % result->block_bytes : 0;
}

static uint64_t round_up(uint64_t bytes, uint64_t block)
{
    return (bytes + block - 1) / block * block;
}

/* What the figure is uncertain by, in either direction. */
struct doubt {
    int64_t less, more;
};

/* On btrfs small files lie in the metadata: what their blocks are told to be is not there, and what
 * they and all inodes take in the metadata is not told. */
static struct doubt doubt_of_btrfs(const struct sqlpack_audit_result *result)
{
    uint64_t told = result->tree_allocated_bytes - result->file_allocated_bytes, content = 0;
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++)
        if (result->classes[i].max_bytes <= BTRFS_INLINE_BYTES) {
            told += result->classes[i].allocated_bytes;
            content += result->classes[i].content_bytes;
        }
    uint64_t least = content + result->inode_count * BTRFS_INODE_LEAST;
    uint64_t most = BTRFS_COPIES_FILL * (content + result->inode_count * BTRFS_INODE_MOST);
    uint64_t pack = result->pack_allocated_bytes / 256; /* its checksums, twice */
    return (struct doubt){.less = (int64_t)(told - least + pack + BTRFS_NODE_BYTES),
                          .more = (int64_t)(most - told + BTRFS_NODE_BYTES)};
}

static struct doubt doubt_of(enum accounting accounting, const struct sqlpack_audit_result *result)
{
    int64_t block = (int64_t)result->block_bytes, inodes = (int64_t)result->inode_count;
    /* a pointer of 4 bytes a block of the pack is the most that any map of blocks takes */
    int64_t map = (int64_t)round_up(result->pack_allocated_bytes / result->block_bytes * 4,
                                    result->block_bytes) +
                  block;
    int64_t others = (int64_t)(result->tree_allocated_bytes - result->file_allocated_bytes);
    switch (accounting) {
    case EXACT:
        return (struct doubt){0, 0};
    case EXTENTS:
        return (struct doubt){.less = map};
    case XFS:
        return (struct doubt){.less = map + 64 * block,
                              .more = (inodes + 64) * XFS_INODE_BYTES + 64 * block};
    case BTRFS:
        return doubt_of_btrfs(result);
    case LAYERED:
        return (struct doubt){.less = (int64_t)result->tree_allocated_bytes};
    case FOREIGN:
        return (struct doubt){.less = (int64_t)result->padding_bytes + others + map,
                              .more = (int64_t)result->thin_bytes +
                                      (int64_t)result->file_count * block};
    default:
        return (struct doubt){.less = others + map, .more = inodes * block};
    }
}

/* The largest files: where packing all of them saves less than it is worth, they may stay. */
static void judge_large(struct sqlpack_audit_result *result)
{
    uint64_t allocated = 0, packed = 0, count = 0, content = 0;
    for (size_t i = SQLPACK_AUDIT_CLASSES - 1; i > 0; i--) {
        const struct sqlpack_audit_class *class = &result->classes[i];
        uint64_t floor = result->classes[i - 1].max_bytes;
        allocated += class->allocated_bytes;
        packed += class->packed_bytes;
        count += class->file_count;
        content += class->content_bytes;
        if (floor < STAY_BYTES_LEAST)
            break;
        int64_t saved = (int64_t)(allocated - packed);
        if ((double)saved >= WORTH_SHARE * (double)allocated)
            continue;
        if (class->file_count > 0) {
            result->stay_bytes = floor;
            result->stay_count = count;
            result->stay_content_bytes = content;
            result->stay_saved_bytes = saved;
        }
    }
}

/* Files too large to be compressed in memory wait beside the pack while it is written. */
static uint64_t spool_bytes(const struct sqlpack_audit_options *options,
                            const uint64_t data_bytes[SQLPACK_AUDIT_CLASSES],
                            const struct sqlpack_audit_result *result)
{
    uint64_t largest = 0, all = 0;
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++) {
        const struct sqlpack_audit_class *class = &result->classes[i];
        all += data_bytes[i];
        if (data_bytes[i] && class->max_bytes > SOURCE_WHOLE_BYTES)
            largest = data_bytes[i] < class->max_bytes ? data_bytes[i] : class->max_bytes;
    }
    uint64_t bytes = largest * workers_default(options->jobs);
    return bytes < all ? bytes : all;
}

void freed_end(const struct sqlpack_audit_options *options,
               const uint64_t data_bytes[SQLPACK_AUDIT_CLASSES],
               struct sqlpack_audit_result *result)
{
    enum accounting accounting = accounting_of(result);
    result->pack_allocated_bytes = round_up(result->pack_bytes, result->block_bytes);
    struct doubt doubt = doubt_of(accounting, result);
    int64_t error = 0;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        if (result->pages[i].page_bytes == result->page_bytes)
            error = (int64_t)round_up(result->pages[i].error_bytes, result->block_bytes);
    int64_t freed = (int64_t)(result->tree_allocated_bytes - result->inline_bytes -
                              result->outside_allocated_bytes - result->pack_allocated_bytes);
    result->freed_low = freed - doubt.less - error;
    result->freed_high = freed + doubt.more + error;
    uint64_t gone = result->inode_count - result->outside_count;
    result->freed_inode_count = gone > 1 ? gone - 1 : 0;
    result->peak_bytes =
        result->pack_allocated_bytes + (uint64_t)error + spool_bytes(options, data_bytes, result);
    for (size_t i = 0; i < result->block_count; i++)
        result->blocks[i].pack_bytes = round_up(result->pack_bytes, result->blocks[i].block_bytes);
    judge_large(result);
}

/* SPDX-License-Identifier: MIT */
/* What audit says in words: names of classes, reasons, caveats of file systems. */
#include <stdio.h>
#include <string.h>

#include "cmd/audit.h"

struct text audit_signed(int64_t bytes)
{
    struct text text = text_bytes(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
    if (bytes >= 0)
        return text;
    struct text with_sign;
    snprintf(with_sign.text, sizeof(with_sign.text), "-%.40s", text.text);
    return with_sign;
}

struct text audit_class(const struct sqlpack_audit_class *class)
{
    struct text text;
    if (class->max_bytes == 0)
        snprintf(text.text, sizeof(text.text), "empty");
    else if (class->max_bytes == UINT64_MAX)
        snprintf(text.text, sizeof(text.text), "larger");
    else
        snprintf(text.text, sizeof(text.text), "to %.40s", text_bytes(class->max_bytes).text);
    return text;
}

double audit_percent(double part, double whole)
{
    return whole > 0 || whole < 0 ? 100 * part / whole : 0;
}

const struct sqlpack_audit_page *audit_chosen(const struct sqlpack_audit_result *result)
{
    size_t i = 0;
    while (i + 1 < SQLPACK_PAGE_SIZES && result->pages[i].page_bytes != result->page_bytes)
        i++;
    return &result->pages[i];
}

const char *audit_group_name(const struct sqlpack_audit_group *group, bool is_suffix)
{
    if (group->name[0])
        return group->name;
    return is_suffix ? "(none)" : ".";
}

struct audit_sentence audit_reason(const struct sqlpack_audit_options *options,
                                   const struct sqlpack_audit_result *result)
{
    struct audit_sentence sentence;
    const struct text size = text_bytes(result->page_bytes);
    if (options->page_bytes > SQLPACK_PAGE_MIN)
        snprintf(sentence.text, sizeof(sentence.text), "%s, as asked for", size.text);
    else if (options->page_bytes == SQLPACK_PAGE_MIN)
        snprintf(sentence.text, sizeof(sentence.text), "%s, for the smallest pack of all",
                 size.text);
    else
        snprintf(sentence.text, sizeof(sentence.text),
                 "%s, for the smallest pack of 1K to 16K that is read fast", size.text);
    return sentence;
}

/* -- caveats --------------------------------------------------------------------------------- */

static const struct {
    const char *file_system, *text;
} caveats[] = {
    {"ext4", "ext4 keeps its inode tables: freed inodes give no bytes back."},
    {"xfs", "xfs gives inodes back by chunks of 64, which is not counted in blocks: more may come "
            "back. Blocks that are shared (reflinks) stay until the last file that has them goes."},
    {"btrfs", "btrfs keeps files of up to 2 KiB, names and inodes in metadata that no file's "
              "blocks tell of, and what a snapshot or a reflink shares stays: take the upper end "
              "for a bound. A compressed file counts with its full size."},
    {"zfs", "zfs tells blocks after compression and only some seconds after a write, and what a "
            "snapshot has stays: an upper bound."},
    {"tmpfs", "tmpfs is memory: its blocks are pages, and inodes come on top of them."},
    {"overlayfs", "overlayfs: deleting what a lower layer holds frees nothing, and hides it with "
                  "one more entry. Audit the layer itself."},
    {"squashfs", "squashfs is read-only: nothing can be freed in it. Its blocks are not told."},
    {"nfs", "nfs: the server tells the blocks, and may not know them. Audit on the server to be "
            "sure."},
    {"fuse", "fuse: the blocks are what the program behind the file system says."},
};

static const char *caveat_of_system(const char *file_system)
{
    for (size_t i = 0; i < sizeof(caveats) / sizeof(caveats[0]); i++)
        if (strcmp(caveats[i].file_system, file_system) == 0)
            return caveats[i].text;
    return "How this file system accounts for small files is not known here: the range is wide.";
}

static const char *tell_losses(const struct sqlpack_audit_result *result,
                               struct audit_sentence *room)
{
    if (result->loss_count == 0)
        return NULL;
    snprintf(room->text, sizeof(room->text),
             "%s could not be read, so all figures are lower bounds.",
             text_count(result->loss_count).text);
    return room->text;
}

static const char *tell_outside(const struct sqlpack_audit_result *result,
                                struct audit_sentence *room)
{
    if (result->outside_count == 0)
        return NULL;
    snprintf(room->text, sizeof(room->text),
             "%s hard linked files have names outside the tree: their %s stay on disk.",
             text_count(result->outside_count).text,
             text_bytes(result->outside_allocated_bytes).text);
    return room->text;
}

static const char *tell_stay(const struct sqlpack_audit_result *result, struct audit_sentence *room)
{
    if (result->stay_count == 0)
        return NULL;
    snprintf(room->text, sizeof(room->text),
             "The %s files above %s gain little: packing them saves %s of %s. --max-file leaves "
             "them where they are.",
             text_count(result->stay_count).text, text_bytes(result->stay_bytes).text,
             audit_signed(result->stay_saved_bytes).text,
             text_bytes(result->stay_content_bytes).text);
    return room->text;
}

static const char *tell_wide(const struct sqlpack_audit_result *result, struct audit_sentence *room)
{
    if (result->wide_count == 0 || result->wide[0].file_count <= 5000000)
        return NULL;
    snprintf(room->text, sizeof(room->text),
             "A folder has %s names. ext4 without large_dir takes some ten million, then every "
             "new name fails.",
             text_count(result->wide[0].file_count).text);
    return room->text;
}

static const char *tell_free(const struct sqlpack_audit_result *result, struct audit_sentence *room)
{
    if (result->peak_bytes <= result->free_bytes)
        return NULL;
    snprintf(room->text, sizeof(room->text),
             "The pack needs up to %s while the tree is still there, and only %s are free here.",
             text_bytes(result->peak_bytes).text, text_bytes(result->free_bytes).text);
    return room->text;
}

/* In this order. */
static const char *(*const tellers[])(const struct sqlpack_audit_result *,
                                      struct audit_sentence *) = {tell_losses, tell_outside,
                                                                  tell_free, tell_stay, tell_wide};

const char *audit_caveat(const struct sqlpack_audit_options *options,
                         const struct sqlpack_audit_result *result, size_t i,
                         struct audit_sentence *ret_room)
{
    for (size_t k = 0; k < sizeof(tellers) / sizeof(tellers[0]); k++) {
        const char *text = tellers[k](result, ret_room);
        if (text && i-- == 0)
            return text;
    }
    if (i-- == 0)
        return caveat_of_system(result->file_system);
    if (options->level != SQLPACK_STORE && i == 0 && result->sample_count < result->file_count)
        return "What compression gives is estimated from a sample; --sample 100% reads everything.";
    return NULL;
}

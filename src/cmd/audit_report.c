/* SPDX-License-Identifier: MIT */
/* The report of audit on a tree: from the same calls as text for a person and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/audit.h"
#include "util/auto.h"
#include "util/buf.h"

#define BAR_COLUMNS  20
#define LINE_COLUMNS 79

/* Bytes, and for a person what share of a whole they are. */
static void share(struct out *out, const char *key, const char *label, uint64_t bytes,
                  uint64_t whole)
{
    char text[128];
    out_bytes(out, key, NULL, bytes);
    if (!label)
        return;
    snprintf(text, sizeof(text), "%-10s %6s", text_bytes(bytes).text,
             text_percent(audit_percent((double)bytes, (double)whole)).text);
    out_text(out, NULL, label, text);
}

static void bar(struct out *out, uint64_t value, uint64_t largest)
{
    char text[BAR_COLUMNS + 1];
    size_t columns = largest ? (size_t)((double)value / (double)largest * BAR_COLUMNS + 0.5) : 0;
    memset(text, '#', sizeof(text) - 1);
    text[columns < BAR_COLUMNS ? columns : BAR_COLUMNS] = '\0';
    out_text(out, NULL, "", columns == 0 && value > 0 ? "-" : text);
}

/* -- what is there --------------------------------------------------------------------------- */

static void report_counts(struct out *out, const struct sqlpack_audit_result *result)
{
    out_count(out, "file_count", "files", result->file_count);
    out_count(out, "folder_count", "folders", result->folder_count);
    out_some(out, "symlink_count", "symlinks", result->symlink_count);
    out_some(out, "special_count", "special files", result->special_count);
    out_some(out, "socket_count", "sockets", result->socket_count);
    out_some(out, "hard_link_count", "hard links", result->hard_link_count);
    out_some(out, "skipped_count", "too large", result->skipped_count);
    out_bytes(out, "skipped_bytes", NULL, result->skipped_bytes);
    out_some(out, "loss_count", "losses", result->loss_count);
    out_count(out, "entry_count", NULL, result->entry_count);
    out_count(out, "inode_count", NULL, result->inode_count);
    out_count(out, "empty_count", NULL, result->empty_count);
    char text[200];
    snprintf(text, sizeof(text), "%s median, %s at 90%%, %s at 99%%",
             text_bytes(result->size_median).text, text_bytes(result->size_p90).text,
             text_bytes(result->size_p99).text);
    out_text(out, NULL, result->file_count ? "file size" : NULL, text);
    out_bytes(out, "size_median", NULL, result->size_median);
    out_bytes(out, "size_p90", NULL, result->size_p90);
    out_bytes(out, "size_p99", NULL, result->size_p99);
}

static void report_blocks(struct out *out, const struct sqlpack_audit_result *result)
{
    uint64_t tree = result->tree_allocated_bytes;
    out_bytes(out, "content_bytes", "content", result->content_bytes);
    out_bytes(out, "tree_allocated_bytes", "tree on disk", tree);
    out_bytes(out, "file_allocated_bytes", NULL, result->file_allocated_bytes);
    share(out, "padding_bytes", "  padding", result->padding_bytes, tree);
    share(out, "folder_allocated_bytes", "  folders", result->folder_allocated_bytes, tree);
    out_some(out, "hole_count", "files with holes", result->hole_count);
    out_bytes(out, "hole_bytes", result->hole_bytes ? "  holes" : NULL, result->hole_bytes);
    out_some(out, "thin_count", "compressed, unwritten", result->thin_count);
    out_bytes(out, "thin_bytes", result->thin_bytes ? "  saved by that" : NULL, result->thin_bytes);
    out_some(out, "inline_count", "in their inodes", result->inline_count);
    out_bytes(out, "inline_bytes", result->inline_bytes ? "  blocks not there" : NULL,
              result->inline_bytes);
    out_some(out, "outside_count", "linked outside", result->outside_count);
    out_bytes(out, "outside_allocated_bytes", result->outside_count ? "  stays on disk" : NULL,
              result->outside_allocated_bytes);
}

static void report_system(struct out *out, const struct sqlpack_audit_result *result)
{
    char text[160];
    snprintf(text, sizeof(text), "%s, blocks of %s",
             result->file_system[0] ? result->file_system : "unknown",
             text_bytes(result->block_bytes).text);
    out_text(out, NULL, "file system", text);
    out_text(out, "file_system", NULL, result->file_system);
    out_bytes(out, "block_bytes", NULL, result->block_bytes);
    out_count(out, "inode_total", NULL, result->inode_total);
    out_count(out, "inode_free", NULL, result->inode_free);
    out_bytes(out, "free_bytes", NULL, result->free_bytes);
    snprintf(text, sizeof(text), "%s of %s, %s free", text_count(result->inode_count).text,
             text_count(result->inode_total).text, text_count(result->inode_free).text);
    out_text(out, NULL, result->inode_total ? "inodes" : NULL, text);
}

/* -- what a pack would be -------------------------------------------------------------------- */

static void report_pack(struct out *out, const struct sqlpack_audit_options *options,
                        const struct sqlpack_audit_result *result)
{
    char text[200];
    const struct sqlpack_audit_page *page = audit_chosen(result);
    bool is_exact = options->level == SQLPACK_STORE;
    int at = snprintf(text, sizeof(text), "%s", text_bytes(result->pack_bytes).text);
    if (is_exact)
        snprintf(text + at, sizeof(text) - (size_t)at, ", stored as it is");
    else
        snprintf(text + at, sizeof(text) - (size_t)at, " +- %s, of %s files read",
                 text_bytes(page->error_bytes).text, text_count(result->sample_count).text);
    out_text(out, NULL, "as a pack", text);
    out_bytes(out, "pack_bytes", NULL, result->pack_bytes);
    out_bytes(out, "pack_allocated_bytes", NULL, result->pack_allocated_bytes);
    out_bytes(out, "stored_bytes", NULL, result->stored_bytes);
    out_count(out, "sample_count", NULL, result->sample_count);
    out_bytes(out, "sample_bytes", NULL, result->sample_bytes);
    out_text(out, NULL, "page size", audit_reason(options, result).text);
    out_bytes(out, "page_bytes", NULL, result->page_bytes);
}

static void report_freed(struct out *out, const struct sqlpack_audit_result *result)
{
    char text[200];
    double tree = (double)result->tree_allocated_bytes;
    double low = audit_percent((double)result->freed_low, tree);
    double high = audit_percent((double)result->freed_high, tree);
    if (result->freed_low == result->freed_high)
        snprintf(text, sizeof(text), "%s (%s)", audit_signed(result->freed_low).text,
                 text_percent(low).text);
    else
        snprintf(text, sizeof(text), "%s to %s (%s to %s)", audit_signed(result->freed_low).text,
                 audit_signed(result->freed_high).text, text_percent(low).text,
                 text_percent(high).text);
    out_text(out, NULL, "saved", text);
    out_number(out, "freed_low", NULL, result->freed_low);
    out_number(out, "freed_high", NULL, result->freed_high);
    out_count(out, "freed_inode_count", "inodes freed", result->freed_inode_count);
    out_bytes(out, "peak_bytes", "needed meanwhile", result->peak_bytes);
    out_bytes(out, "stay_bytes", NULL, result->stay_bytes);
    out_count(out, "stay_count", NULL, result->stay_count);
    out_bytes(out, "stay_content_bytes", NULL, result->stay_content_bytes);
    out_number(out, "stay_saved_bytes", NULL, result->stay_saved_bytes);
}

static void report_tried(struct out *out, const struct sqlpack_audit_options *options,
                         const struct sqlpack_audit_result *result)
{
    char text[200];
    if (!options->verify_freed)
        return;
    bool is_inside =
        result->tried_bytes >= result->tried_low && result->tried_bytes <= result->tried_high;
    snprintf(text, sizeof(text), "%s, %s of the forecast", audit_signed(result->tried_bytes).text,
             is_inside ? "within the range" : "outside the range");
    out_text(out, NULL, "freed by a copy", text);
    out_number(out, "tried_bytes", NULL, result->tried_bytes);
    out_number(out, "tried_low", NULL, result->tried_low);
    out_number(out, "tried_high", NULL, result->tried_high);
}

/* -- tables ---------------------------------------------------------------------------------- */

static void report_pages(struct out *out, const struct sqlpack_audit_result *result)
{
    out_table_begin(out, "pages", "\npage sizes: the pack, and what a read of one file takes");
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        const struct sqlpack_audit_page *page = &result->pages[i];
        int64_t saved = (int64_t)(result->tree_allocated_bytes - page->pack_bytes);
        out_row_begin(out);
        out_bytes(out, "page_bytes", "pages of", page->page_bytes);
        out_bytes(out, "raw_bytes", NULL, page->raw_bytes);
        out_bytes(out, "pack_bytes", "pack", page->pack_bytes);
        out_bytes(out, "error_bytes", NULL, page->error_bytes);
        out_figure(
            out, "saved",
            text_percent(audit_percent((double)saved, (double)result->tree_allocated_bytes)).text);
        out_real(out, "read_pages", "pages", page->read_pages, out->json ? 3 : 1);
        out_count(out, "read_pages_p99", "at 99%", page->read_pages_p99);
        out_real(out, "read_us", "us", page->read_us, 1);
        out_real(out, "mmap_us", "us mmap", page->mmap_us, 1);
        out_text(out, NULL, "", page->page_bytes == result->page_bytes ? "chosen" : "");
        out_row_end(out);
    }
    out_table_end(out);
}

static void report_classes(struct out *out, const struct sqlpack_audit_result *result)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++)
        if (result->classes[i].padding_bytes > largest)
            largest = result->classes[i].padding_bytes;
    out_table_begin(out, "classes", "\nsizes of files, and where the padding is");
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++) {
        const struct sqlpack_audit_class *class = &result->classes[i];
        if (!out->json && class->file_count == 0)
            continue;
        out_row_begin(out);
        out_figure(out, "size", audit_class(class).text);
        if (class->max_bytes == UINT64_MAX)
            out_real(out, "max_bytes", NULL, INFINITY, 0);
        else
            out_bytes(out, "max_bytes", NULL, class->max_bytes);
        out_count(out, "file_count", "files", class->file_count);
        out_bytes(out, "content_bytes", "content", class->content_bytes);
        out_bytes(out, "allocated_bytes", NULL, class->allocated_bytes);
        out_bytes(out, "packed_bytes", "in a pack", class->packed_bytes);
        out_bytes(out, "padding_bytes", "padding", class->padding_bytes);
        bar(out, class->padding_bytes, largest);
        out_row_end(out);
    }
    out_table_end(out);
}

static void report_groups(struct out *out, const char *key, const char *title,
                          const struct sqlpack_audit_group *groups, size_t count, bool is_suffix)
{
    if (!out->json && count == 0)
        return;
    out_table_begin(out, key, title);
    for (size_t i = 0; i < count; i++) {
        out_row_begin(out);
        out_name(out, "name", NULL, groups[i].name);
        out_count(out, "file_count", "files", groups[i].file_count);
        out_bytes(out, "content_bytes", "content", groups[i].content_bytes);
        out_bytes(out, "allocated_bytes", NULL, groups[i].allocated_bytes);
        out_bytes(out, "padding_bytes", "padding", groups[i].padding_bytes);
        bar(out, groups[i].padding_bytes, groups[0].padding_bytes);
        out_name(out, NULL, is_suffix ? "suffix" : "folder",
                 audit_group_name(&groups[i], is_suffix));
        out_row_end(out);
    }
    out_table_end(out);
}

static void report_what_if(struct out *out, const struct sqlpack_audit_result *result)
{
    if (!out->json && result->block_count == 0)
        return;
    out_table_begin(out, "blocks", "\nthe same tree on file systems of other blocks");
    for (size_t i = 0; i < result->block_count; i++) {
        const struct sqlpack_audit_blocks *blocks = &result->blocks[i];
        int64_t saved = (int64_t)(blocks->tree_bytes - blocks->pack_bytes);
        out_row_begin(out);
        out_bytes(out, "block_bytes", "blocks of", blocks->block_bytes);
        out_bytes(out, "tree_bytes", "tree", blocks->tree_bytes);
        out_bytes(out, "pack_bytes", "pack", blocks->pack_bytes);
        out_figure(out, "saved", audit_signed(saved).text);
        out_figure(out, "",
                   text_percent(audit_percent((double)saved, (double)blocks->tree_bytes)).text);
        out_row_end(out);
    }
    out_table_end(out);
}

static void report_wide(struct out *out, const struct sqlpack_audit_result *result)
{
    if (!out->json && result->wide_count == 0)
        return;
    out_table_begin(out, "wide", "\nfolders with more than 100,000 names");
    for (size_t i = 0; i < result->wide_count; i++) {
        out_row_begin(out);
        out_name(out, "name", NULL, result->wide[i].name);
        out_count(out, "file_count", "names", result->wide[i].file_count);
        out_name(out, NULL, "folder", audit_group_name(&result->wide[i], false));
        out_row_end(out);
    }
    out_table_end(out);
}

static void report_duplicates(struct out *out, const struct sqlpack_audit_options *options,
                              const struct sqlpack_audit_result *result)
{
    char title[200];
    if (!options->duplicates)
        return;
    out_count(out, "duplicate_count", NULL, result->duplicate_count);
    out_bytes(out, "duplicate_content_bytes", NULL, result->duplicate_content_bytes);
    out_bytes(out, "duplicate_allocated_bytes", NULL, result->duplicate_allocated_bytes);
    snprintf(title, sizeof(title), "\ncontents that are there again: %s copies, %s on disk",
             text_count(result->duplicate_count).text,
             text_bytes(result->duplicate_allocated_bytes).text);
    out_table_begin(out, "duplicates", title);
    for (size_t i = 0; i < result->duplicate_count_listed; i++) {
        const struct sqlpack_audit_group *group = &result->duplicates[i];
        out_row_begin(out);
        out_name(out, "name", NULL, group->name);
        out_count(out, "file_count", "files", group->file_count);
        out_bytes(out, "content_bytes", "copies", group->content_bytes);
        out_bytes(out, "allocated_bytes", "on disk", group->allocated_bytes);
        out_name(out, NULL, "the first of them", group->name);
        out_row_end(out);
    }
    out_table_end(out);
}

/* -- caveats --------------------------------------------------------------------------------- */

/* Prints a sentence as lines that fit a terminal. */
static void print_wrapped(struct out *out, const char *text)
{
    const char *indent = "- ";
    while (*text) {
        size_t size = strlen(text), room = LINE_COLUMNS - 2;
        if (size > room) {
            size = room;
            while (size > 1 && text[size] != ' ')
                size--;
        }
        fprintf(out->file, "%s%.*s\n", indent, (int)size, text);
        indent = "  ";
        text += size;
        text += *text == ' ';
    }
}

static void report_caveats(struct out *out, const struct sqlpack_audit_options *options,
                           const struct sqlpack_audit_result *result)
{
    struct audit_sentence room;
    const char *text;
    if (out->json)
        out_list_begin(out, "caveats");
    else
        fprintf(out->file, "\n");
    for (size_t i = 0; (text = audit_caveat(options, result, i, &room)) != NULL; i++) {
        if (out->json)
            out_text(out, "", NULL, text);
        else
            print_wrapped(out, text);
    }
    if (out->json)
        out_list_end(out);
}

void audit_report(struct out *out, const struct sqlpack_audit_options *options,
                  const struct sqlpack_audit_result *result)
{
    out_begin(out);
    report_counts(out, result);
    report_system(out, result);
    report_blocks(out, result);
    report_pack(out, options, result);
    report_freed(out, result);
    report_tried(out, options, result);
    report_classes(out, result);
    report_groups(out, "folders", "\nfolders of most padding, by the files right in them",
                  result->folders, result->folder_count_listed, false);
    report_groups(out, "suffixes", "\nsuffixes of most padding", result->suffixes,
                  result->suffix_count_listed, true);
    report_pages(out, result);
    report_what_if(out, result);
    report_wide(out, result);
    report_duplicates(out, options, result);
    report_caveats(out, options, result);
    out_end(out);
}

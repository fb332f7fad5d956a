/* SPDX-License-Identifier: MIT */
/* The report of audit on a tree as a page: the same figures, with bars and curves. */
#include <math.h>
#include <stdio.h>

#include "cli/html.h"
#include "cmd/audit.h"
#include "util/auto.h"
#include "util/buf.h"
#include "util/path.h"

#define BARS_MAX 20

/* A name as a person may see it. */
struct shown_name {
    char text[400];
};
static struct shown_name show_name(const char *name)
{
    struct shown_name shown = {"?"};
    auto_release(buf_release) struct buf buf = {0};
    if (path_escape(&buf, name) == 0 && buf_terminate(&buf) == 0)
        snprintf(shown.text, sizeof(shown.text), "%s", buf.data);
    return shown;
}

static void tiles(struct html *html, const struct sqlpack_audit_result *result)
{
    char text[200];
    double tree = (double)result->tree_allocated_bytes;
    html_tiles_begin(html);
    html_tile(html, text_bytes(result->tree_allocated_bytes).text, "on disk now");
    html_tile(html, text_bytes(result->pack_allocated_bytes).text, "as a pack");
    if (result->freed_low == result->freed_high)
        snprintf(text, sizeof(text), "saved (%s)",
                 text_percent(audit_percent((double)result->freed_low, tree)).text);
    else
        snprintf(text, sizeof(text), "saved at least, up to %s (%s to %s)",
                 audit_signed(result->freed_high).text,
                 text_percent(audit_percent((double)result->freed_low, tree)).text,
                 text_percent(audit_percent((double)result->freed_high, tree)).text);
    html_tile(html, audit_signed(result->freed_low).text, text);
    html_tile(html, text_count(result->freed_inode_count).text, "inodes freed");
    html_tile(html, text_count(result->file_count).text, "files");
    html_tile(html, text_bytes(result->padding_bytes).text, "padding");
    html_tiles_end(html);
}

/* -- where the space goes -------------------------------------------------------------------- */

static void whole(struct html *html, const struct sqlpack_audit_result *result)
{
    uint64_t others = result->tree_allocated_bytes - result->file_allocated_bytes;
    const struct text tree = text_bytes(result->tree_allocated_bytes),
                      pack = text_bytes(result->pack_bytes);
    const struct html_bar bars[] = {
        {"as files",
         tree.text,
         {(double)(result->file_allocated_bytes - result->padding_bytes),
          (double)result->padding_bytes, (double)others}},
        {"as a pack",
         pack.text,
         {(double)result->stored_bytes, 0,
          result->pack_bytes > result->stored_bytes
              ? (double)(result->pack_bytes - result->stored_bytes)
              : 0}},
    };
    html_heading(html, "The whole");
    html_bars(html, &(struct html_bars){.parts = {"content", "padding", "folders, names, metadata"},
                                        .bars = bars,
                                        .count = 2});
}

static void classes(struct html *html, const struct sqlpack_audit_result *result)
{
    struct html_bar bars[SQLPACK_AUDIT_CLASSES];
    struct text labels[SQLPACK_AUDIT_CLASSES], values[SQLPACK_AUDIT_CLASSES] = {{""}};
    size_t count = 0;
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++) {
        const struct sqlpack_audit_class *class = &result->classes[i];
        if (class->file_count == 0)
            continue;
        labels[count] = audit_class(class);
        snprintf(values[count].text, sizeof(values[count].text), "%.24s %s",
                 text_count(class->file_count).text, class->file_count == 1 ? "file" : "files");
        bars[count] = (struct html_bar){labels[count].text,
                                        values[count].text,
                                        {(double)(class->allocated_bytes - class->padding_bytes),
                                         (double)class->padding_bytes}};
        count++;
    }
    html_heading(html, "Sizes of files");
    html_bars(html,
              &(struct html_bars){.parts = {"content", "padding"}, .bars = bars, .count = count});
}

static void groups(struct html *html, const char *heading, const struct sqlpack_audit_group *groups,
                   size_t count, bool is_suffix)
{
    struct html_bar bars[BARS_MAX];
    struct shown_name labels[BARS_MAX];
    struct text values[BARS_MAX];
    if (count > BARS_MAX)
        count = BARS_MAX;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        labels[i] = show_name(audit_group_name(&groups[i], is_suffix));
        values[i] = text_bytes(groups[i].padding_bytes);
        bars[i] = (struct html_bar){labels[i].text,
                                    values[i].text,
                                    {(double)(groups[i].allocated_bytes - groups[i].padding_bytes),
                                     (double)groups[i].padding_bytes}};
    }
    html_heading(html, heading);
    html_bars(html,
              &(struct html_bars){.parts = {"content", "padding"}, .bars = bars, .count = count});
}

/* -- page sizes ------------------------------------------------------------------------------ */

static void format_page(double value, char *text, size_t size)
{
    if (value < 1024)
        snprintf(text, size, "%.0f", value);
    else
        snprintf(text, size, "%.0fK", value / 1024);
}

static void format_bytes(double value, char *text, size_t size)
{
    snprintf(text, size, "%s", text_bytes(value > 0 ? (uint64_t)value : 0).text);
}

static void page_curves(struct html *html, const struct sqlpack_audit_result *result)
{
    double x[SQLPACK_PAGE_SIZES], pack[SQLPACK_PAGE_SIZES], pages[SQLPACK_PAGE_SIZES];
    double most_pack = 0, most_pages = 0;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        x[i] = result->pages[i].page_bytes;
        pack[i] = (double)result->pages[i].pack_bytes;
        pages[i] = result->pages[i].read_pages;
        most_pack = fmax(most_pack, pack[i]);
        most_pages = fmax(most_pages, pages[i]);
    }
    const struct html_axis sizes = {
        .label = "bytes of a page", .is_log = true, .base = 2, .format = format_page};
    const struct html_series space = {"size of the pack", x, pack, SQLPACK_PAGE_SIZES, true};
    const struct html_series reads = {"pages to read a file, on the mean", x, pages,
                                      SQLPACK_PAGE_SIZES, true};
    html_plot(
        html,
        &(struct html_plot){
            .title = "size of the pack by page size",
            .x = sizes,
            .y = {.label = "pack", .base = 2, .high = 1.1 * most_pack, .format = format_bytes},
            .series = &space,
            .count = 1,
            .y_mark = NAN});
    html_plot(html, &(struct html_plot){.title = "pages a read by page size",
                                        .x = sizes,
                                        .y = {.label = "pages", .high = 1.1 * most_pages},
                                        .series = &reads,
                                        .count = 1,
                                        .y_mark = NAN});
}

static void page_table(struct html *html, const struct sqlpack_audit_result *result)
{
    static const char *const heads[] = {"pages of", "pack",      "pages a read",
                                        "at 99%",   "us by SQL", "us with mmap"};
    html_table_begin(html, heads, 6);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        const struct sqlpack_audit_page *page = &result->pages[i];
        const struct text size = text_bytes(page->page_bytes), pack = text_bytes(page->pack_bytes),
                          p99 = text_count(page->read_pages_p99);
        struct text pages, us = {"-"}, mmap;
        snprintf(pages.text, sizeof(pages.text), "%.1f", page->read_pages);
        snprintf(mmap.text, sizeof(mmap.text), "%.1f", page->mmap_us);
        if (isfinite(page->read_us))
            snprintf(us.text, sizeof(us.text), "%.1f", page->read_us);
        const char *const cells[] = {size.text, pack.text, pages.text,
                                     p99.text,  us.text,   mmap.text};
        html_row(html, cells, 6, page->page_bytes == result->page_bytes);
    }
    html_table_end(html);
}

static void what_if(struct html *html, const struct sqlpack_audit_result *result)
{
    static const char *const heads[] = {"blocks of", "tree", "pack", "saved", ""};
    if (result->block_count == 0)
        return;
    html_heading(html, "On file systems of other blocks");
    html_table_begin(html, heads, 5);
    for (size_t i = 0; i < result->block_count; i++) {
        const struct sqlpack_audit_blocks *blocks = &result->blocks[i];
        int64_t saved = (int64_t)(blocks->tree_bytes - blocks->pack_bytes);
        const struct text size = text_bytes(blocks->block_bytes),
                          tree = text_bytes(blocks->tree_bytes),
                          pack = text_bytes(blocks->pack_bytes), freed = audit_signed(saved),
                          share = text_percent(
                              audit_percent((double)saved, (double)blocks->tree_bytes));
        const char *const cells[] = {size.text, tree.text, pack.text, freed.text, share.text};
        html_row(html, cells, 5, blocks->block_bytes == result->block_bytes);
    }
    html_table_end(html);
}

static void duplicates(struct html *html, const struct sqlpack_audit_result *result)
{
    static const char *const heads[] = {"the first of them", "files", "copies", "on disk"};
    if (result->duplicate_count_listed == 0)
        return;
    html_heading(html, "Contents that are there again");
    html_table_begin(html, heads, 4);
    for (size_t i = 0; i < result->duplicate_count_listed; i++) {
        const struct sqlpack_audit_group *group = &result->duplicates[i];
        const struct shown_name name = show_name(group->name);
        const struct text files = text_count(group->file_count),
                          content = text_bytes(group->content_bytes),
                          disk = text_bytes(group->allocated_bytes);
        const char *const cells[] = {name.text, files.text, content.text, disk.text};
        html_row(html, cells, 4, false);
    }
    html_table_end(html);
}

static void caveats(struct html *html, const struct sqlpack_audit_options *options,
                    const struct sqlpack_audit_result *result)
{
    struct audit_sentence room;
    const char *text;
    html_heading(html, "What to know");
    for (size_t i = 0; (text = audit_caveat(options, result, i, &room)) != NULL; i++)
        html_text(html, text);
}

int audit_html(const char *path, const char *dir, const struct sqlpack_audit_options *options,
               const struct sqlpack_audit_result *result)
{
    auto_release(html_release) struct html html = {0};
    char title[500], lead[300];
    snprintf(title, sizeof(title), "%s, and a pack of it", show_name(dir).text);
    snprintf(lead, sizeof(lead), "%s files with %s of content on %s, blocks of %s",
             text_count(result->file_count).text, text_bytes(result->content_bytes).text,
             result->file_system[0] ? result->file_system : "an unknown file system",
             text_bytes(result->block_bytes).text);
    html_begin(&html, title, lead);
    tiles(&html, result);
    whole(&html, result);
    classes(&html, result);
    groups(&html, "Folders of most padding", result->folders, result->folder_count_listed, false);
    groups(&html, "Suffixes of most padding", result->suffixes, result->suffix_count_listed, true);
    html_heading(&html, "Page sizes of the pack");
    html_text(&html, audit_reason(options, result).text);
    page_curves(&html, result);
    page_table(&html, result);
    what_if(&html, result);
    duplicates(&html, result);
    caveats(&html, options, result);
    return html_write(&html, path);
}

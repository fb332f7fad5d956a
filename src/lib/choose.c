/* SPDX-License-Identifier: MIT */
/* Chooses the page size from a sample of the tree: small packs, but no slow reads. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/pack.h"

/*
 * What a read by SQL without mmap costs, measured with warm caches: so much for
 * the look-up, for each page, for each KB.
 */
#define READ_US 2.0
#define PAGE_US 0.7
#define KB_US   0.15

/* The same with mmap: a page is no system call, but still a step along the chain. */
#define MMAP_READ_US 3.0
#define MMAP_PAGE_US 0.06

#define READ_SLACK 1.5 /* a read may take so many times that of the fastest page size */

/* Overflow pages are found one through the other; from a cold disk each is a wait. */
#define READ_PAGES_MAX 3.0

/* The automatic choice stays within what other programs expect. */
#define AUTO_PAGE_MIN ((uint32_t)1024)
#define AUTO_PAGE_MAX ((uint32_t)16384)

#define SAMPLE_ENTRIES ((size_t)512)
#define SAMPLE_FOLDERS ((size_t)32)      /* of those in one folder, as many are looked into */
#define SAMPLE_BYTES   ((size_t)2 << 20) /* so much content is compressed */
#define ROWS_MIN       ((size_t)8192)    /* the sample is laid out again and again up to so many */

/* An entry of the sample, as far as it decides about pages. */
struct sampled {
    size_t name_bytes;
    bool is_file;
    uint64_t sz, stored_bytes;
};

struct tree_sample {
    const struct packer *packer;
    struct sampled *entries;
    size_t count;
    bool is_part; /* the tree has more entries than these */
    struct buf content;
    struct codec *codec;
    uint64_t bytes, stored_bytes; /* of the files that were compressed */
};

/* -- taking the sample -- */

/* How many bytes a file takes as stored: measured while the budget lasts, then in proportion. */
static uint64_t stored_bytes(struct tree_sample *sample, int fd, uint64_t size)
{
    if (size == 0 || sample->packer->level == 0)
        return size;
    if (sample->bytes >= SAMPLE_BYTES)
        return (uint64_t)((double)size * (double)sample->stored_bytes / (double)sample->bytes);
    size_t part = size < (size_t)256 << 10 ? (size_t)size : (size_t)256 << 10;
    if (buf_reserve(&sample->content, part) < 0)
        return size;
    ssize_t n = file_read(fd, sample->content.data, part);
    if (n <= 0)
        return size;
    const void *stream;
    size_t stored = codec_compress(sample->codec, sample->content.data, (size_t)n, &stream);
    if (stored == 0)
        stored = (size_t)n;
    sample->bytes += (uint64_t)n;
    sample->stored_bytes += stored;
    return (uint64_t)((double)size * (double)stored / (double)n);
}

static void add_entry(struct tree_sample *sample, int folder, const char *leaf, size_t name_bytes,
                      unsigned char type)
{
    struct sampled entry = {.name_bytes = name_bytes};
    if (type == DT_REG) {
        struct stat stat;
        auto_close int fd = file_open_quietly(
            folder, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, &stat);
        if (fd < 0 || !S_ISREG(stat.st_mode))
            return;
        entry.is_file = true;
        entry.sz = (uint64_t)stat.st_size;
        if (sample->packer->options->max_file_bytes &&
            entry.sz > sample->packer->options->max_file_bytes)
            return;
        entry.stored_bytes = stored_bytes(sample, fd, entry.sz);
        uint64_t allocated = (uint64_t)stat.st_blocks * 512;
        if (entry.stored_bytes > ROW_CONTENT_MAX || entry.stored_bytes > 2 * allocated + 4096)
            entry.stored_bytes = 0; /* it goes to sqlpack_chunk, whatever the page size */
    }
    sample->entries[sample->count++] = entry;
}

static bool is_way_down(const struct listing *listing, size_t i)
{
    const char *text = listing_text(listing, i);
    return text[strlen(text) - 1] == '/';
}

static void sample_folder(struct tree_sample *sample, int fd, const struct listing *listing,
                          size_t name_bytes, size_t budget, unsigned depth);

static void look_into(struct tree_sample *sample, int folder, const char *leaf, size_t name_bytes,
                      size_t budget, unsigned depth)
{
    auto_release(listing_release) struct listing listing = {0};
    struct stat stat;
    auto_close int fd =
        file_open_quietly(folder, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, &stat);
    if (fd >= 0 && listing_read(fd, &listing) == 0)
        sample_folder(sample, fd, &listing, name_bytes, budget, depth);
}

/*
 * Takes entries of a folder at even distances, and goes into some of its folders
 * with what then remains of the budget. The names decide, so that a copy of the
 * tree gives the same sample.
 */
static void sample_folder(struct tree_sample *sample, int fd, const struct listing *listing,
                          size_t name_bytes, size_t budget, unsigned depth)
{
    size_t folders = 0, entries = 0, seen_folders = 0, seen_entries = 0;
    for (size_t i = 0; i < listing->count; i++)
        folders += is_way_down(listing, i);
    entries = listing->count - folders;
    size_t look = depth > 20 ? 0 : folders < SAMPLE_FOLDERS ? folders : SAMPLE_FOLDERS;
    size_t take = look ? budget / 2 : budget;
    if (take > entries)
        take = entries;
    if (take < entries || look < folders)
        sample->is_part = true;
    size_t each = look ? (budget - take + look - 1) / look : 0;
    for (size_t i = 0; i < listing->count && sample->count < SAMPLE_ENTRIES; i++) {
        const char *text = listing_text(listing, i);
        size_t size = name_bytes + (name_bytes > 0) + strlen(text);
        if (!is_way_down(listing, i)) {
            if (seen_entries * take / entries != (seen_entries + 1) * take / entries)
                add_entry(sample, fd, text, size, listing_type(listing, i));
            seen_entries++;
        } else {
            if (each && seen_folders * look / folders != (seen_folders + 1) * look / folders)
                look_into(sample, fd, text, size - 1, each, depth + 1);
            seen_folders++;
        }
    }
}

/* -- laying it out -- */

/* Counts the rows of one entry. */
static int count_entry(struct forecast *forecast, const struct sampled *entry, int64_t id,
                       struct sqlpack_error *err)
{
    /* a row of sqlpack_stat and the fixed part of the others, as they usually are */
    const uint64_t stat_bytes = 62, name_bytes = entry->name_bytes + 7,
                   sqlar_bytes = entry->name_bytes + 18 + entry->stored_bytes;
    if (forecast_row(forecast, TABLE_SQLAR_NAME, 0, name_bytes, NULL, err) < 0 ||
        forecast_row(forecast, TABLE_STAT, id, stat_bytes, NULL, err) < 0)
        return -1;
    return forecast_row(forecast, TABLE_SQLAR, id, sqlar_bytes, NULL, err);
}

/* How many pages `count` entries take, beginning again with the first as often as needed. */
static int count_pages(const struct tree_sample *sample, size_t count,
                       uint64_t ret_pages[SQLPACK_PAGE_SIZES], struct sqlpack_error *err)
{
    struct forecast *forecast = NULL;
    int result = forecast_open(&forecast, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = count_entry(forecast, &sample->entries[i % sample->count], (int64_t)i + 1, err);
    if (result == 0)
        result = forecast_finish(forecast, ret_pages, err);
    forecast_close(forecast);
    return result;
}

/*
 * What an entry takes: of a whole tree by dividing the pack; of a part of one by
 * laying the part out many times, so that what every pack has does not count.
 */
static int measure(const struct tree_sample *sample, struct sqlpack_page_choice *choices,
                   struct sqlpack_error *err)
{
    size_t rounds = sample->is_part ? (ROWS_MIN + sample->count - 1) / sample->count : 1;
    uint64_t pages[SQLPACK_PAGE_SIZES] = {0}, empty_pages[SQLPACK_PAGE_SIZES] = {0};
    if (count_pages(sample, rounds * sample->count, pages, err) < 0 ||
        (sample->is_part && count_pages(sample, 0, empty_pages, err) < 0))
        return -1;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        choices[i].entry_bytes = (double)((pages[i] - empty_pages[i]) * choices[i].page_bytes) /
                                 (double)(rounds * sample->count);
    return 0;
}

void choose_model_read(struct sqlpack_page_choice *choice, double read_pages, double stored_bytes)
{
    choice->read_pages = read_pages;
    choice->read_us = READ_US + PAGE_US * read_pages + KB_US * stored_bytes / 1024;
}

double choose_mmap_us(double read_pages, double stored_bytes)
{
    return MMAP_READ_US + MMAP_PAGE_US * read_pages + KB_US * stored_bytes / 1024;
}

/* How long it takes to read one of the sample's files. */
static void model_reads(const struct tree_sample *sample, struct sqlpack_page_choice *choice)
{
    uint32_t page_bytes = choice->page_bytes;
    double files = 0, pages = 0, stored = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const struct sampled *entry = &sample->entries[i];
        uint64_t payload = entry->name_bytes + 18 + entry->stored_bytes;
        uint32_t local = page_local_bytes(page_bytes, false, payload);
        if (!entry->is_file)
            continue;
        files++;
        pages += 1 + page_overflow_count(page_bytes, payload, local);
        stored += (double)entry->stored_bytes;
    }
    if (files > 0)
        choose_model_read(choice, pages / files, stored / files);
}

/* -- the rule -- */

static bool is_better(const struct sqlpack_page_choice *choice,
                      const struct sqlpack_page_choice *best)
{
    return !best || choice->entry_bytes < best->entry_bytes;
}

/* The smallest pack of all. */
static const struct sqlpack_page_choice *choose_min(const struct sqlpack_page_choice *choices)
{
    const struct sqlpack_page_choice *best = NULL;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        if (is_better(&choices[i], best))
            best = &choices[i];
    return best;
}

static bool is_for_auto(const struct sqlpack_page_choice *choice)
{
    return choice->page_bytes >= AUTO_PAGE_MIN && choice->page_bytes <= AUTO_PAGE_MAX;
}

/* The smallest pack among those whose reads are quick enough. */
static const struct sqlpack_page_choice *choose_auto(const struct sqlpack_page_choice *choices)
{
    const struct sqlpack_page_choice *fastest = NULL, *shortest = NULL, *best = NULL;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        if (!is_for_auto(&choices[i]))
            continue;
        if (!fastest || choices[i].read_us < fastest->read_us)
            fastest = &choices[i];
        if (!shortest || choices[i].read_pages < shortest->read_pages)
            shortest = &choices[i];
    }
    /* where files are so large that every chain is longer, the shortest is what can be had */
    double pages = shortest->read_pages > READ_PAGES_MAX ? shortest->read_pages : READ_PAGES_MAX;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        if (is_for_auto(&choices[i]) && choices[i].read_us <= READ_SLACK * fastest->read_us &&
            choices[i].read_pages <= pages && is_better(&choices[i], best))
            best = &choices[i];
    return best ? best : fastest;
}

uint32_t choose_best(const struct sqlpack_page_choice *choices, bool smallest)
{
    return (smallest ? choose_min(choices) : choose_auto(choices))->page_bytes;
}

static int sample_init(struct tree_sample *sample, const struct packer *packer,
                       struct sqlpack_error *err)
{
    *sample = (struct tree_sample){.packer = packer};
    sample->entries = calloc(SAMPLE_ENTRIES, sizeof(*sample->entries));
    sample->codec = codec_new(packer->level);
    return sample->entries && sample->codec ? 0 : fail_no_memory(err);
}

static void sample_release(struct tree_sample *sample)
{
    free(sample->entries);
    codec_free(sample->codec);
    buf_release(&sample->content);
}

static int judge_all(const struct tree_sample *sample, struct sqlpack_pack_result *result,
                     struct sqlpack_error *err)
{
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        result->choices[i].page_bytes = (uint32_t)512 << i;
    if (measure(sample, result->choices, err) < 0)
        return -1;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        model_reads(sample, &result->choices[i]);
    result->sample_count = sample->count;
    return 0;
}

int choose_page_size(struct packer *packer, struct sqlpack_error *err)
{
    struct sqlpack_pack_result *result = packer->result;
    uint32_t wish = packer->options->page_bytes;
    result->page_bytes = wish;
    if (wish > SQLPACK_PAGE_MIN)
        return 0;
    struct tree_sample sample;
    int code = sample_init(&sample, packer, err);
    if (code == 0)
        sample_folder(&sample, scan_root_fd(packer->scan), scan_root_listing(packer->scan), 0,
                      SAMPLE_ENTRIES, 0);
    if (code == 0 && sample.count > 0)
        code = judge_all(&sample, result, err);
    if (code == 0 && sample.count > 0)
        result->page_bytes = choose_best(result->choices, wish == SQLPACK_PAGE_MIN);
    else if (code == 0)
        result->page_bytes = wish == SQLPACK_PAGE_MIN ? 512 : 4096;
    sample_release(&sample);
    return code;
}

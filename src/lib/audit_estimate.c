/* SPDX-License-Identifier: MIT */
/* From a sample of compressed files to the pack: what compression takes off each page size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/audit.h"

#define STRATUM_LEAST 8    /* suffixes with fewer files in the sample are taken together */
#define MODEL_SHARE   0.01 /* of the pack: what the layout is wrong by, and pieces of large files */
#define CHUNK_SHARE   0.0025 /* of what pieces take as they are: what that is known by */
#define NORMAL_95     1.96   /* standard deviations that hold 95 % of a normal distribution */

/* -- weights --------------------------------------------------------------------------------- */

/* Suffixes that the sample knows too little of are one stratum. */
struct strata {
    struct suffix *suffixes;
    struct stratum rest;
    uint64_t rest_bytes; /* data of its files in the whole tree */
};

static struct stratum *stratum_of(struct strata *strata, const struct candidate *candidate)
{
    struct stratum *own = &candidate->suffix->stratum;
    return own->count < STRATUM_LEAST ? &strata->rest : own;
}

/* Sums up what the files of the sample stand for, by suffix. */
static void make_strata(struct strata *strata, const struct sampling *sampling)
{
    for (size_t i = 0; i < sampling->count; i++)
        sampling->heap[i].suffix->stratum.count += sampling->heap[i].is_read;
    for (size_t i = 0; i <= SUFFIX_SLOTS; i++)
        if (strata->suffixes[i].stratum.count < STRATUM_LEAST)
            strata->rest_bytes += strata->suffixes[i].data_bytes;
    for (size_t i = 0; i < sampling->count; i++) {
        const struct candidate *candidate = &sampling->heap[i];
        struct stratum *stratum = stratum_of(strata, candidate);
        if (!candidate->is_read)
            continue;
        if (candidate->weight > 1)
            stratum->bytes += candidate->weight * (double)candidate->size;
        else
            stratum->sure_bytes += candidate->size;
    }
}

/*
 * Corrects the weights so that the sample of each stratum has exactly the bytes
 * that the tree has there, which the walk has told: calibration to known totals
 * (Deville and Sarndal, JASA 87, 1992). Files that stand for themselves keep theirs.
 */
static void calibrate(struct strata *strata, const struct sampling *sampling)
{
    for (size_t i = 0; i < sampling->count; i++) {
        struct candidate *candidate = &sampling->heap[i];
        const struct stratum *stratum = stratum_of(strata, candidate);
        double total =
            (double)(stratum == &strata->rest ? strata->rest_bytes : candidate->suffix->data_bytes);
        double target = total - (double)stratum->sure_bytes;
        if (!candidate->is_read)
            candidate->weight = 0;
        else if (candidate->weight > 1 && stratum->bytes > 0 && target > 0)
            candidate->weight *= target / stratum->bytes;
    }
}

/* -- how full leaves get --------------------------------------------------------------------- */

/* By suffix, then by size. */
static int compare_likeness(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->suffix != right->suffix)
        return left->suffix < right->suffix ? -1 : 1;
    return (left->size > right->size) - (left->size < right->size);
}

/* The file of the sample that is most like a row: of its suffix where there is one, and size. */
static const struct candidate *most_alike(const struct sampling *sampling,
                                          const struct kept_row *row, struct suffix *suffix)
{
    const struct candidate wish = {.suffix = suffix, .size = (uint64_t)row->size};
    size_t low = 0, high = sampling->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_likeness(&sampling->heap[middle], &wish) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == sampling->count || (low > 0 && sampling->heap[low].suffix != suffix))
        low -= low > 0;
    return &sampling->heap[low];
}

/* What the content of each kept row may take once it is compressed. */
static float *impute(const struct sampling *sampling, struct suffix *suffixes)
{
    float *stored = malloc((sampling->row_count + 1) * sizeof(*stored));
    for (size_t i = 0; stored && i < sampling->row_count; i++) {
        const struct kept_row *row = &sampling->rows[i];
        const struct candidate *like = most_alike(sampling, row, &suffixes[row->suffix]);
        double ratio = like->is_read ? (double)like->stored_bytes / (double)like->size : 1;
        stored[i] = (float)((double)row->size * ratio);
    }
    return stored;
}

/* -- one page size --------------------------------------------------------------------------- */

struct layout {
    const struct sampling *sampling;
    const float *stored; /* of the kept rows */
    size_t page;         /* which size of pages */
    uint32_t page_bytes;
    double chunk_factor; /* what pieces take in the tree, to what the sample tells of that */
    double raw_factor, packed_factor; /* leaf pages, in bytes, to what rows take in them */
};

/* Lays the kept rows out. Returns how much more than the rows their leaves take. */
static double lay_out(const struct layout *layout, bool is_packed)
{
    const struct sampling *sampling = layout->sampling;
    double leaf_bytes = 0, row_bytes = 0;
    uint32_t room = 0;
    for (size_t i = 0; i < sampling->row_count; i++) {
        const struct kept_row *row = &sampling->rows[i];
        struct row_place place = place_row(layout->page_bytes, row->name_bytes,
                                           (uint64_t)(is_packed ? layout->stored[i] : row->size));
        if (place.leaf_bytes > room) {
            leaf_bytes += layout->page_bytes;
            room = layout->page_bytes - 8;
        }
        room -= place.leaf_bytes;
        row_bytes += place.leaf_bytes;
    }
    return row_bytes > 0 ? leaf_bytes / row_bytes : 1;
}

static double cost_of(const struct layout *layout, const struct candidate *candidate,
                      bool is_packed)
{
    struct row_place place = place_row(layout->page_bytes, strlen(candidate->name),
                                       is_packed ? candidate->stored_bytes : candidate->size);
    return (double)place.chain * layout->page_bytes +
           place.leaf_bytes * (is_packed ? layout->packed_factor : layout->raw_factor);
}

/* What a file's compression saves at this page size. */
static double saving_of(const struct layout *layout, const struct candidate *candidate)
{
    if (candidate->is_chunked)
        return layout->chunk_factor *
               (candidate->raw_cost[layout->page] - candidate->packed_cost[layout->page]);
    return cost_of(layout, candidate, false) - cost_of(layout, candidate, true);
}

/* The half width of the range that holds the truth in 95 of 100 samples: how far the files of a
 * stratum are from saving the same share of their size. */
static double error_of(const struct layout *layout, struct strata *strata)
{
    const struct sampling *sampling = layout->sampling;
    double variance = 0, count = 0;
    for (size_t i = 0; i <= SUFFIX_SLOTS; i++)
        strata->suffixes[i].stratum.bytes = strata->suffixes[i].stratum.saved = 0;
    strata->rest.bytes = strata->rest.saved = 0;
    for (size_t i = 0; i < sampling->count; i++) {
        const struct candidate *candidate = &sampling->heap[i];
        struct stratum *stratum = stratum_of(strata, candidate);
        stratum->bytes += candidate->weight * (double)candidate->size;
        stratum->saved += candidate->weight * saving_of(layout, candidate);
    }
    for (size_t i = 0; i < sampling->count; i++) {
        const struct candidate *candidate = &sampling->heap[i];
        const struct stratum *stratum = stratum_of(strata, candidate);
        if (candidate->weight <= 1 || stratum->bytes <= 0)
            continue;
        double expected = stratum->saved / stratum->bytes * (double)candidate->size;
        double miss = candidate->weight * (saving_of(layout, candidate) - expected);
        variance += miss * miss * (1 - 1 / candidate->weight);
        count++;
    }
    return count > 1 ? NORMAL_95 * sqrt(variance * count / (count - 1)) : 0;
}

/* Pages of a file's chain once it is compressed; files in pieces are not asked, as in pack. */
static void estimate_reads(const struct layout *layout, struct sqlpack_audit_page *page,
                           double file_count, struct values *values)
{
    const struct sampling *sampling = layout->sampling;
    double chains = 0, counted = 0;
    memset(values->counts, 0, VALUES_BUCKETS * sizeof(*values->counts));
    for (size_t i = 0; i < sampling->count; i++) {
        const struct candidate *candidate = &sampling->heap[i];
        struct row_place place =
            place_row(layout->page_bytes, strlen(candidate->name), candidate->stored_bytes);
        if (candidate->weight <= 0 || candidate->is_chunked)
            continue;
        chains += candidate->weight * place.chain;
        counted += candidate->weight;
        values_add(values, 1 + (uint64_t)place.chain, candidate->weight);
    }
    if (counted <
        file_count) /* empty files, those in pieces, and what the weights do not account for */
        values_add(values, 1, file_count - counted);
    page->read_pages = 1 + chains / file_count;
    page->read_pages_p99 = values_at(values, 0.99);
}

static void estimate_page(struct layout *layout, struct strata *strata,
                          struct sqlpack_audit_page *page, double file_count, struct values *values)
{
    double saved = 0, raw_cost = 0;
    layout->page_bytes = page->page_bytes;
    layout->raw_factor = lay_out(layout, false);
    layout->packed_factor = lay_out(layout, true);
    for (size_t i = 0; i < layout->sampling->count; i++)
        raw_cost +=
            layout->sampling->heap[i].weight * layout->sampling->heap[i].raw_cost[layout->page];
    layout->chunk_factor = raw_cost > 0 ? layout->sampling->chunk_cost[layout->page] / raw_cost : 1;
    for (size_t i = 0; i < layout->sampling->count; i++)
        saved += layout->sampling->heap[i].weight * saving_of(layout, &layout->sampling->heap[i]);
    double packed = (double)page->raw_bytes - saved;
    uint64_t pages = packed > page->page_bytes ? (uint64_t)(packed / page->page_bytes + 0.5) : 1;
    page->pack_bytes = pages * page->page_bytes;
    double error = error_of(layout, strata) + MODEL_SHARE * (double)page->pack_bytes +
                   CHUNK_SHARE * layout->sampling->chunk_cost[layout->page];
    /* and the last page may be as good as empty */
    page->error_bytes = page->page_bytes + (uint64_t)error;
    estimate_reads(layout, page, file_count, values);
}

/* -- all ------------------------------------------------------------------------------------- */

/* Stored to data, of each class of sizes; where the sample has none of it, of all. Returns what is
 * stored. */
static double estimate_ratios(struct sampling *sampling)
{
    double bytes[SQLPACK_AUDIT_CLASSES] = {0}, stored[SQLPACK_AUDIT_CLASSES] = {0};
    double all_bytes = 0, all_stored = 0;
    sampling->row_bytes = 0;
    for (size_t i = 0; i < sampling->count; i++) {
        const struct candidate *candidate = &sampling->heap[i];
        double content = candidate->weight * (double)candidate->stored_bytes;
        bytes[candidate->class] += candidate->weight * (double)candidate->size;
        stored[candidate->class] += content;
        sampling->row_bytes += candidate->is_chunked ? 0 : content;
    }
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++) {
        all_bytes += bytes[i];
        all_stored += stored[i];
    }
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++)
        sampling->ratios[i] = bytes[i] > 0    ? stored[i] / bytes[i]
                              : all_bytes > 0 ? all_stored / all_bytes
                                              : 1;
    return all_stored;
}

int sampling_estimate(struct sampling *sampling, struct suffix *suffixes,
                      struct sqlpack_audit_result *result, struct sqlpack_error *err)
{
    if (result->sample_count == 0)
        return 0;
    struct strata strata = {.suffixes = suffixes};
    auto_release(values_release) struct values values = {0};
    qsort(sampling->heap, sampling->count, sizeof(*sampling->heap), compare_likeness);
    auto_free float *stored = impute(sampling, suffixes);
    if (!stored || values_init(&values) < 0)
        return fail_no_memory(err);
    make_strata(&strata, sampling);
    calibrate(&strata, sampling);
    struct layout layout = {.sampling = sampling, .stored = stored};
    double file_count = result->file_count ? (double)result->file_count : 1;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        layout.page = i;
        estimate_page(&layout, &strata, &result->pages[i], file_count, &values);
    }
    result->stored_bytes = (uint64_t)estimate_ratios(sampling);
    return 0;
}

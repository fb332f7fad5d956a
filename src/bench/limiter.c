/* SPDX-License-Identifier: MIT */
/* Answers "why not double?": where the time of a series goes, and what it asks of the system. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"

#define MOST 0.6 /* of the time: then it alone is named */

/* What all rounds add up to. */
struct totals {
    double elapsed, user, system, ops, calls, storage;
};

static struct totals add_up(const struct bench_case *question, const struct bench_series *series)
{
    struct totals totals = {0};
    double threads = question->threads > 1 ? question->threads : 1;
    for (size_t i = 0; series->runs && i < question->round_count; i++) {
        const struct bench_run *run = &series->runs[i];
        totals.elapsed += (double)run->elapsed_ns * threads;
        totals.user += (double)run->user_ns;
        totals.system += (double)run->system_ns;
        totals.ops += (double)run->op_count;
        totals.calls += (double)run->read_calls;
        totals.storage += (double)run->storage_read_bytes;
    }
    return totals;
}

static const char *place_of(const struct totals *totals)
{
    double waiting = totals->elapsed - totals->user - totals->system;
    if (waiting > MOST * totals->elapsed)
        return "waits";
    if (totals->system > MOST * totals->elapsed)
        return "in the kernel";
    if (totals->user > MOST * totals->elapsed)
        return "in its own code";
    return waiting > totals->user && waiting > totals->system ? "waits and computes"
                                                              : "in the kernel and its own code";
}

/* Pages of a row with so much content: a leaf's share, then a chain (the SQLite file format). */
double bench_row_pages(uint64_t size, uint32_t page_bytes)
{
    double usable = page_bytes;
    double payload = (double)size + 64; /* a name of 40 bytes, and the header */
    if (page_bytes == 0 || payload <= usable - 35)
        return 1;
    double least = floor((usable - 12) * 32 / 255) - 23;
    double local = least + fmod(payload - least, usable - 4);
    if (local > usable - 35)
        local = least;
    return 1 + ceil((payload - local) / (usable - 4));
}

struct bench_words bench_limit(const struct bench_corpus *corpus, const struct bench_case *question,
                               const struct bench_series *series)
{
    struct bench_words words = {.text = ""};
    struct totals totals = add_up(question, series);
    char *text = words.text;
    const size_t size = sizeof(words.text);
    if (totals.elapsed <= 0 || totals.ops <= 0)
        return words;
    snprintf(text, size, "%s: %s", series->label, place_of(&totals));
    if (series->arm->calls && series->arm->calls[0])
        snprintf(text + strlen(text), size - strlen(text), " (%s)", series->arm->calls);
    if (totals.calls / totals.ops >= 0.05)
        snprintf(text + strlen(text), size - strlen(text), ", %.1f reads",
                 totals.calls / totals.ops);
    if (totals.storage / totals.ops >= 1)
        snprintf(text + strlen(text), size - strlen(text), ", %.1f KiB off the disk",
                 totals.storage / totals.ops / 1024);
    if (series->arm->side == BENCH_PACK && corpus->inflated_count == 0 &&
        question->workload <= BENCH_READ_ALL)
        snprintf(text + strlen(text), size - strlen(text), ", %.0f pages",
                 bench_row_pages(corpus->size_p50, corpus->page_bytes));
    return words;
}

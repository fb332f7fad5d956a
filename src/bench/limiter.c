/* SPDX-License-Identifier: MIT */
/* Answers "why not double?": where the time of a series goes, and what it asks of the system. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"

#define MOST 0.6 /* of the time: then it alone is named */

struct bench_totals bench_add_up(const struct bench_case *question,
                                 const struct bench_series *series)
{
    struct bench_totals totals = {0};
    double threads = question->threads > 1 ? question->threads : 1;
    for (size_t i = 0; series->runs && i < question->round_count; i++) {
        const struct bench_run *run = &series->runs[i];
        totals.busy_ns += (double)run->elapsed_ns * threads;
        totals.user_ns += (double)run->user_ns;
        totals.system_ns += (double)run->system_ns;
        totals.setup_ns += (double)run->setup_ns;
        totals.ops += (double)run->op_count;
        totals.bytes += (double)run->bytes;
        totals.read_calls += (double)run->read_calls;
        totals.storage_read_bytes += (double)run->storage_read_bytes;
        totals.unproven += run->is_done && !run->is_proven;
    }
    return totals;
}

static const char *place_of(const struct bench_totals *totals)
{
    double waiting = totals->busy_ns - totals->user_ns - totals->system_ns;
    if (waiting > MOST * totals->busy_ns)
        return "waits";
    if (totals->system_ns > MOST * totals->busy_ns)
        return "in the kernel";
    if (totals->user_ns > MOST * totals->busy_ns)
        return "in its own code";
    return waiting > totals->user_ns && waiting > totals->system_ns
               ? "waits and computes"
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
    struct bench_totals totals = bench_add_up(question, series);
    char *text = words.text;
    const size_t size = sizeof(words.text);
    if (totals.busy_ns <= 0 || totals.ops <= 0)
        return words;
    snprintf(text, size, "%s: %s", series->label, place_of(&totals));
    if (question->workload == BENCH_FIRST_READ && totals.setup_ns > 0)
        snprintf(text + strlen(text), size - strlen(text), ", %.0f us until the program runs",
                 totals.setup_ns / totals.ops / 1e3);
    else if (series->arm->calls && series->arm->calls[0])
        snprintf(text + strlen(text), size - strlen(text), " (%s)", series->arm->calls);
    if (totals.read_calls / totals.ops >= 0.05)
        snprintf(text + strlen(text), size - strlen(text), ", %.1f reads",
                 totals.read_calls / totals.ops);
    if (totals.storage_read_bytes / totals.ops >= 1)
        snprintf(text + strlen(text), size - strlen(text), ", %.1f KiB off the disk",
                 totals.storage_read_bytes / totals.ops / 1024);
    if (series->arm->side == BENCH_PACK && series->layout != BENCH_LAYOUT_MOUNT &&
        corpus->inflated_count == 0 && question->workload <= BENCH_READ_ALL)
        snprintf(text + strlen(text), size - strlen(text), ", %.0f pages",
                 bench_row_pages(corpus->size_p50, corpus->page_bytes));
    return words;
}

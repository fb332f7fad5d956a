/* SPDX-License-Identifier: MIT */
/* Writes a benchmark's result as one HTML page: verdict, ratios, latencies, rounds, space. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/html.h"
#include "cli/notice.h"
#include "cli/text.h"
#include "cmd/bench_report.h"
#include "cmd/bench_words.h"
#include "util/auto.h"

static void format_us(double us, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s", words_us(us).text);
}

static void format_ratio(double ratio, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%g", ratio);
}

static void format_percent(double percent, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%g %%", fabs(percent)); /* an axis may begin at -0 */
}

static void format_round(double round, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%g", round);
}

/* -- verdict -------------------------------------------------------------------------------- */

static void add_tiles(struct html *html, const struct bench_result *result)
{
    const struct bench_corpus *corpus = &result->corpus;
    struct bench_freed freed;
    bench_space(corpus, &freed);
    html_tiles_begin(html);
    html_tile(html, text_count(corpus->file_count).text, "files");
    html_tile(html, text_bytes(corpus->bytes).text, "content");
    html_tile(html, text_bytes(corpus->tree_allocated_bytes).text, "tree on disk");
    html_tile(html, text_bytes(corpus->pack_allocated_bytes).text, "pack on disk");
    html_tile(html, text_percent(freed.low_percent).text, "space freed, at least");
    html_tile(html, text_count(result->round_count).text, "rounds");
    html_tiles_end(html);
}

/* The presets of published tables have no lines but the one on space. */
static void add_lines(struct html *html, const struct bench_result *result)
{
    if (result->preset == BENCH_PRESET_KVTEST || result->preset == BENCH_PRESET_CSV)
        return;
    html_heading(html, "What it comes to");
    for (size_t i = 0; i < BENCH_CRITERIA; i++) {
        const struct bench_line *line = &result->lines[i];
        char text[sizeof(line->text) + 64];
        snprintf(text, sizeof(text), "%s: %s", bench_criterion_name((enum bench_criterion)i),
                 line->text[0] ? line->text : "not measured");
        html_text(html, text);
    }
}

/* -- ratios --------------------------------------------------------------------------------- */

/* A row of the forest plot, with the texts that it borrows. */
struct row {
    char label[256];
    struct bench_words value;
};

/* Ratios of queries may be a thousand: each kind of work has its own axis. */
enum kind { READS, QUERIES, WRITES, KINDS };

static enum kind kind_of(enum bench_workload workload)
{
    if (workload <= BENCH_READ_ALL || workload == BENCH_FIRST_READ ||
        workload == BENCH_KVTEST_READ || workload == BENCH_CSV_READ)
        return READS;
    return workload <= BENCH_LIST || workload == BENCH_CSV_QUERY ? QUERIES : WRITES;
}

static bool is_shown(const struct bench_case *question, const struct bench_effect *effect,
                     enum kind kind)
{
    return effect->pair != BENCH_OTHER && effect->ratio > 0 && isfinite(effect->interval.low) &&
           kind_of(question->workload) == kind;
}

static size_t count_rows(const struct bench_result *result, enum kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < result->case_count; i++)
        for (size_t j = 0; j < result->cases[i].effect_count; j++)
            count += is_shown(&result->cases[i], &result->cases[i].effects[j], kind);
    return count;
}

static void fill_row(const struct bench_case *question, const struct bench_effect *effect,
                     struct row *row, struct html_range *range)
{
    snprintf(row->label, sizeof(row->label), "%s: %s", words_case(question).text,
             effect->pair == BENCH_ROW ? question->series[effect->pack].label
                                       : bench_pair_name(effect->pair));
    row->value = bench_effect_words(question, effect);
    *range = (struct html_range){.label = row->label,
                                 .value = row->value.text,
                                 .low = effect->interval.low,
                                 .middle = effect->ratio,
                                 .high = effect->interval.high};
}

static void add_forest(struct html *html, const struct bench_result *result, enum kind kind)
{
    static const char *const headings[KINDS] = {[READS] = "Reads: time of files / of the pack",
                                                [QUERIES] = "Queries: time of files / of the pack",
                                                [WRITES] = "Writes: time of files / of the pack"};
    size_t count = count_rows(result, kind);
    auto_free struct row *rows = calloc(count + 1, sizeof(*rows));
    auto_free struct html_range *ranges = calloc(count + 1, sizeof(*ranges));
    size_t at = 0;
    double low = 0.9; /* the band is always seen */
    double high = 1.1;
    if (!rows || !ranges) {
        html->is_out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < result->case_count; i++)
        for (size_t j = 0; j < result->cases[i].effect_count; j++)
            if (is_shown(&result->cases[i], &result->cases[i].effects[j], kind)) {
                fill_row(&result->cases[i], &result->cases[i].effects[j], &rows[at], &ranges[at]);
                low = fmin(low, ranges[at].low);
                high = fmax(high, ranges[at].high);
                at++;
            }
    if (count == 0)
        return;
    html_heading(html, headings[kind]);
    html_text(html, "Right of 1 the pack is faster. The band is 5 % to either side; a range within "
                    "it is no practical difference.");
    const struct html_ranges forest = {.title = "Ratios of times with their intervals",
                                       .axis = {.label = "files / pack",
                                                .is_log = true,
                                                .low = low,
                                                .high = high,
                                                .format = format_ratio},
                                       .mark = 1,
                                       .band_low = 1 / 1.05,
                                       .band_high = 1.05,
                                       .ranges = ranges,
                                       .count = count};
    html_ranges(html, &forest);
}

/* -- a case --------------------------------------------------------------------------------- */

static void add_table(struct html *html, const struct bench_case *question)
{
    static const char *const heads[] = {"code", "time",  "MAD", "p50",
                                        "p99",  "p99.9", "max", "rate"};
    const size_t count = sizeof(heads) / sizeof(*heads);
    html_table_begin(html, heads, count);
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_series *series = &question->series[i];
        const struct bench_summary *summary = &series->summary;
        struct text texts[] = {words_us(summary->median_us),        words_us(summary->mad_us),
                               words_us(summary->p50_us),           words_us(summary->p99_us),
                               words_us(summary->p999_us),          words_us(summary->max_op_us),
                               text_rate(summary->bytes_per_second)};
        const char *cells[] = {series->label, texts[0].text, texts[1].text, texts[2].text,
                               texts[3].text, texts[4].text, texts[5].text, texts[6].text};
        if (series->missing[0] || summary->round_count == 0)
            continue;
        html_row(html, cells, count, false);
    }
    html_table_end(html);
}

/* Whether a pair that has a verdict compares the series; those are drawn first. */
static bool is_compared(const struct bench_case *question, size_t index)
{
    for (size_t i = 0; i < question->effect_count; i++) {
        const struct bench_effect *effect = &question->effects[i];
        if (effect->pair != BENCH_AA && (effect->files == index || effect->pack == index))
            return true;
    }
    return false;
}

/* Up to HTML_SERIES_MAX series that have runs. Returns their number. */
static size_t choose(const struct bench_case *question,
                     const struct bench_series *ret_chosen[HTML_SERIES_MAX])
{
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < question->series_count && count < HTML_SERIES_MAX; i++) {
            const struct bench_series *series = &question->series[i];
            if (!series->missing[0] && series->runs && is_compared(question, i) == (pass == 0))
                ret_chosen[count++] = series;
        }
    return count;
}

/* Points of a curve: x of one, y of one. */
struct curve {
    double x[HIST_BUCKETS], y[HIST_BUCKETS];
};

static size_t fill_latencies(const struct hist *hist, struct curve *curve)
{
    size_t count = 0;
    double seen = 0;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        if (hist->buckets[i] == 0)
            continue;
        seen += (double)hist->buckets[i];
        curve->x[count] = (double)hist_value(i) / 1e3;
        curve->y[count++] = 100 * seen / (double)hist->count;
    }
    return count;
}

static size_t fill_rounds(const struct bench_case *question, const struct bench_series *series,
                          struct curve *curve)
{
    for (size_t i = 0; i < question->round_count; i++) {
        const struct bench_run *run = &series->runs[i];
        curve->x[i] = (double)i + 1;
        curve->y[i] = run->is_done && run->op_count > 0
                          ? (double)run->elapsed_ns / (double)run->op_count / 1e3
                          : (double)NAN;
    }
    return question->round_count;
}

/* Draws the latencies of all operations, or the mean of each round. */
static void add_plot(struct html *html, const struct bench_case *question, bool of_rounds)
{
    const struct bench_series *chosen[HTML_SERIES_MAX];
    struct html_series series[HTML_SERIES_MAX];
    size_t chosen_count = choose(question, chosen);
    size_t count = 0;
    auto_free struct curve *curves = malloc(HTML_SERIES_MAX * sizeof(*curves));
    if (!curves) {
        html->is_out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < chosen_count; i++) {
        size_t points = 0;
        if (of_rounds)
            points = fill_rounds(question, chosen[i], &curves[count]);
        else if (chosen[i]->hist)
            points = fill_latencies(chosen[i]->hist, &curves[count]);
        if (points < 2)
            continue;
        series[count] = (struct html_series){.label = chosen[i]->label,
                                             .x = curves[count].x,
                                             .y = curves[count].y,
                                             .count = points,
                                             .has_dots = of_rounds};
        count++;
    }
    struct html_plot plot = {.series = series, .count = count, .y_mark = NAN};
    plot.title = of_rounds ? "Mean time of an operation in each round"
                           : "Share of operations that took no longer";
    plot.x = of_rounds ? (struct html_axis){.label = "round", .format = format_round}
                       : (struct html_axis){
                             .label = "time of an operation", .is_log = true, .format = format_us};
    plot.y = of_rounds
                 ? (struct html_axis){.label = "mean", .is_log = true, .format = format_us}
                 : (struct html_axis){
                       .label = "operations", .low = 0, .high = 100, .format = format_percent};
    if (count > 0)
        html_plot(html, &plot);
}

static void add_case(struct html *html, const struct bench_case *question)
{
    html_heading(html, words_case(question).text);
    if (question->missing[0]) {
        html_text(html, question->missing);
        return;
    }
    add_table(html, question);
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_series *series = &question->series[i];
        char text[sizeof(series->label) + sizeof(series->missing) + 8];
        snprintf(text, sizeof(text), "%s: %s", series->label, series->missing);
        if (series->missing[0])
            html_text(html, text);
    }
    add_plot(html, question, false);
    add_plot(html, question, true);
}

/* -- published figures ---------------------------------------------------------------------- */

static void add_kvtest(struct html *html, const struct bench_case *question)
{
    const char *heads[BENCH_SYSTEMS + 2] = {"kvtest arguments"};
    for (size_t i = 0; i < BENCH_SYSTEMS; i++)
        heads[i + 1] = bench_system_name(i);
    heads[BENCH_SYSTEMS + 1] = "here";
    html_heading(html, "Microseconds a blob, published and here");
    html_table_begin(html, heads, BENCH_SYSTEMS + 2);
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_series *series = &question->series[i];
        struct text texts[BENCH_SYSTEMS + 1];
        const char *cells[BENCH_SYSTEMS + 2] = {series->label};
        for (size_t j = 0; j <= BENCH_SYSTEMS; j++) {
            texts[j] = words_ratio(j < BENCH_SYSTEMS ? bench_published_us(series->published, j)
                                                     : series->summary.median_us);
            cells[j + 1] = texts[j].text;
        }
        html_row(html, cells, BENCH_SYSTEMS + 2, series->published != BENCH_NOT_PUBLISHED);
    }
    html_table_end(html);
}

/* A figure that the author did not give is no zero. */
static void add_csv(struct html *html, const struct bench_case *question)
{
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_series *series = &question->series[i];
        double published = bench_published_seconds(question->workload, series->published);
        char there[32] = "not published", here[32] = "-";
        if (!isnan(published))
            snprintf(there, sizeof(there), "%.4f", published);
        if (words_is_measured(series))
            snprintf(here, sizeof(here), "%.4f", series->summary.median_us / 1e6);
        const char *cells[] = {bench_workload_name(question->workload), series->label, there, here};
        html_row(html, cells, 4, !isnan(published));
    }
}

static void add_published(struct html *html, const struct bench_result *result)
{
    static const char *const heads[] = {"operation", "on", "published s", "here s"};
    bool has_csv = false;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        if (question->workload == BENCH_KVTEST_READ && !question->missing[0])
            add_kvtest(html, question);
        if (!words_is_csv(question))
            continue;
        if (!has_csv) {
            html_heading(html, "Seconds for all records, published (of 100,000) and here");
            html_table_begin(html, heads, 4);
        }
        has_csv = true;
        add_csv(html, question);
    }
    if (has_csv)
        html_table_end(html);
}

/* -- space, machine, caveats ---------------------------------------------------------------- */

/* What a pack would take, in the same parts as the tree. */
static void fill_bar(struct html_bar *bar, double bytes, double content)
{
    bar->parts[0] = fmin(bytes, content);
    bar->parts[1] = bytes - bar->parts[0];
}

static void add_space(struct html *html, const struct bench_corpus *corpus)
{
    struct html_bar bars[SQLPACK_PAGE_SIZES + 2] = {{.label = "tree"}, {.label = "pack"}};
    struct words labels[SQLPACK_PAGE_SIZES] = {{.text = ""}};
    struct text values[SQLPACK_PAGE_SIZES + 2];
    size_t count = 2;
    double content = (double)corpus->bytes;
    fill_bar(&bars[0], (double)(corpus->tree_allocated_bytes - corpus->folder_allocated_bytes),
             content);
    bars[0].parts[2] = (double)corpus->folder_allocated_bytes;
    values[0] = text_bytes(corpus->tree_allocated_bytes);
    fill_bar(&bars[1], (double)corpus->pack_allocated_bytes, content);
    values[1] = text_bytes(corpus->pack_allocated_bytes);
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        double bytes = corpus->choices[i].entry_bytes * (double)corpus->entry_count;
        if (!(bytes > 0))
            continue;
        snprintf(labels[i].text, sizeof(labels[i].text), "%s pages",
                 text_bytes(corpus->choices[i].page_bytes).text);
        values[count] = text_bytes((uint64_t)bytes);
        bars[count].label = labels[i].text;
        fill_bar(&bars[count++], bytes, content);
    }
    for (size_t i = 0; i < count; i++)
        bars[i].value = values[i].text;
    const struct html_bars chart = {.parts = {"content", "padding, or the pack's own", "folders"},
                                    .bars = bars,
                                    .count = count};
    html_heading(html, "Space");
    if (count > 2)
        html_text(html, "Packs of other page sizes are estimated from a sample.");
    html_bars(html, &chart);
}

static void add_fact(struct html *html, const char *label, const char *value)
{
    const char *cells[] = {label, value[0] ? value : "-"};
    html_row(html, cells, 2, false);
}

static void add_machine(struct html *html, const struct bench_result *result)
{
    static const char *const heads[] = {"what", "value"};
    const struct bench_environment *env = &result->environment;
    char text[64];
    html_heading(html, "Where it ran");
    html_table_begin(html, heads, 2);
    add_fact(html, "started", text_time(result->started).text);
    add_fact(html, "processor", env->processor);
    snprintf(text, sizeof(text), "%d", env->processor_count);
    add_fact(html, "processors", text);
    add_fact(html, "kernel", env->kernel);
    add_fact(html, "virtual machine", env->virtualisation);
    add_fact(html, "file system", env->file_system);
    add_fact(html, "mount options", env->mount_options);
    add_fact(html, "device", env->device);
    snprintf(text, sizeof(text), "%d KiB", env->read_ahead_kib);
    add_fact(html, "read-ahead", env->read_ahead_kib >= 0 ? text : "");
    add_fact(html, "SQLite", env->sqlite_version);
    add_fact(html, "page size", text_bytes(result->corpus.page_bytes).text);
    snprintf(text, sizeof(text), "%" PRIu64, result->seed);
    add_fact(html, "seed", text);
    html_table_end(html);
}

static void add_caveats(struct html *html, const struct bench_result *result)
{
    const char *caveat;
    html_heading(html, "Keep in mind");
    for (size_t i = 0; (caveat = bench_caveat(i)) != NULL; i++) {
        char text[320];
        snprintf(text, sizeof(text), "%zu. %s", i + 1, caveat);
        html_text(html, text);
    }
    for (size_t i = 0; i < result->note_count; i++)
        html_text(html, result->notes[i]);
}

int bench_write_html(const struct bench_result *result, const char *path, struct sqlpack_error *err)
{
    auto_release(html_release) struct html html = {0};
    char title[64];
    snprintf(title, sizeof(title), "sqlpack bench%s%s",
             result->advice == BENCH_NO_ADVICE ? "" : ": ",
             result->advice == BENCH_NO_ADVICE ? "" : bench_advice_name(result->advice));
    html_begin(&html, title, result->reason);
    if (result->corpus.file_count > 0)
        add_tiles(&html, result);
    add_lines(&html, result);
    add_published(&html, result);
    for (int kind = 0; kind < KINDS; kind++)
        add_forest(&html, result, (enum kind)kind);
    for (size_t i = 0; i < result->case_count; i++)
        add_case(&html, &result->cases[i]);
    if (result->corpus.file_count > 0)
        add_space(&html, &result->corpus);
    add_machine(&html, result);
    add_caveats(&html, result);
    if (html_write(&html, path) < 0)
        return bench_fail_errno(err, "cannot write '%s'", notice_name(path).text);
    return 0;
}

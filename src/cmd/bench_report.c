/* SPDX-License-Identifier: MIT */
/* Prints a benchmark's result for a person: what ran, every case, the verdict, the caveats. */
#include "cmd/bench_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"
#include "cmd/bench_words.h"

#define BAR_COLUMNS_MAX 20
#define BAR_COLUMNS_MIN 4
#define FIGURE_COLUMNS  53 /* of a row of a case, besides label and bar, with the gaps */
#define COLD_COLUMNS    10
#define LINE_INDENT     18 /* behind the longest criterion */
#define CAVEAT_INDENT   4

/* -- what ran ------------------------------------------------------------------------------- */

static void print_corpus(struct out *out, const struct bench_corpus *corpus)
{
    char text[400];
    snprintf(text, sizeof(text), "%s, %s; sizes %s to %s, median %s",
             text_count(corpus->file_count).text, text_bytes(corpus->bytes).text,
             text_bytes(corpus->size_min).text, text_bytes(corpus->size_max).text,
             text_bytes(corpus->size_p50).text);
    out_text(out, NULL, corpus->is_synthetic ? "synthetic" : "files", text);
    snprintf(text, sizeof(text), "%s on disk, pages of %s; %s of the files deflated",
             text_bytes(corpus->pack_allocated_bytes).text, text_bytes(corpus->page_bytes).text,
             text_count(corpus->inflated_count).text);
    out_text(out, NULL, "pack", text);
}

static void print_machine(struct out *out, const struct bench_environment *env)
{
    char text[400];
    snprintf(text, sizeof(text), "%d x %s, %s", env->processor_count, env->processor,
             text_bytes((uint64_t)fmax(env->memory_total_bytes, 0)).text);
    out_text(out, NULL, "machine", text);
    snprintf(text, sizeof(text), "%s; %s; SQLite %s", env->kernel,
             env->virtualisation[0] ? env->virtualisation : "no virtual machine seen",
             env->sqlite_version);
    out_text(out, NULL, "system", text);
    snprintf(text, sizeof(text), "%s%s%s%s%s", env->file_system, env->device[0] ? " on " : "",
             env->device, env->device_model[0] ? ", " : "", env->device_model);
    if (env->read_ahead_kib >= 0)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ", read-ahead %d KiB",
                 env->read_ahead_kib);
    out_text(out, NULL, text[0] ? "storage" : NULL, text);
}

/* The fastest operation that is timed one by one: what the bookkeeping is held against. */
static double fastest_us(const struct bench_result *result)
{
    double fastest = INFINITY;
    for (size_t i = 0; i < result->case_count; i++)
        for (size_t j = 0; j < result->cases[i].series_count; j++) {
            double us = result->cases[i].series[j].summary.median_us;
            if (result->cases[i].series[j].summary.p50_us > 0 && us > 0)
                fastest = fmin(fastest, us);
        }
    return fastest;
}

static void print_design(struct out *out, const struct bench_result *result)
{
    char text[200];
    double share = 100 * (double)result->overhead_ns / 1e3 / fastest_us(result);
    snprintf(text, sizeof(text), "%zu rounds, seed %" PRIu64 ", preset %s", result->round_count,
             result->seed, bench_preset_name(result->preset));
    out_text(out, NULL, "design", text);
    snprintf(text, sizeof(text),
             "clock %" PRIu64 " ns, loop and clock %" PRIu64 " ns: %.1f %% of the fastest%s",
             result->clock_ns, result->overhead_ns, share, share > 2 ? " (limit 2 %)" : "");
    out_text(out, NULL, "timing", text);
}

/* -- a case --------------------------------------------------------------------------------- */

static void print_heading(FILE *file, const struct bench_result *result,
                          const struct bench_case *question)
{
    fprintf(file, "\n%s", words_case(question).text);
    if (question->match_count > 0)
        fprintf(file, ", %s hits", text_count(question->match_count).text);
    if (!question->missing[0] && question->round_count != result->round_count)
        fprintf(file, ", %zu rounds", question->round_count);
    fputc('\n', file);
}

static double share(double part, double whole)
{
    return whole > 0 ? fmin(100 * part / whole, 100) : (double)NAN;
}

/* How long the longest bar of a case may be; 0: there is no room, or no terminal. */
static size_t bar_columns(const struct bench_case *question)
{
    size_t used = FIGURE_COLUMNS;
    size_t label = 0;
    for (size_t i = 0; i < question->series_count; i++)
        if (strlen(question->series[i].label) > label)
            label = strlen(question->series[i].label);
    used += label + (bench_is_cold(question) ? COLD_COLUMNS : 0);
    if (!isatty(STDOUT_FILENO) || used + BAR_COLUMNS_MIN > WORDS_COLUMNS)
        return 0;
    return WORDS_COLUMNS - used > BAR_COLUMNS_MAX ? BAR_COLUMNS_MAX : WORDS_COLUMNS - used;
}

static void print_bar(struct out *out, double us, double slowest_us, size_t columns)
{
    char bar[BAR_COLUMNS_MAX + 1];
    size_t length = slowest_us > 0 ? (size_t)((double)columns * us / slowest_us + 0.5) : 0;
    memset(bar, '#', sizeof(bar));
    bar[length > columns ? columns : length] = '\0';
    out_text(out, NULL, "", bar);
}

/* A time; "+" behind it: too short to be judged, "?": the cache's state is not proven. */
static void print_time(struct out *out, const struct bench_series *series, bool is_unproven)
{
    char text[64];
    snprintf(text, sizeof(text), "%s%s%s", words_us(series->summary.median_us).text,
             series->summary.is_too_short ? "+" : "", is_unproven ? "?" : "");
    out_figure(out, "time", text);
}

static void print_share(struct out *out, const char *label, double percent)
{
    char text[32] = "-";
    if (isfinite(percent))
        snprintf(text, sizeof(text), "%3.0f%%", percent);
    out_figure(out, label, text);
}

/* Rows of one case; a series without runs is told below the table. */
static void print_series(struct out *out, const struct bench_case *question,
                         const struct bench_series *series, double slowest_us)
{
    struct bench_totals totals = bench_add_up(question, series);
    bool is_unproven = question->state != BENCH_STATELESS && totals.unproven > 0;
    out_row_begin(out);
    out_text(out, NULL, "code", series->label);
    print_time(out, series, is_unproven);
    out_figure(out, "p99", words_us(series->summary.p99_us).text);
    out_figure(out, "rate",
               totals.bytes > 0 ? text_rate(series->summary.bytes_per_second).text : "-");
    print_share(out, "user", share(totals.user_ns, totals.busy_ns));
    print_share(out, "kernel", share(totals.system_ns, totals.busy_ns));
    if (bench_is_cold(question))
        out_real(out, NULL, "disk/use",
                 totals.bytes > 0 ? totals.storage_read_bytes / totals.bytes : (double)NAN, 2);
    if (bar_columns(question) > 0)
        print_bar(out, series->summary.median_us, slowest_us, bar_columns(question));
    out_row_end(out);
}

static void print_more(struct out *out, const struct bench_case *question,
                       const struct bench_series *series)
{
    const struct bench_summary *summary = &series->summary;
    struct bench_totals totals = bench_add_up(question, series);
    out_row_begin(out);
    out_text(out, NULL, "code", series->label);
    out_figure(out, "min", words_us(summary->min_us).text);
    out_figure(out, "MAD", words_us(summary->mad_us).text);
    out_figure(out, "p50", words_us(summary->p50_us).text);
    out_figure(out, "p99.9", words_us(summary->p999_us).text);
    out_figure(out, "max", words_us(summary->max_op_us).text);
    out_real(out, NULL, "reads/op", totals.ops > 0 ? totals.read_calls / totals.ops : (double)NAN,
             2);
    out_count(out, NULL, "odd", summary->outlier_count);
    out_text(out, NULL, "drift", summary->has_drift ? "yes" : "no");
    out_row_end(out);
}

static bool is_kvtest(const struct bench_case *question)
{
    return question->workload == BENCH_KVTEST_READ || question->workload == BENCH_KVTEST_UPDATE;
}

static void print_effect(struct out *out, const struct bench_case *question,
                         const struct bench_effect *effect)
{
    char text[160];
    if (is_kvtest(question)) /* all against direct file access */
        snprintf(text, sizeof(text), "%s", question->series[effect->pack].label);
    else
        snprintf(text, sizeof(text), "%s/%s", question->series[effect->files].label,
                 question->series[effect->pack].label);
    out_row_begin(out);
    out_text(out, NULL, "pair", bench_pair_name(effect->pair));
    out_text(out, NULL, "times of", text);
    out_figure(out, "ratio", words_ratio(effect->ratio).text);
    out_figure(out, "interval", words_interval(&effect->interval).text);
    out_text(out, NULL, "verdict", bench_effect_words(question, effect).text);
    out_row_end(out);
}

static double slowest_us(const struct bench_case *question)
{
    double slowest = 0;
    for (size_t i = 0; i < question->series_count; i++)
        slowest = fmax(slowest, question->series[i].summary.median_us);
    return slowest;
}

static void print_missing(FILE *file, const char *label, const char *missing)
{
    char text[320];
    snprintf(text, sizeof(text), "%s%s%s", label, label[0] ? ": " : "", missing);
    words_paragraph(file, "", 2, text);
}

/* Why the sides of the pairs that decide are not twice as fast. */
static void print_limits(FILE *file, const struct bench_corpus *corpus,
                         const struct bench_case *question)
{
    char text[1024] = "";
    for (size_t i = 0; i < question->effect_count; i++) {
        const struct bench_effect *effect = &question->effects[i];
        const size_t sides[] = {effect->files, effect->pack};
        for (size_t j = 0; j < 2; j++) {
            struct bench_words limit = bench_limit(corpus, question, &question->series[sides[j]]);
            bool counts = effect->pair == BENCH_DROP_IN || effect->pair == BENCH_BEST;
            if (counts && limit.text[0] && !strstr(text, limit.text))
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                         text[0] ? "; " : "", limit.text);
        }
    }
    if (text[0])
        words_paragraph(file, "  time goes", 13, text);
}

static void print_case(struct out *out, const struct bench_result *result,
                       const struct bench_case *question, bool verbose)
{
    double slowest = slowest_us(question);
    print_heading(out->file, result, question);
    if (question->missing[0]) {
        print_missing(out->file, "not measured", question->missing);
        return;
    }
    out_table_begin(out, NULL, NULL);
    for (size_t i = 0; i < question->series_count; i++)
        if (!question->series[i].missing[0])
            print_series(out, question, &question->series[i], slowest);
    out_table_end(out);
    for (size_t i = 0; i < question->series_count; i++)
        if (question->series[i].missing[0])
            print_missing(out->file, question->series[i].label, question->series[i].missing);
    if (verbose) {
        out_table_begin(out, NULL, NULL);
        for (size_t i = 0; i < question->series_count; i++)
            if (!question->series[i].missing[0])
                print_more(out, question, &question->series[i]);
        out_table_end(out);
    }
    out_table_begin(out, NULL, NULL);
    for (size_t i = 0; i < question->effect_count; i++)
        print_effect(out, question, &question->effects[i]);
    out_table_end(out);
    if (verbose || question->workload <= BENCH_READ_ALL || question->workload == BENCH_FIRST_READ)
        print_limits(out->file, &result->corpus, question);
    if (question->results_differ)
        print_missing(out->file, "fault", "the arms did not give the same");
}

/* -- the end -------------------------------------------------------------------------------- */

static void print_gates(FILE *file, const struct bench_result *result)
{
    fputc('\n', file);
    static const char *const outcomes[] = {
        [BENCH_NOT_KNOWN] = "not known", [BENCH_PASSED] = "passed", [BENCH_FAILED] = "failed"};
    for (size_t i = 0; i < BENCH_GATES; i++) {
        const struct bench_gate *gate = &result->gates[i];
        char text[256];
        snprintf(text, sizeof(text), "%s%s%s", outcomes[gate->outcome], gate->detail[0] ? ": " : "",
                 gate->detail);
        words_paragraph(file, bench_gate_name((enum bench_gate_id)i), LINE_INDENT, text);
    }
}

static bool has_rows(const struct bench_result *result)
{
    for (size_t i = BENCH_ON_READ_WARM; i < BENCH_CRITERIA; i++)
        if (result->lines[i].text[0])
            return true;
    return false;
}

/* The presets of published tables have no rows of their own. */
static void print_lines(FILE *file, const struct bench_result *result)
{
    if (!has_rows(result))
        return;
    fputc('\n', file);
    for (size_t i = 0; i < BENCH_CRITERIA; i++) {
        const struct bench_line *line = &result->lines[i];
        words_paragraph(file, bench_criterion_name((enum bench_criterion)i), LINE_INDENT,
                        line->text[0] ? line->text : "not measured");
    }
}

static void print_list(FILE *file, const char *heading, const struct bench_result *result)
{
    const char *caveat;
    fprintf(file, "\n%s\n", heading);
    for (size_t i = 0; (caveat = bench_caveat(i)) != NULL; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%zu", i + 1);
        words_paragraph(file, number, CAVEAT_INDENT, caveat);
    }
    for (size_t i = 0; i < result->note_count; i++)
        words_paragraph(file, "-", CAVEAT_INDENT, result->notes[i]);
}

static void print_advice(FILE *file, const struct bench_result *result)
{
    char text[sizeof(result->reason) + 32];
    if (result->advice == BENCH_NO_ADVICE)
        return;
    snprintf(text, sizeof(text), "%s: %s", bench_advice_name(result->advice), result->reason);
    fputc('\n', file);
    words_paragraph(file, "", 0, text);
}

void bench_report(const struct bench_result *result, bool verbose)
{
    struct out out;
    out_init(&out, false);
    out_begin(&out);
    if (result->corpus.file_count > 0) /* the CSV benchmark has neither tree nor pack */
        print_corpus(&out, &result->corpus);
    print_machine(&out, &result->environment);
    print_design(&out, result);
    out_end(&out);
    for (size_t i = 0; i < result->case_count; i++)
        print_case(&out, result, &result->cases[i], verbose);
    bench_report_published(result);
    print_list(out.file, "keep in mind", result);
    if (verbose)
        print_gates(out.file, result);
    print_lines(out.file, result);
    print_advice(out.file, result);
    out_close(&out, 0);
}

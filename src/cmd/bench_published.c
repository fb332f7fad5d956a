/* SPDX-License-Identifier: MIT */
/* Prints published tables with a column for this machine. */
#include <math.h>
#include <stdio.h>

#include "cmd/bench_report.h"
#include "cmd/bench_words.h"

static void print_number(struct out *out, const char *label, double number)
{
    out_figure(out, label, words_ratio(number).text);
}

/* -- kvtest --------------------------------------------------------------------------------- */

static void print_reads(struct out *out, const struct bench_case *question)
{
    out_table_begin(out, NULL, "\nmicroseconds a blob, published and here");
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_series *series = &question->series[i];
        out_row_begin(out);
        out_text(out, NULL, "kvtest arguments", series->label);
        for (size_t j = 0; j < BENCH_SYSTEMS; j++)
            print_number(out, bench_system_name(j), bench_published_us(series->published, j));
        print_number(out, "here",
                     words_is_measured(series) ? series->summary.median_us : (double)NAN);
        out_row_end(out);
    }
    out_table_end(out);
}

static void print_updates(struct out *out, const struct bench_case *question)
{
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_series *series = &question->series[i];
        out_row_begin(out);
        out_text(out, NULL, "kvtest arguments", series->label);
        out_text(out, NULL, "on disk", bench_durability_name(question->durability));
        print_number(out, "here",
                     words_is_measured(series) ? series->summary.median_us : (double)NAN);
        out_row_end(out);
    }
}

/* -- CSV ------------------------------------------------------------------------------------ */

static void print_seconds(struct out *out, const char *label, double seconds)
{
    out_real(out, NULL, label, seconds, 4);
}

static void print_csv(struct out *out, const struct bench_case *question)
{
    for (size_t i = 0; i < question->series_count; i++) {
        const struct bench_series *series = &question->series[i];
        out_row_begin(out);
        out_text(out, NULL, "operation", bench_workload_name(question->workload));
        out_text(out, NULL, "on", series->label);
        print_seconds(out, "published s",
                      bench_published_seconds(question->workload, series->published));
        print_seconds(out, "here s",
                      words_is_measured(series) ? series->summary.median_us / 1e6 : (double)NAN);
        out_row_end(out);
    }
}

static bool is_update(const struct bench_case *question)
{
    return question->workload == BENCH_KVTEST_UPDATE && !question->missing[0];
}

/* One table of all cases of a kind; nothing where there is none. */
static void print_all(struct out *out, const struct bench_result *result, const char *heading,
                      bool (*belongs)(const struct bench_case *question),
                      void (*print)(struct out *out, const struct bench_case *question))
{
    bool has_any = false;
    for (size_t i = 0; i < result->case_count; i++) {
        if (!belongs(&result->cases[i]))
            continue;
        if (!has_any)
            out_table_begin(out, NULL, heading);
        has_any = true;
        print(out, &result->cases[i]);
    }
    if (has_any)
        out_table_end(out);
}

void bench_report_published(const struct bench_result *result)
{
    struct out out;
    out_init(&out, false);
    for (size_t i = 0; i < result->case_count; i++)
        if (result->cases[i].workload == BENCH_KVTEST_READ && !result->cases[i].missing[0])
            print_reads(&out, &result->cases[i]);
    print_all(&out, result, "\nmicroseconds an update, here", is_update, print_updates);
    print_all(&out, result,
              "\nseconds for all records: published (of 100,000; none for the write) and here",
              words_is_csv, print_csv);
    out_close(&out, 0);
}

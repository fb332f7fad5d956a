/* SPDX-License-Identifier: MIT */
/* Prints what differs between two results of sqlpack bench. */
#include "bench/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/fields.h"
#include "cmd/bench_report.h"
#include "cmd/bench_words.h"

/* -- what they were measured on ------------------------------------------------------------- */

/* The value of a field as text; what varies from run to run by nature (loads) has none. */
static bool field_text(const struct field *field, const void *base, char *ret_text, size_t size)
{
    const void *at = (const char *)base + field->offset;
    switch (field->kind) {
    case FIELD_TEXT:
        snprintf(ret_text, size, "%s", (const char *)at);
        return true;
    case FIELD_WORD:
        snprintf(ret_text, size, "%s", field->word(*(const int *)at));
        return true;
    case FIELD_INT:
        snprintf(ret_text, size, "%d", *(const int *)at);
        return true;
    case FIELD_UINT32:
        snprintf(ret_text, size, "%" PRIu32, *(const uint32_t *)at);
        return true;
    case FIELD_UINT64:
        snprintf(ret_text, size, "%" PRIu64, *(const uint64_t *)at);
        return true;
    default:
        return false;
    }
}

static void print_differences(struct out *out, const struct field *fields, const void *a,
                              const void *b)
{
    for (; fields->kind != FIELD_END; fields++) {
        char before[400];
        char after[400];
        if (!field_text(fields, a, before, sizeof(before)) ||
            !field_text(fields, b, after, sizeof(after)) || strcmp(before, after) == 0)
            continue;
        out_row_begin(out);
        out_text(out, NULL, "measured on", fields->key);
        out_name(out, NULL, "before", before[0] ? before : "-");
        out_name(out, NULL, "after", after[0] ? after : "-");
        out_row_end(out);
    }
}

/* -- times and ratios ----------------------------------------------------------------------- */

static void print_change(struct out *out, const struct bench_case *a,
                         const struct bench_series *of_a, const struct bench_case *b,
                         const struct bench_series *of_b)
{
    struct bench_change change;
    if (bench_compare_series(a, of_a, b, of_b, &change) < 0) {
        out->is_out_of_memory = true;
        return;
    }
    out_row_begin(out);
    out_text(out, NULL, "code", of_a->label);
    out_figure(out, "before", words_us(of_a->summary.median_us).text);
    out_figure(out, "after", words_us(of_b->summary.median_us).text);
    out_figure(out, "ratio", words_ratio(change.ratio).text);
    out_figure(out, "interval", words_interval(&change.interval).text);
    out_text(out, NULL, "now", bench_change_name(change.kind));
    out_row_end(out);
}

static void print_effects(struct out *out, const struct bench_case *a, const struct bench_case *b)
{
    out_table_begin(out, NULL, NULL);
    for (size_t i = 0; i < a->effect_count; i++) {
        const struct bench_effect *before = &a->effects[i];
        const struct bench_effect *after = bench_find_effect(b, a, before);
        if (!after || before->pair == BENCH_OTHER)
            continue;
        out_row_begin(out);
        out_text(out, NULL, "pair", bench_pair_name(before->pair));
        out_text(out, NULL, "before", bench_effect_words(a, before).text);
        out_text(out, NULL, "after", bench_effect_words(b, after).text);
        out_text(out, NULL, "", before->verdict == after->verdict ? "" : "changed");
        out_row_end(out);
    }
    out_table_end(out);
}

static void print_case(struct out *out, const struct bench_case *a, const struct bench_case *b)
{
    fprintf(out->file, "\n%s\n", words_case(a).text);
    out_table_begin(out, NULL, NULL);
    for (size_t i = 0; i < a->series_count; i++) {
        const struct bench_series *of_b = bench_find_series(b, a->series[i].label);
        if (of_b)
            print_change(out, a, &a->series[i], b, of_b);
    }
    out_table_end(out);
    print_effects(out, a, b);
}

void bench_report_compare(const struct bench_result *a, const struct bench_result *b)
{
    struct out out;
    out_init(&out, false);
    out_table_begin(&out, NULL, NULL);
    print_differences(&out, fields_environment, &a->environment, &b->environment);
    print_differences(&out, fields_corpus, &a->corpus, &b->corpus);
    out_table_end(&out);
    for (size_t i = 0; i < a->case_count; i++) {
        const struct bench_case *other = bench_find_case(b, &a->cases[i]);
        if (other && !other->missing[0] && !a->cases[i].missing[0])
            print_case(&out, &a->cases[i], other);
    }
    out_close(&out, 0);
}

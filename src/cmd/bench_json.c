/* SPDX-License-Identifier: MIT */
/* Writes a benchmark's result as JSON, schema sqlpack-bench/1. */
#include <math.h>
#include <string.h>

#include "bench/fields.h"
#include "cmd/bench_file.h"
#include "cmd/bench_report.h"

#define DECIMALS 6

static void write_real(struct out *out, const char *key, double real)
{
    out_real(out, key, NULL, real, DECIMALS);
}

static void write_field(struct out *out, const struct field *field, const void *base)
{
    const void *at = (const char *)base + field->offset;
    switch (field->kind) {
    case FIELD_UINT64:
        out_count(out, field->key, NULL, *(const uint64_t *)at);
        break;
    case FIELD_UINT32:
        out_count(out, field->key, NULL, *(const uint32_t *)at);
        break;
    case FIELD_INT64:
        out_number(out, field->key, NULL, *(const int64_t *)at);
        break;
    case FIELD_INT:
        out_number(out, field->key, NULL, *(const int *)at);
        break;
    case FIELD_REAL:
        write_real(out, field->key, *(const double *)at);
        break;
    case FIELD_FLAG:
        out_flag(out, field->key, NULL, *(const bool *)at);
        break;
    case FIELD_TEXT:
        out_text(out, field->key, NULL, at);
        break;
    case FIELD_WORD:
        out_text(out, field->key, NULL, field->word(*(const int *)at));
        break;
    case FIELD_DIGEST:
        out_digest(out, field->key, NULL, at, SQLPACK_DIGEST_BYTES);
        break;
    case FIELD_END:
        break;
    }
}

static void write_fields(struct out *out, const struct field *fields, const void *base)
{
    for (; fields->kind != FIELD_END; fields++)
        write_field(out, fields, base);
}

static void write_group(struct out *out, const char *key, const struct field *fields,
                        const void *base)
{
    out_group_begin(out, key);
    write_fields(out, fields, base);
    out_group_end(out);
}

/* The buckets that hold something: where each lies, and how many it holds. */
static void write_hist(struct out *out, const struct hist *hist)
{
    out_group_begin(out, "hist");
    write_fields(out, fields_hist, hist);
    out_list_begin(out, "bucket_ns");
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        if (hist->buckets[i] > 0)
            out_count(out, "", NULL, hist_value(i));
    out_list_end(out);
    out_list_begin(out, "bucket_count");
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        if (hist->buckets[i] > 0)
            out_count(out, "", NULL, hist->buckets[i]);
    out_list_end(out);
    out_group_end(out);
}

static void write_series(struct out *out, const struct bench_case *question,
                         const struct bench_series *series)
{
    out_group_begin(out, "");
    write_fields(out, fields_series, series);
    out_text(out, "side", NULL, fields_side((int)series->arm->side));
    out_text(out, "arm", NULL, series->arm->name);
    out_text(out, "arm_summary", NULL, series->arm->summary ? series->arm->summary : "");
    out_text(out, "arm_calls", NULL, series->arm->calls ? series->arm->calls : "");
    write_group(out, "summary", fields_summary, &series->summary);
    write_group(out, "warm_up", fields_run, &series->warm_up);
    out_list_begin(out, "runs");
    for (size_t i = 0; series->runs && i < question->round_count; i++)
        write_group(out, "", fields_run, &series->runs[i]);
    out_list_end(out);
    if (series->hist)
        write_hist(out, series->hist);
    out_group_end(out);
}

static void write_case(struct out *out, const struct bench_case *question)
{
    out_group_begin(out, "");
    write_fields(out, fields_case, question);
    out_list_begin(out, "series");
    for (size_t i = 0; i < question->series_count; i++)
        write_series(out, question, &question->series[i]);
    out_list_end(out);
    out_list_begin(out, "effects");
    for (size_t i = 0; i < question->effect_count; i++)
        write_group(out, "", fields_effect, &question->effects[i]);
    out_list_end(out);
    out_group_end(out);
}

static void write_corpus(struct out *out, const struct bench_corpus *corpus)
{
    out_group_begin(out, "corpus");
    write_fields(out, fields_corpus, corpus);
    out_list_begin(out, "choices");
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        write_group(out, "", fields_choice, &corpus->choices[i]);
    out_list_end(out);
    out_group_end(out);
}

static void write_environment(struct out *out, const struct bench_environment *environment)
{
    const char *option;
    out_group_begin(out, "environment");
    write_fields(out, fields_environment, environment);
    out_list_begin(out, "sqlite_options");
    for (int i = 0; (option = bench_compile_option(i)) != NULL; i++)
        out_text(out, "", NULL, option);
    out_list_end(out);
    out_group_end(out);
}

static void write_judgement(struct out *out, const struct bench_result *result)
{
    const char *caveat;
    out_list_begin(out, "gates");
    for (size_t i = 0; i < BENCH_GATES; i++) {
        out_group_begin(out, "");
        out_text(out, "gate", NULL, bench_gate_name((enum bench_gate_id)i));
        write_fields(out, fields_gate, &result->gates[i]);
        out_group_end(out);
    }
    out_list_end(out);
    out_list_begin(out, "lines");
    for (size_t i = 0; i < BENCH_CRITERIA; i++) {
        out_group_begin(out, "");
        out_text(out, "criterion", NULL, bench_criterion_name((enum bench_criterion)i));
        write_fields(out, fields_line, &result->lines[i]);
        out_group_end(out);
    }
    out_list_end(out);
    out_list_begin(out, "caveats");
    for (size_t i = 0; (caveat = bench_caveat(i)) != NULL; i++)
        out_text(out, "", NULL, caveat);
    out_list_end(out);
}

void bench_json(struct out *out, const struct bench_result *result)
{
    out_begin(out);
    out_text(out, "schema", NULL, BENCH_SCHEMA);
    out_text(out, "sqlpack_version", NULL, sqlpack_version());
    out_list_begin(out, "arguments");
    for (int i = 0; i < result->argc; i++)
        out_text(out, "", NULL, result->argv[i]);
    out_list_end(out);
    write_fields(out, fields_result, result);
    write_environment(out, &result->environment);
    write_corpus(out, &result->corpus);
    write_judgement(out, result);
    out_list_begin(out, "notes");
    for (size_t i = 0; i < result->note_count; i++)
        out_text(out, "", NULL, result->notes[i]);
    out_list_end(out);
    out_list_begin(out, "cases");
    for (size_t i = 0; i < result->case_count; i++)
        write_case(out, &result->cases[i]);
    out_list_end(out);
    out_end(out);
}

int bench_write_json(const struct bench_result *result, const char *path, struct sqlpack_error *err)
{
    auto_release(bench_file_release) struct bench_file file;
    struct out out;
    if (bench_file_open(&file, err) < 0)
        return -1;
    out_init(&out, true);
    out.file = file.stream;
    bench_json(&out, result);
    out_close(&out, 0); /* JSON keeps nothing in memory that could be lost */
    return bench_file_publish(&file, path, err);
}

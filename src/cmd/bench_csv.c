/* SPDX-License-Identifier: MIT */
/* Writes every run of a benchmark as a line of CSV (RFC 4180). */
#include <inttypes.h>
#include <string.h>

#include "bench/fields.h"
#include "cmd/bench_file.h"
#include "cmd/bench_report.h"

/* The fields of a run that are columns, all but the flags and words between. */
static void write_run(FILE *stream, const struct bench_run *run)
{
    for (const struct field *field = fields_run; field->kind != FIELD_END; field++) {
        const void *at = (const char *)run + field->offset;
        if (field->kind == FIELD_UINT64)
            fprintf(stream, ",%" PRIu64, *(const uint64_t *)at);
        else if (field->kind == FIELD_FLAG)
            fprintf(stream, ",%d", *(const bool *)at);
        else if (field->kind == FIELD_REAL)
            fprintf(stream, ",%.3f", *(const double *)at);
        else
            fprintf(stream, ",%s", field->word(*(const int *)at));
    }
    fputc('\n', stream);
}

/* In quotes, which are doubled inside. */
static void write_quoted(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void write_line(FILE *stream, const struct bench_case *question,
                       const struct bench_series *series, int round, const struct bench_run *run)
{
    fprintf(stream, "%s,%s,%s,%u,", bench_workload_name(question->workload),
            bench_state_name(question->state), bench_durability_name(question->durability),
            question->threads);
    write_quoted(stream, series->label);
    fprintf(stream, ",%s,%s,%d", fields_side((int)series->arm->side),
            bench_layout_name(series->layout), round);
    write_run(stream, run);
}

static void write_head(FILE *stream)
{
    fputs("workload,state,durability,threads,label,side,layout,round", stream);
    for (const struct field *field = fields_run; field->kind != FIELD_END; field++)
        fprintf(stream, ",%s", field->key);
    fputc('\n', stream);
}

int bench_write_csv(const struct bench_result *result, const char *path, struct sqlpack_error *err)
{
    auto_release(bench_file_release) struct bench_file file;
    if (bench_file_open(&file, err) < 0)
        return -1;
    write_head(file.stream);
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        for (size_t j = 0; j < question->series_count; j++) {
            const struct bench_series *series = &question->series[j];
            if (series->missing[0] || !series->runs)
                continue;
            write_line(file.stream, question, series, 0, &series->warm_up);
            for (size_t k = 0; k < question->round_count; k++)
                write_line(file.stream, question, series, (int)k + 1, &series->runs[k]);
        }
    }
    return bench_file_publish(&file, path, err);
}

/* SPDX-License-Identifier: MIT */
/* How a benchmark's report writes times, shares, ratios and paragraphs. */
#include "cmd/bench_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"

/* Three digits that count. */
static struct text three_digits(double value, const char *unit)
{
    struct text text;
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(text.text, sizeof(text.text), "%.*f%s", decimals, value, unit);
    return text;
}

struct text words_us(double us)
{
    struct text none = {.text = "-"};
    if (!isfinite(us) || us < 0)
        return none;
    if (us < 0.9995)
        return three_digits(us * 1e3, " ns");
    if (us < 999.5)
        return three_digits(us, " us");
    return us < 999.5e3 ? three_digits(us / 1e3, " ms") : three_digits(us / 1e6, " s");
}

struct text words_ratio(double ratio)
{
    struct text none = {.text = "-"};
    return isfinite(ratio) && ratio > 0 ? three_digits(ratio, "") : none;
}

struct words words_interval(const struct stats_interval *interval)
{
    struct words text = {.text = "-"};
    if (isfinite(interval->low) && isfinite(interval->high))
        snprintf(text.text, sizeof(text.text), "%s-%s", words_ratio(interval->low).text,
                 words_ratio(interval->high).text);
    return text;
}

struct words words_case(const struct bench_case *question)
{
    struct words words;
    const char *state = bench_state_name(question->state);
    const char *durability = bench_durability_name(question->durability);
    char threads[32] = "";
    char batch[40] = "";
    if (question->threads > 1)
        snprintf(threads, sizeof(threads), ", %u threads", question->threads);
    if (question->batch > 1)
        snprintf(batch, sizeof(batch), ", %" PRIu64 " a transaction", question->batch);
    snprintf(words.text, sizeof(words.text), "%s%s%s%s%s%s%s",
             bench_workload_name(question->workload), state[0] ? ", " : "", state,
             durability[0] ? ", " : "", durability, batch, threads);
    return words;
}

bool words_is_measured(const struct bench_series *series)
{
    return !series->missing[0] && series->summary.round_count > 0;
}

bool words_is_csv(const struct bench_case *question)
{
    return question->workload >= BENCH_CSV_WRITE && question->workload <= BENCH_CSV_QUERY &&
           !question->missing[0];
}

/* Prints as many words as fit behind `column`; returns what is left of the text. */
static const char *print_line(FILE *file, const char *text, size_t room)
{
    size_t size = strlen(text);
    if (size > room) {
        size = room;
        while (size > 0 && text[size] != ' ')
            size--;
        if (size == 0) /* one long word */
            size = strcspn(text, " ");
    }
    fprintf(file, "%.*s\n", (int)size, text);
    text += size;
    return text + strspn(text, " ");
}

void words_paragraph(FILE *file, const char *label, int indent, const char *text)
{
    size_t room = WORDS_COLUMNS - (size_t)indent;
    fprintf(file, "%-*s", indent, label);
    do {
        text = print_line(file, text, room);
        if (*text)
            fprintf(file, "%*s", indent, "");
    } while (*text);
}

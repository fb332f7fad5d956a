/* SPDX-License-Identifier: MIT */
/* Draws one line a criterion and the advice from the verdicts of the cases. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "bench/judge.h"

#define SPACE_PERCENT 10.0 /* of the tree's blocks, that a move must free */
#define INODE_PERCENT 50.0 /* of all inodes, that the tree takes, do as well */
#define LEAD_MAX      1.25 /* by which files may be faster in a row, still to migrate */
#define MIB           1048576.0
#define LOST_ROWS     2 /* in which files are faster, to stay */

/* -- texts of one case ---------------------------------------------------------------------- */

/* Appends to a text of fixed size; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* The effect of a pair, or NULL. */
static const struct bench_effect *find_pair(const struct bench_case *question, enum bench_pair pair)
{
    for (size_t i = 0; i < question->effect_count; i++)
        if (question->effects[i].pair == pair)
            return &question->effects[i];
    return NULL;
}

/* "pack faster x1.93" or, for lines of many cases, "pack x1.93". */
static struct bench_words lead_words(bool brief, enum bench_verdict verdict, double lead)
{
    struct bench_words words = bench_lead_words(verdict, lead);
    struct bench_words figure = words;
    if (!brief)
        return words;
    snprintf(words.text, sizeof(words.text), "%s %s",
             verdict == BENCH_PACK_FASTER ? "pack" : "files", strrchr(figure.text, 'x'));
    return words;
}

static struct bench_words pair_words(bool brief, const struct bench_case *question,
                                     const struct bench_effect *effect)
{
    struct bench_words words = {.text = "no verdict"};
    if (effect->verdict == BENCH_PACK_FASTER || effect->verdict == BENCH_FILES_FASTER)
        return lead_words(brief, effect->verdict, bench_lead(effect));
    if (!brief)
        return bench_effect_words(question, effect);
    if (effect->verdict != BENCH_NO_VERDICT)
        snprintf(words.text, sizeof(words.text), "%s",
                 effect->verdict == BENCH_INCONCLUSIVE ? "inconclusive" : "no difference");
    return words;
}

/* What both pairs say: once where it is the same, as a range where it has a figure. */
static struct bench_words case_words(bool brief, const struct bench_case *question)
{
    const struct bench_effect *drop_in = find_pair(question, BENCH_DROP_IN);
    const struct bench_effect *best = find_pair(question, BENCH_BEST);
    struct bench_words words = {.text = "no verdict"};
    if (!drop_in || !best)
        return drop_in || best ? pair_words(brief, question, drop_in ? drop_in : best) : words;
    if (drop_in->verdict != best->verdict) {
        snprintf(words.text, sizeof(words.text), "drop-in ");
        append(words.text, sizeof(words.text), "%s", pair_words(brief, question, drop_in).text);
        append(words.text, sizeof(words.text), ", best %s", pair_words(brief, question, best).text);
    } else if (drop_in->verdict == BENCH_PACK_FASTER || drop_in->verdict == BENCH_FILES_FASTER) {
        double less = fmin(bench_lead(drop_in), bench_lead(best));
        double more = fmax(bench_lead(drop_in), bench_lead(best));
        struct bench_words end = bench_lead_words(drop_in->verdict, more);
        words = lead_words(brief, drop_in->verdict, less);
        if (strcmp(strrchr(words.text, 'x'), strrchr(end.text, 'x')) != 0)
            append(words.text, sizeof(words.text), " to %s", strrchr(end.text, 'x'));
    } else {
        return pair_words(brief, question, drop_in);
    }
    return words;
}

/* By how much files are faster in a case, in the worse of its pairs; 0: they are not. */
static double files_lead(const struct bench_case *question)
{
    double lead = 0;
    for (size_t i = 0; question->verdict == BENCH_FILES_FASTER && i < question->effect_count; i++) {
        const struct bench_effect *effect = &question->effects[i];
        if (effect->pair == BENCH_DROP_IN || effect->pair == BENCH_BEST)
            lead = fmax(lead, effect->verdict == BENCH_FILES_FASTER ? bench_lead(effect) : 0);
    }
    return lead;
}

/* -- lines ---------------------------------------------------------------------------------- */

static enum bench_verdict both(enum bench_verdict a, enum bench_verdict b)
{
    if (a == BENCH_NO_VERDICT || a == b)
        return b;
    if (b == BENCH_NO_VERDICT)
        return a;
    return a == BENCH_INCONCLUSIVE || b == BENCH_INCONCLUSIVE ? BENCH_INCONCLUSIVE : BENCH_DEPENDS;
}

static void take_verdict(struct bench_line *line, const struct bench_case *question)
{
    line->verdict = both(line->verdict, question->verdict);
    line->is_known = line->is_known || question->verdict != BENCH_NO_VERDICT;
}

/* Adds what a case says to a line; `label` tells it from the line's other cases. */
static void add_case(struct bench_line *line, const struct bench_case *question, const char *label)
{
    if (question->missing[0])
        return;
    append(line->text, sizeof(line->text), "%s%s%s%s", line->text[0] ? "; " : "", label,
           label[0] ? ": " : "", case_words(false, question).text);
    take_verdict(line, question);
}

static bool is_random_read(const struct bench_case *question, enum bench_workload workload)
{
    return question->workload == workload && question->threads <= 1 && !question->missing[0];
}

/* The user's own order of reads counts, where there is one; else the random one. */
static void judge_random_reads(struct bench_result *result, bool cold, struct bench_line *line)
{
    static const enum bench_workload workloads[] = {BENCH_READ_REPLAY, BENCH_READ_RANDOM};
    for (size_t i = 0; i < 2 && !line->text[0]; i++)
        for (size_t j = 0; j < result->case_count && !line->text[0]; j++) {
            const struct bench_case *question = &result->cases[j];
            if (is_random_read(question, workloads[i]) && bench_is_cold(question) == cold)
                add_case(line, question, workloads[i] == BENCH_READ_REPLAY ? "replayed" : "");
        }
}

static void judge_full_reads(struct bench_result *result, struct bench_line *line)
{
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        bool counts = result->use == BENCH_USE_MIXED ||
                      bench_is_cold(question) == (result->use == BENCH_USE_COLD);
        if (question->workload == BENCH_READ_ALL && counts)
            add_case(line, question, bench_state_name(question->state));
    }
}

/* Adds ", create pack x5.37" to a line of many cases. */
static void add_briefly(struct bench_line *line, const struct bench_case *question,
                        const char *separator)
{
    append(line->text, sizeof(line->text), "%s%s %s", separator,
           bench_workload_name(question->workload), case_words(true, question).text);
    take_verdict(line, question);
}

static void judge_metadata(struct bench_result *result, struct bench_line *line)
{
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        if (question->workload >= BENCH_FILTER_SIZE && question->workload <= BENCH_LIST &&
            !bench_is_cold(question) && !question->missing[0])
            add_briefly(line, question, line->text[0] ? ", " : "");
    }
}

/* "; no sync: create pack x5.37, overwrite files x4.75": the cases of one class. */
static void judge_class(const struct bench_result *result, enum bench_durability durability,
                        struct bench_line *line)
{
    bool has_label = false;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        if (question->workload < BENCH_WRITE_CREATE || question->workload > BENCH_WRITE_DELETE ||
            question->durability != durability || question->missing[0])
            continue;
        if (!has_label)
            append(line->text, sizeof(line->text), "%s%s: ", line->text[0] ? "; " : "",
                   bench_durability_name(durability));
        add_briefly(line, question, has_label ? ", " : "");
        has_label = true;
    }
}

static void judge_writes(struct bench_result *result, struct bench_line *line)
{
    for (int i = BENCH_SYNC_NONE; i <= BENCH_SYNC_EACH; i++)
        judge_class(result, (enum bench_durability)i, line);
}

static void judge_threads(struct bench_result *result, struct bench_line *line)
{
    for (size_t i = 0; i < result->case_count; i++) {
        char label[32];
        snprintf(label, sizeof(label), "%u threads", result->cases[i].threads);
        if (result->cases[i].threads > 1)
            add_case(line, &result->cases[i], label);
    }
}

/* -- space ---------------------------------------------------------------------------------- */

void bench_space(const struct bench_corpus *corpus, struct bench_freed *ret_freed)
{
    double tree = (double)corpus->tree_allocated_bytes;
    ret_freed->high_bytes = tree - (double)corpus->pack_allocated_bytes;
    ret_freed->low_bytes = ret_freed->high_bytes - (double)corpus->folder_allocated_bytes;
    ret_freed->low_percent = tree > 0 ? 100 * ret_freed->low_bytes / tree : 0;
    ret_freed->high_percent = tree > 0 ? 100 * ret_freed->high_bytes / tree : 0;
}

/* "29.9 to 30.0", once where both show the same. */
static struct bench_words range_words(double low, double high)
{
    struct bench_words words;
    char text[48];
    snprintf(words.text, sizeof(words.text), "%.1f", low);
    snprintf(text, sizeof(text), "%.1f", high);
    if (strcmp(words.text, text) != 0)
        append(words.text, sizeof(words.text), " to %s", text);
    return words;
}

static void judge_space(const struct bench_corpus *corpus, struct bench_line *line)
{
    struct bench_freed freed;
    if (corpus->tree_allocated_bytes == 0 || corpus->pack_allocated_bytes == 0)
        return;
    bench_space(corpus, &freed);
    line->is_known = true;
    snprintf(line->text, sizeof(line->text), "frees ");
    append(line->text, sizeof(line->text), "%s %% of %.1f MiB",
           range_words(freed.low_percent, freed.high_percent).text,
           (double)corpus->tree_allocated_bytes / MIB);
    append(line->text, sizeof(line->text), " (%s MiB) and %llu inodes",
           range_words(freed.low_bytes / MIB, freed.high_bytes / MIB).text,
           (unsigned long long)corpus->tree_inode_count);
}

/* -- advice --------------------------------------------------------------------------------- */

static const enum bench_criterion read_rows[] = {BENCH_ON_READ_WARM, BENCH_ON_READ_COLD,
                                                 BENCH_ON_READ_ALL};
#define READ_ROWS (sizeof(read_rows) / sizeof(*read_rows))

/* Whether a row decides, for the way of reading that the user declared. */
static bool decides(const struct bench_result *result, enum bench_criterion row)
{
    return !(row == BENCH_ON_READ_WARM && result->use == BENCH_USE_COLD) &&
           !(row == BENCH_ON_READ_COLD && result->use == BENCH_USE_WARM);
}

/* By how much files are faster in the worst case of a row. */
static double row_lead(const struct bench_result *result, enum bench_criterion row)
{
    double lead = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct bench_case *question = &result->cases[i];
        bool cold = bench_is_cold(question);
        bool fits =
            row == BENCH_ON_READ_ALL
                ? question->workload == BENCH_READ_ALL &&
                      (result->use == BENCH_USE_MIXED || cold == (result->use == BENCH_USE_COLD))
                : question->threads <= 1 && cold == (row == BENCH_ON_READ_COLD) &&
                      (question->workload == BENCH_READ_RANDOM ||
                       question->workload == BENCH_READ_REPLAY);
        if (fits)
            lead = fmax(lead, files_lead(question));
    }
    return lead;
}

/* What the rows of reads say together. */
struct rows {
    size_t lost;    /* files are faster */
    size_t barred;  /* and by more than LEAD_MAX, in one case of the row */
    size_t missing; /* decide, and have no verdict */
};

static struct rows count_rows(const struct bench_result *result)
{
    struct rows rows = {0};
    for (size_t i = 0; i < READ_ROWS; i++) {
        const struct bench_line *line = &result->lines[read_rows[i]];
        if (!decides(result, read_rows[i]))
            continue;
        rows.missing += line->verdict == BENCH_NO_VERDICT;
        rows.lost += line->verdict == BENCH_FILES_FASTER;
        rows.barred += row_lead(result, read_rows[i]) > LEAD_MAX;
    }
    return rows;
}

static void add_reason(struct bench_result *result, enum bench_criterion row, const char *what)
{
    append(result->reason, sizeof(result->reason), "%s%s %s", result->reason[0] ? "; " : "",
           bench_criterion_name(row), what);
}

static void add_row(struct bench_result *result, enum bench_criterion row)
{
    const struct bench_line *line = &result->lines[row];
    double lead = row_lead(result, row);
    char what[96];
    if (!line->is_known)
        snprintf(what, sizeof(what), "not measured");
    else if (lead > 0)
        snprintf(what, sizeof(what), "%s, by up to x%.2f", bench_verdict_name(line->verdict), lead);
    else
        snprintf(what, sizeof(what), "%s", bench_verdict_name(line->verdict));
    add_reason(result, row, what);
}

/* The rows that decided: space, and the reads that went one way or the other. */
static void give_reasons(struct bench_result *result)
{
    struct bench_freed freed;
    char what[300];
    bench_space(&result->corpus, &freed);
    snprintf(what, sizeof(what), "%s %% freed",
             range_words(freed.low_percent, freed.high_percent).text);
    result->reason[0] = '\0';
    add_reason(result, BENCH_ON_SPACE, what);
    for (size_t i = 0; i < READ_ROWS; i++)
        if (decides(result, read_rows[i]))
            add_row(result, read_rows[i]);
}

static enum bench_advice advise(const struct bench_result *result)
{
    struct bench_freed freed;
    struct rows rows = count_rows(result);
    bench_space(&result->corpus, &freed);
    bool is_smaller =
        freed.low_percent >= SPACE_PERCENT || result->corpus.inode_percent > INODE_PERCENT;
    if (is_smaller && rows.barred == 0 && rows.missing == 0)
        return BENCH_MIGRATE;
    if (rows.lost >= LOST_ROWS && freed.high_percent < SPACE_PERCENT)
        return BENCH_STAY;
    return BENCH_TRADE_OFF;
}

/* Returns whether a gate failed; its words are then the reason. */
static bool is_withheld(struct bench_result *result)
{
    result->reason[0] = '\0';
    for (size_t i = 0; i < BENCH_GATES; i++)
        if (result->gates[i].outcome == BENCH_FAILED)
            append(result->reason, sizeof(result->reason), "%s%s: %s",
                   result->reason[0] ? "; " : "", bench_gate_name((enum bench_gate_id)i),
                   result->gates[i].detail);
    return result->reason[0];
}

void judge_lines(struct bench_result *result)
{
    memset(result->lines, 0, sizeof(result->lines));
    judge_space(&result->corpus, &result->lines[BENCH_ON_SPACE]);
    judge_random_reads(result, false, &result->lines[BENCH_ON_READ_WARM]);
    judge_random_reads(result, true, &result->lines[BENCH_ON_READ_COLD]);
    judge_full_reads(result, &result->lines[BENCH_ON_READ_ALL]);
    judge_metadata(result, &result->lines[BENCH_ON_METADATA]);
    judge_writes(result, &result->lines[BENCH_ON_WRITE]);
    judge_threads(result, &result->lines[BENCH_ON_THREADS]);
    bool has_reads = false;
    for (size_t i = 0; i < READ_ROWS; i++)
        has_reads = has_reads || result->lines[read_rows[i]].is_known;
    if (is_withheld(result)) {
        result->advice = BENCH_WITHHELD;
    } else if (!has_reads) {
        result->advice = BENCH_NO_ADVICE;
    } else {
        result->advice = advise(result);
        give_reasons(result);
    }
}

int bench_judge(struct bench_result *result, struct sqlpack_error *err)
{
    (void)err;
    for (size_t i = 0; i < result->case_count; i++) {
        struct bench_case *question = &result->cases[i];
        for (size_t j = 0; j < question->series_count; j++)
            summarize(question, &question->series[j]);
        for (size_t j = 0; j < question->effect_count; j++)
            compare_series(question, result->seed, &question->effects[j]);
        question->verdict = case_verdict(question);
    }
    judge_gates(result);
    judge_lines(result);
    return 0;
}

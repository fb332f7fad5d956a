/* SPDX-License-Identifier: MIT */
/* The words of verdicts, gates and caveats, fixed before anything is measured. */
#include <string.h>

#include "bench/judge.h"

static const char *const verdicts[] = {
    [BENCH_NO_VERDICT] = "no verdict",     [BENCH_PACK_FASTER] = "pack faster",
    [BENCH_FILES_FASTER] = "files faster", [BENCH_NO_DIFFERENCE] = "no practical difference",
    [BENCH_INCONCLUSIVE] = "inconclusive", [BENCH_DEPENDS] = "depends on how the application reads",
};

static const char *const pairs[] = {
    [BENCH_DROP_IN] = "drop-in", [BENCH_BEST] = "best",   [BENCH_AA] = "A/A",
    [BENCH_ROW] = "row",         [BENCH_OTHER] = "other",
};

static const char *const gates[BENCH_GATES] = {
    [BENCH_GATE_CONTENT] = "content", [BENCH_GATE_RESULTS] = "results",
    [BENCH_GATE_AA] = "A/A",          [BENCH_GATE_LOAD] = "load",
    [BENCH_GATE_STEAL] = "steal",     [BENCH_GATE_PRESSURE] = "pressure",
    [BENCH_GATE_CLOCK] = "clock",     [BENCH_GATE_CACHE] = "cache",
    [BENCH_GATE_CHANGE] = "change",
};

static const char *const criteria[BENCH_CRITERIA] = {
    [BENCH_ON_SPACE] = "SPACE",
    [BENCH_ON_READ_WARM] = "RANDOM READ warm",
    [BENCH_ON_READ_COLD] = "RANDOM READ cold",
    [BENCH_ON_READ_ALL] = "FULL READ",
    [BENCH_ON_METADATA] = "METADATA",
    [BENCH_ON_WRITE] = "WRITE",
    [BENCH_ON_THREADS] = "THREADS",
};

static const char *const advices[] = {
    [BENCH_NO_ADVICE] = "none", [BENCH_WITHHELD] = "VERDICT WITHHELD", [BENCH_MIGRATE] = "MIGRATE",
    [BENCH_STAY] = "STAY",      [BENCH_TRADE_OFF] = "TRADE-OFF",
};

static const char *const caveats[] = {
    "results hold for this machine, file system, kernel and SQLite build only",
    "warm numbers measure the page cache, not the disk",
    "cold keeps folders and inodes in the cache, which favours files; in a virtual machine the "
    "host's cache may answer cold reads",
    "the pack is fresh, the tree may be aged; synthetic data is fresh on both sides",
    "a closed loop with one client a thread: service times, not response times under load",
    "a read by path in a statement of its own costs about twice one of many in a transaction",
    "durability classes are not interchangeable: compare only within one",
    "freed bytes assume no snapshots, reflinks or hard links from outside; ext4 does not give "
    "inode space back",
    "SQLite's mmap is capped by its build and turns I/O errors into SIGBUS",
    "a pack is no answer where many processes write, where tools need real paths, on network file "
    "systems, or for files above 1 GB",
    "not measured: sendfile, permissions, backup and rsync deltas, recovery of a damaged pack",
};

const char *bench_verdict_name(enum bench_verdict verdict)
{
    return verdicts[verdict];
}

const char *bench_pair_name(enum bench_pair pair)
{
    return pairs[pair];
}

const char *bench_gate_name(enum bench_gate_id gate)
{
    return gates[gate];
}

const char *bench_criterion_name(enum bench_criterion criterion)
{
    return criteria[criterion];
}

const char *bench_advice_name(enum bench_advice advice)
{
    return advices[advice];
}

const char *bench_caveat(size_t index)
{
    return index < sizeof(caveats) / sizeof(*caveats) ? caveats[index] : NULL;
}

double bench_lead(const struct bench_effect *effect)
{
    return effect->ratio < 1 && effect->ratio > 0 ? 1 / effect->ratio : effect->ratio;
}

struct bench_words bench_lead_words(enum bench_verdict verdict, double lead)
{
    struct bench_words words;
    int decimals = lead < 9.995 ? 2 : lead < 99.95 ? 1 : 0;
    snprintf(words.text, sizeof(words.text), "%s x%.*f", verdicts[verdict], decimals, lead);
    return words;
}

/* Why there is none. */
static const char *no_verdict(const struct bench_case *question, const struct bench_effect *effect)
{
    if (question->results_differ)
        return "results differ";
    if (effect->round_count > 0)
        return "too short";
    bool is_unproven = bench_add_up(question, &question->series[effect->files]).unproven > 0 ||
                       bench_add_up(question, &question->series[effect->pack]).unproven > 0;
    return is_unproven ? "cache not proven" : "not measured";
}

/* Pairs for information may have two arms of one side, or the control: then labels speak. */
static bool is_between_sides(const struct bench_series *files, const struct bench_series *pack)
{
    return !files->arm || !pack->arm ||
           (files->arm->side == BENCH_FILES && pack->arm->side == BENCH_PACK);
}

struct bench_words bench_effect_words(const struct bench_case *question,
                                      const struct bench_effect *effect)
{
    struct bench_words words;
    const char *name = verdicts[effect->verdict];
    size_t more = 2 * question->round_count;
    if (effect->verdict == BENCH_PACK_FASTER || effect->verdict == BENCH_FILES_FASTER) {
        const struct bench_series *files = &question->series[effect->files];
        const struct bench_series *pack = &question->series[effect->pack];
        const char *faster = effect->verdict == BENCH_PACK_FASTER ? pack->label : files->label;
        words = bench_lead_words(effect->verdict, bench_lead(effect));
        if (is_between_sides(files, pack))
            return words;
        struct bench_words named;
        snprintf(named.text, sizeof(named.text), "%s faster %s", faster, strrchr(words.text, 'x'));
        return named;
    }
    if (effect->verdict == BENCH_INCONCLUSIVE)
        snprintf(words.text, sizeof(words.text), "%s, try --rounds %zu", name,
                 more > STATS_VALUES_MAX ? STATS_VALUES_MAX : more);
    else
        snprintf(words.text, sizeof(words.text), "%s",
                 effect->verdict == BENCH_NO_VERDICT ? no_verdict(question, effect) : name);
    return words;
}

/* SPDX-License-Identifier: MIT */
/* Which fields of a result stand in its JSON. */
#include "bench/fields.h"

const char *fields_side(int side)
{
    static const char *const names[] = {
        [BENCH_FILES] = "files", [BENCH_PACK] = "pack", [BENCH_CONTROL] = "control"};
    return names[side];
}

static const char *use(int value)
{
    static const char *const names[] = {
        [BENCH_USE_MIXED] = "mixed", [BENCH_USE_WARM] = "warm", [BENCH_USE_COLD] = "cold"};
    return names[value];
}

static const char *outcome(int value)
{
    static const char *const names[] = {
        [BENCH_NOT_KNOWN] = "not known", [BENCH_PASSED] = "passed", [BENCH_FAILED] = "failed"};
    return names[value];
}

static const char *proof(int value)
{
    static const char *const names[] = {[BENCH_UNVERIFIED] = "unverified",
                                        [BENCH_BY_CACHESTAT] = "cachestat",
                                        [BENCH_BY_MINCORE] = "mincore",
                                        [BENCH_BY_READS] = "no reads"};
    return names[value];
}

static const char *published(int value)
{
    static const char *const names[] = {
        [BENCH_NOT_PUBLISHED] = "",
        [BENCH_KV_DIRECT] = "direct",
        [BENCH_KV_PLAIN] = "plain",
        [BENCH_KV_BLOB] = "blob",
        [BENCH_KV_BLOB_RANDOM] = "blob random",
        [BENCH_KV_MMAP] = "mmap",
        [BENCH_KV_MMAP_BLOB_RANDOM] = "mmap blob random",
        [BENCH_CSV_SQLITE] = "SQLite",
        [BENCH_CSV_FILE] = "CSV file",
    };
    return names[value];
}

/* The names of bench.h take their own enums. */
#define WORDS(name)                                                                                \
    static const char *name(int value)                                                             \
    {                                                                                              \
        return bench_##name##_name((enum bench_##name)value);                                      \
    }
WORDS(workload)
WORDS(state)
WORDS(durability)
WORDS(layout)
WORDS(preset)
WORDS(verdict)
WORDS(pair)
WORDS(advice)

// clang-format off
#define AT(field)     .offset = offsetof(struct OWNER, field)
#define U64(field)    {.key = #field, .kind = FIELD_UINT64, AT(field)}
#define U32(field)    {.key = #field, .kind = FIELD_UINT32, AT(field)}
#define I64(field)    {.key = #field, .kind = FIELD_INT64, AT(field)}
#define INT(field)    {.key = #field, .kind = FIELD_INT, AT(field)}
#define REAL(field)   {.key = #field, .kind = FIELD_REAL, AT(field)}
#define FLAG(field)   {.key = #field, .kind = FIELD_FLAG, AT(field)}
#define TEXT(field)   {.key = #field, .kind = FIELD_TEXT, AT(field), \
                       .size = sizeof(((struct OWNER *)0)->field)}
#define WORD(field, words, last) \
                      {.key = #field, .kind = FIELD_WORD, AT(field), .size = (last) + 1, .word = (words)}
#define PART(name, field) {.key = (name), .kind = FIELD_REAL, AT(field)}
#define END           {.kind = FIELD_END}

#define OWNER bench_result
const struct field fields_result[] = {
    WORD(preset, preset, BENCH_PRESET_CSV), WORD(use, use, BENCH_USE_COLD), U64(seed),
    U64(round_count), I64(started), I64(ended), U64(clock_ns), U64(overhead_ns),
    WORD(advice, advice, BENCH_TRADE_OFF), TEXT(reason), END,
};
#undef OWNER

#define OWNER bench_environment
const struct field fields_environment[] = {
    TEXT(kernel), TEXT(machine), TEXT(processor), INT(processor_count), TEXT(governor),
    TEXT(boost), TEXT(smt), TEXT(virtualisation), TEXT(clock_source), TEXT(mitigations),
    REAL(memory_total_bytes), REAL(memory_available_bytes), TEXT(file_system), TEXT(mount_point),
    TEXT(mount_options), TEXT(mounted_file_system), REAL(block_bytes), REAL(free_percent), TEXT(device), TEXT(device_model),
    TEXT(scheduler), INT(is_rotational), INT(read_ahead_kib), REAL(load_start), REAL(load_end),
    REAL(steal_percent), REAL(psi_some_percent), TEXT(sqlite_version), TEXT(sqlite_source),
    TEXT(pragmas), END,
};
#undef OWNER

#define OWNER bench_corpus
const struct field fields_corpus[] = {
    U64(file_count), U64(bytes), U64(entry_count), U64(folder_count), U64(empty_count),
    U64(chunked_count), U64(chunked_bytes), U64(inflated_count), U64(size_min), U64(size_p10), U64(size_p50),
    U64(size_p90), U64(size_p99), U64(size_max), U32(depth), FLAG(is_synthetic),
    FLAG(pack_is_scratch), {.key = "digest", .kind = FIELD_DIGEST, AT(digest)},
    U64(tree_allocated_bytes), U64(padding_bytes), U64(folder_allocated_bytes),
    U64(tree_inode_count), REAL(inode_percent), U64(pack_bytes), U64(pack_allocated_bytes),
    U32(page_bytes), END,
};
#undef OWNER

#define OWNER sqlpack_page_choice
const struct field fields_choice[] = {
    U32(page_bytes), REAL(entry_bytes), REAL(read_us), REAL(read_pages), END,
};
#undef OWNER

#define OWNER bench_gate
const struct field fields_gate[] = {
    WORD(outcome, outcome, BENCH_FAILED), TEXT(detail), END,
};
#undef OWNER

#define OWNER bench_case
const struct field fields_case[] = {
    WORD(workload, workload, BENCH_WORKLOADS - 1), WORD(state, state, BENCH_STATELESS),
    WORD(durability, durability, BENCH_SYNC_EACH), U32(threads), U64(batch), U64(wanted_ops),
    U64(match_count), TEXT(missing), FLAG(results_differ), U64(round_count),
    WORD(verdict, verdict, BENCH_DEPENDS), END,
};
#undef OWNER

#define OWNER bench_series
const struct field fields_series[] = {
    TEXT(label), WORD(layout, layout, BENCH_LAYOUTS - 1),
    WORD(published, published, BENCH_CSV_FILE), TEXT(missing), END,
};
#undef OWNER

#define OWNER bench_run
const struct field fields_run[] = {
    FLAG(is_done), U64(op_count), U64(bytes), U64(elapsed_ns), U64(setup_ns), U64(sum),
    U64(user_ns), U64(system_ns), U64(minor_faults), U64(major_faults), U64(voluntary_switches),
    U64(involuntary_switches), U64(read_calls), U64(write_calls), U64(storage_read_bytes),
    U64(storage_write_bytes), U64(mapped_bytes), REAL(resident_percent),
    WORD(proof, proof, BENCH_BY_READS), FLAG(is_proven), END,
};
#undef OWNER

#define OWNER bench_summary
const struct field fields_summary[] = {
    U64(round_count), REAL(median_us), REAL(min_us), REAL(max_us), REAL(mad_us), REAL(cv),
    REAL(p50_us), REAL(p90_us), REAL(p99_us), REAL(p999_us), REAL(max_op_us),
    REAL(bytes_per_second), REAL(slope_percent), U64(outlier_count), FLAG(is_too_short),
    FLAG(has_drift), END,
};
#undef OWNER

#define OWNER bench_effect
const struct field fields_effect[] = {
    WORD(pair, pair, BENCH_OTHER), U64(files), U64(pack), U64(round_count), REAL(ratio),
    PART("interval_low", interval.low), PART("interval_high", interval.high),
    PART("interval_coverage", interval.coverage), REAL(mean_ratio),
    PART("bootstrap_low", bootstrap.low), PART("bootstrap_high", bootstrap.high),
    PART("bootstrap_coverage", bootstrap.coverage), WORD(verdict, verdict, BENCH_DEPENDS), END,
};
#undef OWNER

#define OWNER bench_line
const struct field fields_line[] = {
    FLAG(is_known), WORD(verdict, verdict, BENCH_DEPENDS), TEXT(text), END,
};
#undef OWNER

#define OWNER hist
const struct field fields_hist[] = {
    U64(count), U64(sum), U64(min), U64(max), END,
};
#undef OWNER
// clang-format on

_Static_assert(sizeof(size_t) == sizeof(uint64_t) && sizeof(unsigned) == sizeof(uint32_t) &&
                   sizeof(enum bench_verdict) == sizeof(int),
               "sizes are written as 64 bits, enums as int");

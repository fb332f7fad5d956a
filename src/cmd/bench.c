/* SPDX-License-Identifier: MIT */
/* sqlpack bench: times the same work on files and in a pack, and says which is faster here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/load.h"
#include "cli/notice.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cmd/bench_report.h"
#include "cmd/cmd.h"
#include "util/auto.h"

#define SECOND       1000000000u
#define ROUNDS_MAX   STATS_VALUES_MAX
#define WITHHELD_BAD 3 /* with --strict */
#define PROGRAM      "/proc/self/exe"

static const char *const presets[] = {"default", "quick", "full", "kvtest", "csv", NULL};
static const char *const uses[] = {"mixed", "warm", "cold", NULL};
static const char *const layouts[] = {"asis", "flat", "fanout", "fresh"};

/* What the options fill, before it is judged. */
struct request {
    struct opt_common common;
    struct bench_options options;
    int preset, use;
    const char *synthetic, *layout, *replot, *csv, *html, *json_file;
    int64_t rounds, seed, budget_seconds, batch;
    bool compare, strict;
};

static int parse(const struct command *self, struct request *request, int argc, char **argv,
                 int *ret_status)
{
    struct bench_options *options = &request->options;
    // clang-format off
    const struct opt opts[] = {
        OPT_HEAD("What is measured:"),
        OPT_TEXT(0, "synthetic", "SPEC", &request->synthetic,
                 "files of random content instead of DIR: N:uniform:A-B, N:lognormal:MEDIAN:SIGMA "
                 "or N:fixed:SIZE"),
        OPT_CHOICE(0, "preset", "NAME", &request->preset, presets,
                   "quick (half a minute), default (three), full, kvtest or csv"),
        OPT_TEXT(0, "layout", "LIST", &request->layout,
                 "the files as they are and in copies: asis,flat,fanout,fresh (default: asis)"),
        OPT_TEXT(0, "mount", "FOLDER", &options->mount,
                 "read in FOLDER too, where the pack is mounted by FUSE or otherwise"),
        OPT_TEXT(0, "replay", "LOG", &options->replay,
                 "read what LOG names, in its order: a path a line, or a web server's log"),
        OPT_FLAG(0, "drop-caches", &options->drop_caches,
                 "measure with all caches dropped too; slows the whole machine down, needs root"),
        OPT_HEAD("How:"),
        OPT_NUMBER(0, "rounds", "N", &request->rounds, 1, ROUNDS_MAX,
                   "repeat everything N times (default: 15, or 11)"),
        OPT_NUMBER(0, "budget", "SECONDS", &request->budget_seconds, 1, 1000000,
                   "take about so long"),
        OPT_NUMBER(0, "seed", "N", &request->seed, 1, INT64_MAX,
                   "draw the same orders as an earlier run"),
        OPT_NUMBER(0, "batch", "N", &request->batch, 1, 1000000,
                   "synced writes: N a transaction (default: 1)"),
        OPT_TEXT(0, "scratch", "FOLDER", &options->scratch,
                 "make the pack and copies there (default: beside DIR)"),
        OPT_FLAG(0, "allow-cross-fs", &options->cross_file_system,
                 "let FOLDER lie on another file system than DIR"),
        OPT_HEAD("The verdict:"),
        OPT_CHOICE(0, "workload", "HOW", &request->use, uses,
                   "how you will read: warm, cold or mixed (default: mixed)"),
        OPT_FLAG(0, "strict", &request->strict, "end with 3 where the verdict is withheld"),
        OPT_FLAG(0, "compare", &request->compare,
                 "compare two results that --json wrote: bench --compare A.json B.json"),
        OPT_TEXT(0, "replot", "FILE", &request->replot,
                 "print a result that --json wrote; with --csv and --html, write it so too"),
        OPT_TEXT(0, "csv", "FILE", &request->csv, "write every run to FILE, a line each"),
        OPT_TEXT(0, "html", "FILE", &request->html, "write the report to FILE, with charts"),
        OPT_COMMON(&request->common),
        OPT_PROGRESS(&request->common),
        OPT_END,
    };
    // clang-format on
    return opt_parse(self, opts, argc, argv, ret_status);
}

/* -- what was written ---------------------------------------------------------------------- */

/* A size, and the end of it in the text: "8000-" or "8000" and the end. */
static bool take_size(const char **at, char end, double *ret_size)
{
    char word[32];
    uint64_t bytes;
    const char *stop = strchr(*at, end);
    if (!stop || (size_t)(stop - *at) >= sizeof(word))
        return false;
    snprintf(word, sizeof(word), "%.*s", (int)(stop - *at), *at);
    if (!text_parse_bytes(word, &bytes))
        return false;
    *ret_size = (double)bytes;
    *at = stop + (end != '\0');
    return true;
}

static bool take_shape(const char *at, struct bench_sizes *sizes)
{
    if (strncmp(at, "uniform:", 8) == 0) {
        at += 8;
        sizes->shape = BENCH_UNIFORM;
        return take_size(&at, '-', &sizes->a) && take_size(&at, '\0', &sizes->b) &&
               sizes->a <= sizes->b;
    }
    if (strncmp(at, "lognormal:", 10) == 0) {
        char *end;
        at += 10;
        sizes->shape = BENCH_LOGNORMAL;
        if (!take_size(&at, ':', &sizes->a))
            return false;
        sizes->b = strtod(at, &end);
        return end != at && !*end && sizes->b > 0 && sizes->b <= 5 && sizes->a > 0;
    }
    sizes->shape = BENCH_FIXED;
    return strncmp(at, "fixed:", 6) == 0 && (at += 6, take_size(&at, '\0', &sizes->a));
}

/* "100000:uniform:8000-12000". */
static bool take_synthetic(const char *text, struct bench_sizes *sizes)
{
    char word[32];
    int64_t count;
    size_t size = strcspn(text, ":");
    if (text[size] != ':' || size >= sizeof(word))
        return false;
    snprintf(word, sizeof(word), "%.*s", (int)size, text);
    if (!text_parse_number(word, 1, 10000000, &count))
        return false;
    sizes->count = (uint64_t)count;
    const double most = 64 << 20;
    return take_shape(text + size + 1, sizes) && sizes->a <= most &&
           (sizes->shape != BENCH_UNIFORM || sizes->b <= most);
}

static bool take_layouts(const char *text, unsigned *ret_layouts)
{
    for (;; text++) {
        size_t size = strcspn(text, ",");
        size_t i = 0;
        while (i < sizeof(layouts) / sizeof(layouts[0]) &&
               (strlen(layouts[i]) != size || strncmp(text, layouts[i], size) != 0))
            i++;
        if (i == sizeof(layouts) / sizeof(layouts[0]))
            return false;
        *ret_layouts |= 1u << i;
        text += size;
        if (!*text)
            return true;
    }
}

/* The published measurements are what they are: what would change them is refused. */
static int check_published(const struct command *self, const struct request *request)
{
    const struct bench_options *options = &request->options;
    const char *option = request->layout        ? "--layout"
                         : options->mount       ? "--mount"
                         : options->replay      ? "--replay"
                         : options->drop_caches ? "--drop-caches"
                         : request->batch       ? "--batch"
                         : request->use         ? "--workload"
                                                : NULL;
    if (!option || (options->preset != BENCH_PRESET_KVTEST && options->preset != BENCH_PRESET_CSV))
        return 0;
    return notice_usage(self, "--preset %s measures what was published and takes no %s",
                        presets[request->preset], option);
}

static int complete(const struct command *self, struct request *request, bool has_dir)
{
    struct bench_options *options = &request->options;
    options->preset = (enum bench_preset)request->preset;
    options->use = (enum bench_use)request->use;
    options->round_count = (unsigned)request->rounds;
    options->seed = (uint64_t)request->seed;
    options->budget_ns = (uint64_t)request->budget_seconds * SECOND;
    options->batch = (uint64_t)request->batch;
    if (request->synthetic && !take_synthetic(request->synthetic, &options->sizes))
        return notice_usage(self,
                            "--synthetic takes N:uniform:A-B, N:lognormal:MEDIAN:SIGMA or "
                            "N:fixed:SIZE, not '%s'",
                            notice_name(request->synthetic).text);
    if (request->layout && !take_layouts(request->layout, &options->layouts))
        return notice_usage(self, "--layout takes asis, flat, fanout and fresh, not '%s'",
                            notice_name(request->layout).text);
    int status = check_published(self, request);
    if (status)
        return status;
    if (!has_dir && options->mount)
        return notice_usage(self, "--mount needs DIR, whose pack is mounted");
    bool makes_data = request->synthetic || options->preset == BENCH_PRESET_KVTEST ||
                      options->preset == BENCH_PRESET_CSV;
    if (has_dir && request->synthetic)
        return notice_usage(self, "--synthetic takes no DIR");
    if (has_dir && makes_data)
        return notice_usage(self, "--preset %s makes its own data and takes no DIR",
                            presets[request->preset]);
    if (!has_dir && !makes_data)
        return notice_usage(self, "missing argument: DIR, or --synthetic");
    return 0;
}

/* "--json out.json": with that option an argument of that suffix is the file to write. */
static int take_json_file(struct request *request, int count, char **arguments)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const char *dot = strrchr(arguments[i], '.');
        if (request->common.json && dot && strcmp(dot, ".json") == 0)
            request->json_file = arguments[i];
        else
            arguments[kept++] = arguments[i];
    }
    return kept;
}

/* -- what comes of it ---------------------------------------------------------------------- */

/* Counts the losses that the notice prints. */
struct listener {
    struct sqlpack_hooks hooks;
    uint64_t loss_count;
};

static int on_progress(void *user, const struct sqlpack_progress *progress)
{
    const struct listener *listener = user;
    return listener->hooks.progress(listener->hooks.user, progress);
}

static void on_problem(void *user, const struct sqlpack_problem *problem)
{
    struct listener *listener = user;
    listener->loss_count += problem->kind == SQLPACK_LOSS;
    listener->hooks.problem(listener->hooks.user, problem);
}

static int write_files(const struct request *request, const struct bench_result *result,
                       struct sqlpack_error *err)
{
    if (request->json_file && bench_write_json(result, request->json_file, err) < 0)
        return -1;
    if (request->csv && bench_write_csv(result, request->csv, err) < 0)
        return -1;
    return request->html ? bench_write_html(result, request->html, err) : 0;
}

static int print_result(const struct request *request, const struct bench_result *result,
                        int status)
{
    if (!request->common.json || request->json_file) {
        if (!request->common.quiet)
            bench_report(result, request->common.verbose);
        return status;
    }
    struct out out;
    out_init(&out, true);
    bench_json(&out, result);
    return out_close(&out, status);
}

static int measure(struct request *request, struct notice *notice)
{
    struct listener listener = {.hooks = notice_hooks(notice)};
    auto_release(bench_result_release) struct bench_result result = {0};
    struct sqlpack_error err;
    request->options.hooks =
        (struct sqlpack_hooks){.progress = on_progress, .problem = on_problem, .user = &listener};
    if (bench_run(&request->options, &result, &err) < 0 || bench_judge(&result, &err) < 0 ||
        write_files(request, &result, &err) < 0)
        return notice_error(notice, &err);
    notice_end(notice);
    int status = EXIT_DONE;
    if (listener.loss_count || result.gates[BENCH_GATE_CONTENT].outcome == BENCH_FAILED ||
        result.gates[BENCH_GATE_CHANGE].outcome == BENCH_FAILED)
        status = EXIT_PARTLY;
    else if (request->strict && result.advice == BENCH_WITHHELD)
        status = WITHHELD_BAD;
    return print_result(request, &result, status);
}

static int compare(struct notice *notice, char **files)
{
    auto_release(bench_result_release) struct bench_result before = {0}, after = {0};
    struct sqlpack_error err;
    if (bench_load(files[0], &before, &err) < 0 || bench_load(files[1], &after, &err) < 0)
        return notice_error(notice, &err);
    bench_report_compare(&before, &after);
    return EXIT_DONE;
}

static int replot(const struct request *request, struct notice *notice)
{
    auto_release(bench_result_release) struct bench_result result = {0};
    struct sqlpack_error err;
    if (bench_load(request->replot, &result, &err) < 0 || write_files(request, &result, &err) < 0)
        return notice_error(notice, &err);
    bool is_withheld = request->strict && result.advice == BENCH_WITHHELD;
    return print_result(request, &result, is_withheld ? WITHHELD_BAD : EXIT_DONE);
}

/* What bench starts anew for each first read. It is not for people, so that no help tells it. */
static int read_first(const struct command *self, int count, char **words)
{
    return bench_first_read(count, words) == 0
               ? EXIT_DONE
               : notice_usage(self, BENCH_FIRST_READ_OPTION " is for bench itself");
}

static int run(const struct command *self, int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], BENCH_FIRST_READ_OPTION) == 0)
        return read_first(self, argc - 2, argv + 2);
    struct request request = {0};
    int status;
    int first = parse(self, &request, argc, argv, &status);
    if (first < 0)
        return status;
    struct notice notice;
    notice_begin(&notice, self, &request.common);
    notice.by_time = true;
    int count = argc - first;
    if (request.compare)
        return count == 2 ? compare(&notice, argv + first)
                          : notice_usage(self, "--compare takes two files");
    count = take_json_file(&request, count, argv + first);
    if (request.replot)
        return count == 0 ? replot(&request, &notice)
                          : notice_usage(self, "--replot measures nothing and takes no DIR");
    if (count > 2)
        return notice_usage(self, "too many arguments, from '%s' on",
                            notice_name(argv[first + 2]).text);
    status = complete(self, &request, count > 0);
    if (status)
        return status;
    request.options.dir = count > 0 ? argv[first] : NULL;
    request.options.pack = notice.pack = count > 1 ? argv[first + 1] : NULL;
    request.options.program = access(PROGRAM, X_OK) == 0 ? PROGRAM : NULL;
    request.options.argc = argc;
    request.options.argv = argv;
    return measure(&request, &notice);
}

const struct command cmd_bench = {
    .name = "bench",
    .arguments = "[DIR] [PACK] [FILE.json]",
    .summary = "time the same reads and writes on files and in a pack",
    .details = "DIR is only read. Without PACK it is packed into a scratch file beside it, which\n"
               "is removed again. --json prints the whole result; with FILE.json it is written\n"
               "there.\n",
    .run = run,
};

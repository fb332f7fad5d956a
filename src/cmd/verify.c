/* SPDX-License-Identifier: MIT */
/* sqlpack verify: checks a pack, and compares it with a tree. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/notice.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cmd/cmd.h"
#include "sqlpack.h"

struct request {
    struct opt_common common;
    struct sqlpack_verify_options options;
};

static int parse(const struct command *self, struct request *request, int argc, char **argv,
                 int *ret_status)
{
    // clang-format off
    const struct opt opts[] = {
        OPT_PERCENT(0, "sample", "PERCENT", &request->options.sample_percent,
                    "read only this share of the contents, another one each time"),
        OPT_FLAG(0, "quick", &request->options.quick, "read no content: structure and metadata"),
        OPT_JOBS(&request->common),
        OPT_COMMON(&request->common),
        OPT_PROGRESS(&request->common),
        OPT_END,
    };
    // clang-format on
    return opt_parse(self, opts, argc, argv, ret_status);
}

/* Stands between the library and the notice: prints findings as JSON too, counts losses. */
struct listener {
    struct notice *notice;
    struct sqlpack_hooks hooks;
    struct out out;
    uint64_t loss_count;
};

static int on_progress(void *user, const struct sqlpack_progress *progress)
{
    struct listener *listener = user;
    return listener->hooks.progress(listener->hooks.user, progress);
}

static void print_finding(struct listener *listener, const struct sqlpack_problem *problem)
{
    static const char *const kinds[] = {[SQLPACK_NOTE] = "note",
                                        [SQLPACK_LOSS] = "loss",
                                        [SQLPACK_DIFFERENCE] = "difference",
                                        [SQLPACK_SKIPPED] = "skipped"};
    notice_end(listener->notice);
    out_begin(&listener->out);
    out_text(&listener->out, "kind", NULL, kinds[problem->kind]);
    out_name(&listener->out, "name", NULL, problem->name);
    out_text(&listener->out, "what", NULL, problem->what);
    out_number(&listener->out, "os_errno", NULL, problem->os_errno);
    out_end(&listener->out);
}

static void on_problem(void *user, const struct sqlpack_problem *problem)
{
    struct listener *listener = user;
    listener->loss_count += problem->kind == SQLPACK_LOSS;
    listener->hooks.problem(listener->hooks.user, problem);
    if (listener->out.json)
        print_finding(listener, problem);
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* The one sentence that a person looks for. */
static void print_verdict(struct out *out, const struct request *request,
                          const struct sqlpack_verify_result *result, uint64_t loss_count)
{
    char text[200];
    const char *how = request->options.dir ? "are as in the folder" : "are as they were packed";
    if (result->difference_count)
        snprintf(text, sizeof(text), "%s found", text_count(result->difference_count).text);
    else if (loss_count)
        snprintf(text, sizeof(text), "none found, but not everything could be read");
    else if (request->options.quick || request->options.sample_percent < 100)
        snprintf(text, sizeof(text), "none found in what was read");
    else
        snprintf(text, sizeof(text), "none: all %s entries %s",
                 text_count(result->entry_count).text, how);
    out_text(out, NULL, "differences", text);
}

static void print_result(struct out *out, const struct request *request,
                         const struct sqlpack_verify_result *result, uint64_t loss_count,
                         double seconds)
{
    out_begin(out);
    out_count(out, "entry_count", "entries", result->entry_count);
    out_count(out, "read_count", "contents read", result->read_count);
    out_bytes(out, "content_bytes", "content", result->content_bytes);
    if (seconds > 0)
        out_text(out, NULL, request->common.verbose ? "rate" : NULL,
                 text_rate((double)result->content_bytes / seconds).text);
    out_real(out, "seconds", request->common.verbose ? "seconds" : NULL, seconds, 3);
    out_count(out, "foreign_count", result->foreign_count ? "of other programs" : NULL,
              result->foreign_count);
    out_count(out, "loss_count", loss_count ? "losses" : NULL, loss_count);
    out_count(out, "difference_count", NULL, result->difference_count);
    out_flag(out, "root_digest_matches", NULL, result->root_digest_matches);
    out_digest(out, "root_digest", "root digest", result->root_digest, SQLPACK_DIGEST_BYTES);
    print_verdict(out, request, result, loss_count);
    out_end(out);
}

static int verify(struct request *request, struct notice *notice, const char *path)
{
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct listener listener = {.notice = notice, .hooks = notice_hooks(notice)};
    out_init(&listener.out, request->common.json);
    request->options.hooks =
        (struct sqlpack_hooks){.progress = on_progress, .problem = on_problem, .user = &listener};
    struct sqlpack_verify_result result = {0};
    struct sqlpack_error err;
    if (sqlpack_verify(path, &request->options, &result, &err) < 0)
        return out_close(&listener.out, notice_error(notice, &err));
    notice_end(notice);
    int status = result.difference_count || listener.loss_count ? EXIT_PARTLY : EXIT_DONE;
    if (request->common.json || !request->common.quiet)
        print_result(&listener.out, request, &result, listener.loss_count, seconds_since(&start));
    return out_close(&listener.out, status);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct request request = {.options.sample_percent = 100};
    int status;
    int first = parse(self, &request, argc, argv, &status);
    if (first < 0)
        return status;
    if (request.options.sample_percent <= 0)
        return notice_usage(self, "--sample takes more than 0%%; --quick reads no content");
    struct notice notice;
    notice_begin(&notice, self, &request.common);
    notice.pack = argv[first];
    request.options.dir = first + 1 < argc ? argv[first + 1] : NULL;
    request.options.jobs = (unsigned)request.common.jobs;
    return verify(&request, &notice, argv[first]);
}

const struct command cmd_verify = {
    .name = "verify",
    .arguments = "PACK [DIR]",
    .summary = "check a pack, and compare it with the tree under DIR",
    .details = "Every entry that is not as it was packed, or not as in DIR, is named on standard\n"
               "error; the exit status is then 1.\n",
    .run = run,
};

/* SPDX-License-Identifier: MIT */
/* sqlpack digest: prints the root digest of a folder or of a pack. */
#include <stdio.h>

#include "cli/notice.h"
#include "cli/out.h"
#include "cmd/cmd.h"
#include "sqlpack.h"

struct request {
    struct opt_common common;
    struct sqlpack_digest_options options;
};

static int parse(const struct command *self, struct request *request, int argc, char **argv,
                 int *ret_status)
{
    const struct opt opts[] = {
        OPT_FLAG(0, "content", &request->options.content_only,
                 "leave owners, times and extended attributes out"),
        OPT_JOBS(&request->common),
        OPT_COMMON(&request->common),
        OPT_PROGRESS(&request->common),
        OPT_END,
    };
    return opt_parse(self, opts, argc, argv, ret_status);
}

/* Counts the losses on their way to the notice: a digest with losses is not the tree's. */
struct listener {
    struct sqlpack_hooks hooks;
    uint64_t loss_count;
};

static int on_progress(void *user, const struct sqlpack_progress *progress)
{
    struct listener *listener = user;
    return listener->hooks.progress(listener->hooks.user, progress);
}

static void on_problem(void *user, const struct sqlpack_problem *problem)
{
    struct listener *listener = user;
    listener->loss_count += problem->kind == SQLPACK_LOSS;
    listener->hooks.problem(listener->hooks.user, problem);
}

static void print_line(const char *path, const uint8_t *digest)
{
    for (int i = 0; i < SQLPACK_DIGEST_BYTES; i++)
        printf("%02x", digest[i]);
    printf("  %s\n", notice_name(path).text);
}

static void print_record(struct out *out, const char *path, const struct request *request,
                         const uint8_t *digest)
{
    out_begin(out);
    out_name(out, "path", "path", path);
    out_digest(out, "root_digest", "root digest", digest, SQLPACK_DIGEST_BYTES);
    out_flag(out, "content_only", "content only", request->options.content_only);
    out_end(out);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct request request = {0};
    int status;
    int first = parse(self, &request, argc, argv, &status);
    if (first < 0)
        return status;
    struct notice notice;
    notice_begin(&notice, self, &request.common);
    notice.pack = argv[first];
    struct listener listener = {.hooks = notice_hooks(&notice)};
    request.options.jobs = (unsigned)request.common.jobs;
    request.options.hooks =
        (struct sqlpack_hooks){.progress = on_progress, .problem = on_problem, .user = &listener};
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    struct sqlpack_error err;
    if (sqlpack_digest(argv[first], &request.options, digest, &err) < 0)
        return notice_error(&notice, &err);
    notice_end(&notice);
    status = listener.loss_count ? EXIT_PARTLY : EXIT_DONE;
    if (!request.common.json) {
        print_line(argv[first], digest);
        return status;
    }
    struct out out;
    out_init(&out, true);
    print_record(&out, argv[first], &request, digest);
    return out_close(&out, status);
}

const struct command cmd_digest = {
    .name = "digest",
    .arguments = "PATH",
    .summary = "print the root digest of a folder or a pack",
    .details = "Equal digests mean equal trees: the digest of a folder, of its pack and of what\n"
               "was unpacked from it are the same. PATH is a folder or a pack.\n",
    .run = run,
};

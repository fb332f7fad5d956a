/* SPDX-License-Identifier: MIT */
/* sqlpack cat: writes contents to standard output. */
#include <stdio.h>

#include "cli/notice.h"
#include "cmd/cmd.h"
#include "sqlpack.h"
#include "util/auto.h"

struct request {
    struct opt_common common;
    struct opt_list list_files, names;
    bool null;
};

static void request_release(struct request *request)
{
    opt_list_release(&request->list_files);
    opt_list_release(&request->names);
}

static void pack_release(struct sqlpack **pack)
{
    sqlpack_close(*pack);
}

static int parse(const struct command *self, struct request *request, int argc, char **argv,
                 int *ret_status)
{
    // clang-format off
    const struct opt opts[] = {
        OPT_LIST('T', "files-from", "FILE", &request->list_files,
                 "then the names in FILE, one a line; - is standard input"),
        OPT_FLAG('0', "null", &request->null, "names in FILE end with NUL"),
        OPT_FLAG('q', "quiet", &request->common.quiet, "print nothing but errors"),
        OPT_END,
    };
    // clang-format on
    return opt_parse(self, opts, argc, argv, ret_status);
}

static int collect_names(const struct command *self, struct request *request, char **arguments)
{
    for (; *arguments; arguments++)
        if (opt_list_add(&request->names, *arguments) < 0)
            return notice_fail(self, EXIT_SYSTEM, "out of memory");
    for (size_t i = 0; i < request->list_files.count; i++) {
        int status =
            opt_read_names(self, request->list_files.items[i], request->null, &request->names);
        if (status)
            return status;
    }
    if (request->names.count == 0 && request->list_files.count == 0)
        return notice_usage(self, "missing PATH");
    return 0;
}

static int write_out(void *user, const void *data, size_t size)
{
    (void)user;
    return fwrite(data, 1, size, stdout) == size ? 0 : -1;
}

/* Each name is tried, whatever became of those before it; the gravest status counts. */
static int cat(struct notice *notice, struct sqlpack *pack, const struct opt_list *names)
{
    int worst = EXIT_DONE;
    for (size_t i = 0; i < names->count; i++) {
        struct sqlpack_error err;
        if (sqlpack_stream(pack, names->items[i], write_out, NULL, &err) == 0)
            continue;
        if (ferror(stdout))
            return EXIT_SYSTEM; /* main tells it */
        fflush(stdout);
        int status = notice_error(notice, &err);
        if (err.status == SQLPACK_NOT_FOUND || err.status == SQLPACK_INVALID)
            status = EXIT_PARTLY;
        worst = status > worst ? status : worst;
        if (status == EXIT_SYSTEM)
            break;
    }
    return worst;
}

static int run(const struct command *self, int argc, char **argv)
{
    auto_release(request_release) struct request request = {0};
    int status;
    int first = parse(self, &request, argc, argv, &status);
    if (first < 0 || (status = collect_names(self, &request, argv + first + 1)) != 0)
        return status;
    struct notice notice;
    notice_begin(&notice, self, &request.common);
    notice.pack = argv[first];
    auto_release(pack_release) struct sqlpack *pack = NULL;
    struct sqlpack_error err;
    if (sqlpack_open(argv[first], &pack, &err) < 0)
        return notice_error(&notice, &err);
    return cat(&notice, pack, &request.names);
}

const struct command cmd_cat = {
    .name = "cat",
    .arguments = "PACK [PATH...]",
    .summary = "write the contents of files in a pack to standard output",
    .details = "Contents come in the order of the names, checked against their digests. A\n"
               "folder or a missing name is told, the rest is written, the exit status is 1.\n"
               "Of a symlink, its target is written.\n",
    .run = run,
};

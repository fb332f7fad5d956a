/* SPDX-License-Identifier: MIT */
/* sqlpack audit: tells where the space of a tree goes and what a pack would give back. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/notice.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"
#include "util/auto.h"

#define LEVEL_UNSET (-1)
#define BLOCKS_MAX  8
#define WHAT_IF     "1K,4K,16K,64K,128K"

struct request {
    struct opt_common common;
    struct sqlpack_audit_options options;
    int64_t level, top;
    const char *page_size, *sample, *what_if, *html;
    struct opt_list excludes, exclude_files;
    uint64_t blocks[BLOCKS_MAX];
};

static void request_release(struct request *request)
{
    opt_list_release(&request->excludes);
    opt_list_release(&request->exclude_files);
}

static void pack_release(struct sqlpack **pack)
{
    sqlpack_close(*pack);
}

/* -- options --------------------------------------------------------------------------------- */

static int parse(const struct command *self, struct request *request, int argc, char **argv,
                 int *ret_status)
{
    struct sqlpack_audit_options *options = &request->options;
    // clang-format off
    const struct opt opts[] = {
        OPT_HEAD("What is looked at:"),
        OPT_LIST('x', "exclude", "GLOB", &request->excludes, "leave out what matches; repeatable"),
        OPT_LIST(0, "exclude-from", "FILE", &request->exclude_files,
                 "leave out what matches a line of FILE"),
        OPT_BYTES(0, "max-file", "SIZE", &options->max_file_bytes, "leave larger files as files"),
        OPT_FLAG(0, "cross-device", &options->cross_device,
                 "descend into other file systems too"),
        OPT_FLAG(0, "no-xattrs", &options->no_xattrs,
                 "count no extended attributes, which takes less time"),
        OPT_FLAG(0, "duplicates", &options->duplicates,
                 "find equal contents: reads every file that has the size of another"),
        OPT_HEAD("What the pack would be:"),
        OPT_NUMBER('l', "level", "N", &request->level, 0, 12,
                   "compression: 0 stores, and is foretold exactly (default: 6)"),
        OPT_TEXT(0, "page-size", "SIZE", &request->page_size,
                 "auto, min or 512 to 65536: tell the saving for it (default: auto)"),
        OPT_TEXT(0, "sample", "SHARE", &request->sample,
                 "read 5% of the files, or 1000 of them, to see how they compress (default: 2%, "
                 "at least 512 and at most 4096 files)"),
        OPT_TEXT(0, "what-if", "SIZE,...", &request->what_if,
                 "tell for file systems of other block sizes (default: " WHAT_IF ")"),
        OPT_FLAG(0, "verify-freed", &options->verify_freed,
                 "pack and copy DIR beside it, delete the copy, tell what that freed"),
        OPT_JOBS(&request->common),
        OPT_COMMON(&request->common),
        OPT_NUMBER(0, "top", "N", &request->top, 1, 1000,
                   "length of the lists of folders and suffixes (default: 10)"),
        OPT_TEXT(0, "html", "FILE", &request->html, "write the report as a page too"),
        OPT_PROGRESS(&request->common),
        OPT_END,
    };
    // clang-format on
    return opt_parse(self, opts, argc, argv, ret_status);
}

static int parse_page_size(const struct command *self, struct request *request)
{
    uint64_t bytes = 0;
    if (strcmp(request->page_size, "min") == 0)
        bytes = SQLPACK_PAGE_MIN;
    else if (strcmp(request->page_size, "auto") != 0 &&
             (!text_parse_bytes(request->page_size, &bytes) || bytes < 512 || bytes > 65536 ||
              (bytes & (bytes - 1))))
        return notice_usage(self,
                            "--page-size takes auto, min or a power of two from 512 to "
                            "65536, not '%s'",
                            notice_name(request->page_size).text);
    request->options.page_bytes = (uint32_t)bytes;
    return 0;
}

static int parse_sample(const struct command *self, struct request *request)
{
    int64_t count = 0;
    if (!request->sample)
        return 0;
    if (strchr(request->sample, '%')
            ? text_parse_percent(request->sample, &request->options.sample_percent) &&
                  request->options.sample_percent > 0
            : text_parse_number(request->sample, 1, INT64_MAX, &count)) {
        request->options.sample_count = (uint64_t)count;
        return 0;
    }
    return notice_usage(self, "--sample takes a share such as 5%% or a number of files, not '%s'",
                        notice_name(request->sample).text);
}

static int parse_what_if(const struct command *self, struct request *request)
{
    size_t count = 0;
    for (const char *at = request->what_if; *at;) {
        size_t size = strcspn(at, ",");
        auto_free char *item = strndup(at, size);
        if (!item || count == BLOCKS_MAX || !text_parse_bytes(item, &request->blocks[count]) ||
            request->blocks[count] == 0 || request->blocks[count] > (uint64_t)1 << 30)
            return notice_usage(self, "--what-if takes up to %d block sizes, not '%s'", BLOCKS_MAX,
                                notice_name(request->what_if).text);
        count++;
        at += size + (at[size] == ',');
    }
    request->options.block_bytes = request->blocks;
    request->options.block_count = count;
    return 0;
}

static int complete(const struct command *self, struct request *request)
{
    struct sqlpack_audit_options *options = &request->options;
    const struct opt_list *from = &request->exclude_files;
    int status = parse_page_size(self, request);
    status = status ? status : parse_sample(self, request);
    status = status ? status : parse_what_if(self, request);
    for (size_t i = 0; !status && i < from->count; i++)
        status = opt_read_names(self, from->items[i], false, &request->excludes);
    options->level = request->level == 0 ? SQLPACK_STORE : (int)request->level;
    if (request->level == LEVEL_UNSET)
        options->level = 0;
    options->jobs = (unsigned)request->common.jobs;
    options->top_count = (size_t)request->top;
    options->excludes = request->excludes.items;
    options->exclude_count = request->excludes.count;
    return status;
}

/* -- a tree ---------------------------------------------------------------------------------- */

static int audit_tree(struct request *request, struct notice *notice, const char *dir)
{
    struct sqlpack_audit_result result;
    struct sqlpack_error err;
    request->options.hooks = notice_hooks(notice);
    if (sqlpack_audit(dir, &request->options, &result, &err) < 0)
        return notice_error(notice, &err);
    notice_end(notice);
    int status = result.loss_count ? EXIT_PARTLY : EXIT_DONE;
    if (request->html && audit_html(request->html, dir, &request->options, &result) < 0)
        status = notice_fail(notice->command, EXIT_SYSTEM, "cannot write '%s': %s",
                             notice_name(request->html).text, strerror(errno));
    if (request->common.json || !request->common.quiet) {
        struct out out;
        out_init(&out, request->common.json);
        audit_report(&out, &request->options, &result);
        status = out_close(&out, status);
    }
    sqlpack_audit_release(&result);
    return status;
}

/* -- a pack ---------------------------------------------------------------------------------- */

static int print_space(const struct request *request, const struct sqlpack_audit_space *space,
                       const struct sqlpack_audit_result *tree, int status)
{
    struct out out;
    if (request->common.quiet && !request->common.json)
        return status;
    out_init(&out, request->common.json);
    audit_space(&out, space, tree);
    return out_close(&out, status);
}

static int audit_file(struct request *request, struct notice *notice, const char *path,
                      const char *dir)
{
    auto_release(pack_release) struct sqlpack *pack = NULL;
    struct sqlpack_audit_space space;
    struct sqlpack_audit_result tree;
    struct sqlpack_error err;
    notice->pack = path;
    if (sqlpack_open(path, &pack, &err) < 0 || sqlpack_audit_pack(pack, &space, &err) < 0)
        return notice_error(notice, &err);
    if (!dir)
        return print_space(request, &space, NULL, EXIT_DONE);
    request->options.hooks = notice_hooks(notice);
    request->options.page_bytes = space.page_bytes;
    if (request->level == LEVEL_UNSET && space.stored_bytes == space.content_bytes)
        request->options.level = SQLPACK_STORE;
    if (sqlpack_audit(dir, &request->options, &tree, &err) < 0)
        return notice_error(notice, &err);
    notice_end(notice);
    int status = print_space(request, &space, &tree, tree.loss_count ? EXIT_PARTLY : EXIT_DONE);
    sqlpack_audit_release(&tree);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    auto_release(request_release) struct request request = {
        .level = LEVEL_UNSET, .page_size = "auto", .what_if = WHAT_IF};
    int status;
    int first = parse(self, &request, argc, argv, &status);
    if (first < 0 || (status = complete(self, &request)) != 0)
        return status;
    const char *path = argv[first], *dir = first + 1 < argc ? argv[first + 1] : NULL;
    struct stat stat_of;
    bool is_tree = stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode);
    if (is_tree && dir)
        return notice_usage(self, "'%s' is a folder: a second one is for a pack",
                            notice_name(path).text);
    if (!is_tree && (request.html || request.options.verify_freed || request.options.duplicates))
        return notice_usage(self, "--html, --verify-freed and --duplicates are for a folder");
    struct notice notice;
    notice_begin(&notice, self, &request.common);
    return is_tree ? audit_tree(&request, &notice, path) : audit_file(&request, &notice, path, dir);
}

const struct command cmd_audit = {
    .name = "audit",
    .arguments = "DIR|PACK [DIR]",
    .summary = "tell where space goes and what a pack of DIR would give back",
    .details = "Nothing is written, but with --html and --verify-freed. Of a PACK it tells how\n"
               "its bytes are spent, and with the DIR it came from what was foretold.\n",
    .run = run,
};

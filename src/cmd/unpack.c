/* SPDX-License-Identifier: MIT */
/* sqlpack unpack: restores a pack, or some of its entries, into a folder. */
#include <string.h>

#include "cli/notice.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cmd/cmd.h"
#include "sqlpack.h"
#include "util/auto.h"
#include "util/path.h"

/* What the options fill; the lists are released at the end. */
struct request {
    struct opt_common common;
    struct sqlpack_unpack_options options;
    struct opt_list excludes, names, list_files;
    bool null, no_sandbox;
    const char *pack, *dir;
    char *default_dir; /* owned; NULL where DIR was given */
};

static void request_release(struct request *request)
{
    opt_list_release(&request->excludes);
    opt_list_release(&request->names);
    opt_list_release(&request->list_files);
    free(request->default_dir);
}

static int parse(const struct command *self, struct request *request, int argc, char **argv,
                 int *ret_status)
{
    struct sqlpack_unpack_options *options = &request->options;
    // clang-format off
    const struct opt opts[] = {
        OPT_HEAD("What is restored:"),
        OPT_LIST('x', "exclude", "GLOB", &request->excludes, "leave out what matches; repeatable"),
        OPT_LIST('T', "files-from", "FILE", &request->list_files,
                 "restore the names in FILE, one a line; - is standard input"),
        OPT_FLAG('0', "null", &request->null, "names in FILE end with NUL, not with a newline"),
        OPT_FLAG(0, "specials", &options->specials, "make FIFOs and device nodes, too"),
        OPT_FLAG(0, "no-xattrs", &options->no_xattrs,
                 "leave extended attributes and ACLs out"),
        OPT_BYTES(0, "max-total", "SIZE", &options->total_bytes,
                  "refuse to restore more content than SIZE"),
        OPT_HEAD("Into an existing folder:"),
        OPT_FLAG(0, "into", &options->into, "merge into DIR; nothing is overwritten"),
        OPT_FLAG('f', "force", &options->replace, "with --into: replace existing files"),
        OPT_FLAG(0, "skip-existing", &options->skip_existing,
                 "with --into: keep files of the same type, size and time, to go on after an "
                 "interruption"),
        OPT_HEAD("Whose files:"),
        OPT_FLAG(0, "same-owner", &options->same_owner,
                 "restore owners, also where that may fail (default for root)"),
        OPT_FLAG(0, "numeric-owner", &options->numeric_owner,
                 "restore owners by number, not by name"),
        OPT_FLAG(0, "untrusted", &options->untrusted,
                 "drop owners, set-id bits, capabilities and device nodes"),
        OPT_HEAD("How:"),
        OPT_FLAG('n', "dry-run", &options->dry_run, "count what would be restored"),
        OPT_FLAG(0, "no-sync", &options->no_sync, "do not flush to disk: for scratch work"),
        OPT_FLAG(0, "no-sandbox", &request->no_sandbox,
                 "do not have the kernel confine the process to DIR"),
        OPT_JOBS(&request->common),
        OPT_COMMON(&request->common),
        OPT_PROGRESS(&request->common),
        OPT_END,
    };
    // clang-format on
    return opt_parse(self, opts, argc, argv, ret_status);
}

/* PACK's name without its suffix, in the current folder. */
static int choose_dir(const struct command *self, struct request *request)
{
    const char *leaf = path_leaf(request->pack);
    const char *suffix = strrchr(leaf, '.');
    if (!suffix || suffix == leaf)
        return notice_usage(self, "name the folder to unpack into: '%s' has no suffix to leave out",
                            notice_name(leaf).text);
    request->default_dir = strndup(leaf, (size_t)(suffix - leaf));
    if (!request->default_dir)
        return notice_fail(self, EXIT_SYSTEM, "out of memory");
    request->dir = request->default_dir;
    return 0;
}

static int add_names(const struct command *self, struct request *request, char **paths)
{
    for (; *paths; paths++)
        if (opt_list_add(&request->names, *paths) < 0)
            return notice_fail(self, EXIT_SYSTEM, "out of memory");
    const struct opt_list *from = &request->list_files;
    int status = 0;
    for (size_t i = 0; !status && i < from->count; i++)
        status = opt_read_names(self, from->items[i], request->null, &request->names);
    return status;
}

/* Turns what was written into the options of the library. */
static int complete(const struct command *self, struct request *request, char **arguments)
{
    static const char *const no_names[] = {NULL};
    struct sqlpack_unpack_options *options = &request->options;
    if ((options->replace || options->skip_existing) && !options->into)
        return notice_usage(self, "%s is for --into",
                            options->replace ? "--force" : "--skip-existing");
    request->pack = *arguments++;
    request->dir = *arguments ? *arguments++ : NULL;
    int status = request->dir ? 0 : choose_dir(self, request);
    if (!status)
        status = add_names(self, request, arguments);
    if (status)
        return status;
    options->jobs = (unsigned)request->common.jobs;
    options->sandbox = !request->no_sandbox;
    options->excludes = request->excludes.items;
    options->exclude_count = request->excludes.count;
    options->names = request->names.items;
    options->name_count = request->names.count;
    if (request->list_files.count && !options->names)
        options->names = no_names; /* an empty list: nothing but the root */
    return 0;
}

static void print_result(struct out *out, const struct request *request,
                         const struct sqlpack_unpack_result *result)
{
    bool verbose = request->common.verbose;
    out_begin(out);
    out_name(out, "dir", "folder", request->dir);
    out_count(out, "file_count", "files", result->file_count);
    out_count(out, "folder_count", "folders", result->folder_count);
    out_some(out, "symlink_count", "symlinks", result->symlink_count);
    out_some(out, "special_count", "special files", result->special_count);
    out_some(out, "hard_link_count", "hard links", result->hard_link_count);
    out_some(out, "skipped_count", "kept as they were", result->skipped_count);
    out_some(out, "left_out_count", "special files left out", result->left_out_count);
    out_some(out, "taken_count", "names that were taken", result->taken_count);
    out_some(out, "loss_count", "losses", result->loss_count);
    out_bytes(out, "content_bytes", "content", result->content_bytes);
    out_flag(out, "is_confined", verbose ? "confined by the kernel" : NULL, result->is_confined);
    out_flag(out, "dry_run", NULL, request->options.dry_run);
    out_end(out);
}

/* What to do about losses that an option would avoid. */
static void print_hints(struct notice *notice, const struct request *request,
                        const struct sqlpack_unpack_result *result)
{
    if (request->common.quiet)
        return;
    if (result->left_out_count > 0 && !request->options.specials)
        notice_warning(notice, "special files were left out; --specials makes them");
    if (result->taken_count > 0 && request->options.into && !request->options.replace)
        notice_warning(notice, "existing files were kept; --force replaces them");
}

static int unpack(const struct command *self, struct request *request)
{
    struct notice notice;
    notice_begin(&notice, self, &request->common);
    notice.pack = request->pack;
    request->options.hooks = notice_hooks(&notice);
    struct sqlpack_unpack_result result = {0};
    struct sqlpack_error err;
    if (sqlpack_unpack(request->pack, request->dir, &request->options, &result, &err) < 0)
        return notice_error(&notice, &err);
    notice_end(&notice);
    print_hints(&notice, request, &result);
    int status = result.loss_count > 0 ? EXIT_PARTLY : EXIT_DONE;
    if (request->common.quiet && !request->common.json)
        return status;
    struct out out;
    out_init(&out, request->common.json);
    print_result(&out, request, &result);
    return out_close(&out, status);
}

static int run(const struct command *self, int argc, char **argv)
{
    auto_release(request_release) struct request request = {0};
    int status;
    int first = parse(self, &request, argc, argv, &status);
    if (first < 0 || (status = complete(self, &request, argv + first)) != 0)
        return status;
    return unpack(self, &request);
}

const struct command cmd_unpack = {
    .name = "unpack",
    .arguments = "PACK [DIR] [PATH...]",
    .summary = "restore a pack, or PATHs in it, into the folder DIR",
    .details = "A new DIR appears whole or not at all; an existing one must be empty, or --into\n"
               "given. Without DIR, it is PACK's name without its suffix, in the current folder.\n"
               "PATH is a name in the pack, with all that is below it.\n",
    .run = run,
};

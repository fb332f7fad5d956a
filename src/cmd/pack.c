/* SPDX-License-Identifier: MIT */
/* sqlpack pack: packs a folder into a new archive and tells what that saves. */
#include <string.h>

#include "cli/notice.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cmd/cmd.h"
#include "sqlpack.h"
#include "util/auto.h"

#define LEVEL_UNSET (-1)

/* What the options fill; the lists are released at the end. */
struct request {
    struct opt_common common;
    struct sqlpack_pack_options options;
    int64_t level;
    const char *page_size;
    struct opt_list excludes, exclude_files, files, list_files;
    bool null, strict;
};

static void request_release(struct request *request)
{
    opt_list_release(&request->excludes);
    opt_list_release(&request->exclude_files);
    opt_list_release(&request->files);
    opt_list_release(&request->list_files);
}

static int parse(const struct command *self, struct request *request, int argc, char **argv,
                 int *ret_status)
{
    struct sqlpack_pack_options *options = &request->options;
    // clang-format off
    const struct opt opts[] = {
        OPT_HEAD("What is packed:"),
        OPT_LIST('x', "exclude", "GLOB", &request->excludes, "leave out what matches; repeatable"),
        OPT_LIST(0, "exclude-from", "FILE", &request->exclude_files,
                 "leave out what matches a line of FILE"),
        OPT_LIST('T', "files-from", "FILE", &request->list_files,
                 "pack only the names in FILE, one a line, relative to DIR; - is standard input"),
        OPT_FLAG('0', "null", &request->null, "names in FILE end with NUL, not with a newline"),
        OPT_BYTES(0, "max-file", "SIZE", &options->max_file_bytes, "leave out larger files"),
        OPT_FLAG(0, "one-file-system", &options->one_file_system,
                 "do not descend into other file systems"),
        OPT_FLAG(0, "no-xattrs", &options->no_xattrs,
                 "leave extended attributes and ACLs out"),
        OPT_HEAD("How:"),
        OPT_NUMBER('l', "level", "N", &request->level, 0, 12,
                   "compression: 0 stores, 12 is smallest (default: 6)"),
        OPT_TEXT(0, "page-size", "SIZE", &request->page_size,
                 "auto, min or 512 to 65536: the database's page size (default: auto)"),
        OPT_FLAG(0, "reproducible", &options->reproducible,
                 "equal trees in different places give equal packs"),
        OPT_JOBS(&request->common),
        OPT_HEAD("The pack:"),
        OPT_FLAG('f', "force", &options->replace, "replace an existing PACK"),
        OPT_FLAG('n', "dry-run", &options->dry_run, "read everything, write nothing"),
        OPT_FLAG(0, "no-sync", &options->no_sync, "do not flush to disk: for scratch work"),
        OPT_FLAG(0, "strict", &request->strict,
                 "end with 1 also where only sockets were left out"),
        OPT_COMMON(&request->common),
        OPT_PROGRESS(&request->common),
        OPT_END,
    };
    // clang-format on
    return opt_parse(self, opts, argc, argv, ret_status);
}

static int read_lists(const struct command *self, struct request *request)
{
    const struct opt_list *from = &request->exclude_files;
    int status = 0;
    for (size_t i = 0; !status && i < from->count; i++)
        status = opt_read_names(self, from->items[i], request->null, &request->excludes);
    from = &request->list_files;
    for (size_t i = 0; !status && i < from->count; i++)
        status = opt_read_names(self, from->items[i], request->null, &request->files);
    return status;
}

/* Turns what was written into the options of the library. */
static int complete(const struct command *self, struct request *request)
{
    static const char *const no_files[] = {NULL};
    struct sqlpack_pack_options *options = &request->options;
    uint64_t page_bytes = 0;
    if (strcmp(request->page_size, "min") == 0)
        page_bytes = SQLPACK_PAGE_MIN;
    else if (strcmp(request->page_size, "auto") != 0 &&
             (!text_parse_bytes(request->page_size, &page_bytes) || page_bytes < 512 ||
              page_bytes > 65536 || (page_bytes & (page_bytes - 1))))
        return notice_usage(self,
                            "--page-size takes auto, min or a power of two from 512 to "
                            "65536, not '%s'",
                            notice_name(request->page_size).text);
    int status = read_lists(self, request);
    if (status)
        return status;
    options->page_bytes = (uint32_t)page_bytes;
    options->level = request->level == 0 ? SQLPACK_STORE : (int)request->level;
    if (request->level == LEVEL_UNSET)
        options->level = 0;
    options->jobs = (unsigned)request->common.jobs;
    options->excludes = request->excludes.items;
    options->exclude_count = request->excludes.count;
    options->files = request->list_files.count ? request->files.items : NULL;
    options->file_count = request->files.count;
    if (request->list_files.count && !options->files)
        options->files = no_files; /* an empty list: nothing but the root */
    return 0;
}

static void print_saving(struct out *out, const struct sqlpack_pack_result *result)
{
    int64_t saved = (int64_t)(result->tree_allocated_bytes - result->pack_allocated_bytes);
    double percent = result->tree_allocated_bytes
                         ? 100 * (double)saved / (double)result->tree_allocated_bytes
                         : 0;
    char text[128];
    snprintf(text, sizeof(text), "%s%s (%s)", saved < 0 ? "-" : "",
             text_bytes(saved < 0 ? -(uint64_t)saved : (uint64_t)saved).text,
             text_percent(percent).text);
    out_text(out, NULL, "saved", text);
    out_number(out, "saved_bytes", NULL, saved);
    out_percent(out, "saved_percent", NULL, percent);
    out_number(out, "freed_inode_count", NULL, (int64_t)result->tree_inode_count - 1);
    if (result->tree_inode_count > 1)
        out_count(out, NULL, "inodes freed", result->tree_inode_count - 1);
}

/* Why the page size is what it is: what each one would have given. */
static void print_choices(struct out *out, const struct sqlpack_pack_result *result)
{
    out_table_begin(out, "choices", "page sizes, as a sample of the tree estimates them");
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        const struct sqlpack_page_choice *choice = &result->choices[i];
        if (choice->page_bytes == 0)
            continue;
        out_row_begin(out);
        out_bytes(out, "page_bytes", "page size", choice->page_bytes);
        out_real(out, "entry_bytes", "bytes an entry", choice->entry_bytes, 0);
        out_real(out, "read_us", "microseconds a read", choice->read_us, 1);
        out_real(out, "read_pages", "pages a read", choice->read_pages, 1);
        out_text(out, NULL, "", choice->page_bytes == result->page_bytes ? "chosen" : "");
        out_row_end(out);
    }
    out_table_end(out);
}

static void print_result(struct out *out, const struct request *request,
                         const struct sqlpack_pack_result *result)
{
    out_begin(out);
    out_count(out, "file_count", "files", result->file_count);
    out_count(out, "folder_count", "folders", result->folder_count);
    out_some(out, "symlink_count", "symlinks", result->symlink_count);
    out_some(out, "special_count", "special files", result->special_count);
    out_some(out, "hard_link_count", "hard links", result->hard_link_count);
    out_some(out, "skipped_count", "too large", result->skipped_count);
    out_some(out, "note_count", "notes", result->note_count);
    out_some(out, "loss_count", "losses", result->loss_count);
    out_bytes(out, "content_bytes", "content", result->content_bytes);
    out_bytes(out, "stored_bytes", NULL, result->stored_bytes);
    out_bytes(out, "tree_allocated_bytes", "tree on disk", result->tree_allocated_bytes);
    out_number(out, "tree_inode_count", NULL, (int64_t)result->tree_inode_count);
    out_bytes(out, "pack_bytes", NULL, result->pack_bytes);
    out_bytes(out, "pack_allocated_bytes", "pack on disk", result->pack_allocated_bytes);
    print_saving(out, result);
    out_bytes(out, "page_bytes", "page size", result->page_bytes);
    out_number(out, "sample_count", NULL, (int64_t)result->sample_count);
    out_flag(out, "dry_run", NULL, request->options.dry_run);
    out_digest(out, "root_digest", "root digest", result->root_digest, SQLPACK_DIGEST_BYTES);
    if (result->sample_count && (request->common.json || request->common.verbose))
        print_choices(out, result);
    out_end(out);
}

static int run(const struct command *self, int argc, char **argv)
{
    auto_release(request_release) struct request request = {
        .level = LEVEL_UNSET,
        .page_size = "auto",
    };
    int status;
    int first = parse(self, &request, argc, argv, &status);
    if (first < 0 || (status = complete(self, &request)) != 0)
        return status;
    struct notice notice;
    notice_begin(&notice, self, &request.common);
    notice.pack = argv[first + 1];
    request.options.hooks = notice_hooks(&notice);
    struct sqlpack_pack_result result = {0};
    struct sqlpack_error err;
    if (sqlpack_pack(argv[first], argv[first + 1], &request.options, &result, &err) < 0)
        return notice_error(&notice, &err);
    notice_end(&notice);
    bool is_partial = result.loss_count > 0 || (request.strict && result.note_count > 0);
    status = is_partial ? EXIT_PARTLY : EXIT_DONE;
    if (request.common.quiet && !request.common.json)
        return status;
    struct out out;
    out_init(&out, request.common.json);
    print_result(&out, &request, &result);
    return out_close(&out, status);
}

const struct command cmd_pack = {
    .name = "pack",
    .arguments = "DIR PACK",
    .summary = "pack the tree under DIR into a new file PACK",
    .details = "PACK appears whole or not at all. GLOB matches a name or a path under DIR, with\n"
               "what is below it; see sqlpack(1).\n",
    .run = run,
};

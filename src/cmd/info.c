/* SPDX-License-Identifier: MIT */
/* sqlpack info: tells what a pack holds and how its space is used. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/notice.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cmd/cmd.h"
#include "sqlpack.h"
#include "util/auto.h"

#define LOSSES_SHOWN 20

static void pack_release(struct sqlpack **pack)
{
    sqlpack_close(*pack);
}

static void print_format(struct out *out, int64_t format)
{
    char text[48] = "SQLite Archive of another program";
    if (format)
        snprintf(text, sizeof(text), "sqlpack %" PRId64, format);
    out_text(out, NULL, "format", text);
    out_number(out, "format", NULL, format);
}

static void print_counts(struct out *out, const struct sqlpack_summary *summary)
{
    out_count(out, "file_count", "files", summary->file_count);
    out_count(out, "folder_count", "folders", summary->folder_count);
    out_some(out, "symlink_count", "symlinks", summary->symlink_count);
    out_some(out, "special_count", "special files", summary->special_count);
    out_some(out, "hard_link_count", "hard links", summary->hard_link_count);
    out_some(out, "foreign_count", summary->format ? "rows of other programs" : NULL,
             summary->foreign_count);
    out_some(out, "skipped_count", "unusable rows", summary->skipped_count);
    out_some(out, "loss_count", "losses", summary->loss_count);
}

/* Where the bytes of the file go: contents, free pages, and all the rest. */
static void print_space(struct out *out, const struct sqlpack_summary *summary)
{
    uint64_t free_bytes = summary->free_page_count * summary->page_bytes;
    uint64_t used = summary->stored_bytes + free_bytes;
    out_bytes(out, "content_bytes", "content", summary->content_bytes);
    out_bytes(out, "stored_bytes", "stored as", summary->stored_bytes);
    out_bytes(out, "overhead_bytes", "overhead",
              summary->pack_bytes > used ? summary->pack_bytes - used : 0);
    out_bytes(out, "free_bytes", free_bytes ? "free" : NULL, free_bytes);
    out_bytes(out, "pack_bytes", "pack", summary->pack_bytes);
    out_bytes(out, "pack_allocated_bytes", "pack on disk", summary->pack_allocated_bytes);
    out_bytes(out, "tree_allocated_bytes", summary->tree_allocated_bytes ? "tree on disk" : NULL,
              summary->tree_allocated_bytes);
    out_bytes(out, "page_bytes", "page size", summary->page_bytes);
    out_count(out, "page_count", "pages", summary->page_count);
    out_count(out, "free_page_count", NULL, summary->free_page_count);
}

/* -- losses -------------------------------------------------------------------------------- */

struct losses {
    struct out *out;
    uint64_t shown, limit;
};

static int print_loss(void *user, const char *name, const char *what, int os_errno)
{
    struct losses *losses = user;
    if (losses->shown++ == losses->limit)
        return 1;
    out_row_begin(losses->out);
    out_name(losses->out, "name", "name", *name ? name : ".");
    out_name(losses->out, "what", "loss", what);
    out_text(losses->out, NULL, "cause", os_errno ? strerror(os_errno) : "");
    out_number(losses->out, "os_errno", NULL, os_errno);
    out_row_end(losses->out);
    return 0;
}

static int print_losses(struct out *out, struct sqlpack *pack, uint64_t limit, uint64_t count,
                        struct sqlpack_error *err)
{
    char label[64] = "";
    struct losses losses = {.out = out, .limit = limit};
    if (count > limit)
        snprintf(label, sizeof(label), "the first %" PRIu64 " losses; -v shows all", limit);
    out_table_begin(out, "losses", label);
    int result = sqlpack_losses(pack, print_loss, &losses, err);
    out_table_end(out);
    return result;
}

/* -- the command --------------------------------------------------------------------------- */

static int print(struct out *out, struct sqlpack *pack, const struct opt_common *common,
                 const struct sqlpack_summary *summary, struct sqlpack_error *err)
{
    int result = 0;
    out_begin(out);
    print_format(out, summary->format);
    print_counts(out, summary);
    print_space(out, summary);
    out_digest(out, "root_digest", "root digest",
               summary->has_root_digest ? summary->root_digest : NULL, SQLPACK_DIGEST_BYTES);
    if (common->json || summary->loss_count)
        result = print_losses(out, pack, common->verbose ? UINT64_MAX : LOSSES_SHOWN,
                              summary->loss_count, err);
    out_end(out);
    return result;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct opt_common common = {0};
    const struct opt opts[] = {
        OPT_COMMON(&common),
        OPT_END,
    };
    int status;
    int first = opt_parse(self, opts, argc, argv, &status);
    if (first < 0)
        return status;
    struct notice notice;
    notice_begin(&notice, self, &common);
    notice.pack = argv[first];
    auto_release(pack_release) struct sqlpack *pack = NULL;
    struct sqlpack_summary summary;
    struct sqlpack_error err;
    if (sqlpack_open(argv[first], &pack, &err) < 0 || sqlpack_info(pack, &summary, &err) < 0)
        return notice_error(&notice, &err);
    struct out out;
    out_init(&out, common.json);
    if (print(&out, pack, &common, &summary, &err) < 0)
        return out_close(&out, notice_error(&notice, &err));
    if (summary.skipped_count == 0)
        return out_close(&out, EXIT_DONE);
    notice_warning(&notice, "some rows cannot be used: 'sqlpack verify' names them");
    return out_close(&out, EXIT_PARTLY);
}

const struct command cmd_info = {
    .name = "info",
    .arguments = "PACK",
    .summary = "tell what a pack holds and how its space is used",
    .details = "Losses are what could not be packed, or changed meanwhile; -v shows all of them.\n",
    .run = run,
};

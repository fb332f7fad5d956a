/* SPDX-License-Identifier: MIT */
/* sqlpack ls: lists what a pack holds. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/notice.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/long.h"
#include "cmd/owner.h"
#include "sqlpack.h"
#include "util/auto.h"
#include "util/buf.h"
#include "util/path.h"

#define OUTPUT_BYTES ((size_t)128 << 10)

struct request {
    struct opt_common common;
    struct filter_request filter;
    bool is_long, null, reverse;
    int sort; /* enum sqlpack_sort */
    const char *pack;
    struct pattern *patterns;
    size_t pattern_count;
};

/* A PATTERN argument: a name, or a glob as bsdtar has it, where '*' and '?' match '/' too. */
struct pattern {
    const char *text;
    bool is_glob;
    bool has_matched;
};

struct listing {
    const struct request *request;
    struct notice *notice;
    struct sqlpack *pack;
    struct filter filter;
    struct owner_names *owners;
    struct long_line line;
    struct out out;
    struct buf text;    /* lines on their way to stdout */
    struct buf scratch; /* a name that is cut at its slashes */
    bool is_out_of_memory;
    int status;
};

static void listing_release(struct listing *listing)
{
    owner_names_free(listing->owners);
    sqlpack_close(listing->pack);
    buf_release(&listing->text);
    buf_release(&listing->scratch);
    long_line_release(&listing->line);
}

/* -- arguments ----------------------------------------------------------------------------- */

static int parse(const struct command *self, struct request *request, int argc, char **argv,
                 int *ret_status)
{
    static const char *const sorts[] = {"name", "size", "mtime", NULL};
    // clang-format off
    const struct opt opts[] = {
        OPT_HEAD("What:"),
        OPT_TEXT(0, "size", "[+-]SIZE", &request->filter.size,
                 "only files of SIZE bytes, of more (+) or of less (-)"),
        OPT_TEXT(0, "newer", "TIME|FILE", &request->filter.newer,
                 "only entries modified after 2026-11-30, '2026-11-30 13:02:03', @SECONDS "
                 "or FILE"),
        OPT_TEXT(0, "type", "LETTERS", &request->filter.types,
                 "only files (f), folders (d), symlinks (l), FIFOs (p), devices (c, b)"),
        OPT_HEAD("How:"),
        OPT_FLAG('l', "long", &request->is_long, "mode, owner, size and time too"),
        OPT_FLAG('0', "null", &request->null, "end names with NUL, and write them as they are"),
        OPT_CHOICE(0, "sort", "KEY", &request->sort, sorts,
                   "order by name, size or mtime (default: name)"),
        OPT_FLAG('r', "reverse", &request->reverse, "in reverse order"),
        OPT_COMMON(&request->common),
        OPT_END,
    };
    // clang-format on
    return opt_parse(self, opts, argc, argv, ret_status);
}

/* A literal as the pack has it: shells complete a folder with a '/' behind it. */
static void tidy(char *text)
{
    size_t size = strlen(text);
    while (size > 1 && text[size - 1] == '/')
        text[--size] = '\0';
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct pattern *)a)->text, ((const struct pattern *)b)->text);
}

static int take_patterns(const struct command *self, struct request *request, char **arguments,
                         size_t count)
{
    request->patterns = calloc(count + 1, sizeof(*request->patterns));
    if (!request->patterns)
        return notice_fail(self, EXIT_SYSTEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct pattern *pattern = &request->patterns[i];
        pattern->is_glob = strpbrk(arguments[i], "*?[");
        if (!pattern->is_glob)
            tidy(arguments[i]);
        pattern->text = strncmp(arguments[i], "./", 2) == 0 ? arguments[i] + 2 : arguments[i];
    }
    request->pattern_count = count;
    qsort(request->patterns, count, sizeof(*request->patterns), by_text);
    return 0;
}

/* -- patterns ------------------------------------------------------------------------------ */

/* Whether a glob matches the name or a folder above it. */
static bool glob_matches(struct listing *listing, const char *glob, const char *name)
{
    struct buf *cut = &listing->scratch;
    cut->size = 0;
    if (buf_append_text(cut, name) < 0 || buf_terminate(cut) < 0) {
        listing->is_out_of_memory = true;
        return false;
    }
    for (char *slash = strchr(cut->data, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool matches = fnmatch(glob, cut->data, 0) == 0;
        *slash = '/';
        if (matches)
            return true;
    }
    return fnmatch(glob, cut->data, 0) == 0;
}

/* All patterns are tried, so that those that match nothing are known at the end. */
static bool is_wanted(struct listing *listing, const char *name)
{
    const struct request *request = listing->request;
    bool is_wanted = request->pattern_count == 0;
    for (size_t i = 0; i < request->pattern_count; i++) {
        struct pattern *pattern = &request->patterns[i];
        /* A name may hold the characters of a glob, so a glob may be a name. */
        if (path_is_below(name, pattern->text) ||
            (pattern->is_glob && glob_matches(listing, pattern->text, name)))
            is_wanted = pattern->has_matched = true;
    }
    return is_wanted;
}

/* -- output -------------------------------------------------------------------------------- */

static void flush(struct listing *listing)
{
    if (listing->text.size > 0)
        fwrite(listing->text.data, 1, listing->text.size, stdout);
    listing->text.size = 0;
}

static void put(struct listing *listing, const char *text, size_t size)
{
    if (buf_append(&listing->text, text, size) < 0)
        listing->is_out_of_memory = true;
}

static void put_name(struct listing *listing, const char *name)
{
    size_t plain = 0;
    while (name[plain] >= ' ' && name[plain] < 0x7f && name[plain] != '\\')
        plain++;
    if (name[plain] == '\0')
        put(listing, name, plain);
    else if (path_escape(&listing->text, name) < 0)
        listing->is_out_of_memory = true;
}

static void print_text(struct listing *listing, const struct sqlpack_entry *entry)
{
    const struct request *request = listing->request;
    if (request->is_long && long_line_append(&listing->line, entry, &listing->text) < 0)
        listing->is_out_of_memory = true;
    if (request->null) {
        put(listing, entry->name, strlen(entry->name) + 1);
    } else {
        put_name(listing, entry->name);
        if (request->is_long && entry->target) {
            put(listing, entry->link ? " link to " : " -> ", entry->link ? 9 : 4);
            put_name(listing, entry->target);
        }
        put(listing, "\n", 1);
    }
    if (listing->text.size >= OUTPUT_BYTES)
        flush(listing);
}

static const char *type_of(const struct sqlpack_entry *entry)
{
    switch (entry->mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "folder";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFCHR:
        return "character device";
    default:
        return "block device";
    }
}

static void print_owner(struct listing *listing, bool is_group, uint32_t id)
{
    const char *name = owner_name(listing->owners, is_group, id);
    if (id != UINT32_MAX)
        out_number(&listing->out, is_group ? "gid" : "uid", NULL, id);
    if (name)
        out_name(&listing->out, is_group ? "group" : "user", NULL, name);
}

/* What is not known, or has no meaning for the type, has no key. */
static void print_json(struct listing *listing, const struct sqlpack_entry *entry)
{
    struct out *out = &listing->out;
    out_begin(out);
    out_number(out, "id", NULL, entry->id);
    out_name(out, "name", NULL, entry->name);
    out_text(out, "type", NULL, type_of(entry));
    out_number(out, "mode", NULL, entry->mode);
    out_time(out, "mtime", NULL, entry->mtime, entry->mtime_ns);
    out_bytes(out, "sz", NULL, entry->sz);
    print_owner(listing, false, entry->uid);
    print_owner(listing, true, entry->gid);
    if (entry->ctime_ns != SQLPACK_NO_TIME)
        out_number(out, "ctime_ns", NULL, entry->ctime_ns);
    if (S_ISCHR(entry->mode) || S_ISBLK(entry->mode))
        out_number(out, "rdev", NULL, (int64_t)entry->rdev);
    if (entry->link)
        out_number(out, "link", NULL, entry->link);
    if (entry->target)
        out_name(out, "target", NULL, entry->target);
    if (entry->xattr)
        out_bytes(out, "xattr_bytes", NULL, entry->xattr_bytes);
    if (entry->has_digest)
        out_digest(out, "digest", NULL, entry->digest, SQLPACK_DIGEST_BYTES);
    out_flag(out, "is_foreign", NULL, entry->is_foreign);
    out_end(out);
}

/* -- the list ------------------------------------------------------------------------------ */

static void on_skipped(void *user, const char *name, const char *why)
{
    struct listing *listing = user;
    flush(listing);
    fflush(stdout);
    notice_warning(listing->notice, "'%s' is left out: %s", notice_name(name).text, why);
    listing->status = EXIT_PARTLY;
}

static bool is_broken(const struct listing *listing)
{
    return listing->is_out_of_memory || ferror(stdout) || out_is_broken(&listing->out);
}

/* Prints what is at `below` or under it, "" is all. Returns -1 with *err. */
static int list(struct listing *listing, const char *below, bool is_filtered,
                struct sqlpack_error *err)
{
    const struct request *request = listing->request;
    struct sqlpack_list_options options = {
        .below = below,
        .names_only = !request->is_long && !request->common.json && !listing->filter.is_active,
        .sort = (enum sqlpack_sort)request->sort,
        .reverse = request->reverse,
        .skipped = on_skipped,
        .user = listing,
    };
    struct sqlpack_list *rows;
    struct sqlpack_entry entry;
    int stepped;
    if (sqlpack_list_open(listing->pack, &options, &rows, err) < 0)
        return -1;
    while ((stepped = sqlpack_list_next(rows, &entry, err)) > 0 && !is_broken(listing)) {
        if ((is_filtered && !is_wanted(listing, entry.name)) ||
            (listing->filter.is_active && !filter_passes(&listing->filter, &entry)))
            continue;
        if (request->common.json)
            print_json(listing, &entry);
        else
            print_text(listing, &entry);
    }
    sqlpack_list_close(rows);
    flush(listing);
    return stepped < 0 ? -1 : 0;
}

static void tell_unmatched(struct listing *listing, const char *pattern)
{
    fflush(stdout);
    notice_warning(listing->notice, "nothing in '%s' is called '%s'",
                   notice_name(listing->request->pack).text, notice_name(pattern).text);
    listing->status = EXIT_PARTLY;
}

/* Names alone need no look at the rest of the pack. */
static bool is_direct(const struct request *request)
{
    for (size_t i = 0; i < request->pattern_count; i++)
        if (request->patterns[i].is_glob)
            return false;
    bool is_sorted = request->sort != SQLPACK_BY_NAME || request->reverse;
    return request->pattern_count == 1 || (request->pattern_count > 1 && !is_sorted);
}

static int list_direct(struct listing *listing, struct sqlpack_error *err)
{
    const struct request *request = listing->request;
    const char *last = NULL;
    for (size_t i = 0; i < request->pattern_count; i++) {
        const char *name = request->patterns[i].text;
        if (last && path_is_below(name, last))
            continue;
        last = name;
        if (list(listing, name, false, err) == 0)
            continue;
        if (err->status != SQLPACK_NOT_FOUND)
            return -1;
        tell_unmatched(listing, name);
    }
    return 0;
}

static int list_filtered(struct listing *listing, struct sqlpack_error *err)
{
    const struct request *request = listing->request;
    if (list(listing, "", request->pattern_count > 0, err) < 0)
        return -1;
    for (size_t i = 0; i < request->pattern_count; i++)
        if (!request->patterns[i].has_matched)
            tell_unmatched(listing, request->patterns[i].text);
    return 0;
}

static int run_listing(struct listing *listing, struct sqlpack_error *err)
{
    const struct request *request = listing->request;
    if (sqlpack_open(request->pack, &listing->pack, err) < 0)
        return -1;
    if ((request->is_long || request->common.json) &&
        owner_names_read(listing->pack, &listing->owners, err) < 0)
        return -1;
    listing->line.owners = listing->owners;
    return is_direct(request) ? list_direct(listing, err) : list_filtered(listing, err);
}

static void request_release(struct request *request)
{
    free(request->patterns);
}

static int run(const struct command *self, int argc, char **argv)
{
    auto_release(request_release) struct request request = {0};
    int status;
    int first = parse(self, &request, argc, argv, &status);
    if (first < 0)
        return status;
    request.pack = argv[first];
    auto_release(listing_release) struct listing listing = {.request = &request};
    if ((status = filter_init(self, &request.filter, &listing.filter)) != 0 ||
        (status = take_patterns(self, &request, argv + first + 1, (size_t)(argc - first - 1))) != 0)
        return status;
    struct notice notice;
    notice_begin(&notice, self, &request.common);
    notice.pack = request.pack;
    listing.notice = &notice;
    out_init(&listing.out, request.common.json);
    struct sqlpack_error err;
    if (run_listing(&listing, &err) < 0) {
        fflush(stdout);
        return out_close(&listing.out, notice_error(&notice, &err));
    }
    if (listing.is_out_of_memory)
        return out_close(&listing.out, notice_fail(self, EXIT_SYSTEM, "out of memory"));
    return out_close(&listing.out, listing.status);
}

const struct command cmd_ls = {
    .name = "ls",
    .arguments = "PACK [PATTERN...]",
    .summary = "list what a pack holds",
    .details = "PATTERN is a name in the pack or a glob, each with what is below it. In a glob,\n"
               "'*' and '?' match '/' too. Names are escaped; -0 and --json give them exactly.\n",
    .run = run,
};

/* SPDX-License-Identifier: MIT */
/* Audits a tree: walks it once, and counts where its space goes and what a pack would take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/audit.h"

#define MODEL_PAGE_MAX 16384 /* the model of reads without mmap holds no further */

struct audit {
    const struct sqlpack_audit_options *options;
    struct sqlpack_audit_result *result;
    struct sqlpack_pack_options pack_options;
    struct sqlpack_pack_result counts; /* what a pack would tell of itself */
    struct report report;
    struct sqlpack_hooks hooks;
    struct record loss; /* room for one */
    bool is_short_of_memory;
    struct rows rows;
    struct groups groups;
    struct sampling sampling;
    struct same same;
    struct values sizes;
};

/* -- one entry ------------------------------------------------------------------------------- */

/* A file with several names: those that the tree does not hold keep it alive. */
static void count_names(struct audit *audit, const struct survey_entry *found, bool is_further)
{
    struct sqlpack_audit_result *result = audit->result;
    uint64_t allocated = (uint64_t)found->stat.st_blocks * 512;
    if (!is_further && found->stat.st_nlink > 1) {
        result->outside_count++;
        result->outside_allocated_bytes += allocated;
    } else if (is_further && !links_find(audit->rows.links, &found->stat)) {
        result->outside_count--;
        result->outside_allocated_bytes -= allocated;
    }
}

/* Counts a file by how its blocks differ from its content. */
static void count_blocks(struct sqlpack_audit_result *result, const struct survey_entry *found,
                         struct counted_file *file)
{
    result->file_allocated_bytes += file->allocated;
    result->empty_count += file->size == 0;
    if (file->allocated >= file->size) {
        file->padding = file->allocated - file->size;
        result->padding_bytes += file->padding;
    } else if (found->is_sparse) {
        result->hole_count++;
        result->hole_bytes += file->size - file->allocated;
    } else {
        result->thin_count++;
        result->thin_bytes += file->size - file->allocated;
    }
}

static int add_file(struct audit *audit, const struct survey_entry *found,
                    const struct row_made *made)
{
    struct counted_file file = {.size = found->entry.sz,
                                .allocated = (uint64_t)found->stat.st_blocks * 512,
                                .data = made->data_bytes};
    const char *name = found->entry.name;
    count_blocks(audit->result, found, &file);
    values_add(&audit->sizes, file.size, 1);
    struct suffix *suffix = groups_file(&audit->groups, name, &file);
    if (!made->is_chunked)
        sampling_row(&audit->sampling, strlen(name), file.size,
                     (size_t)(suffix - audit->groups.suffixes));
    if (file.size == 0)
        return 0;
    if (audit->options->duplicates && same_add(&audit->same, name, &found->stat) < 0)
        return -1;
    if (!audit->sampling.heap || file.data == 0)
        return 0;
    const struct candidate candidate = {.size = file.data,
                                        .content = file.size,
                                        .suffix = suffix,
                                        .class = groups_class(file.size),
                                        .is_sparse = found->is_sparse,
                                        .is_chunked = made->is_chunked};
    return sampling_offer(&audit->sampling, name, &candidate);
}

static int add_entry(struct audit *audit, const struct survey_entry *found,
                     struct sqlpack_error *err)
{
    struct row_made made;
    uint64_t allocated = (uint64_t)found->stat.st_blocks * 512;
    if (rows_add(&audit->rows, found, &made, err) < 0)
        return -1;
    uint64_t not_there = made.is_further ? 0 : freed_not(audit->result, allocated);
    audit->result->inline_count += not_there > 0;
    audit->result->inline_bytes += not_there;
    if (S_ISDIR(found->entry.mode))
        audit->result->folder_allocated_bytes += allocated;
    if (!S_ISREG(found->entry.mode)) {
        sampling_row(&audit->sampling, strlen(found->entry.name), 0, SUFFIX_SLOTS);
        return 0;
    }
    count_names(audit, found, made.is_further);
    return !made.is_further && add_file(audit, found, &made) < 0 ? fail_no_memory(err) : 0;
}

static int each(void *user, const struct survey_entry *found, struct sqlpack_error *err)
{
    struct audit *audit = user;
    struct sqlpack_audit_result *result = audit->result;
    if (groups_enter(&audit->groups, found->entry.name) < 0 || audit->is_short_of_memory)
        return fail_no_memory(err);
    switch (found->state) {
    case SURVEY_READ:
        return add_entry(audit, found, err);
    case SURVEY_SOCKET:
        result->socket_count++;
        return 0;
    case SURVEY_TOO_LARGE:
        result->skipped_count++;
        result->skipped_bytes += (uint64_t)found->stat.st_size;
        return 0;
    default:
        return 0;
    }
}

/* -- the walk -------------------------------------------------------------------------------- */

static int on_progress(void *user, const struct sqlpack_progress *progress)
{
    const struct audit *audit = user;
    const struct sqlpack_hooks *hooks = &audit->options->hooks;
    return hooks->progress ? hooks->progress(hooks->user, progress) : 0;
}

/* Hands a problem on; a pack would have a row of it. */
static void on_problem(void *user, const struct sqlpack_problem *problem)
{
    struct audit *audit = user;
    const struct sqlpack_hooks *hooks = &audit->options->hooks;
    if (hooks->problem)
        hooks->problem(hooks->user, problem);
    if (problem->kind != SQLPACK_LOSS)
        return;
    rows_loss(&audit->loss, problem);
    size_t size = record_size(&audit->loss);
    if (audit->loss.failed || buf_append(&audit->rows.losses, &size, sizeof(size)) < 0)
        audit->is_short_of_memory = true;
}

static int walk(struct audit *audit, const char *dir, struct sqlpack_error *err)
{
    const struct sqlpack_audit_options *options = audit->options;
    const struct scan_options scan = {.excludes = options->excludes,
                                      .exclude_count = options->exclude_count,
                                      .one_file_system = !options->cross_device};
    const struct survey_options survey = {
        .jobs = options->jobs,
        .scan = &scan,
        .no_xattrs = options->no_xattrs,
        .no_content = true,
        .max_file_bytes = options->max_file_bytes,
        .quiet_before_ns = pack_quiet_before(),
        .each = each,
        .user = audit,
    };
    return survey_run(dir, &survey, &audit->report, err);
}

/* -- the result ------------------------------------------------------------------------------ */

static void take_counts(struct audit *audit)
{
    const struct sqlpack_pack_result *counts = &audit->counts;
    struct sqlpack_audit_result *result = audit->result;
    result->file_count = counts->file_count;
    result->folder_count = counts->folder_count;
    result->symlink_count = counts->symlink_count;
    result->special_count = counts->special_count;
    result->hard_link_count = counts->hard_link_count;
    result->content_bytes = counts->content_bytes;
    result->stored_bytes = counts->stored_bytes;
    audit->sampling.row_bytes = (double)(counts->stored_bytes - audit->rows.chunk_bytes);
    result->tree_allocated_bytes = counts->tree_allocated_bytes;
    result->inode_count = counts->tree_inode_count;
    result->entry_count = counts->file_count + counts->folder_count + counts->symlink_count +
                          counts->special_count + counts->hard_link_count;
    result->loss_count = audit->report.loss_count;
    result->size_median = values_at(&audit->sizes, 0.5);
    result->size_p90 = values_at(&audit->sizes, 0.9);
    result->size_p99 = values_at(&audit->sizes, 0.99);
}

/* What reads take where everything is stored as it is. */
static void take_raw(struct audit *audit, const uint64_t pages[SQLPACK_PAGE_SIZES])
{
    double files = audit->result->file_count ? (double)audit->result->file_count : 1;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        struct sqlpack_audit_page *page = &audit->result->pages[i];
        page->page_bytes = (uint32_t)512 << i;
        page->raw_bytes = page->pack_bytes = pages[i] * page->page_bytes;
        page->read_pages = 1 + (double)audit->rows.chains[i] / files;
        audit->sampling.chunk_cost[i] = (double)(audit->rows.chunk_pages[i] * page->page_bytes);
        page->read_pages_p99 = values_at(&audit->rows.pages[i], 0.99);
    }
}

/* Chooses the page size by the rule of pack. */
static void choose(struct audit *audit)
{
    struct sqlpack_audit_result *result = audit->result;
    struct sqlpack_page_choice choices[SQLPACK_PAGE_SIZES];
    double entries = result->entry_count ? (double)result->entry_count : 1;
    double files = result->file_count ? (double)result->file_count : 1;
    uint32_t wish = audit->options->page_bytes;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++) {
        struct sqlpack_audit_page *page = &result->pages[i];
        choices[i] = (struct sqlpack_page_choice){
            .page_bytes = page->page_bytes, .entry_bytes = (double)page->pack_bytes / entries};
        choose_model_read(&choices[i], page->read_pages, audit->sampling.row_bytes / files);
        page->read_us = page->page_bytes > MODEL_PAGE_MAX ? NAN : choices[i].read_us;
        page->mmap_us = choose_mmap_us(page->read_pages, audit->sampling.row_bytes / files);
    }
    result->page_bytes = wish > SQLPACK_PAGE_MIN ? wish
                         : result->entry_count   ? choose_best(choices, wish == SQLPACK_PAGE_MIN)
                         : wish                  ? 512
                                                 : 4096;
    for (size_t i = 0; i < SQLPACK_PAGE_SIZES; i++)
        if (result->pages[i].page_bytes == result->page_bytes)
            result->pack_bytes = result->pages[i].pack_bytes;
}

/* Shares the pack out among the classes of sizes: contents as stored, all else by entry. */
static void share_out(struct audit *audit)
{
    struct sqlpack_audit_result *result = audit->result;
    double stored = 0;
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++)
        stored += (double)audit->groups.data_bytes[i] * audit->sampling.ratios[i];
    double rest = (double)result->pack_bytes - stored;
    double each_entry = rest > 0 && result->entry_count ? rest / (double)result->entry_count : 0;
    for (size_t i = 0; i < SQLPACK_AUDIT_CLASSES; i++) {
        struct sqlpack_audit_class *class = &result->classes[i];
        class->packed_bytes =
            (uint64_t)((double)audit->groups.data_bytes[i] * audit->sampling.ratios[i] +
                       each_entry * (double)class->file_count);
    }
}

static int finish(struct audit *audit, const char *dir, struct sqlpack_error *err)
{
    uint64_t pages[SQLPACK_PAGE_SIZES];
    struct sqlpack_audit_result *result = audit->result;
    take_counts(audit);
    if (rows_end(&audit->rows, pages, err) < 0)
        return -1;
    take_raw(audit, pages);
    if (audit->sampling.heap &&
        (sampling_read(&audit->sampling, audit->rows.root_fd, audit->options, &audit->report,
                       result, err) < 0 ||
         sampling_estimate(&audit->sampling, audit->groups.suffixes, result, err) < 0))
        return -1;
    choose(audit);
    share_out(audit);
    if (groups_end(&audit->groups, result) < 0)
        return fail_no_memory(err);
    if (audit->options->duplicates && same_end(&audit->same, audit->rows.root_fd, audit->options,
                                               result, &audit->report, err) < 0)
        return -1;
    freed_end(audit->options, audit->groups.data_bytes, result);
    return audit->options->verify_freed ? try_move(dir, audit->options, result, err) : 0;
}

static int check_options(const struct sqlpack_audit_options *options, struct sqlpack_error *err)
{
    if (pack_check_form(options->level, options->page_bytes, err) < 0)
        return -1;
    if (!(options->sample_percent >= 0 && options->sample_percent <= 100))
        return fail(err, SQLPACK_INVALID, "no such share: %g %%", options->sample_percent);
    for (size_t i = 0; i < options->block_count; i++)
        if (options->block_bytes[i] == 0 || options->block_bytes[i] > (uint64_t)1 << 30)
            return fail(err, SQLPACK_INVALID, "no such block size");
    return 0;
}

static int run(struct audit *audit, const char *dir, struct sqlpack_error *err)
{
    if (groups_init(&audit->groups, audit->options, audit->result) < 0 ||
        sampling_init(&audit->sampling, audit->options) < 0 || values_init(&audit->sizes) < 0)
        return fail_no_memory(err);
    if (freed_begin(dir, audit->result, err) < 0 ||
        rows_open(&audit->rows, dir, &audit->counts, &audit->pack_options, err) < 0 ||
        walk(audit, dir, err) < 0)
        return -1;
    return finish(audit, dir, err);
}

int sqlpack_audit(const char *dir, const struct sqlpack_audit_options *options,
                  struct sqlpack_audit_result *ret_result, struct sqlpack_error *err)
{
    struct sqlpack_audit_result result = {0};
    struct audit audit = {.options = options, .result = &result, .rows.root_fd = -1};
    if (check_options(options, err) < 0)
        return -1;
    audit.hooks = (struct sqlpack_hooks){on_progress, on_problem, &audit};
    report_init(&audit.report, &audit.hooks);
    int code = run(&audit, dir, err);
    rows_release(&audit.rows);
    groups_release(&audit.groups);
    sampling_release(&audit.sampling);
    same_release(&audit.same);
    values_release(&audit.sizes);
    record_release(&audit.loss);
    report_release(&audit.report);
    if (code < 0)
        sqlpack_audit_release(&result);
    else
        *ret_result = result;
    return code;
}

static void release_groups(struct sqlpack_audit_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(groups[i].name);
    free(groups);
}

void sqlpack_audit_release(struct sqlpack_audit_result *result)
{
    release_groups(result->folders, result->folder_count_listed);
    release_groups(result->suffixes, result->suffix_count_listed);
    release_groups(result->wide, result->wide_count);
    release_groups(result->duplicates, result->duplicate_count_listed);
    free(result->blocks);
    *result = (struct sqlpack_audit_result){0};
}

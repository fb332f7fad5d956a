/* SPDX-License-Identifier: MIT */
/* Tests of lib/audit: how values are spread, groups of files, what a sample stands for. */
#include <math.h>

#include "lib/audit.h"
#include "tap.h"

static void test_values(void)
{
    struct values values;
    need(values_init(&values) == 0);
    is_int((long long)values_at(&values, 0.5), 0, "nothing at all");
    for (uint64_t i = 1; i <= 50; i++)
        values_add(&values, i, 1);
    is_int((long long)values_at(&values, 0.5), 25, "small values are exact");
    is_int((long long)values_at(&values, 1), 50, "the largest");
    values_release(&values);
    bool is_near = true;
    for (uint64_t value = 1; value < UINT64_MAX / 3; value = value * 3 + 1) {
        need(values_init(&values) == 0);
        values_add(&values, value, 1);
        double got = (double)values_at(&values, 0.5);
        is_near = is_near && fabs(got - (double)value) <= 0.008 * (double)value;
        values_release(&values);
    }
    ok(is_near, "any value is within 0.8 %%");
    need(values_init(&values) == 0);
    values_add(&values, UINT64_MAX, 1);
    ok(values_at(&values, 1) > UINT64_MAX / 128 * 127, "the largest of all has its bucket");
    values_release(&values);
}

static void test_top(void)
{
    struct top top;
    struct sqlpack_audit_group *groups;
    size_t count;
    const char *const names[] = {"b", "d", "a", "zero", "c", "d2"};
    const uint64_t ranks[] = {20, 40, 10, 0, 30, 40};
    need(top_init(&top, 3) == 0);
    for (size_t i = 0; i < 6; i++)
        need(top_offer(&top, &(struct sqlpack_audit_group){.name = (char *)(uintptr_t)names[i]},
                       ranks[i]) == 0);
    need(top_take(&top, &groups, &count) == 0);
    is_int((long long)count, 3, "as many as asked for");
    is_text(groups[0].name, "d", "the highest rank first; of equals the one that came first");
    is_text(groups[1].name, "d2", "then its equal");
    is_text(groups[2].name, "c", "then the next");
    for (size_t i = 0; i < count; i++)
        free(groups[i].name);
    free(groups);
    top_release(&top);
}

static void add_file(struct groups *groups, const char *name, uint64_t padding)
{
    const struct counted_file file = {.size = 10, .allocated = 10 + padding, .padding = padding};
    need(groups_enter(groups, name) == 0);
    groups_file(groups, name, &file);
}

static const struct sqlpack_audit_group *find_group(const struct sqlpack_audit_group *groups,
                                                    size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(groups[i].name, name) == 0)
            return &groups[i];
    return NULL;
}

static void test_groups(void)
{
    const struct sqlpack_audit_options options = {.top_count = 20};
    struct sqlpack_audit_result result = {0};
    struct groups groups;
    need(groups_init(&groups, &options, &result) == 0);
    need(groups_enter(&groups, "") == 0);
    need(groups_enter(&groups, "a") == 0);
    add_file(&groups, "a-b.TXT", 1); /* between a folder and what is in it */
    need(groups_enter(&groups, "a/deep") == 0);
    add_file(&groups, "a/deep.txt", 2);
    need(groups_enter(&groups, "a/deep/er") == 0);
    add_file(&groups, "a/deep/er/x.tar.gz", 4);
    add_file(&groups, "a/z", 8);
    add_file(&groups, "ab/.hidden", 16);
    add_file(&groups, "ab/end.", 32);
    need(groups_end(&groups, &result) == 0);
    const struct sqlpack_audit_group *found;
    size_t count = result.folder_count_listed;
    is_int((long long)count, 4, "folders with files right in them");
    found = find_group(result.folders, count, "");
    ok(found && found->padding_bytes == 1, "the root");
    found = find_group(result.folders, count, "a");
    ok(found && found->padding_bytes == 10 && found->file_count == 2,
       "a folder that the walk came back to");
    found = find_group(result.folders, count, "a/deep/er");
    ok(found && found->padding_bytes == 4, "a folder below one without files");
    found = find_group(result.suffixes, result.suffix_count_listed, ".txt");
    ok(found && found->file_count == 2, "suffixes know no case");
    found = find_group(result.suffixes, result.suffix_count_listed, "");
    ok(found && found->file_count == 3, "a leading dot, a last dot, no dot: no suffix");
    groups_release(&groups);
    sqlpack_audit_release(&result);
}

static void test_many_suffixes(void)
{
    const struct sqlpack_audit_options options = {.top_count = 2000};
    struct sqlpack_audit_result result = {0};
    struct groups groups;
    char name[32];
    need(groups_init(&groups, &options, &result) == 0);
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "f.%d", i);
        add_file(&groups, name, 1);
    }
    need(groups_end(&groups, &result) == 0);
    const struct sqlpack_audit_group *none =
        find_group(result.suffixes, result.suffix_count_listed, "");
    ok(none && none->file_count == 3000 - SUFFIXES_MAX, "too many suffixes count as none");
    groups_release(&groups);
    sqlpack_audit_release(&result);
}

static void test_classes(void)
{
    is_int((long long)groups_class(0), 0, "empty files are a class");
    is_int((long long)groups_class(1), 1, "one byte");
    is_int((long long)groups_class(60), 1, "a class holds its bound");
    is_int((long long)groups_class(61), 2, "what is larger is in the next");
    is_int((long long)groups_class(UINT64_MAX), SQLPACK_AUDIT_CLASSES - 1, "the last");
}

int main(void)
{
    test_values();
    test_top();
    test_groups();
    test_many_suffixes();
    test_classes();
    return done();
}

/* SPDX-License-Identifier: MIT */
/* Tests verify and digest as a program calls them: progress, the end on request, threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tap.h"

#define FILES 300

/* What the hooks of one call have heard. */
struct heard {
    atomic_int inside, overlaps; /* callbacks must never run twice at a time */
    unsigned calls, stop_after;  /* 0: never stop */
    struct sqlpack_progress last;
    bool went_back;
};

static int on_progress(void *user, const struct sqlpack_progress *progress)
{
    struct heard *heard = user;
    if (atomic_fetch_add(&heard->inside, 1) != 0)
        atomic_fetch_add(&heard->overlaps, 1);
    heard->went_back |=
        progress->entry_count < heard->last.entry_count || progress->bytes < heard->last.bytes;
    heard->last = *progress;
    heard->calls++;
    int stop = heard->stop_after && heard->calls >= heard->stop_after;
    atomic_fetch_sub(&heard->inside, 1);
    return stop;
}

static void make_tree(void)
{
    char name[64];
    if (mkdir("tree", 0755) < 0)
        perror("mkdir tree");
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "tree/file %d", i);
        FILE *file = fopen(name, "w");
        if (!file || fprintf(file, "content %d\n", i) < 0 || fclose(file) != 0)
            perror(name);
    }
}

static void remove_tree(void)
{
    char name[64];
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "tree/file %d", i);
        unlink(name);
    }
    rmdir("tree");
    unlink("p.db");
}

static void test_progress(unsigned jobs, const char *dir)
{
    struct heard heard = {0};
    struct sqlpack_verify_options options = {
        .jobs = jobs, .dir = dir, .hooks = {.progress = on_progress, .user = &heard}};
    struct sqlpack_verify_result result;
    struct sqlpack_error err;
    int status = sqlpack_verify("p.db", &options, &result, &err);
    ok(status == 0, "%u threads%s: verifies", jobs, dir ? " and a tree" : "");
    is_int(result.entry_count, FILES, "counts the entries");
    is_int(result.read_count, FILES, "and those that it read");
    is_int(result.difference_count, 0, "and no difference");
    ok(result.root_digest_matches, "the root digest matches");
    ok(heard.last.entry_count >= heard.last.entry_total && heard.last.entry_total > 0,
       "progress ends at its total");
    is_int(heard.last.bytes, heard.last.bytes_total, "in bytes too");
    ok(!heard.went_back, "progress never goes back");
    is_int(atomic_load(&heard.overlaps), 0, "hooks are called one at a time");
}

static void test_stop(unsigned jobs, const char *dir, unsigned after)
{
    struct heard heard = {.stop_after = after};
    struct sqlpack_verify_options options = {
        .jobs = jobs, .dir = dir, .hooks = {.progress = on_progress, .user = &heard}};
    struct sqlpack_verify_result result = {.entry_count = 77};
    struct sqlpack_error err;
    ok(sqlpack_verify("p.db", &options, &result, &err) == -1, "stops on request");
    is_int(err.status, SQLPACK_CANCELLED, "says that it was cancelled");
    is_int(result.entry_count, 77, "leaves the result alone");
}

static void test_digest_stop(const char *path)
{
    struct heard heard = {.stop_after = 1};
    struct sqlpack_digest_options options = {.jobs = 2,
                                             .hooks = {.progress = on_progress, .user = &heard}};
    struct sqlpack_error err;
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    ok(sqlpack_digest(path, &options, digest, &err) == -1, "the digest of '%s' stops", path);
    is_int(err.status, SQLPACK_CANCELLED, "says that it was cancelled");
}

static int replace_pack(void *user, const struct sqlpack_progress *progress)
{
    (void)user;
    (void)progress;
    rename("copy.db", "p.db"); /* fails the second time, which is all right */
    return 0;
}

/* Threads open the pack by its name, at different times. */
static void test_replaced(void)
{
    struct sqlpack_verify_options options = {.jobs = 2, .hooks = {.progress = replace_pack}};
    struct sqlpack_verify_result result;
    struct sqlpack_error err;
    ok(sqlpack_verify("p.db", &options, &result, &err) == -1, "a pack that is replaced meanwhile");
    is_int(err.status, SQLPACK_BUSY, "is no finding but a reason to try again");
}

/* The share of names that a sample takes. */
static double share(const struct sample *sample)
{
    char name[32];
    int taken = 0;
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "folder/%d.jpg", i);
        taken += sample_takes(sample, name);
    }
    return taken / 10000.0;
}

static void test_sample(void)
{
    const struct sample all = {.seed = 1, .limit = UINT64_MAX}, none = {.seed = 1, .limit = 0};
    const struct sample tenth = {.seed = 1, .limit = UINT64_MAX / 10};
    const struct sample other = {.seed = 2, .limit = UINT64_MAX / 10};
    ok(share(&all) == 1 && share(&none) == 0, "all and none are just that");
    ok(share(&tenth) > 0.08 && share(&tenth) < 0.12, "a tenth is about a tenth");
    ok(share(&other) > 0.08 && share(&other) < 0.12, "with any seed");
    char name[32];
    int both = 0;
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "folder/%d.jpg", i);
        both += sample_takes(&tenth, name) && sample_takes(&other, name);
    }
    ok(both > 40 && both < 200, "another seed takes others");
}

int main(void)
{
    char place[] = "/tmp/sqlpack-verify-XXXXXX";
    if (!mkdtemp(place) || chdir(place) < 0)
        return skip_all("no scratch folder");
    make_tree();
    static const struct sqlpack_pack_options options = {.no_sync = true};
    struct sqlpack_pack_result result;
    struct sqlpack_error err;
    ok(sqlpack_pack("tree", "p.db", &options, &result, &err) == 0, "packs a tree");
    ok(sqlpack_pack("tree", "copy.db", &options, &result, &err) == 0, "and once more");
    for (unsigned jobs = 1; jobs <= 4; jobs *= 2) {
        test_progress(jobs, NULL);
        test_progress(jobs, "tree");
        test_stop(jobs, NULL, 1);
        test_stop(jobs, NULL, 3);
        test_stop(jobs, "tree", 8);
    }
    test_digest_stop("tree");
    test_digest_stop("p.db");
    test_replaced();
    test_sample();
    remove_tree();
    rmdir(place);
    return done();
}

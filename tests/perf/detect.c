/* SPDX-License-Identifier: MIT */
/* How surely bench finds a reader that is slower by a fifth, and how often it invents a difference.
 *
 * usage: detect DIR EXPERIMENTS
 *
 * DIR holds files and no folders. Each experiment measures three readers of them as bench does:
 * open, fstat, read and close; the same again; and the same with a fifth more time at each read.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/run.h"

#define KEYS_MAX   100000
#define ROUNDS     15
#define SLOWER     1.2
#define BUDGET_NS  6000000000u
#define EXPERIMENT "detect"

static struct bench_key keys[KEYS_MAX];
static const char *paths[KEYS_MAX];
static uint32_t by_id[KEYS_MAX];
static struct bench_tree trees[BENCH_LAYOUTS];

static void die(const char *what, const char *why)
{
    fprintf(stderr, EXPERIMENT ": %s: %s\n", what, why);
    exit(1);
}

static ssize_t read_slowly(void *state, size_t key, void *buffer, size_t capacity)
{
    uint64_t began = bench_now();
    ssize_t got = arm_file_path.read(state, key, buffer, capacity);
    double took = (double)(bench_now() - began);
    while ((double)(bench_now() - began) < SLOWER * took)
        ;
    return got;
}

/* The regular files of a folder, as keys. */
static struct bench_data list_files(const char *folder)
{
    struct bench_data data = {
        .keys = keys, .trees = trees, .by_id = by_id, .pack = folder, .scratch = folder};
    DIR *dir = opendir(folder);
    if (!dir)
        die(folder, "cannot be opened");
    for (struct dirent *entry; (entry = readdir(dir)) && data.key_count < KEYS_MAX;) {
        struct stat stat_of;
        char *path = bench_join(folder, entry->d_name);
        if (!path || lstat(path, &stat_of) < 0 || !S_ISREG(stat_of.st_mode)) {
            free(path);
            continue;
        }
        size_t at = data.key_count++;
        uint64_t size = (uint64_t)stat_of.st_size;
        paths[at] = path;
        keys[at] = (struct bench_key){.name = path, .size = size};
        by_id[at] = (uint32_t)at;
        data.size_max = size > data.size_max ? size : data.size_max;
    }
    closedir(dir);
    if (data.key_count == 0)
        die(folder, "it has no files");
    trees[BENCH_LAYOUT_ASIS] = (struct bench_tree){.paths = paths, .open_flags = O_NOATIME};
    data.clock = clock_choose();
    return data;
}

static void plan(struct bench_result *result, const struct bench_arm *slow)
{
    struct sqlpack_error err;
    struct bench_case *question = plan_case(result, BENCH_READ_RANDOM, BENCH_WARM, &err);
    if (!question || plan_series(question, &arm_file_path, BENCH_LAYOUT_ASIS, "plain", &err) < 0 ||
        plan_series(question, &arm_file_path, BENCH_LAYOUT_ASIS, "again", &err) < 0 ||
        plan_series(question, slow, BENCH_LAYOUT_ASIS, "slow", &err) < 0 ||
        plan_effect(question, BENCH_AA, "plain", "again", &err) < 0 ||
        plan_effect(question, BENCH_DROP_IN, "plain", "slow", &err) < 0)
        die(EXPERIMENT, err.message);
}

static bool is_called_different(const struct bench_effect *effect)
{
    return effect->verdict == BENCH_FILES_FASTER || effect->verdict == BENCH_PACK_FASTER;
}

int main(int argc, char **argv)
{
    static const struct sqlpack_hooks no_hooks;
    long experiments = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (experiments < 1)
        die("usage", EXPERIMENT " DIR EXPERIMENTS");
    struct bench_arm slow = arm_file_path;
    slow.read = read_slowly;
    const struct bench_data data = list_files(argv[1]);
    const struct bench_pace pace = {
        .hooks = &no_hooks, .started_ns = bench_now(), .budget_ns = BUDGET_NS};
    long found = 0, invented = 0;
    for (long i = 1; i <= experiments; i++) {
        struct sqlpack_error err;
        struct bench_result result = {.round_count = ROUNDS};
        const struct measure how = {.data = &data,
                                    .pace = &pace,
                                    .round_count = ROUNDS,
                                    .round_limit = ROUNDS,
                                    .memory_bytes = -1,
                                    .seed = (uint64_t)i};
        plan(&result, &slow);
        if (measure_case(&how, &result.cases[0], BUDGET_NS, &err) < 0 ||
            bench_judge(&result, &err) < 0)
            die(EXPERIMENT, err.message);
        const struct bench_effect *same = &result.cases[0].effects[0], *slower = same + 1;
        printf("%2ld  the same %.3f [%.3f, %.3f]  slower %.3f [%.3f, %.3f]\n", i, same->ratio,
               same->interval.low, same->interval.high, slower->ratio, slower->interval.low,
               slower->interval.high);
        found += slower->verdict == BENCH_FILES_FASTER;
        invented += is_called_different(same);
        bench_result_release(&result);
    }
    printf("slower by %.0f %% found in %ld of %ld, a difference invented in %ld of %ld\n",
           100 * (SLOWER - 1), found, experiments, invented, experiments);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Damages a pack in many ways, one at a time, and demands that verify notices each. */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "sqlpack.h"

/*
 * The pack is a copy that may be spoilt; it is put right after each damage. What
 * verify lets pass must not matter: all that can be listed and read is then as before.
 */
struct trial {
    const char *path;
    int fd;
    unsigned char *bytes; /* the sound pack */
    size_t size, page_bytes;
    uint64_t sound; /* what its entries and contents hash to */
    uint64_t damages, seen, harmless, missed;
};

/* What one verify may take: of the processor's time, and of the clock, which runs on where a
 * machine is busy or asleep. */
#define BUSY_SECONDS_MAX 20
#define SECONDS_MAX      600

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return hash_bytes(hash, &number, sizeof(number));
}

static uint64_t hash_entry(uint64_t hash, const struct sqlpack_entry *entry)
{
    hash = hash_bytes(hash, entry->name, strlen(entry->name) + 1);
    hash = hash_number(hash, entry->mode);
    hash = hash_number(hash, (uint64_t)entry->mtime);
    hash = hash_number(hash, entry->mtime_ns);
    hash = hash_number(hash, entry->sz);
    hash = hash_number(hash, (uint64_t)entry->uid << 32 | entry->gid);
    hash = hash_number(hash, entry->rdev);
    hash = hash_number(hash, (uint64_t)entry->link);
    hash = hash_bytes(hash, entry->xattr ? entry->xattr : "", entry->xattr_bytes);
    if (entry->target)
        hash = hash_bytes(hash, entry->target, strlen(entry->target) + 1);
    return hash_bytes(hash, entry->digest, sizeof(entry->digest));
}

static int hash_loss(void *user, const char *name, const char *what, int os_errno)
{
    uint64_t *hash = user;
    *hash = hash_bytes(*hash, name, strlen(name) + 1);
    *hash = hash_bytes(*hash, what, strlen(what) + 1);
    *hash = hash_number(*hash, (uint64_t)os_errno);
    return 0;
}

static int hash_owner(void *user, bool is_group, uint32_t id, const char *name)
{
    uint64_t *hash = user;
    *hash = hash_number(*hash, (uint64_t)is_group << 32 | id);
    *hash = hash_bytes(*hash, name, strlen(name) + 1);
    return 0;
}

/* Adds all entries to the hash; names of those with content go to *names, each with its NUL. */
static int hash_list(struct sqlpack *pack, uint64_t *hash, FILE *names)
{
    static const struct sqlpack_list_options everything = {0};
    struct sqlpack_error error;
    struct sqlpack_list *list;
    struct sqlpack_entry entry;
    if (sqlpack_list_open(pack, &everything, &list, &error) < 0)
        return -1;
    int result;
    while ((result = sqlpack_list_next(list, &entry, &error)) > 0) {
        *hash = hash_entry(*hash, &entry);
        if (S_ISREG(entry.mode))
            fwrite(entry.name, 1, strlen(entry.name) + 1, names);
    }
    sqlpack_list_close(list);
    return result;
}

static int hash_contents(struct sqlpack *pack, uint64_t *hash, const char *names, size_t size)
{
    struct sqlpack_error error;
    for (const char *name = names; name < names + size; name += strlen(name) + 1) {
        void *data;
        size_t data_size;
        if (sqlpack_read(pack, name, &data, &data_size, &error) < 0)
            return -1;
        *hash = hash_bytes(*hash, data, data_size);
        free(data);
    }
    return 0;
}

/* All that a reader can learn from the pack. Returns -1 where something cannot be read. */
static int hash_pack(const char *path, uint64_t *ret_hash)
{
    struct sqlpack_error error;
    struct sqlpack *pack;
    struct sqlpack_entry root;
    char *names = NULL;
    size_t size = 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    if (sqlpack_open(path, &pack, &error) < 0)
        return -1;
    FILE *file = open_memstream(&names, &size);
    if (!file)
        err(2, "open_memstream");
    int result = sqlpack_find(pack, "", &root, &error);
    if (result == 0) {
        hash = hash_entry(hash, &root);
        result = hash_list(pack, &hash, file);
    }
    fclose(file);
    if (result == 0)
        result = hash_contents(pack, &hash, names, size);
    if (result == 0)
        result = sqlpack_losses(pack, hash_loss, &hash, &error);
    if (result == 0)
        result = sqlpack_owners(pack, hash_owner, &hash, &error);
    free(names);
    sqlpack_close(pack);
    *ret_hash = hash;
    return result;
}

/* Whether verify says that something is wrong. */
static bool is_seen(const struct trial *trial)
{
    static const struct sqlpack_verify_options options = {.jobs = 1};
    struct sqlpack_verify_result result;
    struct sqlpack_error error;
    struct itimerval busy = {.it_value.tv_sec = BUSY_SECONDS_MAX}, off = {0};
    setitimer(ITIMER_PROF, &busy, NULL);
    alarm(SECONDS_MAX);
    bool is_wrong =
        sqlpack_verify(trial->path, &options, &result, &error) < 0 || result.difference_count > 0;
    alarm(0);
    setitimer(ITIMER_PROF, &off, NULL);
    return is_wrong;
}

/* Judges the pack as it now is; `what` and `where` say what was done to it. */
static void judge(struct trial *trial, const char *what, size_t where)
{
    uint64_t hash;
    trial->damages++;
    if (is_seen(trial)) {
        trial->seen++;
    } else if (hash_pack(trial->path, &hash) == 0 && hash == trial->sound) {
        trial->harmless++;
    } else {
        trial->missed++;
        printf("missed: %s %zu\n", what, where);
        fflush(stdout);
    }
}

static void put(const struct trial *trial, const void *data, size_t size, size_t at)
{
    if (pwrite(trial->fd, data, size, (off_t)at) != (ssize_t)size)
        err(2, "write '%s'", trial->path);
}

static void restore(const struct trial *trial, size_t at, size_t size)
{
    put(trial, trial->bytes + at, size, at);
}

static void flip_bits(struct trial *trial, size_t first, size_t step)
{
    for (size_t bit = first; bit < trial->size * 8; bit += step) {
        unsigned char byte = (unsigned char)(trial->bytes[bit / 8] ^ 1u << bit % 8);
        put(trial, &byte, 1, bit / 8);
        judge(trial, "bit", bit);
        restore(trial, bit / 8, 1);
    }
}

static void spoil_pages(struct trial *trial)
{
    size_t page = trial->page_bytes;
    void *zeros = calloc(1, page);
    if (!zeros)
        err(2, "calloc");
    for (size_t at = 0; at + page <= trial->size; at += page) {
        put(trial, zeros, page, at);
        judge(trial, "page of zeros at", at);
        restore(trial, at, page);
        if (at + 2 * page <= trial->size) {
            put(trial, trial->bytes + at, page, at + page);
            judge(trial, "page doubled from", at);
            put(trial, trial->bytes + at + page, page, at);
            judge(trial, "pages swapped at", at);
            restore(trial, at, 2 * page);
        }
        if (ftruncate(trial->fd, (off_t)at) < 0)
            err(2, "ftruncate");
        judge(trial, "cut off at", at);
        restore(trial, at, trial->size - at);
    }
    free(zeros);
}

static void load(struct trial *trial)
{
    struct stat stat;
    trial->fd = open(trial->path, O_RDWR | O_CLOEXEC);
    if (trial->fd < 0 || fstat(trial->fd, &stat) < 0)
        err(2, "open '%s'", trial->path);
    trial->size = (size_t)stat.st_size;
    trial->bytes = malloc(trial->size);
    if (!trial->bytes || pread(trial->fd, trial->bytes, trial->size, 0) != (ssize_t)trial->size ||
        trial->size < 512)
        err(2, "read '%s'", trial->path);
    trial->page_bytes = (size_t)trial->bytes[16] << 8 | trial->bytes[17];
    if (trial->page_bytes == 1)
        trial->page_bytes = 65536;
    if (is_seen(trial) || hash_pack(trial->path, &trial->sound) < 0)
        errx(2, "'%s' is not sound", trial->path);
}

int main(int argc, char **argv)
{
    if (argc != 4 && !(argc == 3 && strcmp(argv[2], "pages") == 0))
        errx(2, "usage: damage PACK FIRST STEP    (flips bits)\n"
                "       damage PACK pages    (zeroes, doubles, swaps, cuts off pages)");
    struct trial trial = {.path = argv[1]};
    load(&trial);
    if (argc == 3)
        spoil_pages(&trial);
    else
        flip_bits(&trial, strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    printf("%" PRIu64 " damages: %" PRIu64 " seen, %" PRIu64 " harmless, %" PRIu64 " missed\n",
           trial.damages, trial.seen, trial.harmless, trial.missed);
    free(trial.bytes);
    close(trial.fd);
    return trial.missed ? 1 : 0;
}

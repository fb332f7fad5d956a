/* SPDX-License-Identifier: MIT */
/* Makes the trees that performance is measured on; the same bytes every time. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS      4096
#define WORD_BYTES 12
#define FILE_BYTES 16384

struct maker {
    uint64_t state; /* of the random numbers */
    char words[WORDS][WORD_BYTES + 1];
    unsigned char content[FILE_BYTES];
};

struct kind {
    const char *name;
    unsigned file_count;
    unsigned folder_count; /* 0: all files in the root */
    void (*fill)(struct maker *maker, unsigned number, size_t *ret_size);
};

/* SplitMix64. */
static uint64_t random_next(struct maker *maker)
{
    uint64_t z = maker->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static unsigned random_below(struct maker *maker, unsigned limit)
{
    return (unsigned)(random_next(maker) % limit);
}

/* Words of one to four syllables, so that text deflates about as English does. */
static void make_words(struct maker *maker)
{
    static const char consonants[] = "bcdfghklmnprstvw", vowels[] = "aeiouyea";
    for (unsigned i = 0; i < WORDS; i++) {
        char *word = maker->words[i];
        unsigned syllables = 1 + random_below(maker, 4), used = 0;
        for (unsigned k = 0; k < syllables; k++) {
            word[used++] = consonants[random_below(maker, 16)];
            word[used++] = vowels[random_below(maker, 8)];
            if (random_below(maker, 2))
                word[used++] = consonants[random_below(maker, 16)];
        }
        word[used] = '\0';
    }
}

/* 8,000 to 12,000 bytes that do not compress, as in SQLite's own comparison with files. */
static void fill_random(struct maker *maker, unsigned number, size_t *ret_size)
{
    (void)number;
    size_t size = 8000 + random_below(maker, 4001);
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t bits = random_next(maker);
        memcpy(maker->content + i, &bits, sizeof(bits));
    }
    *ret_size = size;
}

/* 200 to 4,096 bytes of words, frequent ones more often, in lines. */
static void fill_text(struct maker *maker, unsigned number, size_t *ret_size)
{
    (void)number;
    size_t size = 200 + random_below(maker, 3897), used = 0;
    while (used < size) {
        uint64_t skewed = random_below(maker, WORDS);
        skewed = skewed * random_below(maker, WORDS) / WORDS * random_below(maker, WORDS) / WORDS;
        const char *word = maker->words[skewed];
        size_t length = strlen(word);
        memcpy(maker->content + used, word, length);
        used += length;
        maker->content[used++] = random_below(maker, 10) ? ' ' : '\n';
    }
    *ret_size = size;
}

/* Every second file is empty, the others hold 10 bytes. */
static void fill_tiny(struct maker *maker, unsigned number, size_t *ret_size)
{
    snprintf((char *)maker->content, FILE_BYTES, "%09u\n", number);
    *ret_size = number % 2 ? 10 : 0;
}

static void fill_nothing(struct maker *maker, unsigned number, size_t *ret_size)
{
    (void)maker, (void)number;
    *ret_size = 0;
}

static int fail(const char *verb, const char *name)
{
    fprintf(stderr, "maketree: cannot %s '%s': %s\n", verb, name, strerror(errno));
    return -1;
}

static int write_file(int folder, const char *name, const void *data, size_t size)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail("create", name);
    ssize_t written = write(fd, data, size);
    if (close(fd) < 0 || written != (ssize_t)size)
        return fail("write", name);
    return 0;
}

/* Fills the open folder `root`. Returns 0 or -1. */
static int make_tree(struct maker *maker, const struct kind *kind, unsigned count, int root)
{
    char name[64];
    unsigned each = kind->folder_count ? (count + kind->folder_count - 1) / kind->folder_count : 0;
    for (unsigned i = 0; i < count; i++) {
        if (each == 0) {
            snprintf(name, sizeof(name), "%06u", i);
        } else {
            snprintf(name, sizeof(name), "d%04u", i / each);
            if (i % each == 0 && mkdirat(root, name, 0755) < 0)
                return fail("create", name);
            snprintf(name, sizeof(name), "d%04u/f%07u.txt", i / each, i);
        }
        size_t size;
        kind->fill(maker, i, &size);
        if (write_file(root, name, maker->content, size) < 0)
            return -1;
    }
    return 0;
}

static const struct kind *find_kind(const char *name)
{
    static const struct kind kinds[] = {
        {"K", 100000, 0, fill_random},        {"T", 200000, 400, fill_text},
        {"M", 1000000, 1000, fill_tiny},      {"E", 1000000, 1000, fill_nothing},
        {"X", 10000000, 10000, fill_nothing},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct kind *kind = argc == 3 || argc == 4 ? find_kind(argv[1]) : NULL;
    if (!kind) {
        fprintf(stderr, "usage: maketree K|T|M|E|X DIR [FILES]\n");
        return 2;
    }
    unsigned count = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : kind->file_count;
    struct maker *maker = calloc(1, sizeof(*maker));
    if (!maker) {
        fail("make", argv[2]);
        return 3;
    }
    maker->state = 1;
    make_words(maker);
    int root = mkdir(argv[2], 0755) < 0 ? -1 : open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = root < 0 ? fail("create", argv[2]) : make_tree(maker, kind, count, root);
    if (root >= 0)
        close(root);
    free(maker);
    return result < 0 ? 3 : 0;
}

/* SPDX-License-Identifier: MIT */
/* The names in one folder, in the order of full names. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

void listing_release(struct listing *listing)
{
    buf_release(&listing->texts);
    free(listing->steps);
    *listing = (struct listing){0};
}

const char *listing_text(const struct listing *listing, size_t i)
{
    return listing->texts.data + listing->steps[i].text_at;
}

unsigned char listing_type(const struct listing *listing, size_t i)
{
    return (unsigned char)listing_text(listing, i)[-1];
}

/* Texts stand one after the other: a byte with the type, the text, a NUL. */
static int add_text(struct listing *listing, unsigned char type, const char *name, bool descends)
{
    struct buf *texts = &listing->texts;
    listing->count++;
    if (buf_append_char(texts, (char)type) < 0 || buf_append_text(texts, name) < 0)
        return -1;
    if (descends && buf_append_char(texts, '/') < 0)
        return -1;
    return buf_append(texts, "", 1);
}

static unsigned char type_of(int folder, const struct dirent *dirent)
{
    struct stat stat;
    if (dirent->d_type != DT_UNKNOWN)
        return dirent->d_type;
    if (fstatat(folder, dirent->d_name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_REG; /* whoever opens it will see what it is, or why it cannot */
    return IFTODT(stat.st_mode);
}

static int add_name(struct listing *listing, int folder, const struct dirent *dirent)
{
    const char *name = dirent->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return 0;
    unsigned char type = type_of(folder, dirent);
    if (add_text(listing, type, name, false) < 0)
        return -1;
    return type == DT_DIR ? add_text(listing, type, name, true) : 0;
}

/* Reads all names. Returns 0, or -1 with errno. */
static int read_all(struct listing *listing, int folder)
{
    int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    rewinddir(dir); /* the descriptors share one offset */
    int failed = 0;
    while (!failed) {
        errno = 0;
        const struct dirent *dirent = readdir(dir);
        if (!dirent || add_name(listing, folder, dirent) < 0)
            failed = errno;
        if (!dirent)
            break;
    }
    closedir(dir);
    errno = failed;
    return failed ? -1 : 0;
}

static int compare_steps(const void *a, const void *b, void *texts)
{
    const struct listing_step *x = a, *y = b;
    if (x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    return strcmp((const char *)texts + x->text_at, (const char *)texts + y->text_at);
}

static int sort(struct listing *listing)
{
    listing->steps = malloc((listing->count + 1) * sizeof(*listing->steps));
    if (!listing->steps)
        return -1;
    size_t at = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const char *text = listing->texts.data + at + 1;
        size_t size = strlen(text);
        struct listing_step *step = &listing->steps[i];
        *step = (struct listing_step){.text_at = at + 1};
        for (size_t k = 0; k < 8; k++)
            step->prefix = step->prefix << 8 | (k < size ? (unsigned char)text[k] : 0);
        at += size + 2;
    }
    qsort_r(listing->steps, listing->count, sizeof(*listing->steps), compare_steps,
            listing->texts.data);
    return 0;
}

int listing_read(int folder, struct listing *listing)
{
    int result = read_all(listing, folder);
    int failed = errno;
    if (sort(listing) < 0) {
        listing->count = 0;
        return -1;
    }
    errno = failed;
    return result;
}

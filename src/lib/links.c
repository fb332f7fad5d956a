/* SPDX-License-Identifier: MIT */
/* Which names are one file: a hash table by device and inode. */
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

struct slot {
    dev_t dev;
    ino_t ino;
    nlink_t names_to_come;   /* a group all of whose names were met is forgotten */
    struct link_group group; /* group.name NULL: the slot is empty */
};

struct links {
    struct slot *slots;
    size_t capacity; /* a power of two */
    size_t count;
};

struct links *links_new(void)
{
    struct links *links = calloc(1, sizeof(*links));
    if (!links)
        return NULL;
    links->capacity = 64;
    links->slots = calloc(links->capacity, sizeof(*links->slots));
    if (!links->slots) {
        free(links);
        return NULL;
    }
    return links;
}

void links_free(struct links *links)
{
    if (!links)
        return;
    for (size_t i = 0; i < links->capacity; i++)
        free(links->slots[i].group.name);
    free(links->slots);
    free(links);
}

static size_t home(const struct links *links, dev_t dev, ino_t ino)
{
    uint64_t mixed = ((uint64_t)ino ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15u;
    return (size_t)(mixed >> 20) & (links->capacity - 1);
}

/* The slot of a file, or the empty one where it would go. */
static struct slot *lookup(const struct links *links, dev_t dev, ino_t ino)
{
    size_t at = home(links, dev, ino);
    while (links->slots[at].group.name &&
           (links->slots[at].dev != dev || links->slots[at].ino != ino))
        at = (at + 1) & (links->capacity - 1);
    return &links->slots[at];
}

const struct link_group *links_find(const struct links *links, const struct stat *stat)
{
    const struct slot *slot = lookup(links, stat->st_dev, stat->st_ino);
    return slot->group.name ? &slot->group : NULL;
}

static int grow(struct links *links)
{
    struct links larger = {.capacity = links->capacity * 2, .count = links->count};
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return -1;
    for (size_t i = 0; i < links->capacity; i++)
        if (links->slots[i].group.name)
            *lookup(&larger, links->slots[i].dev, links->slots[i].ino) = links->slots[i];
    free(links->slots);
    *links = larger;
    return 0;
}

int links_add(struct links *links, const struct stat *stat, const struct link_group *group)
{
    if (links->count * 4 >= links->capacity * 3 && grow(links) < 0)
        return -1;
    char *name = strdup(group->name);
    if (!name)
        return -1;
    struct slot *slot = lookup(links, stat->st_dev, stat->st_ino);
    *slot = (struct slot){.dev = stat->st_dev,
                          .ino = stat->st_ino,
                          .names_to_come = stat->st_nlink - 1,
                          .group = *group};
    slot->group.name = name;
    links->count++;
    return 0;
}

/* Removes a slot and moves those behind it up, so that no search ends early. */
static void remove_slot(struct links *links, struct slot *slot)
{
    size_t mask = links->capacity - 1;
    size_t hole = (size_t)(slot - links->slots);
    free(slot->group.name);
    for (size_t at = (hole + 1) & mask; links->slots[at].group.name; at = (at + 1) & mask) {
        size_t wish = home(links, links->slots[at].dev, links->slots[at].ino);
        if (((at - wish) & mask) >= ((at - hole) & mask)) {
            links->slots[hole] = links->slots[at];
            hole = at;
        }
    }
    links->slots[hole] = (struct slot){0};
    links->count--;
}

void links_met(struct links *links, const struct stat *stat)
{
    struct slot *slot = lookup(links, stat->st_dev, stat->st_ino);
    if (slot->group.name && --slot->names_to_come == 0)
        remove_slot(links, slot);
}

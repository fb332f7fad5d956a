/* SPDX-License-Identifier: MIT */
/* Which entries ls shows: by size, time and type. */
#ifndef CMD_FILTER_H
#define CMD_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/opt.h"
#include "sqlpack.h"

/* The values of --size, --newer and --type as they were given; NULL: not given. */
struct filter_request {
    const char *size, *newer, *types;
};

struct filter {
    bool is_active;
    bool has_size, has_newer;
    char size_sign; /* '+': larger, '-': smaller, else exactly */
    uint64_t size_bytes;
    int64_t newer; /* seconds since 1970 */
    uint32_t newer_ns;
    uint32_t types; /* a bit for each mode >> 12; 0: all */
};

/* Returns 0, or the exit status after telling what is wrong. */
int filter_init(const struct command *self, const struct filter_request *request,
                struct filter *ret_filter);

bool filter_passes(const struct filter *filter, const struct sqlpack_entry *entry);

#endif

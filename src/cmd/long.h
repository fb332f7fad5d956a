/* SPDX-License-Identifier: MIT */
/* The part of a line of ls -l that stands before the name. */
#ifndef CMD_LONG_H
#define CMD_LONG_H

#include "cmd/owner.h"
#include "sqlpack.h"
#include "util/buf.h"

/* All zero at first; released in the end. */
struct long_line {
    const struct owner_names *owners; /* NULL: owners are shown by number */
    struct owner_field {
        bool is_set;
        uint32_t id;
        struct buf text;
    } fields[2]; /* owner and group of the last line, as they were shown */
};

/* Appends mode, owner, group, size and time, a blank behind each. Returns 0, or -1 with errno. */
int long_line_append(struct long_line *line, const struct sqlpack_entry *entry, struct buf *out);
void long_line_release(struct long_line *line);

#endif

/* SPDX-License-Identifier: MIT */
/* The user and group names that a pack knows. */
#ifndef CMD_OWNER_H
#define CMD_OWNER_H

#include "sqlpack.h"

/* At most 10,000 of them: what a pack has beyond is shown by number. */
struct owner_names;

/* Reads them; the caller frees them. Fails as sqlpack_owners does. */
int owner_names_read(struct sqlpack *pack, struct owner_names **ret_names,
                     struct sqlpack_error *err);
void owner_names_free(struct owner_names *names); /* NULL is fine */

/* The name, borrowed; NULL where it is not known. `names` may be NULL. */
const char *owner_name(const struct owner_names *names, bool is_group, uint32_t id);

#endif

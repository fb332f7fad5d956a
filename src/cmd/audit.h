/* SPDX-License-Identifier: MIT */
/* What the files of `sqlpack audit` share. */
#ifndef CMD_AUDIT_H
#define CMD_AUDIT_H

#include "cli/out.h"
#include "cli/text.h"
#include "sqlpack.h"

/* audit_report.c: what a tree takes and what a pack of it would, as text or as JSON. */
void audit_report(struct out *out, const struct sqlpack_audit_options *options,
                  const struct sqlpack_audit_result *result);

/* audit_html.c: the same as a page. Returns 0, or -1 with errno. */
int audit_html(const char *path, const char *dir, const struct sqlpack_audit_options *options,
               const struct sqlpack_audit_result *result);

/* audit_space.c: how a pack spends its bytes. `tree` is the forecast for it; NULL: none. */
void audit_space(struct out *out, const struct sqlpack_audit_space *space,
                 const struct sqlpack_audit_result *tree);

/* audit_words.c: what both reports say in words. */
struct text audit_signed(int64_t bytes);                          /* "-1.2 MiB" */
struct text audit_class(const struct sqlpack_audit_class *class); /* "to 4.0 KiB" */
double audit_percent(double part, double whole);                  /* 0 where whole is 0 */
const struct sqlpack_audit_page *audit_chosen(const struct sqlpack_audit_result *result);
const char *audit_group_name(const struct sqlpack_audit_group *group, bool is_suffix);

/* The i-th thing that a reader of this report should know; NULL: there is no more. In *ret_room
 * where it is not a constant. */
struct audit_sentence {
    char text[400];
};
const char *audit_caveat(const struct sqlpack_audit_options *options,
                         const struct sqlpack_audit_result *result, size_t i,
                         struct audit_sentence *ret_room);

/* Why the page size is what it is. */
struct audit_sentence audit_reason(const struct sqlpack_audit_options *options,
                                   const struct sqlpack_audit_result *result);

#endif

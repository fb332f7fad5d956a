/* SPDX-License-Identifier: MIT */
/* The report of audit on a tree as a page. */
#include "cmd/audit.h"

int audit_html(const char *path, const char *dir, const struct sqlpack_audit_options *options,
               const struct sqlpack_audit_result *result)
{
    (void)path;
    (void)dir;
    (void)options;
    (void)result;
    return 0;
}

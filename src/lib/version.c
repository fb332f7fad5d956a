/* SPDX-License-Identifier: MIT */
/* The version of the library that is linked. */
#include "sqlpack.h"

const char *sqlpack_version(void)
{
    return SQLPACK_VERSION;
}

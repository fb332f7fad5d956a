/* SPDX-License-Identifier: MIT */
/* The wide form of the digest; only for processors with AVX2, on x86-64. */
#ifndef LIB_HASH_WIDE_H
#define LIB_HASH_WIDE_H

#include <stddef.h>

/* XXH3-128 of some bytes in the canonical form; the same value as hash_digest gives. */
void hash_wide(const void *data, size_t size, unsigned char ret_canonical[16]);

#endif

/* SPDX-License-Identifier: MIT */
/* XXH3-128 with the wide registers of processors that have them: hash.c asks first. */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#include <immintrin.h> /* clang gives its types to any target; xxhash.h only asks with -mavx2 */

#define XXH_VECTOR XXH_AVX2
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/hash_wide.h"

void hash_wide(const void *data, size_t size, unsigned char ret_canonical[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    memcpy(ret_canonical, canonical.digest, sizeof(canonical.digest));
}

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int hash_wide_is_empty; /* ISO C wants a declaration */
#endif

/* SPDX-License-Identifier: MIT */
/* Digests, seals and sums: the same by every way, different for every field. */
#include "lib/hash_wide.h"
#include "lib/internal.h"
#include "tap.h"

static const char *hex(const uint8_t digest[SQLPACK_DIGEST_BYTES])
{
    static char text[2 * SQLPACK_DIGEST_BYTES + 1];
    for (int i = 0; i < SQLPACK_DIGEST_BYTES; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", digest[i]);
    return text;
}

/* The values that xxhsum -H2 prints. */
static void test_known(void)
{
    uint8_t digest[SQLPACK_DIGEST_BYTES];
    hash_digest("", 0, digest);
    is_text(hex(digest), "99aa06d3014798d86001c324468d497f", "digest of nothing");
    hash_digest("a", 1, digest);
    is_text(hex(digest), "a96faf705af16834e6c632b61e964e1f", "digest of one byte");
}

/* In one go, in pieces of every size, and with wide registers. */
static void test_ways(void)
{
    static unsigned char data[70000];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 2654435761u >> 13);
    struct hash_stream *stream = hash_stream_new();
    need(stream);
    int wrong_stream = 0, wrong_wide = 0;
    for (size_t size = 0; size < sizeof(data); size += size < 1500 ? 1 : 977) {
        uint8_t whole[SQLPACK_DIGEST_BYTES], other[SQLPACK_DIGEST_BYTES];
        hash_digest(data, size, whole);
        hash_stream_reset(stream);
        size_t piece = size % 313 + 1;
        for (size_t at = 0; at < size; at += piece)
            hash_stream_add(stream, data + at, size - at < piece ? size - at : piece);
        hash_stream_end(stream, other);
        wrong_stream += memcmp(whole, other, sizeof(whole)) != 0;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) {
            hash_wide(data, size, other);
            wrong_wide += memcmp(whole, other, sizeof(whole)) != 0;
        }
#endif
    }
    hash_stream_free(stream);
    is_int(wrong_stream, 0, "pieces give the digest of the whole");
    is_int(wrong_wide, 0, "wide registers give the same digest");
}

static struct sqlpack_entry sample(void)
{
    return (struct sqlpack_entry){.id = 7,
                                  .name = "a/b",
                                  .mode = 0100644,
                                  .mtime = 1,
                                  .mtime_ns = 2,
                                  .sz = 3,
                                  .uid = 4,
                                  .gid = 5,
                                  .ctime_ns = 6,
                                  .xattr = "user.x\0\1\0\0\0v",
                                  .xattr_bytes = 12,
                                  .has_digest = true,
                                  .digest = {9}};
}

/* Entries that differ from the sample in one field each. */
static size_t make_variants(struct sqlpack_entry *variants)
{
    size_t n = 0;
    for (size_t i = 0; i < 16; i++)
        variants[i] = sample();
    variants[n++].id = 8;
    variants[n++].name = "a/c";
    variants[n++].mode = 0100645;
    variants[n++].mtime = -1;
    variants[n++].mtime_ns = 3;
    variants[n++].sz = 4;
    variants[n++].uid = 5;
    variants[n++].gid = 4;
    variants[n++].rdev = 1;
    variants[n++].link = 1;
    variants[n].xattr = NULL;
    variants[n++].xattr_bytes = 0;
    variants[n++].xattr_bytes = 11;
    variants[n++].has_digest = false;
    variants[n++].digest[15] = 1;
    return n;
}

static void test_seal(void)
{
    struct sqlpack_entry variants[16], entry = sample();
    size_t count = make_variants(variants);
    int64_t seal = hash_seal(&entry);
    for (size_t i = 0; i < count; i++) {
        ok(hash_seal(&variants[i]) != seal, "field %zu is sealed", i);
        for (size_t k = 0; k < i; k++)
            need(hash_seal(&variants[i]) != hash_seal(&variants[k]));
    }
    entry.ctime_ns = 77;
    ok(hash_seal(&entry) == seal, "the change time is not");
    static char long_name[5000];
    memset(long_name, 'n', sizeof(long_name) - 1);
    entry.name = long_name;
    int64_t before = hash_seal(&entry);
    long_name[4000] = 'm';
    ok(hash_seal(&entry) != before, "a long name is sealed to its end");
}

static void test_sum(void)
{
    struct sqlpack_entry variants[16];
    size_t count = make_variants(variants);
    struct hash_sum forwards = {0}, backwards = {0}, content = {0}, other = {0};
    for (size_t i = 0; i < count; i++)
        hash_sum_add(&forwards, &variants[i], false);
    for (size_t i = count; i-- > 0;)
        hash_sum_add(&backwards, &variants[i], false);
    ok(forwards.sum == backwards.sum, "the order does not matter");
    hash_sum_remove(&backwards, &variants[3], false);
    ok(forwards.sum != backwards.sum, "what is missing does");
    hash_sum_add(&content, &variants[3], true); /* another time */
    hash_sum_add(&other, &variants[6], true);   /* another owner */
    ok(content.sum == other.sum, "content alone leaves times and owners out");
    hash_sum_add(&other, &variants[1], true);
    hash_sum_merge(&content, &other);
    ok(content.sum != other.sum, "sums are merged");
}

int main(void)
{
    test_known();
    test_ways();
    test_seal();
    test_sum();
    return done();
}

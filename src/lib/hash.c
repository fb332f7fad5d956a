/* SPDX-License-Identifier: MIT */
/* Digests, seals and the root digest: which bytes are hashed, in which order (sqlpack(5)). */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* rows are short: the call would cost as much as the hash */
#include <xxhash.h>

#include "lib/hash_wide.h"
#include "lib/internal.h"

void hash_digest(const void *data, size_t size, uint8_t ret_digest[SQLPACK_DIGEST_BYTES])
{
#if defined(__x86_64__)
    if (size > 240 && __builtin_cpu_supports("avx2")) { /* up to 240 bytes XXH3 has no loop */
        hash_wide(data, size, ret_digest);
        return;
    }
#endif
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    memcpy(ret_digest, canonical.digest, SQLPACK_DIGEST_BYTES);
}

/* Every hash over a row is one over its fields as bytes: an integer is 'i' and eight bytes,
 * little-endian; a byte string is 'b', its length as eight bytes, little-endian, and the bytes;
 * an absent value is 'n'. Each field tells its type and length, so no two rows give the same
 * bytes. */
#define NUMBER_BYTES 9

static void encode_number(unsigned char ret_bytes[NUMBER_BYTES], char type, uint64_t number)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap64(number);
#endif
    ret_bytes[0] = (unsigned char)type;
    memcpy(ret_bytes + 1, &number, sizeof(number));
}

struct hash_stream {
    XXH3_state_t *state;
};

struct hash_stream *hash_stream_new(void)
{
    struct hash_stream *stream = malloc(sizeof(*stream));
    if (!stream)
        return NULL;
    stream->state = XXH3_createState();
    if (!stream->state) {
        free(stream);
        return NULL;
    }
    hash_stream_reset(stream);
    return stream;
}

void hash_stream_add(struct hash_stream *stream, const void *data, size_t size)
{
    XXH3_128bits_update(stream->state, data, size);
}

void hash_stream_end(const struct hash_stream *stream, uint8_t ret_digest[SQLPACK_DIGEST_BYTES])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(stream->state));
    memcpy(ret_digest, canonical.digest, SQLPACK_DIGEST_BYTES);
}

void hash_stream_reset(struct hash_stream *stream)
{
    XXH3_128bits_reset(stream->state);
}

void hash_stream_int(struct hash_stream *stream, int64_t value)
{
    unsigned char bytes[NUMBER_BYTES];
    encode_number(bytes, 'i', (uint64_t)value);
    hash_stream_add(stream, bytes, sizeof(bytes));
}

void hash_stream_bytes(struct hash_stream *stream, const void *data, size_t size)
{
    unsigned char bytes[NUMBER_BYTES];
    encode_number(bytes, 'b', size);
    hash_stream_add(stream, bytes, sizeof(bytes));
    hash_stream_add(stream, data, size);
}

void hash_stream_free(struct hash_stream *stream)
{
    if (!stream)
        return;
    XXH3_freeState(stream->state);
    free(stream);
}

/*
 * Rows are short, so their fields are gathered on the stack and hashed at once; long names,
 * targets and attributes go through the streaming form of the same hash.
 */
#define FIELDS_BYTES 1024

struct fields {
    XXH3_state_t *state; /* NULL while everything fits into bytes */
    XXH3_state_t state_room;
    size_t size;
    unsigned char bytes[FIELDS_BYTES];
};

static void fields_flush(struct fields *fields)
{
    if (!fields->state) {
        fields->state = &fields->state_room;
        XXH3_INITSTATE(fields->state);
        XXH3_128bits_reset(fields->state); /* 64-bit hashes share the state and its reset */
    }
    XXH3_128bits_update(fields->state, fields->bytes, fields->size);
    fields->size = 0;
}

static void fields_raw(struct fields *fields, const void *data, size_t size)
{
    if (size > sizeof(fields->bytes) - fields->size)
        fields_flush(fields);
    if (size > sizeof(fields->bytes)) {
        XXH3_128bits_update(fields->state, data, size);
        return;
    }
    if (size)
        memcpy(fields->bytes + fields->size, data, size);
    fields->size += size;
}

static void fields_number(struct fields *fields, char type, uint64_t number)
{
    unsigned char bytes[NUMBER_BYTES];
    encode_number(bytes, type, number);
    fields_raw(fields, bytes, sizeof(bytes));
}

static void fields_int(struct fields *fields, int64_t value)
{
    fields_number(fields, 'i', (uint64_t)value);
}

static void fields_bytes(struct fields *fields, const void *data, size_t size)
{
    if (!data) {
        fields_raw(fields, "n", 1);
        return;
    }
    fields_number(fields, 'b', size);
    fields_raw(fields, data, size);
}

static void fields_text(struct fields *fields, const char *text)
{
    fields_bytes(fields, text, text ? strlen(text) : 0);
}

static uint64_t fields_hash64(struct fields *fields)
{
    if (!fields->state)
        return XXH3_64bits(fields->bytes, fields->size);
    fields_flush(fields);
    return XXH3_64bits_digest(fields->state);
}

static uint128 fields_hash128(struct fields *fields)
{
    XXH128_hash_t hash;
    if (!fields->state) {
        hash = XXH3_128bits(fields->bytes, fields->size);
    } else {
        fields_flush(fields);
        hash = XXH3_128bits_digest(fields->state);
    }
    return (uint128)hash.high64 << 64 | hash.low64;
}

int64_t hash_seal(const struct sqlpack_entry *entry)
{
    struct fields fields;
    fields.state = NULL;
    fields.size = 0;
    fields_int(&fields, entry->id);
    fields_text(&fields, entry->name);
    fields_int(&fields, entry->mode);
    fields_int(&fields, entry->mtime);
    fields_int(&fields, entry->mtime_ns);
    fields_int(&fields, (int64_t)entry->sz);
    fields_int(&fields, entry->uid);
    fields_int(&fields, entry->gid);
    fields_int(&fields, (int64_t)entry->rdev);
    fields_int(&fields, entry->link);
    fields_bytes(&fields, entry->xattr, entry->xattr_bytes);
    fields_bytes(&fields, entry->has_digest ? entry->digest : NULL, SQLPACK_DIGEST_BYTES);
    return (int64_t)fields_hash64(&fields);
}

static uint128 entry_hash(const struct sqlpack_entry *entry, bool content_only)
{
    struct fields fields;
    fields.state = NULL;
    fields.size = 0;
    fields_text(&fields, entry->name);
    fields_int(&fields, entry->mode);
    fields_int(&fields, (int64_t)entry->rdev);
    fields_int(&fields, (int64_t)entry->sz);
    fields_bytes(&fields, entry->has_digest ? entry->digest : NULL, SQLPACK_DIGEST_BYTES);
    fields_text(&fields, entry->target);
    if (!content_only) {
        fields_int(&fields, entry->mtime);
        fields_int(&fields, entry->mtime_ns);
        fields_int(&fields, entry->uid);
        fields_int(&fields, entry->gid);
        fields_bytes(&fields, entry->xattr, entry->xattr_bytes);
    }
    return fields_hash128(&fields);
}

void hash_sum_add(struct hash_sum *sum, const struct sqlpack_entry *entry, bool content_only)
{
    sum->sum += entry_hash(entry, content_only);
}

void hash_sum_remove(struct hash_sum *sum, const struct sqlpack_entry *entry, bool content_only)
{
    sum->sum -= entry_hash(entry, content_only);
}

void hash_sum_merge(struct hash_sum *sum, const struct hash_sum *other)
{
    sum->sum += other->sum;
}

void hash_sum_digest(const struct hash_sum *sum, uint8_t ret_digest[SQLPACK_DIGEST_BYTES])
{
    for (int i = 0; i < SQLPACK_DIGEST_BYTES; i++)
        ret_digest[i] = (uint8_t)(sum->sum >> (8 * (SQLPACK_DIGEST_BYTES - 1 - i)));
}

/* SPDX-License-Identifier: MIT */
/* Compression and back: whole and in pieces, and what must be refused. */
#include <errno.h>
#include <zlib.h>

#include "lib/internal.h"
#include "tap.h"

#define SIZE_MAX_TESTED ((size_t)300000)

static unsigned char data[SIZE_MAX_TESTED], back[SIZE_MAX_TESTED + 1];

static void fill_text(size_t size)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)("the quick brown fox "[i % 20] + (char)((i / 977) % 3));
}

static void fill_noise(size_t size)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[i] = (unsigned char)(state >> 32);
    }
}

static void test_round_trip(struct codec *codec)
{
    static const size_t sizes[] = {0, 1, 8, 9, 100, 4095, 4096, 65535, 65536, SIZE_MAX_TESTED};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const void *stream;
        fill_text(sizes[i]);
        size_t size = codec_compress(codec, data, sizes[i], &stream);
        ok(sizes[i] < 100 ? size == 0 : size > 0 && size < sizes[i],
           "%zu bytes: strictly smaller, and tiny ones not at all", sizes[i]);
        if (size == 0)
            continue;
        ok(codec_restore(codec, stream, size, back, sizes[i]) == 0 &&
               memcmp(data, back, sizes[i]) == 0,
           "%zu bytes come back", sizes[i]);
        ok(codec_restore(codec, stream, size, back, sizes[i] - 1) < 0, "one less is refused");
        ok(codec_restore(codec, stream, size, back, sizes[i] + 1) < 0, "one more is refused");
        ok(codec_restore(codec, stream, size - 1, back, sizes[i]) < 0, "a cut stream is refused");
        uLongf plain = sizes[i];
        ok(uncompress(back, &plain, stream, size) == Z_OK && plain == sizes[i],
           "zlib reads it, as sqlite3 does");
    }
}

static void test_raw(struct codec *codec)
{
    const void *stream;
    fill_noise(SIZE_MAX_TESTED);
    for (size_t size = 100; size <= SIZE_MAX_TESTED; size *= 3)
        is_int(codec_compress(codec, data, size, &stream), 0, "noise is stored as it is");
    for (size_t at = 20000; at + 20000 <= SIZE_MAX_TESTED; at += 20000)
        memcpy(data + at, data, 20000);
    size_t size = codec_compress(codec, data, SIZE_MAX_TESTED, &stream);
    ok(size > 0 && size < 60000, "repeated noise, which no histogram shows, is found by trial");
}

static void test_surplus(struct codec *codec)
{
    const void *stream;
    fill_text(5000);
    size_t size = codec_compress(codec, data, 5000, &stream);
    unsigned char *longer = malloc(size + 4);
    need(size && longer);
    memcpy(longer, stream, size);
    memcpy(longer + size, "more", 4);
    ok(codec_restore(codec, longer, size + 4, back, 5000) < 0, "bytes behind it are refused");
    longer[size / 2] ^= 0x10;
    ok(codec_restore(codec, longer, size, back, 5000) < 0 || memcmp(back, data, 5000) == 0,
       "a flipped bit is noticed");
    free(longer);
}

static int append(void *user, const void *bytes, size_t size)
{
    return buf_append(user, bytes, size);
}

static int refuse(void *user, const void *bytes, size_t size)
{
    (void)user, (void)bytes, (void)size;
    errno = ENOSPC;
    return -1;
}

/* The stream of `data` in parts of so many bytes. */
static void make_stream(struct codec *codec, size_t part, struct buf *stream)
{
    unsigned char tail[CODEC_STREAM_TAIL_BYTES];
    uint32_t adler = CODEC_ADLER_EMPTY;
    need(buf_append(stream, CODEC_STREAM_HEAD, CODEC_STREAM_HEAD_BYTES) == 0);
    for (size_t at = 0; at < SIZE_MAX_TESTED; at += part) {
        size_t n = SIZE_MAX_TESTED - at < part ? SIZE_MAX_TESTED - at : part;
        need(codec_deflate_part(codec, data + at, n, at + n == SIZE_MAX_TESTED, stream) == 0);
        adler = codec_adler(adler, data + at, n);
    }
    codec_stream_tail(adler, tail);
    need(buf_append(stream, tail, sizeof(tail)) == 0);
}

/* Parts of text and of noise, whose last blocks are of every kind and end at every bit. */
static void test_parts(struct codec *codec)
{
    static const size_t sizes[] = {SIZE_MAX_TESTED, 100000, 4099, 61, 7, 1};
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct buf stream = {0};
        fill_text(SIZE_MAX_TESTED);
        if (i % 2)
            fill_noise(SIZE_MAX_TESTED / 2);
        make_stream(codec, sizes[i / 2], &stream);
        memset(back, 0, SIZE_MAX_TESTED);
        ok(codec_restore(codec, stream.data, stream.size, back, SIZE_MAX_TESTED) == 0 &&
               memcmp(back, data, SIZE_MAX_TESTED) == 0,
           "parts of %zu bytes make one stream%s", sizes[i / 2], i % 2 ? ", also of noise" : "");
        buf_release(&stream);
    }
}

static void test_pipe(struct codec *codec)
{
    struct buf packed = {0}, plain = {0};
    fill_text(SIZE_MAX_TESTED);
    make_stream(codec, 50000, &packed);
    struct codec_pipe *pipe = codec_pipe_inflate();
    need(pipe);
    for (size_t at = 0; at < packed.size; at += 7)
        need(codec_pipe_add(pipe, packed.data + at, packed.size - at < 7 ? packed.size - at : 7,
                            append, &plain) == 0);
    ok(codec_pipe_is_whole(pipe) && plain.size == SIZE_MAX_TESTED &&
           memcmp(plain.data, data, plain.size) == 0,
       "and is inflated in pieces");
    need(codec_pipe_add(pipe, "x", 1, append, &plain) == 0);
    ok(!codec_pipe_is_whole(pipe), "what is behind its end is noticed");
    codec_pipe_free(pipe);
    pipe = codec_pipe_inflate();
    errno = 0;
    ok(codec_pipe_add(pipe, "no stream", 9, append, &plain) < 0 && errno == EBADMSG,
       "what is no stream is refused");
    codec_pipe_free(pipe);
    pipe = codec_pipe_inflate();
    need(pipe);
    ok(codec_pipe_add(pipe, packed.data, packed.size, refuse, NULL) < 0 && errno == ENOSPC,
       "an error of the receiver is passed on");
    codec_pipe_free(pipe);
    buf_release(&packed);
    buf_release(&plain);
}

int main(void)
{
    struct codec *codec = codec_new(CODEC_LEVEL), *store = codec_new(0);
    const void *stream;
    need(codec && store);
    test_round_trip(codec);
    test_raw(codec);
    test_surplus(codec);
    test_parts(codec);
    test_pipe(codec);
    fill_text(5000);
    is_int(codec_compress(store, data, 5000, &stream), 0, "level 0 stores");
    ok(codec_is_possible(1032000, 1000) && !codec_is_possible((uint64_t)1 << 40, 1000),
       "more than deflate can make is impossible");
    codec_free(codec);
    codec_free(store);
    return done();
}

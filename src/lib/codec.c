/* SPDX-License-Identifier: MIT */
/* Compresses and restores content; the only file that knows libdeflate and zlib. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <zlib.h>

#include "lib/internal.h"

struct codec {
    struct libdeflate_compressor *compressor;
    struct libdeflate_compressor *trial; /* the fastest level, made when it is first needed */
    struct libdeflate_decompressor *decompressor;
    void *stream; /* the last result */
    size_t stream_capacity;
};

struct codec *codec_new(int level)
{
    struct codec *codec = calloc(1, sizeof(*codec));
    if (!codec)
        return NULL;
    codec->decompressor = libdeflate_alloc_decompressor();
    if (level > 0)
        codec->compressor = libdeflate_alloc_compressor(level);
    if (!codec->decompressor || (level > 0 && !codec->compressor)) {
        codec_free(codec);
        return NULL;
    }
    return codec;
}

void codec_free(struct codec *codec)
{
    if (!codec)
        return;
    libdeflate_free_compressor(codec->compressor);
    libdeflate_free_compressor(codec->trial);
    libdeflate_free_decompressor(codec->decompressor);
    free(codec->stream);
    free(codec);
}

/*
 * Whether the bytes look evenly spread, as those of a JPEG or a zip file do. For
 * n such bytes the sum of the squares of the 256 counts is n + n(n-1)/256 on
 * average, with a deviation of about n/11; text has more than ten times as much.
 */
#define PROBE_SLICE  ((size_t)256)
#define PROBE_SLICES ((size_t)4)

static bool looks_random(const unsigned char *data, size_t size)
{
    uint16_t counts[2][256] = {{0}}; /* two: so that one increment need not wait for the last */
    size_t slices = size <= PROBE_SLICE * PROBE_SLICES ? 1 : PROBE_SLICES;
    size_t slice = slices == 1 ? size : PROBE_SLICE;
    size_t stride = slices == 1 ? 0 : (size - slice) / (slices - 1);
    for (size_t s = 0; s < slices; s++) {
        const unsigned char *at = data + s * stride;
        size_t i = 0;
        for (; i + 1 < slice; i += 2) {
            counts[0][at[i]]++;
            counts[1][at[i + 1]]++;
        }
        if (i < slice)
            counts[0][at[i]]++;
    }
    uint32_t squares = 0;
    for (int i = 0; i < 256; i++) {
        uint32_t count = (uint32_t)counts[0][i] + counts[1][i];
        squares += count * count;
    }
    double n = (double)(slices * slice);
    return squares < n + n * n / 256 * 1.2;
}

/* Repetitions over a distance escape the histogram; above this size it pays to try. */
#define TRIAL_FROM_BYTES ((size_t)64 << 10)
#define TRIAL_BYTES      ((size_t)32 << 10)

static bool trial_shrinks(struct codec *codec, const unsigned char *data, size_t size)
{
    if (!codec->trial)
        codec->trial = libdeflate_alloc_compressor(1);
    if (!codec->trial)
        return true;
    const unsigned char *middle = data + (size - TRIAL_BYTES) / 2;
    size_t bound = TRIAL_BYTES - TRIAL_BYTES / 32;
    return libdeflate_deflate_compress(codec->trial, middle, TRIAL_BYTES, codec->stream, bound) > 0;
}

/* The smallest zlib stream: two bytes of header, one empty block, four bytes of checksum. */
#define STREAM_MIN_BYTES ((size_t)8)

size_t codec_compress(struct codec *codec, const void *data, size_t size, const void **ret_stream)
{
    if (!codec->compressor || size <= STREAM_MIN_BYTES)
        return 0;
    bool is_random = looks_random(data, size);
    if (is_random && size < TRIAL_FROM_BYTES)
        return 0;
    if (codec->stream_capacity < size) {
        free(codec->stream);
        codec->stream_capacity = 0;
        codec->stream = malloc(size);
        if (!codec->stream)
            return 0;
        codec->stream_capacity = size;
    }
    if (is_random && !trial_shrinks(codec, data, size))
        return 0;
    *ret_stream = codec->stream;
    return libdeflate_zlib_compress(codec->compressor, data, size, codec->stream, size - 1);
}

int codec_restore(struct codec *codec, const void *stream, size_t stream_bytes, void *data,
                  size_t size)
{
    size_t used, made;
    enum libdeflate_result result = libdeflate_zlib_decompress_ex(
        codec->decompressor, stream, stream_bytes, data, size, &used, &made);
    return result == LIBDEFLATE_SUCCESS && used == stream_bytes && made == size ? 0 : -1;
}

bool codec_is_possible(uint64_t sz, uint64_t stored_bytes)
{
    /* deflate: at most 258 bytes from two bits, which is 1032 from a byte */
    return sz / 1032 <= stored_bytes + 64;
}

/* -- a stream in parts -- */

/*
 * Inflates a part and tells at which bit its last block begins and at which its
 * last byte's unused bits begin, as zlib's gzjoin finds them. Returns 0 or -1.
 */
static int find_last_block(const struct buf *stream, size_t begin, size_t *ret_block,
                           size_t *ret_end)
{
    unsigned char out[16 << 10];
    z_stream z = {.next_in = (unsigned char *)stream->data + begin,
                  .avail_in = (unsigned)(stream->size - begin)};
    size_t boundary = 0, end = 0;
    int code = inflateInit2(&z, -MAX_WBITS);
    while (code == Z_OK) {
        z.next_out = out;
        z.avail_out = sizeof(out);
        code = inflate(&z, Z_BLOCK);
        if (!(z.data_type & 128)) /* not between two blocks */
            continue;
        end = 8 * (size_t)z.total_in - (unsigned)(z.data_type & 7);
        if (z.data_type & 64) /* behind the last one */
            break;
        boundary = end;
    }
    inflateEnd(&z);
    *ret_block = boundary;
    *ret_end = end;
    return code == Z_OK || code == Z_STREAM_END ? 0 : -1;
}

/* Makes the last block one that others may follow: clears its mark, and ends the part at a byte
 * with an empty stored block (RFC 1951, 3.2.4). */
static int open_end(struct buf *stream, size_t begin)
{
    size_t block, end;
    if (find_last_block(stream, begin, &block, &end) < 0) {
        errno = EBADMSG;
        return -1;
    }
    stream->data[begin + block / 8] &= (char)~(1 << block % 8);
    unsigned unused = (8 - end % 8) % 8;
    if (unused < 3 && buf_append_char(stream, 0) < 0)
        return -1;
    return buf_append(stream, "\x00\x00\xff\xff", 4);
}

int codec_deflate_part(struct codec *codec, const void *data, size_t size, bool is_last,
                       struct buf *stream)
{
    size_t begin = stream->size;
    size_t bound = libdeflate_deflate_compress_bound(codec->compressor, size);
    if (buf_reserve(stream, bound) < 0)
        return -1;
    stream->size +=
        libdeflate_deflate_compress(codec->compressor, data, size, stream->data + begin, bound);
    return is_last ? 0 : open_end(stream, begin);
}

uint32_t codec_adler(uint32_t adler, const void *data, size_t size)
{
    return libdeflate_adler32(adler, data, size);
}

void codec_stream_tail(uint32_t adler, unsigned char ret_tail[CODEC_STREAM_TAIL_BYTES])
{
    for (size_t i = 0; i < CODEC_STREAM_TAIL_BYTES; i++)
        ret_tail[i] = (unsigned char)(adler >> (24 - 8 * i));
}

/* -- inflate in pieces -- */

struct codec_pipe {
    z_stream stream;
    bool ended;   /* the stream's end was met */
    bool surplus; /* there was something behind it */
    unsigned char out[64 << 10];
};

struct codec_pipe *codec_pipe_inflate(void)
{
    struct codec_pipe *pipe = calloc(1, sizeof(*pipe));
    if (pipe && inflateInit(&pipe->stream) == Z_OK)
        return pipe;
    free(pipe);
    return NULL;
}

/* One call of zlib with an empty output buffer. Returns 0, or -1 with errno. */
static int pipe_step(struct codec_pipe *pipe)
{
    pipe->stream.next_out = pipe->out;
    pipe->stream.avail_out = sizeof(pipe->out);
    int code = inflate(&pipe->stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END)
        pipe->ended = true;
    else if (code != Z_OK && code != Z_BUF_ERROR) {
        errno = code == Z_MEM_ERROR ? ENOMEM : EBADMSG;
        return -1;
    }
    return 0;
}

int codec_pipe_add(struct codec_pipe *pipe, const void *data, size_t size,
                   int (*write)(void *user, const void *data, size_t size), void *user)
{
    /* zlib counts in unsigned int, and does not write through next_in */
    pipe->stream.next_in = (unsigned char *)(uintptr_t)data;
    pipe->stream.avail_in = (unsigned)size;
    do {
        if (pipe->ended)
            break;
        if (pipe_step(pipe) < 0)
            return -1;
        size_t made = sizeof(pipe->out) - pipe->stream.avail_out;
        if (made && write(user, pipe->out, made) < 0)
            return -1;
    } while (pipe->stream.avail_in > 0 || pipe->stream.avail_out == 0);
    if (pipe->stream.avail_in > 0)
        pipe->surplus = true;
    return 0;
}

bool codec_pipe_is_whole(const struct codec_pipe *pipe)
{
    return pipe->ended && !pipe->surplus;
}

void codec_pipe_free(struct codec_pipe *pipe)
{
    if (!pipe)
        return;
    inflateEnd(&pipe->stream);
    free(pipe);
}

/* SPDX-License-Identifier: MIT */
/* Tests of util/buf: a byte buffer grows, and says when it cannot. */
#include <errno.h>
#include <stdint.h>

#include "tap.h"
#include "util/buf.h"

int main(void)
{
    struct buf buf = {0};
    ok(buf_append(&buf, NULL, 0) == 0 && buf.data == NULL, "adding nothing allocates nothing");
    ok(buf_terminate(&buf) == 0 && strcmp(buf.data, "") == 0 && buf.size == 0,
       "an empty buffer is the empty string");
    ok(buf_append_text(&buf, "ab") == 0 && buf_append_char(&buf, 'c') == 0 &&
           buf_append(&buf, "\0d", 2) == 0,
       "text, a character, bytes");
    ok(buf_terminate(&buf) == 0, "terminate");
    is_int(buf.size, 5, "the NUL at the end is not counted");
    ok(memcmp(buf.data, "abc\0d", 6) == 0, "bytes as they came");

    bool is_good = true;
    for (int i = 0; i < 100000; i++)
        is_good = is_good && buf_append(&buf, &i, sizeof(i)) == 0;
    ok(is_good && buf.size == 5 + 100000 * sizeof(int), "many small pieces");
    int last;
    memcpy(&last, buf.data + buf.size - sizeof(last), sizeof(last));
    is_int(last, 99999, "the last piece is there");

    size_t size = buf.size;
    errno = 0;
    ok(buf_reserve(&buf, SIZE_MAX) == -1 && errno == ENOMEM, "a size beyond all memory fails");
    ok(buf_reserve(&buf, SIZE_MAX / 2 - size + 1) == -1, "so does one just above half of it");
    is_int(buf.size, size, "a failure leaves the bytes alone");
    buf_release(&buf);
    ok(buf.data == NULL && buf.size == 0 && buf.capacity == 0, "released, it is empty");
    buf_release(&buf);
    return done();
}

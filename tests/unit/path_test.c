/* SPDX-License-Identifier: MIT */
/* Tests of util/path: which names are safe, what is below what, how a name is shown. */
#include "tap.h"
#include "util/buf.h"
#include "util/path.h"

static void knows_safe_names(void)
{
    static const char *const good[] = {"a",   "a/b", "...",  ".x",     "a/..b", "-rf",
                                       "a b", "\n",  "\xff", "a\\b/c", "..a"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ok(path_is_safe(good[i], strlen(good[i])), "safe: name %zu", i);
    static const char *const bad[] = {"",    "/",    "/a",   "a/",  "a//b",  ".",     "..",
                                      "./a", "../a", "a/..", "a/.", "a/./b", "a/../b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ok(!path_is_safe(bad[i], strlen(bad[i])), "not safe: '%s'", bad[i]);
    ok(!path_is_safe("a\0b", 3), "not safe: a NUL inside");
    char part[257];
    memset(part, 'x', sizeof(part));
    ok(path_is_safe(part, 255), "safe: 255 bytes in a part");
    ok(!path_is_safe(part, 256), "not safe: 256 bytes in a part");
}

static void knows_what_is_below(void)
{
    ok(path_is_below("a/b", "a"), "a/b is below a");
    ok(path_is_below("a", "a"), "a is");
    ok(!path_is_below("ab", "a"), "ab is not");
    ok(!path_is_below("a", "a/b"), "a is not below a/b");
    ok(path_is_below("a", ""), "all is below the root");
    is_text(path_leaf("a/b"), "b", "the last part");
    is_text(path_leaf("b"), "b", "the only part");
    is_text(path_leaf("a/"), "", "nothing behind the last slash");
}

static size_t utf8(const char *text)
{
    return path_utf8_length((const unsigned char *)text);
}

static void knows_utf8(void)
{
    is_int(utf8("\xc3\xa4"), 2, "two bytes");
    is_int(utf8("\xe2\x82\xac"), 3, "three bytes");
    is_int(utf8("\xf4\x8f\xbf\xbf"), 4, "U+10FFFF");
    is_int(utf8("\xf4\x90\x80\x80"), 0, "nothing above it");
    is_int(utf8("\xed\xa0\x80"), 0, "no surrogates");
    is_int(utf8("\xc0\xaf"), 0, "no overlong '/'");
    is_int(utf8("\xe0\x80\xaf"), 0, "no overlong one in three bytes");
    is_int(utf8("\xc3"), 0, "cut off by the end");
    is_int(utf8("\xe2\x82"), 0, "cut off later");
    is_int(utf8("\x80"), 0, "a byte that only continues");
}

static void shows(const char *name, const char *want)
{
    struct buf buf = {0};
    need(path_escape(&buf, name) == 0 && buf_terminate(&buf) == 0);
    is_text(buf.data, want, "shown");
    buf_release(&buf);
}

static void shows_names(void)
{
    shows("", "");
    shows("plain name", "plain name");
    shows("g\xc4\x99\xc5\x9bl\xc4\x85", "g\xc4\x99\xc5\x9bl\xc4\x85");
    shows("a\nb\tc\\d", "a\\nb\\tc\\\\d");
    shows("\x1b[31m\x7f\r", "\\033[31m\\177\\015");
    shows("\xff\xc3", "\\377\\303");
    shows("\xc2\x9b"
          "0m",
          "\\302\\2330m");
    shows("'\"$`", "'\"$`");
    for (int byte = 1; byte < 256; byte++) {
        struct buf buf = {0};
        const char name[] = {(char)byte, '\0'};
        need(path_escape(&buf, name) == 0 && buf_terminate(&buf) == 0);
        bool is_quiet = true;
        for (size_t i = 0; i < buf.size; i++)
            is_quiet = is_quiet && buf.data[i] >= 0x20 && buf.data[i] < 0x7f;
        if (!is_quiet)
            ok(false, "byte %d reaches the terminal", byte);
        buf_release(&buf);
    }
    ok(true, "no single byte steers a terminal");
}

static void shortens_names(void)
{
    char text[16];
    path_show("fifteen bytes, ", text, sizeof(text));
    is_text(text, "fifteen bytes, ", "what fits stays whole");
    path_show("0123456789abcdef", text, sizeof(text));
    is_text(text, "012345...abcdef", "a longer name loses its middle");
    path_show("\n", text, sizeof(text));
    is_text(text, "\\n", "and is escaped");
}

int main(void)
{
    knows_safe_names();
    knows_what_is_below();
    knows_utf8();
    shows_names();
    shortens_names();
    return done();
}

/* SPDX-License-Identifier: MIT */
/* Tests of cli/text: sizes, counts, times and modes, written and read. */
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/text.h"
#include "tap.h"

static void writes_sizes(void)
{
    is_text(text_bytes(0).text, "0 B", "no bytes");
    is_text(text_bytes(1023).text, "1023 B", "below 1 KiB there is no fraction");
    is_text(text_bytes(1024).text, "1.0 KiB", "1 KiB");
    is_text(text_bytes(432332800).text, "412.3 MiB", "412.3 MiB");
    is_text(text_bytes(1048575).text, "1.0 MiB", "what rounds to 1024.0 KiB is 1.0 MiB");
    is_text(text_bytes(UINT64_MAX).text, "16.0 EiB", "the largest");
    is_text(text_rate(0).text, "0 B/s", "no rate");
    is_text(text_rate(1536).text, "1.5 KiB/s", "a rate");
}

static void writes_counts(void)
{
    is_text(text_count(0).text, "0", "zero");
    is_text(text_count(999).text, "999", "three digits");
    is_text(text_count(1000).text, "1,000", "four digits");
    is_text(text_count(1234567).text, "1,234,567", "seven digits");
    is_text(text_count(UINT64_MAX).text, "18,446,744,073,709,551,615", "the largest count");
    is_text(text_number(INT64_MIN).text, "-9223372036854775808", "the smallest number");
    is_text(text_percent(41.46).text, "41.5%", "a share");
    is_text(text_percent(NAN).text, "-", "a share of nothing");
}

static void writes_times(void)
{
    is_text(text_duration(0).text, "0:00", "no time");
    is_text(text_duration(3599).text, "59:59", "below an hour");
    is_text(text_duration(10921).text, "3:02:01", "three hours");
    is_text(text_time(0).text, "1970-01-01 00:00:00", "the epoch");
    is_text(text_time(-2).text, "1969-12-31 23:59:58", "before it");
    is_text(text_time(15032385535).text, "2446-05-10 22:38:55", "the last second of ext4");
    is_text(text_time(INT64_MAX).text, "9223372036854775807", "no calendar has this year");
}

static void writes_modes(void)
{
    is_text(text_mode(S_IFREG | 0644).text, "-rw-r--r--", "a file");
    is_text(text_mode(S_IFDIR | 01777).text, "drwxrwxrwt", "a sticky folder");
    is_text(text_mode(S_IFREG | 07000).text, "---S--S--T", "set-id bits without execution");
    is_text(text_mode(S_IFREG | 06755).text, "-rwsr-sr-x", "set-id bits");
    is_text(text_mode(S_IFLNK | 0777).text, "lrwxrwxrwx", "a symlink");
    is_text(text_mode(0170000).text, "?---------", "a type that nobody knows");
}

static void reads_numbers(void)
{
    int64_t number = 7;
    ok(text_parse_number("12", 0, 12, &number) && number == 12, "the largest that is allowed");
    ok(!text_parse_number("13", 0, 12, &number) && number == 12, "one more is none");
    ok(!text_parse_number("-1", 0, 12, &number), "below the smallest");
    ok(text_parse_number("-5", -9, 9, &number) && number == -5, "negative");
    ok(text_parse_number("-9223372036854775808", INT64_MIN, 0, &number) && number == INT64_MIN,
       "the smallest of all");
    ok(!text_parse_number("9223372036854775808", 0, INT64_MAX, &number), "beyond 2^63-1");
    static const char *const bad[] = {"", "-", "1x", " 1", "1 ", "+1", "0x10", "1.5", "8k8"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ok(!text_parse_number(bad[i], INT64_MIN, INT64_MAX, &number), "'%s' is no number", bad[i]);
}

static void reads_sizes(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"4096", 4096},
        {"4096B", 4096},
        {"4K", 4096},
        {"4k", 4096},
        {"4KiB", 4096},
        {"4KB", 4000},
        {"1M", 1048576},
        {"1.5G", 1610612736},
        {"0.5 KiB", 512},
        {"412.3 MiB", 432327884},
        {"18446744073709551615", UINT64_MAX},
    };
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        bytes = 99;
        ok(text_parse_bytes(good[i].text, &bytes) && bytes == good[i].bytes,
           "'%s' is %" PRIu64 " bytes", good[i].text, good[i].bytes);
    }
    static const char *const bad[] = {"",    "K",     "-1",   "+1",   "1X",
                                      "1Ki", "1KiBx", "1.",   ".5K",  "1..5K",
                                      "8k8", "1 ",    "1  K", "1,5K", "18446744073709551616",
                                      "16E", "1e3",   "0x1",  "NaN",  "20000000000000000000K"};
    bytes = 99;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ok(!text_parse_bytes(bad[i], &bytes) && bytes == 99, "'%s' is no size", bad[i]);
}

static void reads_shares(void)
{
    double percent = 0;
    ok(text_parse_percent("5%", &percent) && percent == 5, "5%%");
    ok(text_parse_percent("0.25", &percent) && percent == 0.25, "0.25");
    ok(text_parse_percent("100%", &percent) && percent == 100, "all");
    static const char *const bad[] = {"", "%", "-5%", "100.1%", "5%%", "5 %", "x", "1e1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ok(!text_parse_percent(bad[i], &percent), "'%s' is no share", bad[i]);
}

static void guesses_words(void)
{
    is_int(text_distance("verify", "verify"), 0, "the same word");
    is_int(text_distance("verfy", "verify"), 1, "a letter missing");
    is_int(text_distance("unpakc", "unpack"), 2, "two letters swapped");
    is_int(text_distance("", "ls"), 2, "nothing at all");
    ok(text_distance("ls", "a word that is longer than any word of ours") > 3, "far away");
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    tzset();
    writes_sizes();
    writes_counts();
    writes_times();
    writes_modes();
    reads_numbers();
    reads_sizes();
    reads_shares();
    guesses_words();
    return done();
}

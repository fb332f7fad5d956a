/* SPDX-License-Identifier: MIT */
/* Tests of cli/out: a record is aligned text or one line of JSON, exact for any bytes. */
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/out.h"
#include "tap.h"

/* An output that lands in memory. */
struct capture {
    struct out out;
    char *text;
    size_t size;
};

static void capture_begin(struct capture *capture, bool json)
{
    out_init(&capture->out, json);
    capture->out.file = open_memstream(&capture->text, &capture->size);
    need(capture->out.file);
}

static void capture_end(struct capture *capture, const char *want, const char *name)
{
    is_int(out_close(&capture->out, 0), 0, "nothing was lost");
    fclose(capture->out.file);
    is_text(capture->text, want, name);
    free(capture->text);
}

static void fill(struct out *out)
{
    static const unsigned char digest[] = {0x00, 0xab, 0xff};
    out_begin(out);
    out_count(out, "file_count", "files", 1234567);
    out_bytes(out, "content_bytes", "content", 1536);
    out_number(out, "saved_bytes", NULL, -5);
    out_text(out, NULL, "saved", "-5 B");
    out_flag(out, "dry_run", "dry run", false);
    out_percent(out, "saved_percent", "share", 12.345);
    out_real(out, "read_us", "microseconds", 2.5, 2);
    out_real(out, "nothing", "nothing", NAN, 2);
    out_time(out, "mtime", "changed", -1, 5);
    out_digest(out, "digest", "digest", digest, sizeof(digest));
    out_digest(out, "no_digest", "no digest", NULL, 0);
    out_end(out);
}

static void writes_records(void)
{
    struct capture capture;
    capture_begin(&capture, true);
    fill(&capture.out);
    capture_end(&capture,
                "{\"file_count\":1234567,\"content_bytes\":1536,\"saved_bytes\":-5,"
                "\"dry_run\":false,\"saved_percent\":12.35,\"read_us\":2.50,\"nothing\":null,"
                "\"mtime\":-1,\"mtime_ns\":5,\"digest\":\"00abff\",\"no_digest\":null}\n",
                "a record in JSON");
    capture_begin(&capture, false);
    fill(&capture.out);
    capture_end(&capture,
                "files         1,234,567\n"
                "content       1.5 KiB\n"
                "saved         -5 B\n"
                "dry run       no\n"
                "share         12.3%\n"
                "microseconds  2.50\n"
                "nothing       -\n"
                "changed       1969-12-31 23:59:59\n"
                "digest        00abff\n",
                "the same as text");
}

static void fill_groups(struct out *out)
{
    out_begin(out);
    out_group_begin(out, "machine");
    out_count(out, "processors", "processors", 2);
    out_group_end(out);
    out_list_begin(out, "words");
    out_text(out, "", NULL, "a");
    out_count(out, "", NULL, 7);
    out_list_end(out);
    out_list_begin(out, "none");
    out_list_end(out);
    out_flag(out, "done", NULL, true);
    out_end(out);
}

static void writes_groups_and_lists(void)
{
    struct capture capture;
    capture_begin(&capture, true);
    fill_groups(&capture.out);
    capture_end(&capture,
                "{\"machine\":{\"processors\":2},\"words\":[\"a\",7],\"none\":[],\"done\":true}\n",
                "objects and lists inside a record");
    capture_begin(&capture, false);
    fill_groups(&capture.out);
    capture_end(&capture, "processors  2\n", "which text does not show");
}

static void fill_table(struct out *out)
{
    out_begin(out);
    out_count(out, "n", "rows", 2);
    out_table_begin(out, "choices", "choices");
    for (uint64_t i = 1; i <= 2; i++) {
        out_row_begin(out);
        out_bytes(out, "page_bytes", "page size", 512 * i);
        out_name(out, "name", "name", i == 2 ? "long one" : "a");
        out_text(out, "note", "", i == 2 ? "chosen" : "");
        out_row_end(out);
    }
    out_table_end(out);
    out_flag(out, "last", "last", true);
    out_end(out);
}

static void writes_tables(void)
{
    struct capture capture;
    capture_begin(&capture, true);
    fill_table(&capture.out);
    fill_table(&capture.out);
    capture_end(&capture,
                "{\"n\":2,\"choices\":[{\"page_bytes\":512,\"name\":\"a\",\"note\":\"\"},"
                "{\"page_bytes\":1024,\"name\":\"long one\",\"note\":\"chosen\"}],\"last\":true}\n"
                "{\"n\":2,\"choices\":[{\"page_bytes\":512,\"name\":\"a\",\"note\":\"\"},"
                "{\"page_bytes\":1024,\"name\":\"long one\",\"note\":\"chosen\"}],\"last\":true}\n",
                "tables in JSON, one record a line");
    capture_begin(&capture, false);
    fill_table(&capture.out);
    capture_end(&capture,
                "rows  2\n"
                "choices\n"
                "  page size  name\n"
                "      512 B  a\n"
                "    1.0 KiB  long one  chosen\n"
                "last  yes\n",
                "a table as text");
    capture_begin(&capture, false);
    out_begin(&capture.out);
    out_table_begin(&capture.out, "choices", "choices");
    out_table_end(&capture.out);
    out_end(&capture.out);
    capture_end(&capture, "choices\n", "an empty table");
}

static void names(const char *name, const char *want)
{
    struct capture capture;
    capture_begin(&capture, true);
    out_begin(&capture.out);
    out_name(&capture.out, "name", NULL, name);
    out_end(&capture.out);
    capture_end(&capture, want, "a name in JSON");
}

static void writes_names(void)
{
    names("", "{\"name\":\"\"}\n");
    names("a/b c", "{\"name\":\"a/b c\"}\n");
    names("\"\\\n\t\r\x1b\x7f/", "{\"name\":\"\\\"\\\\\\n\\t\\u000d\\u001b\\u007f/\"}\n");
    names("g\xc4\x99\xe2\x82\xac\xf0\x9f\x8d\x8b",
          "{\"name\":\"g\xc4\x99\xe2\x82\xac\xf0\x9f\x8d\x8b\"}\n");
    names("\xc2\x9bm", "{\"name\":\"\\u009bm\"}\n");
    names("caf\xe9", "{\"name\":\"caf\xef\xbf\xbd\",\"name_base64\":\"Y2Fm6Q==\"}\n");
    names("\xff\xfe\xfd",
          "{\"name\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"name_base64\":\"//79\"}\n");
    names("\xed\xa0\x80"
          "ab",
          "{\"name\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
          "ab\",\"name_base64\":\"7aCAYWI=\"}\n");
    struct capture capture;
    capture_begin(&capture, false);
    out_begin(&capture.out);
    out_name(&capture.out, "name", "name", "a\nb\xff");
    out_end(&capture.out);
    capture_end(&capture, "name  a\\nb\\377\n", "a name as text");
}

static void notices_a_broken_output(void)
{
    struct out out;
    out_init(&out, true);
    ok(!out_is_broken(&out), "stdout is fine");
    out.file = fopen("/dev/full", "w");
    if (!out.file) {
        skip("a full device is noticed", "no /dev/full");
        return;
    }
    for (int i = 0; i < 10000; i++)
        fill(&out);
    ok(out_is_broken(&out), "a full device is noticed");
    fclose(out.file);
}

static void is_fast(void)
{
    struct out out;
    out_init(&out, true);
    out.file = fopen("/dev/null", "w");
    need(out.file);
    clock_t start = clock();
    for (int i = 0; i < 1000000; i++) {
        out_begin(&out);
        out_number(&out, "id", NULL, i);
        out_name(&out, "name", NULL, "some/folder/of/files/with-a-name-of-usual-length.json");
        out_number(&out, "mode", NULL, 33188);
        out_time(&out, "mtime", NULL, 1700000000, 123456789);
        out_bytes(&out, "sz", NULL, 12345);
        out_number(&out, "uid", NULL, 1000);
        out_number(&out, "gid", NULL, 1000);
        out_end(&out);
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    fclose(out.file);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const double limit = 10;
#else
    const double limit = 1;
#endif
    ok(seconds < limit, "a million lines took %.2f seconds of processor time", seconds);
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    tzset();
    writes_records();
    writes_groups_and_lists();
    writes_tables();
    writes_names();
    notices_a_broken_output();
    is_fast();
    return done();
}

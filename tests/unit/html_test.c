/* SPDX-License-Identifier: MIT */
/* Tests of cli/html: a page is whole, escaped, and its drawings stay inside their frames. */
#include <math.h>
#include <unistd.h>

#include "cli/html.h"
#include "tap.h"

static const char *text_of(struct html *html)
{
    need(buf_terminate(&html->page) == 0);
    return html->page.data;
}

static bool holds(struct html *html, const char *part)
{
    return strstr(text_of(html), part) != NULL;
}

static void test_escape(void)
{
    struct html html = {0};
    html_escape(&html, "a<b>&\"'\x1b\xff\xc3\xa4\xed\xa0\x80");
    is_text(text_of(&html),
            "a&lt;b&gt;&amp;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd"
            "\xef\xbf\xbd",
            "markup is escaped, what is no text shows as U+FFFD");
    html_release(&html);
}

static void test_texts(void)
{
    struct html html = {0};
    const char *const heads[] = {"size", "files"}, *const cells[] = {"<1K", "7"};
    html_begin(&html, "a & b", "lead");
    ok(holds(&html, "<title>a &amp; b</title>"), "the title is escaped");
    ok(!holds(&html, "<script") && !holds(&html, "http"), "the page asks for nothing else");
    html_tiles_begin(&html);
    html_tile(&html, "1 <", "what");
    html_tiles_end(&html);
    ok(holds(&html, "<div><b>1 &lt;</b><span>what</span></div>"), "a tile");
    html_table_begin(&html, heads, 2);
    html_row(&html, cells, 2, true);
    html_table_end(&html);
    ok(holds(&html, "<tr class=\"mark\"><th scope=\"row\">&lt;1K</th><td>7</td></tr>"), "a row");
    html_release(&html);
}

static void test_bars(void)
{
    struct html html = {0};
    const struct html_bar bars[] = {
        {"a", "3", {1, 2}}, {"b", "0", {0}}, {"c", "?", {NAN, -1}}, {"d", "6", {6}}};
    html_bars(&html, &(struct html_bars){.parts = {"data", "padding"}, .bars = bars, .count = 4});
    ok(holds(&html, "<rect x=\"0.0\" width=\"166.7\" height=\"10\" fill=\"var(--c0)\"/>"
                    "<rect x=\"166.7\" width=\"333.3\""),
       "parts lie end to end, to the scale of the longest");
    ok(!holds(&html, "nan") && !holds(&html, "width=\"-"), "what is no length is left out");
    ok(holds(&html, "</i>padding</p>"), "the legend names the parts that are used");
    html_release(&html);
    html_bars(&html, &(struct html_bars){.count = 0});
    ok(!html.is_out_of_memory && !holds(&html, "legend"), "no bars at all");
    html_release(&html);
}

static void format_k(double value, char *text, size_t size)
{
    snprintf(text, size, "%gK", value / 1024);
}

static void test_plot(void)
{
    struct html html = {0};
    const double x[] = {1024, 2048, NAN, 4096}, y[] = {1, 2, 2, 3};
    const struct html_series series = {"<s>", x, y, 4, true};
    struct html_plot plot = {.title = "t",
                             .x = {.label = "x", .format = format_k},
                             .y = {.label = "y"},
                             .series = &series,
                             .count = 1,
                             .y_mark = NAN};
    html_plot(&html, &plot);
    ok(holds(&html, "d=\"M58.0 226.0L180.7 126.0M426.0 26.0\""),
       "the curve spans the frame, and a gap lifts the pen");
    ok(holds(&html, "<title>2K: 2</title>"), "a point tells its values");
    ok(holds(&html, "</i>&lt;s&gt;</figcaption>"), "the legend");
    ok(!holds(&html, "nan") && !holds(&html, "inf"), "every coordinate is a number");
    html_release(&html);
    plot.x.is_log = plot.y.is_log = true;
    plot.y_mark = 0;
    html_plot(&html, &plot);
    ok(!holds(&html, "nan") && !holds(&html, "inf") && !holds(&html, "\"mark\""),
       "a logarithmic axis leaves out what is not above 0");
    html_release(&html);
    plot.count = 0;
    html_plot(&html, &plot);
    ok(!holds(&html, "nan") && !holds(&html, "inf"), "no data at all");
    html_release(&html);
}

static void test_binary_ticks(void)
{
    struct html html = {0};
    const double x[] = {512, 65536}, y[] = {0, 3 << 20};
    const struct html_series series = {"s", x, y, 2, false};
    html_plot(&html, &(struct html_plot){.title = "t",
                                         .x = {.label = "x", .is_log = true, .base = 2},
                                         .y = {.label = "y", .base = 2, .format = format_k},
                                         .series = &series,
                                         .count = 1,
                                         .y_mark = NAN});
    ok(holds(&html, ">4096</text>") && !holds(&html, ">5000</text>"), "ticks are powers of two");
    ok(holds(&html, ">0K</text>") && holds(&html, ">1000K</text>"), "or round in KiB");
    html_release(&html);
}

static void test_ranges(void)
{
    struct html html = {0};
    const struct html_range ranges[] = {{"read", "1.4", 1.2, 1.4, 1.7}, {"none", "-", 1, NAN, 1}};
    html_ranges(
        &html, &(struct html_ranges){.title = "t",
                                     .axis = {.label = "x", .is_log = true, .low = 0.1, .high = 10},
                                     .mark = 1,
                                     .band_low = 0.95,
                                     .band_high = 1.05,
                                     .ranges = ranges,
                                     .count = 2});
    ok(holds(&html, "class=\"mark\" x1=\"220.0\""), "the mark lies where it belongs");
    ok(holds(&html, "class=\"band\"") && holds(&html, ">read</text>"), "band and label");
    ok(!holds(&html, "nan") && !holds(&html, "inf"), "every coordinate is a number");
    html_release(&html);
}

static void test_write(void)
{
    struct html html = {0};
    char folder[] = "/tmp/html_testXXXXXX", path[64], none[64], start[16] = "";
    need(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/page.html", folder);
    snprintf(none, sizeof(none), "%s/none/page.html", folder);
    html_begin(&html, "t", "l");
    is_int(html_write(&html, none), -1, "a page in a folder that is not there is a failure");
    is_int(html_write(&html, path), 0, "it is written");
    FILE *file = fopen(path, "r");
    need(file && fgets(start, sizeof(start), file));
    fclose(file);
    is_text(start, "<!DOCTYPE html>", "it is a page");
    html_release(&html);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    test_escape();
    test_texts();
    test_bars();
    test_plot();
    test_binary_ticks();
    test_ranges();
    test_write();
    return done();
}

/* SPDX-License-Identifier: MIT */
/* The page itself: head, style, texts, tiles, tables, bars; html_plot.c draws what has axes. */
#include "cli/html.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/auto.h"
#include "util/file.h"
#include "util/path.h"

/* Colours are told once, for light and for dark; a series or part n has the colour --c<n>. */
static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c2733;--soft:#5b6875;--line:#d5dce3;--back:#fff;"
    "--box:#f4f6f8;--c0:#2b6cb0;--c1:#dd8a1f;--c2:#8896a5;--c3:#2f855a;--c4:#b83280;--c5:#6b46c1}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e9ee;--soft:#9aa7b4;--line:#35404b;"
    "--back:#14191f;--box:#1e252d;--c0:#63a4e8;--c1:#f0ad4e;--c2:#71808f;--c3:#57c08a;"
    "--c4:#ee7fbd;--c5:#a78bfa}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:1rem;max-width:58rem;background:var(--back);color:var(--ink);"
    "font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}"
    "h2{font-size:1.15rem;margin:2.2rem 0 .5rem}p{margin:.5rem 0;max-width:44rem}"
    ".lead,.legend,figcaption{color:var(--soft)}"
    ".tiles{display:grid;gap:.6rem;grid-template-columns:repeat(auto-fill,minmax(8.5rem,1fr));"
    "margin:1rem 0}.tiles div{background:var(--box);border-radius:.5rem;padding:.7rem .9rem}"
    ".tiles b{display:block;font-size:1.3rem;line-height:1.3}.tiles span{color:var(--soft);"
    "font-size:.9rem}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.95rem}"
    "th,td{padding:.25rem 1.1rem .25rem 0;text-align:right;border-bottom:1px solid var(--line);"
    "font-weight:400;font-variant-numeric:tabular-nums;white-space:nowrap}"
    "thead th{color:var(--soft);vertical-align:bottom}th:first-child{text-align:left}"
    "tbody th{white-space:normal;min-width:6rem}"
    "tr.mark>*{font-weight:700;background:var(--box)}"
    ".bars{display:grid;grid-template-columns:fit-content(45%) 1fr auto;gap:.3rem .7rem;"
    "align-items:center;font-size:.95rem;max-width:46rem}"
    ".bars>span:nth-child(3n){text-align:right;font-variant-numeric:tabular-nums}"
    ".bars svg{display:block;width:100%;height:1rem;min-width:3rem}"
    ".legend{margin:.4rem 0 .8rem;font-size:.9rem}.legend i{display:inline-block;width:.8em;"
    "height:.8em;border-radius:.15em;margin:0 .35em 0 .9em}.legend i:first-child{margin-left:0}"
    "figure{margin:1rem 0;max-width:38rem}figure svg{display:block;width:100%;height:auto}"
    "svg text{fill:var(--soft);font:12px system-ui,sans-serif}svg .grid{stroke:var(--line)}"
    "svg .edge{stroke:var(--soft)}svg .label{fill:var(--ink)}"
    "svg .mark{stroke:var(--ink);stroke-dasharray:4 3}svg .band{fill:var(--line);opacity:.55}"
    "svg .curve{fill:none;stroke-width:2;stroke-linejoin:round}";

void html_add(struct html *html, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    auto_free char *text = NULL;
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        text = NULL;
    if (size < 0 || buf_append(&html->page, text, (size_t)size) < 0)
        html->is_out_of_memory = true;
}

/* What stands for a byte that cannot stand for itself; NULL: it can. */
static const char *entity(unsigned char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return byte < 0x20 || byte == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

void html_escape(struct html *html, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t size = *at < 0x80 ? 1 : path_utf8_length(at);
        const char *instead = size ? entity(*at) : "\xef\xbf\xbd";
        if (instead ? buf_append_text(&html->page, instead) < 0
                    : buf_append(&html->page, at, size) < 0)
            html->is_out_of_memory = true;
        at += size ? size : 1;
    }
}

/* One element that holds nothing but text. */
static void element(struct html *html, const char *open, const char *text, const char *close)
{
    html_add(html, "%s", open);
    html_escape(html, text);
    html_add(html, "%s", close);
}

void html_begin(struct html *html, const char *title, const char *lead)
{
    html_add(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    element(html, "<title>", title, "</title>\n");
    html_add(html, "<style>%s</style>\n</head>\n<body>\n", style);
    element(html, "<h1>", title, "</h1>\n");
    element(html, "<p class=\"lead\">", lead, "</p>\n");
}

void html_heading(struct html *html, const char *text)
{
    element(html, "<h2>", text, "</h2>\n");
}

void html_text(struct html *html, const char *text)
{
    element(html, "<p>", text, "</p>\n");
}

void html_tiles_begin(struct html *html)
{
    html_add(html, "<div class=\"tiles\">\n");
}

void html_tile(struct html *html, const char *value, const char *label)
{
    element(html, "<div><b>", value, "</b>");
    element(html, "<span>", label, "</span></div>\n");
}

void html_tiles_end(struct html *html)
{
    html_add(html, "</div>\n");
}

void html_table_begin(struct html *html, const char *const *heads, size_t count)
{
    html_add(html, "<div class=\"wide\"><table>\n<thead><tr>");
    for (size_t i = 0; i < count; i++)
        element(html, "<th scope=\"col\">", heads[i], "</th>");
    html_add(html, "</tr></thead>\n<tbody>\n");
}

void html_row(struct html *html, const char *const *cells, size_t count, bool is_marked)
{
    html_add(html, is_marked ? "<tr class=\"mark\">" : "<tr>");
    for (size_t i = 0; i < count; i++)
        element(html, i ? "<td>" : "<th scope=\"row\">", cells[i], i ? "</td>" : "</th>");
    html_add(html, "</tr>\n");
}

void html_table_end(struct html *html)
{
    html_add(html, "</tbody></table></div>\n");
}

/* -- bars ----------------------------------------------------------------------------------- */

static void bar_legend(struct html *html, const struct html_bars *bars)
{
    html_add(html, "<p class=\"legend\">");
    for (size_t i = 0; i < HTML_PARTS; i++) {
        if (!bars->parts[i])
            continue;
        html_add(html, "<i style=\"background:var(--c%zu)\"></i>", i);
        html_escape(html, bars->parts[i]);
    }
    html_add(html, "</p>\n");
}

static double bar_length(const struct html_bar *bar)
{
    double length = 0;
    for (size_t i = 0; i < HTML_PARTS; i++)
        length += bar->parts[i] > 0 ? bar->parts[i] : 0;
    return length;
}

static void draw_bar(struct html *html, const struct html_bar *bar, double longest)
{
    double at = 0;
    html_add(html,
             "<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    for (size_t i = 0; i < HTML_PARTS; i++) {
        double width = longest > 0 && bar->parts[i] > 0 ? 1000 * bar->parts[i] / longest : 0;
        if (width > 0)
            html_add(html, "<rect x=\"%.1f\" width=\"%.1f\" height=\"10\" fill=\"var(--c%zu)\"/>",
                     at, width, i);
        at += width;
    }
    html_add(html, "</svg>");
}

void html_bars(struct html *html, const struct html_bars *bars)
{
    double longest = 0;
    for (size_t i = 0; i < bars->count; i++)
        if (bar_length(&bars->bars[i]) > longest)
            longest = bar_length(&bars->bars[i]);
    if (bars->parts[0])
        bar_legend(html, bars);
    html_add(html, "<div class=\"bars\">\n");
    for (size_t i = 0; i < bars->count; i++) {
        element(html, "<span>", bars->bars[i].label, "</span>");
        draw_bar(html, &bars->bars[i], longest);
        element(html, "<span>", bars->bars[i].value, "</span>\n");
    }
    html_add(html, "</div>\n");
}

/* -- the end -------------------------------------------------------------------------------- */

int html_write(struct html *html, const char *path)
{
    html_add(html, "</body>\n</html>\n");
    if (html->is_out_of_memory) {
        errno = ENOMEM;
        return -1;
    }
    auto_release(new_file_release) struct new_file file = NEW_FILE_NONE;
    if (new_file_open(&file, path) < 0 || file_write(file.fd, html->page.data, html->page.size) < 0)
        return -1;
    return new_file_publish(&file, true, false);
}

void html_release(struct html *html)
{
    buf_release(&html->page);
}

/* SPDX-License-Identifier: MIT */
/* Writes one HTML page that needs nothing else: texts, tiles, tables, bars, plots as inline SVG. */
#ifndef CLI_HTML_H
#define CLI_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

/*
 * A page in the making; all zero is the empty one. Every text is plain: what HTML
 * would take for markup is escaped, bytes that are no UTF-8 show as U+FFFD. All
 * pointers are borrowed until the call returns. Nothing fails before html_write.
 */
struct html {
    struct buf page;
    bool is_out_of_memory;
};

/* The head of the page and its title; `lead` is one sentence below it. Call it first. */
void html_begin(struct html *html, const char *title, const char *lead);

/* A heading, and a paragraph. */
void html_heading(struct html *html, const char *text);
void html_text(struct html *html, const char *text);

/* The figures that a reader looks for first, side by side: a value above its label. */
void html_tiles_begin(struct html *html);
void html_tile(struct html *html, const char *value, const char *label);
void html_tiles_end(struct html *html);

/* A table. The first column is set left and is the row's name, the others are set right. */
void html_table_begin(struct html *html, const char *const *heads, size_t count);
void html_row(struct html *html, const char *const *cells, size_t count, bool is_marked);
void html_table_end(struct html *html);

/* Horizontal bars, each of up to three parts that lie end to end; all to one scale. */
#define HTML_PARTS 3
struct html_bar {
    const char *label;
    const char *value; /* what stands behind the bar */
    double parts[HTML_PARTS];
};
struct html_bars {
    const char *parts[HTML_PARTS]; /* what they mean; NULL: not used */
    const struct html_bar *bars;
    size_t count;
};
void html_bars(struct html *html, const struct html_bars *bars);

/* One direction of a plot. Where low is not less than high, they are taken from the data. */
struct html_axis {
    const char *label;
    bool is_log;      /* values must be above 0; others are left out */
    int base;         /* its ticks are round in it: 2, for bytes, or 10 (0) */
    double low, high; /* what is shown; values outside are cut off */
    /* Writes a tick's value as a reader shall see it; NULL: as a plain number. */
    void (*format)(double value, char *ret_text, size_t size);
};

/* Lines over a common pair of axes. NaN in x or y leaves a gap. */
#define HTML_SERIES_MAX 6
struct html_series {
    const char *label;
    const double *x, *y;
    size_t count;
    bool has_dots; /* each point is marked, and tells its value to a pointer */
};
struct html_plot {
    const char *title; /* what it shows, for those who do not see it */
    struct html_axis x, y;
    const struct html_series *series;
    size_t count;  /* up to HTML_SERIES_MAX */
    double y_mark; /* a line across the plot at this height; NaN: none */
};
void html_plot(struct html *html, const struct html_plot *plot);

/* Values with the ranges that they may lie in, one below the other, on one axis. */
struct html_range {
    const char *label;
    const char *value;
    double low, middle, high;
};
struct html_ranges {
    const char *title;
    struct html_axis axis;
    double mark;                /* a line at this value; NaN: none */
    double band_low, band_high; /* a shaded band around it; NaN: none */
    const struct html_range *ranges;
    size_t count;
};
void html_ranges(struct html *html, const struct html_ranges *ranges);

/* What html_plot.c makes its drawings with: markup as it is, and text that is escaped. */
void html_add(struct html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));
void html_escape(struct html *html, const char *text);

/*
 * Ends the page and writes it to `path`, whole or not at all; an existing file is
 * replaced. Returns 0, or -1 with errno.
 */
int html_write(struct html *html, const char *path);
void html_release(struct html *html);

#endif

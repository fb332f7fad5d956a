/* SPDX-License-Identifier: MIT */
/* Drawings with axes: lines over a plane, and values with their ranges. */
#include <math.h>
#include <stdio.h>

#include "cli/html.h"

/* The drawing is 440 units wide, which a phone shows at about their size in pixels. */
#define WIDTH      440.0
#define HEIGHT     270.0
#define LEFT       58.0
#define RIGHT      14.0
#define TOP        26.0
#define BOTTOM     44.0
#define ROW_HEIGHT 34.0
#define TICKS_MAX  12

/* An axis once the data is known: what it shows, and where that lies in the drawing. */
struct scale {
    const struct html_axis *axis;
    double low, high; /* of a logarithmic axis: their logarithms */
    double begin, end;
};

static double transform(const struct html_axis *axis, double value)
{
    return axis->is_log ? log10(value) : value;
}

static bool is_shown(const struct html_axis *axis, double value)
{
    return isfinite(value) && (!axis->is_log || value > 0);
}

/* Widens *low and *high to hold a value. */
static void span(const struct html_axis *axis, double value, double *low, double *high)
{
    if (!is_shown(axis, value))
        return;
    value = transform(axis, value);
    *low = value < *low ? value : *low;
    *high = value > *high ? value : *high;
}

static struct scale make_scale(const struct html_axis *axis, double low, double high, double begin,
                               double end)
{
    if (axis->low < axis->high) {
        low = transform(axis, axis->low);
        high = transform(axis, axis->high);
    }
    if (!(low <= high)) /* no data at all */
        low = high = 0;
    if (low == high) {
        low -= 1;
        high += 1;
    }
    return (struct scale){.axis = axis, .low = low, .high = high, .begin = begin, .end = end};
}

/* Where a value lies in the drawing, at the edge where it is beyond it. */
static double place(const struct scale *scale, double value)
{
    double share = (transform(scale->axis, value) - scale->low) / (scale->high - scale->low);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return scale->begin + share * (scale->end - scale->begin);
}

/* -- ticks ---------------------------------------------------------------------------------- */

/* Round values: 1, 2 or 5 times a power of ten, of KiB or MiB where the base is 2. Returns how
 * many.
 */
static size_t linear_ticks(const struct scale *scale, double ticks[TICKS_MAX])
{
    double unit = 1;
    if (scale->axis->base == 2)
        unit = exp2(10 * floor(log2((scale->high - scale->low) / 4) / 10));
    double step = unit * pow(10, floor(log10((scale->high - scale->low) / 4 / unit)));
    while ((scale->high - scale->low) / step > 8)
        step *= (scale->high - scale->low) / step > 16 ? 5 : 2;
    size_t count = 0;
    double first = ceil(scale->low / step - 1e-9);
    for (double n = first; n * step <= scale->high + step * 1e-9 && count < TICKS_MAX; n++)
        ticks[count++] = n * step + 0.0; /* no -0 */
    return count;
}

/* Powers of ten, with 2 and 5 times them where there are few. */
static size_t log_ticks(const struct scale *scale, double ticks[TICKS_MAX])
{
    static const double within[] = {1, 2, 5};
    double decades = scale->high - scale->low;
    size_t each = decades < 2.5 ? 3 : 1, count = 0;
    double step = ceil((decades + 1e-9) / (TICKS_MAX - 2));
    for (double power = floor(scale->low); power <= scale->high && count < TICKS_MAX; power += step)
        for (size_t i = 0; i < each && count < TICKS_MAX; i++) {
            double value = within[i] * pow(10, power);
            if (log10(value) >= scale->low - 1e-9 && log10(value) <= scale->high + 1e-9)
                ticks[count++] = value;
        }
    return count;
}

static void tick_text(const struct html_axis *axis, double value, char *text, size_t size)
{
    if (axis->format)
        axis->format(value, text, size);
    else
        snprintf(text, size, "%g", value);
}

static size_t binary_ticks(const struct scale *scale, double ticks[TICKS_MAX])
{
    size_t count = 0;
    double low = scale->low / log10(2), high = scale->high / log10(2);
    double step = ceil((high - low + 1e-9) / (TICKS_MAX - 2));
    for (double n = ceil(low - 1e-9); n <= high + 1e-9 && count < TICKS_MAX; n += step)
        ticks[count++] = exp2(n);
    return count;
}

static size_t make_ticks(const struct scale *scale, double ticks[TICKS_MAX])
{
    if (scale->axis->is_log && scale->axis->base == 2)
        return binary_ticks(scale, ticks);
    return scale->axis->is_log ? log_ticks(scale, ticks) : linear_ticks(scale, ticks);
}

static void draw_text(struct html *html, double x, double y, const char *anchor, const char *text)
{
    html_add(html, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    html_escape(html, text);
    html_add(html, "</text>\n");
}

static void draw_line(struct html *html, const char *class, double x1, double y1, double x2,
                      double y2)
{
    html_add(html, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class,
             x1, y1, x2, y2);
}

static void draw_x_axis(struct html *html, const struct scale *scale, double top, double bottom)
{
    double ticks[TICKS_MAX];
    size_t count = make_ticks(scale, ticks);
    char text[48];
    for (size_t i = 0; i < count; i++) {
        double x = place(scale, ticks[i]);
        tick_text(scale->axis, ticks[i], text, sizeof(text));
        draw_line(html, "grid", x, top, x, bottom);
        draw_text(html, x, bottom + 15, "middle", text);
    }
    draw_line(html, "edge", scale->begin, bottom, scale->end, bottom);
    draw_text(html, (scale->begin + scale->end) / 2, bottom + 33, "middle", scale->axis->label);
}

static void draw_y_axis(struct html *html, const struct scale *scale, double left, double right)
{
    double ticks[TICKS_MAX];
    size_t count = make_ticks(scale, ticks);
    char text[48];
    for (size_t i = 0; i < count; i++) {
        double y = place(scale, ticks[i]);
        tick_text(scale->axis, ticks[i], text, sizeof(text));
        draw_line(html, "grid", left, y, right, y);
        draw_text(html, left - 6, y + 4, "end", text);
    }
    draw_text(html, 2, 12, "start", scale->axis->label);
}

static void begin_figure(struct html *html, const char *title, double height)
{
    html_add(html, "<figure><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>", WIDTH, height);
    html_escape(html, title);
    html_add(html, "</title>\n");
}

/* -- plots ---------------------------------------------------------------------------------- */

static void draw_curve(struct html *html, const struct scale *x, const struct scale *y,
                       const struct html_series *series, size_t number)
{
    bool is_down = false; /* the pen */
    html_add(html, "<path class=\"curve\" style=\"stroke:var(--c%zu)\" d=\"", number);
    for (size_t i = 0; i < series->count; i++) {
        bool has_point = is_shown(x->axis, series->x[i]) && is_shown(y->axis, series->y[i]);
        if (has_point)
            html_add(html, "%c%.1f %.1f", is_down ? 'L' : 'M', place(x, series->x[i]),
                     place(y, series->y[i]));
        is_down = has_point;
    }
    html_add(html, "\"/>\n");
}

static void draw_dots(struct html *html, const struct scale *x, const struct scale *y,
                      const struct html_series *series, size_t number)
{
    char at[48], value[48];
    for (size_t i = 0; i < series->count; i++) {
        if (!is_shown(x->axis, series->x[i]) || !is_shown(y->axis, series->y[i]))
            continue;
        tick_text(x->axis, series->x[i], at, sizeof(at));
        tick_text(y->axis, series->y[i], value, sizeof(value));
        html_add(html, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"var(--c%zu)\"><title>",
                 place(x, series->x[i]), place(y, series->y[i]), number);
        html_escape(html, at);
        html_escape(html, ": ");
        html_escape(html, value);
        html_add(html, "</title></circle>\n");
    }
}

static void plot_legend(struct html *html, const struct html_plot *plot)
{
    html_add(html, "<figcaption class=\"legend\">");
    for (size_t i = 0; i < plot->count; i++) {
        html_add(html, "<i style=\"background:var(--c%zu)\"></i>", i);
        html_escape(html, plot->series[i].label);
    }
    html_add(html, "</figcaption>");
}

void html_plot(struct html *html, const struct html_plot *plot)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (size_t i = 0; i < plot->count; i++)
        for (size_t k = 0; k < plot->series[i].count; k++) {
            span(&plot->x, plot->series[i].x[k], &low[0], &high[0]);
            span(&plot->y, plot->series[i].y[k], &low[1], &high[1]);
        }
    span(&plot->y, plot->y_mark, &low[1], &high[1]);
    struct scale x = make_scale(&plot->x, low[0], high[0], LEFT, WIDTH - RIGHT);
    struct scale y = make_scale(&plot->y, low[1], high[1], HEIGHT - BOTTOM, TOP);
    begin_figure(html, plot->title, HEIGHT);
    draw_y_axis(html, &y, LEFT, WIDTH - RIGHT);
    draw_x_axis(html, &x, TOP, HEIGHT - BOTTOM);
    if (is_shown(&plot->y, plot->y_mark))
        draw_line(html, "mark", LEFT, place(&y, plot->y_mark), WIDTH - RIGHT,
                  place(&y, plot->y_mark));
    for (size_t i = 0; i < plot->count; i++) {
        draw_curve(html, &x, &y, &plot->series[i], i);
        if (plot->series[i].has_dots)
            draw_dots(html, &x, &y, &plot->series[i], i);
    }
    html_add(html, "</svg>");
    plot_legend(html, plot);
    html_add(html, "</figure>\n");
}

/* -- ranges --------------------------------------------------------------------------------- */

static void draw_range(struct html *html, const struct scale *scale, const struct html_range *range,
                       double y)
{
    html_add(html, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\">", scale->begin, y - 6);
    html_escape(html, range->label);
    html_add(html, "</text>\n");
    draw_text(html, scale->end, y - 6, "end", range->value);
    if (!is_shown(scale->axis, range->middle))
        return;
    if (is_shown(scale->axis, range->low) && is_shown(scale->axis, range->high))
        html_add(html,
                 "<line style=\"stroke:var(--c0)\" stroke-width=\"3\" x1=\"%.1f\" y1=\"%.1f\" "
                 "x2=\"%.1f\" y2=\"%.1f\"/>\n",
                 place(scale, range->low), y + 3, place(scale, range->high), y + 3);
    html_add(html, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"var(--c0)\"/>\n",
             place(scale, range->middle), y + 3);
}

void html_ranges(struct html *html, const struct html_ranges *ranges)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < ranges->count; i++) {
        span(&ranges->axis, ranges->ranges[i].low, &low, &high);
        span(&ranges->axis, ranges->ranges[i].middle, &low, &high);
        span(&ranges->axis, ranges->ranges[i].high, &low, &high);
    }
    span(&ranges->axis, ranges->mark, &low, &high);
    struct scale scale = make_scale(&ranges->axis, low, high, 8, WIDTH - 8);
    double bottom = 8 + ROW_HEIGHT * (double)ranges->count;
    begin_figure(html, ranges->title, bottom + 40);
    if (is_shown(&ranges->axis, ranges->band_low) && is_shown(&ranges->axis, ranges->band_high)) {
        double left = place(&scale, ranges->band_low), right = place(&scale, ranges->band_high);
        html_add(html, "<rect class=\"band\" x=\"%.1f\" y=\"4\" width=\"%.1f\" height=\"%.1f\"/>\n",
                 left, right - left, bottom - 4);
    }
    draw_x_axis(html, &scale, 4, bottom);
    if (is_shown(&ranges->axis, ranges->mark))
        draw_line(html, "mark", place(&scale, ranges->mark), 4, place(&scale, ranges->mark),
                  bottom);
    for (size_t i = 0; i < ranges->count; i++)
        draw_range(html, &scale, &ranges->ranges[i], 24 + ROW_HEIGHT * (double)i);
    html_add(html, "</svg></figure>\n");
}

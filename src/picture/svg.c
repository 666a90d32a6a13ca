/* SPDX-License-Identifier: MIT */
/*
 * The familiar flame graph: a static picture that any viewer shows, with a small script for
 * browsers. From top to bottom: title, subtitle, the flames (root at the bottom), a line for
 * details and the share of what was searched for.
 */
#include "picture/svg.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "picture/assets.h"
#include "picture/units.h"

enum {
    MARGIN = 10,
    TOP = 62, /* title and one line of subtitle */
    SUB_ROW = 16,
    SUB_ROWS_MAX = 4, /* what is longer is cut */
    SIDE = 90,        /* kept free for the buttons beside the title */
    BOTTOM = 44,      /* details, and what was left out */
    ROW = 17,
    TEXT_DOWN = 12, /* from the top of a row to the base line */
};

static const double char_width = 6.9; /* of 12 px Verdana, about */
static const double title_scale = 17.0 / 12;

struct drawing {
    const struct cairn_picture_view *view;
    struct cairn_out *out;
    const char *type, *unit;
    int64_t *totals;
    double *next_x;   /* by depth: where the next node begins, in values */
    double min_total; /* narrower ones are left out */
    uint32_t width, height;
    uint32_t top;                 /* where the flames begin */
    struct cairn_buffer subtitle; /* made safe to show */
    uint32_t depth_max;           /* of what is wide enough */
    size_t n_drawn;
};

static double x_of(const struct drawing *d, double value)
{
    return MARGIN + value * (d->width - 2.0 * MARGIN) / (double)d->totals[0];
}

static bool is_drawn(const struct drawing *d, size_t node)
{
    return d->totals[node] > 0 && (double)d->totals[node] >= d->min_total;
}

static void measure(struct drawing *d)
{
    for (size_t node = 0; node < d->view->layout->n; node++)
        if (is_drawn(d, node)) {
            d->n_drawn++;
            if (d->view->layout->depths[node] > d->depth_max)
                d->depth_max = d->view->layout->depths[node];
        }
    d->height = d->top + (d->depth_max + 1) * ROW + BOTTOM;
}

static void add_markup(struct cairn_buffer *b, const char *text)
{
    cairn_escape_markup(b, text, strlen(text));
}

/* The next piece of a text that fits into a line: up to the last blank before `runes` code points,
 * or just so many. Returns its size in bytes. */
static size_t line_size(const char *text, size_t runes)
{
    size_t size = strlen(text), at = 0, blank = 0;
    for (size_t n = 0; at < size && n < runes; n++) {
        if (text[at] == ' ')
            blank = at;
        uint32_t rune;
        unsigned step = cairn_utf8_next(text + at, size - at, &rune);
        at += step ? step : 1;
    }
    return at < size && blank ? blank : at;
}

/* Draws the lines of the subtitle where `b` is given; gives their number. */
static uint32_t add_subtitle(const struct drawing *d, struct cairn_buffer *b)
{
    const char *text = cairn_buffer_text(&d->subtitle);
    double fitting = (d->width - 2.0 * MARGIN) / char_width;
    size_t runes = fitting > 8 ? (size_t)fitting : 8;
    uint32_t n = 0;
    while (*text && n < SUB_ROWS_MAX) {
        size_t size = line_size(text, runes);
        if (b) {
            cairn_buffer_printf(b, "<text class=\"subtitle\" x=\"%u\" y=\"%u\">", d->width / 2,
                                46 + n * SUB_ROW);
            cairn_escape_markup(b, text, size);
            cairn_buffer_str(b, "</text>\n");
        }
        text += size;
        text += *text == ' ';
        n++;
    }
    return n;
}

static void add_colours(struct cairn_buffer *b, bool dark)
{
    for (int kind = 0; kind < CAIRN_PALETTE_KINDS; kind++)
        for (uint8_t shade = 0; shade < CAIRN_PALETTE_SHADES; shade++)
            cairn_buffer_printf(b, ".k%d%c{fill:#%06x}%s", kind, 'a' + shade,
                                cairn_palette_rgb((enum cairn_palette_kind)kind, shade, dark),
                                shade % 4 == 3 ? "\n" : "");
}

/* As much of a name as fits, in code points; "" where that would say nothing. */
static void add_fitting(struct cairn_buffer *b, const char *name, double width)
{
    double fitting = (width - 6) / char_width;
    if (fitting < 3)
        return;
    size_t size = strlen(name), runes = (size_t)fitting, at = 0, keep = 0;
    for (size_t n = 0; at < size; n++) {
        if (n + 2 == runes)
            keep = at;
        if (n == runes)
            break;
        uint32_t rune;
        unsigned step = cairn_utf8_next(name + at, size - at, &rune);
        at += step ? step : 1;
    }
    cairn_escape_markup(b, name, at == size ? size : keep);
    if (at < size)
        cairn_buffer_str(b, "..");
}

static void add_title(const struct drawing *d, struct cairn_buffer *b)
{
    struct cairn_buffer safe = {0};
    cairn_escape_terminal(&safe, d->view->title, strlen(d->view->title));
    b->failed |= safe.failed;
    add_fitting(b, cairn_buffer_text(&safe), ((double)d->width - 2 * SIDE) / title_scale);
    cairn_buffer_done(&safe);
}

static void draw_head(struct drawing *d)
{
    struct cairn_buffer *b = &d->out->text;
    cairn_buffer_printf(b,
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
                        "height=\"%u\" viewBox=\"0 0 %u %u\">\n<style>\n",
                        d->width, d->height, d->width, d->height);
    cairn_buffer_add(b, cairn_asset_svg_style.text.data, cairn_asset_svg_style.text.size);
    add_colours(b, false);
    cairn_buffer_str(b, "@media (prefers-color-scheme: dark) {\n");
    add_colours(b, true);
    cairn_buffer_str(b, "}\n</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    cairn_buffer_printf(b, "<text class=\"title\" x=\"%u\" y=\"26\">", d->width / 2);
    add_title(d, b);
    cairn_buffer_str(b, "</text>\n");
    add_subtitle(d, b);
}

/* What a browser shows when the pointer rests: "name (12 samples, 1.23%)", then where it is. */
static void add_hover_title(struct drawing *d, const struct cairn_look *look, int64_t total)
{
    struct cairn_buffer *b = &d->out->text;
    const struct cairn_strings *texts = &d->view->looks->texts;
    cairn_buffer_str(b, "<title>");
    add_markup(b, look ? cairn_strings_get(texts, look->name) : "all");
    cairn_buffer_str(b, " (");
    struct cairn_buffer value = {0};
    cairn_units_value(&value, total, d->type, d->unit);
    b->failed |= value.failed;
    add_markup(b, cairn_buffer_text(&value));
    cairn_buffer_done(&value);
    cairn_buffer_str(b, ", ");
    cairn_units_percent(b, total, d->totals[0]);
    cairn_buffer_char(b, ')');
    if (look && look->file) {
        cairn_buffer_char(b, '\n');
        add_markup(b, cairn_strings_get(texts, look->file));
        if (look->line_low)
            cairn_buffer_printf(b, ":%u", look->line_low);
    }
    if (look && look->module) {
        cairn_buffer_char(b, '\n');
        add_markup(b, cairn_strings_get(texts, look->module));
    }
    cairn_buffer_str(b, "</title>");
}

static void draw_node(struct drawing *d, size_t node, double begin)
{
    const struct cairn_layout *layout = d->view->layout;
    uint32_t number = layout->looks[node];
    const struct cairn_look *look =
        number == CAIRN_LAYOUT_ROOT ? NULL : &d->view->looks->rows[number];
    const char *name = look ? cairn_strings_get(&d->view->looks->texts, look->name) : "all";
    double x = x_of(d, begin);
    double width = x_of(d, begin + (double)d->totals[node]) - x;
    uint32_t y = d->top + (d->depth_max - layout->depths[node]) * ROW;

    struct cairn_buffer *b = &d->out->text;
    cairn_buffer_str(b, "<g>");
    add_hover_title(d, look, d->totals[node]);
    cairn_buffer_printf(b,
                        "<rect class=\"k%d%c\" x=\"%.4f\" y=\"%u\" width=\"%.4f\" height=\"%d\"/>"
                        "<text x=\"%.2f\" y=\"%u\">",
                        look ? look->kind : CAIRN_PALETTE_ROOT, 'a' + (look ? look->shade : 0), x,
                        y, width, ROW - 1, x + 3, y + TEXT_DOWN);
    add_fitting(b, name, width);
    cairn_buffer_str(b, "</text></g>\n");
    cairn_out_pass(d->out);
}

static void draw_nodes(struct drawing *d)
{
    const struct cairn_layout *layout = d->view->layout;
    cairn_buffer_printf(&d->out->text, "<g id=\"frames\" data-margin=\"%d\" data-char=\"%.1f\">\n",
                        MARGIN, char_width);
    for (size_t node = 0; node < layout->n; node++) {
        uint32_t depth = layout->depths[node];
        double begin = d->next_x[depth];
        if (is_drawn(d, node))
            draw_node(d, node, begin);
        d->next_x[depth + 1] = begin;
        if (d->totals[node] > 0)
            d->next_x[depth] = begin + (double)d->totals[node];
    }
    cairn_buffer_str(&d->out->text, "</g>\n");
}

static void draw_foot(struct drawing *d, double min_percent)
{
    struct cairn_buffer *b = &d->out->text;
    size_t n = d->view->layout->n;
    if (d->n_drawn < n) {
        cairn_buffer_printf(b, "<text class=\"note\" id=\"omitted\" x=\"%d\" y=\"%u\">", MARGIN,
                            d->height - 8);
        cairn_units_count(b, n - d->n_drawn);
        cairn_buffer_str(b, " of ");
        cairn_units_count(b, n);
        cairn_buffer_printf(b, " frames, each below %g%%, are not drawn</text>\n", min_percent);
    }
    cairn_buffer_printf(b,
                        "<text class=\"button\" id=\"reset\" x=\"%d\" y=\"26\">Reset zoom</text>\n"
                        "<text class=\"button\" id=\"search\" x=\"%u\" y=\"26\">Search</text>\n"
                        "<text id=\"details\" x=\"%d\" y=\"%u\"> </text>\n"
                        "<text id=\"matched\" x=\"%u\" y=\"%u\"> </text>\n",
                        MARGIN, d->width - MARGIN, MARGIN, d->height - 26, d->width - MARGIN,
                        d->height - 26);
    cairn_buffer_str(b, "<script><![CDATA[\n");
    cairn_buffer_add(b, cairn_asset_svg_script.text.data, cairn_asset_svg_script.text.size);
    cairn_buffer_str(b, "]]></script>\n</svg>\n");
}

static void draw_empty(struct drawing *d)
{
    d->height = d->top + 3 * ROW + BOTTOM;
    draw_head(d);
    cairn_buffer_printf(&d->out->text,
                        "<text class=\"subtitle\" x=\"%u\" y=\"%u\">no samples: there is nothing "
                        "to draw</text>\n</svg>\n",
                        d->width / 2, d->top + 2 * ROW);
}

int cairn_svg_draw(const struct cairn_picture_view *view, double min_percent, uint32_t width,
                   struct cairn_out *out, struct cairn_err *err)
{
    const struct cairn_profile *p = view->profile;
    struct drawing d = {.view = view, .out = out, .width = width, .type = "", .unit = ""};
    if (p->n_types) {
        d.type = cairn_strings_get(&p->strings, p->types[view->value_type].type);
        d.unit = cairn_strings_get(&p->strings, p->types[view->value_type].unit);
    }
    cairn_escape_terminal(&d.subtitle, view->subtitle, strlen(view->subtitle));
    out->text.failed |= d.subtitle.failed;
    uint32_t rows = add_subtitle(&d, NULL);
    d.top = TOP + (rows > 1 ? (rows - 1) * SUB_ROW : 0);
    d.totals = cairn_layout_totals(view->layout, view->value_type);
    d.next_x = cairn_alloc((size_t)view->layout->depth_max + 2, sizeof *d.next_x);
    int rc = d.totals && d.next_x ? CAIRN_OK : cairn_fail_memory(err);
    if (rc == CAIRN_OK && d.totals[0] <= 0) {
        draw_empty(&d);
    } else if (rc == CAIRN_OK) {
        d.min_total = (double)d.totals[0] * (min_percent / 100);
        measure(&d);
        draw_head(&d);
        draw_nodes(&d);
        draw_foot(&d, min_percent);
    }
    cairn_buffer_done(&d.subtitle);
    cairn_free(d.totals);
    cairn_free(d.next_x);
    return rc;
}

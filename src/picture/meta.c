/* SPDX-License-Identifier: MIT */
#include "picture/meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"

/* By enum cairn_guest_view, as the page names them. */
static const char *const guest_views[] = {"fold", "all", "only", "off"};

/* For text that was not made safe to show before. */
static void add_foreign(struct cairn_json *j, const char *name, const char *text)
{
    struct cairn_buffer safe = {0};
    cairn_escape_terminal(&safe, text, strlen(text));
    j->out->failed |= safe.failed;
    cairn_json_str(j, name, cairn_buffer_text(&safe));
    cairn_buffer_done(&safe);
}

static void add_palette(struct cairn_json *j, const char *name, bool dark)
{
    cairn_json_open(j, name, '{');
    cairn_json_str(j, "text", dark ? "#f1eee8" : "#23211d");
    cairn_json_str(j, "hit", dark ? "#b5429f" : "#b03a9b");
    cairn_json_str(j, "hitText", "#ffffff");
    cairn_json_open(j, "kinds", '[');
    for (int kind = 0; kind < CAIRN_PALETTE_KINDS; kind++) {
        cairn_json_open(j, NULL, '[');
        for (uint8_t shade = 0; shade < CAIRN_PALETTE_SHADES; shade++) {
            char colour[16];
            snprintf(colour, sizeof colour, "#%06x",
                     cairn_palette_rgb((enum cairn_palette_kind)kind, shade, dark));
            cairn_json_str(j, NULL, colour);
        }
        cairn_json_close(j, ']');
    }
    cairn_json_close(j, ']');
    cairn_json_close(j, '}');
}

/* As text: a number of a script has 53 bits. */
static void add_exact(struct cairn_json *j, const char *name, int64_t value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    cairn_json_str(j, name, digits);
}

static void add_types(struct cairn_json *j, const struct cairn_profile *p, const int64_t *scales)
{
    cairn_json_open(j, "types", '[');
    for (size_t type = 0; type < p->n_types; type++) {
        cairn_json_open(j, NULL, '{');
        add_foreign(j, "type", cairn_strings_get(&p->strings, p->types[type].type));
        add_foreign(j, "unit", cairn_strings_get(&p->strings, p->types[type].unit));
        cairn_json_i64(j, "scale", scales[type]);
        cairn_json_close(j, '}');
    }
    cairn_json_close(j, ']');
}

/* What a capture says of itself. */
static void add_side(struct cairn_json *j, const struct cairn_profile *p, const char *title,
                     const char *subtitle, int64_t first_ns)
{
    cairn_json_open(j, NULL, '{');
    add_foreign(j, "title", title);
    add_foreign(j, "subtitle", subtitle);
    add_exact(j, "first_ns", first_ns);
    add_exact(j, "time_ns", p->time_ns);
    add_exact(j, "duration_ns", p->duration_ns);
    add_exact(j, "period", p->period);
    add_foreign(j, "period_type", cairn_strings_get(&p->strings, p->period_type.type));
    add_foreign(j, "period_unit", cairn_strings_get(&p->strings, p->period_type.unit));
    cairn_json_open(j, "comments", '[');
    for (size_t i = 0; i < p->n_notes; i++)
        add_foreign(j, NULL, p->public_comments[i]);
    cairn_json_close(j, ']');
    cairn_json_close(j, '}');
}

static void add_sides(struct cairn_json *j, const struct cairn_picture_view *view,
                      const struct cairn_page_facts *facts)
{
    cairn_json_open(j, "sides", '[');
    add_side(j, view->of_side[CAIRN_SIDE_NEW], view->title, view->subtitle,
             facts->first_ns[CAIRN_SIDE_NEW]);
    if (view->of_side[CAIRN_SIDE_OLD])
        add_side(j, view->of_side[CAIRN_SIDE_OLD], view->old_title, view->old_subtitle,
                 facts->first_ns[CAIRN_SIDE_OLD]);
    cairn_json_close(j, ']');
}

static void add_lines(struct cairn_json *j, const struct cairn_picture_view *view)
{
    cairn_json_open(j, "lines", '[');
    for (size_t i = 0; i < view->n_lines; i++) {
        cairn_json_open(j, NULL, '{');
        add_foreign(j, "name", view->lines[i].name);
        add_foreign(j, "unit", view->lines[i].unit);
        cairn_json_close(j, '}');
    }
    cairn_json_close(j, ']');
}

static void add_kinds(struct cairn_json *j)
{
    cairn_json_open(j, "kinds", '[');
    for (int kind = 0; kind < CAIRN_PALETTE_KINDS; kind++)
        cairn_json_str(j, NULL, cairn_palette_kind_name((enum cairn_palette_kind)kind));
    cairn_json_close(j, ']');
    cairn_json_open(j, "palettes", '{');
    add_palette(j, "light", false);
    add_palette(j, "dark", true);
    cairn_json_close(j, '}');
}

void cairn_meta_write(const struct cairn_picture_view *view, const struct cairn_page_facts *facts,
                      struct cairn_out *out)
{
    struct cairn_json j = {.out = &out->text, .compact = true};
    cairn_buffer_str(&out->text, "<script type=\"application/json\" id=\"data-meta\">");
    cairn_json_open(&j, NULL, '{');
    add_foreign(&j, "title", view->title);
    add_foreign(&j, "subtitle", view->subtitle);
    cairn_json_u64(&j, "nodes", view->layout->n);
    cairn_json_u64(&j, "looks", view->looks->n);
    cairn_json_u64(&j, "shown", view->value_type);
    cairn_json_bool(&j, "rows", facts->has_rows);
    cairn_json_str(&j, "guest", guest_views[view->guest]);
    add_types(&j, view->profile, facts->scales);
    add_sides(&j, view, facts);
    add_lines(&j, view);
    add_kinds(&j);
    cairn_json_close(&j, '}');
    cairn_buffer_str(&out->text, "</script>\n");
}

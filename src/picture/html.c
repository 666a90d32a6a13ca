/* SPDX-License-Identifier: MIT */
/*
 * One page with everything in it. The tree goes along as columns, each a block of LEB128 numbers,
 * deflated and in base64:
 *
 *     data-meta    JSON: titles, value types, sizes, colours
 *     data-steps   per node but the root: levels to climb before going one down
 *     data-looks   per node but the root: its look
 *     data-selfN   per node: what ended there, zigzag, in units of the type's scale
 *     data-frames  per look: name, file, module (in texts), first and last line, kind, shade, found
 *     data-texts   all texts, with NUL between them
 *
 * Texts from a target stand in the page only as base64 or escaped as JSON; a
 * Content-Security-Policy lets nothing run but our own script, and nothing load at all.
 */
#include "picture/html.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/zip.h"
#include "picture/assets.h"

enum {
    DEFLATE_LEVEL = 1,
    VARINT_MAX = 10, /* bytes of a 64-bit LEB128 */
};

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value > 127; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* Appends one number. The columns of nodes are millions long, so this looks at the room first and
 * asks for more only where there is none. */
static void add_varint(struct cairn_buffer *b, uint64_t value)
{
    if (b->cap - b->size <= VARINT_MAX && !cairn_buffer_reserve(b, VARINT_MAX))
        return;
    b->size = (size_t)(put_varint(b->data + b->size, value) - b->data);
}

/* Writes the block and empties the column. */
static int write_block(struct cairn_out *out, const char *id, struct cairn_buffer *column,
                       struct cairn_err *err)
{
    struct cairn_buffer packed = {0};
    int rc = column->failed
                 ? cairn_fail_memory(err)
                 : cairn_zip_deflate(cairn_buffer_span(column), DEFLATE_LEVEL, &packed, err);
    cairn_buffer_done(column);
    if (rc == CAIRN_OK) {
        cairn_buffer_printf(&out->text, "<script type=\"text/plain\" id=\"data-%s\">", id);
        cairn_out_base64(out, cairn_buffer_span(&packed));
        cairn_buffer_str(&out->text, "</script>\n");
    }
    cairn_buffer_done(&packed);
    return rc;
}

static int write_steps(const struct cairn_layout *layout, struct cairn_out *out,
                       struct cairn_err *err)
{
    struct cairn_buffer column = {0};
    for (size_t node = 1; node < layout->n; node++)
        add_varint(&column, layout->depths[node - 1] + 1 - layout->depths[node]);
    return write_block(out, "steps", &column, err);
}

static int write_looks(const struct cairn_layout *layout, struct cairn_out *out,
                       struct cairn_err *err)
{
    struct cairn_buffer column = {0};
    for (size_t node = 1; node < layout->n; node++)
        add_varint(&column, layout->looks[node]);
    return write_block(out, "looks", &column, err);
}

/* The largest number that divides all values of a type: those of a sampled clock are multiples of
 * its period, and small numbers are short ones. */
static int64_t find_scale(const struct cairn_layout *layout, size_t type)
{
    const int64_t *self = cairn_layout_self(layout, type);
    uint64_t scale = 0;
    for (size_t node = 0; node < layout->n && scale != 1; node++) {
        uint64_t value = self[node] < 0 ? -(uint64_t)self[node] : (uint64_t)self[node];
        while (value) {
            uint64_t rest = scale % value;
            scale = value;
            value = rest;
        }
    }
    return scale == 0 || scale > INT64_MAX ? 1 : (int64_t)scale;
}

static int write_self(const struct cairn_layout *layout, size_t type, int64_t scale,
                      struct cairn_out *out, struct cairn_err *err)
{
    const int64_t *self = cairn_layout_self(layout, type);
    struct cairn_buffer column = {0};
    for (size_t node = 0; node < layout->n; node++)
        add_varint(&column, self[node] ? zigzag(self[node] / scale) : 0);
    char id[32];
    snprintf(id, sizeof id, "self%zu", type);
    return write_block(out, id, &column, err);
}

static int write_frames(const struct cairn_looks *looks, struct cairn_out *out,
                        struct cairn_err *err)
{
    struct cairn_buffer column = {0};
    for (size_t i = 0; i < looks->n; i++) {
        const struct cairn_look *look = &looks->rows[i];
        const uint32_t fields[] = {look->name,      look->file, look->module, look->line_low,
                                   look->line_high, look->kind, look->shade,  look->found};
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
            add_varint(&column, fields[k]);
    }
    return write_block(out, "frames", &column, err);
}

static int write_texts(const struct cairn_looks *looks, struct cairn_out *out,
                       struct cairn_err *err)
{
    struct cairn_buffer column = {0};
    for (size_t i = 0; i < looks->texts.n; i++)
        cairn_buffer_add(&column, cairn_strings_get(&looks->texts, (uint32_t)i),
                         cairn_strings_size(&looks->texts, (uint32_t)i) + 1);
    return write_block(out, "texts", &column, err);
}

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

static void write_meta(const struct cairn_picture_view *view, const int64_t *scales,
                       struct cairn_out *out)
{
    const struct cairn_profile *p = view->profile;
    struct cairn_json j = {.out = &out->text, .compact = true};
    cairn_buffer_str(&out->text, "<script type=\"application/json\" id=\"data-meta\">");
    cairn_json_open(&j, NULL, '{');
    add_foreign(&j, "title", view->title);
    add_foreign(&j, "subtitle", view->subtitle);
    cairn_json_u64(&j, "nodes", view->layout->n);
    cairn_json_u64(&j, "frames", view->looks->n);
    cairn_json_u64(&j, "shown", view->value_type);
    cairn_json_open(&j, "types", '[');
    for (size_t type = 0; type < p->n_types; type++) {
        cairn_json_open(&j, NULL, '{');
        add_foreign(&j, "type", cairn_strings_get(&p->strings, p->types[type].type));
        add_foreign(&j, "unit", cairn_strings_get(&p->strings, p->types[type].unit));
        cairn_json_i64(&j, "scale", scales[type]);
        cairn_json_close(&j, '}');
    }
    cairn_json_close(&j, ']');
    cairn_json_open(&j, "kinds", '[');
    for (int kind = 0; kind < CAIRN_PALETTE_KINDS; kind++)
        cairn_json_str(&j, NULL, cairn_palette_kind_name((enum cairn_palette_kind)kind));
    cairn_json_close(&j, ']');
    cairn_json_open(&j, "palettes", '{');
    add_palette(&j, "light", false);
    add_palette(&j, "dark", true);
    cairn_json_close(&j, '}');
    cairn_json_close(&j, '}');
    cairn_buffer_str(&out->text, "</script>\n");
}

static void add_asset(struct cairn_out *out, const char *before, const struct cairn_asset *asset,
                      const char *after)
{
    cairn_buffer_str(&out->text, before);
    cairn_buffer_add(&out->text, asset->text.data, asset->text.size);
    cairn_buffer_str(&out->text, after);
}

static void write_head(const struct cairn_picture_view *view, struct cairn_out *out)
{
    struct cairn_buffer *b = &out->text;
    cairn_buffer_str(b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    cairn_buffer_printf(b,
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                        "'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action "
                        "'none'\">\n",
                        cairn_asset_page_script.hash, cairn_asset_page_style.hash);
    cairn_buffer_str(b, "<meta name=\"viewport\" content=\"width=device-width, "
                        "initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
                        "<title>");
    struct cairn_buffer safe = {0};
    cairn_escape_terminal(&safe, view->title, strlen(view->title));
    b->failed |= safe.failed;
    cairn_escape_markup(b, cairn_buffer_text(&safe), safe.size);
    cairn_buffer_done(&safe);
    add_asset(out, "</title>\n<style>", &cairn_asset_page_style, "</style>\n</head>\n<body>\n");
    add_asset(out, "", &cairn_asset_page_body, "");
}

int cairn_html_draw(const struct cairn_picture_view *view, struct cairn_out *out,
                    struct cairn_err *err)
{
    const struct cairn_layout *layout = view->layout;
    int64_t *scales = cairn_alloc(layout->n_types, sizeof *scales);
    if (!scales)
        return cairn_fail_memory(err);
    for (size_t type = 0; type < layout->n_types; type++)
        scales[type] = find_scale(layout, type);
    write_head(view, out);
    write_meta(view, scales, out);
    int rc = write_steps(layout, out, err);
    if (rc == CAIRN_OK)
        rc = write_looks(layout, out, err);
    for (size_t type = 0; type < layout->n_types && rc == CAIRN_OK; type++)
        rc = write_self(layout, type, scales[type], out, err);
    if (rc == CAIRN_OK)
        rc = write_frames(view->looks, out, err);
    if (rc == CAIRN_OK)
        rc = write_texts(view->looks, out, err);
    add_asset(out, "<script>", &cairn_asset_page_script, "</script>\n</body>\n</html>\n");
    cairn_free(scales);
    return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * One page with everything in it. What its script draws goes along as columns (picture/column.h),
 * each an element with the id "data-" and the name of the column. Numbers marked with ~ may be
 * negative and are zigzag.
 *
 *     script        what draws them, as text
 *     meta          JSON: titles, quality, value types, sizes, colours (picture/meta.c)
 *     texts         all texts but lines of source: a text is its number here, 0 is ""
 *
 *     Of each node but the root, in preorder:
 *     steps         levels to climb before going one down
 *     looks         its look
 *
 *     Of each look:
 *     look-name  look-short  look-file
 *     look-module  look-path  look-build       texts; look-short is 0 where it is the name
 *     look-low   look-high                     the lines that were sampled; 0: unknown
 *     look-defined                             the line of its definition; 0: unknown
 *     look-kind  look-shade
 *     look-found  look-flags                   picture/look.h
 *
 *     Where no sample has a label or a time, for each value type N, of each node:
 *     self-N ~      what ended there, in units of the type's scale
 *
 *     Else, of each row (picture/rows.h), in the order of nodes, then times, then sets:
 *     row-node      how much larger than the row before's
 *     row-set       its label set
 *     row-time ~    microseconds since the first sample plus 1, less those of the row before; a
 *                   row without a time has 0. Empty where no sample has one
 *     row-N ~       for each value type: what the row adds to its node, in units of the scale
 *
 *     In a comparison, the same of the older profile; its nodes and looks are in the tree too:
 *     old-self-N, or old-row-node and so on
 *
 *     Of each label set (number 0 is empty), then of the labels of all sets:
 *     set-size      how many labels
 *     label-key  label-text  label-number ~
 *     label-unit                               texts; label-text 0: the label is a number
 *
 *     Of each marker, in order of time:
 *     marker-time   microseconds since the first sample or marker, less those of the one before
 *     marker-took   nanoseconds; 0: no duration
 *     marker-name   text
 *     marker-set    its label set
 *     marker-node   where its stack ends; 0: unknown
 *
 *     Where there is source, of each line of it that is shown, by file, then line:
 *     source-file   text                         as that of a look
 *     source-line
 *     source-texts  the lines, a NUL behind each
 *
 *     Then also, of each sampled line of each look (picture/heat.h), ordered by look, then line:
 *     heat-look  heat-line
 *
 *     And the tree again, with such lines as nodes:
 *     heat-steps    as steps
 *     heat-looks    its line; if that is unknown, its look plus the number of lines
 *     heat-self-N ~, or heat-row-node and so on,
 *     old-heat-row-node ...                    as of the tree above
 *
 *     Of each number over time, whose names are in meta ("peak" and "mark" are points); they begin
 *     when times of samples do:
 *     line-time-N   milliseconds
 *     line-value-N ~
 *
 * Texts from a target stand in the page only as base64 or escaped as JSON; a
 * Content-Security-Policy lets nothing run but our own script, and nothing load at all.
 */
#include "picture/html.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "picture/assets.h"
#include "picture/column.h"
#include "picture/meta.h"
#include "picture/source.h"
#include "picture/values.h"

enum { NS_PER_MS = 1000 * 1000 };

enum look_field {
    LOOK_NAME,
    LOOK_SHORT,
    LOOK_FILE,
    LOOK_MODULE,
    LOOK_PATH,
    LOOK_BUILD,
    LOOK_LOW,
    LOOK_HIGH,
    LOOK_DEFINED,
    LOOK_KIND,
    LOOK_SHADE,
    LOOK_FOUND,
    LOOK_FLAGS,
    N_LOOK_FIELDS
};

static uint32_t field_of(const struct cairn_look *look, enum look_field field)
{
    uint32_t short_name = look->short_name == look->name ? 0 : look->short_name;
    const uint32_t fields[N_LOOK_FIELDS] = {
        look->name,  short_name,     look->file,      look->module,  look->path,
        look->build, look->line_low, look->line_high, look->defined, look->kind,
        look->shade, look->found,    look->flags};
    return fields[field];
}

static int write_looks(const struct cairn_looks *looks, struct cairn_out *out,
                       struct cairn_err *err)
{
    static const char *const ids[N_LOOK_FIELDS] = {
        "look-name",  "look-short", "look-file", "look-module",  "look-path",
        "look-build", "look-low",   "look-high", "look-defined", "look-kind",
        "look-shade", "look-found", "look-flags"};
    int rc = CAIRN_OK;
    for (int field = 0; field < N_LOOK_FIELDS && rc == CAIRN_OK; field++) {
        struct cairn_column column = {0};
        for (size_t i = 0; i < looks->n; i++)
            cairn_column_add(&column, field_of(&looks->rows[i], (enum look_field)field));
        rc = cairn_column_write(&column, out, ids[field], err);
    }
    return rc;
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
    cairn_buffer_printf(
        b,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
        "'none'; script-src '%s' '%s'; style-src '%s'; base-uri 'none'; form-action "
        "'none'\">\n",
        cairn_asset_page_boot.hash, cairn_asset_page_script.hash, cairn_asset_page_style.hash);
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

/* Numbers over time. */
static int write_lines(const struct cairn_picture_view *view, struct cairn_out *out,
                       struct cairn_err *err)
{
    int rc = CAIRN_OK;
    for (size_t i = 0; i < view->n_lines && rc == CAIRN_OK; i++) {
        const struct cairn_picture_line *line = &view->lines[i];
        struct cairn_column times = {0}, values = {0};
        char id[32];
        for (size_t k = 0; k < line->n; k++) {
            cairn_column_add(&times, line->points[k].time_ns / NS_PER_MS);
            cairn_column_add_signed(&values, line->points[k].value);
        }
        snprintf(id, sizeof id, "line-time-%zu", i);
        rc = cairn_column_write(&times, out, id, err);
        snprintf(id, sizeof id, "line-value-%zu", i);
        int second = cairn_column_write(&values, out, id, err);
        rc = rc < 0 ? rc : second;
    }
    return rc;
}

static int write_columns(const struct cairn_picture_view *view, struct cairn_page_facts *facts,
                         struct cairn_out *out, struct cairn_err *err)
{
    int rc = cairn_values_write_tree(view->layout, "", out, err);
    if (rc == CAIRN_OK)
        rc = write_looks(view->looks, out, err);
    if (rc == CAIRN_OK)
        rc = cairn_values_write(view, facts, out, err);
    if (rc == CAIRN_OK)
        rc = cairn_source_write(view, facts, out, err);
    if (rc == CAIRN_OK)
        rc = write_lines(view, out, err);
    if (rc == CAIRN_OK) /* last: others add to them */
        rc = cairn_column_write_texts(&view->looks->texts, out, "texts", err);
    return rc;
}

int cairn_html_draw(const struct cairn_picture_view *view, struct cairn_out *out,
                    struct cairn_err *err)
{
    size_t n_types = view->profile->n_types;
    struct cairn_page_facts facts = {.scales = cairn_alloc(n_types, sizeof *facts.scales)};
    if (!facts.scales)
        return cairn_fail_memory(err);
    write_head(view, out);
    int rc = write_columns(view, &facts, out, err);
    cairn_meta_write(view, &facts, out);
    add_asset(out, "<script type=\"text/plain\" id=\"data-script\">", &cairn_asset_page_script,
              "</script>\n");
    add_asset(out, "<script>", &cairn_asset_page_boot, "</script>\n</body>\n</html>\n");
    cairn_free(facts.scales);
    return rc;
}

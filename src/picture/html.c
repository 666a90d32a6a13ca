/* SPDX-License-Identifier: MIT */
/*
 * One page with everything in it. What its script draws goes along as columns (picture/column.h),
 * each an element with the id "data-" and the name of the column. Numbers marked with ~ may be
 * negative and are zigzag.
 *
 *     meta          JSON: titles, quality, value types, sizes, colours (picture/meta.c)
 *     texts         all texts but lines of source: a text is its number here, 0 is ""
 *
 *     Of each node but the root, in preorder:
 *     steps         levels to climb before going one down
 *     looks         its look
 *
 *     Of each look:
 *     look-name  look-short  look-file  look-module  look-path  look-build      texts
 *     look-low  look-high                      the lines that were sampled; 0: unknown
 *     look-kind  look-shade  look-found  look-flags                   picture/look.h
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
 *     Of each label set, number 0 is empty, and of the labels of all of them:
 *     set-size                                   how many labels
 *     label-key  label-text  label-number ~  label-unit      texts; text 0: it is a number
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
#include "picture/rows.h"

/* What is written, and the label sets that its rows name. */
struct page {
    const struct cairn_picture_view *view;
    struct cairn_row_sets sets;
    int64_t *scales; /* by value type */
};

static int write_steps(const struct cairn_layout *layout, struct cairn_out *out,
                       struct cairn_err *err)
{
    struct cairn_column column = {0};
    for (size_t node = 1; node < layout->n; node++)
        cairn_column_add(&column, layout->depths[node - 1] + 1 - layout->depths[node]);
    return cairn_column_write(&column, out, "steps", err);
}

static int write_tree(const struct cairn_layout *layout, struct cairn_out *out,
                      struct cairn_err *err)
{
    struct cairn_column column = {0};
    int rc = write_steps(layout, out, err);
    if (rc < 0)
        return rc;
    for (size_t node = 1; node < layout->n; node++)
        cairn_column_add(&column, layout->looks[node]);
    return cairn_column_write(&column, out, "looks", err);
}

enum look_field {
    LOOK_NAME,
    LOOK_SHORT,
    LOOK_FILE,
    LOOK_MODULE,
    LOOK_PATH,
    LOOK_BUILD,
    LOOK_LOW,
    LOOK_HIGH,
    LOOK_KIND,
    LOOK_SHADE,
    LOOK_FOUND,
    LOOK_FLAGS,
    N_LOOK_FIELDS
};

static uint32_t field_of(const struct cairn_look *look, enum look_field field)
{
    const uint32_t fields[N_LOOK_FIELDS] = {
        look->name,     look->short_name, look->file, look->module, look->path,  look->build,
        look->line_low, look->line_high,  look->kind, look->shade,  look->found, look->flags};
    return fields[field];
}

static int write_looks(const struct cairn_looks *looks, struct cairn_out *out,
                       struct cairn_err *err)
{
    static const char *const ids[N_LOOK_FIELDS] = {
        "look-name", "look-short", "look-file", "look-module", "look-path",  "look-build",
        "look-low",  "look-high",  "look-kind", "look-shade",  "look-found", "look-flags"};
    int rc = CAIRN_OK;
    for (int field = 0; field < N_LOOK_FIELDS && rc == CAIRN_OK; field++) {
        struct cairn_column column = {0};
        for (size_t i = 0; i < looks->n; i++)
            cairn_column_add(&column, field_of(&looks->rows[i], (enum look_field)field));
        rc = cairn_column_write(&column, out, ids[field], err);
    }
    return rc;
}

/* The largest number that divides all values of a type: those of a sampled clock are multiples of
 * its period, and small numbers are short ones. */
static int64_t find_scale(const struct cairn_profile *p, size_t type)
{
    uint64_t scale = 0;
    for (size_t i = 0; i < p->n_samples && scale != 1; i++) {
        int64_t signed_value = p->values[i * p->n_types + type];
        uint64_t value = signed_value < 0 ? -(uint64_t)signed_value : (uint64_t)signed_value;
        while (value) {
            uint64_t rest = scale % value;
            scale = value;
            value = rest;
        }
    }
    return scale == 0 || scale > INT64_MAX ? 1 : (int64_t)scale;
}

static int write_self(const struct page *page, size_t type, struct cairn_out *out,
                      struct cairn_err *err)
{
    const struct cairn_layout *layout = page->view->layout;
    const int64_t *self = cairn_layout_self(layout, type);
    struct cairn_column column = {0};
    for (size_t node = 0; node < layout->n; node++)
        cairn_column_add_signed(&column, self[node] ? self[node] / page->scales[type] : 0);
    char id[32];
    snprintf(id, sizeof id, "self-%zu", type);
    return cairn_column_write(&column, out, id, err);
}

static int write_row_places(const struct page *page, const struct cairn_rows *rows,
                            struct cairn_out *out, struct cairn_err *err)
{
    struct cairn_column nodes = {0}, sets = {0}, times = {0};
    uint32_t node = 0;
    int64_t time = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct cairn_row *row = &rows->rows[i];
        cairn_column_add(&nodes, row->node - node);
        cairn_column_add(&sets, row->set);
        if (page->sets.has_times)
            cairn_column_add_signed(&times, row->time_us + 1 - time);
        node = row->node;
        time = row->time_us + 1;
    }
    int rc = cairn_column_write(&nodes, out, "row-node", err);
    int second = cairn_column_write(&sets, out, "row-set", err);
    int third = cairn_column_write(&times, out, "row-time", err);
    return rc < 0 ? rc : second < 0 ? second : third;
}

static int write_rows(const struct page *page, struct cairn_out *out, struct cairn_err *err,
                      int64_t *ret_first_ns)
{
    const struct cairn_picture_view *view = page->view;
    struct cairn_rows rows = {0};
    int rc = cairn_rows_build(view->profile, view->layout, &page->sets, 0, view->profile->n_samples,
                              &rows, err);
    if (rc == CAIRN_OK)
        rc = write_row_places(page, &rows, out, err);
    for (size_t type = 0; type < rows.n_types && rc == CAIRN_OK; type++) {
        struct cairn_column column = {0};
        for (size_t i = 0; i < rows.n; i++)
            cairn_column_add_signed(&column,
                                    rows.values[i * rows.n_types + type] / page->scales[type]);
        char id[32];
        snprintf(id, sizeof id, "row-%zu", type);
        rc = cairn_column_write(&column, out, id, err);
    }
    *ret_first_ns = rows.first_ns;
    cairn_rows_done(&rows);
    return rc;
}

/* A number of one of the profile's texts among those of the page; UINT32_MAX: no memory. */
static uint32_t add_text(struct cairn_looks *looks, const struct cairn_profile *p, uint32_t string,
                         struct cairn_buffer *scratch)
{
    return cairn_looks_add_text(&looks->texts, scratch, cairn_strings_get(&p->strings, string),
                                cairn_strings_size(&p->strings, string));
}

struct label_columns {
    struct cairn_column sizes, keys, texts, numbers, units;
    struct cairn_buffer scratch;
    bool failed;
};

static void add_label(struct label_columns *c, const struct page *page,
                      const struct cairn_profile_label *label)
{
    const struct cairn_profile *p = page->view->profile;
    struct cairn_looks *looks = page->view->looks;
    uint32_t key = add_text(looks, p, label->key, &c->scratch);
    uint32_t text = label->text ? add_text(looks, p, label->text, &c->scratch) : 0;
    uint32_t unit = add_text(looks, p, label->unit, &c->scratch);
    c->failed |= key == UINT32_MAX || text == UINT32_MAX || unit == UINT32_MAX;
    cairn_column_add(&c->keys, key);
    cairn_column_add(&c->texts, text);
    cairn_column_add_signed(&c->numbers, label->number);
    cairn_column_add(&c->units, unit);
}

static void add_set(struct label_columns *c, const struct page *page, uint32_t set)
{
    const struct cairn_profile *p = page->view->profile;
    const struct cairn_profile_label_set *labels = &p->label_sets[set];
    size_t before = c->keys.n;
    for (uint32_t i = 0; i < labels->n; i++) {
        const struct cairn_profile_label *label = &p->labels[labels->first + i];
        if (!cairn_row_label_is_time(p, label))
            add_label(c, page, label);
    }
    cairn_column_add(&c->sizes, c->keys.n - before);
}

static int write_sets(const struct page *page, struct cairn_out *out, struct cairn_err *err)
{
    struct label_columns c = {0};
    for (size_t set = 0; set < page->sets.n; set++)
        add_set(&c, page, page->sets.examples[set]);
    struct {
        struct cairn_column *column;
        const char *id;
    } columns[] = {{&c.sizes, "set-size"},
                   {&c.keys, "label-key"},
                   {&c.texts, "label-text"},
                   {&c.numbers, "label-number"},
                   {&c.units, "label-unit"}};
    int rc = c.failed ? cairn_fail_memory(err) : CAIRN_OK;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (rc == CAIRN_OK)
            rc = cairn_column_write(columns[i].column, out, columns[i].id, err);
        cairn_column_done(columns[i].column);
    }
    cairn_buffer_done(&c.scratch);
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

/* Where no sample has a label or a time, rows would say no more than sums. */
static bool wants_rows(const struct cairn_profile *p, const struct cairn_row_sets *sets)
{
    bool wanted = sets->has_times;
    for (size_t i = 0; i < p->n_samples && !wanted; i++)
        wanted = sets->of_profile[p->samples[i].labels] != 0;
    return wanted;
}

static int write_values(const struct page *page, struct cairn_page_facts *facts,
                        struct cairn_out *out, struct cairn_err *err)
{
    int rc = CAIRN_OK;
    if (facts->has_rows)
        return write_rows(page, out, err, &facts->first_ns);
    for (size_t type = 0; type < page->view->profile->n_types && rc == CAIRN_OK; type++)
        rc = write_self(page, type, out, err);
    return rc;
}

static int write_columns(struct page *page, struct cairn_page_facts *facts, struct cairn_out *out,
                         struct cairn_err *err)
{
    struct cairn_looks *looks = page->view->looks;
    int rc = write_tree(page->view->layout, out, err);
    if (rc == CAIRN_OK)
        rc = write_looks(looks, out, err);
    if (rc == CAIRN_OK)
        rc = write_values(page, facts, out, err);
    if (rc == CAIRN_OK)
        rc = write_sets(page, out, err);
    if (rc == CAIRN_OK) /* last: others add to them */
        rc = cairn_column_write_texts(&looks->texts, out, "texts", err);
    return rc;
}

int cairn_html_draw(const struct cairn_picture_view *view, struct cairn_out *out,
                    struct cairn_err *err)
{
    const struct cairn_profile *p = view->profile;
    struct page page = {.view = view, .scales = cairn_alloc(p->n_types, sizeof *page.scales)};
    if (!page.scales)
        return cairn_fail_memory(err);
    for (size_t type = 0; type < p->n_types; type++)
        page.scales[type] = find_scale(p, type);
    int rc = cairn_row_sets_build(p, &page.sets, err);
    if (rc == CAIRN_OK) {
        struct cairn_page_facts facts = {.scales = page.scales,
                                         .has_rows = wants_rows(p, &page.sets)};
        write_head(view, out);
        rc = write_columns(&page, &facts, out, err);
        cairn_meta_write(view, &facts, out);
        add_asset(out, "<script>", &cairn_asset_page_script, "</script>\n</body>\n</html>\n");
    }
    cairn_row_sets_done(&page.sets);
    cairn_free(page.scales);
    return rc;
}

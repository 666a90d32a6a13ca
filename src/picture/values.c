/* SPDX-License-Identifier: MIT */
#include "picture/values.h"

#include <stdio.h>

#include "base/error.h"
#include "picture/column.h"
#include "picture/markers.h"

enum { ID_MAX = 48 };

static const char *const prefixes[CAIRN_SIDES] = {"", "old-"};

/* What is written, and the label sets that its rows name. */
struct page {
    const struct cairn_picture_view *view;
    const struct cairn_layout *layout;
    const char *prefix; /* of its columns */
    struct cairn_row_sets sets;
    const int64_t *scales;   /* by value type */
    int64_t first_marker_ns; /* 0: no markers */
    int64_t first_ns;        /* times count from it, if no sample is earlier; 0: from a sample */
};

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

static int write_steps(const struct cairn_layout *layout, const char *id, struct cairn_out *out,
                       struct cairn_err *err)
{
    struct cairn_column column = {0};
    for (size_t node = 1; node < layout->n; node++)
        cairn_column_add(&column, layout->depths[node - 1] + 1 - layout->depths[node]);
    return cairn_column_write(&column, out, id, err);
}

int cairn_values_write_tree(const struct cairn_layout *layout, const char *prefix,
                            struct cairn_out *out, struct cairn_err *err)
{
    struct cairn_column column = {0};
    char id[ID_MAX];
    snprintf(id, sizeof id, "%ssteps", prefix);
    int rc = write_steps(layout, id, out, err);
    for (size_t node = 1; node < layout->n && rc == CAIRN_OK; node++)
        cairn_column_add(&column, layout->looks[node]);
    snprintf(id, sizeof id, "%slooks", prefix);
    int second = cairn_column_write(&column, out, id, err);
    return rc < 0 ? rc : second;
}

static int write_self(const struct page *page, enum cairn_side side, size_t type,
                      struct cairn_out *out, struct cairn_err *err)
{
    const struct cairn_layout *layout = page->layout;
    const int64_t *self = cairn_layout_self(layout, side, type);
    struct cairn_column column = {0};
    for (size_t node = 0; node < layout->n; node++)
        cairn_column_add_signed(&column, self[node] ? self[node] / page->scales[type] : 0);
    char id[ID_MAX];
    snprintf(id, sizeof id, "%s%sself-%zu", prefixes[side], page->prefix, type);
    return cairn_column_write(&column, out, id, err);
}

static int write_of_side(const struct page *page, struct cairn_column *column, enum cairn_side side,
                         const char *name, struct cairn_out *out, struct cairn_err *err)
{
    char id[ID_MAX];
    snprintf(id, sizeof id, "%s%s%s", prefixes[side], page->prefix, name);
    return cairn_column_write(column, out, id, err);
}

static int write_row_places(const struct page *page, enum cairn_side side,
                            const struct cairn_rows *rows, struct cairn_out *out,
                            struct cairn_err *err)
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
    int rc = write_of_side(page, &nodes, side, "row-node", out, err);
    int second = write_of_side(page, &sets, side, "row-set", out, err);
    int third = write_of_side(page, &times, side, "row-time", out, err);
    return rc < 0 ? rc : second < 0 ? second : third;
}

static int write_row_values(const struct page *page, enum cairn_side side, size_t type,
                            const struct cairn_rows *rows, struct cairn_out *out,
                            struct cairn_err *err)
{
    struct cairn_column column = {0};
    for (size_t i = 0; i < rows->n; i++)
        cairn_column_add_signed(&column,
                                rows->values[i * rows->n_types + type] / page->scales[type]);
    char id[ID_MAX];
    snprintf(id, sizeof id, "%s%srow-%zu", prefixes[side], page->prefix, type);
    return cairn_column_write(&column, out, id, err);
}

static int write_rows(const struct page *page, enum cairn_side side, struct cairn_out *out,
                      struct cairn_err *err, int64_t *ret_first_ns)
{
    const struct cairn_picture_view *view = page->view;
    size_t n = view->profile->n_samples, n_new = view->n_new < n ? view->n_new : n;
    struct cairn_rows rows = {0};
    int rc = cairn_rows_build(view->profile, page->layout, &page->sets,
                              side == CAIRN_SIDE_NEW ? 0 : n_new,
                              side == CAIRN_SIDE_NEW ? n_new : n, page->first_ns, &rows, err);
    if (rc == CAIRN_OK)
        rc = write_row_places(page, side, &rows, out, err);
    for (size_t type = 0; type < rows.n_types && rc == CAIRN_OK; type++)
        rc = write_row_values(page, side, type, &rows, out, err);
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

static void add_row(struct label_columns *c, uint32_t key, uint32_t text, int64_t number,
                    uint32_t unit)
{
    c->failed |= key == UINT32_MAX || text == UINT32_MAX || unit == UINT32_MAX;
    cairn_column_add(&c->keys, key);
    cairn_column_add(&c->texts, text);
    cairn_column_add_signed(&c->numbers, number);
    cairn_column_add(&c->units, unit);
}

static void add_label(struct label_columns *c, const struct page *page,
                      const struct cairn_profile_label *label)
{
    const struct cairn_profile *p = page->view->profile;
    struct cairn_looks *looks = page->view->looks;
    uint32_t key = add_text(looks, p, label->key, &c->scratch);
    uint32_t text = label->text ? add_text(looks, p, label->text, &c->scratch) : 0;
    add_row(c, key, text, label->number, add_text(looks, p, label->unit, &c->scratch));
}

/* The page shows it, and counts by it, as it does by labels. */
static void add_cut(struct label_columns *c, const struct page *page, uint32_t cut)
{
    static const char name[] = CAIRN_PROFILE_CUT_LABEL;
    struct cairn_looks *looks = page->view->looks;
    uint32_t key = cairn_looks_add_text(&looks->texts, &c->scratch, name, sizeof name - 1);
    uint32_t text = add_text(looks, page->view->profile, cut, &c->scratch);
    uint32_t unit = cairn_looks_add_text(&looks->texts, &c->scratch, "", 0);
    add_row(c, key, text, 0, unit);
}

static void add_set(struct label_columns *c, const struct page *page, uint32_t set)
{
    const struct cairn_profile *p = page->view->profile;
    const struct cairn_profile_label_set *labels = &p->label_sets[set];
    size_t before = c->keys.n;
    for (uint32_t i = 0; i < labels->n; i++)
        add_label(c, page, &p->labels[labels->first + i]);
    if (labels->cut)
        add_cut(c, page, labels->cut);
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

/* Where no sample has a label or a time, and there is no timeline, rows would say no more than
 * sums. */
static bool wants_rows(const struct cairn_profile *p, const struct cairn_row_sets *sets)
{
    bool wanted = sets->has_times || p->n_markers;
    for (size_t i = 0; i < p->n_samples && !wanted; i++)
        wanted = sets->of_profile[p->samples[i].labels] != 0;
    return wanted;
}

static int write_side(const struct page *page, enum cairn_side side, struct cairn_page_facts *facts,
                      struct cairn_out *out, struct cairn_err *err)
{
    int rc = CAIRN_OK;
    if (facts->has_rows)
        return write_rows(page, side, out, err, &facts->first_ns[side]);
    for (size_t type = 0; type < page->view->profile->n_types && rc == CAIRN_OK; type++)
        rc = write_self(page, side, type, out, err);
    return rc;
}

static int write_sides(const struct page *page, struct cairn_page_facts *facts,
                       struct cairn_out *out, struct cairn_err *err)
{
    int rc = CAIRN_OK;
    for (size_t side = 0; side < page->layout->n_sides && rc == CAIRN_OK; side++)
        rc = write_side(page, (enum cairn_side)side, facts, out, err);
    return rc;
}

/* What happened in one of two profiles that are compared is not shown. */
static struct page page_of(const struct cairn_picture_view *view, const struct cairn_layout *layout,
                           const char *prefix, const struct cairn_page_facts *facts)
{
    bool is_one = layout->n_sides == 1;
    int64_t marker_ns = is_one ? cairn_markers_first_ns(view->profile) : 0;
    int64_t line_ns = is_one && view->n_lines ? view->lines_start_ns : 0;
    return (struct page){
        .view = view,
        .layout = layout,
        .prefix = prefix,
        .scales = facts->scales,
        .first_marker_ns = marker_ns,
        .first_ns = line_ns > 0 && (!marker_ns || line_ns < marker_ns) ? line_ns : marker_ns};
}

int cairn_values_write(const struct cairn_picture_view *view, struct cairn_page_facts *facts,
                       struct cairn_out *out, struct cairn_err *err)
{
    struct page page = page_of(view, view->layout, "", facts);
    for (size_t type = 0; type < view->profile->n_types; type++)
        facts->scales[type] = find_scale(view->profile, type);
    int rc = cairn_row_sets_build(view->profile, &page.sets, err);
    if (rc < 0)
        return rc;
    facts->has_rows = wants_rows(view->profile, &page.sets);
    rc = write_sides(&page, facts, out, err);
    if (rc == CAIRN_OK && page.first_marker_ns)
        rc = cairn_markers_write(view, &page.sets, facts->first_ns[CAIRN_SIDE_NEW], out, err);
    if (rc == CAIRN_OK)
        rc = write_sets(&page, out, err);
    cairn_row_sets_done(&page.sets);
    return rc;
}

int cairn_values_write_again(const struct cairn_picture_view *view,
                             const struct cairn_layout *layout, const char *prefix,
                             struct cairn_page_facts *facts, struct cairn_out *out,
                             struct cairn_err *err)
{
    struct page page = page_of(view, layout, prefix, facts);
    int rc = cairn_row_sets_build(view->profile, &page.sets, err);
    if (rc == CAIRN_OK)
        rc = write_sides(&page, facts, out, err);
    cairn_row_sets_done(&page.sets);
    return rc;
}

/* SPDX-License-Identifier: MIT */
/* Markers: events of a thread one by one, with the schema by which the viewer shows them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "formats/firefox.h"

enum { FIELDS_MAX = 200, KEY_BYTES = 24, TEXT_BYTES = 400, PHASE_INSTANT = 0, PHASE_INTERVAL = 1 };

/* Labels that say whose a marker is, and no details. */
static bool is_detail(const char *key)
{
    static const char *const whose[] = {"pid", "tid", "process", "thread"};
    for (size_t i = 0; i < sizeof whose / sizeof *whose; i++)
        if (strcmp(key, whose[i]) == 0)
            return false;
    return true;
}

static const char *text_of(const struct cairn_firefox *f, uint32_t string)
{
    return cairn_strings_get(&f->p->strings, string);
}

static int compare(const void *a, const void *b)
{
    const struct cairn_firefox_moment *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->marker < y->marker ? -1 : x->marker > y->marker;
}

/* The number of the field that a key is; false: it is none. */
static bool find_field(const struct cairn_firefox *f, uint32_t key, size_t *ret_at)
{
    for (*ret_at = 0; *ret_at < f->n_fields; ++*ret_at)
        if (f->fields[*ret_at] == key)
            return true;
    return false;
}

/* Details become fields, as long as there are not too many. False: memory is gone. */
static bool take_fields(struct cairn_firefox *f, uint32_t set)
{
    const struct cairn_profile_label_set *labels = &f->p->label_sets[set];
    size_t at;
    for (uint32_t i = 0; i < labels->n; i++) {
        uint32_t key = f->p->labels[labels->first + i].key;
        if (find_field(f, key, &at) || f->n_fields == FIELDS_MAX || !is_detail(text_of(f, key)))
            continue;
        size_t cap = f->n_fields;
        if (cairn_grow((void **)&f->fields, &cap, f->n_fields + 1, sizeof *f->fields) < 0)
            return false;
        f->fields[f->n_fields++] = key;
    }
    return true;
}

bool cairn_firefox_take_markers(struct cairn_firefox *f)
{
    const struct cairn_profile *p = f->p;
    f->moments = cairn_alloc(p->n_markers + 1, sizeof *f->moments);
    bool ok = f->moments != NULL;
    for (size_t i = 0; i < p->n_markers && ok; i++) {
        const struct cairn_profile_label_set *set = &p->label_sets[p->markers[i].labels];
        if (!set->time_ns)
            continue;
        f->moments[f->n_moments++] = (struct cairn_firefox_moment){
            .track = f->tracks.of_markers[i],
            .marker = (uint32_t)i,
            .name = cairn_strings_add_str(&f->viewer.texts, text_of(f, p->markers[i].name)),
            .time_ns = set->time_ns};
        ok = f->moments[f->n_moments - 1].name != UINT32_MAX &&
             take_fields(f, p->markers[i].labels) &&
             cairn_viewer_stack(&f->viewer, p->markers[i].stack,
                                cairn_profile_cut_short(p, p->markers[i].labels)) !=
                 CAIRN_VIEWER_NONE;
    }
    if (ok && f->n_moments)
        qsort(f->moments, f->n_moments, sizeof *f->moments, compare);
    return ok;
}

static void put_field(struct cairn_json *j, const char *key, const char *label)
{
    cairn_json_open(j, NULL, '{');
    cairn_json_str(j, "key", key);
    cairn_json_str(j, "label", label);
    cairn_json_str(j, "format", "string");
    cairn_json_close(j, '}');
}

/* The keys of fields are numbers: labels may be called as the viewer's own keys are. */
static void make_key(size_t field, char ret_key[KEY_BYTES])
{
    snprintf(ret_key, KEY_BYTES, "f%zu", field);
}

static const char *label_of(const struct cairn_firefox *f, size_t field)
{
    static const char arg[] = "arg.";
    const char *key = text_of(f, f->fields[field]);
    return strncmp(key, arg, sizeof arg - 1) == 0 ? key + sizeof arg - 1 : key;
}

void cairn_firefox_put_schema(struct cairn_firefox *f)
{
    struct cairn_json *j = &f->stream.json;
    char key[KEY_BYTES];
    cairn_json_open(j, "markerSchema", '[');
    if (f->n_moments) {
        cairn_json_open(j, NULL, '{');
        cairn_json_str(j, "name", "cairn");
        cairn_json_str(j, "tooltipLabel", "{marker.name}");
        cairn_json_str(j, "tableLabel", "{marker.data.all}");
        cairn_json_str(j, "chartLabel", "{marker.name}");
        cairn_json_open(j, "display", '[');
        cairn_json_str(j, NULL, "marker-chart");
        cairn_json_str(j, NULL, "marker-table");
        cairn_json_close(j, ']');
        cairn_json_open(j, "fields", '[');
        for (size_t i = 0; i < f->n_fields; i++) {
            make_key(i, key);
            put_field(j, key, label_of(f, i));
        }
        cairn_json_close(j, ']');
        cairn_json_close(j, '}');
    }
    cairn_json_close(j, ']');
}

static const struct cairn_profile_marker *marker_of(const struct cairn_firefox *f, size_t row)
{
    return &f->p->markers[f->moments[f->first_moment + row].marker];
}

static void put_value(const struct cairn_firefox *f, const struct cairn_profile_label *label,
                      struct cairn_buffer *out)
{
    if (label->text)
        cairn_buffer_str(out, text_of(f, label->text));
    else
        cairn_buffer_printf(out, "%lld", (long long)label->number);
}

/* The details as fields, and all of them as one text for tables. */
static void put_details(struct cairn_firefox *f, const struct cairn_profile_label_set *set)
{
    struct cairn_json *j = &f->stream.json;
    struct cairn_buffer value = {0}, all = {0};
    char key[KEY_BYTES];
    size_t field;
    for (uint32_t i = 0; i < set->n; i++) {
        const struct cairn_profile_label *label = &f->p->labels[set->first + i];
        if (!find_field(f, label->key, &field))
            continue;
        cairn_buffer_clear(&value);
        put_value(f, label, &value);
        make_key(field, key);
        cairn_json_str(j, key, cairn_buffer_text(&value));
        if (all.size < TEXT_BYTES)
            cairn_buffer_printf(&all, "%s%s=%.*s", all.size ? ", " : "", label_of(f, field),
                                TEXT_BYTES, cairn_buffer_text(&value));
    }
    cairn_json_str(j, "all", cairn_buffer_text(&all));
    f->stream.out.failed |= value.failed || all.failed;
    cairn_buffer_done(&value);
    cairn_buffer_done(&all);
}

static int64_t since_ns(const struct cairn_firefox *f, size_t row)
{
    return f->moments[f->first_moment + row].time_ns - f->tracks.first_ns;
}

static void put_data(struct cairn_firefox *f, size_t n)
{
    enum { US_PLACES = 3, NS_PER_US = 1000 };
    struct cairn_json *j = &f->stream.json;
    cairn_json_open(j, "data", '[');
    for (size_t row = 0; row < n; row++) {
        const struct cairn_profile_marker *marker = marker_of(f, row);
        const struct cairn_profile_label_set *set = &f->p->label_sets[marker->labels];
        cairn_json_open(j, NULL, '{');
        cairn_json_str(j, "type", "cairn");
        put_details(f, set);
        if (marker->stack) {
            cairn_json_open(j, "cause", '{');
            cairn_json_fixed(j, "time", since_ns(f, row) / NS_PER_US, US_PLACES);
            cairn_json_u64(j, "stack",
                           cairn_viewer_find(&f->viewer, marker->stack,
                                             cairn_profile_cut_short(f->p, marker->labels)));
            cairn_json_close(j, '}');
        }
        cairn_json_close(j, '}');
        cairn_json_stream_pass(&f->stream);
    }
    cairn_json_close(j, ']');
}

static int64_t marker_name(const struct cairn_firefox *f, size_t row)
{
    return f->moments[f->first_moment + row].name;
}

static int64_t marker_end(const struct cairn_firefox *f, size_t row)
{
    int64_t took = marker_of(f, row)->duration_ns;
    return took ? cairn_profile_add_clamped(since_ns(f, row), took) : CAIRN_FIREFOX_NULL;
}

static int64_t marker_phase(const struct cairn_firefox *f, size_t row)
{
    return marker_of(f, row)->duration_ns ? PHASE_INTERVAL : PHASE_INSTANT;
}

/* That of the innermost frame. */
static int64_t marker_category(const struct cairn_firefox *f, size_t row)
{
    const struct cairn_profile_marker *marker = marker_of(f, row);
    uint32_t stack =
        cairn_viewer_find(&f->viewer, marker->stack, cairn_profile_cut_short(f->p, marker->labels));
    return f->viewer.frames[f->viewer.stacks[stack].frame].category;
}

void cairn_firefox_put_markers(struct cairn_firefox *f, size_t track)
{
    enum { NS_PLACES = 6 };
    static const struct cairn_firefox_column columns[] = {
        {.name = "name", .cell = marker_name},
        {.name = "startTime", .cell = since_ns, .places = NS_PLACES},
        {.name = "endTime", .cell = marker_end, .places = NS_PLACES, .may_be_null = true},
        {.name = "phase", .cell = marker_phase},
        {.name = "category", .cell = marker_category},
    };
    struct cairn_json *j = &f->stream.json;
    size_t n = 0;
    while (f->first_moment < f->n_moments && f->moments[f->first_moment].track < track)
        f->first_moment++;
    while (f->type == f->shown && f->first_moment + n < f->n_moments &&
           f->moments[f->first_moment + n].track == track)
        n++;
    cairn_json_open(j, "markers", '{');
    put_data(f, n);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        cairn_firefox_column(f, &columns[i], n);
    cairn_json_u64(j, "length", n);
    cairn_json_close(j, '}');
}

/* SPDX-License-Identifier: MIT */
#include "picture/markers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "picture/column.h"

enum { NS_PER_US = 1000 };

struct moment {
    int64_t time_ns;
    uint32_t marker;
};

static int64_t time_of(const struct cairn_profile *p, size_t marker)
{
    return p->label_sets[p->markers[marker].labels].time_ns;
}

int64_t cairn_markers_first_ns(const struct cairn_profile *p)
{
    int64_t first = 0;
    for (size_t i = 0; i < p->n_markers; i++) {
        int64_t time = time_of(p, i);
        first = time && (!first || time < first) ? time : first;
    }
    return first;
}

static int compare(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->marker < y->marker ? -1 : x->marker > y->marker;
}

/* Those with a time, the first first. NULL: memory is gone. */
static struct moment *find_moments(const struct cairn_profile *p, size_t *ret_n)
{
    struct moment *moments = cairn_alloc(p->n_markers + 1, sizeof *moments);
    size_t n = 0;
    for (size_t i = 0; moments && i < p->n_markers; i++)
        if (time_of(p, i))
            moments[n++] = (struct moment){time_of(p, i), (uint32_t)i};
    if (n)
        qsort(moments, n, sizeof *moments, compare);
    *ret_n = n;
    return moments;
}

struct columns {
    struct cairn_column times, took, names, sets, nodes;
};

static bool add(struct columns *c, const struct cairn_picture_view *view,
                const struct cairn_row_sets *sets, const struct moment *moment, int64_t since_us)
{
    const struct cairn_profile *p = view->profile;
    const struct cairn_profile_marker *marker = &p->markers[moment->marker];
    struct cairn_buffer scratch = {0};
    uint32_t name = cairn_looks_add_text(&view->looks->texts, &scratch,
                                         cairn_strings_get(&p->strings, marker->name),
                                         cairn_strings_size(&p->strings, marker->name));
    cairn_buffer_done(&scratch);
    cairn_column_add(&c->times, (uint64_t)since_us);
    cairn_column_add(&c->took, marker->duration_ns > 0 ? (uint64_t)marker->duration_ns : 0);
    cairn_column_add(&c->names, name);
    cairn_column_add(&c->sets, sets->of_profile[marker->labels]);
    cairn_column_add(&c->nodes, view->layout->nodes[marker->stack]);
    return name != UINT32_MAX;
}

static int write_all(struct columns *c, struct cairn_out *out, struct cairn_err *err)
{
    struct {
        struct cairn_column *column;
        const char *id;
    } columns[] = {{&c->times, "marker-time"},
                   {&c->took, "marker-took"},
                   {&c->names, "marker-name"},
                   {&c->sets, "marker-set"},
                   {&c->nodes, "marker-node"}};
    int rc = CAIRN_OK;
    for (size_t i = 0; i < sizeof columns / sizeof *columns && rc == CAIRN_OK; i++)
        rc = cairn_column_write(columns[i].column, out, columns[i].id, err);
    return rc;
}

static void done(struct columns *c)
{
    cairn_column_done(&c->times);
    cairn_column_done(&c->took);
    cairn_column_done(&c->names);
    cairn_column_done(&c->sets);
    cairn_column_done(&c->nodes);
}

int cairn_markers_write(const struct cairn_picture_view *view, const struct cairn_row_sets *sets,
                        int64_t first_ns, struct cairn_out *out, struct cairn_err *err)
{
    struct columns c = {0};
    size_t n;
    struct moment *moments = find_moments(view->profile, &n);
    bool ok = moments != NULL;
    int64_t last_us = 0;
    for (size_t i = 0; i < n && ok; i++) {
        int64_t us = (moments[i].time_ns - first_ns) / NS_PER_US;
        ok = add(&c, view, sets, &moments[i], us - last_us);
        last_us = us;
    }
    int rc = !ok ? cairn_fail_memory(err) : n ? write_all(&c, out, err) : CAIRN_OK;
    done(&c);
    cairn_free(moments);
    return rc;
}

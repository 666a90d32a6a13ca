/* SPDX-License-Identifier: MIT */
#include "picture/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"

enum { NS_PER_US = 1000 };

static bool same_but_time(const struct cairn_profile *p, uint32_t a, uint32_t b)
{
    const struct cairn_profile_label_set *x = &p->label_sets[a], *y = &p->label_sets[b];
    bool same = x->n == y->n && x->cut == y->cut;
    for (uint32_t i = 0; i < x->n && same; i++) {
        const struct cairn_profile_label *left = &p->labels[x->first + i],
                                         *right = &p->labels[y->first + i];
        same = left->key == right->key && left->text == right->text &&
               left->number == right->number && left->unit == right->unit;
    }
    return same;
}

static uint64_t hash_but_time(const struct cairn_profile *p, uint32_t set)
{
    const struct cairn_profile_label_set *labels = &p->label_sets[set];
    uint64_t hash = labels->cut;
    for (uint32_t i = 0; i < labels->n; i++) {
        const struct cairn_profile_label *label = &p->labels[labels->first + i];
        hash = cairn_hash_u64(hash + ((uint64_t)label->key << 32 | label->text));
        hash = cairn_hash_u64(hash + (uint64_t)label->number);
        hash = cairn_hash_u64(hash + label->unit);
    }
    return hash;
}

static int add_set(const struct cairn_profile *p, struct cairn_row_sets *sets,
                   struct cairn_table *known, uint32_t set)
{
    uint64_t key = hash_but_time(p, set);
    for (uint32_t number; cairn_table_find(known, key, &number); key++)
        if (same_but_time(p, set, sets->examples[number])) {
            sets->of_profile[set] = number;
            return CAIRN_OK;
        }
    if (cairn_grow((void **)&sets->examples, &sets->cap, sets->n + 1, sizeof *sets->examples) < 0 ||
        cairn_table_set(known, key, (uint32_t)sets->n) < 0)
        return CAIRN_E_NOMEM;
    sets->examples[sets->n] = set;
    sets->of_profile[set] = (uint32_t)sets->n++;
    return CAIRN_OK;
}

/* Set 0 of a profile is the empty one, and so comes to be ours. */
int cairn_row_sets_build(const struct cairn_profile *profile, struct cairn_row_sets *ret_sets,
                         struct cairn_err *err)
{
    size_t n = profile->n_label_sets;
    struct cairn_row_sets sets = {.of_profile = cairn_alloc(n, sizeof *sets.of_profile)};
    struct cairn_table known = {0};
    int rc = sets.of_profile ? CAIRN_OK : CAIRN_E_NOMEM;
    for (uint32_t set = 0; set < n && rc == CAIRN_OK; set++)
        rc = add_set(profile, &sets, &known, set);
    for (size_t i = 0; i < profile->n_samples && rc == CAIRN_OK && !sets.has_times; i++)
        sets.has_times = cairn_profile_time_of(profile, i) != 0;
    cairn_table_done(&known);
    if (rc < 0) {
        cairn_row_sets_done(&sets);
        return cairn_fail_memory(err);
    }
    *ret_sets = sets;
    return CAIRN_OK;
}

void cairn_row_sets_done(struct cairn_row_sets *sets)
{
    cairn_free(sets->of_profile);
    cairn_free(sets->examples);
    *sets = (struct cairn_row_sets){0};
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_place(const struct cairn_row *x, const struct cairn_row *y)
{
    int order = compare_u64(x->node, y->node);
    if (order == 0 && x->time_us != y->time_us)
        order = x->time_us < y->time_us ? -1 : 1;
    return order ? order : compare_u64(x->set, y->set);
}

static int compare_rows(const void *a, const void *b)
{
    const struct cairn_row *x = a, *y = b;
    int order = compare_place(x, y);
    return order ? order : compare_u64(x->sample, y->sample);
}

static int64_t find_first(const struct cairn_profile *p, size_t first, size_t end)
{
    int64_t least = 0;
    for (size_t i = first; i < end; i++) {
        int64_t time = cairn_profile_time_of(p, i);
        if (time && (least == 0 || time < least))
            least = time;
    }
    return least;
}

/* One row a sample, in order. */
static void fill(const struct cairn_profile *p, const struct cairn_layout *layout,
                 const struct cairn_row_sets *sets, size_t first, struct cairn_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct cairn_profile_sample *sample = &p->samples[first + i];
        int64_t time = cairn_profile_time_of(p, first + i);
        rows->rows[i] = (struct cairn_row){.node = layout->nodes[sample->stack],
                                           .set = sets->of_profile[sample->labels],
                                           .time_us = time ? (time - rows->first_ns) / NS_PER_US
                                                           : CAIRN_ROW_NO_TIME,
                                           .sample = (uint32_t)(first + i)};
    }
    qsort(rows->rows, rows->n, sizeof *rows->rows, compare_rows);
}

static void sum_equal(const struct cairn_profile *p, struct cairn_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (n == 0 || compare_place(&rows->rows[n - 1], &rows->rows[i]) != 0)
            rows->rows[n++] = rows->rows[i];
        for (size_t type = 0; type < rows->n_types; type++) {
            int64_t *sum = &rows->values[(n - 1) * rows->n_types + type];
            *sum = cairn_profile_add_clamped(
                *sum, p->values[rows->rows[i].sample * rows->n_types + type]);
        }
    }
    rows->n = n;
}

int cairn_rows_build(const struct cairn_profile *profile, const struct cairn_layout *layout,
                     const struct cairn_row_sets *sets, size_t first, size_t end, int64_t first_ns,
                     struct cairn_rows *ret_rows, struct cairn_err *err)
{
    struct cairn_rows rows = {.n = end - first, .n_types = profile->n_types};
    rows.rows = cairn_alloc(rows.n, sizeof *rows.rows);
    rows.values = cairn_alloc(rows.n, (rows.n_types ? rows.n_types : 1) * sizeof *rows.values);
    if (!rows.rows || !rows.values) {
        cairn_rows_done(&rows);
        return cairn_fail_memory(err);
    }
    rows.first_ns = find_first(profile, first, end);
    if (first_ns && (!rows.first_ns || first_ns < rows.first_ns))
        rows.first_ns = first_ns;
    fill(profile, layout, sets, first, &rows);
    sum_equal(profile, &rows);
    *ret_rows = rows;
    return CAIRN_OK;
}

void cairn_rows_done(struct cairn_rows *rows)
{
    cairn_free(rows->rows);
    cairn_free(rows->values);
    *rows = (struct cairn_rows){0};
}

/* SPDX-License-Identifier: MIT */
/* The top table: rows that are used, the costliest first. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/rows.h"

struct cairn_top {
    struct cairn_profile_rows rows;
    int64_t sum;
};

/* What only dropped samples used has no place in the table. */
static void drop_unused(struct cairn_profile_rows *rows)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (rows->used[i])
            rows->items[n_kept++] = rows->items[i];
    rows->n = n_kept;
}

static int compare_rows(const void *a, const void *b)
{
    const struct cairn_top_row *x = a, *y = b;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return cairn_profile_compare_names(x, y);
}

static bool make_top(const struct cairn_profile *p, size_t value_type, struct cairn_top *top)
{
    struct cairn_profile_sums sums = {0};
    bool ok = cairn_profile_sums_make(p, value_type, &sums) &&
              cairn_profile_rows_make(p, &top->rows) &&
              cairn_profile_rows_count(&top->rows, p, &sums);
    top->sum = sums.sum;
    cairn_profile_sums_done(&sums);
    return ok;
}

int cairn_profile_top(const struct cairn_profile *profile, size_t value_type,
                      struct cairn_top **ret_top, struct cairn_err *err)
{
    if (value_type >= profile->n_types)
        return cairn_fail(err, CAIRN_E_ARG, "value type %zu, the profile has %zu", value_type,
                          profile->n_types);
    struct cairn_top *top = cairn_alloc(1, sizeof *top);
    if (!top || !make_top(profile, value_type, top)) {
        cairn_top_free(top);
        return cairn_fail_memory(err);
    }
    drop_unused(&top->rows);
    if (top->rows.n)
        qsort(top->rows.items, top->rows.n, sizeof *top->rows.items, compare_rows);
    *ret_top = top;
    return CAIRN_OK;
}

size_t cairn_top_rows(const struct cairn_top *top, const struct cairn_top_row **ret_rows)
{
    *ret_rows = top->rows.items;
    return top->rows.n;
}

int64_t cairn_top_sum(const struct cairn_top *top)
{
    return top->sum;
}

void cairn_top_free(struct cairn_top *top)
{
    if (!top)
        return;
    cairn_profile_rows_done(&top->rows);
    cairn_free(top);
}

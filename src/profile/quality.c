/* SPDX-License-Identifier: MIT */
/* How much of a profile can be trusted: what is counted here ends every report. */
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

uint64_t cairn_profile_weight(const struct cairn_profile *p, size_t sample)
{
    for (size_t type = 0; type < p->n_types; type++) {
        if (strcmp(p->public_types[type].type, "samples") != 0)
            continue;
        int64_t value = p->values[sample * p->n_types + type];
        return value > 0 ? (uint64_t)value : 0;
    }
    return 1;
}

static bool is_cut(const struct cairn_profile *p, size_t sample)
{
    const struct cairn_profile_label *label =
        cairn_profile_find_label(p, p->samples[sample].labels, "cairn.cut");
    return label && label->text;
}

void cairn_profile_stats(const struct cairn_profile *p, struct cairn_profile_stats *stats)
{
    struct cairn_profile_stats s = {
        .size = stats->size,
        .n_stacks = p->n_stacks - 1,
        .n_frames = p->n_frames - 1,
        .n_modules = p->n_modules - 1,
        .n_functions = p->n_functions - 1,
        .duration_ns = p->duration_ns > 0 ? (uint64_t)p->duration_ns : 0,
    };
    for (uint32_t i = 1; i < p->n_frames; i++)
        s.n_unnamed += !cairn_profile_is_named(p, i);
    for (size_t i = 0; i < p->n_samples; i++) {
        uint64_t weight = cairn_profile_weight(p, i);
        s.n_samples += weight;
        s.n_cut += is_cut(p, i) ? weight : 0;
    }
    memcpy(stats, &s, stats->size < sizeof s ? stats->size : sizeof s);
}

static int compare_cuts(const void *a, const void *b)
{
    const struct cairn_cut_row *x = a, *y = b;
    if (x->n_samples != y->n_samples)
        return x->n_samples > y->n_samples ? -1 : 1;
    return strcmp(x->reason, y->reason);
}

static int count_cuts(const struct cairn_profile *p, struct cairn_table *numbers,
                      struct cairn_cut_row **rows, size_t *n, size_t *cap)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        if (!is_cut(p, i))
            continue;
        uint32_t text = cairn_profile_find_label(p, p->samples[i].labels, "cairn.cut")->text, at;
        if (!cairn_table_find(numbers, text, &at)) {
            at = (uint32_t)*n;
            if (cairn_grow((void **)rows, cap, *n + 1, sizeof **rows) < 0 ||
                cairn_table_set(numbers, text, at) < 0)
                return CAIRN_E_NOMEM;
            (*rows)[(*n)++] =
                (struct cairn_cut_row){.reason = cairn_strings_get(&p->strings, text)};
        }
        (*rows)[at].n_samples += cairn_profile_weight(p, i);
    }
    return CAIRN_OK;
}

size_t cairn_profile_cuts(const struct cairn_profile *p, struct cairn_cut_row *rows, size_t n)
{
    struct cairn_table numbers = {0};
    struct cairn_cut_row *all = NULL;
    size_t n_all = 0, cap = 0;
    if (count_cuts(p, &numbers, &all, &n_all, &cap) < 0)
        n_all = 0;
    if (n_all) {
        qsort(all, n_all, sizeof *all, compare_cuts);
        memcpy(rows, all, (n < n_all ? n : n_all) * sizeof *rows);
    }
    cairn_table_done(&numbers);
    cairn_free(all);
    return n_all;
}

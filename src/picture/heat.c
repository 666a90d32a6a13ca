/* SPDX-License-Identifier: MIT */
#include "picture/heat.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/table.h"

static uint64_t key_of(uint32_t look, uint32_t line)
{
    return (uint64_t)look << 32 | line;
}

/* CAIRN_HEAT_NONE where memory is gone. */
static uint32_t find_or_add(struct cairn_heat *heat, struct cairn_table *known, uint32_t look,
                            uint32_t line)
{
    uint32_t number;
    uint64_t key = key_of(look, line);
    if (cairn_table_find(known, key, &number))
        return number;
    if (cairn_grow((void **)&heat->spots, &heat->cap, heat->n + 1, sizeof *heat->spots) < 0 ||
        cairn_table_set(known, key, (uint32_t)heat->n) < 0)
        return CAIRN_HEAT_NONE;
    heat->spots[heat->n] = (struct cairn_heat_spot){look, line};
    return (uint32_t)heat->n++;
}

/* The lines of a frame, as its looks: outermost first. */
static bool add_frame(const struct cairn_profile *p, const struct cairn_looks *looks,
                      uint32_t frame, struct cairn_heat *heat, struct cairn_table *known)
{
    const struct cairn_profile_frame *f = &p->frames[frame];
    uint32_t first = looks->first[frame], n = looks->first[frame + 1] - first;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t line = f->n_lines == n ? p->lines[f->lines + n - 1 - i].line : 0;
        heat->of_frames[first + i] = CAIRN_HEAT_NONE;
        if (line == 0)
            continue;
        uint32_t spot = find_or_add(heat, known, looks->of_frames[first + i], line);
        if (spot == CAIRN_HEAT_NONE)
            return false;
        heat->of_frames[first + i] = spot;
    }
    return true;
}

static int compare_spots(const void *a, const void *b, void *context)
{
    const struct cairn_heat *heat = context;
    const struct cairn_heat_spot *x = &heat->spots[*(const uint32_t *)a];
    const struct cairn_heat_spot *y = &heat->spots[*(const uint32_t *)b];
    uint64_t left = key_of(x->look, x->line), right = key_of(y->look, y->line);
    return left < right ? -1 : left > right;
}

static int sort_spots(struct cairn_heat *heat, size_t n_of_frames)
{
    uint32_t *sorted = cairn_alloc(heat->n, 2 * sizeof *sorted);
    struct cairn_heat_spot *spots = cairn_alloc(heat->n, sizeof *spots);
    if (!sorted || !spots) {
        cairn_free(sorted);
        cairn_free(spots);
        return CAIRN_E_NOMEM;
    }
    uint32_t *rank = sorted + heat->n;
    for (size_t i = 0; i < heat->n; i++)
        sorted[i] = (uint32_t)i;
    qsort_r(sorted, heat->n, sizeof *sorted, compare_spots, heat);
    for (size_t i = 0; i < heat->n; i++) {
        rank[sorted[i]] = (uint32_t)i;
        spots[i] = heat->spots[sorted[i]];
    }
    for (size_t i = 0; i < n_of_frames; i++)
        if (heat->of_frames[i] != CAIRN_HEAT_NONE)
            heat->of_frames[i] = rank[heat->of_frames[i]];
    cairn_free(sorted);
    cairn_free(heat->spots);
    heat->spots = spots;
    heat->cap = heat->n;
    return CAIRN_OK;
}

int cairn_heat_build(const struct cairn_profile *profile, const struct cairn_looks *looks,
                     struct cairn_heat *ret_heat, struct cairn_err *err)
{
    size_t n_of_frames = looks->first[profile->n_frames];
    struct cairn_heat heat = {.of_frames = cairn_alloc(n_of_frames, sizeof *heat.of_frames)};
    struct cairn_table known = {0};
    bool ok = heat.of_frames != NULL;
    for (uint32_t frame = 1; frame < profile->n_frames && ok; frame++)
        ok = add_frame(profile, looks, frame, &heat, &known);
    ok = ok && sort_spots(&heat, n_of_frames) == CAIRN_OK;
    cairn_table_done(&known);
    if (!ok) {
        cairn_heat_done(&heat);
        return cairn_fail_memory(err);
    }
    *ret_heat = heat;
    return CAIRN_OK;
}

void cairn_heat_done(struct cairn_heat *heat)
{
    cairn_free(heat->spots);
    cairn_free(heat->of_frames);
    *heat = (struct cairn_heat){0};
}

int cairn_heat_build_tree(const struct cairn_profile *profile, const struct cairn_looks *looks,
                          const struct cairn_heat *heat, size_t n_new,
                          struct cairn_layout *ret_layout, struct cairn_err *err)
{
    size_t n_of_frames = looks->first[profile->n_frames];
    struct cairn_looks lines = {.first = looks->first,
                                .of_frames = cairn_alloc(n_of_frames, sizeof *lines.of_frames)};
    if (!lines.of_frames)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < n_of_frames; i++)
        lines.of_frames[i] = heat->of_frames[i] != CAIRN_HEAT_NONE
                                 ? heat->of_frames[i]
                                 : (uint32_t)heat->n + looks->of_frames[i];
    int rc = cairn_layout_build(profile, &lines, n_new, ret_layout, err);
    cairn_free(lines.of_frames);
    return rc;
}

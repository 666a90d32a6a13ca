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

struct walk {
    const struct cairn_profile *p;
    const struct cairn_looks *looks;
    const struct cairn_heat *heat;
    int64_t *totals;        /* by stack: what ended there and above it */
    uint32_t *first_child;  /* by stack; 0: none */
    uint32_t *next_sibling; /* by stack */
    uint32_t *open;         /* by spot: how often it is on the path */
    int64_t *sums;          /* by spot: the totals */
};

/* +1 on the way down, -1 on the way up. A spot counts where it is met first. */
static void pass(struct walk *w, uint32_t stack, int way)
{
    uint32_t frame = w->p->stacks[stack].frame;
    for (uint32_t i = w->looks->first[frame]; i < w->looks->first[frame + 1]; i++) {
        uint32_t spot = w->heat->of_frames[i];
        if (spot == CAIRN_HEAT_NONE)
            continue;
        if (way > 0 && w->open[spot] == 0)
            w->sums[spot] = cairn_profile_add_clamped(w->sums[spot], w->totals[stack]);
        w->open[spot] += (uint32_t)way;
    }
}

/* Down to the first child, else beside, else up: without a stack of our own, for theirs are deep.
 */
static void walk_all(struct walk *w)
{
    uint32_t at = w->first_child[0];
    while (at) {
        pass(w, at, 1);
        if (w->first_child[at]) {
            at = w->first_child[at];
            continue;
        }
        while (at && !w->next_sibling[at]) {
            pass(w, at, -1);
            at = w->p->stacks[at].parent;
        }
        if (at) {
            pass(w, at, -1);
            at = w->next_sibling[at];
        }
    }
}

/* Children have larger numbers than their parents. */
static void add_up(struct walk *w)
{
    for (uint32_t stack = (uint32_t)w->p->n_stacks; stack-- > 1;) {
        uint32_t parent = w->p->stacks[stack].parent;
        w->totals[parent] = cairn_profile_add_clamped(w->totals[parent], w->totals[stack]);
        w->next_sibling[stack] = w->first_child[parent];
        w->first_child[parent] = stack;
    }
}

/* What ends in a stack ends in the innermost line of its last frame. */
static void add_sample(struct walk *w, size_t sample, size_t type, int64_t *self)
{
    const struct cairn_profile *p = w->p;
    uint32_t stack = p->samples[sample].stack;
    int64_t value = p->values[sample * p->n_types + type];
    w->totals[stack] = cairn_profile_add_clamped(w->totals[stack], value);
    if (stack == 0)
        return;
    uint32_t spot = w->heat->of_frames[w->looks->first[p->stacks[stack].frame + 1] - 1];
    if (spot != CAIRN_HEAT_NONE)
        self[spot] = cairn_profile_add_clamped(self[spot], value);
}

int cairn_heat_sum(const struct cairn_profile *profile, const struct cairn_looks *looks,
                   const struct cairn_heat *heat, size_t type, size_t first, size_t end,
                   int64_t *self, int64_t *total, struct cairn_err *err)
{
    size_t n = profile->n_stacks;
    struct walk w = {.p = profile,
                     .looks = looks,
                     .heat = heat,
                     .totals = cairn_alloc(n, sizeof *w.totals),
                     .first_child = cairn_alloc(n, sizeof *w.first_child),
                     .next_sibling = cairn_alloc(n, sizeof *w.next_sibling),
                     .open = cairn_alloc(heat->n, sizeof *w.open),
                     .sums = total};
    bool ok = w.totals && w.first_child && w.next_sibling && w.open;
    for (size_t i = 0; i < heat->n; i++)
        self[i] = total[i] = 0;
    if (ok && n) {
        for (size_t i = first; i < end; i++)
            add_sample(&w, i, type, self);
        add_up(&w);
        walk_all(&w);
    }
    cairn_free(w.totals);
    cairn_free(w.first_child);
    cairn_free(w.next_sibling);
    cairn_free(w.open);
    return ok ? CAIRN_OK : cairn_fail_memory(err);
}

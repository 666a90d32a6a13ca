/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "formats/callgrind.h"

enum { LEVELS_MAX = 64 };

static int64_t *values_of(const struct cairn_callgrind *g, size_t row)
{
    return g->values + row * g->p->n_types;
}

static void add_values(const struct cairn_callgrind *g, int64_t *into, const int64_t *values)
{
    for (size_t type = 0; type < g->p->n_types; type++)
        into[type] = cairn_profile_add_clamped(into[type], values[type]);
}

static uint32_t parent_of(const struct cairn_callgrind *g, uint32_t row)
{
    return g->viewer.stacks[row].parent;
}

static uint32_t function_of(const struct cairn_callgrind *g, uint32_t row)
{
    return g->viewer.frames[g->viewer.stacks[row].frame].function;
}

static uint32_t line_of(const struct cairn_callgrind *g, uint32_t row)
{
    return g->viewer.frames[g->viewer.stacks[row].frame].line;
}

static uint32_t add_node(struct cairn_callgrind *g, struct cairn_callgrind_node node)
{
    uint64_t key = (uint64_t)node.level << 32 | node.function;
    uint32_t number;
    if (cairn_table_find(&g->known_nodes, key, &number))
        return number;
    if (cairn_grow((void **)&g->nodes, &g->cap_nodes, g->n_nodes + 1, sizeof *g->nodes) < 0 ||
        cairn_table_set(&g->known_nodes, key, (uint32_t)g->n_nodes) < 0)
        return CAIRN_VIEWER_NONE;
    g->nodes[g->n_nodes] = node;
    return (uint32_t)g->n_nodes++;
}

/* How often the function of a row is on its stack, up to the limit. */
static uint32_t level_of(const struct cairn_callgrind *g, uint32_t row)
{
    uint32_t function = function_of(g, row);
    for (uint32_t at = parent_of(g, row); at != CAIRN_VIEWER_NONE; at = parent_of(g, at))
        if (function_of(g, at) == function) {
            uint32_t level = g->nodes[g->node_of[at]].level;
            return level < LEVELS_MAX ? level + 1 : LEVELS_MAX;
        }
    return 1;
}

static bool make_nodes(struct cairn_callgrind *g)
{
    if (add_node(g, (struct cairn_callgrind_node){CAIRN_VIEWER_NONE, 0}) == CAIRN_VIEWER_NONE)
        return false;
    for (uint32_t row = 0; row < g->viewer.n_stacks; row++) {
        struct cairn_callgrind_node node = {function_of(g, row), level_of(g, row)};
        g->node_of[row] = add_node(g, node);
        if (g->node_of[row] == CAIRN_VIEWER_NONE)
            return false;
    }
    return true;
}

static bool is_cost(const struct cairn_callgrind_cost *a, const struct cairn_callgrind_cost *b)
{
    return a->node == b->node && a->line == b->line && a->callee == b->callee;
}

/* Adds the values to those of the same place. */
static bool add_cost(struct cairn_callgrind *g, struct cairn_callgrind_cost cost,
                     const int64_t *values)
{
    uint64_t key = cairn_hash_u64((uint64_t)cost.node << 32 | cost.callee) + cost.line;
    uint32_t number;
    for (; cairn_table_find(&g->known_costs, key, &number); key++)
        if (is_cost(&g->costs[number], &cost)) {
            add_values(g, g->sums + g->costs[number].at, values);
            g->costs[number].n++;
            return true;
        }
    size_t n_types = g->p->n_types;
    if (cairn_grow((void **)&g->costs, &g->cap_costs, g->n_costs + 1, sizeof *g->costs) < 0 ||
        cairn_grow((void **)&g->sums, &g->cap_sums, g->n_sums + n_types, sizeof *g->sums) < 0 ||
        cairn_table_set(&g->known_costs, key, (uint32_t)g->n_costs) < 0)
        return false;
    cost.n = 1;
    cost.at = g->n_sums;
    memcpy(g->sums + g->n_sums, values, n_types * sizeof *values);
    g->n_sums += n_types;
    g->costs[g->n_costs++] = cost;
    return true;
}

/* Is the same call on the stack already? Only beyond the limit of levels. */
static bool is_counted(const struct cairn_callgrind *g, uint32_t row)
{
    uint32_t caller = g->node_of[parent_of(g, row)], callee = g->node_of[row];
    if (g->nodes[caller].level < LEVELS_MAX || g->nodes[callee].level < LEVELS_MAX)
        return false;
    for (uint32_t at = parent_of(g, row); parent_of(g, at) != CAIRN_VIEWER_NONE;
         at = parent_of(g, at))
        if (g->node_of[at] == callee && g->node_of[parent_of(g, at)] == caller)
            return true;
    return false;
}

static bool add_call(struct cairn_callgrind *g, uint32_t row)
{
    uint32_t parent = parent_of(g, row);
    struct cairn_callgrind_cost cost = {.node = CAIRN_CALLGRIND_ALL, .callee = g->node_of[row]};
    if (parent != CAIRN_VIEWER_NONE) {
        if (is_counted(g, row))
            return true;
        cost.node = g->node_of[parent];
        cost.line = line_of(g, parent);
    }
    return add_cost(g, cost, values_of(g, row));
}

static bool has_values(const struct cairn_callgrind *g, uint32_t row)
{
    for (size_t type = 0; type < g->p->n_types; type++)
        if (values_of(g, row)[type])
            return true;
    return false;
}

/* A row's values are its own until its children, which have larger numbers, have added theirs. */
static bool make_costs(struct cairn_callgrind *g)
{
    const struct cairn_profile *p = g->p;
    for (size_t i = 0; i < p->n_samples; i++) {
        uint32_t row = cairn_viewer_of_sample(&g->viewer, i);
        if (row != CAIRN_VIEWER_NONE) /* it has no value */
            add_values(g, values_of(g, row), p->values + i * p->n_types);
    }
    for (uint32_t row = 0; row < g->viewer.n_stacks; row++) {
        struct cairn_callgrind_cost own = {
            .node = g->node_of[row], .line = line_of(g, row), .callee = CAIRN_CALLGRIND_ALL};
        if (has_values(g, row) && !add_cost(g, own, values_of(g, row)))
            return false;
    }
    for (uint32_t row = (uint32_t)g->viewer.n_stacks; row-- > 0;) {
        uint32_t parent = parent_of(g, row);
        if (!add_call(g, row))
            return false;
        if (parent != CAIRN_VIEWER_NONE)
            add_values(g, values_of(g, parent), values_of(g, row));
    }
    return true;
}

static int compare_costs(const void *a, const void *b)
{
    const struct cairn_callgrind_cost *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->callee != y->callee)
        return x->callee < y->callee ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static bool build(struct cairn_callgrind *g)
{
    if (!cairn_viewer_take_samples(&g->viewer))
        return false;
    g->values = cairn_alloc(g->viewer.n_stacks + 1, g->p->n_types * sizeof *g->values);
    g->node_of = cairn_alloc(g->viewer.n_stacks + 1, sizeof *g->node_of);
    if (!g->values || !g->node_of || !make_nodes(g) || !make_costs(g))
        return false;
    if (g->n_costs)
        qsort(g->costs, g->n_costs, sizeof *g->costs, compare_costs);
    return true;
}

int cairn_callgrind_build(const struct cairn_profile *p, struct cairn_callgrind *ret_graph,
                          struct cairn_err *err)
{
    struct cairn_callgrind g = {.p = p};
    int result = cairn_tracks_build(p, &g.tracks, err);
    if (result == CAIRN_OK)
        result = cairn_viewer_open(p, &g.viewer, err);
    if (result == CAIRN_OK && !build(&g))
        result = cairn_fail_memory(err);
    if (result < 0)
        cairn_callgrind_done(&g);
    else
        *ret_graph = g;
    return result;
}

void cairn_callgrind_done(struct cairn_callgrind *g)
{
    cairn_tracks_done(&g->tracks);
    cairn_viewer_done(&g->viewer);
    cairn_table_done(&g->known_nodes);
    cairn_table_done(&g->known_costs);
    cairn_free(g->values);
    cairn_free(g->node_of);
    cairn_free(g->nodes);
    cairn_free(g->costs);
    cairn_free(g->sums);
    *g = (struct cairn_callgrind){0};
}

/* SPDX-License-Identifier: MIT */
/*
 * Trees are what a walk through stacks meets, a node for each group of places:
 *
 *     stacks ─► where trees begin ─► levels, the largest first ─► nodes, but for those left out
 *
 * What is left out is walked through all the same, for it is counted.
 */
#include <math.h>
#include <stdlib.h>

#include <cairn/tree.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/levels.h"

struct cairn_tree {
    struct cairn_profile_rows rows;
    struct cairn_tree_node *nodes;
    size_t n, cap;
    int64_t sum;
    struct cairn_tree_counts counts;
};

/* Function and what it costs, for trees that begin with functions. */
struct root {
    uint32_t row;
    int64_t first; /* what goes before total and self */
    struct cairn_profile_group group;
};

struct growing {
    const struct cairn_profile *profile;
    const struct cairn_tree_opts *opts;
    struct cairn_tree *tree;
    struct cairn_profile_sums sums;
    struct cairn_profile_levels levels;
    bool *wanted; /* by row: is it the root of a tree? */
    struct root *roots;
    size_t n_roots;
    int64_t measure; /* what nodes are held against; of callees and callers: their root's */
    bool is_full;
};

static bool is_small(const struct growing *g, int64_t total)
{
    double percent = g->measure ? 100.0 * (double)total / (double)g->measure : 0;
    return g->opts->least_percent > 0 && fabs(percent) < g->opts->least_percent;
}

/* Where a node is left out, all below it are. */
static bool is_kept(struct growing *g, const struct cairn_profile_group *group, bool is_above)
{
    struct cairn_tree_counts *counts = &g->tree->counts;
    if (g->levels.n == 1)
        g->measure = g->opts->kind == CAIRN_TREE_CALLS ? g->tree->sum : group->total;
    bool kept = is_above && !is_small(g, group->total);
    counts->n_nodes++;
    counts->n_small += !kept;
    return kept;
}

static bool add_node(struct growing *g, const struct cairn_profile_group *group)
{
    struct cairn_tree *tree = g->tree;
    g->is_full = tree->n >= CAIRN_PROFILE_NUMBERS_MAX;
    if (g->is_full ||
        cairn_grow((void **)&tree->nodes, &tree->cap, tree->n + 1, sizeof *tree->nodes) < 0)
        return false;
    tree->nodes[tree->n++] = (struct cairn_tree_node){group->row, group->total, group->self,
                                                      (uint32_t)g->levels.n - 1, 0};
    return true;
}

/* Whose order nobody sees needs none. */
static void sort_last(struct cairn_profile_levels *l)
{
    const struct cairn_profile_level *level = &l->items[l->n - 1];
    if (level->next < level->end)
        qsort(l->groups + level->next, level->end - level->next, sizeof *l->groups,
              cairn_profile_compare_groups);
}

/* A node, and the level below it. */
static bool meet(struct growing *g, const struct cairn_profile_group *group, bool is_above)
{
    struct cairn_profile_levels *l = &g->levels;
    bool kept = is_kept(g, group, is_above);
    uint32_t node = (uint32_t)g->tree->n;
    if (kept && !add_node(g, group))
        return false;
    if (g->opts->depth && l->n == g->opts->depth) {
        if (kept)
            g->tree->nodes[node].end = (uint32_t)g->tree->n;
        return true;
    }
    if (!cairn_profile_levels_open(l, group))
        return false;
    l->items[l->n - 1].owner = node;
    l->items[l->n - 1].is_kept = kept;
    if (kept)
        sort_last(l);
    return true;
}

/* From the level that is open until it is done. */
static bool walk(struct growing *g)
{
    struct cairn_profile_levels *l = &g->levels;
    while (l->n) {
        struct cairn_profile_level *level = &l->items[l->n - 1];
        if (level->next < level->end) {
            struct cairn_profile_group group = l->groups[level->next++];
            if (!meet(g, &group, level->is_kept))
                return false;
            continue;
        }
        if (l->n > 1 && level->is_kept) /* the first one is no node's */
            g->tree->nodes[level->owner].end = (uint32_t)g->tree->n;
        cairn_profile_levels_close(l);
    }
    return true;
}

static size_t n_kept_roots(const struct growing *g, size_t n)
{
    size_t n_kept = g->opts->n_roots && g->opts->n_roots < n ? (size_t)g->opts->n_roots : n;
    g->tree->counts.n_roots_left = n - n_kept;
    return n_kept;
}

static bool grow_calls(struct growing *g)
{
    struct cairn_profile_levels *l = &g->levels;
    if (!cairn_profile_descent_make(g->profile, &g->sums, &l->descent) ||
        !cairn_profile_levels_open_outermost(l))
        return false;
    sort_last(l);
    l->items[0].end = l->items[0].next + n_kept_roots(g, l->n_groups);
    return walk(g);
}

/* By name; where none has that, by a part of it. */
static bool choose_roots(struct growing *g)
{
    const struct cairn_profile_rows *rows = &g->tree->rows;
    const char *name = g->opts->function;
    bool found = false;
    g->wanted = cairn_alloc(rows->n + 1, sizeof *g->wanted);
    for (size_t i = 0; g->wanted && i < rows->n; i++) {
        g->wanted[i] = !name || (rows->used[i] && strcmp(rows->items[i].function, name) == 0);
        found |= g->wanted[i];
    }
    for (size_t i = 0; g->wanted && !found && i < rows->n; i++)
        g->wanted[i] = strstr(rows->items[i].function, name) != NULL;
    return g->wanted != NULL;
}

static int compare_roots(const void *a, const void *b)
{
    const struct root *x = a, *y = b;
    if (x->first != y->first)
        return x->first > y->first ? -1 : 1;
    return cairn_profile_compare_groups(&x->group, &y->group);
}

/* The amounts of the root of callees or callers: its total is that of the table. */
static struct cairn_profile_group group_of(const struct growing *g, uint32_t row)
{
    const struct cairn_profile_starts *starts = &g->levels.starts;
    const struct cairn_top_row *item = &g->tree->rows.items[row];
    struct cairn_profile_group group = {.row = item, .total = item->total, .self = item->self};
    if (g->opts->kind == CAIRN_TREE_CALLERS)
        return group;
    group.self = 0;
    for (size_t i = starts->first[row]; i < starts->first[row + 1]; i++)
        if (starts->items[i].inner == 0)
            group.self =
                cairn_profile_add_clamped(group.self, g->sums.by_stack[starts->items[i].stack]);
    return group;
}

static bool make_roots(struct growing *g)
{
    const struct cairn_profile_rows *rows = &g->tree->rows;
    const size_t *first = g->levels.starts.first;
    g->roots = cairn_alloc(rows->n, sizeof *g->roots);
    for (uint32_t row = 0; g->roots && row < rows->n; row++)
        if (first[row] != first[row + 1])
            g->roots[g->n_roots++] =
                (struct root){row, g->opts->by_self ? rows->items[row].self : 0, group_of(g, row)};
    if (g->n_roots)
        qsort(g->roots, g->n_roots, sizeof *g->roots, compare_roots);
    return g->roots != NULL;
}

static bool find_starts(struct growing *g)
{
    struct cairn_profile_levels *l = &g->levels;
    if (g->opts->kind == CAIRN_TREE_CALLERS)
        return cairn_profile_starts_innermost(g->profile, l->rows, &g->sums, g->wanted, &l->starts);
    return cairn_profile_descent_make(g->profile, &g->sums, &l->descent) &&
           cairn_profile_starts_outermost(g->profile, l->rows, &l->descent, g->wanted, &l->starts);
}

static bool grow_around_functions(struct growing *g)
{
    bool ok = choose_roots(g) && find_starts(g) && make_roots(g);
    size_t n = n_kept_roots(g, g->n_roots);
    for (size_t i = 0; ok && i < n; i++)
        ok = cairn_profile_levels_open_row(&g->levels, g->roots[i].row) && walk(g);
    return ok;
}

static bool grow(struct growing *g)
{
    const struct cairn_profile *p = g->profile;
    struct cairn_profile_rows *rows = &g->tree->rows;
    bool ok = cairn_profile_sums_make(p, g->opts->value_type, &g->sums) &&
              cairn_profile_rows_make(p, rows) && cairn_profile_rows_count(rows, p, &g->sums);
    g->tree->sum = g->sums.sum;
    g->levels.p = p;
    g->levels.rows = rows;
    g->levels.sums = &g->sums;
    g->levels.up = g->opts->kind == CAIRN_TREE_CALLERS;
    if (!ok)
        return false;
    return g->opts->kind == CAIRN_TREE_CALLS ? grow_calls(g) : grow_around_functions(g);
}

int cairn_tree_new(const struct cairn_profile *profile, const struct cairn_tree_opts *opts,
                   struct cairn_tree **ret_tree, struct cairn_err *err)
{
    struct cairn_tree_opts o = {0};
    memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    if (o.value_type >= profile->n_types)
        return cairn_fail(err, CAIRN_E_ARG, "value type %zu, the profile has %zu", o.value_type,
                          profile->n_types);
    struct cairn_tree *tree = cairn_alloc(1, sizeof *tree);
    struct growing g = {.profile = profile, .opts = &o, .tree = tree};
    bool ok = tree && grow(&g);
    cairn_profile_sums_done(&g.sums);
    cairn_profile_levels_done(&g.levels);
    cairn_free(g.wanted);
    cairn_free(g.roots);
    if (!ok) {
        cairn_tree_free(tree);
        return g.is_full ? cairn_fail(err, CAIRN_E_LIMIT, "more than %d nodes in a tree",
                                      CAIRN_PROFILE_NUMBERS_MAX)
                         : cairn_fail_memory(err);
    }
    *ret_tree = tree;
    return CAIRN_OK;
}

void cairn_tree_free(struct cairn_tree *tree)
{
    if (!tree)
        return;
    cairn_profile_rows_done(&tree->rows);
    cairn_free(tree->nodes);
    cairn_free(tree);
}

size_t cairn_tree_nodes(const struct cairn_tree *tree, const struct cairn_tree_node **ret_nodes)
{
    *ret_nodes = tree->nodes;
    return tree->n;
}

int64_t cairn_tree_sum(const struct cairn_tree *tree)
{
    return tree->sum;
}

void cairn_tree_count(const struct cairn_tree *tree, struct cairn_tree_counts *counts)
{
    struct cairn_tree_counts all = tree->counts;
    all.size = counts->size;
    memcpy(counts, &all, all.size < sizeof all ? all.size : sizeof all);
}

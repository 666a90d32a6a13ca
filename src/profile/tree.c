/* SPDX-License-Identifier: MIT */
/*
 * Trees come out of a trie in three steps:
 *
 *     walk stacks ─► what ends in each node ─► totals, from the leaves up ─► nodes in order
 *
 * Trees of calls share what stacks share. For callees and callers each stack is walked by itself,
 * once for each of its functions that is wanted.
 */
#include <stdlib.h>

#include <cairn/tree.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/trie.h"

struct cairn_tree {
    struct cairn_profile_rows rows;
    struct cairn_tree_node *nodes;
    size_t n;
    int64_t sum;
};

/* What stacks leave in a node of the trie. */
struct amount {
    int64_t total, self;
};

struct growing {
    const struct cairn_profile *profile;
    const struct cairn_tree_opts *opts;
    struct cairn_tree *tree;
    struct cairn_profile_sums sums;
    struct cairn_profile_trie trie;
    struct amount *amounts; /* by node */
    size_t cap_amounts;
    bool *wanted;   /* by row: is it the root of a tree? */
    uint32_t *path; /* the rows of one stack, outermost first */
    size_t cap_path;
    uint32_t *seen; /* by row: the stack that it was last a root for */
};

/* Amounts of nodes that are new are 0. */
static bool leave(struct growing *g, uint32_t node, int64_t total, int64_t self)
{
    size_t before = g->cap_amounts;
    if (node == UINT32_MAX ||
        cairn_grow((void **)&g->amounts, &g->cap_amounts, (size_t)node + 1, sizeof *g->amounts) < 0)
        return false;
    if (g->cap_amounts > before)
        memset(g->amounts + before, 0, (g->cap_amounts - before) * sizeof *g->amounts);
    struct amount *amount = &g->amounts[node];
    amount->total = cairn_profile_add_clamped(amount->total, total);
    amount->self = cairn_profile_add_clamped(amount->self, self);
    return true;
}

static bool grow_calls(struct growing *g)
{
    uint32_t *node_of =
        cairn_profile_trie_add(&g->trie, g->profile, &g->tree->rows, &g->sums, NULL);
    bool ok = node_of != NULL;
    for (uint32_t i = 1; ok && i < g->profile->n_stacks; i++)
        if (g->sums.used[i])
            ok = leave(g, node_of[i], g->sums.by_stack[i], g->sums.by_stack[i]);
    cairn_free(node_of);
    return ok;
}

/* The number of rows of a stack, which are in g->path then; SIZE_MAX where memory is gone. */
static size_t read_path(struct growing *g, uint32_t stack)
{
    const struct cairn_profile *p = g->profile;
    const struct cairn_profile_rows *rows = &g->tree->rows;
    size_t n = 0;
    for (uint32_t at = stack; at; at = p->stacks[at].parent) {
        uint32_t frame = p->stacks[at].frame;
        n += rows->first[frame + 1] - rows->first[frame];
    }
    if (cairn_grow((void **)&g->path, &g->cap_path, n, sizeof *g->path) < 0)
        return SIZE_MAX;
    size_t left = n;
    for (uint32_t at = stack; at; at = p->stacks[at].parent)
        for (uint32_t i = rows->first[p->stacks[at].frame];
             i < rows->first[p->stacks[at].frame + 1]; i++)
            g->path[--left] = rows->of_frames[i];
    return n;
}

/* From g->path[at] on, down to the leaf or up to the root. */
static bool follow(struct growing *g, size_t n, size_t at, int64_t value)
{
    bool up = g->opts->kind == CAIRN_TREE_CALLERS;
    size_t n_left = up ? at + 1 : n - at;
    bool whole = !g->opts->depth || n_left <= g->opts->depth;
    size_t n_steps = whole ? n_left : g->opts->depth;
    uint32_t node = 0;
    for (size_t i = 0; i < n_steps && node != UINT32_MAX; i++)
        node = cairn_profile_trie_child(&g->trie, node, g->path[up ? at - i : at + i]);
    bool counts = up ? at + 1 == n : whole;
    return leave(g, node, value, counts ? value : 0);
}

static bool follow_all(struct growing *g, uint32_t stack)
{
    size_t n = read_path(g, stack);
    for (size_t i = 0; i < n && n != SIZE_MAX; i++) {
        size_t at = g->opts->kind == CAIRN_TREE_CALLERS ? n - 1 - i : i;
        uint32_t row = g->path[at];
        if (!g->wanted[row] || g->seen[row] == stack)
            continue;
        g->seen[row] = stack;
        if (!follow(g, n, at, g->sums.by_stack[stack]))
            return false;
    }
    return n != SIZE_MAX;
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

static bool grow_around_functions(struct growing *g)
{
    g->seen = cairn_alloc(g->tree->rows.n + 1, sizeof *g->seen);
    bool ok = g->seen && choose_roots(g);
    for (uint32_t i = 1; ok && i < g->profile->n_stacks; i++)
        if (g->sums.used[i])
            ok = follow_all(g, i);
    return ok;
}

/* What is below counts above, too; of callers also what ended in the root. */
static void add_up(struct growing *g)
{
    bool is_callers = g->opts->kind == CAIRN_TREE_CALLERS;
    for (size_t i = g->trie.n; i-- > 1;) {
        const struct amount *from = &g->amounts[i];
        struct amount *to = &g->amounts[g->trie.nodes[i].parent];
        to->total = cairn_profile_add_clamped(to->total, from->total);
        if (is_callers)
            to->self = cairn_profile_add_clamped(to->self, from->self);
    }
}

/* Siblings stand together, in their order. Node 0 is not among them. */
struct place {
    uint32_t parent, node;
    const struct cairn_top_row *row;
    struct amount amount;
    int64_t first; /* what goes before total and self */
};

static int compare_i64(int64_t a, int64_t b)
{
    return a > b ? -1 : a < b;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    int order = compare_i64(x->first, y->first);
    if (order == 0)
        order = compare_i64(x->amount.total, y->amount.total);
    if (order == 0)
        order = compare_i64(x->amount.self, y->amount.self);
    return order ? order : cairn_profile_compare_names(x->row, y->row);
}

static struct place *sort_places(const struct growing *g)
{
    bool by_self = g->opts->by_self && g->opts->kind != CAIRN_TREE_CALLS;
    struct place *places = cairn_alloc(g->trie.n, sizeof *places);
    for (uint32_t i = 1; places && i < g->trie.n; i++) {
        const struct cairn_profile_trie_node *node = &g->trie.nodes[i];
        const struct cairn_top_row *row = &g->tree->rows.items[node->row];
        bool is_root = node->parent == 0;
        places[i - 1] =
            (struct place){node->parent, i, row, g->amounts[i], by_self && is_root ? row->self : 0};
    }
    if (places)
        qsort(places, g->trie.n - 1, sizeof *places, compare_places);
    return places;
}

/* Where the children of each node begin in `places`: one more than there are nodes. */
static size_t *find_children(const struct place *places, size_t n_nodes)
{
    size_t *first = cairn_alloc(n_nodes + 1, sizeof *first);
    for (size_t node = 0, at = 0; first && node <= n_nodes; node++) {
        while (at < n_nodes - 1 && places[at].parent < node)
            at++;
        first[node] = at;
    }
    return first;
}

struct step {
    size_t next, end; /* of the places that are left at this depth */
    uint32_t node;    /* of the tree, that they are below */
};

/* A walk with a stack of its own, for trees may be deep. What calls have beyond the wanted depth is
 * left out only here, for stacks share their nodes. */
static bool put_nodes(struct growing *g, const struct place *places, const size_t *first)
{
    struct cairn_tree *tree = g->tree;
    struct step *steps = NULL;
    size_t cap = 0, depth = 0;
    bool ok = cairn_grow((void **)&steps, &cap, 1, sizeof *steps) == CAIRN_OK;
    if (ok)
        steps[0] = (struct step){first[0], first[1], 0};
    while (ok && !(depth == 0 && steps[0].next == steps[0].end)) {
        struct step *step = &steps[depth];
        if (step->next == step->end) {
            tree->nodes[step->node].end = (uint32_t)tree->n;
            depth--;
            continue;
        }
        const struct place *place = &places[step->next++];
        tree->nodes[tree->n] = (struct cairn_tree_node){place->row, place->amount.total,
                                                        place->amount.self, (uint32_t)depth, 0};
        ok = cairn_grow((void **)&steps, &cap, depth + 2, sizeof *steps) == CAIRN_OK;
        if (!ok)
            break;
        depth++;
        steps[depth] = (struct step){.node = (uint32_t)tree->n++};
        if (!g->opts->depth || depth < g->opts->depth) {
            steps[depth].next = first[place->node];
            steps[depth].end = first[(size_t)place->node + 1];
        }
    }
    cairn_free(steps);
    return ok;
}

static bool put_in_order(struct growing *g)
{
    struct place *places = sort_places(g);
    size_t *first = places ? find_children(places, g->trie.n) : NULL;
    g->tree->nodes = cairn_alloc(g->trie.n, sizeof *g->tree->nodes);
    bool ok = first && g->tree->nodes && put_nodes(g, places, first);
    cairn_free(places);
    cairn_free(first);
    return ok;
}

static bool grow(struct growing *g)
{
    const struct cairn_profile *p = g->profile;
    struct cairn_profile_rows *rows = &g->tree->rows;
    bool ok = cairn_profile_sums_make(p, g->opts->value_type, &g->sums) &&
              cairn_profile_rows_make(p, rows) && cairn_profile_rows_count(rows, p, &g->sums) &&
              cairn_profile_trie_init(&g->trie) && leave(g, 0, 0, 0);
    if (ok)
        ok = g->opts->kind == CAIRN_TREE_CALLS ? grow_calls(g) : grow_around_functions(g);
    /* Inner nodes that nothing ended in have amounts, too. */
    ok = ok && leave(g, (uint32_t)g->trie.n - 1, 0, 0);
    if (ok)
        add_up(g);
    g->tree->sum = g->sums.sum;
    return ok && put_in_order(g);
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
    bool ok = tree && grow(&g), is_full = g.trie.n >= CAIRN_PROFILE_NUMBERS_MAX;
    cairn_profile_sums_done(&g.sums);
    cairn_profile_trie_done(&g.trie);
    cairn_free(g.amounts);
    cairn_free(g.wanted);
    cairn_free(g.path);
    cairn_free(g.seen);
    if (!ok) {
        cairn_tree_free(tree);
        return is_full ? cairn_fail(err, CAIRN_E_LIMIT, "more than %d nodes in a tree",
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

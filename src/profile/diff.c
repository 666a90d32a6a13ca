/* SPDX-License-Identifier: MIT */
/*
 *     old ─► rows ─┐                 ┌─► functions, by change
 *                  ├─► pairs, trie ──┤
 *     new ─► rows ─┘                 └─► stacks of pairs, by change
 */
#include <math.h>
#include <stdlib.h>

#include <cairn/diff.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/pair.h"
#include "profile/trie.h"

/* Percent: less than that is what rounding leaves of shares that are equal. */
#define NO_CHANGE 1e-9

struct cairn_diff {
    struct cairn_profile_rows sides[2]; /* whose texts functions have */
    struct cairn_profile_trie trie;     /* its rows are pairs */
    struct cairn_diff_row *functions;
    uint32_t *function_of; /* by pair */
    size_t n_functions;
    struct cairn_diff_stack *stacks;
    size_t n_stacks;
    int64_t sums[2];
};

/* What the stacks of a side leave in the nodes that there were when they were all added. */
struct ends {
    int64_t *sums;
    bool *is_leaf; /* does a stack end there? */
    size_t n;
};

struct comparing {
    struct cairn_diff *diff;
    const struct cairn_profile *profiles[2];
    size_t types[2];
    const struct cairn_diff_opts *opts;
    struct cairn_profile_pairs pairs;
    struct ends ends[2];
};

static double share(int64_t value, int64_t sum)
{
    return sum ? 100.0 * (double)value / (double)sum : 0;
}

static double change(const struct comparing *c, int64_t before, int64_t now)
{
    if (c->opts->absolute)
        return (double)now - (double)before;
    double difference = share(now, c->diff->sums[1]) - share(before, c->diff->sums[0]);
    return fabs(difference) < NO_CHANGE ? 0 : difference;
}

static bool count_side(struct comparing *c, size_t side)
{
    const struct cairn_profile *p = c->profiles[side];
    struct cairn_profile_rows *rows = &c->diff->sides[side];
    struct cairn_profile_sums sums = {0};
    bool ok = cairn_profile_sums_make(p, c->types[side], &sums) &&
              cairn_profile_rows_make(p, rows) && cairn_profile_rows_count(rows, p, &sums);
    c->diff->sums[side] = sums.sum;
    cairn_profile_sums_done(&sums);
    return ok;
}

/* Larger changes first; what changed as much stands as numbers do, so that the
 * order is one. */
static int compare_changes(double a, double b)
{
    return a > b ? -1 : a < b;
}

static int compare_rows(const struct cairn_diff_row *x, const struct cairn_diff_row *y)
{
    int order = strcmp(x->function, y->function);
    if (order == 0)
        order = strcmp(x->module, y->module);
    if (order == 0)
        order = strcmp(x->file, y->file);
    return order ? order : x->in_old - y->in_old;
}

static int compare_self(const void *a, const void *b)
{
    const struct cairn_diff_row *x = a, *y = b;
    int order = compare_changes(x->self_change, y->self_change);
    if (order == 0)
        order = compare_changes(x->total_change, y->total_change);
    return order ? order : compare_rows(x, y);
}

static int compare_total(const void *a, const void *b)
{
    const struct cairn_diff_row *x = a, *y = b;
    int order = compare_changes(x->total_change, y->total_change);
    if (order == 0)
        order = compare_changes(x->self_change, y->self_change);
    return order ? order : compare_rows(x, y);
}

/* A function on its way through the sort, which must not forget its pair. */
struct numbered {
    struct cairn_diff_row row; /* first: it is what is compared */
    uint32_t pair;
};

static struct cairn_diff_row row_of(const struct comparing *c,
                                    const struct cairn_profile_pair *pair)
{
    static const struct cairn_top_row none;
    const struct cairn_profile_rows *sides = c->diff->sides;
    bool in_old = pair->rows[0] != CAIRN_PAIR_NONE, in_new = pair->rows[1] != CAIRN_PAIR_NONE;
    const struct cairn_top_row *before = in_old ? &sides[0].items[pair->rows[0]] : &none;
    const struct cairn_top_row *now = in_new ? &sides[1].items[pair->rows[1]] : &none;
    const struct cairn_top_row *shown = in_new ? now : before;
    return (struct cairn_diff_row){
        .function = shown->function,
        .file = shown->file,
        .module = shown->module,
        .in_old = in_old,
        .in_new = in_new,
        .old_self = before->self,
        .new_self = now->self,
        .old_total = before->total,
        .new_total = now->total,
        .self_change = change(c, before->self, now->self),
        .total_change = change(c, before->total, now->total),
    };
}

static bool make_functions(struct comparing *c)
{
    struct cairn_diff *diff = c->diff;
    size_t n = c->pairs.n;
    struct numbered *numbered = cairn_alloc(n + 1, sizeof *numbered);
    diff->functions = cairn_alloc(n + 1, sizeof *diff->functions);
    diff->function_of = cairn_alloc(n + 1, sizeof *diff->function_of);
    bool ok = numbered && diff->functions && diff->function_of;
    for (size_t i = 0; ok && i < n; i++)
        numbered[i] = (struct numbered){row_of(c, &c->pairs.items[i]), (uint32_t)i};
    if (ok)
        qsort(numbered, n, sizeof *numbered, c->opts->by_total ? compare_total : compare_self);
    for (size_t i = 0; ok && i < n; i++) {
        diff->functions[i] = numbered[i].row;
        diff->function_of[numbered[i].pair] = (uint32_t)i;
    }
    diff->n_functions = ok ? n : 0;
    cairn_free(numbered);
    return ok;
}

static void add_ends(const struct cairn_profile *p, const struct cairn_profile_sums *sums,
                     const uint32_t *node_of, struct ends *ends)
{
    for (uint32_t i = 1; i < p->n_stacks; i++) {
        if (!sums->used[i])
            continue;
        int64_t *sum = &ends->sums[node_of[i]];
        *sum = cairn_profile_add_clamped(*sum, sums->by_stack[i]);
        ends->is_leaf[node_of[i]] = true;
    }
}

/* The nodes of a side's stacks, in the trie that both share. Sums are made again for this: memory
 * for them is worth more than the time that it takes. */
static bool find_ends(struct comparing *c, size_t side)
{
    const struct cairn_profile *p = c->profiles[side];
    struct cairn_profile_trie *trie = &c->diff->trie;
    struct cairn_profile_sums sums = {0};
    struct ends *ends = &c->ends[side];
    uint32_t *node_of = NULL;
    if (cairn_profile_sums_make(p, c->types[side], &sums))
        node_of =
            cairn_profile_trie_add(trie, p, &c->diff->sides[side], &sums, c->pairs.of_rows[side]);
    if (node_of) {
        *ends = (struct ends){cairn_alloc(trie->n, sizeof *ends->sums),
                              cairn_alloc(trie->n, sizeof *ends->is_leaf), trie->n};
        if (ends->sums && ends->is_leaf)
            add_ends(p, &sums, node_of, ends);
    }
    cairn_profile_sums_done(&sums);
    cairn_free(node_of);
    return ends->sums && ends->is_leaf;
}

static bool find_all_ends(struct comparing *c)
{
    struct cairn_profile_trie *trie = &c->diff->trie;
    bool ok = cairn_profile_trie_init(trie) && find_ends(c, 0) && find_ends(c, 1);
    cairn_profile_trie_close(trie);
    return ok;
}

static int64_t sum_at(const struct ends *ends, size_t node)
{
    return node < ends->n ? ends->sums[node] : 0;
}

static bool is_leaf(const struct comparing *c, size_t node)
{
    const struct ends *ends = c->ends;
    return (node < ends[0].n && ends[0].is_leaf[node]) ||
           (node < ends[1].n && ends[1].is_leaf[node]);
}

static int compare_stacks(const void *a, const void *b)
{
    const struct cairn_diff_stack *x = a, *y = b;
    int order = compare_changes(x->change, y->change);
    if (order == 0)
        order = x->new_self == y->new_self ? 0 : x->new_self > y->new_self ? -1 : 1;
    return order ? order : x->stack < y->stack ? -1 : x->stack > y->stack;
}

static bool make_stacks(struct comparing *c)
{
    struct cairn_diff *diff = c->diff;
    uint32_t *depths = NULL;
    size_t n = 0;
    if (!find_all_ends(c))
        return false;
    depths = cairn_alloc(diff->trie.n, sizeof *depths);
    diff->stacks = cairn_alloc(diff->trie.n, sizeof *diff->stacks);
    bool ok = depths && diff->stacks;
    for (uint32_t i = 1; ok && i < diff->trie.n; i++) {
        depths[i] = depths[diff->trie.nodes[i].parent] + 1;
        if (!is_leaf(c, i))
            continue;
        int64_t before = sum_at(&c->ends[0], i), now = sum_at(&c->ends[1], i);
        diff->stacks[n++] = (struct cairn_diff_stack){
            .old_self = before,
            .new_self = now,
            .change = change(c, before, now),
            .n_frames = depths[i],
            .stack = i,
        };
    }
    if (ok)
        qsort(diff->stacks, n, sizeof *diff->stacks, compare_stacks);
    diff->n_stacks = n;
    cairn_free(depths);
    return ok;
}

static bool compare(struct comparing *c)
{
    return count_side(c, 0) && count_side(c, 1) &&
           cairn_profile_pairs_make(c->diff->sides, &c->pairs) && make_functions(c) &&
           make_stacks(c);
}

int cairn_diff_new(const struct cairn_profile *old_profile, const struct cairn_profile *new_profile,
                   const struct cairn_diff_opts *opts, struct cairn_diff **ret_diff,
                   struct cairn_err *err)
{
    struct cairn_diff_opts o = {0};
    memcpy(&o, opts, opts->size < sizeof o ? opts->size : sizeof o);
    if (o.old_value_type >= old_profile->n_types || o.new_value_type >= new_profile->n_types)
        return cairn_fail(
            err, CAIRN_E_ARG, "value types %zu and %zu, the profiles have %zu and %zu",
            o.old_value_type, o.new_value_type, old_profile->n_types, new_profile->n_types);
    struct cairn_diff *diff = cairn_alloc(1, sizeof *diff);
    struct comparing c = {.diff = diff,
                          .profiles = {old_profile, new_profile},
                          .types = {o.old_value_type, o.new_value_type},
                          .opts = &o};
    bool ok = diff && compare(&c);
    cairn_profile_pairs_done(&c.pairs);
    for (size_t side = 0; side < 2; side++) {
        cairn_free(c.ends[side].sums);
        cairn_free(c.ends[side].is_leaf);
    }
    if (!ok) {
        cairn_diff_free(diff);
        return cairn_fail_memory(err);
    }
    *ret_diff = diff;
    return CAIRN_OK;
}

void cairn_diff_free(struct cairn_diff *diff)
{
    if (!diff)
        return;
    cairn_profile_rows_done(&diff->sides[0]);
    cairn_profile_rows_done(&diff->sides[1]);
    cairn_profile_trie_done(&diff->trie);
    cairn_free(diff->functions);
    cairn_free(diff->function_of);
    cairn_free(diff->stacks);
    cairn_free(diff);
}

size_t cairn_diff_functions(const struct cairn_diff *diff, const struct cairn_diff_row **ret_rows)
{
    *ret_rows = diff->functions;
    return diff->n_functions;
}

size_t cairn_diff_stacks(const struct cairn_diff *diff, const struct cairn_diff_stack **ret_stacks)
{
    *ret_stacks = diff->stacks;
    return diff->n_stacks;
}

size_t cairn_diff_frames(const struct cairn_diff *diff, uint32_t stack, uint32_t *functions,
                         size_t n)
{
    size_t depth = 0;
    if (stack >= diff->trie.n)
        return 0;
    for (uint32_t at = stack; at; at = diff->trie.nodes[at].parent, depth++)
        if (depth < n)
            functions[depth] = diff->function_of[diff->trie.nodes[at].row];
    return depth;
}

void cairn_diff_sums(const struct cairn_diff *diff, int64_t *ret_old, int64_t *ret_new)
{
    *ret_old = diff->sums[0];
    *ret_new = diff->sums[1];
}

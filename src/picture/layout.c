/* SPDX-License-Identifier: MIT */
/*
 * Depth first, with one list of entries for all open levels: the entries of a level are what may
 * come next below the node above it, sorted by look. Equal neighbours are one node. Children of a
 * group of entries are gathered behind the list and become the next level:
 *
 *     entries  | level 1 ...        | level 2 ...    | level 3
 *     levels     ^ next       ^ end
 *
 * So no node is ever searched for, and frames that look the same are merged where they meet.
 */
#include "picture/layout.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

/* One stack of the profile, or one of the looks that its frame stands for. */
struct entry {
    uint32_t look;
    uint32_t stack;
    uint32_t inner; /* looks of the same frame that follow, towards the leaf */
};

struct level {
    size_t begin, next, end; /* in entries */
};

struct builder {
    const struct cairn_profile *profile;
    const struct cairn_looks *looks;
    struct cairn_layout *layout;
    size_t n_new;           /* samples from here on are old ones */
    uint32_t *first_child;  /* by stack; 0: none, for the empty stack is nobody's child */
    uint32_t *next_sibling; /* by stack */
    uint32_t *first_sample; /* by stack, plus 1; 0: none */
    uint32_t *next_sample;  /* by sample, plus 1 */
    struct entry *entries;
    size_t n_entries, cap_entries;
    struct level *levels;
    size_t n_levels, cap_levels;
};

/* Backwards, so that each list comes out in the order of the profile. */
static int link_stacks(struct builder *b)
{
    const struct cairn_profile *p = b->profile;
    b->first_child = cairn_alloc(p->n_stacks, sizeof *b->first_child);
    b->next_sibling = cairn_alloc(p->n_stacks, sizeof *b->next_sibling);
    b->first_sample = cairn_alloc(p->n_stacks, sizeof *b->first_sample);
    b->next_sample = cairn_alloc(p->n_samples, sizeof *b->next_sample);
    if (!b->first_child || !b->next_sibling || !b->first_sample || !b->next_sample)
        return CAIRN_E_NOMEM;
    for (uint32_t stack = (uint32_t)p->n_stacks; stack-- > 1;) {
        uint32_t parent = p->stacks[stack].parent;
        b->next_sibling[stack] = b->first_child[parent];
        b->first_child[parent] = stack;
    }
    for (uint32_t sample = (uint32_t)p->n_samples; sample-- > 0;) {
        uint32_t stack = p->samples[sample].stack;
        b->next_sample[sample] = b->first_sample[stack];
        b->first_sample[stack] = sample + 1;
    }
    return CAIRN_OK;
}

/* Room for every node there could be: memory that is not touched costs nothing. */
static int reserve_nodes(struct builder *b, struct cairn_err *err)
{
    const struct cairn_profile *p = b->profile;
    uint64_t n = 1;
    for (size_t stack = 1; stack < p->n_stacks; stack++) {
        uint32_t frame = p->stacks[stack].frame;
        n += b->looks->first[frame + 1] - b->looks->first[frame];
    }
    if (n > INT32_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT,
                          "picture: %llu frames with those inlined, at most 2^31 can be drawn",
                          (unsigned long long)n);
    struct cairn_layout *layout = b->layout;
    layout->n_sides = b->n_new == SIZE_MAX ? 1 : CAIRN_SIDES;
    uint64_t n_values = n * layout->n_sides * (p->n_types ? p->n_types : 1);
    if (n_values > SIZE_MAX) /* where pointers have 32 bits */
        return cairn_fail_memory(err);
    layout->cap = (size_t)n;
    layout->n_types = p->n_types;
    layout->looks = cairn_alloc(layout->cap, sizeof *layout->looks);
    layout->depths = cairn_alloc(layout->cap, sizeof *layout->depths);
    layout->self = cairn_alloc((size_t)n_values, sizeof *layout->self);
    layout->nodes = cairn_alloc(p->n_stacks, sizeof *layout->nodes);
    if (!layout->looks || !layout->depths || !layout->self || !layout->nodes)
        return cairn_fail_memory(err);
    return CAIRN_OK;
}

/* Hostile files hold values whose sum is none. */
static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static void add_self(struct builder *b, size_t node, uint32_t stack)
{
    const struct cairn_profile *p = b->profile;
    b->layout->nodes[stack] = (uint32_t)node;
    for (uint32_t at = b->first_sample[stack]; at; at = b->next_sample[at - 1]) {
        size_t first = at - 1 < b->n_new ? 0 : p->n_types;
        for (size_t type = 0; type < p->n_types; type++) {
            int64_t *sum = &b->layout->self[(first + type) * b->layout->cap + node];
            *sum = add_clamped(*sum, p->values[(size_t)(at - 1) * p->n_types + type]);
        }
    }
}

static int gather_children(struct builder *b, uint32_t stack)
{
    for (uint32_t child = b->first_child[stack]; child; child = b->next_sibling[child]) {
        if (b->n_entries == b->cap_entries && cairn_grow((void **)&b->entries, &b->cap_entries,
                                                         b->n_entries + 1, sizeof *b->entries) < 0)
            return CAIRN_E_NOMEM;
        uint32_t frame = b->profile->stacks[child].frame;
        uint32_t first = b->looks->first[frame];
        b->entries[b->n_entries++] = (struct entry){b->looks->of_frames[first], child,
                                                    b->looks->first[frame + 1] - first - 1};
    }
    return CAIRN_OK;
}

/* The look that follows in the same frame. */
static int gather_inner(struct builder *b, struct entry outer)
{
    if (cairn_grow((void **)&b->entries, &b->cap_entries, b->n_entries + 1, sizeof *b->entries) < 0)
        return CAIRN_E_NOMEM;
    uint32_t end = b->looks->first[b->profile->stacks[outer.stack].frame + 1];
    b->entries[b->n_entries++] =
        (struct entry){b->looks->of_frames[end - outer.inner], outer.stack, outer.inner - 1};
    return CAIRN_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->look != y->look)
        return x->look < y->look ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Most nodes have a handful of children; qsort's setting up would cost more than the sorting. */
static void sort_entries(struct entry *entries, size_t n)
{
    enum { FEW = 16 };
    if (n > FEW) {
        qsort(entries, n, sizeof *entries, compare_entries);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct entry moved = entries[i];
        size_t at = i;
        for (; at > 0 && entries[at - 1].look > moved.look; at--)
            entries[at] = entries[at - 1];
        entries[at] = moved;
    }
}

/* Makes a level of what was gathered since `begin`, if anything was. */
static int open_level(struct builder *b, size_t begin)
{
    if (b->n_entries == begin)
        return CAIRN_OK;
    if (cairn_grow((void **)&b->levels, &b->cap_levels, b->n_levels + 1, sizeof *b->levels) < 0)
        return CAIRN_E_NOMEM;
    sort_entries(b->entries + begin, b->n_entries - begin);
    b->levels[b->n_levels++] = (struct level){begin, begin, b->n_entries};
    return CAIRN_OK;
}

static size_t add_node(struct builder *b, uint32_t look)
{
    struct cairn_layout *layout = b->layout;
    layout->looks[layout->n] = look;
    layout->depths[layout->n] = (uint32_t)b->n_levels;
    if (b->n_levels > layout->depth_max)
        layout->depth_max = (uint32_t)b->n_levels;
    return layout->n++;
}

/* The next group of equal entries becomes a node, what is below it the next level. */
static int take_group(struct builder *b)
{
    struct level *level = &b->levels[b->n_levels - 1];
    size_t at = level->next, end = at + 1;
    while (end < level->end && b->entries[end].look == b->entries[at].look)
        end++;
    level->next = end;

    size_t begin = b->n_entries;
    size_t node = add_node(b, b->entries[at].look);
    for (; at < end; at++) {
        struct entry entry = b->entries[at]; /* a copy: gathering moves the array */
        int rc = CAIRN_OK;
        if (entry.inner) {
            rc = gather_inner(b, entry);
        } else {
            add_self(b, node, entry.stack);
            rc = gather_children(b, entry.stack);
        }
        if (rc < 0)
            return rc;
    }
    return open_level(b, begin);
}

static int build_tree(struct builder *b)
{
    add_node(b, CAIRN_LAYOUT_ROOT);
    if (b->profile->n_stacks == 0)
        return CAIRN_OK;
    add_self(b, 0, 0);
    int rc = gather_children(b, 0);
    if (rc == CAIRN_OK)
        rc = open_level(b, 0);
    while (rc == CAIRN_OK && b->n_levels > 0) {
        struct level *level = &b->levels[b->n_levels - 1];
        if (level->next < level->end) {
            rc = take_group(b);
        } else {
            b->n_entries = level->begin;
            b->n_levels--;
        }
    }
    return rc;
}

int cairn_layout_build(const struct cairn_profile *profile, const struct cairn_looks *looks,
                       size_t n_new, struct cairn_layout *ret_layout, struct cairn_err *err)
{
    struct cairn_layout layout = {0};
    struct builder b = {.profile = profile, .looks = looks, .layout = &layout, .n_new = n_new};
    int rc = reserve_nodes(&b, err);
    if (rc == CAIRN_OK && (link_stacks(&b) < 0 || build_tree(&b) < 0))
        rc = cairn_fail_memory(err);
    cairn_free(b.first_child);
    cairn_free(b.next_sibling);
    cairn_free(b.first_sample);
    cairn_free(b.next_sample);
    cairn_free(b.entries);
    cairn_free(b.levels);
    if (rc < 0)
        cairn_layout_done(&layout);
    else
        *ret_layout = layout;
    return rc;
}

void cairn_layout_done(struct cairn_layout *layout)
{
    cairn_free(layout->looks);
    cairn_free(layout->depths);
    cairn_free(layout->self);
    cairn_free(layout->nodes);
    *layout = (struct cairn_layout){0};
}

int64_t *cairn_layout_totals(const struct cairn_layout *layout, size_t type)
{
    int64_t *totals = cairn_alloc(layout->n, sizeof *totals);
    /* Children follow their parent, so a walk backwards finds each child's sum complete; `open`
     * collects, by depth, what belongs to the parent yet to come. */
    int64_t *open = cairn_alloc((size_t)layout->depth_max + 2, sizeof *open);
    if (!totals || !open) {
        cairn_free(totals);
        cairn_free(open);
        return NULL;
    }
    const int64_t *self = cairn_layout_self(layout, CAIRN_SIDE_NEW, type);
    for (size_t node = layout->n; node-- > 0;) {
        uint32_t depth = layout->depths[node];
        totals[node] = add_clamped(self[node], open[depth + 1]);
        open[depth + 1] = 0;
        open[depth] = add_clamped(open[depth], totals[node]);
    }
    cairn_free(open);
    return totals;
}

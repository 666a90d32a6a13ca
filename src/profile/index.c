/* SPDX-License-Identifier: MIT */
#include "profile/index.h"

#include "base/alloc.h"

enum { SLOTS_FIRST = 64 };

static uint32_t *free_slot(const struct cairn_profile_slots *s, uint64_t hash)
{
    size_t at = (size_t)hash & (s->n_slots - 1);
    while (s->slots[at])
        at = (at + 1) & (s->n_slots - 1);
    return &s->slots[at];
}

/* Room for `n` things at a load of at most 3/4; growing starts the indexing over. */
static bool make_room(struct cairn_profile_slots *s, size_t n)
{
    if (n < s->n_slots / 4 * 3)
        return true;
    size_t n_slots = SLOTS_FIRST;
    while (n >= n_slots / 4 * 3)
        n_slots *= 2;
    uint32_t *slots = cairn_alloc(n_slots, sizeof *slots);
    if (!slots)
        return false;
    cairn_free(s->slots);
    *s = (struct cairn_profile_slots){.slots = slots, .n_slots = n_slots, .n_indexed = 1};
    return true;
}

uint32_t *cairn_profile_slot(const struct cairn_profile *p, struct cairn_profile_slots *s,
                             const struct cairn_profile_rule *rule, size_t n, uint64_t hash,
                             const void *thing)
{
    if (n >= CAIRN_PROFILE_NUMBERS_MAX || !make_room(s, n))
        return NULL;
    for (; s->n_indexed < n; s->n_indexed++)
        *free_slot(s, rule->hash_of(p, (uint32_t)s->n_indexed)) = (uint32_t)s->n_indexed;
    size_t at = (size_t)hash & (s->n_slots - 1);
    while (s->slots[at] && !rule->is(p, s->slots[at], thing))
        at = (at + 1) & (s->n_slots - 1);
    if (!s->slots[at])
        s->n_indexed = n + 1; /* by the caller, at once */
    return &s->slots[at];
}

struct cairn_profile_index *cairn_profile_need_index(struct cairn_profile *p)
{
    if (!p->index)
        p->index = cairn_alloc(1, sizeof *p->index);
    return p->index;
}

void cairn_profile_drop_index(struct cairn_profile *p)
{
    struct cairn_profile_index *index = p->index;
    if (!index)
        return;
    cairn_free(index->modules.slots);
    cairn_free(index->functions.slots);
    cairn_free(index->frames.slots);
    cairn_free(index->label_sets.slots);
    cairn_free(index->samples.slots);
    cairn_profile_children_done(&index->children);
    cairn_free(index);
    p->index = NULL;
}

void cairn_profile_forget_samples(struct cairn_profile *p)
{
    if (!p->index)
        return;
    cairn_free(p->index->samples.slots);
    p->index->samples = (struct cairn_profile_slots){0};
}

void cairn_profile_forget_label_sets(struct cairn_profile *p)
{
    if (!p->index)
        return;
    cairn_free(p->index->label_sets.slots);
    p->index->label_sets = (struct cairn_profile_slots){0};
}

void cairn_profile_empty(struct cairn_profile *p)
{
    struct cairn_profile_index *index = p->index;
    p->n_samples = 0;
    p->n_stacks = 1;
    if (!index)
        return;
    if (index->samples.slots)
        memset(index->samples.slots, 0, index->samples.n_slots * sizeof *index->samples.slots);
    index->samples.n_indexed = 1;
    cairn_table_done(&index->children.crowd);
    index->children.crowd = (struct cairn_table){0};
    index->n_linked = 0;
}

static uint32_t frame_of(const void *ctx, uint32_t stack)
{
    const struct cairn_profile *p = ctx;
    return p->stacks[stack].frame;
}

/* As cairn_profile_child() has it. */
static uint32_t find_child(const struct cairn_profile *p, uint32_t parent, uint32_t frame,
                           bool *ret_full)
{
    return cairn_profile_child(&p->index->children, parent, frame, frame_of, p, ret_full);
}

/* Makes an existing stack known to the index as a child of its parent. */
static bool link_child(struct cairn_profile *p, uint32_t stack, bool is_full)
{
    const struct cairn_profile_stack *s = &p->stacks[stack];
    return cairn_profile_link_child(&p->index->children, s->parent, s->frame, stack, is_full);
}

/* Links the stacks that are not known yet, and makes room for one more. */
static bool need_links(struct cairn_profile *p)
{
    struct cairn_profile_index *index = cairn_profile_need_index(p);
    if (!index || !cairn_profile_children_reserve(&index->children, p->n_stacks + 1))
        return false;
    if (index->n_linked == 0)
        index->children.links[index->n_linked++] = (struct cairn_profile_link){0};
    for (; index->n_linked < p->n_stacks; index->n_linked++) {
        uint32_t stack = (uint32_t)index->n_linked;
        bool full = false;
        find_child(p, p->stacks[stack].parent, p->stacks[stack].frame, &full);
        if (!link_child(p, stack, full))
            return false;
    }
    return true;
}

uint32_t cairn_profile_add_stack(struct cairn_profile *p, uint32_t parent, uint32_t frame)
{
    if (parent >= p->n_stacks || frame == 0 || frame >= p->n_frames ||
        p->n_stacks >= CAIRN_PROFILE_NUMBERS_MAX)
        return UINT32_MAX;
    bool ready =
        p->index && p->index->n_linked == p->n_stacks && p->n_stacks < p->index->children.cap;
    if (__builtin_expect(!ready, 0) && !need_links(p))
        return UINT32_MAX;
    bool full = false;
    uint32_t found = find_child(p, parent, frame, &full);
    if (found)
        return found;
    if (p->closed >= CAIRN_PROFILE_NO_STACKS ||
        cairn_grow((void **)&p->stacks, &p->cap_stacks, p->n_stacks + 1, sizeof *p->stacks) < 0)
        return UINT32_MAX;
    uint32_t number = (uint32_t)p->n_stacks;
    p->stacks[number] = (struct cairn_profile_stack){.parent = parent, .frame = frame};
    if (!link_child(p, number, full))
        return UINT32_MAX;
    p->n_stacks++;
    p->index->n_linked++;
    return number;
}

/* SPDX-License-Identifier: MIT */
#include "profile/trie.h"

#include "base/alloc.h"

enum { CHAIN_MAX = 32 };

static uint64_t key_of(uint32_t parent, uint32_t frame)
{
    return (uint64_t)parent << 32 | frame;
}

void cairn_profile_trie_done(struct cairn_profile_trie *t)
{
    cairn_free(t->child);
    cairn_free(t->sibling);
    cairn_table_done(&t->wide);
    *t = (struct cairn_profile_trie){0};
}

/* Moves a chain that has grown long into the table. */
static bool widen(struct cairn_profile_trie *t, const struct cairn_profile *p, uint32_t parent)
{
    for (uint32_t at = t->child[parent]; at; at = t->sibling[at])
        if (cairn_table_set(&t->wide, key_of(parent, p->stacks[at].frame), at) < 0)
            return false;
    return cairn_table_set(&t->wide, key_of(parent, 0), 0) == CAIRN_OK;
}

enum found { FOUND, ABSENT, ABSENT_WIDE, NO_MEMORY };

static enum found find(struct cairn_profile_trie *t, const struct cairn_profile *p, uint32_t parent,
                       uint32_t frame, uint32_t *ret_stack)
{
    unsigned steps = 0;
    for (uint32_t at = t->child[parent]; at; at = t->sibling[at]) {
        if (p->stacks[at].frame == frame) {
            *ret_stack = at;
            return FOUND;
        }
        if (++steps < CHAIN_MAX)
            continue;
        uint32_t ignored;
        if (!cairn_table_find(&t->wide, key_of(parent, 0), &ignored) && !widen(t, p, parent))
            return NO_MEMORY;
        return cairn_table_find(&t->wide, key_of(parent, frame), ret_stack) ? FOUND : ABSENT_WIDE;
    }
    return ABSENT;
}

/* Room for stack number `n` in all three arrays. */
static bool reserve(struct cairn_profile_trie *t, struct cairn_profile *p, size_t n)
{
    size_t old_child = t->cap_child;
    if (n >= INT32_MAX ||
        cairn_grow((void **)&p->stacks, &p->cap_stacks, n + 1, sizeof *p->stacks) < 0 ||
        cairn_grow((void **)&t->sibling, &t->cap_sibling, n + 1, sizeof *t->sibling) < 0 ||
        cairn_grow((void **)&t->child, &t->cap_child, n + 1, sizeof *t->child) < 0)
        return false;
    if (old_child == 0)
        t->child[0] = t->sibling[0] = 0;
    return true;
}

uint32_t cairn_profile_trie_add(struct cairn_profile_trie *t, struct cairn_profile *p,
                                uint32_t parent, uint32_t frame, bool *io_fresh)
{
    size_t n = p->n_stacks;
    if ((n >= t->cap_child || n >= t->cap_sibling || n >= p->cap_stacks) && !reserve(t, p, n))
        return UINT32_MAX;
    uint32_t stack;
    enum found found = *io_fresh ? ABSENT : find(t, p, parent, frame, &stack);
    if (found == FOUND)
        return stack;
    if (found == NO_MEMORY ||
        (found == ABSENT_WIDE && cairn_table_set(&t->wide, key_of(parent, frame), (uint32_t)n) < 0))
        return UINT32_MAX;
    stack = (uint32_t)p->n_stacks++;
    p->stacks[stack] = (struct cairn_profile_stack){parent, frame};
    t->child[stack] = 0;
    t->sibling[stack] = t->child[parent];
    t->child[parent] = stack;
    *io_fresh = true;
    return stack;
}

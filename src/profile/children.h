/* SPDX-License-Identifier: MIT */
/*
 * Children: the nodes below each node of a tree that grows, found by a key. The first CHILDREN_MAX
 * of a parent are in a chain, all others in a table, so that no input makes a chain long; a new
 * node below a new parent, the usual case, touches only memory that was just written.
 */
#ifndef CAIRN_PROFILE_CHILDREN_H
#define CAIRN_PROFILE_CHILDREN_H

#include <cairn/error.h>

#include "base/alloc.h"
#include "base/table.h"

enum { CAIRN_CHILDREN_MAX = 16 };

struct cairn_profile_link {
    uint32_t first_child, next_sibling; /* 0: none; the root is no child */
};

struct cairn_profile_children {
    struct cairn_profile_link *links; /* by node */
    size_t cap;
    struct cairn_table crowd; /* parent << 32 | key, of those that are in no chain */
};

/* The key of a node, by its number. */
typedef uint32_t (*cairn_profile_key_fn)(const void *ctx, uint32_t node);

static inline uint64_t cairn_profile_child_key(uint32_t parent, uint32_t key)
{
    return (uint64_t)parent << 32 | key;
}

/* Links for `n` nodes; those that are new are not set yet. False where memory is gone. */
static inline bool cairn_profile_children_reserve(struct cairn_profile_children *c, size_t n)
{
    return cairn_grow((void **)&c->links, &c->cap, n, sizeof *c->links) == CAIRN_OK;
}

static inline void cairn_profile_children_done(struct cairn_profile_children *c)
{
    cairn_free(c->links);
    cairn_table_done(&c->crowd);
    *c = (struct cairn_profile_children){0};
}

/* The child of that key, or 0; `ret_full`: the parent's chain takes no more. */
static inline uint32_t cairn_profile_child(const struct cairn_profile_children *c, uint32_t parent,
                                           uint32_t key, cairn_profile_key_fn key_of,
                                           const void *ctx, bool *ret_full)
{
    unsigned n = 0;
    uint32_t child = c->links[parent].first_child;
    for (; child; child = c->links[child].next_sibling, n++)
        if (key_of(ctx, child) == key)
            return child;
    *ret_full = n >= CAIRN_CHILDREN_MAX;
    if (*ret_full)
        cairn_table_find(&c->crowd, cairn_profile_child_key(parent, key), &child);
    return child;
}

/* Makes a node a child of its parent, whose chain `is_full`; there is a link for it. False where
 * memory is gone. */
static inline bool cairn_profile_link_child(struct cairn_profile_children *c, uint32_t parent,
                                            uint32_t key, uint32_t node, bool is_full)
{
    c->links[node] = (struct cairn_profile_link){0};
    if (is_full)
        return cairn_table_set(&c->crowd, cairn_profile_child_key(parent, key), node) == CAIRN_OK;
    c->links[node].next_sibling = c->links[parent].first_child;
    c->links[parent].first_child = node;
    return true;
}

#endif /* CAIRN_PROFILE_CHILDREN_H */

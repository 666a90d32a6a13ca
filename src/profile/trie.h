/* SPDX-License-Identifier: MIT */
/*
 * Adding stacks in bulk, for readers of whole files: the children of a stack as a chain.
 *
 *     child[stack] ─► newest child ─► sibling[...] ─► ... ─► 0
 *
 * Neighbouring stacks of a file share most of their path, so a reader asks only where they part;
 * below a new stack everything is new and is appended without asking (two words written in order,
 * where a hash table would touch a cache line for each). A stack with many children moves them into
 * a table, so that hostile input cannot make chains long.
 */
#ifndef CAIRN_PROFILE_TRIE_H
#define CAIRN_PROFILE_TRIE_H

#include "profile/profile.h"

struct cairn_profile_trie {
    uint32_t *child, *sibling; /* by stack; 0: none */
    size_t cap_child, cap_sibling;
    struct cairn_table wide; /* (stack, frame) -> child; (stack, 0): this stack's are in here */
};

/* All-zero is an empty trie for a profile without stacks. While it is in use, stacks are added only
 * through it. */
void cairn_profile_trie_done(struct cairn_profile_trie *t);

/* The stack of `frame` below `parent`, new or old; UINT32_MAX where memory is gone or 2^31 stacks
 * are reached. `*io_fresh` says that `parent` was new in this very path, so has no children; it
 * becomes true once a stack is new. */
uint32_t cairn_profile_trie_add(struct cairn_profile_trie *t, struct cairn_profile *p,
                                uint32_t parent, uint32_t frame, bool *io_fresh);

#endif /* CAIRN_PROFILE_TRIE_H */

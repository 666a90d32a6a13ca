/* SPDX-License-Identifier: MIT */
/*
 * Trie: stacks of rows, each once. Node 0 is the root and no row; a parent's number is always
 * smaller than its child's, so that what children have is summed into parents in one pass from the
 * end.
 *
 * Children are found in a chain below their parent, those beyond the first few in a table: a new
 * node touches memory that was just written (profile/index.h does the same with stacks).
 */
#ifndef CAIRN_PROFILE_TRIE_H
#define CAIRN_PROFILE_TRIE_H

#include "profile/children.h"
#include "profile/rows.h"

struct cairn_profile_trie_node {
    uint32_t parent, row;
};

struct cairn_profile_trie {
    struct cairn_profile_trie_node *nodes;
    size_t n, cap;
    struct cairn_profile_children children; /* by row; none: no more are added */
};

bool cairn_profile_trie_init(struct cairn_profile_trie *trie); /* false where memory is gone */
void cairn_profile_trie_done(struct cairn_profile_trie *trie); /* all-zero is fine */

/* The node of `row` below `parent`, made where there is none; UINT32_MAX where memory is gone or
 * there are CAIRN_PROFILE_NUMBERS_MAX of them. */
uint32_t cairn_profile_trie_child(struct cairn_profile_trie *trie, uint32_t parent, uint32_t row);

/* Frees what finds children: nodes are only read from now on. */
void cairn_profile_trie_close(struct cairn_profile_trie *trie);

/* By stack that samples reach: its node, after the rows of all its frames, outermost first. `map`
 * (or NULL) turns a row of the profile into one of the trie. NULL where memory is gone; to be freed
 * with cairn_free(). */
uint32_t *cairn_profile_trie_add(struct cairn_profile_trie *trie, const struct cairn_profile *p,
                                 const struct cairn_profile_rows *rows,
                                 const struct cairn_profile_sums *sums, const uint32_t *map);

#endif /* CAIRN_PROFILE_TRIE_H */

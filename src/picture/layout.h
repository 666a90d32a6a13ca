/* SPDX-License-Identifier: MIT */
/*
 * Layout: the tree that a flame graph shows, every node of it, in preorder.
 *
 *     main ─┬─ get ── hash          node   0 (all)  1 main  2 get  3 hash  4 put
 *           └─ put                  depth  0        1       2      3       2
 *
 * A node is one look under one parent: addresses of the same function are merged, inlined calls are
 * nodes of their own. Children stand in the order of their names. Node 0 is the root and stands for
 * all samples; its look is CAIRN_LAYOUT_ROOT.
 */
#ifndef CAIRN_PICTURE_LAYOUT_H
#define CAIRN_PICTURE_LAYOUT_H

#include <cairn/error.h>

#include "picture/look.h"

enum { CAIRN_LAYOUT_ROOT = UINT32_MAX };

struct cairn_layout {
    uint32_t *looks;
    uint32_t *depths;
    int64_t *self;   /* rows of `cap` nodes: cairn_layout_self() */
    uint32_t *nodes; /* by stack of the profile: where it ends */
    size_t n, cap;
    size_t n_types, n_sides;
    uint32_t depth_max;
};

/* Whose samples? In a comparison those of an older profile stand behind those of the new one. */
enum cairn_side { CAIRN_SIDE_NEW, CAIRN_SIDE_OLD, CAIRN_SIDES };

/* Samples from number `n_new` on are old ones; SIZE_MAX: there are none, and no such side.
 * CAIRN_E_NOMEM; CAIRN_E_LIMIT for more than 2^31 nodes. O(n log n) at worst, where n counts the
 * stacks of the profile with their inlined frames; O(n) where siblings are few. */
int cairn_layout_build(const struct cairn_profile *profile, const struct cairn_looks *looks,
                       size_t n_new, struct cairn_layout *ret_layout, struct cairn_err *err);
void cairn_layout_done(struct cairn_layout *layout); /* all-zero is fine */

/* What ended in each node, for one value type. */
static inline const int64_t *cairn_layout_self(const struct cairn_layout *layout,
                                               enum cairn_side side, size_t type)
{
    return layout->self + (side * layout->n_types + type) * layout->cap;
}

/* What of the new side ended in each node or above it; `layout->n` numbers to be freed with
 * cairn_free(). NULL where memory is gone. */
int64_t *cairn_layout_totals(const struct cairn_layout *layout, size_t type);

#endif /* CAIRN_PICTURE_LAYOUT_H */

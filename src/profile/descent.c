/* SPDX-License-Identifier: MIT */
#include "profile/descent.h"

#include "base/alloc.h"

/* Backwards, as parents have smaller numbers than their children: a stack's own total is whole
 * when it is added to its parent's. */
static void fill(const struct cairn_profile *p, const struct cairn_profile_sums *sums,
                 struct cairn_profile_descent *d)
{
    memcpy(d->totals, sums->by_stack, p->n_stacks * sizeof *d->totals);
    for (uint32_t stack = (uint32_t)p->n_stacks; stack-- > 1;) {
        if (!sums->used[stack] && !d->first_child[stack])
            continue;
        uint32_t parent = p->stacks[stack].parent;
        d->next_sibling[stack] = d->first_child[parent];
        d->first_child[parent] = stack;
        d->totals[parent] = cairn_profile_add_clamped(d->totals[parent], d->totals[stack]);
    }
}

bool cairn_profile_descent_make(const struct cairn_profile *p,
                                const struct cairn_profile_sums *sums,
                                struct cairn_profile_descent *ret_descent)
{
    struct cairn_profile_descent d = {
        .first_child = cairn_alloc(p->n_stacks, sizeof *d.first_child),
        .next_sibling = cairn_alloc(p->n_stacks, sizeof *d.next_sibling),
        .totals = cairn_alloc(p->n_stacks, sizeof *d.totals),
    };
    if (!d.first_child || !d.next_sibling || !d.totals) {
        cairn_profile_descent_done(&d);
        return false;
    }
    fill(p, sums, &d);
    *ret_descent = d;
    return true;
}

void cairn_profile_descent_done(struct cairn_profile_descent *d)
{
    cairn_free(d->first_child);
    cairn_free(d->next_sibling);
    cairn_free(d->totals);
    *d = (struct cairn_profile_descent){0};
}

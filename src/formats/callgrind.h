/* SPDX-License-Identifier: MIT */
/*
 * Callgrind's graph: what each function costs itself, and by each call from each of its lines.
 *
 *     stack a;b;c 5   ─►   c: 5 itself    b calls c: 5    a calls b: 5    [all] calls a: 5
 *
 * A function that is on a stack again is another one, "b'2", so that no call is counted twice.
 */
#ifndef CAIRN_FORMATS_CALLGRIND_H
#define CAIRN_FORMATS_CALLGRIND_H

#include "formats/tracks.h"
#include "formats/viewer.h"

enum { CAIRN_CALLGRIND_ALL = 0 }; /* the node that calls all roots */

/* A function at one level of its recursion, from 1. */
struct cairn_callgrind_node {
    uint32_t function, level; /* [ALL] is no function */
};

/* What a function costs at one line, itself or by a call from there. */
struct cairn_callgrind_cost {
    uint32_t node, line, callee; /* `callee` is ALL for its own cost: nothing calls that */
    uint32_t n;                  /* stacks that were summed */
    size_t at;                   /* its values, one of each type, in `sums` */
};

struct cairn_callgrind {
    const struct cairn_profile *p;
    struct cairn_tracks tracks;
    struct cairn_viewer viewer;
    int64_t *values;   /* n_types for each row of the viewer: its own, then of all below, too */
    uint32_t *node_of; /* by row */
    struct cairn_callgrind_node *nodes;
    size_t n_nodes, cap_nodes;
    struct cairn_callgrind_cost *costs; /* by node; its own come first */
    size_t n_costs, cap_costs;
    int64_t *sums;
    size_t n_sums, cap_sums;
    struct cairn_table known_nodes, known_costs;
};

/* CAIRN_E_NOMEM. */
int cairn_callgrind_build(const struct cairn_profile *p, struct cairn_callgrind *ret_graph,
                          struct cairn_err *err);
void cairn_callgrind_done(struct cairn_callgrind *graph); /* all-zero is fine */

#endif /* CAIRN_FORMATS_CALLGRIND_H */

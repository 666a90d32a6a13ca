/* SPDX-License-Identifier: MIT */
/*
 * The functions of a unit and what was inlined into them, flat: intervals of addresses, each with a
 * node, and nodes that point to their caller.
 *
 *     subprogram outer  [10,90)          node 1: outer            parent 0
 *       inlined mid     [20,60)          node 2: mid,  call 7:12  parent 1
 *         inlined leaf  [30,40)          node 3: leaf, call 7:5   parent 2
 *
 *     At 35: leaf, called from mid at 7:5, called from outer at 7:12.
 *
 * Names are left where they are: a node knows the DIE that has (or leads to) its name, and only
 * those that are asked for are ever read (cairn_dwarf_function_name()).
 */
#ifndef CAIRN_DWARF_FUNCTION_H
#define CAIRN_DWARF_FUNCTION_H

#include "dwarf/unit.h"

struct cairn_dwarf_node {
    uint32_t die;       /* offset in .debug_info: where the search for the name begins */
    uint32_t call_file; /* index in the unit's files; inlined nodes only */
    uint32_t call_line;
    uint32_t parent; /* number of the node it is inlined into; 0: a function of its own */
};

/* [low, high), distances from cairn_dwarf_base(). Callers stand before what they call. */
struct cairn_dwarf_interval {
    uint32_t low, high;
    uint32_t node;
};

/* A namespace or type, for qualified names; sorted by `off`. */
struct cairn_dwarf_scope {
    uint32_t off, end; /* the DIE and all below it; end 0: it has no children */
    uint32_t parent;   /* number of the scope around it, 0: none */
    uint32_t function; /* DIE of the innermost function around it; 0: none */
    bool skipped;      /* what is inside was not looked at */
};

struct cairn_dwarf_functions {
    struct cairn_dwarf_node *nodes; /* node number n is nodes[n - 1]; 0 means none */
    size_t n_nodes, cap_nodes;
    struct cairn_dwarf_interval *intervals;
    size_t n_intervals, cap_intervals;
    struct cairn_dwarf_scope *scopes; /* scope number n is scopes[n - 1]; none for units in C */
    size_t n_scopes, cap_scopes;
    uint64_t n_ranges_read; /* entries of lists, also those that gave no interval */
};

/*
 * Walks the DIEs of an open unit. CAIRN_E_FORMAT, CAIRN_E_LIMIT: damaged or hostile, `err` says
 * where; what was read before is kept in `ret_functions` all the same. CAIRN_E_NOMEM.
 */
int cairn_dwarf_functions_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                               struct cairn_dwarf_functions *ret_functions, struct cairn_err *err);

/* The same, in memory that `functions` has from the unit before it. */
int cairn_dwarf_functions_read_again(const struct cairn_dwarf *d,
                                     const struct cairn_dwarf_unit *unit,
                                     struct cairn_dwarf_functions *functions,
                                     struct cairn_err *err);
void cairn_dwarf_functions_done(struct cairn_dwarf_functions *functions);

#endif /* CAIRN_DWARF_FUNCTION_H */

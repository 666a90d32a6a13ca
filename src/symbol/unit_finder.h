/* SPDX-License-Identifier: MIT */
/*
 * Finds the units that claim an address, as cheaply as the number of questions allows:
 *
 *                      the first questions             later ones
 *     .debug_aranges   one pass over the section       a map of it
 *     root DIEs        a walk that ends where the      a map of them, made once (or kept in a
 *                      asker is content                cache from an earlier run)
 *
 * Units are named by the offset of their header. Where ranges of units overlap, the one that comes
 * first in .debug_info goes first.
 */
#ifndef CAIRN_SYMBOL_UNIT_FINDER_H
#define CAIRN_SYMBOL_UNIT_FINDER_H

#include "symbol/unit_map.h"

struct cairn_unit_finder {
    struct cairn_dwarf_units *units;
    struct cairn_unit_map aranges, roots;
    bool has_aranges, has_roots; /* that map was made */
    unsigned n_scans, n_walks;   /* questions answered without it */
    bool expects_many;           /* there will be so many that none need be */
};

/* Asked of each unit that claims the address: 0 goes on, 1 ends the search, an error does too. */
typedef int (*cairn_unit_ask_fn)(void *ctx, uint64_t unit_off, struct cairn_err *err);

/* Reads nothing. `units` is borrowed until cairn_unit_finder_done(). */
void cairn_unit_finder_init(struct cairn_unit_finder *finder, struct cairn_dwarf_units *units);
void cairn_unit_finder_done(struct cairn_unit_finder *finder);

/* Asks the units to which .debug_aranges attributes `vaddr`: not all need be in there. Returns 1
 * where one of them ended the search, else CAIRN_OK; what `ask` failed with, or CAIRN_E_NOMEM. */
int cairn_unit_finder_ask_aranges(struct cairn_unit_finder *finder, uint64_t vaddr,
                                  cairn_unit_ask_fn ask, void *ctx, struct cairn_err *err);

/* The same for those whose root DIE claims it. */
int cairn_unit_finder_ask_roots(struct cairn_unit_finder *finder, uint64_t vaddr,
                                cairn_unit_ask_fn ask, void *ctx, struct cairn_err *err);

/* The map that is made with the least work: of the aranges, where there are any, else of the root
 * DIEs. Borrowed. CAIRN_E_NOMEM. */
int cairn_unit_finder_need_map(struct cairn_unit_finder *finder,
                               const struct cairn_unit_map **ret_map, struct cairn_err *err);

/* Makes both maps now, or that of root DIEs, for whoever wants to see all of them. CAIRN_E_NOMEM.
 */
int cairn_unit_finder_need_maps(struct cairn_unit_finder *finder, struct cairn_err *err);
int cairn_unit_finder_need_roots(struct cairn_unit_finder *finder, struct cairn_err *err);

/* Takes over a map of root DIEs that an earlier run made. */
void cairn_unit_finder_take_roots(struct cairn_unit_finder *finder, struct cairn_unit_map *map);

size_t cairn_unit_finder_bytes(const struct cairn_unit_finder *finder);

#endif /* CAIRN_SYMBOL_UNIT_FINDER_H */

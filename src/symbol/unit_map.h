/* SPDX-License-Identifier: MIT */
/*
 * Which units may know an address. Ranges of units overlap (folded code, discarded copies whose
 * ranges were not dropped), so an address can have several candidates.
 *
 *     sorted by low:   |---- unit 3 ----|  |-- unit 5 --|      |- unit 9 -|
 *                           |------- unit 4 -------|
 *     reach:           the highest end so far: tells how far back a search must look
 */
#ifndef CAIRN_SYMBOL_UNIT_MAP_H
#define CAIRN_SYMBOL_UNIT_MAP_H

#include "base/buffer.h"
#include "dwarf/unit.h"

struct cairn_unit_span {
    uint32_t low, high; /* distances from cairn_dwarf_base() */
    uint32_t unit;      /* offset of its header in .debug_info */
    uint32_t reach;
};

struct cairn_unit_map {
    struct cairn_unit_span *spans;
    size_t n, cap;
};

/* By .debug_aranges: no unit is looked at. Empty where there are none (clang writes none), and not
 * all units need be in it. CAIRN_E_NOMEM. */
int cairn_unit_map_read_aranges(const struct cairn_dwarf *d, struct cairn_unit_map *ret_map,
                                struct cairn_err *err);

/* By the root DIEs of all units: slower to make, for addresses that the aranges attribute to nobody
 * or to the wrong unit. A damaged unit is left out, with a warning. CAIRN_E_NOMEM. */
int cairn_unit_map_read_roots(struct cairn_dwarf_units *units, struct cairn_unit_map *ret_map,
                              struct cairn_err *err);

/*
 * For a file, little-endian, position-free:
 *
 *     | u32 low, high, unit | u32 low, high, unit | ...   sorted by low
 */
void cairn_unit_map_save(const struct cairn_unit_map *map, struct cairn_buffer *out);

/* What was saved, checked as the foreign bytes that they are: against themselves, and that units
 * lie in .debug_info. A map that names the wrong units costs names, never memory. CAIRN_E_FORMAT,
 * CAIRN_E_NOMEM. */
int cairn_unit_map_load(struct cairn_span saved, const struct cairn_dwarf_units *units,
                        struct cairn_unit_map *ret_map, struct cairn_err *err);
void cairn_unit_map_done(struct cairn_unit_map *map);

/* The next candidate for this distance from the base: start with `*cursor` = SIZE_MAX. `*ret_unit`
 * is the offset of its header; a unit may come twice. False when there are no more. */
bool cairn_unit_map_next(const struct cairn_unit_map *map, uint32_t at, size_t *cursor,
                         uint32_t *ret_unit);

#endif /* CAIRN_SYMBOL_UNIT_MAP_H */

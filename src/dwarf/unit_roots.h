/* SPDX-License-Identifier: MIT */
/*
 * A walk over the root DIEs of all units, for the ranges that they claim: of each unit one page is
 * touched, and no text; of the abbreviations only the root's own is compiled; no unit becomes known
 * by it. A unit with DW_AT_low_pc but without an end or ranges (clang 3.2 writes DW_AT_low_pc 0 and
 * no more) claims what the sequences of its line program cover.
 */
#ifndef CAIRN_DWARF_UNIT_ROOTS_H
#define CAIRN_DWARF_UNIT_ROOTS_H

#include "dwarf/line.h"
#include "dwarf/unit.h"

struct cairn_dwarf_roots {
    struct cairn_dwarf_units *units;
    uint64_t next; /* header */

    /* The unit that was reached; texts and abbreviations are unset. */
    struct cairn_dwarf_unit unit;
    struct cairn_dwarf_ranges ranges;

    struct cairn_dwarf_abbrev_maker one; /* the root's abbreviation, and where it was found */
    uint64_t one_off, one_code;
    struct cairn_dwarf_sizes one_sizes;
    uint64_t crossed;               /* bytes of .debug_abbrev, of all units so far */
    struct cairn_dwarf_lines lines; /* of a unit that does not say what it covers */
    uint64_t n_line_bytes;          /* that were read for such units so far */
    size_t n_damaged;               /* root DIEs; the first one's fault is in `damage` */
    struct cairn_err damage;
};

void cairn_dwarf_roots_begin(struct cairn_dwarf_roots *roots, struct cairn_dwarf_units *units);

/* On to the next unit that can hold code. 1: `unit` and `ranges` say what it claims (nothing, or
 * less, where it is damaged); 0: there is none; CAIRN_E_NOMEM. */
int cairn_dwarf_roots_next(struct cairn_dwarf_roots *roots, struct cairn_err *err);

/* Frees all, and gives one warning for all damage that was met. */
void cairn_dwarf_roots_done(struct cairn_dwarf_roots *roots);

#endif /* CAIRN_DWARF_UNIT_ROOTS_H */

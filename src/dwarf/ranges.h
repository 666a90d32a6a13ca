/* SPDX-License-Identifier: MIT */
/* Range lists: .debug_ranges (DWARF 2 to 4) and .debug_rnglists (DWARF 5, 7.25). Ranges that do not
 * begin in machine code are dropped here, once for all readers. */
#ifndef CAIRN_DWARF_RANGES_H
#define CAIRN_DWARF_RANGES_H

#include "dwarf/sections.h"

struct cairn_dwarf_unit;
struct cairn_dwarf_die;

struct cairn_dwarf_ranges {
    struct cairn_dwarf_range *ranges;
    size_t n, cap;
    uint64_t n_read; /* entries looked at so far, for the limit below */
};

void cairn_dwarf_ranges_done(struct cairn_dwarf_ranges *ranges);

/* Appends [low, high) where it is not empty and begins in code. CAIRN_E_NOMEM. */
int cairn_dwarf_ranges_add(const struct cairn_dwarf *d, struct cairn_dwarf_ranges *ranges,
                           uint64_t low, uint64_t high, struct cairn_err *err);

/*
 * Appends the list that DW_AT_ranges with this form and value points to. CAIRN_E_FORMAT: the list
 * does not end, or holds an unknown entry; what was read before it is kept. CAIRN_E_LIMIT: lists of
 * one reader add up to more entries than the section has bytes, so many of them share bytes on
 * purpose. CAIRN_E_NOMEM.
 */
int cairn_dwarf_ranges_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                            uint16_t form, uint64_t value, struct cairn_dwarf_ranges *ranges,
                            struct cairn_err *err);

/* Appends what a DIE covers: DW_AT_ranges, else DW_AT_low_pc with DW_AT_high_pc of either class. */
int cairn_dwarf_die_ranges(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                           const struct cairn_dwarf_die *die, struct cairn_dwarf_ranges *ranges,
                           struct cairn_err *err);

#endif /* CAIRN_DWARF_RANGES_H */

/* SPDX-License-Identifier: MIT */
/*
 * .debug_aranges (DWARF 5, 6.1.2): which unit holds which addresses, without a look at the units.
 * Not every compiler writes it (clang does not), and linkers keep what they find, so it may speak
 * of some units only.
 */
#ifndef CAIRN_DWARF_ARANGES_H
#define CAIRN_DWARF_ARANGES_H

#include "dwarf/sections.h"

/* Takes one range of machine code that belongs to the unit whose header is said to be at `unit_off`
 * of .debug_info, and lies inside it; nonzero stops. */
typedef int (*cairn_dwarf_arange_fn)(void *ctx, uint64_t unit_off, struct cairn_dwarf_range range);

/* Calls `each` for every range that begins in code. Damage ends the walk with a warning: what was
 * handed out before is sound. Returns what `each` returned. */
int cairn_dwarf_aranges_each(const struct cairn_dwarf *d, cairn_dwarf_arange_fn each, void *ctx);

#endif /* CAIRN_DWARF_ARANGES_H */

/* SPDX-License-Identifier: MIT */
/* Which DIEs and which of their values someone asks for: all that steps of abbreviations keep. */
#ifndef CAIRN_DWARF_ABBREV_WANTS_H
#define CAIRN_DWARF_ABBREV_WANTS_H

#include "dwarf/abbrev.h"

/* What a DIE of this tag is to us (enum cairn_dwarf_abbrev_kind), and a bit for each of its values
 * that is kept. */
uint8_t cairn_dwarf_kind_of(uint16_t tag, uint32_t *ret_wants);

/* The value that an attribute gives, CAIRN_DWARF_NOTHING where nobody asks for it. */
uint8_t cairn_dwarf_want_of(uint64_t attribute);

/* The same for most of the attributes below 128; 0: nothing, or it is a sibling. */
extern const uint8_t cairn_dwarf_standard_wants[128];

#endif /* CAIRN_DWARF_ABBREV_WANTS_H */

/* SPDX-License-Identifier: MIT */
/*
 * Entry: one DIE by its abbreviation as it stands in .debug_abbrev, with values that the compiled
 * abbreviations (abbrev.h) leave out. Each costs a search of the table: for few DIEs.
 */
#ifndef CAIRN_DWARF_ENTRY_H
#define CAIRN_DWARF_ENTRY_H

#include "dwarf/signature.h"

enum cairn_dwarf_entry_value {
    CAIRN_DWARF_ENTRY_NAME,
    CAIRN_DWARF_ENTRY_TYPE,
    CAIRN_DWARF_ENTRY_ORIGIN, /* DW_AT_abstract_origin, or DW_AT_specification */
    CAIRN_DWARF_ENTRY_BYTES,  /* DW_AT_byte_size */
    CAIRN_DWARF_ENTRY_ENCODING,
    CAIRN_DWARF_ENTRY_CONVENTION,
    CAIRN_DWARF_ENTRY_CONST,
    CAIRN_DWARF_ENTRY_VALUES
};

struct cairn_dwarf_entry {
    uint64_t off, next; /* of the DIE; behind its values */
    uint16_t tag;       /* 0: the end of a list of children */
    bool children;
    uint32_t present; /* bits by enum cairn_dwarf_entry_value */
    uint16_t form[CAIRN_DWARF_ENTRY_VALUES];
    uint64_t value[CAIRN_DWARF_ENTRY_VALUES];
};

static inline bool cairn_dwarf_entry_has(const struct cairn_dwarf_entry *entry,
                                         enum cairn_dwarf_entry_value value)
{
    return entry->present >> value & 1;
}

/* The DIE at `off` of .debug_info; `unit` is open. False: it is damaged. */
bool cairn_dwarf_entry_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                            uint64_t off, struct cairn_dwarf_entry *ret_entry);

/* The same wherever the DIE lives; `*ret_unit` is its open unit. CAIRN_E_MISSING: it is nowhere, or
 * damaged. CAIRN_E_NOMEM. */
int cairn_dwarf_entry_at(const struct cairn_dwarf_spot *spot, struct cairn_dwarf_unit **ret_unit,
                         struct cairn_dwarf_entry *ret_entry);

/* Where a value of the entry, a reference, leads. `home` is NULL where that is damaged or not here.
 * CAIRN_E_NOMEM. */
int cairn_dwarf_entry_follow(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit,
                             const struct cairn_dwarf_entry *entry,
                             enum cairn_dwarf_entry_value value, struct cairn_dwarf_spot *ret_spot);

#endif /* CAIRN_DWARF_ENTRY_H */

/* SPDX-License-Identifier: MIT */
/*
 * The index of a .dwp file: which parts of its sections belong to one unit. Two of them stand in a
 * file, .debug_cu_index by the ID of a .dwo and .debug_tu_index by the signature of a type (DWARF
 * 5, 7.3.5; the GNU extension to DWARF 4 has the same as version 2).
 *
 *     | version | n columns | n units | n slots |
 *     | signature of each slot ... | row of each slot, 1 to n units, 0: free ... |
 *     | column IDs | offsets, a row for each unit ... | sizes, a row for each unit ... |
 */
#ifndef CAIRN_DWARF_SPLIT_INDEX_H
#define CAIRN_DWARF_SPLIT_INDEX_H

#include "dwarf/sections.h"

/* The sections that names and ranges need. */
enum cairn_dwarf_part {
    CAIRN_DWARF_PART_INFO,
    CAIRN_DWARF_PART_TYPES, /* of version 2: type units have a section of their own */
    CAIRN_DWARF_PART_ABBREV,
    CAIRN_DWARF_PART_STR_OFFSETS,
    CAIRN_DWARF_PART_RNGLISTS,
    CAIRN_DWARF_N_PARTS
};

struct cairn_dwarf_split_index {
    struct cairn_span bytes; /* borrowed */
    bool swap;
    uint16_t version; /* 2 or 5; 0: there is no index */
    uint32_t n_columns, n_units, n_slots;
    uint32_t column[CAIRN_DWARF_N_PARTS]; /* counted from 1; 0: absent */
};

/* Where the parts of one unit lie in the sections of the .dwp; all zero where a section has none.
 */
struct cairn_dwarf_contribution {
    struct {
        uint64_t off, size;
    } part[CAIRN_DWARF_N_PARTS];
};

/* An empty section gives an index without units. CAIRN_E_FORMAT: damaged, or of another version. */
int cairn_dwarf_split_index_read(struct cairn_span section, bool swap,
                                 struct cairn_dwarf_split_index *ret_index, struct cairn_err *err);

/* By ID or signature. Nothing is known yet of where the contributions lie: they may overlap, or lie
 * outside their sections. False where it is not there. */
bool cairn_dwarf_split_index_find(const struct cairn_dwarf_split_index *index, uint64_t signature,
                                  struct cairn_dwarf_contribution *ret_contribution);

/* The signatures of all units, in no order, one a call; `*cursor` begins at 0. False: no more. */
bool cairn_dwarf_split_index_next(const struct cairn_dwarf_split_index *index, uint32_t *cursor,
                                  uint64_t *ret_signature);

#endif /* CAIRN_DWARF_SPLIT_INDEX_H */

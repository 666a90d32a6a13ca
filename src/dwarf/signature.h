/* SPDX-License-Identifier: MIT */
/* Units that are known by a number of 64 bits: type units by the signature of their type, the units
 * of a .dwo file by the ID that their skeletons have too. */
#ifndef CAIRN_DWARF_SIGNATURE_H
#define CAIRN_DWARF_SIGNATURE_H

#include "dwarf/split_index.h"
#include "dwarf/unit.h"

/* The two indexes of a .dwp file. */
struct cairn_dwarf_package {
    struct cairn_dwarf_split_index units, types;
};

/* The type unit, or unit of a .dwo, of that number; `*ret_unit` is NULL where there is none. The
 * first call reads all headers, or none where a .dwp has an index. CAIRN_E_NOMEM. */
int cairn_dwarf_find_signature(struct cairn_dwarf_units *units, uint64_t signature, bool of_type,
                               struct cairn_dwarf_unit **ret_unit, struct cairn_err *err);

/*
 * Reads and opens every unit, and makes what the first of the calls above would make: afterwards
 * reading changes nothing, and several threads may share `units`. Damage is told to nobody, whoever
 * asks for a damaged unit finds it damaged. CAIRN_E_NOMEM.
 */
int cairn_dwarf_units_prepare(struct cairn_dwarf_units *units, struct cairn_err *err);

/* A DIE, wherever it lives. */
struct cairn_dwarf_spot {
    struct cairn_dwarf_units *home; /* NULL: nowhere */
    uint64_t die;
};

/*
 * Where a reference of a DIE of `unit` leads: into the same .debug_info, to a type by its
 * signature, or into the supplementary file. `home` is NULL where that is damaged, or is in a file
 * that is not here. CAIRN_E_NOMEM.
 */
int cairn_dwarf_follow(struct cairn_dwarf_units *units, const struct cairn_dwarf_unit *unit,
                       uint16_t form, uint64_t value, struct cairn_dwarf_spot *ret_spot,
                       struct cairn_err *err);

#endif /* CAIRN_DWARF_SIGNATURE_H */

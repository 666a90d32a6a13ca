/* SPDX-License-Identifier: MIT */
/*
 * Split DWARF (DWARF 5, 3.1.2, and the GNU extension to DWARF 4): the module has a skeleton of each
 * unit, with its lines and addresses; the DIEs of functions are in a .dwo file or a .dwp. Both have
 * the same ID.
 *
 *     module:  | skeleton: ID, dwo_name, low_pc, addr_base | .debug_addr | .debug_line |
 *     .dwo:    | .debug_info.dwo: ID, functions | .debug_str_offsets.dwo | .debug_rnglists.dwo |
 */
#ifndef CAIRN_DWARF_SPLIT_H
#define CAIRN_DWARF_SPLIT_H

#include "dwarf/signature.h"

/*
 * The unit of a .dwo or .dwp that an open skeleton stands for, opened and told where its addresses
 * and range lists begin. It belongs to this skeleton from then on.
 *
 * CAIRN_E_MISSING: a .dwp without this ID. CAIRN_E_ARG: a .dwo of another build, `err` names both
 * IDs. CAIRN_E_FORMAT: damaged, or taken by another skeleton. CAIRN_E_NOMEM.
 */
int cairn_dwarf_split_find(struct cairn_dwarf_units *split, const struct cairn_dwarf_unit *skeleton,
                           struct cairn_dwarf_unit **ret_unit, struct cairn_err *err);

#endif /* CAIRN_DWARF_SPLIT_H */

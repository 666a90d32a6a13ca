/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_SYMBOL_INDEX_MERGE_H
#define CAIRN_SYMBOL_INDEX_MERGE_H

#include "symbol/index_image.h"
#include "symbol/index_units.h"

/* Puts the records of all units in the order of addresses. Where several units claim an address,
 * the one that answers is the one that cairn_module_find_place() would take. CAIRN_E_NOMEM,
 * CAIRN_E_LIMIT. */
int cairn_index_merge(const struct cairn_index_units *units, struct cairn_index_parts *parts,
                      struct cairn_err *err);

#endif /* CAIRN_SYMBOL_INDEX_MERGE_H */

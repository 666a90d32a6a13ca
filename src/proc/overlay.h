/* SPDX-License-Identifier: MIT */
/* Overlay: mappings in any order become sorted ones that lie apart. */
#ifndef CAIRN_PROC_OVERLAY_H
#define CAIRN_PROC_OVERLAY_H

#include <cairn/maps.h>

/*
 * Sorts `*rows` and cuts or splits each row where a later one of the array covers it; the file
 * offset of what is left follows. `*ret_n_covered` is how many rows lost something. The array may
 * move and, by splits, become up to twice as long. CAIRN_OK or CAIRN_E_NOMEM with all as it was.
 */
int cairn_overlay(struct cairn_map **rows, size_t *n, size_t *ret_n_covered);

#endif /* CAIRN_PROC_OVERLAY_H */

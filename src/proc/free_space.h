/* SPDX-License-Identifier: MIT */
/* Free space: addresses of a process that no mapping has. */
#ifndef CAIRN_PROC_FREE_SPACE_H
#define CAIRN_PROC_FREE_SPACE_H

#include <cairn/maps.h>

/* The lowest address of [low, high) from which on `n_bytes` up to `high` lie in unmapped pages of
 * `page` bytes; 0: there is none. */
uint64_t cairn_free_space_find(const struct cairn_maps *maps, uint64_t page, uint64_t low,
                               uint64_t high, uint64_t n_bytes);

#endif /* CAIRN_PROC_FREE_SPACE_H */

/* SPDX-License-Identifier: MIT */
#include "proc/free_space.h"

/* Mappings are sorted and do not overlap. */
uint64_t cairn_free_space_find(const struct cairn_maps *maps, uint64_t page, uint64_t low,
                               uint64_t high, uint64_t n_bytes)
{
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        const uint64_t last_page = (low + n_bytes - 1) & ~(page - 1);
        if (map->end <= (low & ~(page - 1)))
            continue;
        if (map->start > last_page)
            break;
        low = map->end;
    }
    return low <= high && high - low >= n_bytes ? low : 0;
}

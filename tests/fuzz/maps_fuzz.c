/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include <cairn/maps.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text of a maps file. What comes out is sorted, apart, and found at both of its ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_maps *maps = NULL;
    if (cairn_maps_parse(data, size, &maps, NULL) < 0)
        return 0;
    uint64_t end = 0;
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        if (map->start < end || map->end <= map->start || !map->path ||
            cairn_maps_find(maps, map->start) != map || cairn_maps_find(maps, map->end - 1) != map)
            abort();
        end = map->end;
    }
    cairn_maps_free(maps);
    return 0;
}

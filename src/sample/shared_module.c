/* SPDX-License-Identifier: MIT */
#include "sample/shared_module.h"

void cairn_shared_modules_done(struct cairn_shared_modules *shared)
{
    cairn_table_done(&shared->by_place);
    *shared = (struct cairn_shared_modules){0};
}

/* Code that is made at run time may be mapped from a file, too, but from one that has no name any
 * more; its names are known by the address in each process. */
static bool may_share(const struct cairn_space_map *map)
{
    return map->file && map->path && !map->is_deleted;
}

static uint64_t place_of(const struct cairn_space_map *map)
{
    const uint64_t place[] = {map->file, map->off, map->end - map->start,
                              (uint64_t)map->path << 32 | map->build_id};
    return cairn_hash_bytes(place, sizeof place);
}

uint32_t cairn_shared_module(struct cairn_shared_modules *shared, struct cairn_spaces *spaces,
                             struct cairn_space *space, struct cairn_space_map *map)
{
    uint32_t number;
    if (map->module || !may_share(map))
        return cairn_space_module(spaces, space, map);
    uint64_t place = place_of(map);
    if (cairn_table_find(&shared->by_place, place, &number))
        return map->module = number;
    number = cairn_space_module(spaces, space, map);
    if (number != UINT32_MAX && cairn_table_set(&shared->by_place, place, number) < 0)
        return UINT32_MAX;
    return number;
}

uint64_t cairn_shared_va(const struct cairn_profile *profile, const struct cairn_space_map *map,
                         uint64_t va)
{
    const struct cairn_profile_module *module = &profile->modules[map->module];
    return map->module ? va - map->start + map->off - module->off + module->start : va;
}

/* SPDX-License-Identifier: MIT */
#include "sample/shared_module.h"

/* As Linux calls such memory that has a name: [anon:...]. */
static const char anonymous_path[] = "[anon]";

void cairn_shared_modules_done(struct cairn_shared_modules *shared)
{
    cairn_table_done(&shared->by_place);
    cairn_table_done(&shared->made);
    *shared = (struct cairn_shared_modules){0};
}

/* Of no file, but known by its bytes: the vdso. */
static bool is_image(const struct cairn_stream_map *map)
{
    return map->file || map->build_id;
}

/* Code that is made at run time may be mapped from a file, too, but from one that has no name any
 * more; its names are known by the address in each process. */
static bool may_share(const struct cairn_stream_map *map)
{
    return is_image(map) && map->path && !map->is_deleted;
}

/* The root, too: a process can mount another file with the same build ID over a path of ours. */
static uint64_t place_of(const struct cairn_space *space, const struct cairn_stream_map *map)
{
    const uint64_t place[] = {map->file, map->off, map->end - map->start,
                              (uint64_t)map->path << 32 | map->build_id, space->root};
    return cairn_hash_bytes(place, sizeof place);
}

/* Of no file: by its place alone, so that what comes and goes there is one module. */
static uint32_t anonymous(struct cairn_shared_modules *shared, struct cairn_profile *profile,
                          struct cairn_stream_map *map)
{
    const uint64_t place[] = {map->start, map->end};
    const uint64_t key = cairn_hash_bytes(place, sizeof place);
    uint32_t number;
    if (cairn_table_find(&shared->by_place, key, &number))
        return map->module = number;
    const struct cairn_profile_module module = {
        .start = map->start,
        .end = map->end,
        .off = map->start,
        .path = cairn_profile_text(profile, anonymous_path, sizeof anonymous_path - 1),
    };
    if (module.path == UINT32_MAX)
        return UINT32_MAX;
    number = cairn_profile_add_module(profile, &module);
    if (number == UINT32_MAX || cairn_table_set(&shared->by_place, key, number) < 0 ||
        cairn_table_set(&shared->made, number, 1) < 0)
        return UINT32_MAX;
    return map->module = number;
}

/* Mapped from a file that has no name any more, or never had one. */
static uint32_t unshared(struct cairn_shared_modules *shared, struct cairn_spaces *spaces,
                         struct cairn_stream_map *map)
{
    uint32_t number = cairn_space_module(spaces, map);
    if (map->file && number && number != UINT32_MAX &&
        cairn_table_set(&shared->made, number, 1) < 0)
        return UINT32_MAX;
    return number;
}

static uint32_t find_or_make(struct cairn_shared_modules *shared, struct cairn_spaces *spaces,
                             struct cairn_space *space, struct cairn_stream_map *map)
{
    uint32_t number;
    if (!map->file && !map->path)
        return anonymous(shared, spaces->profile, map);
    if (!cairn_space_find_vdso(spaces, space, map))
        return UINT32_MAX;
    if (!may_share(map))
        return unshared(shared, spaces, map);
    uint64_t place = place_of(space, map);
    if (cairn_table_find(&shared->by_place, place, &number))
        return map->module = number;
    number = cairn_space_module(spaces, map);
    if (number != UINT32_MAX && cairn_table_set(&shared->by_place, place, number) < 0)
        return UINT32_MAX;
    return number;
}

uint32_t cairn_shared_module(struct cairn_shared_modules *shared, struct cairn_spaces *spaces,
                             struct cairn_space *space, struct cairn_stream_map *map)
{
    if (map->module)
        return map->module;
    uint32_t number = find_or_make(shared, spaces, space, map);
    if (number && number != UINT32_MAX)
        cairn_space_hold(spaces, space, map, number);
    return number;
}

bool cairn_shared_module_is_made(const struct cairn_shared_modules *shared, uint32_t module)
{
    uint32_t value;
    return cairn_table_find(&shared->made, module, &value);
}

uint64_t cairn_shared_va(const struct cairn_profile *profile, const struct cairn_stream_map *map,
                         uint64_t va)
{
    const struct cairn_profile_module *module = &profile->modules[map->module];
    return map->module && is_image(map) ? va - map->start + map->off - module->off + module->start
                                        : va;
}

/* SPDX-License-Identifier: MIT */
#include "stream/module.h"

void cairn_stream_modules_done(struct cairn_stream_modules *modules)
{
    cairn_table_done(&modules->by_place);
    cairn_table_done(&modules->made);
}

/* Code that is made at run time may be mapped from a file, too, but from one that has no name any
 * more; its names are known by the address in each process. */
static bool may_share(const struct cairn_stream_map *map)
{
    return map->is_image && !map->is_deleted;
}

static uint32_t add_module(struct cairn_profile *profile, const struct cairn_stream_map *map)
{
    static const char anonymous[] = "[anon]"; /* as Linux calls such memory that has a name */
    struct cairn_profile_module module = {
        .start = map->start,
        .end = map->end,
        .off = map->off,
        .path = map->path,
        .build_id = map->build_id,
    };
    if (!map->path) { /* by its place alone, so that what comes and goes there is one module */
        module.path = cairn_profile_text(profile, anonymous, sizeof anonymous - 1);
        module.off = map->start;
    }
    return module.path == UINT32_MAX ? UINT32_MAX : cairn_profile_add_module(profile, &module);
}

uint32_t cairn_stream_module(struct cairn_stream_modules *modules, struct cairn_profile *profile,
                             uint32_t root, struct cairn_stream_map *map)
{
    uint32_t number;
    if (map->module)
        return map->module;
    const uint64_t place[] = {map->file, map->off, map->end - map->start,
                              (uint64_t)map->path << 32 | map->build_id, root};
    const uint64_t key = cairn_hash_bytes(place, sizeof place);
    bool is_shared = may_share(map), is_made = !is_shared && (map->file || !map->path);
    if (is_shared && cairn_table_find(&modules->by_place, key, &number))
        return map->module = number;
    number = add_module(profile, map);
    if (number == UINT32_MAX ||
        (is_shared && cairn_table_set(&modules->by_place, key, number) < 0) ||
        (is_made && cairn_table_set(&modules->made, number, 1) < 0))
        return UINT32_MAX;
    return map->module = number;
}

bool cairn_stream_module_is_made(const struct cairn_stream_modules *modules, uint32_t module)
{
    uint32_t value;
    return cairn_table_find(&modules->made, module, &value);
}

/* SPDX-License-Identifier: MIT */
#include "stream/mapping.h"

#include <stdio.h>

#include "base/module_kind.h"

enum { BUILD_ID_MAX = 64 };

static bool put_hex(struct cairn_span bytes, char hex[2 * BUILD_ID_MAX + 1])
{
    bool any = false;
    hex[0] = 0;
    for (size_t i = 0; i < bytes.size && i < BUILD_ID_MAX; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes.data[i]);
        any |= bytes.data[i] != 0;
    }
    return any;
}

uint32_t cairn_stream_build_id_text(struct cairn_profile *profile, struct cairn_span build_id)
{
    char hex[2 * BUILD_ID_MAX + 1];
    return put_hex(build_id, hex) ? cairn_profile_text(profile, hex, strlen(hex)) : 0;
}

int cairn_stream_mapping_take(struct cairn_profile *profile,
                              const struct cairn_stream_mapping *mapping,
                              struct cairn_stream_map *ret_map)
{
    const char *path = mapping->path;
    size_t size = cairn_module_path_size(path);
    struct cairn_stream_map map = {
        .start = mapping->start,
        .end = mapping->start + mapping->size,
        .off = mapping->off,
        .file = cairn_module_file_identity(mapping->build_id, mapping->dev, mapping->inode),
        .inode = mapping->inode,
        .path = cairn_profile_text(profile, path, size),
        .build_id = cairn_stream_build_id_text(profile, mapping->build_id),
        .kind = (uint8_t)cairn_module_kind_of(path, mapping->start),
        .is_cxx = strstr(path, "/libstdc++.so") || strstr(path, "/libc++.so"),
        .is_deleted = path[size] != '\0',
    };
    map.is_image = (map.file && map.path) || map.kind == CAIRN_MODULE_VDSO;
    if (map.path == UINT32_MAX || map.build_id == UINT32_MAX)
        return CAIRN_E_NOMEM;
    *ret_map = map;
    return CAIRN_OK;
}

int cairn_stream_space_map(struct cairn_stream_space *space, struct cairn_profile *profile,
                           const struct cairn_stream_mapping *mapping,
                           struct cairn_stream_load *load)
{
    struct cairn_stream_map map;
    if (cairn_stream_mapping_take(profile, mapping, &map) < 0)
        return CAIRN_E_NOMEM;
    if (map.end <= map.start)
        return 1;
    if (!space->program && mapping->path[0] == '/' && mapping->path[1] != '/')
        space->program = map.path; /* the kernel maps the program itself first */
    return cairn_stream_space_lay(space, &map, load);
}

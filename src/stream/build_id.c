/* SPDX-License-Identifier: MIT */
#include "stream/build_id.h"

#include "base/module_kind.h"

int cairn_stream_build_id(struct cairn_stream *stream, const char *path, struct cairn_span build_id,
                          bool is_kernel)
{
    uint32_t known, text = cairn_stream_build_id_text(stream->profile, build_id);
    uint32_t key = cairn_profile_text(stream->profile, path, cairn_module_path_size(path));
    if (text == UINT32_MAX || key == UINT32_MAX)
        return CAIRN_E_NOMEM;
    if (is_kernel) {
        if (strncmp(path, "[kernel", 7) == 0)
            stream->kernel_build_id = text;
        return CAIRN_OK;
    }
    if (!key || !text)
        return CAIRN_OK;
    if (cairn_table_find(&stream->build_ids, key, &known) && known != text)
        text = 0; /* two files had this path: nobody knows which one a mapping means */
    return cairn_table_set(&stream->build_ids, key, text);
}

uint32_t cairn_stream_map_build_id(const struct cairn_stream *stream,
                                   const struct cairn_stream_map *map)
{
    uint32_t id;
    if (map->build_id)
        return map->build_id;
    return cairn_table_find(&stream->build_ids, map->path, &id) ? id : 0;
}

void cairn_stream_set_build_ids(struct cairn_stream *stream)
{
    struct cairn_profile *p = stream->profile;
    for (size_t i = 1; i < p->n_modules; i++) {
        struct cairn_profile_module *module = &p->modules[i];
        uint32_t id = 0;
        if (module->build_id)
            continue;
        if (cairn_module_is_kernel((enum cairn_module_kind)module->kind))
            module->build_id = stream->kernel_build_id;
        else if (cairn_table_find(&stream->build_ids, module->path, &id))
            module->build_id = id;
    }
    cairn_profile_drop_index(p); /* modules were made unique by what they held before */
}

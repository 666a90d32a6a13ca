/* SPDX-License-Identifier: MIT */
#include "stream/module.h"

#include <stdio.h>

#include "base/module_kind.h"

enum { NAME_BYTES = 256 };

static const uint64_t upper_half = UINT64_C(1) << 63;

/* Code that is made at run time may be mapped from a file, too, but from one that has no name any
 * more; its names are known by the address in each process. */
static bool may_share(const struct cairn_stream_map *map)
{
    return map->path && !map->is_deleted && (map->file || map->kind == CAIRN_MODULE_VDSO);
}

static uint32_t add_module(struct cairn_stream *stream, const struct cairn_stream_map *map)
{
    static const char anonymous[] = "[anon]"; /* as cairn record calls it */
    struct cairn_profile_module module = {
        .start = map->start,
        .end = map->end,
        .off = map->off,
        .path = map->path,
        .build_id = map->build_id,
    };
    if (!map->path) {
        module.path = cairn_profile_text(stream->profile, anonymous, sizeof anonymous - 1);
        module.off = map->start;
    }
    return module.path == UINT32_MAX ? UINT32_MAX
                                     : cairn_profile_add_module(stream->profile, &module);
}

uint32_t cairn_stream_module(struct cairn_stream *stream, struct cairn_stream_map *map)
{
    uint32_t number;
    if (map->module)
        return map->module;
    const uint64_t place[] = {map->file, map->off, map->end - map->start,
                              (uint64_t)map->path << 32 | map->build_id};
    const uint64_t key = cairn_hash_bytes(place, sizeof place);
    bool shared = may_share(map);
    if (shared && cairn_table_find(&stream->modules, key, &number))
        return map->module = number;
    number = add_module(stream, map);
    if (number == UINT32_MAX || (shared && cairn_table_set(&stream->modules, key, number) < 0))
        return UINT32_MAX;
    return map->module = number;
}

uint64_t cairn_stream_va(const struct cairn_stream *stream, const struct cairn_stream_map *map,
                         uint64_t va)
{
    const struct cairn_profile_module *module = &stream->profile->modules[map->module];
    return map->module && may_share(map) ? va - map->start + module->start : va;
}

static uint32_t add_image(struct cairn_stream *stream)
{
    if (!stream->kernel_module)
        stream->kernel_module = cairn_profile_add_kernel(stream->profile, stream->kernel_text, "");
    return stream->kernel_module;
}

/* "/lib/modules/.../nf-tables.ko.xz" is "[nf_tables]", as the kernel's own list has it. */
static uint32_t module_name(struct cairn_stream *stream, const char *path)
{
    char text[NAME_BYTES];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *end = strstr(base, ".ko");
    size_t size = end ? (size_t)(end - base) : strlen(base);
    if (*path == '[' || size + sizeof "[]" > sizeof text)
        return cairn_profile_text(stream->profile, path, strlen(path));
    snprintf(text, sizeof text, "[%.*s]", (int)size, base);
    for (char *at = text; end && *at; at++)
        *at = *at == '-' ? '_' : *at;
    return cairn_profile_text(stream->profile, text, strlen(text));
}

/* All of the kernel is one range, and a module of it is called by its name. */
uint32_t cairn_stream_kernel_module(struct cairn_stream *stream, struct cairn_stream_map *map)
{
    struct cairn_profile *p = stream->profile;
    if (!map || map->module)
        return map ? map->module : add_image(stream);
    struct cairn_profile_module module = {
        .start = upper_half,
        .end = UINT64_MAX,
        .off = stream->kernel_text > upper_half ? stream->kernel_text : upper_half,
        .path = module_name(stream,
                            map->is_symbol ? "[bpf]" : cairn_strings_get(&p->strings, map->path)),
    };
    uint32_t number = module.path == UINT32_MAX ? UINT32_MAX : cairn_profile_add_module(p, &module);
    if (number != UINT32_MAX)
        map->module = number;
    return number;
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

/* SPDX-License-Identifier: MIT */
#include "stream/kernel.h"

#include <stdio.h>

enum { NAME_BYTES = 256 };

static const uint64_t upper_half = UINT64_C(1) << 63;

/* The image as a whole: perf calls it "[kernel.kallsyms]_text" after the symbol whose address it
 * stores in place of the offset. */
static bool take_image(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping,
                       uint32_t build_id)
{
    static const char image[] = "[kernel.kallsyms]";
    if (strncmp(mapping->path, "[kernel", 7) != 0 && strncmp(mapping->path, "[guest.kernel", 13))
        return false;
    if (build_id)
        stream->kernel_build_id = build_id;
    if (strncmp(mapping->path, image, sizeof image - 1) == 0 &&
        strcmp(mapping->path + sizeof image - 1, "_text") == 0)
        stream->kernel_text = mapping->off;
    return true;
}

int cairn_stream_map_kernel(struct cairn_stream *stream, const struct cairn_stream_mapping *mapping)
{
    struct cairn_stream_map map;
    if (cairn_stream_mapping_take(stream->profile, mapping, &map) < 0)
        return CAIRN_E_NOMEM;
    if (take_image(stream, mapping, map.build_id))
        return CAIRN_OK;
    return cairn_stream_count(
        stream, cairn_stream_space_lay(&stream->kernel, &map, &stream->processes.load));
}

int cairn_stream_symbol(struct cairn_stream *stream, uint64_t start, uint64_t size,
                        const char *name)
{
    struct cairn_stream_map map = {
        .start = start,
        .end = start + size,
        .path = cairn_profile_text(stream->profile, name, strlen(name)),
        .is_symbol = true,
    };
    if (map.path == UINT32_MAX)
        return CAIRN_E_NOMEM;
    return *name ? cairn_stream_count(stream, cairn_stream_space_lay(&stream->kernel, &map,
                                                                     &stream->processes.load))
                 : CAIRN_OK;
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

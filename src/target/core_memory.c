/* SPDX-License-Identifier: MIT */
#include "target/core_memory.h"

#include <inttypes.h>
#include <string.h>

#include "base/below.h"
#include "base/buffer.h"
#include "base/error.h"

const struct cairn_core_part *cairn_core_memory_part(const struct cairn_core_target *core,
                                                     uint64_t va)
{
    size_t n = CAIRN_COUNT_BELOW(core->parts, core->n_parts, va, va);
    return n && va - core->parts[n - 1].va < core->parts[n - 1].bytes.size ? &core->parts[n - 1]
                                                                           : NULL;
}

size_t cairn_core_memory_read(const struct cairn_core_target *core, uint64_t va, void *to,
                              size_t size)
{
    size_t done = 0;
    for (size_t step; done < size; done += step) {
        const struct cairn_core_part *part = cairn_core_memory_part(core, va + done);
        if (!part)
            break;
        size_t skip = (size_t)(va + done - part->va);
        step = part->bytes.size - skip < size - done ? part->bytes.size - skip : size - done;
        memcpy((uint8_t *)to + done, part->bytes.data + skip, step);
    }
    return done;
}

bool cairn_core_memory_next(const struct cairn_core_target *core, uint64_t va, uint64_t end,
                            size_t size_max, uint64_t *ret_from, uint64_t *ret_to)
{
    const struct cairn_core_part *part = cairn_core_memory_part(core, va);
    uint64_t from = va;
    if (!part) {
        size_t next = CAIRN_COUNT_BELOW(core->parts, core->n_parts, va, va);
        if (next == core->n_parts)
            return false;
        from = core->parts[next].va;
        part = cairn_core_memory_part(core, from); /* of several that begin there, the one read */
    }
    if (from >= end)
        return false;
    uint64_t left = part->bytes.size - (from - part->va);
    left = left < end - from ? left : end - from;
    *ret_from = from;
    *ret_to = from + (left < size_max ? left : size_max);
    return true;
}

/* As the kernel writes it. */
static void add_path(struct cairn_buffer *out, const char *path)
{
    for (; *path; path++) {
        if (*path == '\n')
            cairn_buffer_str(out, "\\012");
        else
            cairn_buffer_char(out, *path);
    }
}

static void add_map(struct cairn_buffer *out, const struct cairn_core_target *core,
                    const struct cairn_target_map *map)
{
    const char *path = cairn_strings_get(&core->target.texts, map->path);
    uint64_t from, to, execfn = core->notes.execfn;
    bool is_file = *path == '/', is_stack = !*path && execfn >= map->start && execfn < map->end;
    bool is_shared = is_file && (map->flags & CAIRN_MAP_WRITE) &&
                     !cairn_core_memory_next(core, map->start, map->end, 1, &from, &to);
    cairn_buffer_printf(
        out, "%" PRIx64 "-%" PRIx64 " %c%c%c%c %" PRIx64 " 00:00 %d ", map->start, map->end,
        map->flags & CAIRN_MAP_READ ? 'r' : '-', map->flags & CAIRN_MAP_WRITE ? 'w' : '-',
        map->flags & CAIRN_MAP_EXEC ? 'x' : '-', is_shared ? 's' : 'p', map->off, is_file);
    add_path(out, is_stack ? "[stack]" : path);
    cairn_buffer_str(out, map->flags & CAIRN_MAP_DELETED ? " (deleted)\n" : "\n");
}

int cairn_core_memory_maps(const struct cairn_core_target *core, struct cairn_maps **ret_maps,
                           struct cairn_err *err)
{
    struct cairn_buffer text = {0};
    for (size_t i = 0; i < core->target.n_maps; i++)
        add_map(&text, core, &core->target.maps[i]);
    int code = text.failed ? cairn_fail_memory(err)
                           : cairn_maps_parse(text.data, text.size, ret_maps, err);
    cairn_buffer_done(&text);
    return code;
}

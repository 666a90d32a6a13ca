/* SPDX-License-Identifier: MIT */
#include "target/target.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "target/files.h"

int cairn_target_init(struct cairn_target *target, const struct cairn_unwind_opts *opts,
                      const char *default_root, struct cairn_err *err)
{
    static const struct cairn_unwind_opts none = {.size = sizeof none};
    if (opts && opts->size < sizeof *opts)
        return cairn_fail(err, CAIRN_E_ARG, "options of %zu bytes, expected %zu", opts->size,
                          sizeof *opts);
    opts = opts ? opts : &none;
    const struct cairn_debugfile_places places = {
        .symbol_dirs = opts->symbol_dirs,
        .n_symbol_dirs = opts->n_symbol_dirs,
        .debug_dir = opts->debug_dir,
        .root = opts->root ? opts->root : default_root,
    };
    return cairn_debugfile_finder_new(&places, &target->finder, err);
}

void cairn_target_forget(struct cairn_target *target)
{
    for (size_t i = 0; i < target->n_files; i++)
        cairn_target_file_free(target->files[i]);
    target->n_files = target->n_maps = 0;
    cairn_strings_done(&target->texts);
}

void cairn_target_done(struct cairn_target *target)
{
    cairn_target_forget(target);
    cairn_free(target->maps);
    cairn_free(target->files);
    cairn_debugfile_finder_free(target->finder);
}

int cairn_target_add(struct cairn_target *target, const struct cairn_target_map *map,
                     struct cairn_err *err)
{
    if (map->start >= map->end)
        return CAIRN_OK;
    if (target->n_maps == CAIRN_TARGET_MAPS_MAX)
        return cairn_fail(err, CAIRN_E_LIMIT, "more than %d mappings", CAIRN_TARGET_MAPS_MAX);
    if (map->path == UINT32_MAX || cairn_grow((void **)&target->maps, &target->cap_maps,
                                              target->n_maps + 1, sizeof *target->maps) < 0)
        return cairn_fail_memory(err);
    target->maps[target->n_maps++] = *map;
    return CAIRN_OK;
}

/* The number of the first `n` mappings, which are sorted, that begin below `va`. */
static size_t count_below(const struct cairn_target *target, size_t n, uint64_t va)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (target->maps[middle].start < va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int cairn_target_add_maps(struct cairn_target *target, const struct cairn_maps *maps,
                          struct cairn_err *err)
{
    int code = CAIRN_OK;
    size_t n_known = target->n_maps;
    for (size_t i = 0; i < cairn_maps_count(maps) && code == CAIRN_OK; i++) {
        const struct cairn_map *row = cairn_maps_get(maps, i);
        size_t below = count_below(target, n_known, row->end);
        if (below && target->maps[below - 1].end > row->start)
            continue;
        const struct cairn_target_map map = {
            .start = row->start,
            .end = row->end,
            .off = row->off,
            .dev = (uint64_t)row->dev_major << 32 | row->dev_minor,
            .inode = row->inode,
            .flags = row->flags,
            .path = cairn_strings_add_str(&target->texts, row->path),
        };
        code = cairn_target_add(target, &map, err);
    }
    return code;
}

static int compare_maps(const void *a, const void *b)
{
    const struct cairn_target_map *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->end < right->end ? -1 : left->end > right->end;
}

void cairn_target_sort(struct cairn_target *target)
{
    if (target->n_maps)
        qsort(target->maps, target->n_maps, sizeof *target->maps, compare_maps);
    size_t n = 0;
    for (size_t i = 0; i < target->n_maps; i++) {
        struct cairn_target_map *map = &target->maps[i];
        if (i + 1 < target->n_maps && map->end > map[1].start)
            map->end = map[1].start;
        if (map->start < map->end)
            target->maps[n++] = *map;
    }
    target->n_maps = n;
}

struct cairn_target_map *cairn_target_find_map(struct cairn_target *target, uint64_t va)
{
    size_t n = va == UINT64_MAX ? 0 : count_below(target, target->n_maps, va + 1);
    return n && va < target->maps[n - 1].end ? &target->maps[n - 1] : NULL;
}

/* Number of the first mapping that ends behind `va`. */
static size_t first_behind(const struct cairn_target *target, uint64_t va)
{
    size_t n = count_below(target, target->n_maps, va);
    return n && target->maps[n - 1].end > va ? n - 1 : n;
}

bool cairn_target_next_code(const struct cairn_target *target, uint64_t va, uint64_t *ret_va)
{
    for (size_t i = first_behind(target, va); i < target->n_maps; i++) {
        const struct cairn_target_map *map = &target->maps[i];
        if (map->flags & CAIRN_MAP_EXEC) {
            *ret_va = map->start;
            return true;
        }
    }
    return false;
}

const struct cairn_target_map *cairn_target_next_heap(const struct cairn_target *target,
                                                      uint64_t va)
{
    const uint64_t reservation = UINT64_C(1) << 40;
    for (size_t i = first_behind(target, va); i < target->n_maps; i++) {
        const struct cairn_target_map *map = &target->maps[i];
        bool is_shared_file = map->flags & CAIRN_MAP_SHARED && map->flags & CAIRN_MAP_FILE;
        if (map->flags & CAIRN_MAP_WRITE && !is_shared_file && map->end - map->start < reservation)
            return map;
    }
    return NULL;
}

int cairn_target_find(struct cairn_target *target, uint64_t va,
                      struct cairn_unwind_region *ret_region)
{
    struct cairn_target_map *map = cairn_target_find_map(target, va);
    if (!map)
        return 1;
    const struct cairn_target_file *file = cairn_target_file_of(target, map);
    *ret_region = (struct cairn_unwind_region){
        .start = map->start,
        .end = map->end,
        .off = map->off,
        .flags = map->flags,
        .path = cairn_strings_get(&target->texts, map->path),
    };
    if (!file || !file->image.size)
        return 0;
    if (file->made.size) /* the image knows its own offsets, whatever is mapped */
        ret_region->off = cairn_target_made_off(file, map->start);
    ret_region->file = file->image.data;
    ret_region->file_size = file->image.size;
    ret_region->debug_file = file->debug.data;
    ret_region->debug_file_size = file->debug.size;
    return 0;
}

bool cairn_target_read_file(struct cairn_target *target, uint64_t va, void *to, size_t size)
{
    struct cairn_target_map *map = cairn_target_find_map(target, va);
    struct cairn_span bytes;
    if (!map || map->flags & CAIRN_MAP_WRITE || size > map->end - va)
        return false;
    const struct cairn_target_file *file = cairn_target_file_of(target, map);
    if (!file || file->made.size ||
        !cairn_span_slice(file->image, map->off + (va - map->start), size, &bytes))
        return false;
    memcpy(to, bytes.data, size);
    return true;
}

/* SPDX-License-Identifier: MIT */
#include "resolve/address_space.h"

#include <elf.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "resolve/archives.h"
#include "symbol/code_mapping.h"

void cairn_address_space_done(struct cairn_address_space *space)
{
    cairn_free(space->regions);
    *space = (struct cairn_address_space){0};
}

int cairn_address_space_add(struct cairn_address_space *space, const struct cairn_region *region,
                            struct cairn_err *err)
{
    if (cairn_grow((void **)&space->regions, &space->cap, space->n + 1, sizeof *space->regions) < 0)
        return cairn_fail_memory(err);
    space->regions[space->n++] = *region;
    return CAIRN_OK;
}

int cairn_address_space_of_maps(struct cairn_address_space *space, struct cairn_modules *modules,
                                const struct cairn_maps *maps, struct cairn_err *err)
{
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        struct cairn_region region = {
            .start = map->start,
            .end = map->end,
            .off = map->off,
            .path = cairn_strings_add_str(&modules->strings, map->path),
            .kind = cairn_module_kind_of(map->path, map->start),
            .executable = map->flags & CAIRN_MAP_EXEC,
            .deleted = map->flags & CAIRN_MAP_DELETED,
        };
        if (region.path == UINT32_MAX)
            return cairn_fail_memory(err);
        int result = cairn_address_space_add(space, &region, err);
        if (result < 0)
            return result;
    }
    return cairn_address_space_finish(space, modules, err);
}

static void free_numbers(uint32_t **numbers)
{
    cairn_free(*numbers);
}

/* A loader maps the segments of a file at growing offsets; only two that share a page of it have
 * the same one, side by side. Where the offset falls back the file begins anew: it was loaded
 * twice. */
static bool same_load(const struct cairn_region *before, const struct cairn_region *region)
{
    return before->build_id == region->build_id && before->start < region->start &&
           (before->off < region->off ||
            (before->off == region->off && before->end == region->start));
}

int cairn_address_space_finish(struct cairn_address_space *space, struct cairn_modules *modules,
                               struct cairn_err *err)
{
    int entered = cairn_archives_enter(space, modules, err);
    if (entered < 0)
        return entered;
    CAIRN_AUTO(free_numbers) uint32_t *last = cairn_alloc(modules->strings.n + 1, sizeof *last);
    if (!last)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < space->n; i++) {
        struct cairn_region *region = &space->regions[i];
        region->base = region->start - region->off;
        uint32_t before = last[region->path]; /* index + 1 */
        last[region->path] = (uint32_t)(i + 1);
        if (before && same_load(&space->regions[before - 1], region)) {
            region->base = space->regions[before - 1].base;
            region->has_base =
                space->regions[before - 1].has_base || space->regions[before - 1].off == 0;
        }
    }
    return CAIRN_OK;
}

struct cairn_region *cairn_address_space_find(const struct cairn_address_space *space, uint64_t va)
{
    size_t i = CAIRN_COUNT_BELOW(space->regions, space->n, end, va);
    return i < space->n && space->regions[i].start <= va ? &space->regions[i] : NULL;
}

uint32_t cairn_address_space_find_name(const struct cairn_address_space *space,
                                       const struct cairn_modules *modules, const char *name)
{
    uint32_t found = 0;
    for (size_t i = 0; i < space->n; i++) {
        const struct cairn_region *region = &space->regions[i];
        const char *path = cairn_strings_get(&modules->strings, region->path);
        const char *slash = strrchr(path, '/');
        if (!slash || strcmp(slash + 1, name) != 0)
            continue;
        if (region->executable)
            return region->path;
        if (!found)
            found = region->path;
    }
    return found;
}

/* Where two segments share a page of the file, that page is mapped twice, and in each mapping only
 * one segment's part of it is meant. Code is meant by the executable one. */
static bool is_other_regions_code(const struct cairn_address_space *space,
                                  const struct cairn_region *region, uint64_t off)
{
    if (region->executable)
        return false;
    const struct cairn_region *end = space->regions + space->n;
    for (const struct cairn_region *next = region + 1; next < end && next <= region + 2; next++)
        if (next->executable && next->path == region->path && off >= next->off &&
            off - next->off < next->end - next->start)
            return true;
    return false;
}

static void log_region(struct cairn_region *region, uint64_t va, uint64_t vaddr)
{
    if (!region->logged)
        cairn_log(CAIRN_LOG_INFO, "segment %#llx-%#llx%s, offset %#llx: %s at %#llx, vaddr %#llx",
                  (unsigned long long)region->start, (unsigned long long)region->end,
                  region->executable ? " r-x" : "", (unsigned long long)region->off,
                  region->module->path, (unsigned long long)(va - vaddr),
                  (unsigned long long)(region->start - (va - vaddr)));
    region->logged = true;
}

/* False: none of the module's segments holds it. */
static bool find_vaddr(const struct cairn_address_space *space, const struct cairn_region *region,
                       uint64_t va, uint64_t *ret_vaddr)
{
    const struct cairn_module *module = region->module->module;
    uint64_t off = va - region->start + region->off;
    if (is_other_regions_code(space, region, off))
        return false;
    if (cairn_module_vaddr_of_offset(module, off, ret_vaddr))
        return true;
    bool fixed = cairn_module_info(module)->elf_type == ET_EXEC;
    const struct cairn_code_mapping code = {region->start, region->end, region->off};
    if (!fixed && !region->has_base && region->executable &&
        cairn_module_vaddr_of_code(module, &code, va, ret_vaddr))
        return true;
    if (!fixed && !region->has_base && region->off != 0)
        return false; /* it may be anywhere */
    return cairn_module_vaddr_of_rel(module, fixed ? va : va - region->base, ret_vaddr);
}

/* The offset of what a profile says of the kernel is where _text lies. */
static int find_module(struct cairn_modules *modules, struct cairn_region *region,
                       struct cairn_err *err)
{
    int code;
    if (cairn_module_is_kernel(region->kind))
        code = cairn_modules_get_kernel(modules, region->path, region->build_id,
                                        region->off > cairn_upper_half ? region->off : 0,
                                        &region->module, err);
    else if (region->has_fd)
        code = cairn_modules_get_held(modules, region->path, region->build_id, region->fd,
                                      &region->module, err);
    else
        code = cairn_modules_get(modules, region->path, region->build_id, &region->module, err);
    if (code == CAIRN_OK)
        code = cairn_modules_open_mapped(modules, region->module, region->start, region->end, err);
    return code;
}

int cairn_address_space_place(const struct cairn_address_space *space,
                              struct cairn_modules *modules, struct cairn_region *region,
                              uint64_t va, struct cairn_resolve_place *ret_place,
                              struct cairn_err *err)
{
    if (!region->module) {
        int result = find_module(modules, region, err);
        if (result < 0)
            return result;
        region->module->deleted |= region->deleted;
    }
    struct cairn_resolve_place place = {.module = region->module, .cause = region->module->missing};
    if (place.cause == CAIRN_CAUSE_NONE && place.module->kind != CAIRN_KNOWN_FILE) {
        place.vaddr = va;
    } else if (place.cause == CAIRN_CAUSE_NONE) {
        if (find_vaddr(space, region, va, &place.vaddr))
            log_region(region, va, place.vaddr);
        else
            place.cause = CAIRN_CAUSE_BEFORE_SEGMENT;
    }
    *ret_place = place;
    return CAIRN_OK;
}

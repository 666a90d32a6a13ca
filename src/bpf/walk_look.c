/* SPDX-License-Identifier: MIT */
#include "bpf/walk_look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cairn/maps.h>

#include "base/error.h"
#include "base/foreign.h"
#include "base/module_kind.h"
#include "proc/mapped_file.h"
#include "proc/process.h"
#include "unwind/local_cpu.h"
#include "unwind/space.h"

struct look {
    struct cairn_walk_modules *modules;
    struct cairn_walk_found *found;
    int pid;
    struct cairn_unwind_space *space; /* opened for the first module that is new */
    bool no_space;
    struct cairn_bpf_file last;                  /* of whose inode it is known when it changed */
    uint32_t held[CAIRN_BPF_RANGES_MAX], n_held; /* modules that were there before */
};

static struct cairn_unwind_space *space_of(struct look *look)
{
    if (!look->space && !look->no_space)
        look->no_space = cairn_unwind_space_open_pid(look->pid, NULL, &look->space, NULL) < 0;
    return look->space;
}

/* False: the file cannot be had, now. */
static bool make_module(struct look *look, const struct cairn_map *map,
                        const struct cairn_bpf_file *file, uint32_t *ret_number)
{
    struct cairn_walk_module module = {.file = *file, .flags = CAIRN_BPF_FP_OK};
    const struct cairn_unwind_table *table = NULL;
    struct cairn_unwind_space *space = space_of(look);
    const struct cairn_space_place *place = space ? cairn_space_at(space, map->start) : NULL;
    if (!place || place->region.start != map->start || place->region.off != map->off)
        return false;
    if (place->module) {
        table = cairn_space_module_table(place->module, cairn_local_arch, CAIRN_TABLE_NOW);
        bool keeps_fp = cairn_space_module_keeps_fp(place->module, cairn_local_arch);
        module.flags = keeps_fp ? CAIRN_BPF_FP_OK : 0;
    }
    if (table)
        module.text = map->start - place->bias - table->base;
    return cairn_walk_modules_make(look->modules, &module, table, ret_number);
}

/* What the kernel knows already: the server of a FUSE file is not asked. */
static bool stat_link(const char *link, uint64_t *ret_changed_ns)
{
    struct statx st;
    if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_CTIME, &st) < 0)
        return false;
    *ret_changed_ns = (uint64_t)st.stx_ctime.tv_sec * 1000000000u + st.stx_ctime.tv_nsec;
    return true;
}

struct asking {
    uint64_t inode, changed_ns;
};

static bool ask_change(void *ctx, enum cairn_mapped_by by, const char *name)
{
    struct asking *asking = ctx;
    struct stat st;
    if (by == CAIRN_MAPPED_BY_LINK)
        return stat_link(name, &asking->changed_ns);
    if (cairn_foreign_stat(name, &st, NULL) < 0 || st.st_ino != asking->inode)
        return false;
    asking->changed_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
    return true;
}

/* When the file's inode was changed last, as the kernel's walk asks, too; 0: that is unknown. */
static uint64_t changed_ns(const struct look *look, const struct cairn_map *map)
{
    static const enum cairn_mapped_by order[] = {CAIRN_MAPPED_BY_LINK, CAIRN_MAPPED_BY_ROOT,
                                                 CAIRN_MAPPED_BY_NONE};
    const struct cairn_mapped_file file = {look->pid, map->start, map->end, map->path};
    struct asking asking = {.inode = map->inode};
    (void)cairn_mapped_find(&file, order, ask_change, &asking);
    return asking.changed_ns;
}

/* The kernel's own code in each process is the same in all; other memory without a file is none
 * that could be known. */
static bool file_of(struct look *look, const struct cairn_map *map, struct cairn_bpf_file *ret_file)
{
    struct cairn_bpf_file file = {(uint64_t)map->dev_major << 32 | map->dev_minor, map->inode,
                                  map->off};
    if (cairn_module_kind_of(map->path, map->start) == CAIRN_MODULE_VDSO)
        file.off = map->end - map->start;
    if (map->inode && file.dev == look->last.dev && file.inode == look->last.inode)
        file.changed_ns = look->last.changed_ns; /* one stat(2) for its neighbours */
    else if (map->inode)
        file.changed_ns = changed_ns(look, map);
    *ret_file = look->last = file;
    return file.inode || file.off;
}

/* False: nothing is known of the code there. */
static bool module_of(struct look *look, const struct cairn_map *map, uint32_t *ret_number)
{
    struct cairn_bpf_file file;
    return file_of(look, map, &file) &&
           (cairn_walk_modules_find(look->modules, &file, ret_number) ||
            make_module(look, map, &file, ret_number));
}

/* Where there are too many those without a table give way: the lowest of them. */
static bool make_place(struct look *look)
{
    struct cairn_bpf_space *space = &look->found->space;
    uint32_t at = 0;
    if (space->n < CAIRN_BPF_RANGES_MAX)
        return true;
    while (at < space->n && space->ranges[at].n_strips)
        at++;
    if (at == space->n)
        return false;
    space->n--;
    memmove(space->ranges + at, space->ranges + at + 1, (space->n - at) * sizeof *space->ranges);
    memmove(look->found->modules + at, look->found->modules + at + 1,
            (space->n - at) * sizeof *look->found->modules);
    return true;
}

/* Neighbours of which nothing is known are one: who compiles at run time has hundreds. */
static void add_range(struct look *look, const struct cairn_bpf_range *range, uint32_t module)
{
    struct cairn_bpf_space *space = &look->found->space;
    struct cairn_bpf_range *last = space->n ? &space->ranges[space->n - 1] : NULL;
    if (last && !last->n_strips && !range->n_strips && last->end == range->start &&
        last->flags == range->flags) {
        last->end = range->end;
    } else if (make_place(look)) {
        if (range->n_strips)
            cairn_walk_modules_use(look->modules, module);
        look->found->modules[space->n] = module;
        space->ranges[space->n++] = *range;
    }
}

static bool is_code(const struct cairn_map *map)
{
    return map->flags & CAIRN_MAP_EXEC && !(map->end >> 63);
}

/* What the process has must not give way to what else it has. */
static void hold(struct look *look, const struct cairn_maps *maps)
{
    struct cairn_walk_modules *modules = look->modules;
    struct cairn_bpf_file file;
    for (size_t i = 0; i < cairn_maps_count(maps) && look->n_held < CAIRN_BPF_RANGES_MAX; i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        uint32_t *number = &look->held[look->n_held];
        if (is_code(map) && file_of(look, map, &file) &&
            cairn_walk_modules_find(modules, &file, number) && modules->items[*number].n_strips) {
            cairn_walk_modules_use(modules, *number);
            look->n_held++;
        }
    }
}

static void let_go(struct look *look)
{
    while (look->n_held)
        cairn_walk_modules_leave(look->modules, look->held[--look->n_held]);
}

static bool read_ranges(struct look *look)
{
    struct cairn_maps *maps;
    if (cairn_maps_read_pid(look->pid, &maps, NULL) < 0)
        return false;
    hold(look, maps);
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        if (!is_code(map))
            continue;
        struct cairn_bpf_range range = {
            .start = map->start, .end = map->end, .flags = CAIRN_BPF_FP_OK};
        uint32_t number = 0;
        if (module_of(look, map, &number)) {
            const struct cairn_walk_module *module = &look->modules->items[number];
            range.to_text = module->text - map->start;
            range.strip = module->strip;
            range.n_strips = module->n_strips;
            range.flags = module->flags;
            if (module->flags & CAIRN_BPF_NO_ROOM &&
                (!look->found->lacks_bytes || module->lacks_bytes < look->found->lacks_bytes))
                look->found->lacks_bytes = module->lacks_bytes;
        }
        add_range(look, &range, number);
    }
    let_go(look);
    cairn_maps_free(maps);
    return true;
}

enum cairn_walk_look cairn_walk_look_at(struct cairn_walk_modules *modules, int pid,
                                        struct cairn_walk_found *ret_found)
{
    struct look look = {.modules = modules, .found = ret_found, .pid = pid};
    ret_found->space.stack_start = cairn_process_stack_start(pid);
    if (!ret_found->space.stack_start)
        return kill(pid, 0) < 0 && errno == ESRCH ? CAIRN_WALK_IMPOSSIBLE : CAIRN_WALK_LATER;
    bool was_read = read_ranges(&look);
    cairn_unwind_space_free(look.space);
    if (!was_read)
        return CAIRN_WALK_IMPOSSIBLE;
    return cairn_process_stack_start(pid) == ret_found->space.stack_start ? CAIRN_WALK_LOOKED
                                                                          : CAIRN_WALK_LATER;
}

void cairn_walk_ranges_leave(struct cairn_walk_modules *modules,
                             const struct cairn_bpf_range *ranges, const uint32_t *numbers,
                             uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ranges[i].n_strips)
            cairn_walk_modules_leave(modules, numbers[i]);
}

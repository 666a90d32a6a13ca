/* SPDX-License-Identifier: MIT */
/*
 * The loader keeps a list for debuggers (<link.h>): DT_DEBUG of the program's dynamic section leads
 * to struct r_debug, whose r_map is the first link_map. A static program has none of it.
 */
#include "attach/modules.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/foreign.h"
#include "proc/mapped_file.h"
#include "proc/process.h"

enum { PAGE = 4096, DYNAMIC_MAX = 512, R_MAP_OFF = 8 };

/* As <link.h> begins it. */
struct list_entry {
    uint64_t addr, name, dynamic, next;
};

static bool open_it(void *ctx, enum cairn_mapped_by by, const char *name)
{
    struct cairn_foreign_wish wish = {.path = name, .folder = -1};
    const struct cairn_map *map = ((const void **)ctx)[0];
    int *fd = ((void **)ctx)[1];
    (void)by;
    wish.inode = map->inode;
    return cairn_foreign_open(&wish, fd, NULL) == CAIRN_OK;
}

/* The file of a mapping, in whatever namespace it lies. */
static int open_mapped(int pid, const struct cairn_map *map)
{
    static const enum cairn_mapped_by order[] = {CAIRN_MAPPED_BY_LINK, CAIRN_MAPPED_BY_EXE,
                                                 CAIRN_MAPPED_BY_ROOT, CAIRN_MAPPED_BY_NONE};
    const struct cairn_mapped_file file = {pid, map->start, map->end, map->path};
    int fd = -1;
    const void *ctx[] = {map, &fd};
    (void)cairn_mapped_find(&file, order, open_it, (void *)ctx);
    return fd;
}

/* All mappings of the file, and the first of code: segments of data may share a page of the file
 * with others, so that an offset does not tell which one it is. */
static const struct cairn_map *find_bounds(const struct cairn_maps *maps,
                                           const struct cairn_map *map,
                                           struct cairn_loaded_module *module)
{
    const struct cairn_map *code = NULL;
    module->low = map->start;
    module->high = map->end;
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *other = cairn_maps_get(maps, i);
        if (other->inode != map->inode || other->dev_major != map->dev_major ||
            other->dev_minor != map->dev_minor)
            continue;
        module->low = other->start < module->low ? other->start : module->low;
        module->high = other->end > module->high ? other->end : module->high;
        if (!code && other->flags & CAIRN_MAP_EXEC)
            code = other;
    }
    return code;
}

/* `map` is any mapping of the module. The bias is the mapping's and not the list's. */
static int add_module(const struct cairn_target_process *target, const struct cairn_map *map,
                      struct cairn_loaded_modules *modules, struct cairn_err *err)
{
    struct cairn_loaded_module module = {.path = cairn_strdup(map->path)};
    uint64_t vaddr;
    if (!module.path || cairn_grow((void **)&modules->items, &modules->cap, modules->n + 1,
                                   sizeof *modules->items) < 0) {
        cairn_free(module.path);
        return cairn_fail_memory(err);
    }
    const struct cairn_map *code = find_bounds(target->maps, map, &module);
    int fd = code ? open_mapped(target->pid, code) : -1;
    if (fd >= 0 && cairn_file_open_fd(fd, map->path, &module.file, NULL) == CAIRN_OK) {
        module.has_file = cairn_elf_open(module.file.bytes, &module.elf, NULL) == CAIRN_OK &&
                          module.elf.is64 && !module.elf.swap &&
                          cairn_elf_vaddr_of_mapping(&module.elf, code->off, PAGE, true, &vaddr);
        module.bias = module.has_file ? code->start - vaddr : 0;
    }
    if (fd >= 0)
        close(fd);
    modules->items[modules->n++] = module;
    return CAIRN_OK;
}

/* Where r_map is; 0: there is no such list. */
static uint64_t find_list(const struct cairn_target_process *target,
                          const struct cairn_loaded_module *program)
{
    struct cairn_elf_segment segment;
    Elf64_Dyn entry;
    uint64_t at = 0, first;
    for (uint32_t i = 0; !at && cairn_elf_segment(&program->elf, i, &segment); i++)
        if (segment.type == PT_DYNAMIC)
            at = program->bias + segment.vaddr;
    for (int i = 0; at && i < DYNAMIC_MAX; i++, at += sizeof entry) {
        if (cairn_target_read(target, at, &entry, sizeof entry, NULL) < 0 || entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_DEBUG && entry.d_un.d_ptr)
            return cairn_target_read(target, entry.d_un.d_ptr + R_MAP_OFF, &first, sizeof first,
                                     NULL) == CAIRN_OK
                       ? first
                       : 0;
    }
    return 0;
}

/* The program itself is the first of it, and is there already. */
static int read_list(const struct cairn_target_process *target,
                     struct cairn_loaded_modules *modules, struct cairn_err *err)
{
    struct list_entry entry;
    uint64_t at = find_list(target, &modules->items[0]);
    int result = CAIRN_OK;
    for (int i = 0; at && i < CAIRN_LOADED_MAX && result == CAIRN_OK; i++, at = entry.next) {
        if (cairn_target_read(target, at, &entry, sizeof entry, NULL) < 0)
            break;
        const struct cairn_map *map = cairn_maps_find(target->maps, entry.dynamic);
        if (i > 0 && map && map->flags & CAIRN_MAP_FILE)
            result = add_module(target, map, modules, err);
    }
    return result;
}

int cairn_loaded_read(const struct cairn_target_process *target,
                      struct cairn_loaded_modules *ret_modules, struct cairn_err *err)
{
    struct cairn_loaded_modules modules = {0};
    uint64_t entry;
    int result = cairn_process_auxv(target->pid, AT_ENTRY, &entry, err);
    if (result < 0)
        return result;
    const struct cairn_map *map = cairn_maps_find(target->maps, entry);
    if (!map || !(map->flags & CAIRN_MAP_FILE))
        return cairn_fail(err, CAIRN_E_MISSING, "pid %d: its program lies in no file", target->pid);
    result = add_module(target, map, &modules, err);
    if (result == CAIRN_OK && !modules.items[0].has_file)
        result = cairn_fail(err, CAIRN_E_MISSING, "pid %d: cannot read its program %s", target->pid,
                            map->path);
    if (result == CAIRN_OK)
        result = read_list(target, &modules, err);
    if (result < 0)
        cairn_loaded_done(&modules);
    else
        *ret_modules = modules;
    return result;
}

void cairn_loaded_done(struct cairn_loaded_modules *modules)
{
    for (size_t i = 0; i < modules->n; i++) {
        cairn_free(modules->items[i].path);
        cairn_file_close(&modules->items[i].file);
    }
    cairn_free(modules->items);
    *modules = (struct cairn_loaded_modules){0};
}

bool cairn_loaded_may_come(const struct cairn_loaded_modules *modules, const char *name)
{
    struct cairn_wanted_function function = {.name = name};
    struct cairn_elf_segment segment;
    bool has_loader = false;
    for (uint32_t i = 0; modules->n && cairn_elf_segment(&modules->items[0].elf, i, &segment); i++)
        has_loader |= segment.type == PT_INTERP;
    return has_loader && cairn_loaded_find(modules, &function, 1, NULL) == CAIRN_OK &&
           function.module == SIZE_MAX;
}

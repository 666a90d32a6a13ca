/* SPDX-License-Identifier: MIT */
#include "target/files.h"

#include <elf.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/module_kind.h"
#include "elf/image.h"
#include "target/memory_image.h"

/* LOOK_BACK: a module has a handful of mappings; with holes between them some dozen. */
enum { LOOK_BACK = 32, VDSO_MAX = 1 << 20, PAGE = 4096 };

void cairn_target_file_free(struct cairn_target_file *file)
{
    cairn_debugfile_found_done(&file->found);
    cairn_free((void *)(uintptr_t)file->made.data);
    cairn_free(file);
}

uint64_t cairn_target_made_off(const struct cairn_target_file *file, uint64_t va)
{
    struct cairn_elf elf;
    struct cairn_elf_segment segment;
    uint64_t first;
    if (cairn_elf_open(file->made, &elf, NULL) < 0 || !cairn_elf_first_vaddr(&elf, PAGE, &first))
        return 0;
    uint64_t vaddr = va - file->base + first, off = 0;
    for (uint32_t i = 0; cairn_elf_segment(&elf, i, &segment); i++)
        if (segment.type == PT_LOAD && vaddr >= segment.vaddr - segment.vaddr % PAGE)
            off = segment.off + (vaddr - segment.vaddr);
    return off;
}

static bool is_same_file(const struct cairn_target_map *a, const struct cairn_target_map *b)
{
    return a->path == b->path && a->inode == b->inode && a->dev == b->dev;
}

/* Where the module that is mapped here begins in memory; false where that cannot be told. A mapping
 * without a path may be a module too: the vdso, or any in a core file that names none. */
static bool find_base(const struct cairn_target *target, const struct cairn_target_map *map,
                      uint64_t *ret_base)
{
    for (size_t n = 0; n < LOOK_BACK && map - n >= target->maps; n++) {
        const struct cairn_target_map *at = map - n;
        if (map->path ? is_same_file(at, map) && at->off == 0
                      : target->memory.read &&
                            cairn_memory_has_module(&target->memory, at->start, map->start)) {
            *ret_base = at->start;
            return true;
        }
    }
    return false;
}

static struct cairn_target_file *find_known(const struct cairn_target *target,
                                            const struct cairn_target_map *map, uint64_t base,
                                            uint32_t *ret_number)
{
    for (size_t i = 0; i < target->n_files; i++) {
        struct cairn_target_file *file = target->files[i];
        bool is_same =
            file->path == map->path && file->inode == map->inode && file->dev == map->dev;
        /* What has a path is one file wherever it is mapped. */
        if (is_same && (file->base == base || (map->path && !file->made.size))) {
            *ret_number = (uint32_t)i + 1;
            return file;
        }
    }
    return NULL;
}

/* By path, if the build is the one in memory; unverified where memory does not tell. */
static bool open_by_path(struct cairn_target *target, const char *path, const char *build_id,
                         struct cairn_debugfile_found *ret_found)
{
    struct cairn_err why;
    if (path[0] != '/')
        return false;
    int code = cairn_debugfile_find(target->finder, path, build_id, ret_found, &why);
    if (code < 0)
        cairn_log_err(CAIRN_LOG_INFO, &why);
    return cairn_debugfile_has_image(code, ret_found);
}

static bool read_vdso(const struct cairn_target *target, const struct cairn_target_map *map,
                      struct cairn_span *ret_image)
{
    uint64_t size = map->end - map->start;
    uint8_t *bytes = size <= VDSO_MAX ? cairn_alloc((size_t)size, 1) : NULL;
    if (!bytes || !target->memory.read(target->memory.ctx, map->start, bytes, (size_t)size)) {
        cairn_free(bytes);
        return false;
    }
    *ret_image = (struct cairn_span){bytes, (size_t)size};
    return true;
}

static void open_file(struct cairn_target *target, const struct cairn_target_map *map,
                      bool has_base, struct cairn_target_file *file)
{
    const char *path = cairn_strings_get(&target->texts, map->path);
    char build_id[CAIRN_IMAGE_BUILD_ID_MAX] = "";
    struct cairn_err why;
    if (cairn_module_kind_of(path, map->start) == CAIRN_MODULE_VDSO) {
        if (target->memory.read && read_vdso(target, map, &file->made))
            file->image = file->made;
        return;
    }
    bool has_memory = has_base && target->memory.read;
    if (has_memory)
        cairn_memory_build_id(&target->memory, file->base, build_id);
    if ((target->open_mapped && target->open_mapped(target, map, &file->found)) ||
        ((*build_id || !(map->flags & CAIRN_MAP_DELETED)) &&
         open_by_path(target, path, build_id, &file->found))) {
        file->image = file->found.image.bytes;
        file->debug = file->found.debug.bytes;
        return;
    }
    if (!has_memory)
        return;
    if (cairn_memory_image(&target->memory, file->base, &file->made, &why) < 0)
        cairn_log_err(CAIRN_LOG_INFO, &why);
    else
        file->image = file->made;
}

const struct cairn_target_file *cairn_target_file_of(struct cairn_target *target,
                                                     struct cairn_target_map *map)
{
    if (!(map->flags & CAIRN_MAP_EXEC))
        return NULL;
    if (map->file)
        return target->files[map->file - 1];
    uint64_t base = map->start;
    bool has_base = find_base(target, map, &base);
    struct cairn_target_file *file = find_known(target, map, base, &map->file);
    if (file)
        return file;
    file = cairn_alloc(1, sizeof *file);
    if (!file || cairn_grow((void **)&target->files, &target->cap_files, target->n_files + 1,
                            sizeof(void *)) < 0) {
        cairn_free(file);
        return NULL;
    }
    file->dev = map->dev;
    file->inode = map->inode;
    file->path = map->path;
    file->base = base;
    target->files[target->n_files++] = file;
    map->file = (uint32_t)target->n_files;
    open_file(target, map, has_base, file);
    return file;
}

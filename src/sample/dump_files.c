/* SPDX-License-Identifier: MIT */
#include "sample/dump_files.h"

#include <limits.h>
#include <stdio.h>

#include "base/alloc.h"
#include "elf/note.h"

void cairn_dump_files_done(struct cairn_dump_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        cairn_file_close(&files->items[i]);
    cairn_free(files->items);
    cairn_table_done(&files->by_identity);
    *files = (struct cairn_dump_files){0};
}

/* By build ID where the kernel told it; else as long as the path still is the file's. */
static bool is_same(const struct cairn_file *file, const struct cairn_space_map *map)
{
    struct cairn_elf elf;
    struct cairn_span id;
    if (!map->build_id)
        return !map->is_deleted;
    return cairn_elf_open(file->bytes, &elf, NULL) == CAIRN_OK &&
           cairn_elf_build_id(&elf, &id, NULL) == CAIRN_OK &&
           cairn_hash_bytes(id.data, id.size) == map->file;
}

static bool open_below(const char *root, const char *path, const struct cairn_space_map *map,
                       struct cairn_file *ret_file)
{
    char name[PATH_MAX + 64];
    int length = snprintf(name, sizeof name, "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof name || cairn_file_open(name, ret_file, NULL) < 0)
        return false;
    if (is_same(ret_file, map))
        return true;
    cairn_file_close(ret_file);
    *ret_file = (struct cairn_file){0};
    return false;
}

/* As the process sees it; when it has ended, as we do. */
static void open_file(int pid, const char *path, const struct cairn_space_map *map,
                      struct cairn_file *ret_file)
{
    char root[32];
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    if (path[0] == '/' && !open_below(root, path, map, ret_file))
        (void)open_below("", path, map, ret_file);
}

struct cairn_span cairn_dump_file(struct cairn_dump_files *files, const struct cairn_spaces *spaces,
                                  const struct cairn_space *space,
                                  const struct cairn_space_map *map)
{
    const char *path = cairn_strings_get(&spaces->profile->strings, map->path);
    const struct cairn_span none = {0};
    uint32_t number;
    if (strcmp(path, "[vdso]") == 0) { /* the kernel gives the same one to all */
        struct cairn_span vdso = cairn_vdso_of_self();
        return vdso.size == map->end - map->start ? vdso : none;
    }
    if (!map->file)
        return none;
    if (cairn_table_find(&files->by_identity, map->file, &number))
        return files->items[number].bytes;
    struct cairn_file file = {0};
    if (cairn_grow((void **)&files->items, &files->cap, files->n + 1, sizeof file) < 0 ||
        cairn_table_set(&files->by_identity, map->file, (uint32_t)files->n) < 0)
        return none;
    open_file(space->pid, path, map, &file);
    files->items[files->n++] = file;
    return file.bytes;
}

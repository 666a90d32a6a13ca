/* SPDX-License-Identifier: MIT */
#include "sample/copy_files.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/foreign.h"
#include "base/module_kind.h"
#include "elf/note.h"
#include "proc/mapped_file.h"
#include "target/memory_image.h"

/* One that could not be had has no image. */
struct cairn_copy_file {
    struct cairn_debugfile_found found;
    struct cairn_span made; /* owned: the image, where there is no file */
};

/* Whose file, for those that open it. */
struct wanted {
    struct cairn_debugfile_finder *finder;
    struct cairn_space *space;
    const struct cairn_stream_map *map;
    const char *path, *build_id;
    struct cairn_copy_file *file; /* that is filled */
};

void cairn_copy_files_done(struct cairn_copy_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        cairn_debugfile_found_done(&files->items[i]->found);
        cairn_free((void *)(uintptr_t)files->items[i]->made.data);
        cairn_free(files->items[i]);
    }
    cairn_free(files->items);
    cairn_table_done(&files->by_identity);
    cairn_debugfile_finder_free(files->finder);
    *files = (struct cairn_copy_files){0};
}

/* Where no build ID is known, the path is believed as long as it is the file's. */
static bool open_path(const struct wanted *w, const char *path)
{
    if (!*w->build_id && w->map->is_deleted)
        return false;
    return cairn_debugfile_has_image(
        cairn_debugfile_find(w->finder, path, w->build_id, &w->file->found, NULL), &w->file->found);
}

/* What is mapped there by now may be another program's. */
static bool is_wanted(const struct wanted *w, const char *link, const struct cairn_span image)
{
    struct cairn_elf elf;
    struct cairn_span id;
    if (!*w->build_id)
        return cairn_mapped_is_path(link, w->path);
    return cairn_elf_open(image, &elf, NULL) == CAIRN_OK &&
           cairn_elf_build_id(&elf, &id, NULL) == CAIRN_OK &&
           cairn_hash_bytes(id.data, id.size) == w->map->file;
}

/* Links of /proc lead to the file itself, whatever became of its path. */
static bool open_link(const struct wanted *w, const char *link)
{
    struct cairn_debugfile_found *found = &w->file->found;
    int fd;
    if (cairn_foreign_open_path(link, &fd, NULL) < 0)
        return false;
    int code = cairn_debugfile_find_fd(w->finder, w->path, fd, found, NULL);
    close(fd);
    if (!cairn_debugfile_has_image(code, found))
        return false;
    if (is_wanted(w, link, found->image.bytes))
        return true;
    cairn_debugfile_found_done(found);
    return false;
}

static bool read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    return cairn_space_peek(ctx, va, to, size) == size;
}

/* Where what is mapped at the wanted place begins; false where that is another file by now. */
static bool find_base(const struct wanted *w, const struct cairn_maps *maps, uint64_t *ret_base)
{
    bool found = false;
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *row = cairn_maps_get(maps, i);
        if (row->off == 0 && strcmp(row->path, w->path) == 0) {
            *ret_base = row->start;
            found = true;
        }
        if (row->start <= w->map->start && w->map->start < row->end)
            return found && strcmp(row->path, w->path) == 0;
    }
    return false;
}

static bool make_of_memory(const struct wanted *w)
{
    const struct cairn_memory memory = {.read = read_memory, .ctx = w->space};
    char build_id[CAIRN_IMAGE_BUILD_ID_MAX];
    struct cairn_maps *maps;
    uint64_t base;
    if (cairn_maps_read_pid(w->space->code.pid, &maps, NULL) < 0)
        return false;
    bool is_there = find_base(w, maps, &base);
    cairn_maps_free(maps);
    if (is_there && *w->build_id) {
        cairn_memory_build_id(&memory, base, build_id);
        is_there = strcmp(build_id, w->build_id) == 0;
    }
    return is_there && cairn_memory_image(&memory, base, &w->file->made, NULL) == CAIRN_OK;
}

static bool open_by(void *ctx, enum cairn_mapped_by by, const char *name)
{
    const struct wanted *w = ctx;
    if (by == CAIRN_MAPPED_BY_MEMORY)
        return make_of_memory(w);
    if (by == CAIRN_MAPPED_BY_EXE && w->map->path != w->space->code.program)
        return false;
    return by == CAIRN_MAPPED_BY_LINK || by == CAIRN_MAPPED_BY_EXE ? open_link(w, name)
                                                                   : open_path(w, name);
}

/* The surest first. The path of a deleted file is another file's, or no file's: a copy is there if
 * its build ID is known. When the process has ended, its path is one of ours. */
static void open_file(struct wanted *w)
{
    static const enum cairn_mapped_by there[] = {CAIRN_MAPPED_BY_ROOT,   CAIRN_MAPPED_BY_PATH,
                                                 CAIRN_MAPPED_BY_LINK,   CAIRN_MAPPED_BY_EXE,
                                                 CAIRN_MAPPED_BY_MEMORY, CAIRN_MAPPED_BY_NONE};
    static const enum cairn_mapped_by deleted[] = {CAIRN_MAPPED_BY_LINK,   CAIRN_MAPPED_BY_EXE,
                                                   CAIRN_MAPPED_BY_MEMORY, CAIRN_MAPPED_BY_ROOT,
                                                   CAIRN_MAPPED_BY_PATH,   CAIRN_MAPPED_BY_NONE};
    const struct cairn_mapped_file file = {w->space->code.pid, w->map->start, w->map->end, w->path};
    if (w->path[0] == '/')
        (void)cairn_mapped_find(&file, w->map->is_deleted ? deleted : there, open_by, w);
}

uint64_t cairn_copy_files_identity(const struct cairn_space *space,
                                   const struct cairn_stream_map *map)
{
    const uint64_t identity[] = {map->file, (uint64_t)map->path << 32 | space->root};
    return cairn_hash_bytes(identity, sizeof identity);
}

/* The number of the file; false: memory is gone. */
static bool add(struct cairn_copy_files *files, const struct cairn_spaces *spaces,
                struct cairn_space *space, const struct cairn_stream_map *map, uint32_t *ret_number)
{
    static const struct cairn_debugfile_places places;
    const struct cairn_strings *texts = &spaces->profile->strings;
    if ((!files->finder && cairn_debugfile_finder_new(&places, &files->finder, NULL) < 0) ||
        cairn_grow((void **)&files->items, &files->cap, files->n + 1, sizeof(void *)) < 0)
        return false;
    struct cairn_copy_file *file = cairn_alloc(1, sizeof *file);
    if (!file || cairn_table_set(&files->by_identity, cairn_copy_files_identity(space, map),
                                 (uint32_t)files->n) < 0) {
        cairn_free(file);
        return false;
    }
    struct wanted wanted = {.finder = files->finder,
                            .space = space,
                            .map = map,
                            .path = cairn_strings_get(texts, map->path),
                            .build_id = cairn_strings_get(texts, map->build_id),
                            .file = file};
    open_file(&wanted);
    *ret_number = (uint32_t)files->n;
    files->items[files->n++] = file;
    return true;
}

struct cairn_copied_file cairn_copy_files_get(struct cairn_copy_files *files,
                                              const struct cairn_spaces *spaces,
                                              struct cairn_space *space,
                                              const struct cairn_stream_map *map)
{
    struct cairn_copied_file none = {0};
    uint32_t number;
    if (map->kind == CAIRN_MODULE_VDSO) {
        struct cairn_span vdso = cairn_vdso_of_self();
        if (cairn_vdso_is_mapped(vdso, map->start, map->end))
            none.image = vdso;
        return none;
    }
    if (!map->file ||
        (!cairn_table_find(&files->by_identity, cairn_copy_files_identity(space, map), &number) &&
         !add(files, spaces, space, map, &number)))
        return none;
    const struct cairn_copy_file *file = files->items[number];
    return (struct cairn_copied_file){file->made.size ? file->made : file->found.image.bytes,
                                      file->found.debug.bytes};
}

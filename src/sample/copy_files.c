/* SPDX-License-Identifier: MIT */
#include "sample/copy_files.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/foreign.h"
#include "base/module_kind.h"
#include "elf/note.h"
#include "target/memory_image.h"

enum { PATH_BYTES = PATH_MAX + 64 };

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

/* A debug file alone does not do: offsets in it mean nothing. */
static bool has_image(int code, struct cairn_debugfile_found *found)
{
    if (code == CAIRN_OK && found->image.bytes.size)
        return true;
    if (code == CAIRN_OK)
        cairn_debugfile_found_done(found);
    *found = (struct cairn_debugfile_found){0};
    return false;
}

/* Where no build ID is known, the path is believed as long as it is the file's. */
static bool open_below(const struct wanted *w, const char *root,
                       struct cairn_debugfile_found *ret_found)
{
    char name[PATH_BYTES];
    int length = snprintf(name, sizeof name, "%s%s", root, w->path);
    if (length < 0 || (size_t)length >= sizeof name || (!*w->build_id && w->map->is_deleted))
        return false;
    return has_image(cairn_debugfile_find(w->finder, name, w->build_id, ret_found, NULL),
                     ret_found);
}

/* It may have been deleted since it was mapped, or before. */
static bool is_path(const struct wanted *w, const char *text)
{
    size_t size = strlen(w->path);
    return strncmp(text, w->path, size) == 0 &&
           (text[size] == '\0' || strcmp(text + size, " (deleted)") == 0);
}

/* What is mapped there by now may be another program's. */
static bool is_wanted(const struct wanted *w, const char *link, const struct cairn_span image)
{
    struct cairn_elf elf;
    struct cairn_span id;
    char target[PATH_BYTES];
    if (*w->build_id)
        return cairn_elf_open(image, &elf, NULL) == CAIRN_OK &&
               cairn_elf_build_id(&elf, &id, NULL) == CAIRN_OK &&
               cairn_hash_bytes(id.data, id.size) == w->map->file;
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    return is_path(w, target);
}

/* Links of /proc lead to the file itself, whatever became of its path. */
static bool open_link(const struct wanted *w, const char *link,
                      struct cairn_debugfile_found *ret_found)
{
    int fd;
    if (cairn_foreign_open_path(link, &fd, NULL) < 0)
        return false;
    int code = cairn_debugfile_find_fd(w->finder, w->path, fd, ret_found, NULL);
    close(fd);
    if (!has_image(code, ret_found))
        return false;
    if (is_wanted(w, link, ret_found->image.bytes))
        return true;
    cairn_debugfile_found_done(ret_found);
    *ret_found = (struct cairn_debugfile_found){0};
    return false;
}

/* For the program itself that needs no capability; else CAP_CHECKPOINT_RESTORE (proc(5)). */
static bool open_mapped(const struct wanted *w, struct cairn_debugfile_found *ret_found)
{
    char link[96];
    snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, w->space->pid,
             w->map->start, w->map->end);
    if (open_link(w, link, ret_found))
        return true;
    snprintf(link, sizeof link, "/proc/%d/exe", w->space->pid);
    return w->map->path == w->space->code.program && open_link(w, link, ret_found);
}

/* As the process sees it; when it has ended, as we do. */
static bool open_by_path(const struct wanted *w, struct cairn_debugfile_found *ret_found)
{
    char root[32];
    snprintf(root, sizeof root, "/proc/%d/root", w->space->pid);
    return open_below(w, root, ret_found) || open_below(w, "", ret_found);
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
        if (row->off == 0 && is_path(w, row->path)) {
            *ret_base = row->start;
            found = true;
        }
        if (row->start <= w->map->start && w->map->start < row->end)
            return found && is_path(w, row->path);
    }
    return false;
}

static bool make_of_memory(const struct wanted *w, struct cairn_span *ret_made)
{
    const struct cairn_memory memory = {.read = read_memory, .ctx = w->space};
    char build_id[CAIRN_IMAGE_BUILD_ID_MAX];
    struct cairn_maps *maps;
    uint64_t base;
    if (cairn_maps_read_pid(w->space->pid, &maps, NULL) < 0)
        return false;
    bool is_there = find_base(w, maps, &base);
    cairn_maps_free(maps);
    if (is_there && *w->build_id) {
        cairn_memory_build_id(&memory, base, build_id);
        is_there = strcmp(build_id, w->build_id) == 0;
    }
    return is_there && cairn_memory_image(&memory, base, ret_made, NULL) == CAIRN_OK;
}

/* The surest first. Of one that was deleted the path is another's, or nobody's. */
static void open_file(const struct wanted *w, struct cairn_copy_file *file)
{
    if (w->path[0] != '/')
        return;
    if (!w->map->is_deleted && open_by_path(w, &file->found))
        return;
    if (open_mapped(w, &file->found) || make_of_memory(w, &file->made))
        return;
    if (w->map->is_deleted) /* a copy, if its build ID is known */
        (void)open_by_path(w, &file->found);
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
    const struct wanted wanted = {.finder = files->finder,
                                  .space = space,
                                  .map = map,
                                  .path = cairn_strings_get(texts, map->path),
                                  .build_id = cairn_strings_get(texts, map->build_id)};
    open_file(&wanted, file);
    *ret_number = (uint32_t)files->n;
    files->items[files->n++] = file;
    return true;
}

struct cairn_copy_file_bytes cairn_copy_files_get(struct cairn_copy_files *files,
                                                  const struct cairn_spaces *spaces,
                                                  struct cairn_space *space,
                                                  const struct cairn_stream_map *map)
{
    struct cairn_copy_file_bytes none = {0};
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
    return (struct cairn_copy_file_bytes){file->made.size ? file->made : file->found.image.bytes,
                                          file->found.debug.bytes};
}

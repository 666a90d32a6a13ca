/* SPDX-License-Identifier: MIT */
#include "import/files.h"

#include "base/alloc.h"
#include "base/module_kind.h"
#include "stream/build_id.h"

/* One that could not be had has no image. */
struct cairn_import_file {
    struct cairn_debugfile_found found;
    struct cairn_span vdso; /* borrowed: the image, where it is this process's own */
};

int cairn_import_files_init(struct cairn_import_files *files, const struct cairn_unwind_opts *opts,
                            struct cairn_err *err)
{
    struct cairn_unwind_opts known = {0};
    if (opts)
        memcpy(&known, opts, opts->size < sizeof known ? opts->size : sizeof known);
    const struct cairn_debugfile_places places = {.symbol_dirs = known.symbol_dirs,
                                                  .n_symbol_dirs = known.n_symbol_dirs,
                                                  .debug_dir = known.debug_dir,
                                                  .root = known.root};
    *files = (struct cairn_import_files){.has_root = known.root != NULL};
    return cairn_debugfile_finder_new(&places, &files->finder, err);
}

void cairn_import_files_forget(struct cairn_import_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        cairn_debugfile_found_done(&files->items[i]->found);
        cairn_free(files->items[i]);
    }
    files->n = 0;
    cairn_table_done(&files->by_key);
    files->by_key = (struct cairn_table){0};
}

void cairn_import_files_done(struct cairn_import_files *files)
{
    cairn_import_files_forget(files);
    cairn_free(files->items);
    cairn_debugfile_finder_free(files->finder);
    *files = (struct cairn_import_files){0};
}

static bool is_elsewhere(struct cairn_import_files *files, const struct cairn_stream *stream)
{
    if (!files->knows_where)
        files->is_elsewhere =
            cairn_host_is_other(cairn_profile_note(stream->profile, CAIRN_NOTE_HOST, 0));
    files->knows_where = true;
    return files->is_elsewhere;
}

/* The kernel that runs here maps the same one into every process. */
static struct cairn_span find_vdso(bool is_elsewhere, const struct cairn_stream_map *map,
                                   const char *build_id)
{
    char own[CAIRN_KERNEL_BUILD_ID_SIZE];
    struct cairn_span vdso = cairn_vdso_of_self();
    cairn_vdso_build_id(own);
    bool is_own = *build_id ? strcmp(build_id, own) == 0 : !is_elsewhere;
    return is_own && cairn_vdso_is_mapped(vdso, map->start, map->end) ? vdso
                                                                      : (struct cairn_span){0};
}

static void find_file(struct cairn_import_files *files, const struct cairn_stream *stream,
                      const struct cairn_stream_map *map, uint32_t id,
                      struct cairn_import_file *file)
{
    const char *path = cairn_strings_get(&stream->profile->strings, map->path);
    const char *build_id = cairn_strings_get(&stream->profile->strings, id);
    const char *slash = strrchr(path, '/');
    bool elsewhere = is_elsewhere(files, stream);
    if (map->kind == CAIRN_MODULE_VDSO)
        file->vdso = find_vdso(elsewhere, map, build_id);
    if (!cairn_module_is_file((enum cairn_module_kind)map->kind) || (!id && map->is_deleted))
        return;
    if (elsewhere && !id && !files->has_root && slash)
        path = slash + 1;
    (void)cairn_debugfile_has_image(
        cairn_debugfile_find(files->finder, path, build_id, &file->found, NULL), &file->found);
}

struct cairn_copied_file cairn_import_files_get(struct cairn_import_files *files,
                                                const struct cairn_stream *stream,
                                                const struct cairn_stream_map *map)
{
    struct cairn_copied_file none = {0};
    uint32_t id = cairn_stream_map_build_id(stream, map), number;
    const uint64_t key = (uint64_t)map->path << 32 | id;
    if (!map->path)
        return none;
    if (!cairn_table_find(&files->by_key, key, &number)) {
        struct cairn_import_file *file = cairn_alloc(1, sizeof *file);
        number = (uint32_t)files->n;
        if (!file ||
            cairn_grow((void **)&files->items, &files->cap, files->n + 1, sizeof(void *)) < 0 ||
            cairn_table_set(&files->by_key, key, number) < 0) {
            cairn_free(file);
            return none;
        }
        find_file(files, stream, map, id, file);
        files->items[files->n++] = file;
    }
    const struct cairn_import_file *file = files->items[number];
    return (struct cairn_copied_file){.image =
                                          file->vdso.size ? file->vdso : file->found.image.bytes,
                                      .debug = file->found.debug.bytes};
}

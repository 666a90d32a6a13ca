/* SPDX-License-Identifier: MIT */
#include "sample/copy_walk.h"

#include <stdio.h>

#include <cairn/profile.h>

#include "base/alloc.h"
#include "base/error.h"
#include "unwind/space.h"

enum { FILES_MAX = 4096, PATH_BYTES = 4200 };

/* One that could not be had has no image. */
struct cairn_copy_file {
    struct cairn_debugfile_found found;
    struct cairn_span image, debug;
};

static bool open_file(struct cairn_copy_walker *walker, const struct cairn_space_map *map,
                      struct cairn_copy_file *file)
{
    const struct cairn_strings *texts = &walker->spaces->profile->strings;
    const char *path = cairn_strings_get(texts, map->path);
    const char *build_id = cairn_strings_get(texts, map->build_id);
    char rooted[PATH_BYTES];
    if (path[0] != '/')
        return false;
    if (cairn_debugfile_find(walker->finder, path, build_id, &file->found, NULL) == CAIRN_OK &&
        file->found.image.bytes.size)
        return true;
    cairn_debugfile_found_done(&file->found);
    file->found = (struct cairn_debugfile_found){0};
    /* Of another mount namespace, where it lives yet. */
    int n = snprintf(rooted, sizeof rooted, "/proc/%d/root%s", walker->space->pid, path);
    return n > 0 && (size_t)n < sizeof rooted &&
           cairn_debugfile_find(walker->finder, rooted, build_id, &file->found, NULL) == CAIRN_OK;
}

/* NULL: none, or memory is gone. */
static const struct cairn_copy_file *file_of(struct cairn_copy_walker *walker,
                                             const struct cairn_space_map *map)
{
    uint32_t number;
    if (!map->file)
        return NULL;
    if (cairn_table_find(&walker->by_file, map->file, &number))
        return walker->files[number];
    if (walker->n_files == FILES_MAX || cairn_grow((void **)&walker->files, &walker->cap_files,
                                                   walker->n_files + 1, sizeof(void *)) < 0)
        return NULL;
    struct cairn_copy_file *file = cairn_alloc(1, sizeof *file);
    if (!file || cairn_table_set(&walker->by_file, map->file, (uint32_t)walker->n_files) < 0) {
        cairn_free(file);
        return NULL;
    }
    walker->files[walker->n_files++] = file;
    if (open_file(walker, map, file)) {
        file->image = file->found.image.bytes;
        file->debug = file->found.debug.bytes;
    }
    return file;
}

static struct cairn_span image_of(struct cairn_copy_walker *walker,
                                  const struct cairn_space_map *map, struct cairn_span *ret_debug)
{
    const char *path = cairn_strings_get(&walker->spaces->profile->strings, map->path);
    const struct cairn_copy_file *file;
    *ret_debug = (struct cairn_span){0};
    if (strcmp(path, "[vdso]") == 0) { /* the same in all processes, but those of 32 bits */
        struct cairn_span vdso = cairn_vdso_of_self();
        return vdso.size == map->end - map->start ? vdso : (struct cairn_span){0};
    }
    file = file_of(walker, map);
    if (!file)
        return (struct cairn_span){0};
    *ret_debug = file->debug;
    return file->image;
}

/* The stack, or code as its file has it. */
static int accessor_read(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_copy_walker *walker = ctx;
    struct cairn_span bytes, debug;
    if (va >= walker->copy->va &&
        cairn_span_slice(walker->copy->bytes, va - walker->copy->va, size, &bytes)) {
        memcpy(to, bytes.data, size);
        return 0;
    }
    const struct cairn_space_map *map = cairn_space_find(walker->space, va);
    if (!map || size > map->end - va ||
        !cairn_span_slice(image_of(walker, map, &debug), map->off + (va - map->start), size,
                          &bytes))
        return 1;
    memcpy(to, bytes.data, size);
    return 0;
}

static int accessor_find(void *ctx, uint64_t va, struct cairn_unwind_region *ret_region)
{
    struct cairn_copy_walker *walker = ctx;
    struct cairn_span image, debug;
    const struct cairn_space_map *map = cairn_space_find(walker->space, va);
    if (!map)
        return 1;
    image = image_of(walker, map, &debug);
    *ret_region = (struct cairn_unwind_region){
        .start = map->start,
        .end = map->end,
        .off = map->off,
        .flags = CAIRN_MAP_READ | CAIRN_MAP_EXEC,
        .path = cairn_strings_get(&walker->spaces->profile->strings, map->path),
        .file = image.data,
        .file_size = image.size,
        .debug_file = debug.data,
        .debug_file_size = debug.size,
    };
    return 0;
}

int cairn_copy_walker_init(struct cairn_copy_walker *walker, struct cairn_err *err)
{
    static const struct cairn_debugfile_places places;
    const struct cairn_unwind_accessors accessors = {
        .size = sizeof accessors, .ctx = walker, .read = accessor_read, .find = accessor_find};
    int code = cairn_debugfile_finder_new(&places, &walker->finder, err);
    return code < 0 ? code : cairn_unwind_space_new(&accessors, &walker->unwind, err);
}

void cairn_copy_walker_done(struct cairn_copy_walker *walker)
{
    cairn_unwind_space_free(walker->unwind);
    for (size_t i = 0; i < walker->n_files; i++) {
        cairn_debugfile_found_done(&walker->files[i]->found);
        cairn_free(walker->files[i]);
    }
    cairn_free(walker->files);
    cairn_table_done(&walker->by_file);
    cairn_debugfile_finder_free(walker->finder);
    walker->unwind = NULL;
    walker->finder = NULL;
    walker->files = NULL;
    walker->n_files = walker->cap_files = 0;
}

static enum cairn_frame_kind kind_of(enum cairn_frame_how how)
{
    switch (how) {
    case CAIRN_HOW_FP:
        return CAIRN_FRAME_POINTER;
    case CAIRN_HOW_FP_GUESS:
    case CAIRN_HOW_CODE:
        return CAIRN_FRAME_GUESSED;
    default:
        return CAIRN_FRAME_CFI;
    }
}

static enum cairn_walk_end end_of(enum cairn_unwind_end end, bool goes_on)
{
    switch (end) {
    case CAIRN_END_OUTERMOST:
        return CAIRN_WALK_WHOLE;
    case CAIRN_END_MAX_FRAMES:
        return CAIRN_WALK_DEEP;
    case CAIRN_END_NO_MODULE:
        return CAIRN_WALK_NO_CODE;
    case CAIRN_END_UNREADABLE:
        return goes_on ? CAIRN_WALK_COPY : CAIRN_WALK_UNREADABLE;
    case CAIRN_END_BAD_CFA:
    case CAIRN_END_LOOP:
        return CAIRN_WALK_FALLING;
    case CAIRN_END_NO_REGISTER:
        return CAIRN_WALK_HARD_RULE;
    default:
        return CAIRN_WALK_NO_RULE;
    }
}

void cairn_copy_walk(struct cairn_copy_walker *walker, struct cairn_spaces *spaces,
                     struct cairn_space *space, const struct cairn_copy *copy)
{
    struct cairn_user_walk *walk = &walker->walk;
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    walker->spaces = spaces;
    walker->space = space;
    walker->copy = copy;
    walk->n = 0;
    walk->end = CAIRN_WALK_NOTHING;
    cairn_space_move(walker->unwind);
    if (cairn_cursor_init(&cursor, walker->unwind, &copy->regs, NULL) < 0)
        return;
    do {
        cairn_cursor_frame(&cursor, &frame);
        walk->addresses[walk->n] = frame.ip;
        walk->exact[walk->n] = frame.exact;
        walk->kinds[walk->n++] = (uint8_t)kind_of(frame.how);
    } while (walk->n < CAIRN_WALK_FRAMES_MAX && cairn_cursor_step(&cursor));
    walk->end = walk->n < CAIRN_WALK_FRAMES_MAX ? end_of(cairn_cursor_end(&cursor), copy->goes_on)
                                                : CAIRN_WALK_DEEP;
}

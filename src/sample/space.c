/* SPDX-License-Identifier: MIT */
#include "sample/space.h"

#include <errno.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/module_kind.h"
#include "sample/build_ids.h"
#include "sample/cgroup.h"
#include "sample/guest_walk.h"

static void close_memory(struct cairn_space *space)
{
    if (space->mem_state == 1)
        cairn_mem_close(&space->mem);
    space->mem_state = 0;
}

static void forget_guests(struct cairn_space *space)
{
    cairn_guest_walk_close(space->guests);
    space->guests = NULL;
    space->guests_version = 0;
    space->n_guest_looks = 0;
    space->guests_told_ns = 0;
}

/* What is known of one program alone, but for its interpreters. */
static void forget_program(struct cairn_space *space)
{
    close_memory(space);
    space->is_partial = false;
    space->entry = 0;
    space->n_searches = 0;
    space->searched_ns = 0;
    space->is_known = true; /* what it maps will be told */
    space->has_cgroup = false;
}

void cairn_space_forget_maps(struct cairn_spaces *spaces, struct cairn_space *space)
{
    forget_program(space);
    cairn_stream_space_clear(&space->code, &spaces->all.load);
}

static void reset(struct cairn_stream_space *item)
{
    struct cairn_space *space = (struct cairn_space *)item;
    forget_guests(space);
    forget_program(space);
}

static void inherit(struct cairn_stream_space *item, const struct cairn_stream_space *parent)
{
    struct cairn_space *to = (struct cairn_space *)item;
    const struct cairn_space *from = (const struct cairn_space *)parent;
    to->is_partial = from->is_partial;
    to->entry = from->entry;
    to->is_known = from->is_known;
    to->is_seen = false;
    to->cgroup = from->cgroup;
    to->root = from->root;
}

/* Nothing of it is kept open. */
static void end(struct cairn_stream_space *item)
{
    struct cairn_space *space = (struct cairn_space *)item;
    close_memory(space);
    forget_guests(space);
}

/* A zombie is kept: threads may go on behind it. So is a process that has its number now. */
static bool is_over(const struct cairn_stream_space *item)
{
    return kill(item->pid, 0) < 0 && errno == ESRCH;
}

void cairn_spaces_init(struct cairn_spaces *spaces, struct cairn_profile *profile)
{
    static const struct cairn_stream_source source = {.item_bytes = sizeof(struct cairn_space),
                                                      .n_max = CAIRN_SPACES_MAX,
                                                      .item_reset = reset,
                                                      .item_inherit = inherit,
                                                      .item_end = end,
                                                      .item_is_over = is_over};
    *spaces = (struct cairn_spaces){.profile = profile, .all.source = &source};
}

void cairn_spaces_done(struct cairn_spaces *spaces)
{
    cairn_stream_processes_done(&spaces->all);
    cairn_calls_done(&spaces->calls);
    cairn_held_done(&spaces->held);
    *spaces = (struct cairn_spaces){0};
}

struct cairn_space *cairn_spaces_get(struct cairn_spaces *spaces, int pid)
{
    return (struct cairn_space *)cairn_stream_processes_get(&spaces->all, pid);
}

int cairn_space_add(struct cairn_spaces *spaces, struct cairn_space *space,
                    const struct cairn_stream_mapping *mapping)
{
    int code = cairn_stream_space_map(&space->code, spaces->profile, mapping, &spaces->all.load);
    return code < 0 ? code : CAIRN_OK; /* more than the limit are not remembered */
}

static void set_program(struct cairn_spaces *spaces, struct cairn_space *space)
{
    struct cairn_buffer path = {0};
    bool deleted;
    if (cairn_process_exe(space->code.pid, &path, &deleted, NULL) == CAIRN_OK) {
        uint32_t text = cairn_profile_text(spaces->profile, cairn_buffer_text(&path), path.size);
        space->code.program = text == UINT32_MAX ? 0 : text;
    }
    cairn_buffer_done(&path);
}

int cairn_space_read(struct cairn_spaces *spaces, struct cairn_space *space, struct cairn_err *err)
{
    struct cairn_maps *maps;
    int code = cairn_maps_read_pid(space->code.pid, &maps, err);
    if (code < 0)
        return code;
    struct cairn_build_ids ids;
    cairn_build_ids_open(space->code.pid, &ids);
    cairn_stream_space_clear(&space->code, &spaces->all.load);
    space->is_known = true;
    set_program(spaces, space);
    for (size_t i = 0; i < cairn_maps_count(maps) && code >= 0; i++) {
        const struct cairn_map *row = cairn_maps_get(maps, i);
        if (!(row->flags & CAIRN_MAP_EXEC))
            continue;
        const struct cairn_stream_mapping mapping = {
            .start = row->start,
            .size = row->end - row->start,
            .off = row->off,
            .dev = (uint64_t)row->dev_major << 32 | row->dev_minor,
            .inode = row->inode,
            .build_id = cairn_build_ids_find(&ids, row->start),
            .path = row->path,
        };
        code = cairn_space_add(spaces, space, &mapping);
    }
    cairn_build_ids_close(&ids);
    cairn_maps_free(maps);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static int read_cgroup(struct cairn_spaces *spaces, struct cairn_space *space)
{
    struct cairn_buffer path = {0};
    uint32_t text = space->cgroup;
    space->has_cgroup = true;
    if (cairn_cgroup_of(space->code.pid, &path, NULL) == CAIRN_OK) {
        bool is_root = path.size == 1;
        text =
            is_root ? 0 : cairn_profile_text(spaces->profile, cairn_buffer_text(&path), path.size);
    }
    cairn_buffer_done(&path);
    if (text == UINT32_MAX)
        return CAIRN_E_NOMEM;
    space->cgroup = text;
    return CAIRN_OK;
}

int cairn_space_know(struct cairn_spaces *spaces, struct cairn_space *space)
{
    if (!space->is_known) {
        struct cairn_err err = {0};
        int code = cairn_space_read(spaces, space, &err);
        if (code == CAIRN_E_NOMEM)
            return code;
        space->is_known = true;
        space->is_partial = space->is_partial || code == CAIRN_E_ACCESS;
    }
    if (space->has_cgroup)
        return CAIRN_OK;
    (void)cairn_held_find_root(&spaces->held, space->code.pid, &space->root);
    return read_cgroup(spaces, space);
}

/* The kernel tells no build ID of the vdso. It gives the same one to all processes of a machine
 * word, so that it is known by its bytes; by its size, where the process is gone. */
static bool is_our_vdso(struct cairn_spaces *spaces, struct cairn_space *space,
                        const struct cairn_stream_map *map)
{
    if (!spaces->vdso.size) {
        spaces->vdso = cairn_vdso_of_self();
        cairn_vdso_build_id(spaces->vdso_build_id);
    }
    size_t size = spaces->vdso.size;
    if (!cairn_vdso_is_mapped(spaces->vdso, map->start, map->end) || !spaces->vdso_build_id[0])
        return false;
    uint8_t *copy = cairn_alloc(size, 1);
    bool same = copy && (cairn_space_peek(space, map->start, copy, size) != size ||
                         memcmp(copy, spaces->vdso.data, size) == 0);
    cairn_free(copy);
    return same;
}

static bool find_vdso(struct cairn_spaces *spaces, struct cairn_space *space,
                      struct cairn_stream_map *map)
{
    const char *id = spaces->vdso_build_id;
    if (map->build_id || map->kind != CAIRN_MODULE_VDSO)
        return true;
    map->is_image = is_our_vdso(spaces, space, map); /* others may differ from each other */
    if (map->is_image)
        map->build_id = cairn_profile_text(spaces->profile, id, strlen(id));
    return map->build_id != UINT32_MAX;
}

static void open_file(struct cairn_spaces *spaces, const struct cairn_space *space,
                      const struct cairn_stream_map *map)
{
    const struct cairn_held_mapping mapping = {
        .pid = space->code.pid,
        .root = space->root,
        .start = map->start,
        .end = map->end,
        .inode = map->inode,
        .path = cairn_strings_get(&spaces->profile->strings, map->path),
        .is_deleted = map->is_deleted,
        .is_program = map->path == space->code.program,
    };
    if (map->file)
        cairn_held_take(&spaces->held, map->module, &mapping);
}

uint32_t cairn_space_module(struct cairn_spaces *spaces, struct cairn_space *space,
                            struct cairn_stream_map *map)
{
    if (map->module)
        return map->module;
    if (!find_vdso(spaces, space, map) ||
        cairn_stream_module(&spaces->all.modules, spaces->profile, space->root, map) == UINT32_MAX)
        return UINT32_MAX;
    open_file(spaces, space, map);
    return map->module;
}

size_t cairn_space_peek(struct cairn_space *space, uint64_t va, void *out, size_t size)
{
    if (space->mem_state == 0)
        space->mem_state = cairn_mem_open(space->code.pid, &space->mem, NULL) < 0 ? -1 : 1;
    return space->mem_state == 1 ? cairn_mem_read(&space->mem, va, out, size) : 0;
}

bool cairn_space_place(struct cairn_space *space, uint64_t va, uint64_t *ret_place)
{
    const struct cairn_stream_map *map = cairn_stream_space_find(&space->code, va);
    if (!map || !map->file)
        return false;
    const uint64_t place[] = {map->file, va - map->start + map->off,
                              (uint64_t)map->path << 32 | space->root};
    *ret_place = cairn_hash_bytes(place, sizeof place);
    return true;
}

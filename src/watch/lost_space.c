/* SPDX-License-Identifier: MIT */
#include "watch/lost_space.h"

#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/below.h"
#include "base/error.h"
#include "base/shared_memory.h"
#include "proc/process.h"
#include "watch/core.h"
#include "watch/lost_shared.h"

enum { PIECE = CAIRN_REACH_WINDOW, PAGE = CAIRN_LOST_PAGE };

int cairn_lost_space_open(int pid, struct cairn_lost_space *ret_space, struct cairn_err *err)
{
    struct cairn_lost_space space = {.pid = pid, .begun = cairn_process_stack_start(pid)};
    space.piece = cairn_alloc(PIECE, 1);
    if (!space.piece)
        return cairn_fail_memory(err);
    int code = cairn_mem_open(pid, &space.mem, err);
    if (code < 0) {
        cairn_free(space.piece);
        return code;
    }
    space.has_file = cairn_mem_open_file(pid, &space.file, NULL) == CAIRN_OK;
    cairn_present_open(pid, &space.present);
    *ret_space = space;
    return CAIRN_OK;
}

int cairn_lost_space_open_core(const struct cairn_heap_core *core,
                               struct cairn_lost_space *ret_space, struct cairn_err *err)
{
    struct cairn_lost_space space = {.pid = cairn_heap_core_pid(core),
                                     .core = core,
                                     .machine = core->file->elf.machine,
                                     .present = {.fd = -1},
                                     .mem = {.fd = -1},
                                     .piece = cairn_alloc(PIECE, 1)};
    if (!space.piece)
        return cairn_fail_memory(err);
    *ret_space = space;
    return CAIRN_OK;
}

void cairn_lost_space_close(struct cairn_lost_space *space)
{
    if (!space->piece)
        return;
    cairn_mem_close(&space->mem);
    if (space->has_file)
        cairn_mem_close(&space->file);
    cairn_present_close(&space->present);
    cairn_free(space->maps);
    cairn_free(space->arenas.items);
    cairn_free(space->tables.items);
    cairn_free(space->piece);
    *space = (struct cairn_lost_space){0};
}

int cairn_lost_ranges_add(struct cairn_lost_ranges *ranges, uint64_t start, uint64_t end)
{
    size_t at = ranges->n;
    if (cairn_grow((void **)&ranges->items, &ranges->cap, ranges->n + 1, sizeof *ranges->items) < 0)
        return CAIRN_E_NOMEM;
    for (; at > 0 && ranges->items[at - 1].start > start; at--)
        ranges->items[at] = ranges->items[at - 1];
    ranges->items[at] = (struct cairn_reach_range){start, end};
    ranges->n++;
    return CAIRN_OK;
}

static bool begins(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

/* A read of a device may do something; and nothing of a program's own lies there. */
static bool is_device(const struct cairn_map *map)
{
    return begins(map->path, "/dev/") && !begins(map->path, "/dev/shm/") &&
           !begins(map->path, "/dev/hugepages/") && !cairn_is_shared_memory(map->path);
}

/* No other process can read what memfd_secret(2) made, root's neither. */
static void leave_secret(struct cairn_lost_space *s, const struct cairn_map *map)
{
    static const char why[] = "in memory of memfd_secret(2), which no other process can read";
    if (strcmp(map->path, "/secretmem") != 0)
        return;
    cairn_unread_add(&s->mem.unread, map->start, map->end, why);
    if (s->has_file)
        cairn_unread_add(&s->file.unread, map->start, map->end, why);
}

/* The state of the tracker has the addresses of all blocks. A core file does not say that it was
 * shared. */
static bool is_state(const struct cairn_lost_space *s, const struct cairn_map *map)
{
    return ((map->flags & CAIRN_MAP_SHARED) || s->core) && (map->flags & CAIRN_MAP_FILE) &&
           cairn_heap_is_state_name(map->path);
}

static bool is_kernels(const struct cairn_map *map)
{
    return begins(map->path, "[v");
}

static bool is_glibc(const struct cairn_map *map)
{
    const char *slash = strrchr(map->path, '/');
    return slash && (begins(slash, "/libc.so.6") || begins(slash, "/libc-2."));
}

static enum cairn_lost_kind kind_of(const struct cairn_map *map)
{
    return strcmp(map->path, "[heap]") == 0    ? CAIRN_LOST_BREAK
           : strcmp(map->path, "[stack]") == 0 ? CAIRN_LOST_STACK
           : is_glibc(map)                     ? CAIRN_LOST_GLIBC
                                               : CAIRN_LOST_OTHER;
}

/* Files that a module's code or data are in: its vtables are in what is mapped of it. */
static bool has_tables(const struct cairn_map *map)
{
    return (map->flags & CAIRN_MAP_FILE) && !(map->flags & CAIRN_MAP_SHARED);
}

static int add_map(struct cairn_lost_space *s, const struct cairn_map *map)
{
    s->has_glibc |= is_glibc(map);
    if (has_tables(map) && cairn_lost_ranges_add(&s->tables, map->start, map->end) < 0)
        return CAIRN_E_NOMEM;
    s->n_devices += is_device(map);
    if (is_device(map) || is_state(s, map) || is_kernels(map))
        return CAIRN_OK;
    if (cairn_grow((void **)&s->maps, &s->cap_maps, s->n_maps + 1, sizeof *s->maps) < 0)
        return CAIRN_E_NOMEM;
    s->maps[s->n_maps++] = (struct cairn_lost_map){map->start, map->end,     map->start,
                                                   map->flags, kind_of(map), map->off};
    leave_secret(s, map);
    return CAIRN_OK;
}

int cairn_lost_space_check(struct cairn_lost_space *space, struct cairn_err *err)
{
    if (space->core || cairn_process_stack_start(space->pid) == space->begun)
        return CAIRN_OK;
    space->is_gone = true;
    return cairn_fail(err, CAIRN_E_MISSING,
                      "process %d ended, or became another program, while it was read", space->pid);
}

static int add_maps(struct cairn_lost_space *s, const struct cairn_maps *maps,
                    struct cairn_err *err)
{
    for (size_t i = 0; i < cairn_maps_count(maps); i++)
        if (add_map(s, cairn_maps_get(maps, i)) < 0)
            return cairn_fail_memory(err);
    return CAIRN_OK;
}

/* The file was cut, or its copy was not finished. */
static uint64_t missing_of(const struct cairn_elf *elf)
{
    struct cairn_elf_segment load;
    uint64_t missing = 0;
    for (uint32_t i = 0; cairn_elf_segment(elf, i, &load); i++) {
        uint64_t left = load.off < elf->bytes.size ? elf->bytes.size - load.off : 0;
        if (load.type == PT_LOAD && load.file_size > left)
            missing += load.file_size - left;
    }
    return missing;
}

/* The kernel writes a mapping as a whole, or nothing of it (core(5), coredump_filter). */
static bool is_absent(const struct cairn_heap_core *core, const struct cairn_lost_map *map)
{
    uint64_t from, to;
    return (map->flags & CAIRN_MAP_WRITE) &&
           !cairn_core_memory_next(core->file, map->start, map->end, 1, &from, &to);
}

static int load_core(struct cairn_lost_space *s, struct cairn_err *err)
{
    const struct cairn_heap_core *core = s->core;
    s->n_maps = s->tables.n = s->arenas.n = 0;
    s->n_devices = s->absent_bytes = 0;
    s->break_start = core->break_start;
    s->break_end = core->break_end;
    s->missing_bytes = missing_of(&core->file->elf);
    int code = add_maps(s, core->maps, err);
    for (size_t i = 0; i < s->n_maps; i++) {
        struct cairn_lost_map *map = &s->maps[i];
        s->absent_bytes += is_absent(core, map) ? map->end - map->start : 0;
        if (core->break_start >= map->start && core->break_start < map->end)
            map->kind = CAIRN_LOST_BREAK;
    }
    return code;
}

int cairn_lost_space_load(struct cairn_lost_space *space, struct cairn_err *err)
{
    struct cairn_maps *maps;
    if (space->core)
        return load_core(space, err);
    int code = cairn_maps_read_pid(space->pid, &maps, err);
    if (code < 0)
        return code;
    space->n_maps = space->tables.n = space->arenas.n = 0;
    space->n_devices = space->untouched_bytes = 0;
    space->break_start = cairn_process_break_start(space->pid);
    space->present.n = 0;
    cairn_unread_forget(&space->mem.unread);
    cairn_unread_add_maps(&space->mem.unread, space->pid, maps);
    if (space->has_file) {
        cairn_unread_forget(&space->file.unread);
        cairn_unread_add_maps(&space->file.unread, space->pid, maps);
    }
    code = add_maps(space, maps, err);
    cairn_maps_free(maps);
    return code < 0 ? code : cairn_lost_space_check(space, err);
}

/* The first mapping that ends behind `va`; n_maps: none does. */
static size_t map_behind(const struct cairn_lost_space *s, uint64_t va)
{
    return CAIRN_COUNT_BELOW(s->maps, s->n_maps, end, va);
}

struct cairn_lost_map *cairn_lost_space_map(struct cairn_lost_space *space, uint64_t va)
{
    size_t i = map_behind(space, va);
    return i < space->n_maps && va >= space->maps[i].start ? &space->maps[i] : NULL;
}

static void read_core(const struct cairn_heap_core *core, uint64_t va, uint8_t *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        uint64_t from, end;
        if (!cairn_core_memory_next(core->file, va + done, va + size, size, &from, &end))
            break;
        cairn_core_memory_read(core->file, from, to + (from - va), (size_t)(end - from));
        done = (size_t)(end - va);
    }
}

/* Of one mapping. What is not to be read, though it is there, is zero: `unread` says why. */
static void read_map(struct cairn_lost_space *s, const struct cairn_lost_map *map, uint64_t va,
                     uint8_t *to, size_t size)
{
    bool by_file = !(map->flags & CAIRN_MAP_READ) && s->has_file;
    struct cairn_mem *mem = by_file ? &s->file : &s->mem;
    s->n_bytes += size;
    if (s->core) {
        read_core(s->core, va, to, size);
        return;
    }
    for (size_t done = 0; done < size;) {
        done += cairn_mem_read(mem, va + done, to + done, size - done);
        if (done >= size || mem->gone)
            break;
        /* A page that is not there, or is not to be read. */
        size_t left = PAGE - (size_t)((va + done) % PAGE);
        done += left < size - done ? left : size - done;
    }
    s->is_gone |= mem->gone;
}

bool cairn_lost_space_read(struct cairn_lost_space *space, uint64_t va, uint8_t *to, size_t size)
{
    memset(to, 0, size);
    for (size_t i = map_behind(space, va); i < space->n_maps && !space->is_gone; i++) {
        const struct cairn_lost_map *map = &space->maps[i];
        uint64_t from = map->start > va ? map->start : va;
        uint64_t end = map->end - va < size ? map->end : va + size;
        if (from >= va + size)
            break;
        read_map(space, map, from, to + (from - va), (size_t)(end - from));
    }
    return !space->is_gone;
}

/* The first run of pages in [va, end) of a mapping that may hold something. */
static bool next_run(struct cairn_lost_space *s, const struct cairn_lost_map *map, uint64_t va,
                     uint64_t end, uint64_t *ret_from, uint64_t *ret_to)
{
    bool is_private = !(map->flags & CAIRN_MAP_SHARED);
    if (s->core)
        return cairn_core_memory_next(s->core->file, va, end, PIECE, ret_from, ret_to);
    s->present.skips_file = is_private;
    /* Without /proc/PID/pagemap: what cannot have been written, as far as its protection says. */
    if (s->present.fd < 0 && is_private && (map->flags & CAIRN_MAP_FILE) &&
        !(map->flags & CAIRN_MAP_WRITE))
        return false;
    return cairn_present_next(&s->present, va, end, PIECE, ret_from, ret_to);
}

static uint64_t skip(void *ctx, uint64_t va, uint64_t end)
{
    struct cairn_lost_space *s = ctx;
    uint64_t from, to;
    for (size_t i = map_behind(s, va); i < s->n_maps && s->maps[i].start < end; i++) {
        const struct cairn_lost_map *map = &s->maps[i];
        from = map->start > va ? map->start : va;
        if (next_run(s, map, from, map->end < end ? map->end : end, &from, &to))
            return from > va ? from : va;
    }
    return end;
}

static bool read_memory(void *ctx, uint64_t va, uint8_t *to, size_t size)
{
    return cairn_lost_space_read(ctx, va, to, size);
}

struct cairn_reach_memory cairn_lost_space_memory(struct cairn_lost_space *space)
{
    return (struct cairn_reach_memory){read_memory, skip, space};
}

static int each_of_map(struct cairn_lost_space *s, const struct cairn_lost_map *map,
                       cairn_lost_piece_fn each, void *ctx)
{
    uint64_t from, to, va = map->live & ~UINT64_C(7);
    const uint32_t others_write = CAIRN_MAP_SHARED | CAIRN_MAP_WRITE;
    bool is_others = !s->core && (map->flags & others_write) == others_write;
    uint64_t untouched = is_others ? map->end - map->start : 0;
    while (va < map->end && next_run(s, map, va, map->end, &from, &to)) {
        memset(s->piece, 0, (size_t)(to - from));
        read_map(s, map, from, s->piece, (size_t)(to - from));
        int code = s->is_gone ? CAIRN_E_MISSING
                              : each(ctx, from, (struct cairn_span){s->piece, (size_t)(to - from)});
        if (code < 0)
            return code;
        va = to;
        untouched -= untouched ? to - from : 0;
    }
    s->untouched_bytes += untouched;
    return CAIRN_OK;
}

static bool is_arena(const struct cairn_lost_space *s, const struct cairn_lost_map *map)
{
    for (size_t i = 0; i < s->arenas.n; i++)
        if (s->arenas.items[i].start <= map->start && s->arenas.items[i].end >= map->end)
            return true;
    return false;
}

int cairn_lost_space_each(struct cairn_lost_space *space, bool with_arenas,
                          cairn_lost_piece_fn each, void *ctx, struct cairn_err *err)
{
    space->present.n = 0;
    for (size_t i = 0; i < space->n_maps; i++) {
        if (!with_arenas && is_arena(space, &space->maps[i]))
            continue;
        bool is_read = false;
        int code = space->core
                       ? CAIRN_OK
                       : cairn_lost_shared_each(space, &space->maps[i], each, ctx, &is_read);
        if (!is_read)
            code = each_of_map(space, &space->maps[i], each, ctx);
        if (space->is_gone)
            return cairn_fail(err, CAIRN_E_MISSING, "process %d ended while it was read",
                              space->pid);
        if (code < 0)
            return code == CAIRN_E_NOMEM ? cairn_fail_memory(err) : code;
    }
    return CAIRN_OK;
}

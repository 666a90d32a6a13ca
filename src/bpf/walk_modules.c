/* SPDX-License-Identifier: MIT */
#include "bpf/walk_modules.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bpf/strip.h"

enum {
    /* a module is not given away sooner than the program can be done with it */
    UNUSED_NS = 500000000,
    MODULES_MAX = 1 << 16
};

void cairn_walk_modules_init(struct cairn_walk_modules *modules, uint64_t max_bytes)
{
    uint64_t most = max_bytes / CAIRN_BPF_SEGMENT_BYTES;
    *modules = (struct cairn_walk_modules){.segments_fd = -1, .files_fd = -1};
    modules->segments_max =
        max_bytes && most < CAIRN_BPF_SEGMENTS_MAX ? (uint32_t)most : CAIRN_BPF_SEGMENTS_MAX;
}

void cairn_walk_modules_done(struct cairn_walk_modules *modules)
{
    for (uint32_t i = 0; i < modules->room.n_segments; i++) {
        munmap(modules->segments[i], CAIRN_BPF_SEGMENT_BYTES);
        close(modules->segment_fds[i]);
    }
    for (size_t i = 0; i < modules->n; i++)
        cairn_free(modules->items[i].pieces);
    cairn_free(modules->items);
    cairn_table_done(&modules->by_file);
    cairn_room_done(&modules->room);
    cairn_room_done(&modules->strip_room);
    *modules = (struct cairn_walk_modules){0};
}

static uint64_t hash_of(const struct cairn_bpf_file *file)
{
    return cairn_hash_bytes(file, sizeof *file);
}

static bool is_free(const struct cairn_walk_module *module)
{
    static const struct cairn_bpf_file nobody = {0};
    return memcmp(&module->file, &nobody, sizeof nobody) == 0;
}

static bool add_segment(struct cairn_walk_modules *modules)
{
    LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
    uint32_t number = modules->room.n_segments;
    if (number >= modules->segments_max)
        return false;
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cairn_segment", sizeof(uint32_t),
                            CAIRN_BPF_SEGMENT_BYTES, 1, &opts);
    if (fd < 0)
        return false;
    void *bytes = mmap(NULL, CAIRN_BPF_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED || bpf_map_update_elem(modules->segments_fd, &number, &fd, 0) < 0 ||
        cairn_room_add(&modules->room, CAIRN_BPF_SEGMENT_BYTES) < 0) {
        if (bytes != MAP_FAILED)
            munmap(bytes, CAIRN_BPF_SEGMENT_BYTES);
        close(fd);
        return false;
    }
    modules->segments[number] = bytes;
    modules->segment_fds[number] = fd;
    return true;
}

static void give_strips(struct cairn_walk_modules *modules, struct cairn_walk_module *module)
{
    const struct cairn_room_piece numbers = {0, module->strip, module->n_strips};
    for (uint32_t i = 0; module->pieces && i < module->n_strips; i++) {
        modules->strips[module->strip + i] = CAIRN_RULE_NONE;
        if (module->pieces[i].bytes)
            (void)cairn_room_give(&modules->room, &module->pieces[i]);
    }
    if (module->pieces)
        (void)cairn_room_give(&modules->strip_room, &numbers);
    cairn_free(module->pieces);
    module->pieces = NULL;
    module->n_strips = 0;
}

static void drop(struct cairn_walk_modules *modules, struct cairn_walk_module *module)
{
    (void)bpf_map_delete_elem(modules->files_fd, &module->file);
    cairn_table_remove(&modules->by_file, hash_of(&module->file));
    give_strips(modules, module);
    *module = (struct cairn_walk_module){0};
    modules->n_free++;
}

/* When it was used last, by a process that has it or a walk by files; UINT64_MAX: it may not give
 * way. */
static uint64_t last_use_ns(const struct cairn_walk_modules *modules,
                            const struct cairn_walk_module *module)
{
    struct cairn_bpf_module told = {0};
    uint64_t use_ns = module->unused_ns;
    if (!module->n_strips || module->n_users || modules->now_ns < use_ns + UNUSED_NS)
        return UINT64_MAX;
    (void)bpf_map_lookup_elem(modules->files_fd, &module->file, &told);
    if (told.used_ns > use_ns)
        use_ns = told.used_ns;
    return modules->now_ns < use_ns + UNUSED_NS ? UINT64_MAX : use_ns;
}

static bool may_give_way(const struct cairn_walk_modules *modules,
                         const struct cairn_walk_module *module)
{
    return last_use_ns(modules, module) != UINT64_MAX;
}

/* The one that nobody has had for longest gives way; false: there is none. */
static bool evict(struct cairn_walk_modules *modules)
{
    struct cairn_walk_module *oldest = NULL;
    uint64_t oldest_ns = UINT64_MAX;
    for (size_t i = 0; i < modules->n; i++) {
        struct cairn_walk_module *module = &modules->items[i];
        uint64_t use_ns = last_use_ns(modules, module);
        if (use_ns < oldest_ns) {
            oldest_ns = use_ns;
            oldest = module;
        }
    }
    if (!oldest)
        return false;
    drop(modules, oldest);
    modules->n_evicted++;
    return true;
}

static bool take_room(struct cairn_walk_modules *modules, uint32_t bytes,
                      struct cairn_room_piece *ret_piece)
{
    bool has = cairn_room_take(&modules->room, bytes, ret_piece);
    while (!has && (add_segment(modules) || evict(modules)))
        has = cairn_room_take(&modules->room, bytes, ret_piece);
    return has;
}

static bool take_numbers(struct cairn_walk_modules *modules, uint32_t n,
                         struct cairn_room_piece *ret_piece)
{
    if (!modules->strip_room.n_segments &&
        cairn_room_add(&modules->strip_room, CAIRN_BPF_STRIPS_MAX) < 0)
        return false;
    bool has = cairn_room_take(&modules->strip_room, n, ret_piece);
    while (!has && evict(modules))
        has = cairn_room_take(&modules->strip_room, n, ret_piece);
    return has;
}

static bool write_strips(struct cairn_walk_modules *modules, struct cairn_walk_module *module,
                         const struct cairn_unwind_table *table)
{
    for (uint32_t i = 0; i < module->n_strips; i++) {
        struct cairn_strip strip = cairn_strip_measure(table, i);
        struct cairn_room_piece *piece = &module->pieces[i];
        if (strip.bytes && !take_room(modules, strip.bytes, piece))
            return false;
        if (strip.bytes &&
            !cairn_strip_write(table, &strip, modules->segments[piece->segment] + piece->at))
            return false;
        modules->strips[module->strip + i] = cairn_strip_word(&strip, piece->segment, piece->at);
    }
    return true;
}

static bool make_strips(struct cairn_walk_modules *modules, struct cairn_walk_module *module,
                        const struct cairn_unwind_table *table, uint32_t n)
{
    struct cairn_room_piece numbers;
    module->pieces = n <= UINT16_MAX ? cairn_alloc(n, sizeof *module->pieces) : NULL;
    if (!module->pieces || !take_numbers(modules, n, &numbers)) {
        cairn_free(module->pieces);
        module->pieces = NULL;
        return false;
    }
    module->strip = numbers.at;
    module->n_strips = (uint16_t)n;
    if (write_strips(modules, module, table))
        return true;
    give_strips(modules, module);
    return false;
}

static uint64_t bytes_of(const struct cairn_unwind_table *table, uint32_t n)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += cairn_strip_measure(table, i).bytes;
    return bytes;
}

/* The place of a file; false: it has none yet. */
static bool find_place(const struct cairn_walk_modules *modules, const struct cairn_bpf_file *file,
                       uint32_t *ret_number)
{
    return cairn_table_find(&modules->by_file, hash_of(file), ret_number) &&
           memcmp(&modules->items[*ret_number].file, file, sizeof *file) == 0;
}

bool cairn_walk_modules_find(const struct cairn_walk_modules *modules,
                             const struct cairn_bpf_file *file, uint32_t *ret_number)
{
    if (!find_place(modules, file, ret_number))
        return false;
    const struct cairn_walk_module *module = &modules->items[*ret_number];
    return !(module->flags & CAIRN_BPF_NO_ROOM) ||
           module->lacks_bytes > cairn_walk_modules_spare(modules);
}

/* A number that is free; false: no memory, or all are in use. */
static bool take_place(struct cairn_walk_modules *modules, uint32_t *ret_number)
{
    if (!modules->n_free && modules->n == MODULES_MAX)
        for (size_t i = 0; i < modules->n; i++)
            if (!modules->items[i].n_strips || may_give_way(modules, &modules->items[i]))
                drop(modules, &modules->items[i]);
    if (modules->n_free) {
        *ret_number = 0;
        while (!is_free(&modules->items[*ret_number]))
            ++*ret_number;
        modules->n_free--;
        return true;
    }
    if (modules->n == MODULES_MAX || cairn_grow((void **)&modules->items, &modules->cap,
                                                modules->n + 1, sizeof *modules->items) < 0)
        return false;
    *ret_number = (uint32_t)modules->n;
    modules->items[modules->n++] = (struct cairn_walk_module){0};
    return true;
}

static bool place(struct cairn_walk_modules *modules, const struct cairn_bpf_file *file,
                  uint32_t *ret_number)
{
    if (find_place(modules, file, ret_number))
        return true;
    if (!take_place(modules, ret_number))
        return false;
    modules->items[*ret_number] = (struct cairn_walk_module){0};
    if (cairn_table_set(&modules->by_file, hash_of(file), *ret_number) < 0) {
        modules->n_free++;
        return false;
    }
    modules->items[*ret_number].file = *file;
    return true;
}

/* Who is walked by files finds it there. Where there is no room, a look at the process does it. */
static void tell_kernel(struct cairn_walk_modules *modules, const struct cairn_walk_module *module)
{
    const struct cairn_bpf_module told = {.text = module->text,
                                          .id = ++modules->last_id,
                                          .strip = module->strip,
                                          .n_strips = module->n_strips,
                                          .flags = module->flags};
    (void)bpf_map_update_elem(modules->files_fd, &module->file, &told, BPF_ANY);
}

bool cairn_walk_modules_make(struct cairn_walk_modules *modules,
                             const struct cairn_walk_module *module,
                             const struct cairn_unwind_table *table, uint32_t *ret_number)
{
    uint32_t n = table ? cairn_strips_of(table) : 0;
    struct cairn_walk_module made = {
        .file = module->file, .text = module->text, .flags = module->flags};
    if (!place(modules, &made.file, ret_number))
        return false;
    bool lacked = modules->items[*ret_number].flags & CAIRN_BPF_NO_ROOM;
    made.unused_ns = modules->now_ns;
    if (n && !make_strips(modules, &made, table, n)) {
        made.flags |= CAIRN_BPF_NO_ROOM;
        made.lacks_bytes = bytes_of(table, n);
        modules->n_no_room += !lacked;
    } else {
        modules->n_regained += lacked;
    }
    modules->items[*ret_number] = made;
    tell_kernel(modules, &made);
    return true;
}

void cairn_walk_modules_use(struct cairn_walk_modules *modules, uint32_t number)
{
    modules->items[number].n_users++;
}

void cairn_walk_modules_leave(struct cairn_walk_modules *modules, uint32_t number)
{
    if (--modules->items[number].n_users == 0)
        modules->items[number].unused_ns = modules->now_ns;
}

uint64_t cairn_walk_modules_spare(const struct cairn_walk_modules *modules)
{
    uint64_t bytes = modules->segments_max * (uint64_t)CAIRN_BPF_SEGMENT_BYTES;
    bytes -= modules->room.taken_bytes;
    for (size_t i = 0; i < modules->n; i++) {
        const struct cairn_walk_module *module = &modules->items[i];
        bool counts = may_give_way(modules, module);
        for (uint32_t s = 0; counts && s < module->n_strips; s++)
            bytes += module->pieces[s].bytes;
    }
    return bytes;
}

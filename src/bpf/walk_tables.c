/* SPDX-License-Identifier: MIT */
#include "bpf/walk_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cairn/maps.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bpf/strip.h"
#include "proc/process.h"
#include "unwind/local_cpu.h"
#include "unwind/space.h"

enum {
    SHARE = 20,             /* of the time is taken by looks: one part in so many */
    CREDIT_MAX = 400000000, /* ns that are saved up: as many modules as a large program has */
    UNUSED_NS =
        500000000, /* a module is not given away sooner than the program can be done with it */
    PROCESSES_MAX = 1 << 16,
    STAT_BYTES = 4096,
    STAT_STACK_START = 28
};

/* One mapped piece of a file: its code. */
struct cairn_walk_module {
    uint64_t dev, inode, off; /* of the piece */
    uint64_t text;            /* its first byte: an offset in the table's text */
    uint32_t strip;
    uint16_t n_strips;
    uint16_t flags;                  /* enum cairn_bpf_range_flag */
    uint64_t unused_ns;              /* since then; 0: a process has it */
    struct cairn_room_piece *pieces; /* n_strips of them; of no bytes: none was needed */
};

struct cairn_walk_process {
    int pid; /* 0: nobody */
    uint64_t stack_start;
    uint32_t id, n;
    struct cairn_bpf_range *ranges;
};

/* A process while it is looked at. */
struct look {
    struct cairn_walk_tables *tables;
    int pid;
    struct cairn_unwind_space *space; /* opened for the first module that is new */
    bool no_space;
    struct cairn_bpf_space found;
};

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void cairn_walk_tables_init(struct cairn_walk_tables *tables, uint64_t max_bytes)
{
    uint64_t most = max_bytes / CAIRN_BPF_SEGMENT_BYTES;
    *tables = (struct cairn_walk_tables){
        .spaces_fd = -1, .segments_fd = -1, .credit_ns = CREDIT_MAX, .now_ns = clock_ns()};
    tables->segments_max =
        max_bytes && most < CAIRN_BPF_SEGMENTS_MAX ? (uint32_t)most : CAIRN_BPF_SEGMENTS_MAX;
}

void cairn_walk_tables_done(struct cairn_walk_tables *tables)
{
    for (uint32_t i = 0; i < tables->room.n_segments; i++) {
        munmap(tables->segments[i], CAIRN_BPF_SEGMENT_BYTES);
        close(tables->segment_fds[i]);
    }
    for (size_t i = 0; i < tables->n_modules; i++)
        cairn_free(tables->modules[i].pieces);
    for (size_t i = 0; i < tables->n_processes; i++)
        cairn_free(tables->processes[i].ranges);
    cairn_free(tables->modules);
    cairn_free(tables->processes);
    cairn_table_done(&tables->by_file);
    cairn_table_done(&tables->by_pid);
    cairn_room_done(&tables->room);
    cairn_room_done(&tables->strip_room);
    *tables = (struct cairn_walk_tables){0};
}

static bool add_segment(struct cairn_walk_tables *tables)
{
    LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
    uint32_t number = tables->room.n_segments;
    if (number >= tables->segments_max)
        return false;
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cairn_segment", sizeof(uint32_t),
                            CAIRN_BPF_SEGMENT_BYTES, 1, &opts);
    if (fd < 0)
        return false;
    void *bytes = mmap(NULL, CAIRN_BPF_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED || bpf_map_update_elem(tables->segments_fd, &number, &fd, 0) < 0 ||
        cairn_room_add(&tables->room, CAIRN_BPF_SEGMENT_BYTES) < 0) {
        if (bytes != MAP_FAILED)
            munmap(bytes, CAIRN_BPF_SEGMENT_BYTES);
        close(fd);
        return false;
    }
    tables->segments[number] = bytes;
    tables->segment_fds[number] = fd;
    return true;
}

static void give_strips(struct cairn_walk_tables *tables, struct cairn_walk_module *module)
{
    const struct cairn_room_piece numbers = {0, module->strip, module->n_strips};
    for (uint32_t i = 0; module->pieces && i < module->n_strips; i++) {
        tables->strips[module->strip + i] = CAIRN_RULE_NONE;
        if (module->pieces[i].bytes)
            (void)cairn_room_give(&tables->room, &module->pieces[i]);
    }
    if (module->pieces)
        (void)cairn_room_give(&tables->strip_room, &numbers);
    cairn_free(module->pieces);
    module->pieces = NULL;
    module->n_strips = 0;
}

/* Which modules does no process have? */
static void mark_unused(struct cairn_walk_tables *tables)
{
    for (size_t i = 0; i < tables->n_modules; i++) {
        struct cairn_walk_module *module = &tables->modules[i];
        bool is_used = false;
        for (size_t p = 0; p < tables->n_processes && !is_used; p++)
            for (uint32_t r = 0; r < tables->processes[p].n && !is_used; r++)
                is_used = tables->processes[p].ranges[r].n_strips &&
                          tables->processes[p].ranges[r].strip == module->strip;
        if (is_used || !module->pieces)
            module->unused_ns = 0;
        else if (!module->unused_ns)
            module->unused_ns = tables->now_ns;
    }
}

/* Takes the rooms of modules that nobody has had for a while; false: there are none. */
static bool evict(struct cairn_walk_tables *tables)
{
    bool some = false;
    mark_unused(tables);
    for (size_t i = 0; i < tables->n_modules; i++) {
        struct cairn_walk_module *module = &tables->modules[i];
        if (!module->unused_ns || tables->now_ns - module->unused_ns < UNUSED_NS)
            continue;
        give_strips(tables, module);
        module->unused_ns = 0;
        module->flags |= CAIRN_BPF_NO_ROOM; /* is made again when somebody has it again */
        tables->n_evicted++;
        some = true;
    }
    return some;
}

static bool take_room(struct cairn_walk_tables *tables, uint32_t bytes,
                      struct cairn_room_piece *ret_piece)
{
    return cairn_room_take(&tables->room, bytes, ret_piece) ||
           (add_segment(tables) && cairn_room_take(&tables->room, bytes, ret_piece)) ||
           (evict(tables) && cairn_room_take(&tables->room, bytes, ret_piece));
}

static bool write_strips(struct cairn_walk_tables *tables, struct cairn_walk_module *module,
                         const struct cairn_unwind_table *table)
{
    for (uint32_t i = 0; i < module->n_strips; i++) {
        struct cairn_strip strip = cairn_strip_measure(table, i);
        struct cairn_room_piece *piece = &module->pieces[i];
        if (strip.bytes && !take_room(tables, strip.bytes, piece))
            return false;
        if (strip.bytes &&
            !cairn_strip_write(table, &strip, tables->segments[piece->segment] + piece->at))
            return false;
        tables->strips[module->strip + i] = cairn_strip_word(&strip, piece->segment, piece->at);
    }
    return true;
}

/* Brings a module's table into the maps. */
static void make_strips(struct cairn_walk_tables *tables, struct cairn_walk_module *module,
                        const struct cairn_unwind_table *table)
{
    struct cairn_room_piece numbers;
    uint32_t n = cairn_strips_of(table);
    module->flags &= (uint16_t)~CAIRN_BPF_NO_ROOM;
    if (!n)
        return;
    module->pieces = n <= UINT16_MAX ? cairn_alloc(n, sizeof *module->pieces) : NULL;
    if (module->pieces &&
        (tables->strip_room.n_segments ||
         cairn_room_add(&tables->strip_room, CAIRN_BPF_STRIPS_MAX) == CAIRN_OK) &&
        cairn_room_take(&tables->strip_room, n, &numbers)) {
        module->strip = numbers.at;
        module->n_strips = (uint16_t)n;
        if (write_strips(tables, module, table))
            return;
        give_strips(tables, module);
    }
    cairn_free(module->pieces);
    module->pieces = NULL;
    module->flags |= CAIRN_BPF_NO_ROOM;
    tables->n_no_room++;
}

static struct cairn_unwind_space *space_of(struct look *look)
{
    if (!look->space && !look->no_space)
        look->no_space = cairn_unwind_space_open_pid(look->pid, NULL, &look->space, NULL) < 0;
    return look->space;
}

/* False: the file cannot be had, now. */
static bool make_module(struct look *look, const struct cairn_map *map,
                        struct cairn_walk_module *module)
{
    struct cairn_unwind_space *space = space_of(look);
    const struct cairn_space_place *place = space ? cairn_space_at(space, map->start) : NULL;
    if (!place || place->region.start != map->start || place->region.off != map->off)
        return false;
    if (!place->module) {
        module->flags = CAIRN_BPF_FP_OK;
        return true;
    }
    const struct cairn_unwind_table *table =
        cairn_space_module_table(place->module, cairn_local_arch, CAIRN_TABLE_NOW);
    bool keeps_fp = cairn_space_module_keeps_fp(place->module, cairn_local_arch);
    module->flags = keeps_fp ? CAIRN_BPF_FP_OK : 0;
    if (!table)
        return true;
    module->text = map->start - place->bias - table->base;
    make_strips(look->tables, module, table);
    return true;
}

/* The kernel's own code in each process is the same in all; other memory without a file is none
 * that could be known. */
static bool file_of(const struct cairn_map *map, uint64_t ret_file[3])
{
    ret_file[0] = (uint64_t)map->dev_major << 32 | map->dev_minor;
    ret_file[1] = map->inode;
    ret_file[2] = map->off;
    if (!map->inode && strcmp(map->path, "[vdso]") == 0)
        ret_file[2] = map->end - map->start;
    return map->inode || ret_file[2];
}

static struct cairn_walk_module *find_module(struct cairn_walk_tables *tables,
                                             const uint64_t file[3])
{
    uint32_t index;
    if (!cairn_table_find(&tables->by_file, cairn_hash_bytes(file, 3 * sizeof *file), &index))
        return NULL;
    return &tables->modules[index];
}

/* NULL: nothing is known of the code there. */
static struct cairn_walk_module *module_of(struct look *look, const struct cairn_map *map)
{
    struct cairn_walk_tables *tables = look->tables;
    uint64_t file[3];
    if (!file_of(map, file))
        return NULL;
    struct cairn_walk_module *known = find_module(tables, file);
    if (known && !(known->flags & CAIRN_BPF_NO_ROOM))
        return known;
    struct cairn_walk_module module = {.dev = file[0], .inode = file[1], .off = file[2]};
    if (!make_module(look, map, &module))
        return NULL;
    if (known) {
        *known = module;
        return known;
    }
    if (cairn_grow((void **)&tables->modules, &tables->cap_modules, tables->n_modules + 1,
                   sizeof module) < 0 ||
        cairn_table_set(&tables->by_file, cairn_hash_bytes(file, sizeof file),
                        (uint32_t)tables->n_modules) < 0) {
        give_strips(tables, &module);
        return NULL;
    }
    tables->modules[tables->n_modules] = module;
    return &tables->modules[tables->n_modules++];
}

/* Neighbours of which nothing is known are one: who compiles at run time has hundreds. */
static void add_range(struct cairn_bpf_space *space, const struct cairn_bpf_range *range)
{
    struct cairn_bpf_range *last = space->n ? &space->ranges[space->n - 1] : NULL;
    if (last && !last->n_strips && !range->n_strips && last->end == range->start &&
        last->flags == range->flags)
        last->end = range->end;
    else if (space->n < CAIRN_BPF_RANGES_MAX)
        space->ranges[space->n++] = *range;
}

static bool read_ranges(struct look *look)
{
    struct cairn_maps *maps;
    if (cairn_maps_read_pid(look->pid, &maps, NULL) < 0)
        return false;
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        if (!(map->flags & CAIRN_MAP_EXEC) || map->end >> 63)
            continue;
        struct cairn_bpf_range range = {
            .start = map->start, .end = map->end, .flags = CAIRN_BPF_FP_OK};
        const struct cairn_walk_module *module = module_of(look, map);
        if (module) {
            range.to_text = module->text - map->start;
            range.strip = module->strip;
            range.n_strips = module->n_strips;
            range.flags = module->flags;
        }
        add_range(&look->found, &range);
    }
    cairn_maps_free(maps);
    return true;
}

/* Where the arguments of the program lie; 0: not told, or there is none yet. */
static uint64_t stack_start(int pid)
{
    struct cairn_buffer text = {0};
    uint64_t start = 0;
    if (cairn_process_slurp(pid, "stat", STAT_BYTES, &text, NULL) == CAIRN_OK) {
        const char *at = strrchr(cairn_buffer_text(&text), ')'); /* the name may hold anything */
        for (unsigned field = 2; at && field < STAT_STACK_START; field++) {
            at = strchr(at, ' ');
            at += at != NULL;
        }
        start = at ? strtoull(at, NULL, 10) : 0;
    }
    cairn_buffer_done(&text);
    return start;
}

static struct cairn_walk_process *process_of(struct cairn_walk_tables *tables, int pid)
{
    uint32_t index;
    if (cairn_table_find(&tables->by_pid, (uint64_t)pid, &index))
        return &tables->processes[index];
    if (tables->n_processes == PROCESSES_MAX ||
        cairn_grow((void **)&tables->processes, &tables->cap_processes, tables->n_processes + 1,
                   sizeof *tables->processes) < 0 ||
        cairn_table_set(&tables->by_pid, (uint64_t)pid, (uint32_t)tables->n_processes) < 0)
        return NULL;
    tables->processes[tables->n_processes] = (struct cairn_walk_process){0};
    return &tables->processes[tables->n_processes++];
}

static enum cairn_walk_look publish(struct look *look)
{
    struct cairn_walk_tables *tables = look->tables;
    struct cairn_bpf_space *found = &look->found;
    struct cairn_walk_process *process = process_of(tables, look->pid);
    size_t bytes = found->n * sizeof *found->ranges;
    if (!process)
        return CAIRN_WALK_IMPOSSIBLE;
    if (process->pid && process->stack_start == found->stack_start && process->n == found->n &&
        (!bytes || memcmp(process->ranges, found->ranges, bytes) == 0))
        return CAIRN_WALK_SAME;
    void *ranges = cairn_realloc(process->ranges, found->n + 1, sizeof *found->ranges);
    if (!ranges)
        return CAIRN_WALK_IMPOSSIBLE;
    memcpy(ranges, found->ranges, bytes);
    found->id = ++tables->last_id;
    *process = (struct cairn_walk_process){.pid = look->pid,
                                           .stack_start = found->stack_start,
                                           .id = found->id,
                                           .n = found->n,
                                           .ranges = ranges};
    if (bpf_map_update_elem(tables->spaces_fd, &look->pid, found, BPF_ANY) < 0)
        return CAIRN_WALK_IMPOSSIBLE;
    return CAIRN_WALK_LOOKED;
}

static enum cairn_walk_look look_at(struct look *look)
{
    look->found.stack_start = stack_start(look->pid);
    if (!look->found.stack_start)
        return kill(look->pid, 0) < 0 && errno == ESRCH ? CAIRN_WALK_IMPOSSIBLE : CAIRN_WALK_LATER;
    if (!read_ranges(look))
        return CAIRN_WALK_IMPOSSIBLE;
    if (stack_start(look->pid) != look->found.stack_start)
        return CAIRN_WALK_LATER;
    return publish(look);
}

enum cairn_walk_look cairn_walk_tables_look(struct cairn_walk_tables *tables, int pid, bool now)
{
    uint64_t began_ns = clock_ns();
    tables->credit_ns += (began_ns - tables->now_ns) / SHARE;
    tables->credit_ns = tables->credit_ns < CREDIT_MAX ? tables->credit_ns : CREDIT_MAX;
    tables->now_ns = began_ns;
    if (!now && !tables->credit_ns)
        return CAIRN_WALK_LATER;
    struct look *look = cairn_alloc(1, sizeof *look);
    if (!look)
        return CAIRN_WALK_IMPOSSIBLE;
    look->tables = tables;
    look->pid = pid;
    enum cairn_walk_look result = look_at(look);
    cairn_unwind_space_free(look->space);
    cairn_free(look);
    uint64_t spent_ns = clock_ns() - began_ns;
    tables->credit_ns -= spent_ns < tables->credit_ns ? spent_ns : tables->credit_ns;
    return result;
}

bool cairn_walk_tables_know(const struct cairn_walk_tables *tables, int pid)
{
    uint32_t index;
    return cairn_table_find(&tables->by_pid, (uint64_t)pid, &index) && tables->processes[index].pid;
}

void cairn_walk_tables_forget(struct cairn_walk_tables *tables, int pid)
{
    uint32_t index;
    if (!cairn_table_find(&tables->by_pid, (uint64_t)pid, &index) || !tables->processes[index].pid)
        return;
    (void)bpf_map_delete_elem(tables->spaces_fd, &pid);
    cairn_free(tables->processes[index].ranges);
    tables->processes[index] = (struct cairn_walk_process){0};
}

/* SPDX-License-Identifier: MIT */
/* A core file: its notes, its memory as a whole, modules made again out of it, the stacks of its
 * threads. */
#include <string.h>

#include "target/core_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { THREADS = 4, RUNS_MAX = 4096 };

static uint64_t sink; /* what is read must be used, or the compiler reads nothing */

static void walk(struct cairn_unwind_space *space, int tid)
{
    struct cairn_cursor_regs regs;
    struct cairn_cursor cursor;
    uint64_t offset = 0;
    char name[64];
    unsigned n = 1;
    if (cairn_unwind_thread_regs(space, tid, &regs, NULL) < 0 ||
        cairn_cursor_init(&cursor, space, &regs, NULL) < 0)
        return;
    do {
        if (cairn_cursor_proc_name(&cursor, name, sizeof name, &offset) == CAIRN_OK)
            sink += strlen(name) + offset;
    } while (cairn_cursor_step(&cursor) && ++n <= CAIRN_MAX_FRAMES);
    if (n > CAIRN_MAX_FRAMES)
        __builtin_trap();
}

/* Runs are in order, none is empty, and all of each can be read. */
static void read_all(const struct cairn_core_target *core)
{
    uint8_t bytes[256];
    uint64_t va = 0, from, to;
    size_t n_runs = 0;
    while (n_runs++ < RUNS_MAX &&
           cairn_core_memory_next(core, va, UINT64_MAX, sizeof bytes, &from, &to)) {
        if (from < va || to <= from || to - from > sizeof bytes ||
            cairn_core_memory_read(core, from, bytes, (size_t)(to - from)) != to - from)
            __builtin_trap();
        sink += bytes[0];
        va = to;
    }
}

static void read_maps(const struct cairn_core_target *core)
{
    struct cairn_maps *maps;
    if (cairn_core_memory_maps(core, &maps, NULL) < 0)
        return;
    for (size_t i = 0; i < cairn_maps_count(maps); i++)
        sink += cairn_maps_get(maps, i)->start;
    cairn_maps_free(maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_unwind_space *space;
    int tids[THREADS];
    size_t n = 0;
    /* Files that it names are looked for where there are none. */
    const struct cairn_unwind_opts opts = {.size = sizeof opts, .debug_dir = "/nonexistent"};
    if (cairn_target_open_core((struct cairn_span){data, size}, &opts, &space, NULL) < 0)
        return 0;
    (void)cairn_unwind_threads(space, tids, THREADS, &n, NULL);
    for (size_t i = 0; i < n && i < THREADS; i++)
        walk(space, tids[i]);
    read_all(cairn_core_target_of(space));
    read_maps(cairn_core_target_of(space));
    cairn_unwind_space_free(space);
    return 0;
}

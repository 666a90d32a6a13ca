/* SPDX-License-Identifier: MIT */
/* A core file: its notes, its memory, modules made again out of it, the stacks of its threads. */
#include <string.h>

#include "target/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { THREADS = 4 };

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
    cairn_unwind_space_free(space);
    return 0;
}

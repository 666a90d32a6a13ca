/* SPDX-License-Identifier: MIT */
/*
 * Heap, within the room: the states that were read, one for each process.
 *
 *     file, folder, pid ──states.c──► bytes ──► view ──┬─totals.c──► sums over all, quality
 *                                                      ├─leaks.c───► profile, live blocks by stack
 *                                                      └─save.c────► one compressed file
 */
#ifndef CAIRN_WATCH_HEAP_H
#define CAIRN_WATCH_HEAP_H

#include <cairn/heap.h>

#include "base/buffer.h"
#include "formats/heap_profile.h"

struct cairn_heap_state {
    struct cairn_buffer bytes; /* a copy */
    struct cairn_heap_view view;
    struct cairn_heap_sums sums; /* of all live blocks */
    uint64_t read_ns;            /* CLOCK_MONOTONIC up to which it tells; 0: unknown */
};

struct cairn_heap {
    struct cairn_heap_state *states;
    size_t n, cap;
};

/* Takes over `bytes`, which hold one state or several, and those after it. `read_ns`: of a running
 * process the time at which they were read, else 0. On failure the bytes are freed. */
int cairn_heap_take(struct cairn_heap *heap, struct cairn_buffer *bytes, uint64_t read_ns,
                    struct cairn_err *err);

/* The state file of a process, as the kernel says that it has it mapped; appended. */
int cairn_heap_path_of(int pid, struct cairn_buffer *ret_path, struct cairn_err *err);

/* CLOCK_MONOTONIC */
uint64_t cairn_heap_now(void);

/* When the state was read or ended, by its own epochs where nothing else is known. */
uint64_t cairn_heap_end_ns(const struct cairn_heap_state *state);

#endif /* CAIRN_WATCH_HEAP_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/heap.h"

#include <string.h>

#include "heap/epoch.h"
#include "heap/tidy.h"
#include "rt/pages.h"
#include "rt/sys.h"
#include "unwind/local_cpu.h"

/* Of whole pages, whatever their size, for it is wiped by itself. */
__attribute__((aligned(CAIRN_HEAP_LARGEST_PAGE))) struct cairn_heap_root cairn_heap_root;
_Static_assert(sizeof(struct cairn_heap_root) == CAIRN_HEAP_LARGEST_PAGE, "whole pages");

static _Atomic(uint32_t) no_turn;
_Atomic(_Atomic(uint32_t) *) cairn_heap_turn = &no_turn;

void cairn_heap_set_turn(struct cairn_tracked_heap *heap)
{
    atomic_store(&cairn_heap_turn, heap ? &heap->state.header->turn : &no_turn);
}

void cairn_heap_each_lock(struct cairn_tracked_heap *heap, void (*what)(struct cairn_lock *lock))
{
    struct cairn_lock *const locks[] = {&heap->empty.lock, &heap->shadow.lock, &heap->stacks.lock,
                                        &heap->epoch_lock, &heap->large.lock,  &heap->maps.lock};
    for (unsigned i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
        what(locks[i]);
    for (unsigned i = 0; i < CAIRN_HEAP_STRIPES; i++)
        what(&heap->stripes[i]);
    what(&heap->state.lock);
}

static void describe(struct cairn_tracked_heap *heap)
{
    const struct cairn_heap_settings *settings = &heap->settings;
    struct cairn_heap_header *header = heap->state.header;
    header->machine = cairn_local_arch->machine;
    header->granule_bits = (uint8_t)settings->granule_bits;
    header->parent = settings->parent;
    header->sample_bytes = settings->sample_bytes;
    header->depth = settings->depth;
    header->pid_space = cairn_heap_tidy_space();
    long n = cairn_sys_read_file("/proc/self/cmdline", header->command, sizeof(header->command));
    if (n < 0)
        header->command[0] = 0;
    unsigned flags = CAIRN_HEAP_LIVE | (settings->no_stacks ? 0 : CAIRN_HEAP_STACKS_ON) |
                     (settings->mappings ? CAIRN_HEAP_MAPPINGS : 0);
    atomic_fetch_or(&header->flags, flags);
    /* Last, for a file without it is none. */
    atomic_thread_fence(memory_order_release);
    memcpy(header->magic, CAIRN_HEAP_MAGIC, sizeof(header->magic));
}

struct cairn_tracked_heap *cairn_heap_new(const struct cairn_heap_settings *settings)
{
    struct cairn_tracked_heap *heap = cairn_pages_map(sizeof(*heap));
    if (!heap)
        return NULL;
    memcpy(&heap->settings, settings, sizeof(*settings));
    heap->shadow.granule_bits = settings->granule_bits;
    int fd = settings->fd_plus_1 - 1;
    if (fd >= 0 ? !cairn_heap_state_make_in(&heap->state, fd, settings->max_bytes)
                : !cairn_heap_state_make(&heap->state, settings->dir, settings->max_bytes)) {
        cairn_pages_unmap(heap, sizeof(*heap));
        return NULL;
    }
    if (!cairn_heap_epoch_init(heap) || !cairn_heap_stacks_init(&heap->stacks, &heap->state)) {
        cairn_heap_state_remove(&heap->state);
        cairn_heap_leave(heap);
        return NULL;
    }
    describe(heap);
    return heap;
}

/* Tables of pages that were made on the way stay, untouched: what a child has of them costs it
 * addresses alone. */
void cairn_heap_leave(struct cairn_tracked_heap *heap)
{
    cairn_heap_state_leave(&heap->state);
    cairn_pages_unmap(heap, sizeof(*heap));
}

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/epoch.h"

#include <time.h>

#include "rt/pages.h"
#include "rt/sys.h"

enum {
    EPOCHS_OF_A_LENGTH = 1024, /* then each lasts twice as long */
    STATM_BYTES = 128
};
static const uint64_t second_ns = 1000 * 1000 * 1000;

uint64_t cairn_heap_epoch_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

/* The second number of /proc/self/statm, in pages; -1: not known. */
static int64_t rss_bytes(void)
{
    char text[STATM_BYTES];
    long n = cairn_sys_read_file("/proc/self/statm", text, sizeof(text));
    int64_t pages = 0;
    long i = 0;
    while (i < n && text[i] != ' ')
        i++;
    if (i + 1 >= n)
        return -1;
    for (i++; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        pages = pages * 10 + (text[i] - '0');
    return pages * (int64_t)cairn_pages_size();
}

static struct cairn_heap_epoch *at(struct cairn_tracked_heap *heap, uint32_t epoch)
{
    struct cairn_heap_epoch *chunk = atomic_load_explicit(
        &heap->epochs[epoch / CAIRN_HEAP_EPOCHS_A_CHUNK], memory_order_acquire);
    return chunk ? chunk + epoch % CAIRN_HEAP_EPOCHS_A_CHUNK : NULL;
}

/* The place for `epoch`, and the chunk behind it in good time. */
static struct cairn_heap_epoch *make(struct cairn_tracked_heap *heap, uint32_t epoch)
{
    uint32_t last = epoch + CAIRN_HEAP_EPOCHS_A_CHUNK / 2;
    for (uint32_t i = epoch / CAIRN_HEAP_EPOCHS_A_CHUNK;
         i <= last / CAIRN_HEAP_EPOCHS_A_CHUNK && i < CAIRN_HEAP_EPOCH_CHUNKS; i++) {
        if (atomic_load_explicit(&heap->epochs[i], memory_order_relaxed))
            continue;
        cairn_lock_take(&heap->epoch_lock);
        if (!atomic_load_explicit(&heap->epochs[i], memory_order_relaxed))
            atomic_store_explicit(&heap->epochs[i],
                                  cairn_heap_state_take(&heap->state, CAIRN_HEAP_EPOCHS, 1, 0, i),
                                  memory_order_release);
        cairn_lock_give(&heap->epoch_lock);
    }
    return at(heap, epoch);
}

static void begin(struct cairn_tracked_heap *heap, struct cairn_heap_epoch *epoch, uint64_t now_ns)
{
    int64_t live = atomic_load_explicit(&heap->state.header->live_bytes, memory_order_relaxed);
    atomic_store_explicit(&epoch->live_bytes, live, memory_order_relaxed);
    atomic_store_explicit(&epoch->rss_bytes, rss_bytes(), memory_order_relaxed);
    atomic_store_explicit(&epoch->begin_ns, now_ns, memory_order_release);
}

bool cairn_heap_epoch_init(struct cairn_tracked_heap *heap)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    heap->state.header->begin_ns = (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
    struct cairn_heap_epoch *first = make(heap, 0);
    if (first)
        begin(heap, first, cairn_heap_epoch_now_ns());
    return first != NULL;
}

enum ended { ENDED, ENDED_BEFORE, NO_ROOM };

/* Begins the epoch after `epoch`, unless another thread did. `mark`: 0: time did it. */
static enum ended end_epoch(struct cairn_tracked_heap *heap, uint32_t epoch, uint32_t mark,
                            uint64_t now_ns)
{
    struct cairn_heap_epoch *next = make(heap, epoch + 1);
    if (!next)
        return NO_ROOM;
    if (!atomic_compare_exchange_strong(&heap->state.header->epoch, &epoch, epoch + 1))
        return ENDED_BEFORE;
    if (mark != 0)
        atomic_store_explicit(&next->mark, mark, memory_order_relaxed);
    begin(heap, next, now_ns);
    cairn_heap_next_turn(heap->state.header);
    return ENDED;
}

void cairn_heap_epoch_tick(struct cairn_tracked_heap *heap)
{
    uint64_t now_ns = cairn_heap_epoch_now_ns();
    cairn_heap_empty_look(heap, now_ns);
    uint32_t epoch = atomic_load_explicit(&heap->state.header->epoch, memory_order_relaxed);
    /* What lies in the state may have been scribbled over. */
    if (epoch >= CAIRN_HEAP_MAX_EPOCHS - 1)
        return;
    const struct cairn_heap_epoch *present = at(heap, epoch);
    uint64_t begin_ns =
        present ? atomic_load_explicit(&present->begin_ns, memory_order_relaxed) : UINT64_MAX;
    uint64_t length_ns = second_ns << epoch / EPOCHS_OF_A_LENGTH;
    if (begin_ns != 0 && now_ns >= begin_ns && now_ns - begin_ns >= length_ns)
        (void)end_epoch(heap, epoch, 0, now_ns);
}

/* A thread that began an epoch in between wins: the mark then begins the epoch after that one. */
uint32_t cairn_heap_epoch_mark(struct cairn_tracked_heap *heap)
{
    struct cairn_heap_header *header = heap->state.header;
    if (atomic_load(&header->epoch) >= CAIRN_HEAP_MAX_EPOCHS - 1)
        return 0;
    uint32_t mark = atomic_fetch_add(&header->n_marks, 1) + 1;
    enum ended ended = ENDED_BEFORE;
    while (ended == ENDED_BEFORE) {
        uint32_t epoch = atomic_load(&header->epoch);
        ended = epoch < CAIRN_HEAP_MAX_EPOCHS - 1
                    ? end_epoch(heap, epoch, mark, cairn_heap_epoch_now_ns())
                    : NO_ROOM;
    }
    return ended == ENDED ? mark : 0;
}

uint32_t cairn_heap_epoch_of_mark(struct cairn_tracked_heap *heap, uint32_t mark)
{
    uint32_t last = atomic_load(&heap->state.header->epoch);
    for (uint32_t i = 1; mark != 0 && i <= last && i < CAIRN_HEAP_MAX_EPOCHS; i++) {
        const struct cairn_heap_epoch *epoch = at(heap, i);
        if (epoch && atomic_load_explicit(&epoch->mark, memory_order_relaxed) == mark)
            return i;
    }
    return 0;
}

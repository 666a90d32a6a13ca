/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/empty.h"

#include "heap/epoch.h"
#include "heap/heap.h"

enum {
    LEAST_WORDS = 64,                           /* what a look at any leaf counts for */
    MOST_WORDS = CAIRN_HEAP_EMPTY_BATCH * 8192, /* of all leaves that a step looks at */
    MOST_ROWS = 1 << 16,                        /* that a step looks at */
    GIVEN_A_STEP = 16,
    SPINS = 64,      /* looks at a thread that is in a call */
    QUICK_TRIES = 8, /* before each takes a rest between */
    REST = 20        /* pauses */
};

uint64_t cairn_heap_empty_pause_ns = 50 * 1000 * 1000;

/* By the thread itself, not atomically. */
CAIRN_THREAD_BLOCK_ACCESS static bool is_outside(const struct cairn_heap_own *own)
{
    const volatile uintptr_t *word = &own->idle;
    for (int i = 0; i < SPINS; i++) {
        uintptr_t idle = *word;
        if (idle == 0 || idle & CAIRN_HEAP_IDLE_MASK)
            return true;
    }
    return cairn_thread_is_gone(&own->head);
}

/* Each thread was, at some time since the batch was closed. The calling one holds nothing. */
CAIRN_THREAD_BLOCK_ACCESS static bool all_were_outside(uint32_t look)
{
    uint32_t n = cairn_thread_count(&cairn_heap_threads);
    bool all = true;
    for (uint32_t i = 0; i < n; i++) {
        struct cairn_heap_own *own =
            (struct cairn_heap_own *)(void *)cairn_thread_at(&cairn_heap_threads, i);
        if (!own || own == cairn_heap_mine || own->outside == look)
            continue;
        if (is_outside(own))
            own->outside = look;
        else
            all = false;
    }
    return all;
}

/* Closes the leaf of a chunk, if it is one that has emptied. Returns how many words were read. */
static uint32_t look_at(struct cairn_tracked_heap *heap, uint32_t chunk)
{
    struct cairn_heap_empty *empty = &heap->empty;
    const struct cairn_heap_row *row = cairn_heap_state_row(&heap->state, chunk);
    if (atomic_load(&row->kind) != CAIRN_HEAP_LEAF)
        return 0;
    const struct cairn_heap_leaf leaf = {cairn_heap_state_at(&heap->state, chunk),
                                         atomic_load(&row->arg), row->granule_bits};
    uint32_t n = cairn_heap_state_zeros(leaf.entries);
    if (n < 1 << CAIRN_HEAP_LEAF_BITS)
        return n + LEAST_WORDS;
    /* In the batch first: who is left by longjmp(3) in between leaves none that stays closed. */
    empty->chunks[empty->n] = chunk;
    empty->leaves[empty->n] = leaf;
    cairn_lock_take(&heap->shadow.lock);
    empty->n += cairn_heap_shadow_close(&heap->shadow, &leaf);
    cairn_lock_give(&heap->shadow.lock);
    return n;
}

/* Whether the last chunk was reached. */
static bool look_around(struct cairn_tracked_heap *heap)
{
    struct cairn_heap_empty *empty = &heap->empty;
    uint32_t n_chunks = atomic_load(&heap->state.n_chunks), n_words = 0;
    uint32_t end = n_chunks - empty->hand > MOST_ROWS ? empty->hand + MOST_ROWS : n_chunks;
    while (empty->hand < end && empty->n < CAIRN_HEAP_EMPTY_BATCH && n_words < MOST_WORDS)
        n_words += look_at(heap, empty->hand++);
    bool around = empty->hand == n_chunks;
    if (around)
        empty->hand = 0;
    return around;
}

/* Some of the batch, for each takes two system calls and as many page tables; one at a time, so
 * that nobody waits for long who wants a leaf. Taken out of the batch first: who is left by
 * longjmp(3) gives none back twice. Read before it is cut off: who found it open before it was
 * closed may have left a block in it, and its free must find the way to that at any time. */
static void give_back(struct cairn_tracked_heap *heap)
{
    struct cairn_heap_empty *empty = &heap->empty;
    for (int k = 0; k < GIVEN_A_STEP && empty->n > 0; k++) {
        uint32_t i = --empty->n;
        const struct cairn_heap_leaf *leaf = &empty->leaves[i];
        cairn_lock_take(&heap->shadow.lock);
        if (!cairn_heap_state_is_unused(&heap->state, empty->chunks[i]) ||
            (cairn_heap_shadow_cut(&heap->shadow, leaf) &&
             !cairn_heap_state_give_room(&heap->state, empty->chunks[i])))
            cairn_heap_shadow_open(&heap->shadow, leaf);
        cairn_lock_give(&heap->shadow.lock);
    }
}

/* Returns how many pauses there are to be before the next one. */
static unsigned step(struct cairn_tracked_heap *heap)
{
    struct cairn_heap_empty *empty = &heap->empty;
    switch (empty->step) {
    case CAIRN_HEAP_EMPTY_LOOKING:
        if (look_around(heap) && empty->n == 0)
            return REST;
        if (empty->n > 0) {
            empty->look++;
            empty->n_tries = 0;
            empty->step = CAIRN_HEAP_EMPTY_CLOSED;
        }
        return 1;
    case CAIRN_HEAP_EMPTY_CLOSED:
        if (!all_were_outside(empty->look))
            return empty->n_tries++ < QUICK_TRIES ? 1 : REST;
        /* What threads wrote before they were seen outside is to be read behind a pause, too. */
        empty->step = CAIRN_HEAP_EMPTY_DUE;
        return 1;
    case CAIRN_HEAP_EMPTY_DUE:
        give_back(heap);
        if (empty->n == 0)
            empty->step = CAIRN_HEAP_EMPTY_LOOKING;
        return 1;
    }
    return REST;
}

/* A step may take longer than a pause where other threads have the CPU, and the pause is behind it.
 */
static uint64_t later(uint64_t now_ns)
{
    uint64_t then_ns = cairn_heap_epoch_now_ns();
    return then_ns > now_ns ? then_ns : now_ns;
}

/* Threads that the table of them does not have cannot be asked: then all stays as it is. */
void cairn_heap_empty_look(struct cairn_tracked_heap *heap, uint64_t now_ns)
{
    struct cairn_heap_empty *empty = &heap->empty;
    if (__builtin_expect(now_ns < atomic_load_explicit(&empty->next_ns, memory_order_relaxed), 1) ||
        atomic_load(&cairn_heap_threads.is_hiding) || !cairn_lock_try(&empty->lock))
        return;
    if (now_ns >= atomic_load(&empty->next_ns)) {
        uint64_t pause_ns = step(heap) * cairn_heap_empty_pause_ns;
        atomic_store(&empty->next_ns, later(now_ns) + pause_ns);
    }
    cairn_lock_give(&empty->lock);
}

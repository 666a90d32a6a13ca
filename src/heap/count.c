/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/count.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/epoch.h"

static uint32_t load32(_Atomic(uint32_t) *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static uint64_t load64(_Atomic(uint64_t) *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void add64(_Atomic(uint64_t) *word, uint64_t n)
{
    if (n)
        atomic_fetch_add_explicit(word, n, memory_order_relaxed);
}

/* The stack's own counts are as they were at the mark: nothing was handed in since. */
static void copy_to_peak(struct cairn_heap_stack *stack, uint32_t peak)
{
    int64_t blocks = (int64_t)(load64(&stack->n_allocs) - load64(&stack->n_frees));
    int64_t bytes = (int64_t)(load64(&stack->alloc_bytes) - load64(&stack->free_bytes));
    atomic_store_explicit(&stack->peak_blocks, blocks, memory_order_relaxed);
    atomic_store_explicit(&stack->peak_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&stack->peak, peak, memory_order_release);
}

/* A stack's number out of an entry or a delta, which may have been scribbled over. */
static struct cairn_heap_stack *stack_at(struct cairn_tracked_heap *heap, uint32_t stack)
{
    return cairn_heap_stacks_at(&heap->stacks, stack < load32(&heap->state.header->n_stacks) &&
                                                       stack / CAIRN_HEAP_STACKS_A_CHUNK <
                                                           heap->stacks.n_stack_chunks
                                                   ? stack
                                                   : 0);
}

/* What happened to a stack's blocks while the high-water mark was `peak`. */
struct change {
    uint32_t stack, peak;
    uint64_t n_allocs, alloc_bytes, n_frees, free_bytes;
    uint32_t n_temporary;
};

static void add_to_peak(struct cairn_heap_stack *stack, const struct change *change)
{
    int64_t blocks = (int64_t)(change->n_allocs - change->n_frees);
    int64_t bytes = (int64_t)(change->alloc_bytes - change->free_bytes);
    atomic_fetch_add_explicit(&stack->peak_blocks, blocks, memory_order_relaxed);
    atomic_fetch_add_explicit(&stack->peak_bytes, bytes, memory_order_relaxed);
}

/* By atomic additions, for a signal handler may count directly meanwhile. */
static void add_change(struct cairn_tracked_heap *heap, const struct change *change)
{
    struct cairn_heap_stack *stack = stack_at(heap, change->stack);
    struct cairn_lock *stripe = &heap->stripes[change->stack % CAIRN_HEAP_STRIPES];
    cairn_lock_take(stripe);
    uint32_t peak = load32(&heap->state.header->peak);
    if (load32(&stack->peak) != peak)
        copy_to_peak(stack, peak);
    if (change->peak != peak)
        add_to_peak(stack, change);
    add64(&stack->n_allocs, change->n_allocs);
    add64(&stack->alloc_bytes, change->alloc_bytes);
    add64(&stack->n_frees, change->n_frees);
    add64(&stack->free_bytes, change->free_bytes);
    if (change->n_temporary)
        atomic_fetch_add_explicit(&stack->n_temporary, change->n_temporary, memory_order_relaxed);
    cairn_lock_give(stripe);
}

void cairn_heap_count_hand_in(struct cairn_tracked_heap *heap, struct cairn_heap_delta *delta)
{
    uint64_t key = load64(&delta->key), allocs = load64(&delta->allocs),
             frees = load64(&delta->frees);
    struct change change = {(uint32_t)key,
                            (uint32_t)(key >> 32),
                            cairn_heap_counted_blocks(allocs),
                            cairn_heap_counted_bytes(allocs),
                            cairn_heap_counted_blocks(frees),
                            cairn_heap_counted_bytes(frees),
                            load32(&delta->n_temporary)};
    if (!(allocs | frees))
        return;
    add_change(heap, &change);
    atomic_store_explicit(&delta->allocs, 0, memory_order_relaxed);
    atomic_store_explicit(&delta->frees, 0, memory_order_relaxed);
    atomic_store_explicit(&delta->n_temporary, 0, memory_order_relaxed);
}

/* Its bytes are not in a delta's half word. */
void cairn_heap_count_large(struct cairn_tracked_heap *heap, uint32_t number,
                            struct cairn_heap_share share, bool is_free)
{
    struct cairn_heap_stack *stack = stack_at(heap, number);
    struct cairn_lock *stripe = &heap->stripes[number % CAIRN_HEAP_STRIPES];
    cairn_lock_take(stripe);
    uint32_t peak = load32(&heap->state.header->peak);
    if (load32(&stack->peak) != peak)
        copy_to_peak(stack, peak);
    cairn_heap_count_directly(heap, number, share, is_free);
    cairn_lock_give(stripe);
}

void cairn_heap_count_directly(struct cairn_tracked_heap *heap, uint32_t number,
                               struct cairn_heap_share share, bool is_free)
{
    struct cairn_heap_stack *stack = stack_at(heap, number);
    add64(is_free ? &stack->n_frees : &stack->n_allocs, share.blocks);
    add64(is_free ? &stack->free_bytes : &stack->alloc_bytes, share.bytes);
    atomic_fetch_add_explicit(&heap->state.header->live_bytes,
                              is_free ? -(int64_t)share.bytes : (int64_t)share.bytes,
                              memory_order_relaxed);
}

void cairn_heap_count_undo_free(struct cairn_tracked_heap *heap, uint32_t number,
                                struct cairn_heap_share share)
{
    struct cairn_heap_stack *stack = stack_at(heap, number);
    atomic_fetch_sub_explicit(&stack->n_frees, share.blocks, memory_order_relaxed);
    atomic_fetch_sub_explicit(&stack->free_bytes, share.bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&heap->state.header->live_bytes, (int64_t)share.bytes,
                              memory_order_relaxed);
}

void cairn_heap_count_undo_birth(struct cairn_tracked_heap *heap, uint32_t number,
                                 struct cairn_heap_share share)
{
    const struct cairn_heap_share less = {-share.blocks, -share.bytes}; /* sums wrap around */
    cairn_heap_count_large(heap, number, less, false);
}

void cairn_heap_count_temporary(struct cairn_tracked_heap *heap, uint32_t number, uint64_t blocks)
{
    atomic_fetch_add_explicit(&stack_at(heap, number)->n_temporary, (uint32_t)blocks,
                              memory_order_relaxed);
}

static uint32_t chunks_of(uint32_t n_deltas)
{
    size_t bytes =
        sizeof(struct cairn_heap_thread) + (size_t)n_deltas * sizeof(struct cairn_heap_delta);
    return (uint32_t)((bytes + CAIRN_HEAP_CHUNK - 1) >> CAIRN_HEAP_CHUNK_BITS);
}

static struct cairn_heap_thread *new_deltas(struct cairn_tracked_heap *heap, uint32_t n)
{
    struct cairn_heap_thread *shared =
        cairn_heap_state_take(&heap->state, CAIRN_HEAP_DELTAS, chunks_of(n), 0, 0);
    if (shared)
        shared->n_deltas = n;
    return shared;
}

CAIRN_THREAD_BLOCK_ACCESS static void set_steps(const struct cairn_tracked_heap *heap,
                                                struct cairn_heap_own *own)
{
    const struct cairn_heap_header *header = heap->state.header;
    int64_t peak = atomic_load_explicit(&header->peak_bytes, memory_order_relaxed);
    uint32_t n = atomic_load_explicit(&header->n_counters, memory_order_relaxed);
    peak = peak > 0 ? peak : 0;
    int64_t up = cairn_heap_held_up(peak, n), down = cairn_heap_held_down(peak, n);
    own->live_step = up < CAIRN_HEAP_MOST_STEP ? up : CAIRN_HEAP_MOST_STEP;
    own->live_least = -(down < CAIRN_HEAP_MOST_STEP ? down : CAIRN_HEAP_MOST_STEP);
}

/* The turn first: what is changed behind it is another one's. */
CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_count_look(struct cairn_tracked_heap *heap,
                                                     struct cairn_heap_own *own)
{
    struct cairn_heap_header *header = heap->state.header;
    uint32_t turn = cairn_heap_turn_of(&header->turn);
    atomic_thread_fence(memory_order_acquire);
    uint32_t epoch = load32(&header->epoch);
    own->key = (uint64_t)load32(&header->peak) << 32;
    for (unsigned kind = 0; kind < sizeof(own->bases) / sizeof(own->bases[0]); kind++)
        own->bases[kind] = cairn_heap_entry_base(kind, epoch);
    own->stacks_on = load32(&header->flags) & CAIRN_HEAP_STACKS_ON;
    set_steps(heap, own);
    atomic_signal_fence(memory_order_seq_cst); /* what is left behind is looked at again */
    own->turn = turn;
    /* Where not all births are recorded, or some are ignored, each of them goes the long way. */
    bool all = !heap->settings.sample_bytes && !cairn_heap_disabled &&
               !(load32(&header->paused) & CAIRN_HEAP_PAUSED);
    own->ready = all ? turn : (uint32_t)CAIRN_HEAP_IDLE_SAMPLES;
}

/* Each holds back less from now on, where there are twice as many threads. */
static void count_counter(struct cairn_heap_header *header)
{
    uint32_t n = atomic_fetch_add(&header->n_counters, 1) + 1;
    if (n > 1 && (n & (n - 1)) == 0)
        cairn_heap_next_turn(header);
}

CAIRN_THREAD_BLOCK_ACCESS bool cairn_heap_count_begin(struct cairn_tracked_heap *heap,
                                                      struct cairn_heap_own *own)
{
    if (!own->shared) {
        own->mask = CAIRN_HEAP_FIRST_DELTAS - 1;
        atomic_signal_fence(memory_order_seq_cst); /* for what is left behind it is done again */
        own->shared = new_deltas(heap, CAIRN_HEAP_FIRST_DELTAS);
        if (own->shared)
            count_counter(heap->state.header);
    }
    own->one = cairn_heap_counted(1, 0);
    set_steps(heap, own);
    if (!own->shared)
        return false;
    atomic_fetch_add(&heap->state.header->n_threads, 1); /* the table may be of one that ended */
    atomic_store(&own->shared->tid, (uint32_t)syscall(SYS_gettid));
    return true;
}

/* All are handed in first: so nobody sees one twice. */
CAIRN_THREAD_BLOCK_ACCESS static void grow(struct cairn_tracked_heap *heap,
                                           struct cairn_heap_own *own)
{
    uint32_t n = (own->mask + 1) * 2;
    struct cairn_heap_thread *old = own->shared, *larger = new_deltas(heap, n);
    own->n_conflicts = 0;
    if (!larger)
        return;
    for (uint32_t i = 0; i <= own->mask; i++)
        cairn_heap_count_hand_in(heap, &old->deltas[i]);
    atomic_store(&larger->tid, load32(&old->tid));
    atomic_store(&larger->live_bytes, atomic_exchange(&old->live_bytes, 0));
    own->shared = larger;
    own->mask = n - 1;
    cairn_heap_state_give(&heap->state, old, chunks_of(n / 2));
}

CAIRN_THREAD_BLOCK_ACCESS struct cairn_heap_delta *
cairn_heap_count_switch(struct cairn_tracked_heap *heap, struct cairn_heap_own *own, uint64_t key)
{
    struct cairn_heap_delta *delta = &own->shared->deltas[(uint32_t)key & own->mask];
    uint64_t was = load64(&delta->key);
    if ((uint32_t)was != (uint32_t)key && (uint32_t)was != 0 &&
        ++own->n_conflicts > own->mask / 2 && own->mask + 1 < CAIRN_HEAP_MOST_DELTAS) {
        grow(heap, own);
        delta = &own->shared->deltas[(uint32_t)key & own->mask];
    }
    cairn_heap_count_hand_in(heap, delta);
    atomic_store_explicit(&delta->key, key, memory_order_relaxed);
    return delta;
}

static int64_t next_mark(int64_t mark_bytes)
{
    return mark_bytes + (mark_bytes >> CAIRN_HEAP_MARK_BITS) + 1;
}

/* The thread that raises mark_bytes makes the mark. */
static void raise_peak(struct cairn_tracked_heap *heap, int64_t live)
{
    struct cairn_heap_header *header = heap->state.header;
    int64_t peak = atomic_load_explicit(&header->peak_bytes, memory_order_relaxed);
    while (live > peak && !atomic_compare_exchange_weak(&header->peak_bytes, &peak, live))
        ;
    int64_t mark = atomic_load_explicit(&heap->mark_bytes, memory_order_relaxed);
    while (live >= next_mark(mark))
        if (atomic_compare_exchange_weak(&heap->mark_bytes, &mark, live)) {
            atomic_fetch_add(&header->turn_and_peak, CAIRN_HEAP_NEXT_PEAK);
            atomic_store_explicit(&header->peak_ns, cairn_heap_epoch_now_ns(),
                                  memory_order_relaxed);
            return;
        }
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_count_hand_in_live(struct cairn_tracked_heap *heap,
                                                             struct cairn_heap_own *own)
{
    struct cairn_heap_header *header = heap->state.header;
    int64_t more = atomic_exchange_explicit(&own->shared->live_bytes, 0, memory_order_relaxed);
    int64_t live =
        atomic_fetch_add_explicit(&header->live_bytes, more, memory_order_relaxed) + more;
    raise_peak(heap, live);
    if (more < 0) /* who only frees looks at no clock otherwise */
        cairn_heap_empty_look(heap, cairn_heap_epoch_now_ns());
    set_steps(heap, own);
}

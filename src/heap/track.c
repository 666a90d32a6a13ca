/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/track.h"

#include <errno.h>

#include "heap/start.h"

/* The frames that --depth keeps are the innermost ones: a hash of its own. */
static uint32_t number_of_cut(struct cairn_heap *heap, const struct cairn_local_capture *capture)
{
    uint32_t depth = heap->settings.depth;
    uint64_t hash = atomic_load_explicit(&heap->stacks.seed, memory_order_relaxed);
    for (uint32_t i = depth; i-- > 0;)
        hash = cairn_heap_hash_step(hash, capture->frames[i].ret);
    uint32_t number = cairn_heap_stacks_find(&heap->stacks, hash);
    if (number)
        return number;
    struct cairn_heap_new_stack new = {
        .frames = capture->frames, .n = depth, .n_cut = capture->n - depth, .end = capture->end};
    bool is_new;
    return cairn_heap_stacks_add(&heap->stacks, &heap->state, &heap->modules, hash, &new, &is_new);
}

/* Shared is what lies up to the innermost frame of which it is known in whose record it is. */
CAIRN_THREAD_BLOCK_ACCESS static uint32_t number_of_new(struct cairn_heap *heap,
                                                        struct cairn_heap_own *own,
                                                        const struct cairn_local_capture *capture)
{
    uint32_t n = capture->n, shared = n - 1;
    while (shared > 0 && own->bases[shared - 1] == 0)
        shared--;
    struct cairn_heap_new_stack new = {
        .frames = capture->frames,
        .n = n,
        .n_shared = shared,
        .base = shared ? own->bases[shared - 1] : 0,
        .end = capture->end,
    };
    bool is_new;
    uint32_t number = cairn_heap_stacks_add(&heap->stacks, &heap->state, &heap->modules,
                                            own->hashes[n - 1], &new, &is_new);
    for (uint32_t i = shared; is_new && i < n; i++)
        own->bases[i] = number;
    return number;
}

/* Modules may have gone: what this thread remembered is void already, but numbers of stacks may be
 * of other code at the same addresses. */
CAIRN_THREAD_BLOCK_ACCESS static void look_at_modules(struct cairn_heap *heap,
                                                      struct cairn_heap_own *own)
{
    own->generation = atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed);
    cairn_lock_take(&heap->stacks.lock);
    if (cairn_heap_modules_refresh(&heap->modules, &heap->state, heap->stacks.n))
        atomic_fetch_add(&heap->stacks.seed, 1);
    cairn_lock_give(&heap->stacks.lock);
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((hot)) uint32_t
cairn_heap_new_stack(struct cairn_heap *heap, struct cairn_heap_own *own,
                     const struct cairn_local_capture *capture, uint32_t n_shared)
{
    if (__builtin_expect(own->generation !=
                             atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed),
                         0)) {
        look_at_modules(heap, own);
        n_shared = 0;
    }
    uint32_t n = capture->n;
    uint64_t hash = n_shared ? own->hashes[n_shared - 1]
                             : atomic_load_explicit(&heap->stacks.seed, memory_order_relaxed);
    for (uint32_t i = n_shared; i < n; i++) {
        hash = cairn_heap_hash_step(hash, capture->frames[n - 1 - i].ret);
        own->hashes[i] = hash;
        own->numbers[i] = own->bases[i] = 0;
    }
    uint32_t number;
    if (__builtin_expect(n > heap->settings.depth, 0)) {
        number = number_of_cut(heap, capture);
    } else {
        number = cairn_heap_stacks_find(&heap->stacks, hash);
        if (__builtin_expect(number == 0, 0))
            number = number_of_new(heap, own, capture);
        own->numbers[n - 1] = own->bases[n - 1] = number;
    }
    if (number == 0)
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_STACKS_FULL, 0);
    return number;
}

/* An entry that says no more than can be said without a lock. */
static uint64_t entry_of(struct cairn_heap *heap, const struct cairn_heap_birth *birth,
                         uint32_t stack)
{
    uint32_t epoch = atomic_load_explicit(&heap->state.header->epoch, memory_order_relaxed);
    uint32_t bytes = birth->bytes < CAIRN_HEAP_SIZE_ASIDE ? (uint32_t)birth->bytes
                                                          : (uint32_t)CAIRN_HEAP_SIZE_ASIDE;
    return cairn_heap_entry(stack, bytes, birth->kind, epoch);
}

/* A block that was never freed as far as we saw, and must be gone: another one is there. */
static void bury(struct cairn_heap *heap, uint64_t va, uint64_t entry)
{
    uint64_t bytes = cairn_heap_entry_size(entry);
    if (bytes == CAIRN_HEAP_SIZE_ASIDE)
        bytes = cairn_heap_large_take(&heap->large, va);
    cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_OVERLAP, bytes);
    cairn_heap_count_large(heap, cairn_heap_entry_stack(entry), bytes, true);
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_born_oddly(struct cairn_heap *heap,
                                                     struct cairn_heap_own *own,
                                                     const struct cairn_heap_birth *birth,
                                                     uint32_t stack)
{
    uint64_t va = cairn_heap_va(birth->block);
    _Atomic(uint64_t) *place = cairn_heap_shadow_make(&heap->shadow, &heap->state, va);
    if (!place) {
        cairn_heap_state_lose(
            &heap->state, va >> CAIRN_HEAP_VA_BITS ? CAIRN_HEAP_LOSS_ADDRESS : CAIRN_HEAP_LOSS_FULL,
            birth->bytes);
        own->last_va = 0;
        return;
    }
    uint64_t before = atomic_load_explicit(place, memory_order_relaxed);
    if (before)
        bury(heap, va, before);
    uint64_t entry = entry_of(heap, birth, stack);
    if (birth->bytes < CAIRN_HEAP_SIZE_ASIDE) {
        atomic_store_explicit(place, entry, memory_order_relaxed);
        struct cairn_heap_delta *delta = cairn_heap_count_delta(heap, own, stack);
        cairn_heap_count_add(heap, delta, &delta->allocs, (uint32_t)birth->bytes);
        cairn_heap_count_live(heap, own, (int64_t)birth->bytes);
        return;
    }
    if (!cairn_heap_large_put(&heap->large, &heap->state, va, birth->bytes)) {
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_FULL, birth->bytes);
        return;
    }
    atomic_store_explicit(place, entry, memory_order_relaxed);
    cairn_heap_count_large(heap, stack, birth->bytes, false);
    cairn_heap_count_hand_in_live(heap, own);
}

struct cairn_heap_death cairn_heap_died_oddly(struct cairn_heap *heap, const void *block,
                                              uint64_t entry, unsigned kind)
{
    uint64_t va = cairn_heap_va(block), bytes = cairn_heap_entry_size(entry);
    if (entry == 0) {
        if (heap->settings.sample_bytes == 0)
            cairn_heap_state_lose(
                &heap->state,
                heap->settings.parent ? CAIRN_HEAP_LOSS_INHERITED : CAIRN_HEAP_LOSS_UNKNOWN, 0);
        return (struct cairn_heap_death){0};
    }
    if (bytes == CAIRN_HEAP_SIZE_ASIDE) {
        atomic_store_explicit(cairn_heap_shadow_find(&heap->shadow, va), 0, memory_order_relaxed);
        bytes = cairn_heap_large_take(&heap->large, va);
        cairn_heap_count_large(heap, cairn_heap_entry_stack(entry), bytes, true);
    }
    if (cairn_heap_entry_kind(entry) != kind)
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_MISMATCHED, bytes);
    return (struct cairn_heap_death){entry, bytes};
}

static void put_back(struct cairn_heap *heap, const void *block,
                     const struct cairn_heap_death *death)
{
    uint64_t va = cairn_heap_va(block);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&heap->shadow, va);
    if (!place)
        return;
    if (cairn_heap_entry_size(death->entry) == CAIRN_HEAP_SIZE_ASIDE)
        cairn_heap_large_put(&heap->large, &heap->state, va, death->bytes);
    cairn_heap_count_undo_free(heap, cairn_heap_entry_stack(death->entry), death->bytes);
    atomic_store_explicit(place, death->entry, memory_order_relaxed);
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_put_back(const void *block,
                                                   const struct cairn_heap_death *death)
{
    struct cairn_heap_own *own = cairn_heap_own;
    if (!own || !own->idle || !death->entry)
        return;
    own->idle = 0;
    atomic_signal_fence(memory_order_seq_cst);
    put_back(own->heap, block, death);
    atomic_signal_fence(memory_order_seq_cst);
    own->idle = 1;
}

/* Within a call of this thread: no lock may be taken, and nothing captured. */
static void born_within(struct cairn_heap *heap, const struct cairn_heap_birth *birth)
{
    uint64_t va = cairn_heap_va(birth->block);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&heap->shadow, va);
    if (!place || birth->bytes >= CAIRN_HEAP_SIZE_ASIDE) {
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_FULL, birth->bytes);
        return;
    }
    atomic_store_explicit(place, entry_of(heap, birth, 0), memory_order_relaxed);
    cairn_heap_count_directly(heap, 0, birth->bytes, false);
    cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_NO_STACK, birth->bytes);
}

static struct cairn_heap_death died_within(struct cairn_heap *heap, const void *block)
{
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&heap->shadow, cairn_heap_va(block));
    uint64_t entry = place ? atomic_exchange_explicit(place, 0, memory_order_relaxed) : 0;
    uint64_t bytes = cairn_heap_entry_size(entry);
    /* The size of a large one is left where it is: its place may be locked. */
    if (bytes == CAIRN_HEAP_SIZE_ASIDE)
        bytes = 0;
    if (entry)
        cairn_heap_count_directly(heap, cairn_heap_entry_stack(entry), bytes, true);
    return (struct cairn_heap_death){entry, bytes};
}

CAIRN_THREAD_BLOCK_ACCESS void cairn_heap_born_slowly(const struct cairn_heap_birth *birth)
{
    int saved = errno;
    struct cairn_heap *heap;
    struct cairn_heap_own *own = cairn_heap_start_thread(&heap);
    if (own) {
        cairn_heap_note_birth(heap, own, birth);
        atomic_signal_fence(memory_order_seq_cst);
        own->idle = 1;
    } else if (heap) {
        born_within(heap, birth);
    }
    errno = saved;
}

CAIRN_THREAD_BLOCK_ACCESS struct cairn_heap_death cairn_heap_died_slowly(const void *block,
                                                                         unsigned kind)
{
    int saved = errno;
    struct cairn_heap_death death = {0};
    struct cairn_heap *heap;
    struct cairn_heap_own *own = cairn_heap_start_thread(&heap);
    if (own) {
        death = cairn_heap_note_death(heap, own, block, kind);
        atomic_signal_fence(memory_order_seq_cst);
        own->idle = 1;
    } else if (heap) {
        death = died_within(heap, block);
    }
    errno = saved;
    return death;
}

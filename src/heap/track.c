/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "heap/track.h"

#include <errno.h>

#include <cairn/unwind.h>

#include "heap/start.h"
#include "heap/within.h"

static uint32_t find_or_add(struct cairn_tracked_heap *heap, uint64_t hash,
                            const struct cairn_heap_new_stack *new)
{
    uint32_t number = cairn_heap_stacks_find(&heap->stacks, hash);
    bool is_new;
    return number ? number
                  : cairn_heap_stacks_add(&heap->stacks, &heap->state, &heap->modules, hash, new,
                                          &is_new);
}

/* The frames that --depth keeps are the innermost ones: a hash of its own. */
__attribute__((noinline)) static uint32_t number_of_cut(struct cairn_tracked_heap *heap,
                                                        const struct cairn_local_frame *frames,
                                                        uint32_t n, int end)
{
    uint32_t depth = atomic_load_explicit(&heap->settings.depth, memory_order_relaxed);
    uint64_t hash = atomic_load_explicit(&heap->stacks.seed, memory_order_relaxed);
    for (uint32_t i = depth; i-- > 0;)
        hash = cairn_heap_hash_step(hash, frames[i].ret);
    const struct cairn_heap_new_stack new = {
        .frames = frames, .n = depth, .n_cut = n - depth, .end = end};
    return find_or_add(heap, hash, &new);
}

/* Shared is what lies up to the innermost frame of which it is known in whose record it is. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline)) static uint32_t
number_of_new(struct cairn_tracked_heap *heap, struct cairn_heap_own *own,
              const struct cairn_local_frame *frames, uint32_t n, int end)
{
    uint32_t shared = own->n_bases < n ? own->n_bases : n - 1;
    struct cairn_heap_new_stack new = {
        .frames = frames,
        .n = n,
        .n_shared = shared,
        .base = shared ? own->base_of[shared - 1] : 0,
        .end = end,
    };
    bool is_new;
    uint32_t number = cairn_heap_stacks_add(&heap->stacks, &heap->state, &heap->modules,
                                            own->hashes[n - 1], &new, &is_new);
    for (uint32_t i = shared; is_new && i < n; i++)
        own->base_of[i] = number;
    if (is_new)
        own->n_bases = n;
    return number;
}

/* Modules may have gone: what this thread remembered is void already, but numbers of stacks may be
 * of other code at the same addresses. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline)) static void
look_at_modules(struct cairn_tracked_heap *heap, struct cairn_heap_own *own)
{
    own->generation = atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed);
    cairn_lock_take(&heap->stacks.lock);
    if (cairn_heap_modules_refresh(&heap->modules, &heap->state))
        atomic_fetch_add(&heap->stacks.seed, 1);
    cairn_lock_give(&heap->stacks.lock);
}

/* Of the frames that are not shared; returns the whole stack's. */
CAIRN_HEAP_HOT uint64_t hash_new(const struct cairn_tracked_heap *heap, struct cairn_heap_own *own,
                                 const struct cairn_local_frame *frames, uint32_t n,
                                 uint32_t n_shared)
{
    uint64_t *to = &own->hashes[n_shared], *end = &own->hashes[n];
    uint64_t hash =
        n_shared ? to[-1] : atomic_load_explicit(&heap->stacks.seed, memory_order_relaxed);
    const struct cairn_local_frame *from = frames + (n - n_shared);
    if ((n - n_shared) % 2)
        *to++ = hash = cairn_heap_hash_step(hash, (--from)->ret);
    for (; to < end; to += 2) {
        from -= 2;
        to[0] = hash = cairn_heap_hash_step(hash, from[1].ret);
        to[1] = hash = cairn_heap_hash_step(hash, from[0].ret);
    }
    return hash;
}

__attribute__((noinline, cold)) static uint32_t no_stack(struct cairn_tracked_heap *heap)
{
    cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_NO_STACK, 0);
    return 0;
}

/* The number that is found for a hash; 0: none. */
CAIRN_HEAP_HOT uint32_t number_by_hash(struct cairn_heap_own *own, uint64_t hash)
{
    uint64_t *recent = &own->recent[hash % CAIRN_HEAP_RECENT];
    if (__builtin_expect(cairn_heap_stacks_is_of(*recent, hash), 1))
        return cairn_heap_stacks_number(*recent);
    uint32_t number = cairn_heap_stacks_find(&own->heap->stacks, hash);
    if (__builtin_expect(number != 0, 1))
        *recent = cairn_heap_stacks_word(hash, number);
    return number;
}

/* Of a stack that has not the number of the one before; 0: there is no room for it. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline)) static uint32_t
number_of(struct cairn_heap_own *own, const struct cairn_local_frame *frames, uint32_t n,
          uint32_t n_shared, int end)
{
    struct cairn_tracked_heap *heap = own->heap;
    if (__builtin_expect(own->generation !=
                             atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed),
                         0)) {
        look_at_modules(heap, own);
        n_shared = 0;
    }
    own->n_bases = n_shared < own->n_bases ? n_shared : own->n_bases;
    uint64_t hash = hash_new(heap, own, frames, n, n_shared);
    uint32_t number;
    if (__builtin_expect(n > atomic_load_explicit(&heap->settings.depth, memory_order_relaxed),
                         0)) {
        own->same = 0;
        number = number_of_cut(heap, frames, n, end);
    } else {
        number = number_by_hash(own, hash);
        if (__builtin_expect(number == 0, 0))
            number = number_of_new(heap, own, frames, n, end);
        own->last = number;
        own->same = number ? (struct cairn_local_again){.n = n, .n_shared = n}.both : 0;
    }
    if (__builtin_expect(number == 0, 0))
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_STACKS_FULL, 0);
    return number;
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline)) static uint32_t
stack_fully(struct cairn_heap_own *own)
{
    const struct cairn_local_frame_at at = {own->ret, own->idle, own->fp};
    struct cairn_local_capture capture;
    if (!cairn_local_capture(&at, &capture) || capture.n == 0)
        return no_stack(own->heap);
    return number_of(own, capture.frames, capture.n, capture.n_shared, capture.end);
}

/* In few registers, for what is rare is begun anew. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((hot)) uint32_t
cairn_heap_other_stack(struct cairn_heap_own *own, struct cairn_local_again again)
{
    const struct cairn_tracked_heap *heap = own->heap;
    if (__builtin_expect(again.n == 0, 0))
        return stack_fully(own);
    if (__builtin_expect(
            own->generation ==
                    atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed) &&
                again.n <= atomic_load_explicit(&heap->settings.depth, memory_order_relaxed),
            1)) {
        own->n_bases = again.n_shared < own->n_bases ? again.n_shared : own->n_bases;
        uint64_t hash = hash_new(heap, own, again.frames, again.n, again.n_shared);
        uint32_t number = number_by_hash(own, hash);
        if (__builtin_expect(number != 0, 1)) {
            own->last = number;
            again.n_shared = again.n;
            own->same = again.both;
            return number;
        }
    }
    return number_of(own, again.frames, again.n, again.n_shared, CAIRN_END_OUTERMOST);
}

/* Its hash is not that of a whole stack of this one frame. */
static uint32_t number_of_caller(struct cairn_tracked_heap *heap, uintptr_t ret)
{
    const struct cairn_local_frame frame = {.ret = ret};
    uint64_t seed = atomic_load_explicit(&heap->stacks.seed, memory_order_relaxed);
    uint64_t hash = cairn_heap_hash_step(cairn_heap_hash_step(seed, UINTPTR_MAX), ret);
    const struct cairn_heap_new_stack new = {
        .frames = &frame, .n = 1, .end = CAIRN_END_MAX_FRAMES, .flags = CAIRN_HEAP_LOG_CALLER};
    return find_or_add(heap, hash, &new);
}

/* The key is written last: a signal handler may leave this by longjmp(3). */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline)) uint32_t
cairn_heap_new_caller(struct cairn_heap_own *own, uintptr_t ret)
{
    uint64_t key = cairn_heap_caller_key(ret);
    if (own->generation != atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed))
        look_at_modules(own->heap, own);
    uint32_t number = number_of_caller(own->heap, ret);
    struct cairn_heap_caller_seen *seen = cairn_heap_caller_at(own, ret);
    seen->key = 0;
    atomic_signal_fence(memory_order_seq_cst);
    seen->number = number;
    atomic_signal_fence(memory_order_seq_cst);
    seen->key = key;
    return number;
}

static uint64_t entry_of(struct cairn_tracked_heap *heap, uint64_t va, uint64_t bytes,
                         unsigned kind, uint32_t stack)
{
    uint32_t epoch = atomic_load_explicit(&heap->state.header->epoch, memory_order_relaxed);
    uint32_t size =
        bytes < CAIRN_HEAP_SIZE_ASIDE ? (uint32_t)bytes : (uint32_t)CAIRN_HEAP_SIZE_ASIDE;
    return cairn_heap_entry(va, stack, size, kind, epoch);
}

/* A block that was never freed as far as we saw, and must be gone: another one is there. */
static void bury(struct cairn_tracked_heap *heap, uint64_t va, uint64_t entry)
{
    uint64_t bytes = cairn_heap_entry_size(entry);
    if (bytes == CAIRN_HEAP_SIZE_ASIDE)
        bytes = cairn_heap_large_take(&heap->large, va);
    uint32_t stack = cairn_heap_entry_stack(entry);
    if (stack && stack == atomic_load_explicit(&heap->older, memory_order_relaxed)) {
        /* It was gone when it was added, or is this one, which was not recorded yet. */
        cairn_heap_count_undo_birth(heap, stack, (struct cairn_heap_share){1, bytes});
        return;
    }
    cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_OVERLAP, bytes);
    cairn_heap_count_large(heap, stack,
                           cairn_heap_live_share(va, bytes, heap->settings.sample_bytes), true);
}

/* Where it has to go; NULL: it cannot be recorded. */
static _Atomic(uint64_t) *place_for(struct cairn_tracked_heap *heap, uint64_t va, uint64_t bytes)
{
    _Atomic(uint64_t) *place = cairn_heap_shadow_make(&heap->shadow, &heap->state, va);
    if (!place) {
        cairn_heap_state_lose(
            &heap->state, va >> CAIRN_HEAP_VA_BITS ? CAIRN_HEAP_LOSS_ADDRESS : CAIRN_HEAP_LOSS_FULL,
            bytes);
        return NULL;
    }
    uint64_t before = atomic_load_explicit(place, memory_order_relaxed);
    if (before)
        bury(heap, va, before);
    return place;
}

CAIRN_THREAD_BLOCK_ACCESS static void count_birth(struct cairn_tracked_heap *heap,
                                                  struct cairn_heap_own *own, uint64_t bytes,
                                                  uint32_t stack)
{
    uint64_t mean = heap->settings.sample_bytes;
    if (bytes >= CAIRN_HEAP_SIZE_ASIDE || mean) {
        cairn_heap_count_large(heap, stack, cairn_heap_sample_share(&own->sampler, mean, bytes),
                               false);
        cairn_heap_count_hand_in_live(heap, own);
        return;
    }
    struct cairn_heap_delta *delta = cairn_heap_count_delta(heap, own, stack);
    cairn_heap_count_add(heap, delta, &delta->allocs, (uint32_t)bytes);
    cairn_heap_count_live(heap, own, (int64_t)bytes);
}

CAIRN_THREAD_BLOCK_ACCESS static void note_birth(struct cairn_heap_own *own, const void *block,
                                                 uint64_t bytes, unsigned kind, uint32_t stack)
{
    struct cairn_tracked_heap *heap = own->heap;
    uint64_t va = cairn_heap_va(block);
    if (own->until_tick == 0 || own->until_tick > CAIRN_HEAP_TICK) {
        own->until_tick = CAIRN_HEAP_TICK;
        cairn_heap_epoch_tick(heap);
        cairn_heap_start_look();
    }
    own->last_va = 0;
    _Atomic(uint64_t) *place = place_for(heap, va, bytes);
    if (!place)
        return;
    if (bytes >= CAIRN_HEAP_SIZE_ASIDE &&
        !cairn_heap_large_put(&heap->large, &heap->state, va, bytes)) {
        cairn_heap_state_lose(&heap->state, CAIRN_HEAP_LOSS_FULL, bytes);
        return;
    }
    own->last_va = ~va;
    atomic_store_explicit(place, entry_of(heap, va, bytes, kind, stack), memory_order_relaxed);
    count_birth(heap, own, bytes, stack);
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline, cold)) void *
cairn_heap_born_oddly(struct cairn_heap_own *own, void *block, uint64_t bytes, unsigned kind,
                      uint32_t stack)
{
    int saved = errno;
    note_birth(own, block, bytes, kind, stack);
    errno = saved;
    cairn_heap_call_end(own);
    return block;
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline)) void *
cairn_heap_born_to_new_caller(struct cairn_heap_own *own, void *block, uint64_t bytes,
                              unsigned kind)
{
    uint32_t stack = cairn_heap_new_caller(own, own->ret);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, cairn_heap_va(block));
    if (!cairn_heap_note_birth(own, place, block, bytes, kind, stack))
        return cairn_heap_born_oddly(own, block, bytes, kind, stack);
    cairn_heap_call_end(own);
    return block;
}

#define BORN_HERE(name, kind)                                                                      \
    CAIRN_THREAD_BLOCK_ACCESS __attribute__((hot)) void *name(                                     \
        uintptr_t ret, uintptr_t sp, uintptr_t fp, struct cairn_heap_own *own, void *block,        \
        uint64_t bytes)                                                                            \
    {                                                                                              \
        return cairn_heap_note_here(own, block, bytes, kind,                                       \
                                    (struct cairn_local_frame_at){ret, sp, fp});                   \
    }
BORN_HERE(cairn_heap_malloc_here, CAIRN_HEAP_KIND_MALLOC)
BORN_HERE(cairn_heap_new_here, CAIRN_HEAP_KIND_NEW)
BORN_HERE(cairn_heap_new_array_here, CAIRN_HEAP_KIND_NEW_ARRAY)

/* Without room for one more stack the block has none, and is ignored all the same. */
static uint32_t ignored(struct cairn_tracked_heap *heap, uint32_t stack)
{
    uint32_t number = cairn_heap_stacks_ignored(&heap->stacks, &heap->state, &heap->modules, stack);
    return number || stack == 0
               ? number
               : cairn_heap_stacks_ignored(&heap->stacks, &heap->state, &heap->modules, 0);
}

/* Of all blocks, or of some. */
CAIRN_THREAD_BLOCK_ACCESS static void born_by_call(struct cairn_heap_own *own, void *block,
                                                   uint64_t bytes, unsigned kind,
                                                   struct cairn_local_frame_at caller)
{
    uint64_t mean = own->heap->settings.sample_bytes;
    /* Those that are recorded of a few each look at the clock. */
    own->until_tick = mean || own->until_tick == 0 ? 0 : own->until_tick - 1;
    if (mean == 0 || cairn_heap_sample_takes(&own->sampler, mean, bytes)) {
        uint32_t stack = cairn_heap_stack_of(own, caller);
        if (__builtin_expect(cairn_heap_disabled != 0, 0))
            stack = ignored(own->heap, stack);
        note_birth(own, block, bytes, kind, stack);
    } else {
        own->last_va = 0;
    }
    cairn_heap_call_end(own);
}

CAIRN_THREAD_BLOCK_ACCESS void *cairn_heap_born_fully(void *block, uint64_t bytes, unsigned kind,
                                                      uintptr_t ret, uintptr_t sp, uintptr_t fp)
{
    const struct cairn_local_frame_at caller = {ret, sp, fp};
    int saved = errno;
    struct cairn_tracked_heap *heap;
    struct cairn_heap_own *own = cairn_heap_call_begin(&heap, sp);
    bool paused = heap && (atomic_load_explicit(&heap->state.header->paused, memory_order_relaxed) &
                           CAIRN_HEAP_PAUSED);
    if (own && paused)
        cairn_heap_call_end(own);
    else if (own)
        born_by_call(own, block, bytes, kind, caller);
    else if (heap && !paused && !heap->settings.sample_bytes)
        cairn_heap_born_within(heap, block, bytes, kind);
    errno = saved;
    return block;
}

void *cairn_heap_adopt(void *block, uint64_t bytes, unsigned kind,
                       struct cairn_local_frame_at caller)
{
    if (block) {
        cairn_heap_forget(block);
        cairn_heap_born_fully(block, bytes, kind, caller.ret, caller.sp, caller.fp);
    }
    return block;
}

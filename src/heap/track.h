/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Track: births and deaths of blocks, as the interposed functions tell them. A birth is told behind
 * the real allocation, a death before the real free: so an address is never two blocks'.
 *
 * Budget of a pair: about 120 instructions, and the capture (unwind/local.h). What is the same from
 * block to block lies ready in the thread's own, as of a turn of the header (rt/heap_state.h): one
 * comparison tells that no call is under way, that this is no child of fork, and that the peak, the
 * epoch and the switch for stacks are what they were. First all is looked at, and what is out of
 * the ordinary in any way left to the functions that can do everything; then all is written.
 * Nothing but the size lives over a call: so next to no register is saved.
 */
#ifndef CAIRN_HEAP_TRACK_H
#define CAIRN_HEAP_TRACK_H

#include "heap/caller.h"
#include "heap/count.h"
#include "heap/epoch.h"
#include "heap/heap.h"
#include "heap/start.h"
#include "unwind/local.h"
#include "unwind/unload.h"

#define CAIRN_HEAP_HOT CAIRN_THREAD_BLOCK_ACCESS __attribute__((always_inline)) static inline

struct cairn_heap_death {
    uint64_t entry; /* as it was; 0: there was none */
    uint64_t bytes;
};

/* Whatever there is to be done. In registers all of it, or who is inlined keeps it in memory; what
 * tells of births returns the block, so that nobody has to keep that. */
void *cairn_heap_born_fully(void *block, uint64_t bytes, unsigned kind, uintptr_t ret, uintptr_t sp,
                            uintptr_t fp);
struct cairn_heap_death cairn_heap_died_fully(const void *block, unsigned kind);
/* The same of a birth whose stack has a number already. `own` is not idle, and so afterwards. */
void *cairn_heap_born_oddly(struct cairn_heap_own *own, void *block, uint64_t bytes, unsigned kind,
                            uint32_t stack);
/* The same of one whose stack is asked for; nothing is under way in the thread. */
typedef void *cairn_heap_here_fn(uintptr_t ret, uintptr_t sp, uintptr_t fp,
                                 struct cairn_heap_own *own, void *block, uint64_t bytes);
cairn_heap_here_fn cairn_heap_malloc_here, cairn_heap_new_here, cairn_heap_new_array_here;

/* The same of one whose stack is not asked for, and whose caller (own->ret) has no number here. */
void *cairn_heap_born_to_new_caller(struct cairn_heap_own *own, void *block, uint64_t bytes,
                                    unsigned kind);

/* Takes a block out, if it is known, whatever its kind: another birth of it follows. */
void cairn_heap_forget(const void *block);

/* A block, or NULL, that a function of another library gave its caller. It may have come by one of
 * ours: it is known then, as that library's. */
void *cairn_heap_adopt(void *block, uint64_t bytes, unsigned kind,
                       struct cairn_local_frame_at caller);

/* The death of a block of whatever kind; none of one that is not known, which is no loss: for who
 * sees the births of some callers alone. */
struct cairn_heap_death cairn_heap_died_if_known(const void *block);

/* What was taken out for a realloc that failed: the block lives as if nothing had been. */
void cairn_heap_put_back(const void *block, const struct cairn_heap_death *death);

/* The number of the stack from a caller on, which is not the one of the thread's last capture. */
uint32_t cairn_heap_other_stack(struct cairn_heap_own *own, struct cairn_local_again again);

/* The number of the stack from `at` on, where the call under way is; 0: none. What is rarely asked
 * for again waits in memory, not in registers that would have to be saved. */
CAIRN_HEAP_HOT uint32_t cairn_heap_stack_from(struct cairn_heap_own *own,
                                              struct cairn_local_frame_at at)
{
    own->ret = at.ret;
    own->fp = at.fp;
    struct cairn_local_again again = cairn_local_again(at.ret, at.sp, at.fp);
    if (__builtin_expect(again.both == own->same, 1))
        return own->last;
    return cairn_heap_other_stack(own, again);
}

/* An address may be that of other code once a module was unloaded. */
CAIRN_HEAP_HOT uint64_t cairn_heap_caller_key(uintptr_t ret)
{
    return ret + atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed) *
                     UINT64_C(0x9e3779b97f4a7c15);
}

CAIRN_HEAP_HOT struct cairn_heap_caller_seen *cairn_heap_caller_at(struct cairn_heap_own *own,
                                                                   uintptr_t ret)
{
    return &own->callers[(ret ^ ret >> 10) % CAIRN_HEAP_CALLERS];
}

/* The number of a caller that this thread has not seen lately; 0: there is no room for it. */
uint32_t cairn_heap_new_caller(struct cairn_heap_own *own, uintptr_t ret);

/* Of the caller alone, where stacks are switched off. */
CAIRN_HEAP_HOT uint32_t cairn_heap_stack_of(struct cairn_heap_own *own,
                                            struct cairn_local_frame_at at)
{
    if (own->stacks_on)
        return cairn_heap_stack_from(own, at);
    const struct cairn_heap_caller_seen *seen = cairn_heap_caller_at(own, at.ret);
    return seen->key == cairn_heap_caller_key(at.ret) ? seen->number
                                                      : cairn_heap_new_caller(own, at.ret);
}

/* The thread's delta of a stack as it is now; what is in it is another one's if its key is. */
CAIRN_HEAP_HOT struct cairn_heap_delta *cairn_heap_delta_of(const struct cairn_heap_own *own,
                                                            struct cairn_heap_thread *shared,
                                                            uint32_t stack)
{
    size_t at = (size_t)(stack & own->mask) * sizeof(struct cairn_heap_delta);
    if (!__builtin_constant_p(stack))
        __asm__("" : "+r"(at)); /* reckoned once, not anew for each word of it */
    return (struct cairn_heap_delta *)(void *)((char *)shared->deltas + at);
}

/* Of a word that nobody but this thread writes, nor before it is done: so the compiler may read it
 * where it is compared. */
CAIRN_HEAP_HOT uint64_t cairn_heap_load(const _Atomic(uint64_t) *word)
{
    return *(const uint64_t *)word;
}

CAIRN_HEAP_HOT bool cairn_heap_is_of(const struct cairn_heap_delta *delta, uint64_t key)
{
    return cairn_heap_load(&delta->key) == key;
}

CAIRN_HEAP_HOT uint64_t cairn_heap_live(const struct cairn_heap_thread *shared)
{
    return (uint64_t) * (const int64_t *)&shared->live_bytes;
}

/* `place` is where the block's entry goes; NULL: there is no leaf for it. False: nothing was done.
 * Who is at no more than a step cannot be so behind a block whose size does not fit its entry. */
CAIRN_HEAP_HOT bool cairn_heap_note_birth(struct cairn_heap_own *own, _Atomic(uint64_t) *place,
                                          const void *block, uint64_t bytes, unsigned kind,
                                          uint32_t stack)
{
    uint64_t va = cairn_heap_va(block);
    struct cairn_heap_thread *shared = own->shared;
    struct cairn_heap_delta *delta = cairn_heap_delta_of(own, shared, stack);
    if (__builtin_expect(!place || --own->until_tick == 0 || cairn_heap_load(place) != 0 ||
                             !cairn_heap_is_of(delta, own->key | stack),
                         0))
        return false;
    uint64_t allocs = cairn_heap_load(&delta->allocs) + bytes + own->one;
    int64_t live = (int64_t)(cairn_heap_live(shared) + bytes);
    if (__builtin_expect(cairn_heap_count_is_full(allocs) || live > own->live_step, 0))
        return false;
    own->last_va = ~va;
    atomic_store_explicit(place, cairn_heap_entry_of(own->bases[kind], va, stack, bytes),
                          memory_order_relaxed);
    atomic_store_explicit(&delta->allocs, allocs, memory_order_relaxed);
    atomic_store_explicit(&shared->live_bytes, live, memory_order_relaxed);
    return true;
}

/* What idle is in a thread that has nothing to look at. */
CAIRN_HEAP_HOT uintptr_t cairn_heap_turn_now(void)
{
    return cairn_heap_turn_of(atomic_load_explicit(&cairn_heap_turn, memory_order_relaxed));
}

/* The entry's line is asked for before the stack is looked at: which takes about as long. */
CAIRN_HEAP_HOT void *cairn_heap_note_here(struct cairn_heap_own *own, void *block, uint64_t bytes,
                                          unsigned kind, struct cairn_local_frame_at caller)
{
    own->idle = caller.sp;
    atomic_signal_fence(memory_order_seq_cst);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, cairn_heap_va(block));
    __builtin_prefetch(place, 1);
    uint32_t stack = cairn_heap_stack_from(own, caller);
    if (__builtin_expect(!cairn_heap_note_birth(own, place, block, bytes, kind, stack), 0))
        return cairn_heap_born_oddly(own, block, bytes, kind, stack);
    cairn_heap_call_end(own);
    return block;
}

/* By a constant `kind`. */
CAIRN_HEAP_HOT cairn_heap_here_fn *cairn_heap_here_of(unsigned kind)
{
    return kind == CAIRN_HEAP_KIND_MALLOC ? cairn_heap_malloc_here
           : kind == CAIRN_HEAP_KIND_NEW  ? cairn_heap_new_here
                                          : cairn_heap_new_array_here;
}

/* Where not all blocks are recorded: this one is not. What is odd about that is left to
 * cairn_heap_sample_takes(). */
CAIRN_HEAP_HOT bool cairn_heap_passes(struct cairn_heap_own *own, uint64_t bytes)
{
    uint64_t counted = bytes ? bytes : 1;
    if (own->idle != CAIRN_HEAP_IDLE_SAMPLES || counted >= (uint64_t)own->sampler.until)
        return false;
    own->sampler.until -= (int64_t)counted;
    own->last_va = 0;
    return true;
}

/* Asked for by the caller of the function in which this is written. */
CAIRN_HEAP_HOT void *cairn_heap_born(void *block, uint64_t bytes, unsigned kind)
{
    struct cairn_heap_own *own = cairn_heap_hot;
    uintptr_t turn = cairn_heap_turn_now();
    if (__builtin_expect(own->idle != turn, 0)) {
        if (cairn_heap_passes(own, bytes) ||
            atomic_load_explicit(&cairn_heap_off, memory_order_relaxed))
            return block;
        const struct cairn_local_frame_at caller = CAIRN_HEAP_CALLER;
        return cairn_heap_born_fully(block, bytes, kind, caller.ret, caller.sp, caller.fp);
    }
    if (own->stacks_on) {
        const struct cairn_local_frame_at caller = CAIRN_HEAP_CALLER;
        return cairn_heap_here_of(kind)(caller.ret, caller.sp, caller.fp, own, block, bytes);
    }
    cairn_heap_enter(own);
    uintptr_t ret = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
    const struct cairn_heap_caller_seen *seen = cairn_heap_caller_at(own, ret);
    if (__builtin_expect(seen->key != cairn_heap_caller_key(ret), 0)) {
        own->ret = ret;
        return cairn_heap_born_to_new_caller(own, block, bytes, kind);
    }
    uint32_t stack = seen->number;
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, cairn_heap_va(block));
    if (__builtin_expect(!cairn_heap_note_birth(own, place, block, bytes, kind, stack), 0))
        return cairn_heap_born_oddly(own, block, bytes, kind, stack);
    cairn_heap_leave_call(own, turn);
    return block;
}

/* Its size, if it is of that kind; else more than any that fits into an entry. */
CAIRN_HEAP_HOT uint32_t cairn_heap_size_by_kind(uint64_t entry, unsigned kind)
{
    const uint32_t both = (1u << (CAIRN_HEAP_SIZE_BITS + CAIRN_HEAP_KIND_BITS)) - 1;
    return ((uint32_t)entry & both) - ((uint32_t)kind << CAIRN_HEAP_KIND_AT);
}

/* What is known of it is taken out, if there is nothing odd to it. */
CAIRN_HEAP_HOT bool cairn_heap_note_death(struct cairn_heap_own *own, uint64_t va,
                                          _Atomic(uint64_t) *place, unsigned kind,
                                          struct cairn_heap_death *ret_death)
{
    uint64_t entry = cairn_heap_load(place);
    struct cairn_heap_thread *shared = own->shared;
    uint32_t bytes = cairn_heap_size_by_kind(entry, kind), stack = cairn_heap_entry_stack(entry);
    int64_t live = (int64_t)(cairn_heap_live(shared) - bytes);
    struct cairn_heap_delta *delta = cairn_heap_delta_of(own, shared, stack);
    if (__builtin_expect(live < own->live_least || !cairn_heap_is_of(delta, own->key | stack), 0))
        return false;
    uint64_t frees = cairn_heap_load(&delta->frees) + bytes + own->one;
    if (__builtin_expect(cairn_heap_count_is_full(frees), 0))
        return false;
    atomic_store_explicit(place, 0, memory_order_relaxed);
    atomic_store_explicit(&delta->frees, frees, memory_order_relaxed);
    atomic_store_explicit(&shared->live_bytes, live, memory_order_relaxed);
    if (own->last_va == ~va) {
        own->last_va = 0;
        uint32_t n = atomic_load_explicit(&delta->n_temporary, memory_order_relaxed);
        atomic_store_explicit(&delta->n_temporary, n + 1, memory_order_relaxed);
    }
    *ret_death = (struct cairn_heap_death){entry, bytes};
    return true;
}

/* False: nothing was done, and cairn_heap_died_fully() is to be called. */
CAIRN_HEAP_HOT bool cairn_heap_died_plainly(const void *block, unsigned kind,
                                            struct cairn_heap_death *ret_death)
{
    struct cairn_heap_own *own = cairn_heap_hot;
    uintptr_t turn = cairn_heap_turn_now();
    if (__builtin_expect(own->idle != turn, 0))
        return false;
    uint64_t va = cairn_heap_va(block);
    /* Before a place is looked for, or its leaf may be given back meanwhile. */
    cairn_heap_enter(own);
    _Atomic(uint64_t) *place = cairn_heap_shadow_find(&own->heap->shadow, va);
    bool plain = __builtin_expect(place != NULL, 1) &&
                 cairn_heap_note_death(own, va, place, kind, ret_death);
    cairn_heap_leave_call(own, turn);
    return plain;
}

CAIRN_HEAP_HOT struct cairn_heap_death cairn_heap_died(const void *block, unsigned kind)
{
    struct cairn_heap_death death;
    if (__builtin_expect(!cairn_heap_died_plainly(block, kind, &death), 0))
        death = cairn_heap_died_fully(block, kind);
    return death;
}

#endif /* CAIRN_HEAP_TRACK_H */

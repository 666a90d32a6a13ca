/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_state.h"

#include "rt/sys.h"

#ifndef CAIRN_NO_TLS
_Thread_local struct cairn_local_claim cairn_local_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#endif
_Static_assert(sizeof(struct cairn_local_claim) <= 64, "room in the static TLS block is scarce");

static struct cairn_thread_blocks blocks = {.bytes = sizeof(struct cairn_local_state)};

/* A signal's capture within this may run in between: it sees the old state or the new one. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline, cold)) static struct cairn_local_state *
claim(uintptr_t sp)
{
    struct cairn_local_state *state = cairn_thread_claim(&blocks);
    if (!state)
        return NULL;
    cairn_local_state_void(state, sp);
    cairn_local_mine.owner = atomic_load_explicit(&state->head.owner, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    cairn_local_mine.state = state;
    return state;
}

/* Does the thread run on its stack for signals, and `va` lie elsewhere? It may lie right below. */
static bool came_to_signal_stack(uintptr_t va)
{
    stack_t now;
    return cairn_sys_signal_stack(&now) < 0 ||
           (now.ss_flags & SS_ONSTACK && va - (uintptr_t)now.ss_sp >= now.ss_size);
}

/* A capture is being interrupted by this one, unless it was left by longjmp(3) out of a signal
 * handler: then this one's frame lies outside of it, on the same stack. How far that reaches the
 * capture may not yet have known. */
CAIRN_THREAD_BLOCK_ACCESS static bool was_left(const struct cairn_local_state *state, uintptr_t sp)
{
    const struct cairn_local_stack *stack = &state->hot.stack;
    uintptr_t busy = state->hot.busy;
    if (sp < busy || came_to_signal_stack(busy))
        return false;
    return sp - stack->low < stack->high - stack->low || cairn_local_stack_spans(busy, sp);
}

CAIRN_THREAD_BLOCK_ACCESS struct cairn_local_state *cairn_local_state_enter_slowly(uintptr_t sp)
{
    struct cairn_local_state *state = cairn_local_mine.state;
    if (!state ||
        atomic_load_explicit(&state->head.owner, memory_order_relaxed) != cairn_local_mine.owner)
        state = claim(sp);
    if (!state || (state->hot.busy && !was_left(state, sp)))
        return NULL;
    state->hot.busy = sp;
    atomic_signal_fence(memory_order_seq_cst);
    cairn_local_state_void(state, sp);
    state->hot.generation = atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed);
    return state;
}

uint32_t cairn_local_state_count(void)
{
    return cairn_thread_count(&blocks);
}

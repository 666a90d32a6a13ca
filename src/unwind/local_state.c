/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_state.h"

#include "unwind/unload.h"

/* Initial-exec, for the general way calls malloc at a thread's first access; and small, so that a
 * library which is loaded late still finds room in the static block. */
struct mine {
    struct cairn_local_state *state;
    uint64_t owner; /* what its head says while it is ours */
};
static _Thread_local struct mine mine __attribute__((tls_model("initial-exec")));
_Static_assert(sizeof(struct mine) <= 64, "room in the static TLS block is scarce");

static struct cairn_thread_blocks blocks = {.bytes = sizeof(struct cairn_local_state)};

/* A signal's capture within this may run in between: it sees the old state or the new one. */
__attribute__((noinline, cold)) static struct cairn_local_state *claim(void)
{
    struct cairn_local_state *state = cairn_thread_claim(&blocks);
    if (!state)
        return NULL;
    cairn_local_state_void(state);
    mine.owner = atomic_load_explicit(&state->head.owner, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    mine.state = state;
    return state;
}

/* A capture is being interrupted by this one, unless it was left by longjmp(3) out of a signal
 * handler: then this one's frame lies outside of it, on the same stack. */
static bool was_left(const struct cairn_local_state *state, uintptr_t sp)
{
    return sp > state->busy && sp - state->stack.low < state->stack.high - state->stack.low;
}

struct cairn_local_state *cairn_local_state_enter(uintptr_t sp)
{
    struct cairn_local_state *state = mine.state;
    if (__builtin_expect(!state, 0) ||
        __builtin_expect(
            atomic_load_explicit(&state->head.owner, memory_order_relaxed) != mine.owner, 0)) {
        state = claim();
        if (!state)
            return NULL;
    }
    if (__builtin_expect(state->busy != 0, 0)) {
        if (!was_left(state, sp))
            return NULL;
        cairn_local_state_void(state);
    }
    state->busy = sp;
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t generation = atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed);
    if (__builtin_expect(state->generation != generation, 0)) {
        cairn_local_state_void(state);
        state->generation = generation;
    }
    return state;
}

uint32_t cairn_local_state_count(void)
{
    return cairn_thread_count(&blocks);
}

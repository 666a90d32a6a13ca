/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for cairn_unwind_refresh */
#include <string.h>

#include <cairn/unwind.h>

#include "unwind/local_cpu.h"
#include "unwind/local_fast.h"
#include "unwind/local_same.h"
#include "unwind/local_slow.h"
#include "unwind/modules.h"
#include "unwind/unload.h"

enum {
    N = CAIRN_LOCAL_FRAMES,
    HOW_FAST = sizeof(void *) == 4 ? CAIRN_HOW_EXIDX : CAIRN_HOW_CFI /* as local_step.c has it */
};

void cairn_local_set_info(int end, uint32_t n_guessed, struct cairn_unwind_info *ret_info)
{
    struct cairn_unwind_info info = {
        .size = ret_info->size,
        .how = ret_info->how,
        .end = end,
        .n_guessed = n_guessed,
        .generation = atomic_load_explicit(&cairn_unload_generation, memory_order_relaxed),
    };
    memcpy(ret_info, &info, info.size < sizeof(info) ? info.size : sizeof(info));
}

uint8_t *cairn_local_how_of(const struct cairn_unwind_info *info)
{
    return info && info->size >= offsetof(struct cairn_unwind_info, end) ? info->how : NULL;
}

/* What the fast walk says, beside the addresses. */
CAIRN_THREAD_BLOCK_ACCESS static inline void copy_out(const struct cairn_local_state *state,
                                                      const struct cairn_local_result *result,
                                                      struct cairn_local_out *out)
{
    size_t n = result->n, n_all = N - state->hot.top, n_fast = n_all - result->n_rest;
    out->n = n;
    out->end = result->end;
    out->n_guessed = result->n_guessed;
    if (__builtin_expect(!out->how, 1))
        return;
    memset(out->how, HOW_FAST, n < n_fast ? n : n_fast);
    if (n > n_fast)
        memcpy(out->how + n_fast, state->rest_how + 1, n - n_fast);
}

/* Kept apart, for its frame is large. */
__attribute__((noinline, cold)) static void here_slowly(const struct cairn_local_regs *at,
                                                        struct cairn_local_out *out)
{
    const struct cairn_local_start start = {NULL, at->ret, at->sp, at->fp};
    cairn_local_slow_walk(&start, out);
}

/* What the fast walk did not get to; false: all of it is to be walked slowly. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline, cold)) static bool
walk_rest(struct cairn_local_state *state, uintptr_t *ips, struct cairn_local_result *result)
{
    if (!cairn_local_fast_rest(state))
        return false;
    const struct cairn_local_start *start = &state->rest_start;
    if (!cairn_local_memo_has(&state->memo, &state->hot.stack, start, &state->rest)) {
        cairn_local_slow_walk(start, &state->rest);
        cairn_local_memo_keep(&state->memo, &state->hot.stack, start, &state->rest);
    }
    return cairn_local_fast_finish(state, ips, result) == CAIRN_LOCAL_FAST_DONE;
}

CAIRN_THREAD_BLOCK_ACCESS __attribute__((always_inline)) static inline bool
walk_fast(struct cairn_local_state *state, const struct cairn_local_regs *at, uintptr_t *ips,
          size_t max, struct cairn_local_result *result)
{
    enum cairn_local_fast done = cairn_local_fast_walk(state, at, ips, max, result);
    return __builtin_expect(done == CAIRN_LOCAL_FAST_DONE, 1) ||
           (done == CAIRN_LOCAL_FAST_REST &&
            (walk_rest(state, ips, result) ||
             /* Nothing is remembered now: what was cut off may have been in the way. */
             cairn_local_fast_walk(state, at, ips, max, result) == CAIRN_LOCAL_FAST_DONE));
}

size_t cairn_local_tell(uint32_t n, struct cairn_unwind_info *ret_info)
{
    uint8_t *how = cairn_local_how_of(ret_info);
    if (how)
        memset(how, HOW_FAST, n);
    cairn_local_set_info(CAIRN_END_OUTERMOST, 0, ret_info);
    return n;
}

size_t cairn_local_here_fully(uintptr_t *ret_ips, size_t max, void *ret_info, uintptr_t ret,
                              uintptr_t sp, uintptr_t fp)
{
    struct cairn_local_regs at = {ret, sp, fp};
    struct cairn_local_out out = {.ips = ret_ips, .how = cairn_local_how_of(ret_info), .max = max};
    struct cairn_local_result result = {0};
    struct cairn_local_state *state = cairn_local_state_enter(sp);
    if (__builtin_expect(state && walk_fast(state, &at, ret_ips, max, &result), 1))
        copy_out(state, &result, &out);
    else
        here_slowly(&at, &out);
    if (state)
        cairn_local_state_leave(state);
    if (ret_info)
        cairn_local_set_info(out.end, out.n_guessed, ret_info);
    return out.n;
}

/* By the rule of the instruction itself to the caller, and from there on as from a call. False: the
 * slow walk is to do it, also where the stack is not whole: it tries more. */
CAIRN_THREAD_BLOCK_ACCESS static bool
context_fast(struct cairn_local_state *state, const void *ucontext, struct cairn_local_out *out)
{
    struct cairn_local_start caller;
    struct cairn_local_result result = {0};
    size_t max = out->max;
    if (max < 2 || !cairn_local_slow_leaf(ucontext, out->ips, &caller))
        return false;
    const struct cairn_local_regs at = {caller.ret, caller.sp, caller.fp};
    if ((at.sp - state->hot.base) >> 31 >> 1) /* made void by who runs on another stack */
        cairn_local_state_void(state, at.sp);
    out->ips++;
    uint8_t *how = out->how;
    if (how)
        out->how++;
    out->max = (max < CAIRN_MAX_FRAMES ? max : CAIRN_MAX_FRAMES) - 1;
    bool can = at.ret && walk_fast(state, &at, out->ips, out->max, &result) &&
               (result.end == CAIRN_END_OUTERMOST || result.end == CAIRN_END_MAX_FRAMES);
    if (can)
        copy_out(state, &result, out);
    out->ips--;
    out->how = how;
    out->max = max;
    out->n++;
    if (can && out->how)
        out->how[0] = CAIRN_HOW_START;
    return can;
}

CAIRN_API size_t cairn_unwind_context(const void *ucontext, uintptr_t *ret_ips, size_t max,
                                      struct cairn_unwind_info *ret_info)
{
    const struct cairn_local_start start = {.ucontext = ucontext};
    struct cairn_local_out out = {.ips = ret_ips, .how = cairn_local_how_of(ret_info), .max = max};
    struct cairn_local_state *state =
        cairn_local_state_enter((uintptr_t)__builtin_frame_address(0));
    if (!state || !context_fast(state, ucontext, &out))
        cairn_local_slow_walk(&start, &out);
    if (state)
        cairn_local_state_leave(state);
    if (ret_info)
        cairn_local_set_info(out.end, out.n_guessed, ret_info);
    return out.n;
}

/* The frames go where they would be remembered, but nothing is: the state stays void. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline, cold)) static void
capture_slowly(struct cairn_local_state *state, const struct cairn_local_regs *at,
               struct cairn_local_capture *ret_capture)
{
    struct cairn_local_out out = {.ips = state->rest_ips, .max = CAIRN_MAX_FRAMES};
    here_slowly(at, &out);
    for (size_t i = 0; i < out.n; i++)
        state->frames[i] = (struct cairn_local_frame){.ret = out.ips[i]};
    *ret_capture =
        (struct cairn_local_capture){.frames = state->frames, .n = (uint32_t)out.n, .end = out.end};
}

CAIRN_THREAD_BLOCK_ACCESS bool cairn_local_capture(const struct cairn_local_frame_at *at,
                                                   struct cairn_local_capture *ret_capture)
{
    struct cairn_local_regs regs = {at->ret, at->sp, at->fp};
    struct cairn_local_result result = {0};
    struct cairn_local_state *state = cairn_local_state_enter(at->sp);
    if (!state)
        return false;
    if (__builtin_expect(walk_fast(state, &regs, NULL, 0, &result), 1)) {
        struct cairn_local_hot *hot = &state->hot;
        uint32_t end = hot->top + result.n;
        uint32_t from = end == hot->kept_end ? hot->kept_from : end;
        *ret_capture = (struct cairn_local_capture){
            .frames = state->frames + hot->top,
            .n = result.n,
            .n_shared = from < end ? end - from : 0,
            .end = result.end,
        };
        hot->kept_from = hot->top; /* once the caller has looked at what is new */
        hot->kept_end = end;
    } else {
        capture_slowly(state, &regs, ret_capture);
    }
    cairn_local_state_leave(state);
    return true;
}

CAIRN_API uint64_t cairn_unwind_refresh(void)
{
    cairn_unload_begin();
    cairn_modules_refresh();
    cairn_unload_end();
    return atomic_load(&cairn_unload_generation);
}

CAIRN_API int cairn_unwind_wants_refresh(void)
{
    return cairn_modules_wanted();
}

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE, but for cairn_unwind_refresh */
#include "unwind/local.h"

#include <string.h>

#include <cairn/unwind.h>

#include "unwind/local_cpu.h"
#include "unwind/local_fast.h"
#include "unwind/local_slow.h"
#include "unwind/modules.h"
#include "unwind/unload.h"

enum { N = CAIRN_LOCAL_FRAMES };

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

/* What the fast walk found, into the caller's room. */
CAIRN_THREAD_BLOCK_ACCESS static inline void copy_out(const struct cairn_local_state *state,
                                                      const struct cairn_local_result *result,
                                                      struct cairn_local_out *out)
{
    size_t n = N - state->hot.top;
    out->end = result->end;
    if (n > out->max) {
        n = out->max;
        out->end = CAIRN_END_MAX_FRAMES;
    }
    const struct cairn_local_frame *frames = state->frames + state->hot.top;
    uintptr_t *ips = out->ips;
    for (size_t i = 0, end = n - result->n_copied; i < end; i++)
        ips[i] = frames[i].ret;
    if (__builtin_expect(out->how != NULL, 0))
        memset(out->how, CAIRN_HOW_CFI, n);
    out->n = n;
}

/* Kept apart, for its frame is large. */
__attribute__((noinline, cold)) static void here_slowly(const struct cairn_local_regs *at,
                                                        struct cairn_local_out *out)
{
    const struct cairn_local_start start = {NULL, at->ret, at->sp, at->fp};
    cairn_local_slow_walk(&start, out);
}

__attribute__((hot)) size_t cairn_local_here(uintptr_t *ret_ips, size_t max, void *ret_info,
                                             uintptr_t ret, uintptr_t sp, uintptr_t fp)
{
    struct cairn_local_regs at = {ret, sp, fp};
    struct cairn_local_out out = {.ips = ret_ips, .how = cairn_local_how_of(ret_info), .max = max};
    struct cairn_local_result result;
    struct cairn_local_state *state = cairn_local_state_enter(sp);
    if (__builtin_expect(state && cairn_local_fast_walk(state, &at, ret_ips, max, &result), 1))
        copy_out(state, &result, &out);
    else
        here_slowly(&at, &out);
    if (state)
        cairn_local_state_leave(state);
    if (ret_info)
        cairn_local_set_info(out.end, out.n_guessed, ret_info);
    return out.n;
}

CAIRN_API size_t cairn_unwind_context(const void *ucontext, uintptr_t *ret_ips, size_t max,
                                      struct cairn_unwind_info *ret_info)
{
    const struct cairn_local_start start = {.ucontext = ucontext};
    struct cairn_local_out out = {.ips = ret_ips, .how = cairn_local_how_of(ret_info), .max = max};
    cairn_local_slow_walk(&start, &out);
    if (ret_info)
        cairn_local_set_info(out.end, out.n_guessed, ret_info);
    return out.n;
}

/* The frames go where they would be remembered, but nothing is: the state stays void. */
CAIRN_THREAD_BLOCK_ACCESS __attribute__((noinline, cold)) static void
capture_slowly(struct cairn_local_state *state, const struct cairn_local_regs *at,
               struct cairn_local_capture *ret_capture)
{
    struct cairn_local_out out = {.ips = (uintptr_t *)(void *)state->news, .max = N};
    here_slowly(at, &out);
    for (size_t i = 0; i < out.n; i++)
        state->frames[i].ret = out.ips[i];
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
    if (__builtin_expect(cairn_local_fast_walk(state, &regs, NULL, 0, &result), 1))
        *ret_capture = (struct cairn_local_capture){
            .frames = state->frames + state->hot.top,
            .n = N - state->hot.top,
            .n_shared = result.n_shared,
            .end = result.end,
        };
    else
        capture_slowly(state, &regs, ret_capture);
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

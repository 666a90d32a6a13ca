/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The walk of the own thread by frame pointers alone: what programs without tables have, to be held
 * against the walk by rules. Every record is checked as fp_step.h says, so that code which keeps
 * something else in the register ends the walk, or at worst loses a frame, and never leads it
 * astray.
 */
#include <cairn/unwind.h>

#include "rt/executable.h"
#include "rt/self.h"
#include "unwind/fp_step.h"
#include "unwind/local.h"
#include "unwind/local_cpu.h"

struct frames {
    uintptr_t *ips;
    uint8_t *how; /* or NULL */
    size_t n, max;
};

static bool is_code(void *ctx, uint64_t va)
{
    (void)ctx;
    return va <= UINTPTR_MAX && cairn_executable((uintptr_t)va);
}

/* The chain's end is a pointer of 0 (System V ABI AMD64 1.0, 3.4.1; AAPCS64, 6.4.6): in the
 * register that holds the chain, whichever it is. */
static bool is_chain_end(const struct cairn_unwind_regs *regs)
{
    const uint8_t *fp_regs = cairn_local_arch->fp_regs;
    for (unsigned i = 0; i < 2; i++)
        if (cairn_unwind_known(regs, fp_regs[i]) && regs->regs[fp_regs[i]] != 0)
            return false;
    return true;
}

static void put(struct frames *frames, const struct cairn_unwind_regs *regs, unsigned how)
{
    frames->ips[frames->n] = (uintptr_t)regs->ip;
    if (frames->how)
        frames->how[frames->n] = (uint8_t)how;
    frames->n++;
}

static int walk(struct cairn_unwind_regs *regs, unsigned how, struct frames *frames)
{
    const struct cairn_fp_space space = {
        .memory = &cairn_self_memory, .is_code = is_code, .no_code = true};
    while (frames->n < frames->max) {
        put(frames, regs, how);
        if (is_chain_end(regs))
            return CAIRN_END_OUTERMOST;
        if (cairn_fp_step(cairn_local_arch, &space, false, regs) != CAIRN_FP_FRAME)
            return CAIRN_END_NO_RULE;
        how = CAIRN_HOW_FP;
    }
    return CAIRN_END_MAX_FRAMES;
}

static size_t walk_into(struct cairn_unwind_regs *regs, unsigned how, uintptr_t *ret_ips,
                        size_t max, struct cairn_unwind_info *ret_info)
{
    struct frames frames = {.ips = ret_ips,
                            .how = cairn_local_how_of(ret_info),
                            .max = max < CAIRN_MAX_FRAMES ? max : CAIRN_MAX_FRAMES};
    int end = walk(regs, how, &frames);
    if (ret_info)
        cairn_local_set_info(end, 0, ret_info);
    return frames.n;
}

size_t cairn_local_frame_pointers(uintptr_t *ret_ips, size_t max, void *ret_info, uintptr_t ret,
                                  uintptr_t sp, uintptr_t fp)
{
    struct cairn_unwind_regs regs = {.ip = cairn_local_arch->code_address(ret)};
    cairn_local_here_regs(sp, fp, &regs);
    return walk_into(&regs, CAIRN_HOW_FP, ret_ips, max, ret_info);
}

CAIRN_API size_t cairn_unwind_frame_pointers_context(const void *ucontext, uintptr_t *ret_ips,
                                                     size_t max, struct cairn_unwind_info *ret_info)
{
    struct cairn_unwind_regs regs;
    cairn_local_context_regs(ucontext, &regs);
    return walk_into(&regs, CAIRN_HOW_START, ret_ips, max, ret_info);
}

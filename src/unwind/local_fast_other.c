/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* CPUs whose stacks are always walked frame by frame. */
#include "unwind/local_fast.h"
#include "unwind/local_same.h"

size_t cairn_local_here(uintptr_t *ret_ips, size_t max, void *ret_info, uintptr_t ret, uintptr_t sp,
                        uintptr_t fp)
{
    return cairn_local_here_fully(ret_ips, max, ret_info, ret, sp, fp);
}

enum cairn_local_fast cairn_local_fast_walk(struct cairn_local_state *state,
                                            const struct cairn_local_regs *regs, uintptr_t *ips,
                                            size_t max, struct cairn_local_result *ret_result)
{
    (void)ips;
    (void)max;
    (void)state;
    (void)regs;
    (void)ret_result;
    return CAIRN_LOCAL_FAST_NOT;
}

bool cairn_local_fast_rest(struct cairn_local_state *state)
{
    (void)state;
    return false;
}

enum cairn_local_fast cairn_local_fast_finish(struct cairn_local_state *state, uintptr_t *ips,
                                              struct cairn_local_result *ret_result)
{
    (void)state;
    (void)ips;
    (void)ret_result;
    return CAIRN_LOCAL_FAST_NOT;
}

struct cairn_local_again cairn_local_again(uintptr_t ret, uintptr_t sp, uintptr_t fp)
{
    (void)ret;
    (void)sp;
    (void)fp;
    return CAIRN_LOCAL_NOT_AGAIN;
}

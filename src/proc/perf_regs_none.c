/* SPDX-License-Identifier: MIT */
/* A CPU whose registers nobody has listed here: threads are not sampled with them. */
#include "proc/perf_regs.h"

const uint64_t cairn_perf_regs_mask = 0;

void cairn_perf_regs_read(struct cairn_reader *r, bool is_32, struct cairn_cursor_regs *ret_regs)
{
    (void)is_32, (void)ret_regs;
    r->failed = true;
}

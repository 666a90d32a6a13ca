/* SPDX-License-Identifier: MIT */
/*
 * <asm/perf_regs.h>: x0 ... x29 lr sp pc, which are DWARF's numbers, too. Of a 32-bit program the
 * kernel shows r13 and r14 as sp and lr.
 */
#include <asm/perf_regs.h>
#include <elf.h>

#include "proc/perf_regs.h"

enum { LR = 30, SP = 31, N = 32, R13 = 13, R14 = 14 };

const uint64_t cairn_perf_regs_mask = (1ull << (PERF_REG_ARM64_PC + 1)) - 1;

void cairn_perf_regs_read(struct cairn_reader *r, bool is_32, struct cairn_cursor_regs *ret_regs)
{
    struct cairn_cursor_regs regs = {.machine = is_32 ? EM_ARM : EM_AARCH64};
    for (unsigned i = 0; i < N; i++)
        regs.reg[i] = cairn_reader_u64(r);
    regs.ip = cairn_reader_u64(r);
    regs.known = UINT32_MAX;
    if (is_32) {
        regs.reg[R13] = regs.reg[SP];
        regs.reg[R14] = regs.reg[LR];
        regs.known = (1u << (R14 + 1)) - 1;
        regs.ip &= UINT32_MAX;
        for (unsigned i = 0; i < N; i++)
            regs.reg[i] = i <= R14 ? regs.reg[i] & UINT32_MAX : 0;
    }
    if (!r->failed)
        *ret_regs = regs;
}

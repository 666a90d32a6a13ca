/* SPDX-License-Identifier: MIT */
/*
 * <asm/perf_regs.h>: ax bx cx dx si di bp sp ip, then r8 ... r15; in between lie flags and
 * segments, which no walk wants. The numbers of DWARF: System V ABI for x86-64, 3.6.2, and for
 * i386, 2.4.2. All ones: before Linux 5.11 that is what it has not kept of a thread in a system
 * call.
 */
#include <asm/perf_regs.h>
#include <elf.h>

#include "proc/perf_regs.h"

enum { SP = 7, IP = 8, N = 17 };

static const uint8_t dwarf_64[N] = {[0] = 0,      3, 2,  1,  4,  5,  6,  7,
                                    [IP + 1] = 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t dwarf_32[IP] = {0, 3, 1, 2, 6, 7, 5, 4};

const uint64_t cairn_perf_regs_mask =
    ((1ull << (PERF_REG_X86_IP + 1)) - 1) |
    ((1ull << (PERF_REG_X86_R15 + 1)) - (1ull << PERF_REG_X86_R8));

void cairn_perf_regs_read(struct cairn_reader *r, bool is_32, struct cairn_cursor_regs *ret_regs)
{
    struct cairn_cursor_regs regs = {.machine = is_32 ? EM_386 : EM_X86_64};
    for (unsigned i = 0; i < N; i++) {
        uint64_t word = cairn_reader_u64(r);
        bool is_kept = word != UINT64_MAX || i == SP;
        if (is_32)
            word &= UINT32_MAX;
        if (i == IP) {
            regs.ip = word;
        } else if (is_kept && (i < IP || !is_32)) {
            unsigned number = is_32 ? dwarf_32[i] : dwarf_64[i];
            regs.reg[number] = word;
            regs.known |= 1ull << number;
        }
    }
    if (!r->failed)
        *ret_regs = regs;
}

/* SPDX-License-Identifier: MIT */
#include <asm/ptrace.h>
#include <errno.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/syscall.h>

#include "proc/call_mend.h"

/* arch/arm/tools/syscall.tbl for 32-bit programs. */
const struct cairn_call_abi cairn_call_abi = {
    .native = {AUDIT_ARCH_AARCH64, SYS_mmap, SYS_mprotect, SYS_pkey_mprotect, SYS_prctl},
    .compat = {AUDIT_ARCH_ARM, 192, 125, 394, 172},
    .mends = true,
    .decides_early = true,
};

/* The result has taken the place of the first argument, and the kernel's copy is not shown. */
bool cairn_call_again(int tid)
{
    (void)tid;
    return false;
}

/* The first argument is where the result is now. */
bool cairn_call_mend_regs(uint8_t *raw, size_t size, const struct cairn_call_seen *seen)
{
    enum { INSN_BYTES = 4, X8 = 8 };
    struct user_pt_regs regs;
    if (size != sizeof regs || !seen->is_known)
        return false;
    memcpy(&regs, raw, sizeof regs);
    if ((long long)regs.regs[0] != -EINTR || regs.pc != seen->ip ||
        regs.regs[X8] != (uint64_t)seen->number || !cairn_call_ends_by_stops(regs.regs[X8]))
        return false;
    regs.regs[0] = seen->arg;
    regs.pc -= INSN_BYTES;
    memcpy(raw, &regs, sizeof regs);
    return true;
}

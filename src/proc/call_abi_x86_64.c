/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "proc/call_mend.h"

/* arch/x86/entry/syscalls/syscall_32.tbl: mmap is mmap2, for the old one has its arguments in
 * memory. */
const struct cairn_call_abi cairn_call_abi = {
    .native = {AUDIT_ARCH_X86_64, SYS_mmap, SYS_mprotect, SYS_pkey_mprotect, SYS_prctl},
    .compat = {AUDIT_ARCH_I386, 192, 125, 380, 172},
    .has_x32 = true,
    .mends = true,
};

enum { INSN_BYTES = 2 }; /* syscall, sysenter and int $0x80 alike */

bool cairn_call_again(int tid)
{
    struct user_regs_struct regs;
    struct iovec io = {&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) < 0 || io.iov_len != sizeof regs ||
        (long long)regs.orig_rax < 0 || (long long)regs.rax != -EINTR)
        return false;
    regs.rax = regs.orig_rax;
    regs.rip -= INSN_BYTES;
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io) == 0;
}

bool cairn_call_mend_regs(uint8_t *raw, size_t size, const struct cairn_call_seen *seen)
{
    enum { RESTART_NO_HANDLER = 514 }; /* ERESTARTNOHAND of the kernel (linux/errno.h) */
    struct user_regs_struct regs;
    (void)seen;
    if (size != sizeof regs)
        return false;
    memcpy(&regs, raw, sizeof regs);
    if ((long long)regs.rax != -EINTR || !cairn_call_ends_by_stops(regs.orig_rax))
        return false;
    regs.rax = (unsigned long long)-RESTART_NO_HANDLER;
    memcpy(raw, &regs, sizeof regs);
    return true;
}

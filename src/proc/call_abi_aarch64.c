/* SPDX-License-Identifier: MIT */
#include <asm/ptrace.h>
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "proc/call_abi.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* arch/arm/tools/syscall.tbl for 32-bit programs. */
const struct cairn_call_abi cairn_call_abi = {
    .native = {AUDIT_ARCH_AARCH64, SYS_mmap, SYS_mprotect, SYS_pkey_mprotect, SYS_prctl},
    .compat = {AUDIT_ARCH_ARM, 192, 125, 394, 172},
};

/* The result has taken the place of the first argument, and the kernel's copy is not shown. */
bool cairn_call_again(int tid)
{
    (void)tid;
    return false;
}

bool cairn_call_ends_by_stops(uint64_t number)
{
    switch (number) {
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_read: /* of a socket with SO_RCVTIMEO */
    case SYS_readv:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
        return true;
    default:
        return false;
    }
}

const bool cairn_call_decides_early = true;

enum { INSN_BYTES = 4, X8 = 8 };

bool cairn_call_mend(int tid, const struct cairn_call_seen *seen)
{
    struct user_pt_regs regs;
    struct iovec io = {&regs, sizeof regs};
    if (!seen->is_known || ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) < 0 ||
        io.iov_len != sizeof regs || (long long)regs.regs[0] != -EINTR || regs.pc != seen->ip ||
        regs.regs[X8] != (uint64_t)seen->number || !cairn_call_ends_by_stops(regs.regs[X8]) ||
        cairn_call_is_signalled(tid))
        return false;
    regs.regs[0] = seen->arg;
    regs.pc -= INSN_BYTES;
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io) == 0;
}

/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "proc/call_abi.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* arch/x86/entry/syscalls/syscall_32.tbl: mmap is mmap2, for the old one has its arguments in
 * memory. */
const struct cairn_call_abi cairn_call_abi = {
    .native = {AUDIT_ARCH_X86_64, SYS_mmap, SYS_mprotect, SYS_pkey_mprotect, SYS_prctl},
    .compat = {AUDIT_ARCH_I386, 192, 125, 380, 172},
    .has_x32 = true,
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

bool cairn_call_ends_by_stops(uint64_t number)
{
    switch (number) {
    case SYS_epoll_wait:
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

bool cairn_call_mend(int tid)
{
    struct user_regs_struct regs;
    struct iovec io = {&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) < 0 || io.iov_len != sizeof regs ||
        (long long)regs.rax != -EINTR || !cairn_call_ends_by_stops(regs.orig_rax))
        return false;
    regs.rax = (unsigned long long)-CAIRN_CALL_RESTART;
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io) == 0;
}

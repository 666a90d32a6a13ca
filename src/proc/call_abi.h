/* SPDX-License-Identifier: MIT */
/*
 * Call ABI: the tables of system calls of this CPU's programs, for tracers and for filters of
 * seccomp(2). meson chooses call_abi_CPU.c.
 */
#ifndef CAIRN_PROC_CALL_ABI_H
#define CAIRN_PROC_CALL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CAIRN_CALL_NUMBERS = 512,    /* of a table that may be wanted */
    CAIRN_CALL_X32_BIT = 1 << 30 /* __X32_SYSCALL_BIT: 64-bit entry, addresses of 32 bits */
};

/* Calls that map code, if PROT_EXEC is set in their third argument, and the one that renames. */
struct cairn_call_table {
    uint32_t arch; /* AUDIT_ARCH_*; 0: this CPU has no such programs */
    int mmap, mprotect, pkey_mprotect, prctl;
};

struct cairn_call_abi {
    struct cairn_call_table native, compat; /* compat: of 32-bit programs */
    bool has_x32;
    bool mends; /* cairn_call_mend_regs() is written for it */
    /* The kernel decides before a stop whether it begins a call anew (aarch64), and not behind it
     * (x86-64): what the call was has to be seen while the thread sleeps in it. */
    bool decides_early;
};

extern const struct cairn_call_abi cairn_call_abi;

/*
 * Restarts, with the same arguments, the system call of a stopped thread that the stop itself has
 * ended with EINTR. The kernel does not restart calls such as epoll_wait(2) (signal(7)). False:
 * nothing was changed.
 */
bool cairn_call_again(int tid);

/* A call as it was before a stop (call_mend.h). */
struct cairn_call_seen {
    bool is_known;
    long number;
    uint64_t arg, ip; /* its first argument; behind the instruction */
};

/*
 * In the registers of a thread that PTRACE_INTERRUPT stopped, as NT_PRSTATUS has them: a call that
 * the stop has ended with EINTR is made again when the thread goes on, unless a signal has a
 * handler to run. False: it is no such call, and nothing is changed. `seen` is needed where the
 * kernel decides early; there the caller sees to it that no signal waits.
 */
bool cairn_call_mend_regs(uint8_t *raw, size_t size, const struct cairn_call_seen *seen);

#endif /* CAIRN_PROC_CALL_ABI_H */

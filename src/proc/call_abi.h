/* SPDX-License-Identifier: MIT */
/*
 * Call ABI: the tables of system calls of this CPU's programs, for tracers and for filters of
 * seccomp(2). meson chooses call_abi_CPU.c.
 */
#ifndef CAIRN_PROC_CALL_ABI_H
#define CAIRN_PROC_CALL_ABI_H

#include <stdbool.h>
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
};

extern const struct cairn_call_abi cairn_call_abi;

/*
 * Restarts, with the same arguments, the system call of a stopped thread that the stop itself has
 * ended with EINTR. The kernel does not restart calls such as epoll_wait(2) (signal(7)). False:
 * nothing was changed.
 */
bool cairn_call_again(int tid);

/* Of this number: is it ended with EINTR by a stop of its thread (signal(7), "Interruption of
 * system calls by stop signals", and measured), though no signal came? */
bool cairn_call_ends_by_stops(uint64_t number);

/*
 * A thread stands where PTRACE_INTERRUPT stopped it. Where that has ended its call, the kernel
 * decides as if it restarted such calls: it does where no signal has a handler to run, with the
 * arguments of before (a timeout begins anew), when the thread goes on. False: it is no such call,
 * nothing is changed, or it cannot be told on this CPU (aarch64: the kernel has decided before the
 * stop).
 */
bool cairn_call_mend(int tid);

/* What makes the kernel decide so, for the register of the result. */
enum { CAIRN_CALL_RESTART = 514 }; /* ERESTARTNOHAND (linux/errno.h of the kernel) */

#endif /* CAIRN_PROC_CALL_ABI_H */

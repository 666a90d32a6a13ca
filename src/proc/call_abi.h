/* SPDX-License-Identifier: MIT */
/*
 * Call ABI: how system calls of this CPU's programs are told apart, for tracers and for filters of
 * seccomp(2). call_abi_CPU.c is chosen by meson.
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
 * Of a thread that stopped where its system call has ended with EINTR because of the stop: has it
 * call again, with the same arguments. Calls such as epoll_wait(2), which the kernel does not
 * restart by itself (signal(7)). False: nothing was changed.
 */
bool cairn_call_again(int tid);

#endif /* CAIRN_PROC_CALL_ABI_H */

/* SPDX-License-Identifier: MIT */
/*
 * Regs: the registers that a stack walk starts from, whatever the CPU. regs_ARCH.c is chosen by
 * meson. A new CPU needs one more such file with this one function.
 */
#ifndef CAIRN_PROC_REGS_H
#define CAIRN_PROC_REGS_H

#include "base/span.h"

enum { CAIRN_PRSTATUS_MAX = 512 }; /* bytes; the largest so far is aarch64's 272 */

struct cairn_regs {
    uint64_t ip;
    uint64_t sp;
    uint64_t fp;    /* rbp, x29; r11 for 32-bit ARM */
    uint64_t lr;    /* return address of a function that has not saved it yet; 0 on x86 */
    bool has_lr;    /* is there such a register? */
    uint64_t tp;    /* what thread-local data is counted from (fs_base); 0: not among these */
    unsigned width; /* bytes of an address: 8, or 4 for a 32-bit program on a 64-bit kernel */
};

/* Out of what PTRACE_GETREGSET gives for NT_PRSTATUS; false where its size is none that is known.
 */
bool cairn_regs_read(struct cairn_span prstatus, struct cairn_regs *ret_regs);

#endif /* CAIRN_PROC_REGS_H */

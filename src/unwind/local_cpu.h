/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local CPU: what the walk of the own thread must know of this machine's CPU. One file each,
 * local_CPU.c, chosen by meson; local_entry_CPU.S beside it has what must be seen before a compiler
 * uses the registers.
 */
#ifndef CAIRN_UNWIND_LOCAL_CPU_H
#define CAIRN_UNWIND_LOCAL_CPU_H

#include "unwind/arch.h"

extern const struct cairn_unwind_arch *const cairn_local_arch;

/* Of `ucontext`, a ucontext_t as the kernel and getcontext(3) fill it: every register. */
void cairn_local_context_regs(const void *ucontext, struct cairn_unwind_regs *ret_regs);

/* The registers that cairn_local_here() is told of: its caller's sp, and its frame pointer; on arm,
 * where code has the choice of two, the va at which r4 to r11 are. False: that is not known. */
bool cairn_local_here_regs(uintptr_t sp, uintptr_t fp, struct cairn_unwind_regs *ret_regs);

/* Into regs->regs, by DWARF's numbers: sp and pc for the caller behind this call, and what a
 * function must keep. */
void cairn_local_save_regs(uint64_t *ret_regs);

/* Where in them pc is. */
enum { CAIRN_LOCAL_SAVED_PC = CAIRN_CFI_REGS - 1 };
/* The bits of `known` for what cairn_local_save_regs() gives. */
extern const uint64_t cairn_local_saved;

#endif /* CAIRN_UNWIND_LOCAL_CPU_H */

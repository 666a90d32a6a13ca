/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The kernel's signal frame: what it put on the stack before it called a handler, and the few
 * instructions at which the handler returns. All registers of the interrupted code lie in it.
 *
 *     x86-64    sp: | ucontext { ... sigcontext r8..r15 rdi rsi rbp rbx rdx rax rcx rsp rip } |
 *     i386      sp: | sig | sigcontext |    or, rt:  | sig | siginfo * | ucontext * | ... |
 *     aarch64   sp: | siginfo 128 | ucontext { ... sigcontext fault x0..x30 sp pc } |
 *     arm       sp: | ucontext { ... sigcontext 3 words r0..r15 } |   rt: siginfo 128 before it
 *
 * As Linux has them since 2.6.18 (arch/CPU/kernel/signal*.c, uapi/asm/sigcontext.h); they are part
 * of its ABI.
 */
#ifndef CAIRN_UNWIND_SIGFRAME_H
#define CAIRN_UNWIND_SIGFRAME_H

#include "unwind/arch.h"

/* CAIRN_SIGFRAME_RT: with siginfo. */
enum cairn_sigframe { CAIRN_SIGFRAME_NONE, CAIRN_SIGFRAME_PLAIN, CAIRN_SIGFRAME_RT };

/* Are the instructions at `ip` those that return from a signal? What musl and the kernel's own
 * pages have no CFI for is found so. */
enum cairn_sigframe cairn_sigframe_at(const struct cairn_unwind_arch *arch,
                                      const struct cairn_memory *memory, uint64_t ip);

/* The same of the instructions that end at `ip`: there is who is in the system call. */
enum cairn_sigframe cairn_sigframe_behind(const struct cairn_unwind_arch *arch,
                                          const struct cairn_memory *memory, uint64_t ip);

/* Which of its frames did the kernel make, where it is known to be one: by the instructions at
 * regs->ip, else by what lies at the stack pointer. Never CAIRN_SIGFRAME_NONE. */
enum cairn_sigframe cairn_sigframe_which(const struct cairn_unwind_arch *arch,
                                         const struct cairn_memory *memory, bool swap,
                                         const struct cairn_unwind_regs *regs);

/* The registers of the code that was interrupted, all of them known; `regs` stand at those
 * instructions. On anything but CAIRN_STEP_OK they are untouched. */
enum cairn_arch_step cairn_sigframe_step(const struct cairn_unwind_arch *arch,
                                         enum cairn_sigframe kind,
                                         const struct cairn_memory *memory, bool swap,
                                         struct cairn_unwind_regs *regs);

#endif /* CAIRN_UNWIND_SIGFRAME_H */

/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_TARGET_REGS_H
#define CAIRN_TARGET_REGS_H

#include <cairn/unwind.h>

#include "base/span.h"

/*
 * Registers of a stopped thread, as the kernel saves them (pr_reg of a core file's NT_PRSTATUS,
 * PTRACE_GETREGSET). The size of the record identifies the CPU:
 *
 *     x86-64    27 x 8   r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax
 *                        rip cs flags rsp ss fs_base gs_base ds es fs gs
 *     i386      17 x 4   ebx ecx edx esi edi ebp eax ds es fs gs orig_eax eip cs flags esp ss
 *     aarch64   34 x 8   x0 ... x30 sp pc pstate
 *     arm       18 x 4   r0 ... r15 cpsr orig_r0
 *
 * False if the size is none of these.
 */
bool cairn_target_regs(struct cairn_span raw, bool swap, struct cairn_cursor_regs *ret_regs);

/* The stack pointer of any CPU; 0 where it is not known. */
uint64_t cairn_target_sp(const struct cairn_cursor_regs *regs);

/* So many bytes are a machine's; 0 for one that is not known. */
size_t cairn_target_regs_bytes(uint16_t machine);

#endif /* CAIRN_TARGET_REGS_H */

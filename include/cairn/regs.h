/* SPDX-License-Identifier: MIT */
/* Registers: those of a thread of any CPU, by DWARF's numbers. */
#ifndef CAIRN_REGS_H
#define CAIRN_REGS_H

#include <stdint.h>

/* DWARF's register numbers, as the psABI of each CPU gives them: x86-64 0..15 (rax rdx rcx rbx rsi
 * rdi rbp rsp r8..r15), i386 0..7 (eax ecx edx ebx esp ebp esi edi), aarch64 0..31 (x0..x30, sp),
 * arm 0..15 (r0..r15). */
enum { CAIRN_UNWIND_REGS = 40 };

/* What a walk starts from. */
struct cairn_cursor_regs {
    uint32_t machine; /* as ELF numbers them: 3 i386, 40 arm, 62 x86-64, 183 aarch64 */
    uint32_t reserved;
    uint64_t ip;    /* without arm's Thumb bit */
    uint64_t known; /* bit n: reg[n] holds DWARF's register n */
    uint64_t reg[CAIRN_UNWIND_REGS];
};

#endif /* CAIRN_REGS_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Jump by: functions of the loader that look at their return address, for the caller's RUNPATH and
 * namespace count. Ours are written in assembly: they call a function of C that says where to go
 * on, and jump there with the stack and three arguments as they found them.
 */
#ifndef CAIRN_HEAP_JUMP_BY_H
#define CAIRN_HEAP_JUMP_BY_H

#if defined(__x86_64__)
#define CAIRN_HEAP_JUMP(by)                                                                        \
    "endbr64\n push %rdi\n .cfi_adjust_cfa_offset 8\n push %rsi\n .cfi_adjust_cfa_offset 8\n"      \
    "push %rdx\n .cfi_adjust_cfa_offset 8\n call cairn_heap_" by "\n"                              \
    "pop %rdx\n .cfi_adjust_cfa_offset -8\n pop %rsi\n .cfi_adjust_cfa_offset -8\n"                \
    "pop %rdi\n .cfi_adjust_cfa_offset -8\n jmp *%rax\n"
#elif defined(__aarch64__)
#define CAIRN_HEAP_JUMP(by)                                                                        \
    "hint #34\n stp x29, x30, [sp, #-48]!\n .cfi_def_cfa_offset 48\n .cfi_offset 29, -48\n"        \
    ".cfi_offset 30, -40\n stp x0, x1, [sp, #16]\n str x2, [sp, #32]\n bl cairn_heap_" by          \
    "\n mov x16, x0\n ldp x0, x1, [sp, #16]\n ldr x2, [sp, #32]\n ldp x29, x30, [sp], #48\n"       \
    ".cfi_def_cfa_offset 0\n .cfi_restore 29\n .cfi_restore 30\n br x16\n"
#elif defined(__arm__)
#define CAIRN_HEAP_JUMP(by)                                                                        \
    "push {r0, r1, r2, lr}\n .cfi_def_cfa_offset 16\n .cfi_offset 14, -4\n bl cairn_heap_" by      \
    "\n mov ip, r0\n pop {r0, r1, r2, lr}\n .cfi_def_cfa_offset 0\n .cfi_restore 14\n bx ip\n"
#endif

/* A function `name` that goes on where cairn_heap_`by`() says. */
#define CAIRN_HEAP_JUMP_BY(name, by)                                                               \
    __asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", %function\n" name                 \
            ":\n.cfi_startproc\n" CAIRN_HEAP_JUMP(by) ".cfi_endproc\n.size " name ", .-" name      \
                                                      "\n")

#endif /* CAIRN_HEAP_JUMP_BY_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What must see the registers before a compiler uses them.
 */

/* size_t name(ips, max, info): the caller's pc, rsp and rbp go along. */
    .macro entry name, to
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    endbr64
    movq (%rsp), %rcx
    leaq 8(%rsp), %r8
    movq %rbp, %r9
    jmp \to
    .cfi_endproc
    .size \name, . - \name
    .endm
    .section .text.hot.cairn_unwind_here, "ax", @progbits
    entry cairn_unwind_here, cairn_local_here
    .text
    entry cairn_unwind_frame_pointers, cairn_local_frame_pointers

/* void cairn_local_save_regs(uint64_t *): DWARF's numbers are the places. */
    .globl cairn_local_save_regs
    .hidden cairn_local_save_regs
    .type cairn_local_save_regs, @function
    .p2align 4
cairn_local_save_regs:
    .cfi_startproc
    endbr64
    movq %rbx, 24(%rdi)
    movq %rbp, 48(%rdi)
    leaq 8(%rsp), %rax
    movq %rax, 56(%rdi)
    movq %r12, 96(%rdi)
    movq %r13, 104(%rdi)
    movq %r14, 112(%rdi)
    movq %r15, 120(%rdi)
    movq (%rsp), %rax
    movq %rax, 272(%rdi)
    ret
    .cfi_endproc
    .size cairn_local_save_regs, . - cairn_local_save_regs

    .section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What must see the registers before a compiler uses them. hint #34 is bti c: a landing pad where
 * the CPU wants one.
 */

/* size_t name(ips, max, info): the caller's pc, sp and x29 go along. */
    .macro entry name, to
    .globl \name
    .type \name, %function
    .p2align 4
\name:
    .cfi_startproc
    hint #34
    mov x3, x30
    mov x4, sp
    mov x5, x29
    b \to
    .cfi_endproc
    .size \name, . - \name
    .endm
    .section .text.hot.cairn_unwind_here, "ax", %progbits
    entry cairn_unwind_here, cairn_local_here
    .text
    entry cairn_unwind_frame_pointers, cairn_local_frame_pointers

/* void cairn_local_save_regs(uint64_t *): DWARF's numbers are the places; pc at 34. */
    .globl cairn_local_save_regs
    .hidden cairn_local_save_regs
    .type cairn_local_save_regs, %function
    .p2align 4
cairn_local_save_regs:
    .cfi_startproc
    hint #34
    str x19, [x0, #152]
    stp x20, x21, [x0, #160]
    stp x22, x23, [x0, #176]
    stp x24, x25, [x0, #192]
    stp x26, x27, [x0, #208]
    stp x28, x29, [x0, #224]
    mov x1, sp
    str x1, [x0, #248]
    str x30, [x0, #272]
    ret
    .cfi_endproc
    .size cairn_local_save_regs, . - cairn_local_save_regs

    .section .note.GNU-stack, "", %progbits

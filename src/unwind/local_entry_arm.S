/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What must see the registers before a compiler uses them. ARM state, callable from Thumb.
 */
    .syntax unified
    .arm
    .text

/* size_t name(ips, max, info): the caller's pc and sp go along, and where its r4 to r11 are. */
    .macro entry name, to
    .globl \name
    .type \name, %function
    .p2align 2
\name:
    .fnstart
    .save {r4-r11, lr}
    push {r4-r11, lr}
    .pad #12
    sub sp, sp, #12
    add r3, sp, #48
    str r3, [sp]
    add r12, sp, #12
    str r12, [sp, #4]
    mov r3, lr
    bl \to
    add sp, sp, #12
    pop {r4-r11, pc}
    .fnend
    .size \name, . - \name
    .endm
    entry cairn_unwind_here, cairn_local_here
    entry cairn_unwind_frame_pointers, cairn_local_frame_pointers

/* void cairn_local_save_regs(uint64_t *): DWARF's numbers are the places. */
    .globl cairn_local_save_regs
    .hidden cairn_local_save_regs
    .type cairn_local_save_regs, %function
    .p2align 2
cairn_local_save_regs:
    .fnstart
    mov r1, #0
    str r4, [r0, #32]
    str r1, [r0, #36]
    str r5, [r0, #40]
    str r1, [r0, #44]
    str r6, [r0, #48]
    str r1, [r0, #52]
    str r7, [r0, #56]
    str r1, [r0, #60]
    str r8, [r0, #64]
    str r1, [r0, #68]
    str r9, [r0, #72]
    str r1, [r0, #76]
    str r10, [r0, #80]
    str r1, [r0, #84]
    str r11, [r0, #88]
    str r1, [r0, #92]
    str sp, [r0, #104]
    str r1, [r0, #108]
    str lr, [r0, #272]
    str r1, [r0, #276]
    bx lr
    .fnend
    .size cairn_local_save_regs, . - cairn_local_save_regs

    .section .note.GNU-stack, "", %progbits

/* SPDX-License-Identifier: MIT */
/*
 * Frames as hand-written code has them (arm): void NAME(odd_fn *inner). .ARM.exidx describes a
 * function where it calls, not in its prologue and epilogue (EHABI32, 9).
 */
    .syntax unified
    .arch armv7-a
    .fpu vfpv3-d16
    .macro begin name
    .text
    .globl \name
    .type \name, %function
    .p2align 2
\name:
    .endm
    .macro end name
    .size \name, . - \name
    .endm

    .arm
/* vsp = r7, then pops; the frame is realigned. */
    begin odd_by_expression
    .fnstart
    push {r4, r7, r11, lr}
    .save {r4, r7, r11, lr}
    .setfp r7, sp
    mov r7, sp
    sub sp, sp, #0x80
    bic sp, sp, #63
    mov r11, #0
    blx r0
    mov sp, r7
    pop {r4, r7, r11, pc}
    .fnend
    end odd_by_expression

    begin odd_by_register
    .fnstart
    push {r5, r6, r9, lr}
    .save {r5, r6, r9, lr}
    .setfp r6, sp, #0
    mov r6, sp
    sub sp, sp, #0x40
    bic sp, sp, #63
    blx r0
    mov sp, r6
    pop {r5, r6, r9, pc}
    .fnend
    end odd_by_register

    .thumb
    .thumb_func
    begin odd_by_scratch
    .fnstart
    push {r3, lr}
    .save {r3, lr}
    vpush {d8, d9}
    .vsave {d8, d9}
    sub sp, #512
    .pad #512
    blx r0
    add sp, #512
    vpop {d8, d9}
    pop {r3, pc}
    .fnend
    end odd_by_scratch

    .arm
    begin odd_separate
    .fnstart
    str lr, [sp, #-4]!
    .save {lr}
    sub sp, sp, #0x1000
    .pad #0x1000
    str r11, [sp, #-4]!
    .save {r11}
    mov r11, #0
    blx r0
    ldr r11, [sp], #4
    add sp, sp, #0x1000
    ldr pc, [sp], #4
    .fnend
    end odd_separate

    begin odd_no_cfi_with_fp
    .fnstart
    .cantunwind
    push {r11, lr}
    mov r11, sp
    sub sp, sp, #16
    blx r0
    mov sp, r11
    pop {r11, pc}
    .fnend
    end odd_no_cfi_with_fp

    begin odd_no_cfi
    .fnstart
    .cantunwind
    push {r3, lr}
    blx r0
    pop {r3, pc}
    .fnend
    end odd_no_cfi

    begin odd_bare_leaf
    .fnstart
    mov r2, #100
1:  subs r2, r2, #1
    bne 1b
    bx lr
    .fnend
    end odd_bare_leaf

    .thumb
    .thumb_func
    begin odd_dies
    .fnstart
    push {r4, lr}
    .save {r4, lr}
    sub sp, #88
    .pad #88
    blx r0
    .fnend
    end odd_dies
    .globl odd_after
    .type odd_after, %function
    .thumb_func
odd_after:
    .fnstart
    push {r4, r5, r6, lr}
    .save {r4, r5, r6, lr}
    pop {r4, r5, r6, pc}
    .fnend
    end odd_after

    .arm
    begin odd_moves_stack
    .fnstart
    push {r11, lr}
    .save {r11, lr}
    .setfp r11, sp
    mov r11, sp
    mov sp, r1
    blx r0
    mov sp, r11
    pop {r11, pc}
    .fnend
    end odd_moves_stack

    begin odd_pushes
    .fnstart
    .irp reg, r4, r5, r6, r7, r11
    str \reg, [sp, #-4]!
    .save {\reg}
    .endr
    str lr, [sp, #-4]!
    .save {lr}
    mov r11, #0x55
    blx r0
    ldr lr, [sp], #4
    .irp reg, r11, r7, r6, r5, r4
    ldr \reg, [sp], #4
    .endr
    bx lr
    .fnend
    end odd_pushes

    .section .note.GNU-stack, "", %progbits

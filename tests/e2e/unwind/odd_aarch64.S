/* SPDX-License-Identifier: MIT */
/* Frames as hand-written code has them (aarch64): void NAME(odd_fn *inner). */
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

    begin odd_by_expression
    .cfi_startproc
    mov x9, sp
    .cfi_def_cfa_register x9
    sub x10, sp, #0x80
    and sp, x10, #-64
    stp x9, x30, [sp, #0x40]
    str x29, [sp, #0x50]
    /* CFA: DW_OP_breg31 64, DW_OP_deref; x30 and x29: at breg31 72 and 80 */
    .cfi_escape 0x0f, 0x04, 0x8f, 0xc0, 0x00, 0x06
    .cfi_escape 0x10, 0x1e, 0x03, 0x8f, 0xc8, 0x00
    .cfi_escape 0x10, 0x1d, 0x03, 0x8f, 0xd0, 0x00
    mov x29, xzr
    blr x0
    ldp x9, x30, [sp, #0x40]
    ldr x29, [sp, #0x50]
    .cfi_def_cfa x9, 0
    .cfi_restore x29
    .cfi_restore x30
    mov sp, x9
    .cfi_def_cfa_register sp
    ret
    .cfi_endproc
    end odd_by_expression

    begin odd_by_register
    .cfi_startproc
    stp x19, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x19, -16
    .cfi_offset x30, -8
    mov x19, sp
    .cfi_def_cfa_register x19
    sub x10, sp, #0x40
    and sp, x10, #-64
    blr x0
    mov sp, x19
    .cfi_def_cfa_register sp
    ldp x19, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x19
    .cfi_restore x30
    ret
    .cfi_endproc
    end odd_by_register

/* The return address waits in other registers. */
    begin odd_by_scratch
    .cfi_startproc
    mov x10, x30
    .cfi_register x30, x10
    mov x30, xzr
    sub sp, sp, #32
    .cfi_def_cfa_offset 32
    str x10, [sp, #8]
    .cfi_offset x30, -24
    blr x0
    ldr x11, [sp, #8]
    .cfi_register x30, x11
    add sp, sp, #32
    .cfi_def_cfa_offset 0
    ret x11
    .cfi_endproc
    end odd_by_scratch

    begin odd_separate
    .cfi_startproc
    sub sp, sp, #0x1000
    .cfi_def_cfa_offset 0x1000
    sub sp, sp, #0x40
    .cfi_def_cfa_offset 0x1040
    str x29, [sp, #0x10]
    .cfi_offset x29, -0x1030
    str x30, [sp, #0x30]
    .cfi_offset x30, -0x1010
    mov x29, xzr
    blr x0
    ldr x30, [sp, #0x30]
    .cfi_restore x30
    ldr x29, [sp, #0x10]
    .cfi_restore x29
    add sp, sp, #0x40
    .cfi_def_cfa_offset 0x1000
    add sp, sp, #0x1000
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    end odd_separate

    begin odd_no_cfi_with_fp
    stp x29, x30, [sp, #-32]!
    mov x29, sp
    blr x0
    ldp x29, x30, [sp], #32
    ret
    end odd_no_cfi_with_fp

    begin odd_no_cfi
    str x30, [sp, #-32]!
    blr x0
    ldr x30, [sp], #32
    ret
    end odd_no_cfi

    begin odd_bare_leaf
    mov w9, #100
1:  subs w9, w9, #1
    b.ne 1b
    ret
    end odd_bare_leaf

    begin odd_dies
    .cfi_startproc
    sub sp, sp, #0x60
    .cfi_def_cfa_offset 0x60
    str x30, [sp, #0x18]
    .cfi_offset x30, -0x48
    blr x0
    .cfi_endproc
    end odd_dies
    .globl odd_after
    .type odd_after, %function
odd_after:
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    end odd_after

    begin odd_moves_stack
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov sp, x1
    blr x0
    mov sp, x29
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    end odd_moves_stack

    begin odd_pushes
    .cfi_startproc
    .irp reg, x19, x20, x21, x29, x22, x30
    str \reg, [sp, #-16]!
    .cfi_adjust_cfa_offset 16
    .cfi_rel_offset \reg, 0
    .endr
    mov x29, #0x5555
    blr x0
    .irp reg, x30, x22, x29, x21, x20, x19
    ldr \reg, [sp], #16
    .cfi_adjust_cfa_offset -16
    .cfi_restore \reg
    .endr
    ret
    .cfi_endproc
    end odd_pushes

    .section .note.GNU-stack, "", %progbits

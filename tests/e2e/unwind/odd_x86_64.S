/* SPDX-License-Identifier: MIT */
/* Frames as hand-written code has them (x86-64): void NAME(odd_fn *inner). */
    .macro begin name
    .text
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .endm
    .macro end name
    .size \name, . - \name
    .endm

/* As the vector code of a crypto library: the old SP lies in the realigned frame. */
    begin odd_by_expression
    .cfi_startproc
    movq %rsp, %rax
    .cfi_def_cfa_register %rax
    pushq %rbx
    .cfi_offset %rbx, -16
    pushq %rbp
    .cfi_offset %rbp, -24
    subq $0x80, %rsp
    andq $-64, %rsp
    movq %rax, 0x40(%rsp)
    /* DW_CFA_def_cfa_expression, 6 bytes: DW_OP_breg7 64, DW_OP_deref, DW_OP_plus_uconst 8 */
    .cfi_escape 0x0f, 0x06, 0x77, 0xc0, 0x00, 0x06, 0x23, 0x08
    xorl %ebp, %ebp /* no frame pointer helps here */
    callq *%rdi
    movq 0x40(%rsp), %rax
    .cfi_def_cfa %rax, 8
    movq -16(%rax), %rbp
    .cfi_restore %rbp
    movq -8(%rax), %rbx
    .cfi_restore %rbx
    leaq (%rax), %rsp
    .cfi_def_cfa_register %rsp
    retq
    .cfi_endproc
    end odd_by_expression

    begin odd_by_register
    .cfi_startproc
    pushq %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    movq %rsp, %rbx
    .cfi_def_cfa_register %rbx
    subq $0x40, %rsp
    andq $-64, %rsp
    callq *%rdi
    movq %rbx, %rsp
    .cfi_def_cfa_register %rsp
    popq %rbx
    .cfi_def_cfa_offset 8
    .cfi_restore %rbx
    retq
    .cfi_endproc
    end odd_by_register

    begin odd_by_scratch
    .cfi_startproc
    leaq 8(%rsp), %r10
    .cfi_def_cfa %r10, 0
    pushq %rbp
    pushq %r12
    movq %rsp, %r11
    movq %r10, %r9
    .cfi_def_cfa_register %r9
    .cfi_offset %rbp, -16
    .cfi_offset %r12, -24
    movq %r11, %r12
    .cfi_def_cfa %r12, 24
    subq $8, %rsp
    callq *%rdi
    leaq 24(%r12), %rcx
    .cfi_def_cfa %rcx, 0
    movq %r12, %rsp
    popq %r12
    .cfi_restore %r12
    popq %rbp
    .cfi_restore %rbp
    .cfi_def_cfa %rsp, 8
    retq
    .cfi_endproc
    end odd_by_scratch

/* The frame pointer is saved far below, and by way of another register first. */
    begin odd_separate
    .cfi_startproc
    movq %rbp, %rax
    .cfi_register %rbp, %rax
    subq $0x1038, %rsp
    .cfi_adjust_cfa_offset 0x1038
    movl $0, %ebp
    movq %rax, 0x10(%rsp)
    .cfi_offset %rbp, -0x1030
    callq *%rdi
    movq 0x10(%rsp), %rbp
    .cfi_restore %rbp
    addq $0x1038, %rsp
    .cfi_adjust_cfa_offset -0x1038
    retq
    .cfi_endproc
    end odd_separate

    begin odd_no_cfi_with_fp
    pushq %rbp
    movq %rsp, %rbp
    subq $0x20, %rsp
    callq *%rdi
    leaveq
    retq
    end odd_no_cfi_with_fp

    begin odd_no_cfi
    subq $0x28, %rsp
    callq *%rdi
    addq $0x28, %rsp
    retq
    end odd_no_cfi

    begin odd_bare_leaf
    movl $100, %ecx
1:  decl %ecx
    jnz 1b
    retq
    end odd_bare_leaf

/* What follows it has another frame: a look-up of the return address itself finds the wrong one. */
    begin odd_dies
    .cfi_startproc
    subq $0x58, %rsp
    .cfi_adjust_cfa_offset 0x58
    callq *%rdi
    .cfi_endproc
    end odd_dies
    .globl odd_after
    .type odd_after, @function
odd_after:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    popq %rbp
    .cfi_def_cfa_offset 8
    .cfi_restore %rbp
    retq
    .cfi_endproc
    end odd_after

    begin odd_moves_stack
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rsi, %rsp
    callq *%rdi
    leaveq
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    retq
    .cfi_endproc
    end odd_moves_stack

    begin odd_pushes
    .cfi_startproc
    .irp reg, rbx, rbp, r12, r13, r14, r15
    pushq %\reg
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \reg, 0
    .endr
    subq $24, %rsp
    .cfi_adjust_cfa_offset 24
    pushq $1
    .cfi_adjust_cfa_offset 8
    pushq $2
    .cfi_adjust_cfa_offset 8
    movl $0x5555, %ebp
    callq *%rdi
    addq $40, %rsp
    .cfi_adjust_cfa_offset -40
    .irp reg, r15, r14, r13, r12, rbp, rbx
    popq %\reg
    .cfi_adjust_cfa_offset -8
    .cfi_restore \reg
    .endr
    retq
    .cfi_endproc
    end odd_pushes

    .section .note.GNU-stack, "", @progbits

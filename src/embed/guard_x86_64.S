/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The guard's frame (embed/guard.h). The hook comes in r11. Below the frame pointer:
 *
 *     -32   struct cairn_embed_guard_frame: outer, hook, replacement, gate
 *     -96   rdi rsi rdx rcx r8 r9 rax r10 of the caller; behind the call rax and rdx
 *     -224  xmm0 to xmm7; behind the call xmm0 and xmm1
 *     -352  arguments on the stack, 128 bytes
 */
        .text
        .globl  cairn_embed_guard
        .hidden cairn_embed_guard
        .type   cairn_embed_guard, @function
cairn_embed_guard:
        .cfi_startproc
        .cfi_personality 0x1b, cairn_embed_guard_unwind /* pcrel | sdata4 */
        endbr64
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        sub     $352, %rsp
        mov     %r11, -24(%rbp)
        mov     %rdi, -96(%rbp)
        mov     %rsi, -88(%rbp)
        mov     %rdx, -80(%rbp)
        mov     %rcx, -72(%rbp)
        mov     %r8, -64(%rbp)
        mov     %r9, -56(%rbp)
        mov     %rax, -48(%rbp)
        mov     %r10, -40(%rbp)
        movaps  %xmm0, -224(%rbp)
        movaps  %xmm1, -208(%rbp)
        movaps  %xmm2, -192(%rbp)
        movaps  %xmm3, -176(%rbp)
        movaps  %xmm4, -160(%rbp)
        movaps  %xmm5, -144(%rbp)
        movaps  %xmm6, -128(%rbp)
        movaps  %xmm7, -112(%rbp)
        lea     -32(%rbp), %rdi
        lea     16(%rbp), %rsi
        call    cairn_embed_guard_enter
        test    %rax, %rax
        js      .Linside
        mov     %rax, %rcx
        shr     $3, %rcx
        lea     16(%rbp), %rsi
        mov     %rsp, %rdi
        rep movsq
        call    .Lreload
        call    *-16(%rbp)
        mov     %rax, -48(%rbp)
        mov     %rdx, -80(%rbp)
        movaps  %xmm0, -224(%rbp)
        movaps  %xmm1, -208(%rbp)
        lea     -32(%rbp), %rdi
        call    cairn_embed_guard_leave
        mov     -48(%rbp), %rax
        mov     -80(%rbp), %rdx
        movaps  -224(%rbp), %xmm0
        movaps  -208(%rbp), %xmm1
        leave
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        ret
.Linside:
        .cfi_restore_state
        call    .Lreload
        mov     -8(%rbp), %r11
        leave
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        jmp     *%r11
        .cfi_restore_state
/* The frame pointer stays: the rule of the frame holds here too, but for the return address. */
.Lreload:
        mov     -96(%rbp), %rdi
        mov     -88(%rbp), %rsi
        mov     -80(%rbp), %rdx
        mov     -72(%rbp), %rcx
        mov     -64(%rbp), %r8
        mov     -56(%rbp), %r9
        mov     -48(%rbp), %rax
        mov     -40(%rbp), %r10
        movaps  -224(%rbp), %xmm0
        movaps  -208(%rbp), %xmm1
        movaps  -192(%rbp), %xmm2
        movaps  -176(%rbp), %xmm3
        movaps  -160(%rbp), %xmm4
        movaps  -144(%rbp), %xmm5
        movaps  -128(%rbp), %xmm6
        movaps  -112(%rbp), %xmm7
        ret
        .cfi_endproc
        .size   cairn_embed_guard, . - cairn_embed_guard
        .section .note.GNU-stack, "", @progbits

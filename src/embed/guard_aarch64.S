/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The guard's frame (embed/guard.h). The hook comes in x17. Below the frame pointer:
 *
 *     -32   struct cairn_embed_guard_frame: outer, hook, replacement, gate
 *     -112  x0 to x8: of the caller, then those with which the replacement came back
 *     -240  q0 to q7, the same
 *     -368  arguments on the stack, 128 bytes
 *
 * Registers as AAPCS64 hands arguments and results on, 6.8 and 6.9. Longer ones of SVE are not.
 */
        .macro  each pair, one
        \pair  x0, x1, [x29, #-112]
        \pair  x2, x3, [x29, #-96]
        \pair  x4, x5, [x29, #-80]
        \pair  x6, x7, [x29, #-64]
        \one   x8, [x29, #-48]
        \pair  q0, q1, [x29, #-240]
        \pair  q2, q3, [x29, #-208]
        \pair  q4, q5, [x29, #-176]
        \pair  q6, q7, [x29, #-144]
        .endm

        .text
        .globl  cairn_embed_guard
        .hidden cairn_embed_guard
        .type   cairn_embed_guard, %function
        .balign 16
cairn_embed_guard:
        .cfi_startproc
        .cfi_personality 0x1b, cairn_embed_guard_unwind /* pcrel | sdata4 */
        hint    #34 /* bti c */
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 29, -16
        .cfi_offset 30, -8
        mov     x29, sp
        .cfi_def_cfa_register 29
        sub     sp, sp, #368
        stur    x17, [x29, #-24]
        each    stp, stur
        sub     x0, x29, #32
        add     x1, x29, #16
        bl      cairn_embed_guard_enter
        tbnz    x0, #63, .Linside
        add     x9, x29, #16
        add     x10, x9, x0
        mov     x11, sp
.Lcopy:
        cmp     x9, x10
        b.hs    .Lcopied
        ldr     x12, [x9], #8
        str     x12, [x11], #8
        b       .Lcopy
.Lcopied:
        each    ldp, ldur
        ldur    x16, [x29, #-16]
        blr     x16
        each    stp, stur
        sub     x0, x29, #32
        bl      cairn_embed_guard_leave
        each    ldp, ldur
        mov     sp, x29
        ldp     x29, x30, [sp], #16
        .cfi_remember_state
        .cfi_def_cfa 31, 0
        .cfi_restore 29
        .cfi_restore 30
        ret
.Linside:
        .cfi_restore_state
        each    ldp, ldur
        ldur    x16, [x29, #-8]
        mov     sp, x29
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa 31, 0
        .cfi_restore 29
        .cfi_restore 30
        br      x16
        .cfi_endproc
        .size   cairn_embed_guard, . - cairn_embed_guard
        .section .note.GNU-stack, "", %progbits

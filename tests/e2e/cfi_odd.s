# SPDX-License-Identifier: MIT
# Instructions of CFI that compilers hardly write, for x86-64; cfi_agree.py holds their rows against
# readelf's. The numbers behind .cfi_escape are DW_CFA_*.
        .text
        .globl odd
        .type odd, @function
odd:
        .cfi_startproc
        nop
        .cfi_escape 0x14, 3, 2                  # val_offset rbx
        nop
        .cfi_escape 0x15, 12, 0x7e              # val_offset_sf r12
        nop
        .cfi_escape 0x16, 13, 2, 0x77, 0x10     # val_expression r13
        .cfi_escape 0x10, 14, 2, 0x77, 0x08     # expression r14
        nop
        .cfi_escape 0x2f, 15, 3                 # GNU_negative_offset_extended r15
        .cfi_escape 0x11, 6, 0x7f               # offset_extended_sf rbp
        nop
        .cfi_escape 0x09, 3, 12                 # register rbx, in r12
        .cfi_remember_state
        nop
        .cfi_def_cfa 6, 32
        .cfi_same_value 13
        .cfi_remember_state
        nop
        .cfi_escape 0x0f, 3, 0x76, 0x78, 6      # def_cfa_expression
        .cfi_undefined 16
        nop
        .cfi_escape 0x0d, 7                     # def_cfa_register, behind an expression
        .fill 100, 1, 0x90                      # advance_loc1
        .cfi_escape 0x12, 7, 0x7c               # def_cfa_sf
        .fill 300, 1, 0x90                      # advance_loc2
        .cfi_escape 0x13, 0x7b                  # def_cfa_offset_sf
        .fill 70000, 1, 0x90                    # advance_loc4
        .cfi_restore_state
        nop
        .cfi_restore 3
        .cfi_escape 0x06, 12                    # restore_extended
        nop
        .cfi_restore_state
        .cfi_escape 0x2e, 0x80, 1               # GNU_args_size
        nop
        .cfi_restore 14
        .cfi_escape 0x05, 14, 0x81, 1           # offset_extended
        nop
        .cfi_endproc
        .size odd, . - odd
        .section .note.GNU-stack, "", @progbits

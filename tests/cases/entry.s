# SPDX-License-Identifier: MIT
    .text
    .globl pure_assembly
    .type pure_assembly, %function
pure_assembly:
    nop
    nop
    .size pure_assembly, . - pure_assembly
# What lies here has no symbol.
    .skip 32

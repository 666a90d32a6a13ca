/* SPDX-License-Identifier: MIT */
/* A library whose unwind table takes half of a segment, for code that is never run; two of them and
 * what every program has do not fit into one. */
__attribute__((visibility("default"))) int cairn_evict_call(int (*fn)(void));

/* Stands on the stack of `fn`. */
int cairn_evict_call(int (*fn)(void))
{
    return fn() + 1; /* no tail call */
}

__asm__(".text\n"
        ".cfi_startproc\n"
        ".rept 100000\n"
        ".cfi_adjust_cfa_offset 16\n"
        "nop\n"
        ".cfi_adjust_cfa_offset -16\n"
        "nop\n"
        ".endr\n"
        ".cfi_endproc\n");

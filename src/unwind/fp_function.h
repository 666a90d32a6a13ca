/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Fp function: does a function set up a frame pointer before an address in it? Objects that were
 * built in different ways are linked into one program, so that its other functions say nothing of
 * this one.
 *
 *     x86-64, i386   mov %rsp, %rbp, or lea N(%rsp), %rbp as Go's compiler has it
 *     aarch64        mov x29, sp, or add x29, sp, N
 */
#ifndef CAIRN_UNWIND_FP_FUNCTION_H
#define CAIRN_UNWIND_FP_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct cairn_fp_function {
    bool keeps;
    uint8_t sp_below; /* where the stack was realigned: the caller's stack pointer is stored so many
                         bytes below the frame pointer; 0: it is right above the record */
};

/* `code`: from the function's start, or from somewhere before, up to the address. Without
 * `is_start` the last end of a function in it (a return, then padding or the usual first bytes) is
 * taken for the start. `va` is that of the first byte. */
struct cairn_fp_function cairn_fp_function_read(uint16_t machine, struct cairn_span code,
                                                uint64_t va, bool is_start);

#endif /* CAIRN_UNWIND_FP_FUNCTION_H */

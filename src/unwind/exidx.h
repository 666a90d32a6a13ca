/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * exidx: 32-bit arm's index of unwind programs (IHI 0038B, Exception Handling ABI for the ARM
 * Architecture: 5 for the index, 6 for the entries, 9.3 for the instructions), turned into the rows
 * that CFI has, so that nobody above sees a difference.
 *
 *     .ARM.exidx    | function | what |    sorted; an entry reaches up to the next one
 *         what = 1                         the function cannot be unwound
 *         what = 8x op op op               the program itself
 *         what -> .ARM.extab               | 80 op op op | 81, 82 n op op, n words of them
 *                                          | personality | n op op op, n words of them
 *
 * One row holds for a whole function: it is true where the function calls others, and not in its
 * prologue and its epilogue. A personality may lay out its data as it likes; all that exist (of
 * C++, C, Ada, D, Rust, Objective-C) begin with instructions, and so every one is read like that.
 */
#ifndef CAIRN_UNWIND_EXIDX_H
#define CAIRN_UNWIND_EXIDX_H

#include "dwarf/cfi.h"
#include "dwarf/exidx.h"

enum cairn_exidx_result {
    CAIRN_EXIDX_ROW,
    CAIRN_EXIDX_CANTUNWIND, /* its author, or the linker, says that nothing is known of it */
    CAIRN_EXIDX_REFUSES,    /* the program itself refuses */
    CAIRN_EXIDX_ODD,        /* sound, but it moves the stack in a way that no row can say */
    CAIRN_EXIDX_DAMAGED     /* outside the bytes, or an instruction that nobody defined */
};

/* What entry i < count says of its whole function. Only for CAIRN_EXIDX_ROW is `*ret_row` written:
 * [from, to) are the function's vaddrs (to = 2^32 for the last entry), the CFA is the caller's sp,
 * and register 14 is where the return address is, whether the program pops it into lr or pc. */
enum cairn_exidx_result cairn_exidx_row(const struct cairn_exidx *exidx, size_t i,
                                        struct cairn_cfi_row *ret_row);

#endif /* CAIRN_UNWIND_EXIDX_H */

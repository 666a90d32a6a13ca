/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* DWARF expressions (DWARF 5, 2.5.1) as CFI uses them: the value of a CFA or of a register, or the
 * place where it was saved. */
#ifndef CAIRN_DWARF_EXPR_H
#define CAIRN_DWARF_EXPR_H

#include "base/memory.h"
#include "base/span.h"

/* How much an expression may do: the longest one in 261 files of Debian 12 has 9 operations. */
enum { CAIRN_EXPR_STEPS = 10000, CAIRN_EXPR_DEPTH = 64 };

struct cairn_expr_input {
    const uint64_t *regs;              /* by DWARF number */
    uint64_t known;                    /* bit n: regs[n] may be read */
    const struct cairn_memory *memory; /* NULL: none of it can be read */
    uint64_t cfa;
    bool has_cfa; /* `cfa` is DW_OP_call_frame_cfa's, and lies on the stack at the beginning */
    bool swap;    /* memory and expression, as against this CPU */
    uint8_t address_size; /* 4 or 8: numbers wrap there */
};

/* The number on top of the stack when the expression ends. False, and nothing written, where it is
 * damaged, needs what is not known or cannot be read, divides by zero, has an operation that makes
 * no sense in CFI, or does more than its bounds allow. */
bool cairn_expr_eval(struct cairn_span expr, const struct cairn_expr_input *input,
                     uint64_t *ret_value);

#endif /* CAIRN_DWARF_EXPR_H */

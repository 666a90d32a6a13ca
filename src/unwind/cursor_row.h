/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * From one frame to its caller by a row of CFI: every register that the row speaks of. The compact
 * rules (rule.h) do the same for what a stack is made of, and faster.
 */
#ifndef CAIRN_UNWIND_CURSOR_ROW_H
#define CAIRN_UNWIND_CURSOR_ROW_H

#include "unwind/arch.h"

struct cairn_row_input {
    const struct cairn_unwind_arch *arch;
    const struct cairn_memory *memory;
    struct cairn_span expressions; /* the section that `row` counts offsets in; may be empty */
    const struct cairn_cfi_row *row;
    uint32_t ra_reg; /* of the CIE */
    bool swap;
    bool is_leaf;   /* the innermost frame, or one that a signal interrupted */
    bool is_signal; /* the kernel's frame: nobody was called, so that all registers are kept */
};

/* Replaces `regs` by those of the caller; on anything but CAIRN_STEP_OK they are untouched. A CFA
 * that lies below the frame is CAIRN_STEP_BAD_CFA, save for a signal frame: that may be on another
 * stack. */
enum cairn_arch_step cairn_row_step(const struct cairn_row_input *input,
                                    struct cairn_unwind_regs *regs);

/* i386 has no compact rules, only rows. As cairn_unwind_arch_of(), and EM_386. */
const struct cairn_unwind_arch *cairn_row_arch_of(uint16_t machine);

#endif /* CAIRN_UNWIND_CURSOR_ROW_H */

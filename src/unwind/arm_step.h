/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Arm step: from a frame of 32-bit arm to its caller by what arm_code.h finds in the code. */
#ifndef CAIRN_UNWIND_ARM_STEP_H
#define CAIRN_UNWIND_ARM_STEP_H

#include "unwind/arch.h"

/* cairn_unwind_arch.step_by_code. NO_RULE: nothing is found that can be believed. OUTERMOST: the
 * code ends by exit(2), and cannot return. */
enum cairn_arch_step cairn_arm_step_by_code(const struct cairn_code_input *in,
                                            struct cairn_unwind_regs *regs);

#endif /* CAIRN_UNWIND_ARM_STEP_H */

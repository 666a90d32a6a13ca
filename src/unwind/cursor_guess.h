/* SPDX-License-Identifier: MIT */
/*
 * Where no rule covers an address: what can be told all the same. Code that was compiled at run
 * time or comes without CFI may keep frame pointers; each is checked, and the frame is marked.
 */
#ifndef CAIRN_UNWIND_CURSOR_GUESS_H
#define CAIRN_UNWIND_CURSOR_GUESS_H

#include "unwind/arch.h"
#include "unwind/space.h"

/* Replaces `regs` by those of the caller. CAIRN_STEP_NO_RULE: nothing can be believed here. `place`
 * holds the frame's address; NULL: none does. */
enum cairn_arch_step cairn_cursor_guess(struct cairn_unwind_space *space,
                                        const struct cairn_unwind_arch *arch,
                                        const struct cairn_space_place *place, bool is_leaf,
                                        struct cairn_unwind_regs *regs,
                                        enum cairn_frame_how *ret_how);

#endif /* CAIRN_UNWIND_CURSOR_GUESS_H */

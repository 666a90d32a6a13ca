/* SPDX-License-Identifier: MIT */
/* Resuming a walk behind code whose caller only its maker can tell, such as an interpreter. */
#ifndef CAIRN_UNWIND_CURSOR_RESUME_H
#define CAIRN_UNWIND_CURSOR_RESUME_H

#include <stdbool.h>

#include <cairn/unwind.h>

/* The cursor goes to the caller's frame, whose registers are these; its ip is a return address. It
 * need not have known the way, but must rise. True, or false and the cursor stays as it was. */
bool cairn_cursor_resume(struct cairn_cursor *cursor, const struct cairn_cursor_regs *regs);

/* The module that holds the frame's address; NULL: none that is at hand. `*ret_bias` is its va -
 * vaddr. */
struct cairn_space_module;
struct cairn_space_module *cairn_cursor_module(const struct cairn_cursor *cursor,
                                               uint64_t *ret_bias);

/* All registers of the frame that are known. */
void cairn_cursor_all_regs(struct cairn_cursor *cursor, struct cairn_cursor_regs *ret_regs);

#endif /* CAIRN_UNWIND_CURSOR_RESUME_H */

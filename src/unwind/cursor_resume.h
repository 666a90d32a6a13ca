/* SPDX-License-Identifier: MIT */
/* Resumes a walk after code whose caller only an interpreter can compute. */
#ifndef CAIRN_UNWIND_CURSOR_RESUME_H
#define CAIRN_UNWIND_CURSOR_RESUME_H

#include <stdbool.h>

#include <cairn/unwind.h>

/* Moves the cursor to the caller's frame, whose registers are `regs`; regs->ip is a return address.
 * The stack pointer must rise. False: the cursor stays where it is. */
bool cairn_cursor_resume(struct cairn_cursor *cursor, const struct cairn_cursor_regs *regs);

/* The module that contains the frame's address; NULL: no file. `*ret_bias` is va - vaddr. */
struct cairn_space_module;
struct cairn_space_module *cairn_cursor_module(const struct cairn_cursor *cursor,
                                               uint64_t *ret_bias);

/* All registers of the frame that are known. */
void cairn_cursor_all_regs(struct cairn_cursor *cursor, struct cairn_cursor_regs *ret_regs);

#endif /* CAIRN_UNWIND_CURSOR_RESUME_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Moved code: whole instructions at one address, rewritten to do the same at another, and a jump
 * back behind them. cairn_hook_move() in <cairn/hook.h> is the entry. A new CPU needs a mover and a
 * check, and a row in move.c.
 *
 *     from_va:  push %r12                  to_va:  push %r12
 *               mov  0x2eb5(%rip),%rax             mov  0x5f3a(%rip),%rax
 *               test %rax,%rax                     jmp  *0(%rip)
 *                                                  .quad from_va + taken
 */
#ifndef CAIRN_HOOK_MOVE_H
#define CAIRN_HOOK_MOVE_H

#include <cairn/hook.h>

/* Fills `code`, `taken` and the offsets; on failure `reason` and `reason_va`. The copy is not
 * checked yet. */
typedef bool cairn_hook_mover_fn(const struct cairn_hook_piece *piece,
                                 struct cairn_hook_copy *ret_copy);

/* Decodes the copy and compares each instruction with the original: what it does, with what
 * operands, at which addresses. It shares the decoder with the mover and nothing else. */
typedef bool cairn_hook_check_fn(const struct cairn_hook_piece *piece,
                                 const struct cairn_hook_copy *copy);

cairn_hook_mover_fn cairn_hook_move_x86_64, cairn_hook_move_aarch64;
cairn_hook_check_fn cairn_hook_check_x86_64, cairn_hook_check_aarch64;

/* jmp *0(%rip) and the address: 14 bytes. */
size_t cairn_hook_far_jump_x86_64(uint64_t target_va, uint8_t *ret_code);
/* ldr x17, address; br x17; the address: 16 bytes. */
size_t cairn_hook_far_jump_aarch64(uint64_t target_va, uint8_t *ret_code);

/* For movers. Appends bytes to the copy; false: there is no space, and `reason` says so. */
bool cairn_hook_copy_add(struct cairn_hook_copy *copy, const void *bytes, size_t n);

/* Notes that the instruction `from_off` bytes into the original has its copy here. False: too many.
 */
bool cairn_hook_copy_begin(struct cairn_hook_copy *copy, size_t from_off);

/* Refuses the piece for its instruction at `va`; returns false. */
bool cairn_hook_copy_refuse(struct cairn_hook_copy *copy, enum cairn_hook_reason reason,
                            uint64_t va);

#endif /* CAIRN_HOOK_MOVE_H */

/* SPDX-License-Identifier: MIT */
/*
 * CPU: the instructions that islands and gates are made of. A file for each CPU; cpu_none.c where
 * functions cannot be diverted.
 */
#ifndef CAIRN_EMBED_CPU_H
#define CAIRN_EMBED_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/hook.h>

enum { CAIRN_EMBED_JUMP_MAX = 8, CAIRN_EMBED_THUNK_MAX = 32 };

/* CAIRN_HOOK_CPU_NONE: no function can be diverted here. */
extern const enum cairn_hook_cpu cairn_embed_cpu;
/* Of the calling thread. */
bool cairn_embed_has_shadow_stack(void);

/* A jump at `va` to the address in the word at `word_va`, less than 2 GB away. Returns its bytes.
 * */
size_t cairn_embed_jump(uint64_t va, uint64_t word_va, uint8_t ret_code[CAIRN_EMBED_JUMP_MAX]);

/* The first word of a cell of 16 bytes at `va`, a multiple of 8, whose second word is the target:
 * one jump there, by the second word only if the target is out of reach. */
uint64_t cairn_embed_cell(uint64_t va, uint64_t target_va);

/* Makes the jump at the end of moved code at `va` a shorter one, if its target is in reach. */
void cairn_embed_shorten(uint64_t va, struct cairn_hook_copy *copy);

/* What comes before a guarded replacement: the guard's code with the hook. Returns its bytes; 0:
 * there are no guards on this CPU. */
size_t cairn_embed_thunk(const struct cairn_hook *hook, uint8_t ret_code[CAIRN_EMBED_THUNK_MAX]);

#endif /* CAIRN_EMBED_CPU_H */

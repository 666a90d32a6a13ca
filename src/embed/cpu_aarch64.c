/* SPDX-License-Identifier: MIT */
/*
 * Islands lie within reach of b, 128 MB (hook/plan_aarch64.c). x16 and x17 are a veneer's at every
 * call (AAPCS64, 6.1.1), so that none of a function's arguments is in them. A branch by x16 meets
 * "bti c" as well as "bti j" (Arm ARM, BTI).
 */
#include <string.h>

#include "code/insn_aarch64.h"
#include "embed/cpu.h"
#include "embed/guard.h"

enum {
    X16 = 16,
    X17 = 17,
    B = 0x14000000,
    LDR_LITERAL = 0x58000000, /* of 64 bits; the distance in words from bit 5 on */
    DISTANCE_BITS = 19,
    BRK = 0x3e8 << 5 /* with BRK_TOP: brk #0x3e8 */
};
static const uint32_t br_x16 = 0xd61f0200, brk_top = 0xd4200000, nop = 0xd503201f;

const enum cairn_hook_cpu cairn_embed_cpu = CAIRN_HOOK_AARCH64;

/* No guarded control stack: moved code that calls would be refused only where one is. */
bool cairn_embed_has_shadow_stack(void)
{
    return false;
}

static uint32_t load(unsigned reg, uint64_t va, uint64_t word_va)
{
    const uint32_t words = (uint32_t)((int64_t)(word_va - va) / CAIRN_A64_BYTES);
    return (uint32_t)LDR_LITERAL | (words & ((1u << DISTANCE_BITS) - 1)) << 5 | reg;
}

/* ldr x16, word; br x16. The word is in the same island. */
size_t cairn_embed_jump(uint64_t va, uint64_t word_va, uint8_t ret_code[CAIRN_EMBED_JUMP_MAX])
{
    const uint32_t code[] = {load(X16, va, word_va), br_x16};
    memcpy(ret_code, code, sizeof code);
    return sizeof code;
}

uint64_t cairn_embed_cell(uint64_t va, uint64_t target_va)
{
    uint32_t code[2] = {0, brk_top | (uint32_t)BRK};
    uint64_t word;
    if (!cairn_aarch64_insn_aim(B, CAIRN_A64_JUMP, va, target_va, &code[0]))
        (void)cairn_embed_jump(va, va + sizeof word, (uint8_t *)code);
    memcpy(&word, code, sizeof word);
    return word;
}

/* The mover has taken the shortest one. */
void cairn_embed_shorten(uint64_t va, struct cairn_hook_copy *copy)
{
    (void)va;
    (void)copy;
}

/* ldr x17, hook; ldr x16, guard; br x16; nop; .quad hook, guard */
size_t cairn_embed_thunk(const struct cairn_hook *hook, uint8_t ret_code[CAIRN_EMBED_THUNK_MAX])
{
    enum { CODE_BYTES = 16, WORD_BYTES = 8 };
    const uint32_t code[] = {load(X17, 0, CODE_BYTES),
                             load(X16, CAIRN_A64_BYTES, CODE_BYTES + WORD_BYTES), br_x16, nop};
    const uint64_t words[] = {(uintptr_t)hook, (uintptr_t)&cairn_embed_guard};
    memcpy(ret_code, code, sizeof code);
    memcpy(ret_code + sizeof code, words, sizeof words);
    return sizeof code + sizeof words;
}

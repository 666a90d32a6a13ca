/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <string.h>

#include "embed/cpu.h"
#include "embed/guard.h"

const enum cairn_hook_cpu cairn_embed_cpu = CAIRN_HOOK_X86_64;
const uint16_t cairn_embed_machine = EM_X86_64;

/* jmp *word(%rip) */
size_t cairn_embed_jump(uint64_t va, uint64_t word_va, uint8_t ret_code[CAIRN_EMBED_JUMP_MAX])
{
    enum { JUMP_BYTES = 6 };
    const uint32_t distance = (uint32_t)(word_va - (va + JUMP_BYTES));
    ret_code[0] = 0xff;
    ret_code[1] = 0x25;
    memcpy(ret_code + 2, &distance, sizeof distance);
    return JUMP_BYTES;
}

/* movabs $hook,%r11; jmp *0(%rip); .quad guard. No caller passes anything in r11. */
size_t cairn_embed_thunk(const struct cairn_hook *hook, uint8_t ret_code[CAIRN_EMBED_THUNK_MAX])
{
    static const uint8_t load[] = {0x49, 0xbb}, jump[] = {0xff, 0x25, 0, 0, 0, 0};
    const uint64_t hook_va = (uintptr_t)hook, guard_va = (uintptr_t)&cairn_embed_guard;
    uint8_t *at = ret_code;
    memcpy(at, load, sizeof load);
    memcpy(at += sizeof load, &hook_va, sizeof hook_va);
    memcpy(at += sizeof hook_va, jump, sizeof jump);
    memcpy(at += sizeof jump, &guard_va, sizeof guard_va);
    return (size_t)(at + sizeof guard_va - ret_code);
}

/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "embed/cpu.h"
#include "embed/guard.h"

const enum cairn_hook_cpu cairn_embed_cpu = CAIRN_HOOK_X86_64;

/* arch_prctl(2), Linux 6.6 */
bool cairn_embed_has_shadow_stack(void)
{
    enum { STATUS = 0x5005, ENABLED = 1 };
    unsigned long features = 0;
    return syscall(SYS_arch_prctl, STATUS, &features) == 0 && features & ENABLED;
}

enum { JUMP_BYTES = 6, NEAR_JUMP_BYTES = 5, TARGET_BYTES = 8 };

/* jmp *word(%rip) */
size_t cairn_embed_jump(uint64_t va, uint64_t word_va, uint8_t ret_code[CAIRN_EMBED_JUMP_MAX])
{
    const uint32_t distance = (uint32_t)(word_va - (va + JUMP_BYTES));
    ret_code[0] = 0xff;
    ret_code[1] = 0x25;
    memcpy(ret_code + 2, &distance, sizeof distance);
    return JUMP_BYTES;
}

/* jmp rel32; false: it does not reach */
static bool jump_near(uint64_t va, uint64_t target_va, uint8_t *code)
{
    const int64_t distance = (int64_t)(target_va - (va + NEAR_JUMP_BYTES));
    if (distance != (int32_t)distance)
        return false;
    code[0] = 0xe9;
    memcpy(code + 1, &(int32_t){(int32_t)distance}, sizeof(int32_t));
    return true;
}

uint64_t cairn_embed_cell(uint64_t va, uint64_t target_va)
{
    uint8_t code[sizeof(uint64_t)] = {0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
    uint64_t word;
    if (!jump_near(va, target_va, code))
        (void)cairn_embed_jump(va, va + sizeof word, code);
    memcpy(&word, code, sizeof word);
    return word;
}

/* jmp *0(%rip) and the address behind it */
void cairn_embed_shorten(uint64_t va, struct cairn_hook_copy *copy)
{
    static const uint8_t far[JUMP_BYTES] = {0xff, 0x25};
    const size_t at = copy->to_off[copy->n_insns];
    uint64_t target_va;
    if (copy->n_code != at + JUMP_BYTES + TARGET_BYTES ||
        memcmp(copy->code + at, far, sizeof far) != 0)
        return;
    memcpy(&target_va, copy->code + at + JUMP_BYTES, sizeof target_va);
    if (jump_near(va + at, target_va, copy->code + at))
        copy->n_code = at + NEAR_JUMP_BYTES;
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

/* SPDX-License-Identifier: MIT */
#include "embed/cpu.h"
#include "embed/frames.h"

const enum cairn_hook_cpu cairn_embed_cpu = CAIRN_HOOK_CPU_NONE;

bool cairn_embed_has_shadow_stack(void)
{
    return false;
}

size_t cairn_embed_jump(uint64_t va, uint64_t word_va, uint8_t ret_code[CAIRN_EMBED_JUMP_MAX])
{
    (void)va;
    (void)word_va;
    (void)ret_code;
    return 0;
}

uint64_t cairn_embed_cell(uint64_t va, uint64_t target_va)
{
    (void)va;
    (void)target_va;
    return 0;
}

void cairn_embed_shorten(uint64_t va, struct cairn_hook_copy *copy)
{
    (void)va;
    (void)copy;
}

size_t cairn_embed_thunk(const struct cairn_hook *hook, uint8_t ret_code[CAIRN_EMBED_THUNK_MAX])
{
    (void)hook;
    (void)ret_code;
    return 0;
}

size_t cairn_embed_frames_write(const struct cairn_hook_copy *copy, const uint8_t *original,
                                uint64_t low, uint64_t copy_va,
                                uint8_t ret_bytes[CAIRN_EMBED_FRAMES_MAX])
{
    (void)copy;
    (void)original;
    (void)low;
    (void)copy_va;
    (void)ret_bytes;
    return 0;
}

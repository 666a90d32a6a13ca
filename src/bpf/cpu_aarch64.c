/* SPDX-License-Identifier: MIT */
/*
 * arch/arm64/include/asm/ptrace.h, in words of 8 bytes; a 32-bit program's r0 to r14 are x0 to x14:
 *
 *     | x0 ... x30 sp pc pstate | orig_x0 | syscallno (4 bytes) ... |   36 words
 */
#include <string.h>

#include "bpf/cpu.h"

enum { X7 = 7, X8 = 8, SP_32 = 13, SP = 31, PC, PSTATE, ORIG_X0, CALL };

enum {
    WORDS = 36,
    WORDS_64 = 34,
    WORDS_32 = 18,
    MODE_32 = 0x10 /* PSR_MODE32_BIT */
};

const struct cairn_bpf_cpu cairn_bpf_this_cpu = {
    .regs_bytes = WORDS * 8,
    .sp = SP,
    .sp_32 = SP_32,
    .mode = PSTATE,
    .mode_32 = MODE_32,
    .mode_32_mask = MODE_32,
};

size_t cairn_bpf_prstatus(const uint64_t regs[CAIRN_BPF_REG_WORDS],
                          uint8_t ret_raw[CAIRN_BPF_PRSTATUS_MAX])
{
    if (!(regs[PSTATE] & MODE_32)) {
        memcpy(ret_raw, regs, WORDS_64 * 8);
        return WORDS_64 * 8;
    }
    uint32_t words[WORDS_32];
    for (unsigned i = 0; i < 15; i++)
        words[i] = (uint32_t)regs[i];
    words[15] = (uint32_t)regs[PC];
    words[16] = (uint32_t)regs[PSTATE];
    words[17] = (uint32_t)regs[ORIG_X0];
    memcpy(ret_raw, words, sizeof words);
    return sizeof words;
}

bool cairn_bpf_call(const uint64_t regs[CAIRN_BPF_REG_WORDS], long *ret_call, uint64_t ret_args[6])
{
    int32_t call = (int32_t)regs[CALL];
    if (call < 0)
        return false;
    ret_args[0] = regs[ORIG_X0];
    for (unsigned i = 1; i < 6; i++)
        ret_args[i] = regs[i];
    *ret_call = call;
    return true;
}

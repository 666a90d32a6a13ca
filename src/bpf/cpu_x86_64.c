/* SPDX-License-Identifier: MIT */
/*
 * arch/x86/include/asm/ptrace.h, in words of 8 bytes; since Linux 6.9 cs and ss share theirs with
 * what FRED keeps:
 *
 *     | r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss |   21 words
 *
 * user_regs_struct goes on with fs_base gs_base ds es fs gs, which are not there: 0.
 */
#include <string.h>

#include "bpf/cpu.h"

enum { R12 = 3, BP, BX, R11, R10, R9, R8, AX, CX, DX, SI, DI, ORIG_AX, IP, CS, FLAGS, SP, SS };

enum {
    WORDS = 21,
    WORDS_64 = 27,
    WORDS_32 = 17,
    CS_32 = 0x23, /* __USER32_CS */
    CS_MASK = 0xffff
};

const struct cairn_bpf_cpu cairn_bpf_this_cpu = {
    .regs_bytes = WORDS * 8,
    .sp = SP,
    .sp_32 = SP,
    .mode = CS,
    .mode_32 = CS_32,
    .mode_32_mask = CS_MASK,
    .returns_on_stack = 1,
};

static bool is_32(const uint64_t *regs)
{
    return (regs[CS] & CS_MASK) == CS_32;
}

size_t cairn_bpf_prstatus(const uint64_t regs[CAIRN_BPF_REG_WORDS],
                          uint8_t ret_raw[CAIRN_BPF_PRSTATUS_MAX])
{
    static const uint8_t order[WORDS_32] = {
        [0] = BX, CX, DX, SI, DI, BP, AX, [11] = ORIG_AX, IP, CS, FLAGS, SP, SS};
    if (!is_32(regs)) {
        memset(ret_raw, 0, WORDS_64 * 8);
        memcpy(ret_raw, regs, WORDS * 8);
        return WORDS_64 * 8;
    }
    for (unsigned i = 0; i < WORDS_32; i++) {
        bool is_segment = i >= 7 && i < 11;
        uint32_t word = is_segment ? 0 : (uint32_t)regs[order[i]];
        memcpy(ret_raw + i * 4, &word, sizeof word);
    }
    return WORDS_32 * 4;
}

bool cairn_bpf_call(const uint64_t regs[CAIRN_BPF_REG_WORDS], long *ret_call, uint64_t ret_args[6])
{
    static const uint8_t args_64[6] = {DI, SI, DX, R10, R8, R9};
    static const uint8_t args_32[6] = {BX, CX, DX, SI, DI, BP};
    const uint8_t *args = is_32(regs) ? args_32 : args_64;
    long call = is_32(regs) ? (int32_t)regs[ORIG_AX] : (long)regs[ORIG_AX];
    if (call < 0)
        return false;
    for (unsigned i = 0; i < 6; i++)
        ret_args[i] = is_32(regs) ? (uint32_t)regs[args[i]] : regs[args[i]];
    *ret_call = call;
    return true;
}

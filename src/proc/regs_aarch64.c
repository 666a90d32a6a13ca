/* SPDX-License-Identifier: MIT */
/*
 * struct user_pt_regs of <asm/ptrace.h>, in words of 8 bytes; a 32-bit program shows arm's pt_regs
 * instead, in words of 4 bytes:
 *
 *     aarch64  | x0 ... x29 x30 sp pc pstate |               34 words
 *     arm      | r0 ... r11 r12 sp lr pc cpsr orig_r0 |      18 words
 */
#include "base/reader.h"
#include "proc/regs.h"

enum {
    WORDS_64 = 34,
    X29 = 29,
    X30 = 30,
    SP_64 = 31,
    PC_64 = 32,
    WORDS_32 = 18,
    R11 = 11,
    SP_32 = 13,
    LR_32 = 14,
    PC_32 = 15
};

static uint64_t word(struct cairn_span bytes, unsigned index, unsigned width)
{
    struct cairn_reader r = cairn_reader_of(bytes, false);
    cairn_reader_seek(&r, (uint64_t)index * width);
    return cairn_reader_word(&r, width);
}

bool cairn_regs_read(struct cairn_span prstatus, struct cairn_regs *ret_regs)
{
    bool is_64 = prstatus.size == WORDS_64 * 8, is_32 = prstatus.size == WORDS_32 * 4;
    if (!is_64 && !is_32)
        return false;
    unsigned width = is_64 ? 8 : 4;
    *ret_regs = (struct cairn_regs){
        .ip = word(prstatus, is_64 ? PC_64 : PC_32, width),
        .sp = word(prstatus, is_64 ? SP_64 : SP_32, width),
        .fp = word(prstatus, is_64 ? X29 : R11, width),
        .lr = word(prstatus, is_64 ? X30 : LR_32, width),
        .has_lr = true,
        .width = width,
    };
    return true;
}

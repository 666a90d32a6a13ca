/* SPDX-License-Identifier: MIT */
/*
 * struct user_regs_struct of <asm/ptrace.h>, in words of 8 bytes; a 32-bit program on a 64-bit
 * kernel shows i386's instead, in words of 4 bytes:
 *
 *     x86-64  | r15 r14 r13 r12 rbp ... orig_rax rip cs eflags rsp ss ... |   27 words
 *     i386    | ebx ecx edx esi edi ebp ... orig_eax eip cs eflags esp ss |   17 words
 */
#include "base/reader.h"
#include "proc/regs.h"

enum {
    WORDS_64 = 27,
    RBP = 4,
    RIP = 16,
    RSP = 19,
    FS_BASE = 21,
    WORDS_32 = 17,
    EBP = 5,
    EIP = 12,
    ESP = 15
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
        .ip = word(prstatus, is_64 ? RIP : EIP, width),
        .sp = word(prstatus, is_64 ? RSP : ESP, width),
        .fp = word(prstatus, is_64 ? RBP : EBP, width),
        .tp = is_64 ? word(prstatus, FS_BASE, width) : 0,
        .width = width,
    };
    return true;
}

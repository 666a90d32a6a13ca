/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * x86-64's rules (System V psABI 1.0, 3.2 and 3.6.2). The return address lies at CFA - 8 and the
 * caller's rsp is the CFA, always; the kind says where the CFA is:
 *
 *      28  25 24              9 8               0
 *     | kind |  n: words 16    |  fp: words 9    |
 *
 *     SP         rsp + 8n
 *     FP         rbp + 8n
 *     PLT        rsp + 8n, 8 more from byte `fp` of the stub's 16 on; the caller's rbp is rbp
 *     FP_DEREF   *(rbp - 8n): the stack was realigned, and the CFA kept (`main` of 32-bit habits)
 *     SP_DEREF   *(rsp + 8n) + 8: hand-written assembly that kept the old rsp
 *     FP_CHAIN   *rbp + 8n: rbp points to a record that links to the one at the frame's end (SBCL's
 *                call_into_lisp, which may have switched stacks in between)
 *
 * and `fp` where the caller's rbp is: 0: still in rbp; 511: at *rbp; else at CFA - 8 * fp.
 *
 * A hint of SIDE, n + 1: the return address is in rdi, and the CFA is rsp + 8n. So glibc's vfork(2)
 * keeps it from the child, which runs on the same stack.
 *
 * In a signal frame the kernel put a struct rt_sigframe (arch/x86/include/asm/sigframe.h, unchanged
 * since Linux 2.6): its ucontext lies at rsp once the handler returned.
 */
#ifndef CAIRN_UNWIND_RULE_X86_64_H
#define CAIRN_UNWIND_RULE_X86_64_H

#include "unwind/rule.h"

enum cairn_rule_x86_64 {
    CAIRN_X86_64_SP = CAIRN_RULE_OF_CPU, /* even: the two that a walker meets a thousand times */
    CAIRN_X86_64_FP,                     /* more often than the rest differ in one bit */
    CAIRN_X86_64_PLT,
    CAIRN_X86_64_FP_DEREF,
    CAIRN_X86_64_SP_DEREF,
    CAIRN_X86_64_FP_CHAIN
};

enum {
    CAIRN_X86_64_CFA_SHIFT = 9,
    CAIRN_X86_64_CFA_MAX = 0xffff,  /* words */
    CAIRN_X86_64_IN_DI_MAX = 30,    /* words, of a hint */
    CAIRN_X86_64_FP_SAME = 0,       /* the caller's rbp is the callee's */
    CAIRN_X86_64_FP_MAX = 0x1fe,    /* words below the CFA */
    CAIRN_X86_64_FP_AT_FP = 0x1ff,  /* the caller's rbp lies where rbp points */
    CAIRN_X86_64_SIGNAL_FP = 120,   /* bytes from rsp: uc_mcontext.gregs[REG_RBP], */
    CAIRN_X86_64_SIGNAL_SP = 160,   /* [REG_RSP], */
    CAIRN_X86_64_SIGNAL_IP = 168,   /* [REG_RIP] */
    CAIRN_X86_64_SIGNAL_GREGS = 40, /* r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip */
};

/* `cfa` and `fp` in words, within the bounds above. */
static inline uint32_t cairn_x86_64_rule(enum cairn_rule_x86_64 kind, uint32_t cfa, uint32_t fp)
{
    return cairn_rule_make(kind, cfa << CAIRN_X86_64_CFA_SHIFT | fp);
}

/* SP or FP: CFA = a register + cairn_x86_64_cfa(). */
static inline int cairn_x86_64_is_plain(uint32_t rule)
{
    return rule >> (CAIRN_RULE_PAYLOAD_BITS + 1) == CAIRN_X86_64_SP / 2;
}

/* Of a plain rule: is the register rbp? */
static inline int cairn_x86_64_is_fp(uint32_t rule)
{
    return rule >> CAIRN_RULE_PAYLOAD_BITS & 1;
}

/* 8n: bytes. */
static inline uint64_t cairn_x86_64_cfa(uint32_t rule)
{
    return (uint64_t)(cairn_rule_payload(rule) >> CAIRN_X86_64_CFA_SHIFT) * 8;
}

/* `fp` as it stands: SAME, AT_FP or words; of PLT: the byte of the stub. */
static inline uint32_t cairn_x86_64_fp(uint32_t rule)
{
    return rule & CAIRN_X86_64_FP_AT_FP;
}

/* Of PLT: the CFA. `ip` is where the CPU is in the stub (exact: nothing returns into one). */
static inline uint64_t cairn_x86_64_plt_cfa(uint32_t rule, uint64_t ip, uint64_t sp)
{
    return sp + cairn_x86_64_cfa(rule) + ((ip & 15) >= cairn_x86_64_fp(rule) ? 8 : 0);
}

#endif /* CAIRN_UNWIND_RULE_X86_64_H */

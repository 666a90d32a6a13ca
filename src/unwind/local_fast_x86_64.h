/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What local_fast.c must know of x86-64's rules; the contract is there.
 */
#ifndef CAIRN_UNWIND_LOCAL_FAST_X86_64_H
#define CAIRN_UNWIND_LOCAL_FAST_X86_64_H

#include "unwind/local_fast_rule.h"
#include "unwind/rule_x86_64.h"

enum {
    CAIRN_FAST_CFA_ALIGN = 8,
    CAIRN_FAST_RA = 8 /* always there */
};

static inline uintptr_t cairn_fast_lookup_va(uintptr_t ret)
{
    return ret - 1;
}

static inline uintptr_t cairn_fast_address(uintptr_t ret)
{
    return ret;
}

static inline bool cairn_fast_is_plain(uint32_t rule)
{
    return cairn_x86_64_is_plain(rule);
}

static inline bool cairn_fast_is_short(uint64_t rule)
{
    return rule >> CAIRN_RULE_PAYLOAD_BITS == CAIRN_X86_64_SP;
}

static inline bool cairn_fast_is_fp(uint32_t rule)
{
    return cairn_x86_64_is_fp(rule);
}

static inline uintptr_t cairn_fast_cfa(uint32_t rule)
{
    return (uintptr_t)cairn_x86_64_cfa(rule);
}

static inline uintptr_t cairn_fast_ra(uint32_t rule)
{
    (void)rule;
    return CAIRN_FAST_RA;
}

static inline uintptr_t cairn_fast_fp(uint32_t rule)
{
    return 8 * (uintptr_t)cairn_x86_64_fp(rule);
}

static inline bool cairn_fast_fp_is_at_fp(uint32_t rule)
{
    return cairn_x86_64_fp(rule) == CAIRN_X86_64_FP_AT_FP;
}

static inline enum cairn_fast_deref cairn_fast_deref(uint32_t rule)
{
    switch (cairn_rule_kind(rule)) {
    case CAIRN_X86_64_FP_DEREF:
    case CAIRN_X86_64_FP_CHAIN:
        return CAIRN_FAST_BY_FP;
    case CAIRN_X86_64_SP_DEREF:
        return CAIRN_FAST_BY_SP;
    default:
        return CAIRN_FAST_NO_DEREF;
    }
}

static inline uintptr_t cairn_fast_deref_slot(uint32_t rule, uintptr_t base)
{
    uintptr_t n = cairn_fast_cfa(rule);
    unsigned kind = cairn_rule_kind(rule);
    return kind == CAIRN_X86_64_FP_DEREF   ? base - n
           : kind == CAIRN_X86_64_FP_CHAIN ? base
                                           : base + n;
}

static inline uintptr_t cairn_fast_deref_cfa(uint32_t rule, uintptr_t word)
{
    unsigned kind = cairn_rule_kind(rule);
    return word + (kind == CAIRN_X86_64_SP_DEREF   ? 8
                   : kind == CAIRN_X86_64_FP_CHAIN ? cairn_fast_cfa(rule)
                                                   : 0);
}

#endif /* CAIRN_UNWIND_LOCAL_FAST_X86_64_H */

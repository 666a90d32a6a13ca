/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What local_fast.c must know of aarch64's rules; the contract is there. Return addresses are
 * compared as they lie on the stack, with their pointer authentication.
 */
#ifndef CAIRN_UNWIND_LOCAL_FAST_AARCH64_H
#define CAIRN_UNWIND_LOCAL_FAST_AARCH64_H

#include "unwind/local_fast_rule.h"
#include "unwind/rule_aarch64.h"

enum {
    CAIRN_FAST_CFA_ALIGN = 16,
    CAIRN_FAST_RA = 0 /* anywhere in the frame */
};

static inline uintptr_t cairn_fast_address(uintptr_t ret)
{
    return ret & (uintptr_t)CAIRN_AARCH64_ADDRESS_BITS;
}

static inline uintptr_t cairn_fast_lookup_va(uintptr_t ret)
{
    return cairn_fast_address(ret) - 1;
}

/* A leaf's return address is in a register, which a caller's is not. */
static inline bool cairn_fast_is_plain(uint32_t rule)
{
    unsigned form = cairn_aarch64_form(rule);
    return form == CAIRN_AARCH64_PAIR || form == CAIRN_AARCH64_RA || form == CAIRN_AARCH64_SPLIT;
}

static inline bool cairn_fast_is_short(uint64_t rule)
{
    uint64_t kind = rule >> CAIRN_RULE_PAYLOAD_BITS;
    return kind == CAIRN_AARCH64_PAIR || kind == CAIRN_AARCH64_RA || kind == CAIRN_AARCH64_SPLIT;
}

static inline bool cairn_fast_is_fp(uint32_t rule)
{
    return cairn_aarch64_is_fp(rule);
}

static inline uintptr_t cairn_fast_cfa(uint32_t rule)
{
    return cairn_aarch64_form(rule) == CAIRN_AARCH64_SPLIT ? cairn_aarch64_split_cfa(rule)
                                                           : cairn_aarch64_cfa(rule);
}

static inline uintptr_t cairn_fast_ra(uint32_t rule)
{
    switch (cairn_aarch64_form(rule)) {
    case CAIRN_AARCH64_PAIR:
        return cairn_aarch64_slot(rule) - 8;
    case CAIRN_AARCH64_SPLIT:
        return cairn_aarch64_split_ra(rule);
    default:
        return cairn_aarch64_slot(rule);
    }
}

static inline uintptr_t cairn_fast_fp(uint32_t rule)
{
    switch (cairn_aarch64_form(rule)) {
    case CAIRN_AARCH64_PAIR:
        return cairn_aarch64_slot(rule);
    case CAIRN_AARCH64_SPLIT:
        return cairn_aarch64_split_fp(rule);
    default:
        return 0;
    }
}

static inline bool cairn_fast_fp_is_at_fp(uint32_t rule)
{
    (void)rule;
    return false;
}

static inline enum cairn_fast_deref cairn_fast_deref(uint32_t rule)
{
    (void)rule;
    return CAIRN_FAST_NO_DEREF;
}

static inline uintptr_t cairn_fast_deref_slot(uint32_t rule, uintptr_t base)
{
    (void)rule;
    return base;
}

static inline uintptr_t cairn_fast_deref_cfa(uint32_t rule, uintptr_t word)
{
    (void)rule;
    return word;
}

#endif /* CAIRN_UNWIND_LOCAL_FAST_AARCH64_H */

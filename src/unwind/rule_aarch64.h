/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * aarch64's rules (AAPCS64, 6.4.6). The CFA is sp or x29 plus n, a multiple of 16, and the caller's
 * sp. A function may keep the return address in x30 (a leaf, or anyone before its prologue), or
 * save it: mostly beside x29, but that is a habit and no rule. Even kinds count from sp, odd ones
 * from x29:
 *
 *      28  25 24          13 12               0
 *     | kind | n: /16  12   | slot: words 13   |     PAIR   x29 at CFA - 8 slot, x30 one word above
 *                                                    RA     x30 at CFA - 8 slot, x29 untouched
 *                                                    LEAF   return address in x30; x29 at
 *                                                           CFA - 8 slot, or untouched where it
 *                                                           is 0
 *
 *      28  25 24     16 15      8 7         0
 *     | kind | n: /16 9 |  fp 8  |  ra: words 8 |    SPLIT  x29 at CFA - 8 fp, x30 at CFA - 8 ra
 *
 * LEAF holds for the innermost frame, or behind a signal frame, alone: a caller's x30 is the
 * return address into it, and a walk that believed it would never end.
 *
 * Every return address may carry pointer authentication: cairn_unwind_arch.code_address() takes
 * it off.
 */
#ifndef CAIRN_UNWIND_RULE_AARCH64_H
#define CAIRN_UNWIND_RULE_AARCH64_H

#include "unwind/rule.h"

enum cairn_rule_aarch64 {
    CAIRN_AARCH64_PAIR = CAIRN_RULE_OF_CPU, /* + CAIRN_AARCH64_FROM_FP: from x29, here and below */
    CAIRN_AARCH64_RA = CAIRN_AARCH64_PAIR + 2,
    CAIRN_AARCH64_LEAF = CAIRN_AARCH64_RA + 2,
    CAIRN_AARCH64_SPLIT = CAIRN_AARCH64_LEAF + 2
};

enum {
    CAIRN_AARCH64_FROM_FP = 1,
    CAIRN_AARCH64_CFA_SHIFT = 13,
    CAIRN_AARCH64_CFA_MAX = 0xfff,   /* of 16 bytes: 65,520 bytes */
    CAIRN_AARCH64_SLOT_MAX = 0x1fff, /* words */
    CAIRN_AARCH64_SPLIT_SHIFT = 16,
    CAIRN_AARCH64_SPLIT_CFA_MAX = 0x1ff, /* of 16 bytes: 8,176 bytes */
    CAIRN_AARCH64_SPLIT_SLOT_MAX = 0xff  /* words */
};

/* Four levels of tables: what lies above is pointer authentication or a tag. Addresses of 52 bits
 * are only given to programs that ask for them (Linux, Documentation/arch/arm64/memory.rst). */
static const uint64_t CAIRN_AARCH64_ADDRESS_BITS = (UINT64_C(1) << 48) - 1;

/* PAIR, RA, LEAF (each + FROM_FP): `cfa` of 16 bytes, `slot` in words, within the bounds above. */
static inline uint32_t cairn_aarch64_rule(unsigned kind, uint32_t cfa, uint32_t slot)
{
    return cairn_rule_make(kind, cfa << CAIRN_AARCH64_CFA_SHIFT | slot);
}

static inline uint32_t cairn_aarch64_split(unsigned kind, uint32_t cfa, uint32_t fp, uint32_t ra)
{
    return cairn_rule_make(kind, cfa << CAIRN_AARCH64_SPLIT_SHIFT | fp << 8 | ra);
}

/* A kind of the CPU without FROM_FP: PAIR, RA, LEAF, SPLIT; what else it gives is to be refused. */
static inline unsigned cairn_aarch64_form(uint32_t rule)
{
    return cairn_rule_kind(rule) & ~(unsigned)CAIRN_AARCH64_FROM_FP;
}

static inline int cairn_aarch64_is_fp(uint32_t rule)
{
    return rule >> CAIRN_RULE_PAYLOAD_BITS & CAIRN_AARCH64_FROM_FP;
}

/* What follows is in bytes. n, but for SPLIT: */
static inline uint64_t cairn_aarch64_cfa(uint32_t rule)
{
    return (uint64_t)(cairn_rule_payload(rule) >> CAIRN_AARCH64_CFA_SHIFT) * 16;
}

static inline uint64_t cairn_aarch64_slot(uint32_t rule)
{
    return (uint64_t)(rule & CAIRN_AARCH64_SLOT_MAX) * 8;
}

static inline uint64_t cairn_aarch64_split_cfa(uint32_t rule)
{
    return (uint64_t)(cairn_rule_payload(rule) >> CAIRN_AARCH64_SPLIT_SHIFT) * 16;
}

static inline uint64_t cairn_aarch64_split_fp(uint32_t rule)
{
    return (uint64_t)(rule >> 8 & CAIRN_AARCH64_SPLIT_SLOT_MAX) * 8;
}

static inline uint64_t cairn_aarch64_split_ra(uint32_t rule)
{
    return (uint64_t)(rule & CAIRN_AARCH64_SPLIT_SLOT_MAX) * 8;
}

#endif /* CAIRN_UNWIND_RULE_AARCH64_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Rule: how to get from one frame to its caller, in 29 bits, so that a pc and its rule are one
 * word that is read and written atomically:
 *
 *      63              29 28  25 24                 0
 *     | tag of the pc 35 | kind |      payload       |
 *
 * A rule gives the caller's pc, stack pointer and frame pointer, which is what a stack is made of.
 * The kinds here are those of every CPU; rule_CPU.h has its own ones, from CAIRN_RULE_OF_CPU on,
 * and says what their payload is. What fits no kind is SIDE: the rows of CFI are asked instead.
 *
 * A rule is a number that nobody vouched for (it may come out of a damaged table): every value is
 * safe to decode, and what it leads to is checked by who reads memory.
 */
#ifndef CAIRN_UNWIND_RULE_H
#define CAIRN_UNWIND_RULE_H

#include <stdint.h>

enum { CAIRN_RULE_BITS = 29, CAIRN_RULE_PAYLOAD_BITS = 25, CAIRN_RULE_MASK = 0x1fffffff };

enum cairn_rule_kind {
    CAIRN_RULE_NONE,      /* nothing covers the pc: the gap behind a function's end, or no CFI */
    CAIRN_RULE_OUTERMOST, /* the return address is undefined: the stack's root. Payload
                             CAIRN_RULE_SWITCHED: the caller is on another stack */
    CAIRN_RULE_SIDE, /* payload: a hint of the CPU's in the upper bits, below them the index of the
                        table's side entry; see cairn_unwind_table_side() */
    CAIRN_RULE_SIGNAL, /* the kernel's signal frame lies at the stack pointer */
    CAIRN_RULE_OF_CPU, /* 4..15 are each CPU's own */
    CAIRN_RULE_KINDS = 16
};

enum { CAIRN_RULE_SWITCHED = 1 };
enum { CAIRN_RULE_SIDE_BITS = 20, CAIRN_RULE_SIDE_MASK = 0xfffff };

/* `payload` must fit; what does not is the encoder's business. */
static inline uint32_t cairn_rule_make(unsigned kind, uint32_t payload)
{
    return (uint32_t)kind << CAIRN_RULE_PAYLOAD_BITS | payload;
}

/* 0..15, also of more than 29 bits. */
static inline unsigned cairn_rule_kind(uint32_t rule)
{
    return rule >> CAIRN_RULE_PAYLOAD_BITS & (CAIRN_RULE_KINDS - 1);
}

static inline uint32_t cairn_rule_payload(uint32_t rule)
{
    return rule & ((1u << CAIRN_RULE_PAYLOAD_BITS) - 1);
}

/* Of a rule of kind SIDE: what whoever has no rows of CFI can do in the innermost frame, where all
 * registers are known; rule_CPU.h says what. 0: nothing. */
static inline uint32_t cairn_rule_side_hint(uint32_t rule)
{
    return cairn_rule_payload(rule) >> CAIRN_RULE_SIDE_BITS;
}

#endif /* CAIRN_UNWIND_RULE_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local cache: the rules of this process's code that were asked for, for all threads. An entry is
 * exact: the bits of the address that are not its set are in it, and it is read and written as one
 * word; so there is no lock, and no entry is ever half of one and half of another.
 *
 *     entry = key of the address ^ rule (29 bits), in set (address >> 5 & 0x3fff); 0: none
 *
 * A set has four places, of which each 8 bytes of code have one that is looked at first: calls are
 * rarely nearer to each other, so that the others are hardly ever needed. Neighbours in the code
 * are neighbours here, a cache line for 64 bytes of code.
 */
#ifndef CAIRN_UNWIND_LOCAL_CACHE_H
#define CAIRN_UNWIND_LOCAL_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/rule.h"

enum {
    CAIRN_LOCAL_CACHE_BITS = 14,
    CAIRN_LOCAL_CACHE_WAYS = 4,
    CAIRN_LOCAL_CACHE_LOW = 5 /* below the set's bits */
};

/* Addresses that share a place drive each other out, and each time it costs a microsecond: with two
 * places a set, one stack in ten of a program with 4,000 call sites still met such a one. */
struct cairn_local_cache_set {
    _Atomic(uint64_t) entries[CAIRN_LOCAL_CACHE_WAYS];
};

/* 512 KiB, of which only what is used is ever touched. */
extern struct cairn_local_cache_set cairn_local_cache[1 << CAIRN_LOCAL_CACHE_BITS];

static inline struct cairn_local_cache_set *cairn_local_cache_set_of(uintptr_t va)
{
    return &cairn_local_cache[va >> CAIRN_LOCAL_CACHE_LOW & ((1 << CAIRN_LOCAL_CACHE_BITS) - 1)];
}

/* The place in its set that is looked at first; the i-th one is that ^ i. */
static inline unsigned cairn_local_cache_home(uintptr_t va)
{
    return va >> 3 & (CAIRN_LOCAL_CACHE_WAYS - 1);
}

/* Addresses that this is right for; more has only who asks mmap(2) for it (5-level page tables). */
static inline bool cairn_local_cache_covers(uintptr_t va)
{
    return (uint64_t)va >> 49 == 0;
}

/* By one multiplication, for it is made for every frame. No two addresses of a set have the same
 * bits from 29 on, which are the sum of va and va >> 14: the lowest five give va's, for what was
 * added to them is the set's; bit 5 gives bit 19 of va, for bit 5 is the set's, bit 6 bit 20, and
 * so on to bit 48. */
static inline uint64_t cairn_local_cache_key(uintptr_t va)
{
    _Static_assert(CAIRN_RULE_BITS == 29, "the key is made so that a rule fits below it");
    uint64_t by = (UINT64_C(1) << 29) + (1 << 15);
    if (sizeof(va) == sizeof(by))
        __asm__("" : "+r"(by)); /* a multiplication it stays, not two shifts and an addition */
    return va * by;
}

static inline uint64_t cairn_local_cache_entry(uintptr_t va, uint32_t rule)
{
    return cairn_local_cache_key(va) ^ rule;
}

/* Where an address is looked for the i-th time. */
static inline const _Atomic(uint64_t) *cairn_local_cache_place(uintptr_t va, unsigned i)
{
    enum { BYTES = sizeof(uint64_t) * CAIRN_LOCAL_CACHE_WAYS << CAIRN_LOCAL_CACHE_BITS };
    _Static_assert(CAIRN_LOCAL_CACHE_WAYS == 1 << (CAIRN_LOCAL_CACHE_LOW - 3), "sets have no gaps");
    uintptr_t at = (va & (BYTES - sizeof(uint64_t))) ^ i * sizeof(uint64_t);
    __asm__("" : "+r"(at)); /* bytes they stay, for an index takes one instruction more */
    return (const _Atomic(uint64_t) *)(const void *)((const char *)cairn_local_cache + at);
}

/* What is remembered where an address is looked for first: its rule, or a number of more than
 * CAIRN_RULE_BITS bits. Of an address that is covered; else it may be another one's. */
static inline uint64_t cairn_local_cache_at_home(uintptr_t va)
{
    uint64_t entry = atomic_load_explicit(cairn_local_cache_place(va, 0), memory_order_relaxed);
    return __builtin_expect(entry != 0, 1) ? entry ^ cairn_local_cache_key(va) : UINT64_MAX;
}

/* The rule for the instruction at `va`, which is not in the cache: made, and remembered where that
 * may be. About a microsecond. NONE where there is none. */
uint32_t cairn_local_cache_miss(uintptr_t va);

static inline uint32_t cairn_local_cache_rule(uintptr_t va)
{
    const struct cairn_local_cache_set *set = cairn_local_cache_set_of(va);
    unsigned home = cairn_local_cache_home(va);
    for (unsigned i = 0; i < CAIRN_LOCAL_CACHE_WAYS; i++) {
        uint64_t entry = atomic_load_explicit(&set->entries[home ^ i], memory_order_relaxed);
        uint64_t rule = entry ^ cairn_local_cache_key(va);
        if (__builtin_expect(rule >> CAIRN_RULE_BITS == 0 && entry && cairn_local_cache_covers(va),
                             1))
            return (uint32_t)rule;
    }
    return cairn_local_cache_miss(va);
}

/* Is the rule known, and this one, in the i-th place? */
static inline bool cairn_local_cache_has_at(uintptr_t va, uint32_t rule, unsigned i)
{
    uint64_t wanted = cairn_local_cache_entry(va, rule);
    return atomic_load_explicit(cairn_local_cache_place(va, i), memory_order_relaxed) == wanted &&
           wanted && cairn_local_cache_covers(va);
}

/* In any place? If so it is mostly in the second one: two calls are within the same 8 bytes. */
static inline bool cairn_local_cache_has(uintptr_t va, uint32_t rule)
{
    if (__builtin_expect(cairn_local_cache_has_at(va, rule, 1), 1))
        return true;
    for (unsigned i = 0; i < CAIRN_LOCAL_CACHE_WAYS; i++)
        if (cairn_local_cache_has_at(va, rule, i))
            return true;
    return false;
}

void cairn_local_cache_clear(void);

#endif /* CAIRN_UNWIND_LOCAL_CACHE_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local cache: the rules of this process's code that were asked for, for all threads. An entry is
 * exact: the low bits of the address are its place, the others are in it, and it is read and
 * written as one word; so there is no lock, and no entry is ever half of one and half of another.
 *
 *     63            29 28        0
 *     | address >> 16 |   rule    |     at place (address & 0xffff)
 */
#ifndef CAIRN_UNWIND_LOCAL_CACHE_H
#define CAIRN_UNWIND_LOCAL_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/rule.h"

enum { CAIRN_LOCAL_CACHE_BITS = 16 };

/* 512 KiB, of which only what is used is ever touched. */
extern _Atomic(uint64_t) cairn_local_cache[1 << CAIRN_LOCAL_CACHE_BITS];

static inline uint64_t cairn_local_cache_entry(uintptr_t va, uint32_t rule)
{
    return (uint64_t)(va >> CAIRN_LOCAL_CACHE_BITS) << CAIRN_RULE_BITS | rule;
}

/* Whatever is at the place of `va`. */
static inline uint64_t cairn_local_cache_at(uintptr_t va)
{
    return atomic_load_explicit(&cairn_local_cache[va & ((1 << CAIRN_LOCAL_CACHE_BITS) - 1)],
                                memory_order_relaxed);
}

/* Is the entry that of `va`? Those of no address, zeros, are nobody's: no code lies below 64 KiB.
 */
static inline bool cairn_local_cache_is_of(uint64_t entry, uintptr_t va)
{
    return entry >> CAIRN_RULE_BITS == va >> CAIRN_LOCAL_CACHE_BITS;
}

/* The rule for the instruction at `va`, which is not in the cache: made, and remembered where that
 * may be. Some microseconds. NONE where there is none. */
uint32_t cairn_local_cache_miss(uintptr_t va);

static inline uint32_t cairn_local_cache_rule(uintptr_t va)
{
    uint64_t entry = cairn_local_cache_at(va);
    if (__builtin_expect(cairn_local_cache_is_of(entry, va), 1))
        return (uint32_t)entry & ((1u << CAIRN_RULE_BITS) - 1);
    return cairn_local_cache_miss(va);
}

void cairn_local_cache_clear(void);

#endif /* CAIRN_UNWIND_LOCAL_CACHE_H */

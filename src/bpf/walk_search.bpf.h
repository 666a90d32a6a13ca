/* SPDX-License-Identifier: MIT */
/*
 * Walk search: from an address to its rule, for walk.bpf.c alone. See walk.h for what lies where.
 *
 * The verifier follows both ways of each branch, so that searches have none within: a comparison is
 * the sign of a difference. And they stand in global functions, which it looks at once and alone.
 */
#ifndef CAIRN_BPF_WALK_SEARCH_H
#define CAIRN_BPF_WALK_SEARCH_H

#include "bpf/kernel.h"
#include "bpf/walk.h"
#include "unwind/rule.h"

enum { SEARCH_STEPS = 9 }; /* of 500 ranges, or of 256 rows */

/* In a cached rule, above its bits: what else is known of the place. */
#define PLACE_FP_OK   (1u << 29)
#define PLACE_NO_ROOM (1u << 30)
#define PLACE_IS_CODE (1u << 31)

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_BPF_SPACES_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct cairn_bpf_space);
} spaces SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, CAIRN_BPF_STRIPS_MAX);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, __u64);
} strips SEC(".maps");

struct segment {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, CAIRN_BPF_SEGMENT_BYTES);
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, CAIRN_BPF_SEGMENTS_MAX);
    __type(key, __u32);
    __array(values, struct segment);
} segments SEC(".maps");

/* Keeps the compiler from knowing better: it drops masks that the verifier wants to see. */
#define HIDE(value) asm volatile("" : "+r"(value))

/* 1 where a < b, else 0, without a branch; both below 2^63. */
static __always_inline __u64 is_less(__u64 a, __u64 b)
{
    __u64 difference = a - b;
    HIDE(difference);
    return difference >> 63;
}

/* The range that holds `va`: its number, or CAIRN_BPF_RANGES_MAX. */
__attribute__((noinline)) __u32 cairn_find_range(struct cairn_bpf_space *space, __u64 va)
{
    if (!space || va >> 63)
        return CAIRN_BPF_RANGES_MAX;
    __u64 at = 0, n = space->n;
    if (n > CAIRN_BPF_RANGES_MAX)
        n = CAIRN_BPF_RANGES_MAX;
    for (int i = 0; i < SEARCH_STEPS && n; i++) { /* the first that ends above va */
        __u64 half = n >> 1, middle = at + half;
        HIDE(middle);
        if (middle >= CAIRN_BPF_RANGES_MAX)
            return CAIRN_BPF_RANGES_MAX;
        __u64 below = is_less(space->ranges[middle].end, va + 1);
        at += (half + 1) & -below;
        n = half - (below & ~n);
    }
    HIDE(at);
    if (at >= CAIRN_BPF_RANGES_MAX || at >= space->n || space->ranges[at].start > va)
        return CAIRN_BPF_RANGES_MAX;
    return (__u32)at;
}

static __always_inline __u8 *segment_of(__u32 number)
{
    __u32 zero = 0;
    void *segment = bpf_map_lookup_elem(&segments, &number);
    return segment ? bpf_map_lookup_elem(segment, &zero) : 0;
}

static __always_inline __u32 word_at(__u8 *segment, __u64 at)
{
    at &= CAIRN_BPF_SEGMENT_BYTES - 4;
    HIDE(at);
    at &= CAIRN_BPF_SEGMENT_BYTES - 4;
    return *(__u32 *)(segment + at);
}

static __always_inline __u8 byte_at(__u8 *segment, __u64 at)
{
    at &= CAIRN_BPF_SEGMENT_BYTES - 1;
    HIDE(at);
    at &= CAIRN_BPF_SEGMENT_BYTES - 1;
    return segment[at];
}

/* The rule at an offset of a module's text. Two loads of maps, then three of the strip; a search of
 * as many steps as a page has bits of rows. */
__attribute__((noinline)) __u32 cairn_find_rule(__u32 first_strip, __u64 text)
{
    __u32 number = first_strip + (__u32)(text >> CAIRN_BPF_STRIP_SHIFT);
    __u64 *strip = bpf_map_lookup_elem(&strips, &number);
    if (!strip)
        return CAIRN_RULE_NONE;
    __u64 place = *strip, segment_number = place >> 48;
    if (!segment_number)
        return (__u32)place & CAIRN_RULE_MASK;
    __u8 *segment = segment_of((__u32)segment_number - 1);
    if (!segment)
        return CAIRN_RULE_NONE;
    __u64 rows = place & ((1u << CAIRN_BPF_STRIP_ROWS_BITS) - 1);
    __u64 begin = (place >> CAIRN_BPF_STRIP_ROWS_BITS & ((1u << CAIRN_BPF_STRIP_AT_BITS) - 1)) * 16;
    __u64 rules = begin + CAIRN_BPF_STRIP_RULES, low = rules + 4 * rows;
    __u64 page = begin + 4 * (text >> 8 & (CAIRN_BPF_STRIP_PAGES - 1));
    __u64 at = word_at(segment, page), n = word_at(segment, page + 4) - at;
    __u64 key = text & 0xff;
    for (int i = 0; i < SEARCH_STEPS && n; i++) { /* the first that begins above */
        __u64 half = n >> 1;
        __u64 below = is_less(byte_at(segment, low + at + half), key + 1);
        at += (half + 1) & -below;
        n = half - (below & ~n);
    }
    return word_at(segment, rules + 4 * (at - 1)) & CAIRN_RULE_MASK;
}

#endif /* CAIRN_BPF_WALK_SEARCH_H */

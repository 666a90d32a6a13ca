/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <arm_neon.h>

#include "unwind/page_search.h"

/* Every aarch64 with Linux has NEON. It has no mask of a bit a byte, but one of four bits. */
static inline uint32_t count_neon(const uint8_t *low, uint32_t n, uint8_t key)
{
    const uint8x16_t keys = vdupq_n_u8(key);
    uint32_t count = 0;
    do {
        uint8x16_t above = vcgtq_u8(vld1q_u8(low + count), keys);
        uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(above), 4);
        uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
        uint32_t more = mask ? (uint32_t)__builtin_ctzll(mask) / 4 : 16;
        count += more;
        if (__builtin_expect(more < 16, 1))
            break;
    } while (count < n);
    return count < n ? count : n;
}

uint32_t cairn_unwind_table_find(const struct cairn_unwind_table *table, uint64_t vaddr)
{
    return cairn_unwind_table_find_by(table, vaddr, count_neon);
}

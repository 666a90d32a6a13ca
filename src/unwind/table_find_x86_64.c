/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <emmintrin.h>

#include "unwind/page_search.h"

/* SSE2 is in every x86-64. The bytes rise, so the ones that are not above the key come first. */
static inline uint32_t count_sse2(const uint8_t *low, uint32_t n, uint8_t key)
{
    const __m128i keys = _mm_set1_epi8((char)key);
    uint32_t count = 0;
    do {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(low + count));
        __m128i is = _mm_cmpeq_epi8(_mm_min_epu8(bytes, keys), bytes);
        uint32_t more = (uint32_t)__builtin_ctz(~(uint32_t)_mm_movemask_epi8(is));
        count += more;
        if (__builtin_expect(more < 16, 1))
            break;
    } while (count < n);
    return count < n ? count : n;
}

uint32_t cairn_unwind_table_find(const struct cairn_unwind_table *table, uint64_t vaddr)
{
    return cairn_unwind_table_find_by(table, vaddr, count_sse2);
}

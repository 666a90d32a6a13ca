/* SPDX-License-Identifier: MIT */
/* Where code lies, and the one sort that tables of addresses need. */
#include "dwarf/sections.h"

#include "base/alloc.h"

bool cairn_dwarf_is_code(const struct cairn_dwarf *d, uint64_t vaddr)
{
    size_t low = 0, high = d->n_code;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (vaddr < d->code[mid].low)
            high = mid;
        else if (vaddr >= d->code[mid].high)
            low = mid + 1;
        else
            return true;
    }
    return false;
}

bool cairn_dwarf_place(const struct cairn_dwarf *d, uint64_t low, uint64_t high, uint32_t *ret_low,
                       uint32_t *ret_high)
{
    return high > low && cairn_dwarf_is_code(d, low) &&
           cairn_dwarf_place_code(d, low, high, ret_low, ret_high);
}

bool cairn_dwarf_place_code(const struct cairn_dwarf *d, uint64_t low, uint64_t high,
                            uint32_t *ret_low, uint32_t *ret_high)
{
    uint64_t base = cairn_dwarf_base(d);
    if (low - base >= UINT32_MAX)
        return false;
    *ret_low = (uint32_t)(low - base);
    *ret_high = high - base < UINT32_MAX ? (uint32_t)(high - base) : UINT32_MAX;
    return true;
}

/* Radix sort: a unit's addresses are dense, so that mostly two of three passes find more than one
 * digit. A few records are not worth the counters of many digits. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FEW = 1024, FEW_BITS = 8, RECORD_MAX = 32 };

static uint32_t key_of(const uint8_t *record)
{
    uint32_t key;
    memcpy(&key, record, sizeof key);
    return key;
}

static bool is_sorted(const uint8_t *records, size_t n, size_t size)
{
    for (size_t i = 1; i < n; i++)
        if (key_of(records + i * size) < key_of(records + (i - 1) * size))
            return false;
    return true;
}

static void insertion_sort(uint8_t *records, size_t n, size_t size)
{
    for (size_t i = 1; i < n; i++) {
        uint8_t moved[RECORD_MAX];
        memcpy(moved, records + i * size, size);
        size_t at = i;
        for (; at && key_of(records + (at - 1) * size) > key_of(moved); at--)
            memcpy(records + at * size, records + (at - 1) * size, size);
        memcpy(records + at * size, moved, size);
    }
}

/* One stable pass by `bits` bits. Inlined, so that a record of a size that the compiler knows is
 * moved without a call. */
static inline __attribute__((always_inline)) void sort_digit_of(const uint8_t *from, uint8_t *to,
                                                                size_t n, size_t size,
                                                                unsigned shift, unsigned bits)
{
    uint32_t start[DIGITS];
    const uint32_t n_digits = 1u << bits;
    memset(start, 0, n_digits * sizeof *start);
    for (size_t i = 0; i < n; i++)
        start[key_of(from + i * size) >> shift & (n_digits - 1)]++;
    for (uint32_t digit = 0, sum = 0; digit < n_digits; digit++) {
        uint32_t count = start[digit];
        start[digit] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t *record = from + i * size;
        memcpy(to + (size_t)start[key_of(record) >> shift & (n_digits - 1)]++ * size, record, size);
    }
}

static void sort_digit(const uint8_t *from, uint8_t *to, size_t n, size_t size, unsigned shift,
                       unsigned bits)
{
    switch (size) {
    case 8:
        sort_digit_of(from, to, n, 8, shift, bits);
        break;
    case 12:
        sort_digit_of(from, to, n, 12, shift, bits);
        break;
    case 16:
        sort_digit_of(from, to, n, 16, shift, bits);
        break;
    default:
        sort_digit_of(from, to, n, size, shift, bits);
        break;
    }
}

/* The bits in which not all keys are the same. */
static uint32_t differing_bits(const uint8_t *records, size_t n, size_t size)
{
    uint32_t first = key_of(records), differing = 0;
    for (size_t i = 1; i < n; i++)
        differing |= key_of(records + i * size) ^ first;
    return differing;
}

int cairn_dwarf_sort(void *records, size_t n, size_t size)
{
    if (is_sorted(records, n, size))
        return CAIRN_OK;
    if (n <= 32) {
        insertion_sort(records, n, size);
        return CAIRN_OK;
    }
    uint8_t *spare = n < UINT32_MAX ? cairn_realloc(NULL, n, size) : NULL;
    if (!spare)
        return CAIRN_E_NOMEM;
    uint8_t *from = records, *to = spare;
    const unsigned bits = n < FEW ? FEW_BITS : DIGIT_BITS;
    const uint32_t differing = differing_bits(records, n, size);
    for (unsigned shift = 0; shift < 32; shift += bits) {
        if (!(differing >> shift & ((1u << bits) - 1)))
            continue;
        sort_digit(from, to, n, size, shift, bits);
        uint8_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from == spare)
        memcpy(records, spare, n * size);
    cairn_free(spare);
    return CAIRN_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * Debug sections in one piece of bytes, for fuzz targets of the room dwarf:
 *
 *     | flags: 1 = the other byte order | 10 sizes of 2 bytes, little-endian | the 10 sections |
 *
 * in the order of struct cairn_dwarf. Sizes that run past the end are cut. Machine code is
 * [0x1000, 0x200000).
 */
#ifndef CAIRN_TESTS_DWARFPACK_H
#define CAIRN_TESTS_DWARFPACK_H

#include "dwarf/sections.h"

enum { TEST_DWARF_SECTIONS = 10, TEST_DWARF_HEADER = 1 + 2 * TEST_DWARF_SECTIONS };

static const struct cairn_dwarf_range test_dwarf_code = {0x1000, 0x200000};

static inline bool test_dwarf_unpack(const uint8_t *data, size_t size, struct cairn_dwarf *ret_d)
{
    struct cairn_dwarf d = {.code = &test_dwarf_code, .n_code = 1};
    struct cairn_span *sections[TEST_DWARF_SECTIONS] = {
        &d.info,        &d.abbrev, &d.line,   &d.str,      &d.line_str,
        &d.str_offsets, &d.addr,   &d.ranges, &d.rnglists, &d.aranges};
    if (size < TEST_DWARF_HEADER)
        return false;
    d.swap = data[0] & 1;
    size_t at = TEST_DWARF_HEADER;
    for (int i = 0; i < TEST_DWARF_SECTIONS; i++) {
        size_t n = data[1 + 2 * i] | (size_t)data[2 + 2 * i] << 8;
        if (n > size - at)
            n = size - at;
        *sections[i] = (struct cairn_span){data + at, n};
        at += n;
    }
    *ret_d = d;
    return true;
}

#endif /* CAIRN_TESTS_DWARFPACK_H */

/* SPDX-License-Identifier: MIT */
/*
 * What everything in this room reads from: the debug sections of one file, decompressed, and where
 * its machine code lies. The room opens no file: whoever fills this struct keeps the bytes alive
 * for as long as anything made from it is in use (names are pointers into the string sections).
 */
#ifndef CAIRN_DWARF_SECTIONS_H
#define CAIRN_DWARF_SECTIONS_H

#include <cairn/error.h>

#include "base/reader.h"

/* [low, high) in vaddr. */
struct cairn_dwarf_range {
    uint64_t low, high;
};

struct cairn_dwarf {
    const char *path; /* of the file, for messages; NULL: not known */
    struct cairn_span info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists,
        aranges;               /* absent ones are empty */
    struct cairn_span alt_str; /* .debug_str of the supplementary file */
    bool str_is_sound; /* every text of `str` ends, and none is too long: cairn_dwarf_check_texts()
                        */
    bool line_str_is_sound; /* likewise */
    bool is_types;          /* `info` is a .debug_types, which DWARF 4 has for type units */
    bool is_dwo; /* the sections of a .dwo or .dwp; `addr` and `ranges` are the module's */
    bool swap;   /* file and host differ in byte order */

    /*
     * The executable sections, sorted and disjoint. Ranges and line sequences that do not begin in
     * one describe code that the linker threw away (tombstones 0, 1, -1, -2 and their like).
     */
    const struct cairn_dwarf_range *code;
    size_t n_code;
};

static inline const char *cairn_dwarf_path(const struct cairn_dwarf *d)
{
    return d->path ? d->path : "debug information";
}

/* Tables count addresses as 32-bit distances from the first byte of code; code beyond 4 GiB of it
 * is left unnamed. */
static inline uint64_t cairn_dwarf_base(const struct cairn_dwarf *d)
{
    return d->n_code ? d->code[0].low : 0;
}

/* Is there machine code at `vaddr`? */
bool cairn_dwarf_is_code(const struct cairn_dwarf *d, uint64_t vaddr);

/* [low, high) as distances from the base; false where it is empty, no code, or too far away. */
bool cairn_dwarf_place(const struct cairn_dwarf *d, uint64_t low, uint64_t high, uint32_t *ret_low,
                       uint32_t *ret_high);
/* The same for what is not empty and begins in code, as ranges do. */
bool cairn_dwarf_place_code(const struct cairn_dwarf *d, uint64_t low, uint64_t high,
                            uint32_t *ret_low, uint32_t *ret_high);

/* Sorts `n` records of `size` bytes (at most 32) by the uint32_t that each begins with; records
 * with equal keys keep their order. CAIRN_OK or CAIRN_E_NOMEM, then nothing has changed. */
int cairn_dwarf_sort(void *records, size_t n, size_t size);

#endif /* CAIRN_DWARF_SECTIONS_H */

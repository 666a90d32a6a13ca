/* SPDX-License-Identifier: MIT */
/*
 * Discriminators (DWARF 5, 6.2.2): which of several pieces of code of one line an address lies in.
 * Few ask for them, so they are no part of the rows that everybody reads.
 */
#ifndef CAIRN_DWARF_DISCRIMINATOR_H
#define CAIRN_DWARF_DISCRIMINATOR_H

#include "dwarf/unit.h"

/* In force from `low` (a distance from cairn_dwarf_base()) to the next one. */
struct cairn_dwarf_discriminator {
    uint32_t low;
    uint32_t value; /* 0: none; UINT32_MAX: the program says nothing from here on */
};

struct cairn_dwarf_discriminators {
    struct cairn_dwarf_discriminator *list; /* sorted by low, no two neighbours with one value */
    size_t n;
};

/* Runs the line program of an open unit; one without a program gives none. Errors and what is kept
 * after them: as cairn_dwarf_lines_read(). */
int cairn_dwarf_discriminators_read(const struct cairn_dwarf *d,
                                    const struct cairn_dwarf_unit *unit,
                                    struct cairn_dwarf_discriminators *ret_discriminators,
                                    struct cairn_err *err);
void cairn_dwarf_discriminators_done(struct cairn_dwarf_discriminators *discriminators);

/* False: no row of the unit holds `at`. */
bool cairn_dwarf_discriminators_find(const struct cairn_dwarf_discriminators *discriminators,
                                     uint32_t at, uint32_t *ret_value);

#endif /* CAIRN_DWARF_DISCRIMINATOR_H */

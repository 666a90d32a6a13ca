/* SPDX-License-Identifier: MIT */
/* The link to a supplementary file, into which dwz moves what several files have in common:
 * .gnu_debugaltlink, or .debug_sup in DWARF 5 (7.3.6). */
#ifndef CAIRN_DWARF_SUP_H
#define CAIRN_DWARF_SUP_H

#include <cairn/error.h>

#include "base/reader.h"

struct cairn_dwarf_sup {
    const char *name; /* path of the other file, "" in the supplementary file itself; borrowed */
    struct cairn_span id; /* what both files have: its build ID, or the checksum of .debug_sup */
    bool is_sup;          /* this is the supplementary file */
};

/* CAIRN_E_FORMAT: damaged. */
int cairn_dwarf_read_altlink(struct cairn_span section, struct cairn_dwarf_sup *ret_sup,
                             struct cairn_err *err);
int cairn_dwarf_read_sup(struct cairn_span section, bool swap, struct cairn_dwarf_sup *ret_sup,
                         struct cairn_err *err);

#endif /* CAIRN_DWARF_SUP_H */

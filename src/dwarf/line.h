/* SPDX-License-Identifier: MIT */
/*
 * Line programs (DWARF 5, 6.2; versions 2 to 5): from a byte code to rows "from this address on,
 * this line of this file".
 */
#ifndef CAIRN_DWARF_LINE_H
#define CAIRN_DWARF_LINE_H

#include "dwarf/unit.h"

enum { CAIRN_DWARF_NO_FILE = -1 }; /* as uint32_t: no row is in force from here on */

/* In force from `low` (a distance from cairn_dwarf_base()) to the next row. */
struct cairn_dwarf_row {
    uint32_t low;
    uint32_t file; /* index in files; (uint32_t)CAIRN_DWARF_NO_FILE ends a sequence */
    uint32_t line; /* 0: the compiler says that no line made this code */
};

struct cairn_dwarf_file {
    const char *name; /* NULL: damaged */
    uint32_t dir;     /* index in dirs */
};

/* Names are borrowed from the sections. */
struct cairn_dwarf_lines {
    struct cairn_dwarf_row *rows; /* sorted by low, no two with the same */
    size_t n_rows, cap_rows;
    struct cairn_dwarf_file *files; /* indexed as the program and DW_AT_call_file do */
    size_t n_files, cap_files;
    const char **dirs; /* 0: the folder of compilation; the others may be relative to it */
    size_t n_dirs, cap_dirs;
    size_t n_bytes; /* of header and program that were read, up to the damage if there is some */
};

/*
 * Runs the program of an open unit. Where the last of several rows at one address wins, equal
 * neighbours melt, and where two sequences claim the same code the one that begins first keeps it.
 * A unit without a program gives no rows. CAIRN_E_FORMAT: a damaged header or program; the whole
 * sequences before the damage are kept in `ret_lines` all the same. CAIRN_E_LIMIT, CAIRN_E_NOMEM.
 */
int cairn_dwarf_lines_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                           struct cairn_dwarf_lines *ret_lines, struct cairn_err *err);

/* The same, in memory that `lines` has from the unit before it. */
int cairn_dwarf_lines_read_again(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                 struct cairn_dwarf_lines *lines, struct cairn_err *err);

/* The same with rows of statements alone (is_stmt), where a debugger puts a breakpoint: a row is
 * where a line begins. What stands between them is not told. */
int cairn_dwarf_statements_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                struct cairn_dwarf_lines *ret_lines, struct cairn_err *err);
void cairn_dwarf_lines_done(struct cairn_dwarf_lines *lines);

#endif /* CAIRN_DWARF_LINE_H */

/* SPDX-License-Identifier: MIT */
/* The head of a line program: what its opcodes mean, and the tables of folders and files. */
#ifndef CAIRN_DWARF_LINE_HEADER_H
#define CAIRN_DWARF_LINE_HEADER_H

#include "dwarf/line.h"

struct cairn_dwarf_line_header {
    uint64_t program, end; /* in .debug_line */
    uint16_t version;
    uint8_t offset_size;
    uint8_t min_length; /* bytes of the smallest instruction */
    uint8_t max_ops;    /* operations per instruction; 1 but on VLIW machines */
    bool default_is_stmt;
    int8_t line_base; /* special opcodes: DWARF 5, 6.2.5.1 */
    uint8_t line_range;
    uint8_t opcode_base;
    const uint8_t *lengths; /* operands of the standard opcodes; [0] is that of opcode 1 */
};

/* Reads the header at the unit's place in .debug_line and fills dirs and files of `lines`. */
int cairn_dwarf_line_header_read(const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                 struct cairn_dwarf_line_header *ret_header,
                                 struct cairn_dwarf_lines *lines, struct cairn_err *err);

/* CAIRN_E_NOMEM, or CAIRN_E_LIMIT above a million files. */
int cairn_dwarf_line_add_file(struct cairn_dwarf_lines *lines, const char *name, uint64_t dir,
                              struct cairn_err *err);

#endif /* CAIRN_DWARF_LINE_HEADER_H */

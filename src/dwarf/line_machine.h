/* SPDX-License-Identifier: MIT */
/*
 * The machine that runs line programs (DWARF 5, 6.2.2), opcode by opcode, and what it makes rows
 * of:
 *
 *     line.c            files and lines, with a faster way through the simple opcodes
 *     discriminator.c   discriminators
 *
 *     program:  set_address A | special | special | ... | end_sequence | set_address B | ...
 *     rows:     \------------- a sequence --------------/
 */
#ifndef CAIRN_DWARF_LINE_MACHINE_H
#define CAIRN_DWARF_LINE_MACHINE_H

#include "base/alloc.h"
#include "dwarf/line_header.h"

/* Whole rows of `lines->rows`, in the order of the program; begins with `low` for the sort. */
struct cairn_dwarf_sequence {
    uint32_t low, high;
    uint32_t first, n; /* rows, without one for the end */
};

struct cairn_dwarf_line_machine {
    const struct cairn_dwarf *d;
    struct cairn_dwarf_line_header h;
    struct cairn_dwarf_lines *lines;
    struct cairn_reader r;
    uint64_t base;

    uint64_t vaddr;
    uint32_t op_index;
    uint32_t file, line;
    uint32_t discriminator; /* of the next row alone */
    bool is_stmt;
    bool has_statements_alone; /* other rows are left out */
    bool tells_discriminator;  /* rows have it as their line, and no file */

    size_t first_row; /* of the sequence that runs */
    bool begun;       /* it had a row */
    bool dropped;     /* the first one was outside machine code */
    bool unsorted;
    bool no_memory;

    struct cairn_dwarf_sequence *sequences;
    size_t n_sequences, cap_sequences;
};

static inline void cairn_dwarf_line_push(struct cairn_dwarf_line_machine *m,
                                         struct cairn_dwarf_row row)
{
    struct cairn_dwarf_lines *lines = m->lines;
    if (lines->n_rows == lines->cap_rows &&
        cairn_grow((void **)&lines->rows, &lines->cap_rows, lines->n_rows + 1,
                   sizeof *lines->rows) < 0) {
        m->no_memory = true;
        m->r.failed = true;
        return;
    }
    lines->rows[lines->n_rows++] = row;
}

/* A row: the last one at an address wins, and one that says the same as the row before it is left
 * out. */
static inline void cairn_dwarf_line_add_at(struct cairn_dwarf_line_machine *m, uint64_t vaddr,
                                           uint32_t file, uint32_t line)
{
    struct cairn_dwarf_lines *lines = m->lines;
    if (!m->begun) {
        m->begun = true;
        m->dropped = !cairn_dwarf_is_code(m->d, vaddr);
    }
    uint64_t low = vaddr - m->base;
    if (m->dropped || low >= UINT32_MAX)
        return;
    struct cairn_dwarf_row row = {(uint32_t)low, file, line};
    if (lines->n_rows > m->first_row) {
        struct cairn_dwarf_row *last = &lines->rows[lines->n_rows - 1];
        if (last->low == row.low) {
            *last = row;
            return;
        }
        if (last->low > row.low)
            m->unsorted = true;
        else if (last->line == row.line && last->file == row.file)
            return;
    }
    cairn_dwarf_line_push(m, row);
}

/* Sets the machine to the start of a program, whose header fills dirs and files of `lines`. Errors
 * of cairn_dwarf_line_header_read(); after none of them there is something to run or end. */
int cairn_dwarf_line_machine_begin(struct cairn_dwarf_line_machine *ret_machine,
                                   const struct cairn_dwarf *d, const struct cairn_dwarf_unit *unit,
                                   struct cairn_dwarf_lines *lines, struct cairn_err *err);

/* One opcode, whatever it is; there must be a byte left. */
void cairn_dwarf_line_machine_step(struct cairn_dwarf_line_machine *machine);

/* Sorts what the whole sequences gave into `lines`. CAIRN_E_FORMAT: the program was damaged, and
 * they are those before the damage. CAIRN_E_NOMEM. */
int cairn_dwarf_line_machine_end(struct cairn_dwarf_line_machine *machine, struct cairn_err *err);

#endif /* CAIRN_DWARF_LINE_MACHINE_H */

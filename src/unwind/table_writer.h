/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What a table is written with: rows come in the order of their addresses and go to their places
 * at once. The program of an FDE is run over as much of a row as encode() looks at; a CPU that has
 * many of them runs it over rules, and leaves to cairn_unwind_table_run_rest() what those cannot
 * say.
 */
#ifndef CAIRN_UNWIND_TABLE_WRITER_H
#define CAIRN_UNWIND_TABLE_WRITER_H

#include "dwarf/cfi_program.h"
#include "unwind/table_layout.h"

enum {
    CAIRN_TABLE_MAX_DEPTH = 16, /* of DW_CFA_remember_state; gcc and clang write 1 */
    CAIRN_TABLE_MAX_REGS = 16,  /* bits of arch->table_regs */
    CAIRN_TABLE_CIES = 16
};

/* The rules that encode() looks at: the CFA's, then those of arch->table_regs from the lowest on.
 */
struct cairn_unwind_table_state {
    struct cairn_cfi_rule rules[1 + CAIRN_TABLE_MAX_REGS];
};

/* A CIE that was met, and what its program says. */
struct cairn_unwind_table_cie {
    const struct cairn_cfi *cfi; /* NULL: none yet */
    uint64_t off;
    bool sound;
    struct cairn_cie cie;
    struct cairn_unwind_table_state initial;
    uint32_t rule; /* what encode() makes of it */
};

struct cairn_unwind_table_writer {
    const struct cairn_unwind_arch *arch;
    uint32_t *pages, *rules;
    uint8_t *low;
    uint64_t *side;
    uint32_t n_pages, cap_pages; /* n_pages: those whose first row is known */
    uint32_t n_rows, cap_rows;
    uint32_t n_side, cap_side;
    uint32_t last; /* the rule of the last row */
    uint64_t base;
    bool full; /* more came than was measured: the bytes changed meanwhile */

    /* Of the entry that is written now. */
    const struct cairn_cfi *cfi;
    const struct cairn_unwind_table_cie *cie;
    enum cairn_unwind_table_source source;
    uint64_t off;      /* in its section */
    uint64_t from, to; /* vaddrs: the part of its range that is wanted */
    uint32_t own_side; /* its rule of kind SIDE; NONE: not yet made */

    /* Of the program that runs. */
    uint64_t regs;            /* arch->table_regs */
    uint8_t three[3];         /* the same where they are three, as on 64-bit CPUs; else zeros */
    struct cairn_cfi_row row; /* `to` is not set; registers that are not wanted stay SAME */
    unsigned depth;
    struct cairn_unwind_table_state saved[CAIRN_TABLE_MAX_DEPTH];
    uint32_t saved_rules[CAIRN_TABLE_MAX_DEPTH];          /* of a program that is run over rules */
    struct cairn_unwind_table_cie cies[CAIRN_TABLE_CIES]; /* by their offsets */
};

/* From `vaddr` on `rule` holds. Addresses rise. */
static inline void cairn_unwind_table_put(struct cairn_unwind_table_writer *w, uint64_t vaddr,
                                          uint32_t rule)
{
    uint64_t at = vaddr - w->base, page = at / CAIRN_TABLE_PAGE;
    if (rule == w->last)
        return;
    if (__builtin_expect(w->n_rows == w->cap_rows || page >= w->cap_pages, 0)) {
        w->full = true;
        return;
    }
    while (w->n_pages <= page)
        w->pages[w->n_pages++] = w->n_rows;
    w->rules[w->n_rows] = w->last = rule;
    w->low[w->n_rows++] = (uint8_t)at;
}

/* The rule that refers to the entry that is written now: one for all of its rows. */
uint32_t cairn_unwind_table_own_side(struct cairn_unwind_table_writer *w);

static inline void cairn_unwind_table_save(const struct cairn_unwind_table_writer *w,
                                           struct cairn_unwind_table_state *to)
{
    struct cairn_cfi_rule *rule = to->rules;
    const uint8_t *three = w->three;
    *rule++ = w->row.cfa;
    if (__builtin_expect(three[0], 1)) { /* every function comes by here: no loop */
        rule[0] = w->row.regs[three[0]];
        rule[1] = w->row.regs[three[1]];
        rule[2] = w->row.regs[three[2]];
        return;
    }
    for (uint64_t left = w->regs; left; left &= left - 1)
        *rule++ = w->row.regs[__builtin_ctzll(left)];
}

static inline void cairn_unwind_table_load(struct cairn_unwind_table_writer *w,
                                           const struct cairn_unwind_table_state *from)
{
    const struct cairn_cfi_rule *rule = from->rules;
    const uint8_t *three = w->three;
    w->row.cfa = *rule++;
    if (__builtin_expect(three[0], 1)) {
        w->row.regs[three[0]] = rule[0];
        w->row.regs[three[1]] = rule[1];
        w->row.regs[three[2]] = rule[2];
        return;
    }
    for (uint64_t left = w->regs; left; left &= left - 1)
        w->row.regs[__builtin_ctzll(left)] = *rule++;
}

void cairn_unwind_table_start(struct cairn_unwind_table_writer *w,
                              const struct cairn_unwind_arch *arch);

/* Puts the rows of an FDE for [w->from, w->to), and NONE where its program is damaged. */
void cairn_unwind_table_write_fde(struct cairn_unwind_table_writer *w, const struct cairn_cfi *cfi,
                                  enum cairn_unwind_table_source source,
                                  const struct cairn_cfi_entry *entry);

/* Puts the one row of entry `i` for [w->from, w->to). */
void cairn_unwind_table_write_exidx(struct cairn_unwind_table_writer *w,
                                    const struct cairn_exidx *exidx, size_t i);

/* The FDE's program; or what is left of it, from w->row and w->depth on. */
enum cairn_cfi_end cairn_unwind_table_run_all(const struct cairn_cfi_program *program,
                                              struct cairn_unwind_table_writer *w);
enum cairn_cfi_end cairn_unwind_table_run_rest(const struct cairn_cfi_program *program,
                                               struct cairn_unwind_table_writer *w);

/* arch->run of x86-64: some 3 ns an instruction. `program` is that of the FDE, from its begin. */
enum cairn_cfi_end cairn_unwind_table_run_x86_64(const struct cairn_cfi_program *program,
                                                 void *writer);

#endif /* CAIRN_UNWIND_TABLE_WRITER_H */

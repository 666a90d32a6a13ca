/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Whole rows out of the programs: all registers. Who wants fewer, and faster, gives
 * cairn_cfi_program_run a sink of their own.
 */
#include "dwarf/cfi_machine.h"
#include "dwarf/cfi_pointer.h"
#include "dwarf/cfi_program.h"

enum { SLOT_CFA = CAIRN_CFI_REGS };

static struct cairn_cfi_rule *slot_rule(struct cairn_cfi_machine *m, unsigned slot)
{
    return slot == SLOT_CFA ? &m->row.cfa : &m->row.regs[slot];
}

/* The slot's rule, noted if it is the first change since the last remember_state. */
static struct cairn_cfi_rule *change(struct cairn_cfi_machine *m, unsigned slot)
{
    struct cairn_cfi_rule *rule = slot_rule(m, slot);
    if (!m->depth || m->changed[m->depth - 1] >> slot & 1)
        return rule;
    if (m->n_changes == CAIRN_CFI_MAX_CHANGES) {
        m->overflow = true;
        return rule;
    }
    m->changed[m->depth - 1] |= 1ull << slot;
    m->slots[m->n_changes] = (uint8_t)slot;
    m->old[m->n_changes++] = *rule;
    return rule;
}

static struct cairn_cfi_rule *change_cfa(void *ctx)
{
    return change(ctx, SLOT_CFA);
}

static struct cairn_cfi_rule *change_reg(void *ctx, uint64_t reg)
{
    return reg < CAIRN_CFI_REGS ? change(ctx, (unsigned)reg) : NULL;
}

static void restore(void *ctx, uint64_t reg)
{
    struct cairn_cfi_machine *m = ctx;
    if (reg < CAIRN_CFI_REGS)
        *change(m, (unsigned)reg) = m->initial[reg];
}

static bool remember(void *ctx)
{
    struct cairn_cfi_machine *m = ctx;
    if (m->depth == CAIRN_CFI_MAX_DEPTH)
        return false;
    m->n_changes_before[m->depth] = (uint8_t)m->n_changes;
    m->changed[m->depth++] = 0;
    return true;
}

static bool recall(void *ctx)
{
    struct cairn_cfi_machine *m = ctx;
    if (!m->depth || m->overflow)
        return false;
    m->depth--;
    while (m->n_changes > m->n_changes_before[m->depth]) {
        m->n_changes--;
        *slot_rule(m, m->slots[m->n_changes]) = m->old[m->n_changes];
    }
    return true;
}

/* Gives the row that ends at `vaddr`, if it is inside of the function. */
static bool advance(void *ctx, uint64_t vaddr)
{
    struct cairn_cfi_machine *m = ctx;
    m->row.to = vaddr < m->end ? vaddr : m->end;
    if (m->row.to > m->row.from && !m->each(m->ctx, &m->row))
        return false;
    m->row.from = vaddr;
    return vaddr < m->end;
}

/* A CIE has no place. */
static bool stay(void *ctx, uint64_t vaddr)
{
    (void)ctx;
    (void)vaddr;
    return true;
}

static enum cairn_cfi_end run_cie(struct cairn_cfi_machine *m, const struct cairn_cfi *cfi,
                                  const struct cairn_cie *cie)
{
    static const struct cairn_cfi_sink sink = {stay,    change_cfa, change_reg,
                                               restore, remember,   recall};
    struct cairn_cfi_program program = {cfi, cie, cie->program, 0};
    return cairn_cfi_program_run(&program, &sink, m);
}

static enum cairn_cfi_end run_fde(struct cairn_cfi_machine *m, const struct cairn_cfi *cfi,
                                  const struct cairn_fde *fde)
{
    static const struct cairn_cfi_sink sink = {advance, change_cfa, change_reg,
                                               restore, remember,   recall};
    struct cairn_cfi_program program = {cfi, &fde->cie, fde->program, fde->from};
    return cairn_cfi_program_run(&program, &sink, m);
}

static bool run(struct cairn_cfi_machine *m, const struct cairn_cfi *cfi,
                const struct cairn_fde *fde)
{
    memset(&m->row, 0, sizeof m->row);
    memset(m->initial, 0, sizeof m->initial);
    m->row.cfa.where = CAIRN_CFI_UNDEFINED;
    m->row.from = fde->from;
    m->end = fde->to;
    m->depth = m->n_changes = 0;
    m->overflow = false;
    if (run_cie(m, cfi, &fde->cie) != CAIRN_CFI_DONE)
        return false;
    memcpy(m->initial, m->row.regs, sizeof m->initial);
    m->depth = m->n_changes = 0;
    switch (run_fde(m, cfi, fde)) {
    case CAIRN_CFI_DONE:
        advance(m, fde->to);
        return true;
    case CAIRN_CFI_STOPPED:
        return true;
    case CAIRN_CFI_DAMAGED:
        break;
    }
    return false;
}

bool cairn_cfi_run(const struct cairn_cfi *cfi, const struct cairn_fde *fde,
                   bool (*each)(void *ctx, const struct cairn_cfi_row *row), void *ctx)
{
    struct cairn_cfi_machine m;
    m.each = each;
    m.ctx = ctx;
    return run(&m, cfi, fde);
}

static bool is_there(void *ctx, const struct cairn_cfi_row *row)
{
    struct cairn_cfi_machine *m = ctx;
    m->found = m->wanted < row->to;
    return !m->found;
}

bool cairn_cfi_machine_row_at(struct cairn_cfi_machine *machine, const struct cairn_cfi *cfi,
                              const struct cairn_fde *fde, uint64_t vaddr)
{
    if (vaddr < fde->from || vaddr >= fde->to)
        return false;
    machine->wanted = vaddr;
    machine->found = false;
    machine->each = is_there;
    machine->ctx = machine;
    run(machine, cfi, fde);
    return machine->found;
}

bool cairn_cfi_row_at(const struct cairn_cfi *cfi, const struct cairn_fde *fde, uint64_t vaddr,
                      struct cairn_cfi_row *ret_row)
{
    struct cairn_cfi_machine m;
    bool found = cairn_cfi_machine_row_at(&m, cfi, fde, vaddr);
    if (found)
        *ret_row = m.row;
    return found;
}

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/table_writer.h"

#include "unwind/exidx.h"

uint32_t cairn_unwind_table_own_side(struct cairn_unwind_table_writer *w)
{
    if (w->own_side != CAIRN_RULE_NONE)
        return w->own_side;
    if (w->n_side == w->cap_side || w->n_side >> CAIRN_RULE_PAYLOAD_BITS) {
        w->full = true;
        return CAIRN_RULE_NONE;
    }
    w->side[w->n_side] = cairn_unwind_table_pack_side(w->source, w->off);
    w->own_side = cairn_rule_make(CAIRN_RULE_SIDE, w->n_side++);
    return w->own_side;
}

/* For CPUs that do not compile it into themselves. */
static bool advance(void *ctx, uint64_t vaddr)
{
    struct cairn_unwind_table_writer *w = ctx;
    return cairn_unwind_table_advance(w, vaddr, w->arch->encode);
}

static enum cairn_cfi_end run_any(const struct cairn_cfi_program *program, void *writer)
{
    return cairn_unwind_table_run(program, writer, advance);
}

/* A CIE has no place, and so no rows. */
static bool stay(void *ctx, uint64_t vaddr)
{
    (void)ctx;
    (void)vaddr;
    return true;
}

static void forget_row(struct cairn_unwind_table_writer *w)
{
    w->row.cfa = (struct cairn_cfi_rule){.where = CAIRN_CFI_UNDEFINED};
    for (uint64_t left = w->regs; left; left &= left - 1)
        w->row.regs[__builtin_ctzll(left)] = (struct cairn_cfi_rule){0};
}

/* Runs the program of a CIE, where it is another one than that of the FDE before. */
static bool set_initial(struct cairn_unwind_table_writer *w, const struct cairn_cfi *cfi,
                        const struct cairn_cie *cie)
{
    if (w->initial_cfi == cfi && w->initial_off == cie->off)
        return w->initial_sound;
    const struct cairn_cfi_program program = {cfi, cie, cie->program, 0};
    forget_row(w);
    memset(w->initial, 0, sizeof w->initial);
    w->depth = 0;
    w->initial_sound = cairn_unwind_table_run(&program, w, stay) == CAIRN_CFI_DONE;
    w->initial_cfi = cfi;
    w->initial_off = cie->off;
    w->initial_cfa = w->row.cfa;
    memcpy(w->initial, w->row.regs, sizeof w->initial);
    return w->initial_sound;
}

void cairn_unwind_table_write_fde(struct cairn_unwind_table_writer *w, const struct cairn_cfi *cfi,
                                  enum cairn_unwind_table_source source,
                                  const struct cairn_fde *fde)
{
    const struct cairn_cfi_program program = {cfi, &fde->cie, fde->program, fde->from};
    enum cairn_cfi_end end = CAIRN_CFI_DAMAGED;
    w->cfi = cfi;
    w->cie = &fde->cie;
    w->source = source;
    w->off = fde->off;
    w->own_side = CAIRN_RULE_NONE;
    w->row.from = fde->from;
    if (set_initial(w, cfi, &fde->cie)) {
        w->row.from = fde->from;
        w->row.cfa = w->initial_cfa;
        for (uint64_t left = w->regs; left; left &= left - 1)
            w->row.regs[__builtin_ctzll(left)] = w->initial[__builtin_ctzll(left)];
        w->depth = 0;
        end = w->arch->run ? w->arch->run(&program, w) : run_any(&program, w);
    }
    if (end == CAIRN_CFI_DONE)
        cairn_unwind_table_advance(w, w->to, w->arch->encode);
    else if (end == CAIRN_CFI_DAMAGED && w->row.from < w->to)
        cairn_unwind_table_put(w, w->row.from > w->from ? w->row.from : w->from, CAIRN_RULE_NONE);
}

void cairn_unwind_table_write_exidx(struct cairn_unwind_table_writer *w,
                                    const struct cairn_exidx *exidx, size_t i)
{
    static const struct cairn_cfi no_section;
    const struct cairn_cie cie = {.ra_reg = w->arch->ra};
    struct cairn_cfi_row row;
    uint32_t rule = CAIRN_RULE_NONE;
    w->source = CAIRN_TABLE_EXIDX;
    w->off = (uint64_t)i * CAIRN_EXIDX_ENTRY_BYTES;
    w->own_side = CAIRN_RULE_NONE;
    if (cairn_exidx_row(exidx, i, &row) == CAIRN_EXIDX_ROW)
        rule = w->arch->encode(&no_section, &cie, &row);
    if (cairn_rule_kind(rule) == CAIRN_RULE_SIDE)
        rule = cairn_unwind_table_own_side(w);
    cairn_unwind_table_put(w, w->from, rule);
}

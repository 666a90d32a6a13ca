/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/table_writer.h"

#include "unwind/exidx.h"

uint32_t cairn_unwind_table_own_side(struct cairn_unwind_table_writer *w)
{
    if (w->own_side != CAIRN_RULE_NONE)
        return w->own_side;
    if (w->n_side == w->cap_side || w->n_side >> CAIRN_RULE_SIDE_BITS) {
        w->full = true;
        return CAIRN_RULE_NONE;
    }
    w->side[w->n_side] = cairn_unwind_table_pack_side(w->source, w->off);
    w->own_side = cairn_rule_make(CAIRN_RULE_SIDE, w->n_side++);
    return w->own_side;
}

/* `rule` has a hint, or none. */
static uint32_t side_of(struct cairn_unwind_table_writer *w, uint32_t rule)
{
    uint32_t own = cairn_unwind_table_own_side(w);
    return own == CAIRN_RULE_NONE ? own : own | (rule & ~(uint32_t)CAIRN_RULE_SIDE_MASK);
}

/* w->row holds up to `vaddr`; puts what is wanted of it. */
static inline bool advance(void *ctx, uint64_t vaddr)
{
    struct cairn_unwind_table_writer *w = ctx;
    uint64_t from = w->row.from > w->from ? w->row.from : w->from;
    w->row.from = vaddr;
    if (from < vaddr && from < w->to) {
        uint32_t rule = w->arch->encode(w->cfi, &w->cie->cie, &w->row);
        if (cairn_rule_kind(rule) == CAIRN_RULE_SIDE)
            rule = side_of(w, rule);
        cairn_unwind_table_put(w, from, rule);
    }
    return vaddr < w->to;
}

static inline struct cairn_cfi_rule *cfa(void *ctx)
{
    struct cairn_unwind_table_writer *w = ctx;
    return &w->row.cfa;
}

static inline struct cairn_cfi_rule *reg(void *ctx, uint64_t number)
{
    struct cairn_unwind_table_writer *w = ctx;
    return number < CAIRN_CFI_REGS && (w->regs >> number & 1) ? &w->row.regs[number] : NULL;
}

static inline void restore(void *ctx, uint64_t number)
{
    struct cairn_unwind_table_writer *w = ctx;
    const struct cairn_cfi_rule *rule = w->cie->initial.rules + 1;
    if (!reg(w, number))
        return;
    for (uint64_t left = w->regs; (unsigned)__builtin_ctzll(left) != number; left &= left - 1)
        rule++;
    w->row.regs[number] = *rule;
}

static inline bool remember(void *ctx)
{
    struct cairn_unwind_table_writer *w = ctx;
    if (w->depth == CAIRN_TABLE_MAX_DEPTH)
        return false;
    cairn_unwind_table_save(w, &w->saved[w->depth++]);
    return true;
}

static inline bool recall(void *ctx)
{
    struct cairn_unwind_table_writer *w = ctx;
    if (!w->depth)
        return false;
    cairn_unwind_table_load(w, &w->saved[--w->depth]);
    return true;
}

enum cairn_cfi_end cairn_unwind_table_run_rest(const struct cairn_cfi_program *program,
                                               struct cairn_unwind_table_writer *w)
{
    static const struct cairn_cfi_sink sink = {advance, cfa, reg, restore, remember, recall};
    enum cairn_cfi_end end = cairn_cfi_program_run(program, &sink, w);
    if (end == CAIRN_CFI_DONE) /* what the last instruction left holds up to the end */
        advance(w, w->to);
    return end;
}

enum cairn_cfi_end cairn_unwind_table_run_all(const struct cairn_cfi_program *program,
                                              struct cairn_unwind_table_writer *w)
{
    cairn_unwind_table_load(w, &w->cie->initial);
    w->row.from = program->vaddr;
    w->depth = 0;
    return cairn_unwind_table_run_rest(program, w);
}

/* A CIE has no place, and so no rows. */
static bool stay(void *ctx, uint64_t vaddr)
{
    (void)ctx;
    (void)vaddr;
    return true;
}

static enum cairn_cfi_end run_cie(const struct cairn_cfi_program *program, void *writer)
{
    static const struct cairn_cfi_sink sink = {stay, cfa, reg, restore, remember, recall};
    return cairn_cfi_program_run(program, &sink, writer);
}

void cairn_unwind_table_start(struct cairn_unwind_table_writer *w,
                              const struct cairn_unwind_arch *arch)
{
    memset(w, 0, sizeof *w);
    w->arch = arch;
    w->regs = arch->table_regs;
    w->last = UINT32_MAX;
    unsigned n = 0;
    for (uint64_t left = w->regs; left; left &= left - 1, n++)
        if (n < 3)
            w->three[n] = (uint8_t)__builtin_ctzll(left);
    if (n != 3)
        w->three[0] = 0;
}

/* The CIE at `off`: one of those that were met lately, or read now. */
static const struct cairn_unwind_table_cie *find_cie(struct cairn_unwind_table_writer *w,
                                                     const struct cairn_cfi *cfi, uint64_t off)
{
    static const struct cairn_unwind_table_state nothing = {.rules[0] = {CAIRN_CFI_UNDEFINED}};
    struct cairn_unwind_table_cie *c = &w->cies[off / 8 % CAIRN_TABLE_CIES];
    if (c->cfi == cfi && c->off == off)
        return c;
    c->cfi = cfi;
    c->off = off;
    c->initial = nothing;
    c->sound = cairn_cfi_cie_at(cfi, off, &c->cie);
    if (!c->sound)
        return c;
    const struct cairn_cfi_program program = {cfi, &c->cie, c->cie.program, 0};
    w->cie = c;
    w->depth = 0;
    cairn_unwind_table_load(w, &nothing);
    c->sound = run_cie(&program, w) == CAIRN_CFI_DONE;
    cairn_unwind_table_save(w, &c->initial);
    c->rule = w->arch->encode(cfi, &c->cie, &w->row);
    return c;
}

void cairn_unwind_table_write_fde(struct cairn_unwind_table_writer *w, const struct cairn_cfi *cfi,
                                  enum cairn_unwind_table_source source,
                                  const struct cairn_cfi_entry *entry)
{
    enum cairn_cfi_end end = CAIRN_CFI_DAMAGED;
    w->cie = find_cie(w, cfi, entry->cie->off);
    const struct cairn_cfi_program program = {cfi, &w->cie->cie, entry->program, entry->from};
    w->cfi = cfi;
    w->source = source;
    w->off = entry->off;
    w->own_side = CAIRN_RULE_NONE;
    w->row.from = entry->from;
    if (w->cie->sound && w->arch->run)
        end = w->arch->run(&program, w);
    else if (w->cie->sound)
        end = cairn_unwind_table_run_all(&program, w);
    if (end == CAIRN_CFI_DAMAGED && w->row.from < w->to)
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
        rule = side_of(w, rule);
    cairn_unwind_table_put(w, w->from, rule);
}

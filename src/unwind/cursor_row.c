/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/cursor_row.h"

#include <elf.h>

#include "base/reader.h"
#include "code/call.h"
#include "dwarf/expr.h"
#include "unwind/fp_step.h"

static uint64_t code_address(uint64_t stored)
{
    return (uint32_t)stored;
}

/* System V ABI, Intel386 Supplement 1.1, table 2.14 for the numbers, 2.2 for what is kept: ebx,
 * esp, ebp, esi, edi. The return address is column 8. */
static const struct cairn_fp_layout i386_layouts[] = {
    {.fp = 0, .ra = 4, .end = 8, .end_is_sp = true}}; /* push %ebp; mov %esp, %ebp */

static const struct cairn_unwind_arch i386 = {
    .machine = EM_386,
    .word = 4,
    .n_regs = 9,
    .sp = 4,
    .fp = 5,
    .ra = 8,
    .pc = 8,
    .kept = 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7,
    .code_address = code_address,
    .fp_regs = {5, 5},
    .fp_layouts = i386_layouts,
    .n_fp_layouts = 1,
    .call = cairn_call_x86_64, /* the same bytes; a call through memory names another place */
};

const struct cairn_unwind_arch *cairn_row_arch_of(uint16_t machine)
{
    return machine == EM_386 ? &i386 : cairn_unwind_arch_of(machine);
}

static uint64_t wrap(const struct cairn_row_input *in, uint64_t value)
{
    return in->arch->word == 4 ? (uint32_t)value : value;
}

static bool eval(const struct cairn_row_input *in, const struct cairn_cfi_rule *rule,
                 const struct cairn_unwind_regs *regs, const uint64_t *cfa, uint64_t *ret_value)
{
    struct cairn_span expr;
    if (!cairn_span_slice(in->expressions, (uint64_t)rule->value, rule->expr_size, &expr))
        return false;
    const struct cairn_expr_input input = {
        .regs = regs->regs,
        .known = regs->known,
        .memory = in->memory,
        .cfa = cfa ? *cfa : 0,
        .has_cfa = cfa != NULL,
        .swap = in->swap,
        .address_size = in->arch->word,
    };
    return cairn_expr_eval(expr, &input, ret_value);
}

static enum cairn_arch_step find_cfa(const struct cairn_row_input *in,
                                     const struct cairn_unwind_regs *regs, uint64_t *ret_cfa)
{
    const struct cairn_cfi_rule *rule = &in->row->cfa;
    if (rule->where == CAIRN_CFI_IS_EXPR)
        return eval(in, rule, regs, NULL, ret_cfa) ? CAIRN_STEP_OK : CAIRN_STEP_UNREADABLE;
    if (rule->where != CAIRN_CFI_IN_REG)
        return CAIRN_STEP_NO_RULE;
    if (!cairn_unwind_known(regs, rule->reg))
        return CAIRN_STEP_UNKNOWN;
    *ret_cfa = wrap(in, regs->regs[rule->reg] + (uint64_t)rule->value);
    return CAIRN_STEP_OK;
}

static enum cairn_arch_step read_word(const struct cairn_row_input *in, uint64_t va,
                                      uint64_t *ret_value)
{
    uint8_t raw[8];
    if (!in->memory->read(in->memory->ctx, wrap(in, va), raw, in->arch->word))
        return CAIRN_STEP_UNREADABLE;
    struct cairn_reader r = cairn_reader_of((struct cairn_span){raw, in->arch->word}, in->swap);
    *ret_value = cairn_reader_word(&r, in->arch->word);
    return CAIRN_STEP_OK;
}

/* The caller's value by a rule that is not SAME. */
static enum cairn_arch_step recover(const struct cairn_row_input *in,
                                    const struct cairn_unwind_regs *regs,
                                    const struct cairn_cfi_rule *rule, uint64_t cfa,
                                    uint64_t *ret_value)
{
    uint64_t va = cfa + (uint64_t)rule->value;
    switch (rule->where) {
    case CAIRN_CFI_AT_CFA:
        return read_word(in, va, ret_value);
    case CAIRN_CFI_IS_CFA:
        *ret_value = wrap(in, va);
        return CAIRN_STEP_OK;
    case CAIRN_CFI_IN_REG:
        if (!cairn_unwind_known(regs, rule->reg))
            return CAIRN_STEP_UNKNOWN;
        *ret_value = wrap(in, regs->regs[rule->reg] + (uint64_t)rule->value);
        return CAIRN_STEP_OK;
    case CAIRN_CFI_AT_EXPR:
        if (!eval(in, rule, regs, &cfa, &va))
            return CAIRN_STEP_UNREADABLE;
        return read_word(in, va, ret_value);
    case CAIRN_CFI_IS_EXPR:
        return eval(in, rule, regs, &cfa, ret_value) ? CAIRN_STEP_OK : CAIRN_STEP_UNREADABLE;
    default:
        return CAIRN_STEP_UNKNOWN;
    }
}

/* Of the stub that leads to _dl_runtime_resolve, aarch64's glibc describes the return address, and
 * not that its two words are part of the frame (sysdeps/aarch64/dl-trampoline.S): which ends above
 * where the return address was saved, always. */
static uint64_t frame_end(const struct cairn_row_input *in, uint64_t cfa)
{
    if (!in->arch->ra_in_reg || in->ra_reg >= CAIRN_CFI_REGS)
        return cfa;
    const struct cairn_cfi_rule *ra = &in->row->regs[in->ra_reg], *sp = &in->row->cfa;
    bool is_above = ra->where == CAIRN_CFI_AT_CFA && ra->value >= 0 &&
                    sp->where == CAIRN_CFI_IN_REG && sp->reg == in->arch->sp;
    return is_above ? (cfa + (uint64_t)ra->value + 16) & ~UINT64_C(15) : cfa;
}

/* As it is stored: code_address() makes the address of it. */
static enum cairn_arch_step find_ip(const struct cairn_row_input *in,
                                    const struct cairn_unwind_regs *regs, uint64_t cfa,
                                    uint64_t *ret_ip)
{
    if (in->ra_reg >= CAIRN_CFI_REGS)
        return CAIRN_STEP_NO_RULE;
    const struct cairn_cfi_rule *rule = &in->row->regs[in->ra_reg];
    if (rule->where == CAIRN_CFI_UNDEFINED)
        return CAIRN_STEP_OUTERMOST;
    if (rule->where != CAIRN_CFI_SAME)
        return recover(in, regs, rule, cfa, ret_ip);
    if (!in->arch->ra_in_reg)
        return CAIRN_STEP_NO_RULE;
    if (!in->is_leaf && !in->is_signal)
        return CAIRN_STEP_LEAF;
    if (!cairn_unwind_known(regs, in->ra_reg))
        return CAIRN_STEP_UNKNOWN;
    *ret_ip = regs->regs[in->ra_reg];
    return CAIRN_STEP_OK;
}

/* At the end of a function its caller's registers are back, and the rule still leads to where they
 * were popped from: below the stack pointer, which a copy of the stack does not hold. */
static bool is_popped(const struct cairn_row_input *in, const struct cairn_unwind_regs *regs,
                      const struct cairn_cfi_rule *rule, uint64_t cfa, unsigned reg)
{
    return in->is_leaf && reg != in->ra_reg && rule->where == CAIRN_CFI_AT_CFA &&
           cairn_unwind_known(regs, reg) &&
           wrap(in, cfa + (uint64_t)rule->value) < regs->regs[in->arch->sp];
}

/* A register that cannot be recovered is not known; only ip and the stack pointer end a walk. */
static void recover_all(const struct cairn_row_input *in, const struct cairn_unwind_regs *regs,
                        uint64_t cfa, struct cairn_unwind_regs *next)
{
    for (unsigned i = 0; i < in->arch->n_regs && i < CAIRN_CFI_REGS; i++) {
        const struct cairn_cfi_rule *rule = &in->row->regs[i];
        uint64_t value;
        if (rule->where == CAIRN_CFI_SAME) {
            if (cairn_unwind_known(regs, i) && (in->is_signal || (in->arch->kept >> i & 1)))
                cairn_unwind_set(next, i, regs->regs[i]);
        } else if (rule->where != CAIRN_CFI_UNDEFINED &&
                   recover(in, regs, rule, cfa, &value) == CAIRN_STEP_OK) {
            cairn_unwind_set(next, i, value);
        } else if (is_popped(in, regs, rule, cfa, i)) {
            cairn_unwind_set(next, i, regs->regs[i]);
        }
    }
    if (in->row->regs[in->arch->sp].where == CAIRN_CFI_SAME)
        cairn_unwind_set(next, in->arch->sp, frame_end(in, cfa));
}

static bool rises(const struct cairn_row_input *in, uint64_t sp, uint64_t next_sp)
{
    if (in->is_signal)
        return true;
    if (next_sp % in->arch->word)
        return false;
    /* A leaf that pushed nothing has its caller's stack pointer, where the call pushes nothing; so
     * has longjmp before its last jump, of every CPU. */
    bool is_in_reg = in->arch->ra_in_reg || (in->ra_reg < CAIRN_CFI_REGS &&
                                             in->row->regs[in->ra_reg].where == CAIRN_CFI_IN_REG);
    return next_sp > sp || (next_sp == sp && in->is_leaf && is_in_reg);
}

enum cairn_arch_step cairn_row_step(const struct cairn_row_input *in,
                                    struct cairn_unwind_regs *regs)
{
    struct cairn_unwind_regs next = {0};
    uint64_t cfa;
    /* A stack's root need not have a CFA. */
    if (in->ra_reg < CAIRN_CFI_REGS && in->row->regs[in->ra_reg].where == CAIRN_CFI_UNDEFINED)
        return cairn_cfi_row_is_switch(in->row) ? CAIRN_STEP_SWITCHED : CAIRN_STEP_OUTERMOST;
    enum cairn_arch_step result = find_cfa(in, regs, &cfa);
    if (result == CAIRN_STEP_OK)
        result = find_ip(in, regs, cfa, &next.ip);
    if (result != CAIRN_STEP_OK)
        return result;
    recover_all(in, regs, cfa, &next);
    if (!in->is_signal)
        cairn_unwind_set(&next, in->arch->pc, next.ip);
    next.ip = in->arch->code_address(next.ip);
    if (!cairn_unwind_known(&next, in->arch->sp))
        return CAIRN_STEP_UNKNOWN;
    /* Where this frame's is not known, a step by frame pointer left what it is at least. */
    if (!rises(in, regs->regs[in->arch->sp], next.regs[in->arch->sp]))
        return CAIRN_STEP_BAD_CFA;
    *regs = next;
    return CAIRN_STEP_OK;
}

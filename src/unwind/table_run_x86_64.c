/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The programs of x86-64's functions, run over rules instead of rows: what nearly all of them do
 * moves one number of a rule, or swaps its kind, so that the rule itself is the state. The first
 * instruction that does anything else makes a row of the rule, and the rest is run as every CPU's.
 */
#include "unwind/rule_x86_64.h"
#include "unwind/table_writer.h"

enum { RBP = 6, RSP = 7, RIP = 16 };

/* A function's program, as far as it was run. */
struct run {
    const uint8_t *p, *end;
    uint64_t vaddr;         /* the rule holds from here on */
    uint32_t rule, initial; /* now, and at the function's begin */
    unsigned depth;         /* of w->saved_rules */
};

enum { FP_BITS = CAIRN_X86_64_FP_AT_FP, CFA_BITS = CAIRN_X86_64_CFA_MAX << CAIRN_X86_64_CFA_SHIFT };

static struct cairn_unwind_table_state state_of(const struct cairn_unwind_table_writer *w,
                                                uint32_t rule)
{
    struct cairn_unwind_table_state state = w->cie->initial;
    int64_t fp = 8 * (int64_t)cairn_x86_64_fp(rule);
    state.rules[0] = (struct cairn_cfi_rule){.where = CAIRN_CFI_IN_REG,
                                             .reg = cairn_x86_64_is_fp(rule) ? RBP : RSP,
                                             .value = (int64_t)cairn_x86_64_cfa(rule)};
    /* rbp is the lowest of the registers that a table wants */
    state.rules[1] =
        (struct cairn_cfi_rule){.where = fp ? CAIRN_CFI_AT_CFA : CAIRN_CFI_SAME, .value = -fp};
    return state;
}

/* From the instruction at r->p on. */
static enum cairn_cfi_end run_rest(const struct cairn_cfi_program *program,
                                   struct cairn_unwind_table_writer *w, struct run r)
{
    struct cairn_cfi_program rest = *program;
    struct cairn_unwind_table_state now = state_of(w, r.rule);
    rest.bytes = (struct cairn_span){r.p, (size_t)(r.end - r.p)};
    rest.vaddr = w->row.from = r.vaddr;
    cairn_unwind_table_load(w, &now);
    for (w->depth = 0; w->depth < r.depth; w->depth++)
        w->saved[w->depth] = state_of(w, w->saved_rules[w->depth]);
    return cairn_unwind_table_run_rest(&rest, w);
}

/* The rule that a function begins with, where it is one that can be changed as it stands: the CFA
 * is rsp or rbp plus something, rsp is the CFA, and rbp unchanged or saved below it. */
static bool is_usual(const struct cairn_unwind_table_cie *c)
{
    const struct cairn_cfi_rule *fp = &c->initial.rules[1], *sp = &c->initial.rules[2];
    return cairn_x86_64_is_plain(c->rule) && sp->where == CAIRN_CFI_SAME &&
           (fp->where == CAIRN_CFI_SAME || fp->where == CAIRN_CFI_AT_CFA) &&
           c->cie.code_align == 1 && c->cie.data_align == -8;
}

/* A number of at most three bytes; false where it has more, or they are not all there. */
static inline bool take_uleb(const uint8_t **p, const uint8_t *end, uint32_t *ret_value)
{
    const uint8_t *at = *p;
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 21 && at < end; shift += 7) {
        value |= (uint32_t)(*at & 0x7f) << shift;
        if (*at++ < 0x80) {
            *p = at;
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* DW_CFA_advance_loc and its likes at `p`: how far, and what is behind it. False: no such. */
static inline __attribute__((always_inline)) bool
take_advance(const uint8_t **p, const uint8_t *end, uint32_t *ret_delta)
{
    const uint8_t *at = *p;
    if (__builtin_expect((*at & 0xc0) == CAIRN_DW_CFA_ADVANCE_LOC, 1)) {
        *ret_delta = *at & 0x3f;
        *p = at + 1;
        return true;
    }
    if (*at == CAIRN_DW_CFA_ADVANCE_LOC1 && end - at >= 2) {
        *ret_delta = at[1];
        *p = at + 2;
        return true;
    }
    if (*at == CAIRN_DW_CFA_ADVANCE_LOC2 && end - at >= 3) {
        *ret_delta = at[1] | (uint32_t)at[2] << 8;
        *p = at + 3;
        return true;
    }
    if (*at == CAIRN_DW_CFA_ADVANCE_LOC4 && end - at >= 5) {
        *ret_delta = at[1] | (uint32_t)at[2] << 8 | (uint32_t)at[3] << 16 | (uint32_t)at[4] << 24;
        *p = at + 5;
        return true;
    }
    return false;
}

static inline bool set_cfa(uint32_t *rule, uint32_t bytes)
{
    if (bytes % 8 || bytes / 8 > CAIRN_X86_64_CFA_MAX)
        return false;
    *rule = (*rule & ~(uint32_t)CFA_BITS) | bytes / 8 << CAIRN_X86_64_CFA_SHIFT;
    return true;
}

static inline bool set_cfa_reg(uint32_t *rule, uint32_t reg)
{
    const uint32_t kind = (uint32_t)CAIRN_RULE_MASK & ~(uint32_t)(CFA_BITS | FP_BITS);
    if (reg != RSP && reg != RBP)
        return false;
    *rule = (*rule & ~kind) | cairn_rule_make(reg == RBP ? CAIRN_X86_64_FP : CAIRN_X86_64_SP, 0);
    return true;
}

/* An instruction that stays where it is. False where it is beyond a rule, or damaged: then nothing
 * was changed, and it is the rest's. */
static inline __attribute__((always_inline)) bool change(struct cairn_unwind_table_writer *w,
                                                         struct run *r, uint8_t op)
{
    const uint8_t *p = r->p + 1;
    uint32_t rule = r->rule, reg, value;
    switch (op & 0xc0 ? op & 0xc0 : op) {
    case CAIRN_DW_CFA_OFFSET:
        reg = op & 0x3f;
        if (reg == RSP || reg == RIP || !take_uleb(&p, r->end, &value))
            return false;
        if (reg == RBP) {
            if (!value || value > CAIRN_X86_64_FP_MAX)
                return false;
            rule = (rule & ~(uint32_t)FP_BITS) | value;
        }
        break;
    case CAIRN_DW_CFA_RESTORE: /* rsp and the return address are where they were at first */
        if ((op & 0x3f) == RBP)
            rule = (rule & ~(uint32_t)FP_BITS) | cairn_x86_64_fp(r->initial);
        break;
    case CAIRN_DW_CFA_NOP:
        break;
    case CAIRN_DW_CFA_DEF_CFA_OFFSET:
        if (!take_uleb(&p, r->end, &value) || !set_cfa(&rule, value))
            return false;
        break;
    case CAIRN_DW_CFA_DEF_CFA_REGISTER:
        if (!take_uleb(&p, r->end, &reg) || !set_cfa_reg(&rule, reg))
            return false;
        break;
    case CAIRN_DW_CFA_DEF_CFA:
        if (!take_uleb(&p, r->end, &reg) || !take_uleb(&p, r->end, &value) ||
            !set_cfa_reg(&rule, reg) || !set_cfa(&rule, value))
            return false;
        break;
    case CAIRN_DW_CFA_REMEMBER_STATE:
        if (r->depth == CAIRN_TABLE_MAX_DEPTH)
            return false;
        w->saved_rules[r->depth++] = rule;
        break;
    case CAIRN_DW_CFA_RESTORE_STATE:
        if (!r->depth)
            return false;
        rule = w->saved_rules[--r->depth];
        break;
    case CAIRN_DW_CFA_GNU_ARGS_SIZE:
        if (!take_uleb(&p, r->end, &value))
            return false;
        break;
    default:
        return false;
    }
    r->p = p;
    r->rule = rule;
    return true;
}

enum cairn_cfi_end cairn_unwind_table_run_x86_64(const struct cairn_cfi_program *program,
                                                 void *writer)
{
    struct cairn_unwind_table_writer *w = writer;
    struct run r = {.p = program->bytes.data,
                    .end = program->bytes.data,
                    .vaddr = program->vaddr,
                    .rule = w->cie->rule,
                    .initial = w->cie->rule};
    const uint64_t from = w->from, to = w->to;
    uint32_t delta;
    if (program->bytes.size) /* else they may be at NULL */
        r.end += program->bytes.size;
    if (!is_usual(w->cie) || to > UINT64_MAX - UINT32_MAX) /* no sum below can overflow */
        return cairn_unwind_table_run_all(program, w);
    while (r.p < r.end) {
        if (!take_advance(&r.p, r.end, &delta)) {
            if (!change(w, &r, *r.p))
                return run_rest(program, w, r);
            continue;
        }
        uint64_t row_from = r.vaddr > from ? r.vaddr : from;
        r.vaddr += delta;
        if (row_from < r.vaddr)
            cairn_unwind_table_put(w, row_from, r.rule);
        if (r.vaddr >= to)
            return CAIRN_CFI_STOPPED;
        /* What nearly always follows, in two bytes. */
        if (r.end - r.p >= 2 && r.p[0] == CAIRN_DW_CFA_DEF_CFA_OFFSET && r.p[1] < 0x80 &&
            set_cfa(&r.rule, r.p[1]))
            r.p += 2;
    }
    cairn_unwind_table_put(w, r.vaddr > from ? r.vaddr : from, r.rule);
    return CAIRN_CFI_DONE;
}

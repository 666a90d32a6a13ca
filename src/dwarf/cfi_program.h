/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The programs of CIEs and FDEs (DWARF 5, 6.4.2), run over a sink: whoever wants rows keeps as much
 * of the state as they need, and the loop is compiled into them.
 *
 *     static const struct cairn_cfi_sink sink = {.reg = my_reg, ...};   // all constant
 *     end = cairn_cfi_program_run(&program, &sink, &my_state);
 *
 * Budget: 2 ns for an instruction; bench/unwind/cfi_speed.c measures.
 */
#ifndef CAIRN_DWARF_CFI_PROGRAM_H
#define CAIRN_DWARF_CFI_PROGRAM_H

#include <elf.h>

#include "dwarf/cfi.h"
#include "dwarf/cfi_constants.h"

struct cairn_cfi_program {
    const struct cairn_cfi *cfi;
    const struct cairn_cie *cie;
    struct cairn_span bytes; /* inside of cfi->bytes */
    uint64_t vaddr;          /* of the function */
};

/* Every function is there; each gets `ctx` of the run. */
struct cairn_cfi_sink {
    /* The state as it is now holds up to `vaddr`, which is beyond the one before. False stops. */
    bool (*advance)(void *ctx, uint64_t vaddr);
    /* The CFA's rule, which is about to be changed. */
    struct cairn_cfi_rule *(*cfa)(void *ctx);
    /* A register's rule, which is about to be changed; NULL: not wanted. */
    struct cairn_cfi_rule *(*reg)(void *ctx, uint64_t reg);
    /* The register's rule is again what the CIE said. */
    void (*restore)(void *ctx, uint64_t reg);
    /* The whole state (CFA and registers) is put on a stack, or comes back from it. False where the
     * stack is full or empty: the program is damaged. */
    bool (*remember)(void *ctx);
    bool (*recall)(void *ctx);
};

enum cairn_cfi_end { CAIRN_CFI_DONE, CAIRN_CFI_STOPPED, CAIRN_CFI_DAMAGED };

/* The operands that are left, as three locals that a compiler keeps in registers. */
struct cairn_cfi_operands {
    const uint8_t *p, *end;
    bool failed;
};

/* A number of several bytes; `next` is NULL where it does not end inside. */
struct cairn_cfi_leb {
    uint64_t value;
    const uint8_t *next;
};
struct cairn_cfi_leb cairn_cfi_uleb(const uint8_t *p, const uint8_t *end);
struct cairn_cfi_leb cairn_cfi_sleb(const uint8_t *p, const uint8_t *end);

static inline __attribute__((always_inline)) uint64_t
cairn_cfi_take_leb(struct cairn_cfi_operands *o, struct cairn_cfi_leb leb)
{
    o->failed |= !leb.next;
    o->p = leb.next ? leb.next : o->end;
    return leb.value;
}

static inline __attribute__((always_inline)) uint64_t
cairn_cfi_take_uleb(struct cairn_cfi_operands *o)
{
    if (__builtin_expect(o->p < o->end && *o->p < 0x80, 1))
        return *o->p++;
    return cairn_cfi_take_leb(o, cairn_cfi_uleb(o->p, o->end));
}

static inline __attribute__((always_inline)) int64_t
cairn_cfi_take_sleb(struct cairn_cfi_operands *o)
{
    if (__builtin_expect(o->p < o->end && *o->p < 0x80, 1)) {
        uint8_t byte = *o->p++;
        return byte & 0x40 ? (int64_t)byte - 0x80 : byte;
    }
    return (int64_t)cairn_cfi_take_leb(o, cairn_cfi_sleb(o->p, o->end));
}

/* A number of `width` bytes: 1, 2, 4 or 8, a constant of the caller. */
static inline __attribute__((always_inline)) uint64_t
cairn_cfi_take_fixed(struct cairn_cfi_operands *o, unsigned width, bool swap)
{
    uint64_t value = 0;
    if (__builtin_expect((size_t)(o->end - o->p) < width, 0)) {
        o->failed = true;
        o->p = o->end;
        return 0;
    }
    for (unsigned i = 0; i < width; i++) {
        bool big = swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
        value |= (uint64_t)o->p[i] << 8 * (big ? width - 1 - i : i);
    }
    o->p += width;
    return value;
}

static inline int64_t cairn_cfi_times(uint64_t n, int64_t align)
{
    return (int64_t)(n * (uint64_t)align); /* wraps: a hostile number is no overflow of C */
}

/* The rule of an expression; its bytes are read over. */
static inline struct cairn_cfi_rule cairn_cfi_take_expr(const struct cairn_cfi *cfi,
                                                        struct cairn_cfi_operands *o, uint8_t where)
{
    uint64_t size = cairn_cfi_take_uleb(o);
    if (size > (uint64_t)(o->end - o->p) || size > UINT32_MAX) {
        o->failed = true;
        o->p = o->end;
        return (struct cairn_cfi_rule){0};
    }
    struct cairn_cfi_rule rule = {.where = where, .expr_size = (uint32_t)size};
    rule.value = o->p - cfi->bytes.data;
    o->p += size;
    return rule;
}

/* The CFA is reg + value; of a register that no row holds, it is not known. */
static inline struct cairn_cfi_rule cairn_cfi_cfa_of(uint64_t reg, int64_t value)
{
    if (reg >= CAIRN_CFI_REGS)
        return (struct cairn_cfi_rule){.where = CAIRN_CFI_UNDEFINED, .value = value};
    return (struct cairn_cfi_rule){CAIRN_CFI_IN_REG, (uint8_t)reg, 0, value};
}

static inline void cairn_cfi_set(const struct cairn_cfi_sink *sink, void *ctx, uint64_t reg,
                                 struct cairn_cfi_rule rule)
{
    struct cairn_cfi_rule *at = sink->reg(ctx, reg);
    if (at)
        *at = rule;
}

/* Gives RA_SIGN_STATE, register 34 of aarch64, another value (DWARF for the Arm 64-bit
 * Architecture, 4.2: "call frame instructions"). SPARC uses the same number for something else. */
static inline void cairn_cfi_toggle_signed(const struct cairn_cfi_program *program,
                                           const struct cairn_cfi_sink *sink, void *ctx, int bits)
{
    enum { RA_SIGN_STATE = 34 };
    struct cairn_cfi_rule *at =
        program->cfi->machine == EM_AARCH64 ? sink->reg(ctx, RA_SIGN_STATE) : NULL;
    if (at)
        *at = (struct cairn_cfi_rule){
            .where = CAIRN_CFI_SAME, .value = (at->where == CAIRN_CFI_SAME ? at->value : 0) ^ bits};
}

/* The CFA's offset. It is kept beside an expression, for libgcrypt's assembly has a new register
 * behind one and means the offset of before; gas and libgcc take it so. */
static inline int64_t *cairn_cfi_offset(struct cairn_cfi_rule *cfa, int64_t *before)
{
    return __builtin_expect(cfa->where == CAIRN_CFI_IS_EXPR, 0) ? before : &cfa->value;
}

/* The instructions that hardly any function has, but those that move the pc. False: damaged. */
static inline bool cairn_cfi_run_rare(const struct cairn_cfi_program *program, uint8_t op,
                                      struct cairn_cfi_operands *o, int64_t *offset_before,
                                      const struct cairn_cfi_sink *sink, void *ctx)
{
    const struct cairn_cfi *cfi = program->cfi;
    int64_t align = program->cie->data_align;
    struct cairn_cfi_rule rule = {0};
    uint64_t reg;
    switch (op) {
    case CAIRN_DW_CFA_DEF_CFA_EXPRESSION:
        *offset_before = *cairn_cfi_offset(sink->cfa(ctx), offset_before);
        *sink->cfa(ctx) = cairn_cfi_take_expr(cfi, o, CAIRN_CFI_IS_EXPR);
        return true;
    case CAIRN_DW_CFA_DEF_CFA_SF:
        reg = cairn_cfi_take_uleb(o);
        rule.value = cairn_cfi_times((uint64_t)cairn_cfi_take_sleb(o), align);
        *sink->cfa(ctx) = cairn_cfi_cfa_of(reg, rule.value);
        return true;
    case CAIRN_DW_CFA_DEF_CFA_OFFSET_SF:
        *cairn_cfi_offset(sink->cfa(ctx), offset_before) =
            cairn_cfi_times((uint64_t)cairn_cfi_take_sleb(o), align);
        return true;
    case CAIRN_DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
        cairn_cfi_toggle_signed(program, sink, ctx, 3);
        return true;
    case CAIRN_DW_CFA_GNU_WINDOW_SAVE:
        cairn_cfi_toggle_signed(program, sink, ctx, 1);
        return true;
    case CAIRN_DW_CFA_GNU_ARGS_SIZE: /* matters for landing pads alone */
        (void)cairn_cfi_take_uleb(o);
        return true;
    default:
        break;
    }
    reg = cairn_cfi_take_uleb(o);
    switch (op) {
    case CAIRN_DW_CFA_UNDEFINED:
        rule.where = CAIRN_CFI_UNDEFINED;
        break;
    case CAIRN_DW_CFA_SAME_VALUE:
        rule.where = CAIRN_CFI_SAME;
        break;
    case CAIRN_DW_CFA_REGISTER: {
        rule = cairn_cfi_cfa_of(cairn_cfi_take_uleb(o), 0);
        break;
    }
    case CAIRN_DW_CFA_EXPRESSION:
        rule = cairn_cfi_take_expr(cfi, o, CAIRN_CFI_AT_EXPR);
        break;
    case CAIRN_DW_CFA_VAL_EXPRESSION:
        rule = cairn_cfi_take_expr(cfi, o, CAIRN_CFI_IS_EXPR);
        break;
    case CAIRN_DW_CFA_OFFSET_EXTENDED_SF:
        rule.where = CAIRN_CFI_AT_CFA;
        rule.value = cairn_cfi_times((uint64_t)cairn_cfi_take_sleb(o), align);
        break;
    case CAIRN_DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        rule.where = CAIRN_CFI_AT_CFA;
        rule.value = cairn_cfi_times(-cairn_cfi_take_uleb(o), align);
        break;
    case CAIRN_DW_CFA_VAL_OFFSET:
        rule.where = CAIRN_CFI_IS_CFA;
        rule.value = cairn_cfi_times(cairn_cfi_take_uleb(o), align);
        break;
    case CAIRN_DW_CFA_VAL_OFFSET_SF:
        rule.where = CAIRN_CFI_IS_CFA;
        rule.value = cairn_cfi_times((uint64_t)cairn_cfi_take_sleb(o), align);
        break;
    default:
        return false;
    }
    cairn_cfi_set(sink, ctx, reg, rule);
    return true;
}

/* Where DW_CFA_set_loc goes, and how far that is; its operand is written as an FDE's range is. */
struct cairn_cfi_leb cairn_cfi_set_loc(const struct cairn_cfi_program *program, const uint8_t *p,
                                       const uint8_t *end, uint64_t vaddr);

static inline __attribute__((always_inline)) enum cairn_cfi_end
cairn_cfi_program_run(const struct cairn_cfi_program *program, const struct cairn_cfi_sink *sink,
                      void *ctx)
{
    const bool swap = program->cfi->swap;
    const uint64_t code_align = program->cie->code_align;
    const int64_t data_align = program->cie->data_align;
    struct cairn_cfi_operands o = {program->bytes.data, program->bytes.data, false};
    uint64_t vaddr = program->vaddr;
    int64_t before = 0; /* the CFA's offset, while it is an expression */
    bool sound = true;
    if (!program->bytes.size) /* then they may be at NULL */
        return CAIRN_CFI_DONE;
    o.end += program->bytes.size;
    while (o.p < o.end) {
        uint8_t op = *o.p++;
        uint64_t delta = 0, reg;
        switch (op & 0xc0 ? op & 0xc0 : op) {
        case CAIRN_DW_CFA_ADVANCE_LOC:
            delta = op & 0x3f;
            break;
        case CAIRN_DW_CFA_OFFSET:
        case CAIRN_DW_CFA_OFFSET_EXTENDED:
            reg = op & 0xc0 ? op & 0x3f : cairn_cfi_take_uleb(&o);
            cairn_cfi_set(sink, ctx, reg,
                          (struct cairn_cfi_rule){
                              .where = CAIRN_CFI_AT_CFA,
                              .value = cairn_cfi_times(cairn_cfi_take_uleb(&o), data_align)});
            break;
        case CAIRN_DW_CFA_RESTORE:
            sink->restore(ctx, op & 0x3f);
            break;
        case CAIRN_DW_CFA_NOP: /* mostly padding at the end */
            while (o.p < o.end && *o.p == CAIRN_DW_CFA_NOP)
                o.p++;
            break;
        case CAIRN_DW_CFA_ADVANCE_LOC1:
            delta = cairn_cfi_take_fixed(&o, 1, swap);
            break;
        case CAIRN_DW_CFA_ADVANCE_LOC2:
            delta = cairn_cfi_take_fixed(&o, 2, swap);
            break;
        case CAIRN_DW_CFA_ADVANCE_LOC4:
            delta = cairn_cfi_take_fixed(&o, 4, swap);
            break;
        case CAIRN_DW_CFA_RESTORE_EXTENDED:
            sink->restore(ctx, cairn_cfi_take_uleb(&o));
            break;
        case CAIRN_DW_CFA_REMEMBER_STATE:
            sound = sink->remember(ctx);
            break;
        case CAIRN_DW_CFA_RESTORE_STATE:
            sound = sink->recall(ctx);
            break;
        case CAIRN_DW_CFA_DEF_CFA:
            reg = cairn_cfi_take_uleb(&o);
            *sink->cfa(ctx) = cairn_cfi_cfa_of(reg, (int64_t)cairn_cfi_take_uleb(&o));
            break;
        case CAIRN_DW_CFA_DEF_CFA_REGISTER: {
            struct cairn_cfi_rule *cfa = sink->cfa(ctx);
            *cfa = cairn_cfi_cfa_of(cairn_cfi_take_uleb(&o), *cairn_cfi_offset(cfa, &before));
            break;
        }
        case CAIRN_DW_CFA_DEF_CFA_OFFSET:
            *cairn_cfi_offset(sink->cfa(ctx), &before) = (int64_t)cairn_cfi_take_uleb(&o);
            break;
        default: {
            struct cairn_cfi_operands rest = o;
            if (op == CAIRN_DW_CFA_MIPS_ADVANCE_LOC8)
                delta = cairn_cfi_take_fixed(&rest, 8, swap);
            else if (op == CAIRN_DW_CFA_SET_LOC)
                delta = cairn_cfi_take_leb(&rest, cairn_cfi_set_loc(program, o.p, o.end, vaddr));
            else
                sound = cairn_cfi_run_rare(program, op, &rest, &before, sink, ctx);
            o = rest;
        }
        }
        if (__builtin_expect(o.failed || !sound, 0))
            return CAIRN_CFI_DAMAGED;
        if (!delta)
            continue;
        /* DW_CFA_set_loc counts in bytes, all others in instructions. */
        if (op != CAIRN_DW_CFA_SET_LOC && __builtin_mul_overflow(delta, code_align, &delta))
            return CAIRN_CFI_DAMAGED;
        if (__builtin_add_overflow(vaddr, delta, &vaddr))
            return CAIRN_CFI_DAMAGED;
        if (delta && !sink->advance(ctx, vaddr))
            return CAIRN_CFI_STOPPED;
        /* What nearly always follows, in two bytes. */
        if (o.end - o.p >= 2 && o.p[0] == CAIRN_DW_CFA_DEF_CFA_OFFSET && o.p[1] < 0x80) {
            *cairn_cfi_offset(sink->cfa(ctx), &before) = o.p[1];
            o.p += 2;
        }
    }
    return CAIRN_CFI_DONE;
}

#endif /* CAIRN_DWARF_CFI_PROGRAM_H */

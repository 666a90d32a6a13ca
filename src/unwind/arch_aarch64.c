/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* aarch64: AAPCS64, and DWARF for the Arm 64-bit Architecture (IHI 0057). */
#include <elf.h>

#include "code/call.h"
#include "unwind/arch.h"
#include "unwind/follow.h"
#include "unwind/fp_step.h"
#include "unwind/rule_aarch64.h"

enum { FP = 29, LR = 30, SP = 31 };

static uint64_t code_address(uint64_t stored)
{
    return stored & CAIRN_AARCH64_ADDRESS_BITS;
}

/* Saved below the CFA, in whole words, at most `max` of them. */
static bool below_cfa(const struct cairn_cfi_rule *rule, int64_t max, uint32_t *ret_words)
{
    if (rule->where != CAIRN_CFI_AT_CFA || rule->value >= 0 || rule->value % 8 ||
        rule->value < -8 * max)
        return false;
    *ret_words = (uint32_t)(-rule->value / 8);
    return true;
}

static uint32_t encode(const struct cairn_cfi *cfi, const struct cairn_cie *cie,
                       const struct cairn_cfi_row *row)
{
    const struct cairn_cfi_rule *fp = &row->regs[FP], *ra = &row->regs[LR], *cfa = &row->cfa;
    const uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0);
    uint32_t fp_words = 0, ra_words = 0;
    (void)cfi;
    if (cie->is_signal_frame)
        return cairn_rule_make(CAIRN_RULE_SIGNAL, 0);
    if (cie->ra_reg != LR)
        return side;
    if (ra->where == CAIRN_CFI_UNDEFINED)
        return cairn_unwind_outermost(row);
    if (cfa->where != CAIRN_CFI_IN_REG || (cfa->reg != SP && cfa->reg != FP) || cfa->value < 0 ||
        cfa->value % 16 || cfa->value / 16 > CAIRN_AARCH64_CFA_MAX ||
        row->regs[SP].where != CAIRN_CFI_SAME)
        return side;
    unsigned base = cfa->reg == FP ? CAIRN_AARCH64_FROM_FP : 0;
    uint32_t up = (uint32_t)(cfa->value / 16);
    bool fp_same = fp->where == CAIRN_CFI_SAME;
    bool fp_saved = below_cfa(fp, CAIRN_AARCH64_SLOT_MAX, &fp_words);
    if (ra->where == CAIRN_CFI_SAME && (fp_same || fp_saved))
        return cairn_aarch64_rule(CAIRN_AARCH64_LEAF + base, up, fp_same ? 0 : fp_words);
    if (!below_cfa(ra, CAIRN_AARCH64_SLOT_MAX, &ra_words))
        return side;
    if (fp_same)
        return cairn_aarch64_rule(CAIRN_AARCH64_RA + base, up, ra_words);
    if (!fp_saved)
        return side;
    if (ra_words + 1 == fp_words)
        return cairn_aarch64_rule(CAIRN_AARCH64_PAIR + base, up, fp_words);
    if (up <= CAIRN_AARCH64_SPLIT_CFA_MAX && fp_words <= CAIRN_AARCH64_SPLIT_SLOT_MAX &&
        ra_words <= CAIRN_AARCH64_SPLIT_SLOT_MAX)
        return cairn_aarch64_split(CAIRN_AARCH64_SPLIT + base, up, fp_words, ra_words);
    return side;
}

static bool read_words(const struct cairn_memory *memory, uint64_t va, size_t n, bool swap,
                       uint64_t *to)
{
    if (!memory->read(memory->ctx, va, to, n * sizeof *to))
        return false;
    for (size_t i = 0; swap && i < n; i++)
        to[i] = __builtin_bswap64(to[i]);
    return true;
}

/* Where the caller's x29 and return address lie, as bytes below the CFA; 0: in their registers. */
struct places {
    uint64_t cfa, fp, ra;
};

static bool decode(uint32_t rule, struct places *ret)
{
    uint64_t slot = cairn_aarch64_slot(rule);
    ret->cfa = cairn_aarch64_cfa(rule);
    ret->fp = ret->ra = 0;
    switch (cairn_aarch64_form(rule)) {
    case CAIRN_AARCH64_PAIR:
        ret->fp = slot;
        ret->ra = slot - 8;
        return slot > 8;
    case CAIRN_AARCH64_RA:
        ret->ra = slot;
        return slot > 0;
    case CAIRN_AARCH64_LEAF:
        ret->fp = slot;
        return true;
    case CAIRN_AARCH64_SPLIT:
        ret->cfa = cairn_aarch64_split_cfa(rule);
        ret->fp = cairn_aarch64_split_fp(rule);
        ret->ra = cairn_aarch64_split_ra(rule);
        return ret->fp > 0 && ret->ra > 0;
    default:
        return false;
    }
}

static enum cairn_arch_step step(uint32_t rule, bool is_leaf, const struct cairn_memory *memory,
                                 bool swap, struct cairn_unwind_regs *regs)
{
    struct places at;
    if (!decode(rule, &at))
        return CAIRN_STEP_NO_RULE;
    if (!at.ra && !is_leaf)
        return CAIRN_STEP_LEAF;
    unsigned base = cairn_aarch64_is_fp(rule) ? FP : SP;
    if (!cairn_unwind_known(regs, base) || (!at.ra && !cairn_unwind_known(regs, LR)))
        return CAIRN_STEP_UNKNOWN;
    uint64_t sp = regs->regs[SP], cfa = regs->regs[base] + at.cfa;
    if (cfa % 16 || cfa < sp || (cfa == sp && !is_leaf))
        return CAIRN_STEP_BAD_CFA;
    bool has_fp = cairn_unwind_known(regs, FP);
    uint64_t fp = regs->regs[FP], ra = regs->regs[LR];
    if (at.fp && !read_words(memory, cfa - at.fp, 1, swap, &fp))
        return CAIRN_STEP_UNREADABLE;
    if (at.ra && !read_words(memory, cfa - at.ra, 1, swap, &ra))
        return CAIRN_STEP_UNREADABLE;
    regs->known = 0;
    cairn_unwind_set(regs, SP, cfa);
    if (at.fp || has_fp)
        cairn_unwind_set(regs, FP, fp);
    regs->ip = code_address(ra);
    return CAIRN_STEP_OK;
}

/* glibc's __start_context: nop or bti c; mov x0, x19; cbnz x0, setcontext; b exit. */
static bool is_start_context(struct cairn_span code)
{
    static const uint8_t mov_x0_x19[] = {0xe0, 0x03, 0x13, 0xaa};
    for (size_t i = 0; i <= 4 && i + 12 <= code.size; i += 4)
        if (memcmp(code.data + i, mov_x0_x19, sizeof mov_x0_x19) == 0)
            return code.data[i + 7] == 0xb5 && (code.data[i + 4] & 31) == 0 &&
                   code.data[i + 11] >> 2 == 5;
    return false;
}

/* mov x8, #93 (exit); svc #0, with the status between them or before. */
static bool ends_thread(struct cairn_span code)
{
    bool number = false;
    if (is_start_context(code))
        return true;
    for (size_t i = 0; i + 4 <= code.size && i < 16; i += 4) {
        number |= memcmp(code.data + i, "\xa8\x0b\x80\xd2", 4) == 0;
        if (number && memcmp(code.data + i, "\x01\x00\x00\xd4", 4) == 0)
            return true;
    }
    return false;
}

/* What can write to sp, register 31 (Arm ARM, C4.1): additions of a number or an extended register,
 * logic with a number, and loads and stores that write their base back, for which any by way of sp
 * is taken. */
static bool keeps_sp(struct cairn_span code)
{
    for (size_t i = 0; i + 4 <= code.size; i += 4) {
        const uint8_t *b = code.data + i;
        uint32_t insn = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
        bool adds = (insn & 0x1f800000) == 0x11000000 || (insn & 0x1fe00000) == 0x0b200000;
        bool masks = (insn & 0x1f800000) == 0x12000000;
        bool stores = (insn & 0x0a000000) == 0x08000000;
        if ((adds || masks) && (insn & 31) == SP)
            return false;
        if (stores && (insn >> 5 & 31) == SP)
            return false;
    }
    return true;
}

/* AAPCS64, 6.4.6: one layout for all. The record lies anywhere in its frame: where the frame ends,
 * and so the caller's sp, it does not say. */
static const struct cairn_fp_layout layouts[] = {{.fp = 0, .ra = 8, .end = 16}};

static bool keeps_fp(uint32_t rule)
{
    return cairn_aarch64_form(rule) == CAIRN_AARCH64_PAIR;
}

const struct cairn_unwind_arch cairn_unwind_aarch64 = {
    .machine = EM_AARCH64,
    .word = 8,
    .n_regs = 35,
    .sp = SP,
    .fp = FP,
    .ra = LR,
    .pc = CAIRN_CFI_REGS,
    .ra_in_reg = true,
    .kept = UINT64_C(0x7ff) << 19, /* x19..x29 */
    .table_regs = UINT64_C(7) << FP,
    .encode = encode,
    .step = step,
    .code_address = code_address,
    .ends_thread = ends_thread,
    .call = cairn_call_aarch64,
    .keeps_sp = keeps_sp,
    .follow = cairn_follow_aarch64,
    .fp_regs = {FP, FP},
    .fp_layouts = layouts,
    .n_fp_layouts = 1,
    .keeps_fp = keeps_fp,
};

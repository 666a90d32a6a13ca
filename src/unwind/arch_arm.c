/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* 32-bit arm: AAPCS32, and DWARF for the Arm Architecture (IHI 0040). */
#include <elf.h>

#include "code/call.h"
#include "unwind/arch.h"
#include "unwind/arm_step.h"
#include "unwind/fp_step.h"
#include "unwind/rule_arm.h"

enum { R4 = 4, R7 = 7, R11 = 11, SP = 13, LR = 14, PC = 15 };
enum { R4_TO_R11 = 0xff0, KEPT = R4_TO_R11, POPPED = R4_TO_R11 | 1 << LR };

static uint64_t code_address(uint64_t stored)
{
    return (uint32_t)stored & ~1u;
}

/* The registers that a row saves, as the mask of an epilogue's pop. False: it is no such pop: a
 * register between two others lies elsewhere, or was put somewhere else than on the stack. */
static bool encode_pops(const struct cairn_cfi_row *row, uint32_t *ret_mask, int64_t *ret_first)
{
    uint32_t mask = 0;
    int64_t next = 0;
    for (unsigned reg = R4; reg <= LR; reg++) {
        const struct cairn_cfi_rule *rule = &row->regs[reg];
        if (!(POPPED & 1u << reg) || rule->where == CAIRN_CFI_SAME)
            continue;
        if (rule->where != CAIRN_CFI_AT_CFA || (mask && rule->value != next))
            return false;
        if (!mask)
            *ret_first = rule->value;
        mask |= 1u << reg;
        next = rule->value + 4;
    }
    *ret_mask = mask;
    return true;
}

/* The rule of `add` bytes from register `base`, the pops of `mask`, and `post` bytes more. */
static uint32_t encode_rule(unsigned base, int64_t add, uint32_t mask, int64_t post)
{
    const uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0);
    if (add % 4 || post % 4 || post < 0)
        return side;
    add /= 4;
    post /= 4;
    if (base == SP && post == 0 && add > CAIRN_ARM_ADD_MAX && add <= CAIRN_ARM_FAR_MAX)
        return cairn_arm_far((uint32_t)add, mask);
    if (base != SP)
        add += CAIRN_ARM_FP_BIAS;
    if (add < 0 || add > CAIRN_ARM_ADD_MAX || post > CAIRN_ARM_POST_MAX)
        return side;
    enum cairn_rule_arm kind = base == SP   ? CAIRN_ARM_SP
                               : base == R7 ? CAIRN_ARM_R7
                                            : CAIRN_ARM_R11;
    return cairn_arm_rule(kind, (uint32_t)add, mask, (uint32_t)post);
}

/* `cie` is NULL for a row of .ARM.exidx. */
static uint32_t encode(const struct cairn_cfi *cfi, const struct cairn_cie *cie,
                       const struct cairn_cfi_row *row)
{
    const uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0);
    const struct cairn_cfi_rule *cfa = &row->cfa;
    uint32_t mask;
    int64_t first = 0;
    (void)cfi;
    if (cie && cie->is_signal_frame)
        return cairn_rule_make(CAIRN_RULE_SIGNAL, 0);
    if (cie && cie->ra_reg != LR)
        return side;
    if (row->regs[LR].where == CAIRN_CFI_UNDEFINED)
        return cairn_rule_make(CAIRN_RULE_OUTERMOST, 0);
    if (cfa->where != CAIRN_CFI_IN_REG || (cfa->reg != SP && cfa->reg != R7 && cfa->reg != R11) ||
        row->regs[SP].where != CAIRN_CFI_SAME || !encode_pops(row, &mask, &first))
        return side;
    if (!mask)
        return encode_rule(cfa->reg, cfa->value, 0, 0);
    return encode_rule(cfa->reg, cfa->value + first, mask, -first - 4 * __builtin_popcount(mask));
}

static bool read_words(const struct cairn_memory *memory, uint64_t va, size_t n, bool swap,
                       uint32_t *to)
{
    if (!memory->read(memory->ctx, va, to, n * sizeof *to))
        return false;
    for (size_t i = 0; swap && i < n; i++)
        to[i] = __builtin_bswap32(to[i]);
    return true;
}

static unsigned base_of(uint32_t rule)
{
    unsigned kind = cairn_rule_kind(rule);
    return kind == CAIRN_ARM_R7 ? R7 : kind == CAIRN_ARM_R11 ? R11 : SP;
}

static enum cairn_arch_step step(uint32_t rule, bool is_leaf, const struct cairn_memory *memory,
                                 bool swap, struct cairn_unwind_regs *regs)
{
    if (cairn_rule_kind(rule) > CAIRN_ARM_SP_FAR)
        return CAIRN_STEP_NO_RULE;
    uint32_t mask = cairn_arm_mask(rule), words[PC + 1];
    unsigned base = base_of(rule), n = 0;
    bool in_reg = !(mask & (1u << LR | 1u << PC));
    if (in_reg && !is_leaf)
        return CAIRN_STEP_LEAF;
    if (!cairn_unwind_known(regs, base) || (in_reg && !cairn_unwind_known(regs, LR)))
        return CAIRN_STEP_UNKNOWN;
    uint64_t sp = regs->regs[SP], first = regs->regs[base] + (int64_t)cairn_arm_add(rule);
    uint64_t cfa = first + 4 * (unsigned)__builtin_popcount(mask) + cairn_arm_post(rule);
    if (cfa % 4 || cfa > UINT32_MAX || first > cfa || cfa < sp || (cfa == sp && !is_leaf))
        return CAIRN_STEP_BAD_CFA;
    if (mask && !read_words(memory, first, (size_t)__builtin_popcount(mask), swap, words))
        return CAIRN_STEP_UNREADABLE;
    uint32_t ra = (uint32_t)regs->regs[LR];
    regs->known &= KEPT; /* those that are not popped are the caller's own */
    for (unsigned reg = R4; reg <= PC; reg++)
        if (mask & 1u << reg) {
            uint32_t word = words[n++];
            if (reg >= LR)
                ra = word;
            else
                cairn_unwind_set(regs, reg, word);
        }
    cairn_unwind_set(regs, SP, cfa);
    cairn_unwind_set(regs, PC, ra);
    regs->ip = code_address(ra);
    return CAIRN_STEP_OK;
}

/* mov r7, #1 (exit); svc #0: A32, T32 short and long. */
static bool ends_thread(struct cairn_span code)
{
    static const uint8_t codes[][8] = {
        {0x01, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef},
        {0x01, 0x27, 0x00, 0xdf},
        {0x4f, 0xf0, 0x01, 0x07, 0x00, 0xdf},
    };
    static const size_t sizes[] = {8, 4, 6};
    /* glibc's __startcontext: movs r0, r4; bne setcontext; b exit, in A32 */
    if (code.size >= 12 && memcmp(code.data, "\x04\x00\xb0\xe1", 4) == 0 && code.data[7] == 0x1a &&
        code.data[11] == 0xea)
        return true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (code.size >= sizes[i] && memcmp(code.data, codes[i], sizes[i]) == 0)
            return true;
    return false;
}

/* clang's (AAPCS32, 6.2.1.4) has the record where the register points; GCC's, in A32, a word below.
 * Both are the last that a function pushes, but for arguments of a variadic one. */
static const struct cairn_fp_layout layouts[] = {
    {.fp = 0, .ra = 4, .end = 8, .end_is_sp = true},
    {.fp = -4, .ra = 0, .end = 4, .end_is_sp = true},
};

static bool keeps_fp(uint32_t rule)
{
    return cairn_arm_is_fp(rule);
}

const struct cairn_unwind_arch cairn_unwind_arm = {
    .machine = EM_ARM,
    .word = 4,
    .n_regs = 16,
    .sp = SP,
    .fp = R11,
    .ra = LR,
    .pc = PC,
    .ra_in_reg = true,
    .kept = KEPT,
    .table_regs = POPPED | 1 << SP,
    .encode = encode,
    .step = step,
    .step_by_code = cairn_arm_step_by_code,
    .code_address = code_address,
    .ends_thread = ends_thread,
    .call = cairn_call_arm,
    .fp_regs = {R11, R7}, /* Thumb's is r7 */
    .fp_layouts = layouts,
    .n_fp_layouts = 2,
    .keeps_fp = keeps_fp,
};

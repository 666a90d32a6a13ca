/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include <elf.h>

#include "base/reader.h"
#include "code/call.h"
#include "unwind/arch.h"
#include "unwind/clone_x86_64.h"
#include "unwind/follow.h"
#include "unwind/fp_step.h"
#include "unwind/rule_x86_64.h"
#include "unwind/table_writer.h"

/* DWARF's numbers (System V psABI 1.0, figure 3.36). */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R12 = 12, R15 = 15, RIP = 16, N_REGS };

enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_LIT3 = 0x33,
    OP_LIT15 = 0x3f,
    OP_LIT16 = 0x40,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70
};

static struct cairn_reader expr_of(const struct cairn_cfi *cfi, const struct cairn_cfi_rule *rule)
{
    struct cairn_span expr = {0};
    struct cairn_reader r = {.failed = true};
    if (cairn_span_slice(cfi->bytes, (uint64_t)rule->value, rule->expr_size, &expr))
        r = cairn_reader_of(expr, cfi->swap);
    return r;
}

/* Words, where `bytes` is a whole number of them and at most `max` words. */
static bool words_of(int64_t bytes, uint32_t max, uint32_t *ret_words)
{
    if (bytes < 0 || bytes % 8 || bytes / 8 > max)
        return false;
    *ret_words = (uint32_t)(bytes / 8);
    return true;
}

/* DW_OP_breg<reg> n, and nothing behind it. */
static bool is_breg(struct cairn_reader r, unsigned reg, int64_t n)
{
    bool is = cairn_reader_u8(&r) == OP_BREG0 + reg && cairn_reader_sleb(&r) == n;
    return is && !r.failed && !cairn_reader_left(&r);
}

/* What linkers write for .plt: rsp + 8n + ((rip & 15) >= k) * 8. `r` is behind breg7 8n. */
static uint32_t encode_plt(struct cairn_reader *r, uint32_t n)
{
    static const uint8_t head[] = {OP_BREG0 + RIP, 0, OP_LIT15, OP_AND};
    static const uint8_t tail[] = {OP_GE, OP_LIT3, OP_SHL, OP_PLUS};
    struct cairn_span before = cairn_reader_take(r, sizeof head);
    uint8_t k = cairn_reader_u8(r);
    struct cairn_span behind = cairn_reader_take(r, sizeof tail);
    if (r->failed || cairn_reader_left(r) || memcmp(before.data, head, sizeof head) != 0 ||
        memcmp(behind.data, tail, sizeof tail) != 0 || k < OP_LIT0 || k > OP_LIT31)
        return cairn_rule_make(CAIRN_RULE_SIDE, 0);
    return cairn_x86_64_rule(CAIRN_X86_64_PLT, n, k - OP_LIT0);
}

/* Behind breg6 `off`, deref: nothing, or plus 16. */
static uint32_t encode_fp_deref(struct cairn_reader *r, int64_t off, uint32_t fp)
{
    uint32_t n;
    bool is_deref = cairn_reader_u8(r) == OP_DEREF && !r->failed;
    if (is_deref && !cairn_reader_left(r) && words_of(-off, CAIRN_X86_64_CFA_MAX, &n))
        return cairn_x86_64_rule(CAIRN_X86_64_FP_DEREF, n, fp);
    bool is_chain = is_deref && !off && cairn_reader_left(r) == 2;
    uint8_t op = cairn_reader_u8(r), last = cairn_reader_u8(r);
    is_chain &= (op == OP_LIT16 && last == OP_PLUS) || (op == OP_PLUS_UCONST && last == 16);
    return is_chain ? cairn_x86_64_rule(CAIRN_X86_64_FP_CHAIN, 2, fp)
                    : cairn_rule_make(CAIRN_RULE_SIDE, 0);
}

/* The CFA is an expression: one of four that compilers, linkers and SBCL write. `fp` is where the
 * caller's rbp is, AT_FP included. */
static uint32_t encode_expr(const struct cairn_cfi *cfi, const struct cairn_cfi_rule *cfa,
                            uint32_t fp)
{
    uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0), n;
    struct cairn_reader r = expr_of(cfi, cfa);
    uint8_t reg = (uint8_t)(cairn_reader_u8(&r) - OP_BREG0);
    int64_t off = cairn_reader_sleb(&r);
    if (r.failed || off < -8 * CAIRN_X86_64_CFA_MAX)
        return side;
    if (reg == RBP)
        return encode_fp_deref(&r, off, fp);
    if (reg != RSP || fp == CAIRN_X86_64_FP_AT_FP || !words_of(off, CAIRN_X86_64_CFA_MAX, &n))
        return side;
    if (cairn_reader_left(&r) != 3)
        return fp == CAIRN_X86_64_FP_SAME ? encode_plt(&r, n) : side;
    bool is_kept = cairn_reader_u8(&r) == OP_DEREF && cairn_reader_u8(&r) == OP_PLUS_UCONST &&
                   cairn_reader_u8(&r) == 8;
    return is_kept ? cairn_x86_64_rule(CAIRN_X86_64_SP_DEREF, n, fp) : side;
}

/* glibc's and musl's __restore_rt, and that of any libc which takes them from the kernel's layout:
 * CFA = *(rsp + 160), rip at rsp + 168, rbp at rsp + 120. */
static bool is_kernels(const struct cairn_cfi *cfi, const struct cairn_cfi_row *row)
{
    const struct cairn_cfi_rule *cfa = &row->cfa, *ip = &row->regs[RIP], *fp = &row->regs[RBP];
    struct cairn_reader r = expr_of(cfi, cfa);
    return cfa->where == CAIRN_CFI_IS_EXPR && cairn_reader_u8(&r) == OP_BREG0 + RSP &&
           cairn_reader_sleb(&r) == CAIRN_X86_64_SIGNAL_SP && cairn_reader_u8(&r) == OP_DEREF &&
           !r.failed && !cairn_reader_left(&r) && ip->where == CAIRN_CFI_AT_EXPR &&
           is_breg(expr_of(cfi, ip), RSP, CAIRN_X86_64_SIGNAL_IP) &&
           fp->where == CAIRN_CFI_AT_EXPR && is_breg(expr_of(cfi, fp), RSP, CAIRN_X86_64_SIGNAL_FP);
}

/* Where the caller's rbp is: SAME, AT_FP or words below the CFA; false: neither. */
static bool encode_fp(const struct cairn_cfi *cfi, const struct cairn_cfi_row *row,
                      uint32_t *ret_fp)
{
    const struct cairn_cfi_rule *fp = &row->regs[RBP];
    *ret_fp = CAIRN_X86_64_FP_SAME;
    if (fp->where == CAIRN_CFI_SAME)
        return true;
    if (fp->where == CAIRN_CFI_AT_CFA)
        return fp->value < 0 && fp->value >= -8 * CAIRN_X86_64_FP_MAX &&
               words_of(-fp->value, CAIRN_X86_64_FP_MAX, ret_fp);
    if (fp->where != CAIRN_CFI_AT_EXPR || !is_breg(expr_of(cfi, fp), RBP, 0))
        return false;
    *ret_fp = CAIRN_X86_64_FP_AT_FP;
    /* rbp itself is the CFA less something: then the place is one that every rule can say. */
    if (row->cfa.where == CAIRN_CFI_IN_REG)
        return row->cfa.reg == RBP && row->cfa.value > 0 &&
               words_of(row->cfa.value, CAIRN_X86_64_FP_MAX, ret_fp);
    return true;
}

/* The return address is in rdi: what can be said of it in the rule. */
static uint32_t side_hint(const struct cairn_cfi_row *row)
{
    const struct cairn_cfi_rule *ra = &row->regs[RIP], *cfa = &row->cfa;
    uint32_t n;
    if (ra->where != CAIRN_CFI_IN_REG || ra->reg != RDI || cfa->where != CAIRN_CFI_IN_REG ||
        cfa->reg != RSP || row->regs[RBP].where != CAIRN_CFI_SAME ||
        !words_of(cfa->value, CAIRN_X86_64_IN_DI_MAX, &n))
        return 0;
    return (n + 1) << CAIRN_RULE_SIDE_BITS;
}

static uint32_t encode(const struct cairn_cfi *cfi, const struct cairn_cie *cie,
                       const struct cairn_cfi_row *row)
{
    const struct cairn_cfi_rule *ra = &row->regs[RIP], *sp = &row->regs[RSP], *cfa = &row->cfa;
    uint32_t side = cairn_rule_make(CAIRN_RULE_SIDE, 0), fp, n;
    if (cie->ra_reg != RIP)
        return side;
    if (ra->where == CAIRN_CFI_UNDEFINED)
        return cairn_unwind_outermost(row);
    if (cie->is_signal_frame)
        return is_kernels(cfi, row) ? cairn_rule_make(CAIRN_RULE_SIGNAL, 0) : side;
    if (!(sp->where == CAIRN_CFI_SAME || (sp->where == CAIRN_CFI_IS_CFA && !sp->value)))
        return side;
    if (ra->where != CAIRN_CFI_AT_CFA || ra->value != -8)
        return side | side_hint(row);
    if (!encode_fp(cfi, row, &fp))
        return side;
    if (cfa->where == CAIRN_CFI_IS_EXPR)
        return encode_expr(cfi, cfa, fp);
    if (cfa->where != CAIRN_CFI_IN_REG || (cfa->reg != RSP && cfa->reg != RBP) ||
        !words_of(cfa->value, CAIRN_X86_64_CFA_MAX, &n))
        return side;
    return cairn_x86_64_rule(cfa->reg == RBP ? CAIRN_X86_64_FP : CAIRN_X86_64_SP, n, fp);
}

static bool read_word(const struct cairn_memory *memory, bool swap, uint64_t va, uint64_t *ret_word)
{
    uint64_t word;
    if (!memory->read(memory->ctx, va, &word, sizeof word))
        return false;
    *ret_word = swap ? __builtin_bswap64(word) : word;
    return true;
}

static enum cairn_arch_step find_cfa(uint32_t rule, const struct cairn_memory *memory, bool swap,
                                     const struct cairn_unwind_regs *regs, uint64_t *ret_cfa)
{
    uint64_t n = cairn_x86_64_cfa(rule), sp = regs->regs[RSP], fp = regs->regs[RBP];
    unsigned kind = cairn_rule_kind(rule);
    if ((kind == CAIRN_X86_64_FP || kind == CAIRN_X86_64_FP_DEREF ||
         kind == CAIRN_X86_64_FP_CHAIN) &&
        !cairn_unwind_known(regs, RBP))
        return CAIRN_STEP_UNKNOWN;
    switch (kind) {
    case CAIRN_X86_64_SP:
        *ret_cfa = sp + n;
        return CAIRN_STEP_OK;
    case CAIRN_X86_64_FP:
        *ret_cfa = fp + n;
        return CAIRN_STEP_OK;
    case CAIRN_X86_64_PLT:
        *ret_cfa = cairn_x86_64_plt_cfa(rule, regs->ip, sp);
        return CAIRN_STEP_OK;
    case CAIRN_X86_64_FP_DEREF:
        return read_word(memory, swap, fp - n, ret_cfa) ? CAIRN_STEP_OK : CAIRN_STEP_UNREADABLE;
    case CAIRN_X86_64_SP_DEREF:
        if (!read_word(memory, swap, sp + n, ret_cfa))
            return CAIRN_STEP_UNREADABLE;
        *ret_cfa += 8;
        return CAIRN_STEP_OK;
    case CAIRN_X86_64_FP_CHAIN:
        if (!read_word(memory, swap, fp, ret_cfa))
            return CAIRN_STEP_UNREADABLE;
        *ret_cfa += n;
        return CAIRN_STEP_OK;
    default:
        return CAIRN_STEP_NO_RULE;
    }
}

static enum cairn_arch_step step(uint32_t rule, bool is_leaf, const struct cairn_memory *memory,
                                 bool swap, struct cairn_unwind_regs *regs)
{
    (void)is_leaf; /* a call pushes the return address: it lies in memory at once */
    bool fp_known = cairn_unwind_known(regs, RBP);
    uint64_t cfa, ip, fp = regs->regs[RBP];
    uint32_t slot =
        cairn_rule_kind(rule) == CAIRN_X86_64_PLT ? CAIRN_X86_64_FP_SAME : cairn_x86_64_fp(rule);
    if (!cairn_unwind_known(regs, RSP))
        return CAIRN_STEP_UNKNOWN;
    enum cairn_arch_step result = find_cfa(rule, memory, swap, regs, &cfa);
    if (result != CAIRN_STEP_OK)
        return result;
    if (cfa <= regs->regs[RSP] || cfa % 8)
        return CAIRN_STEP_BAD_CFA;
    if (!read_word(memory, swap, cfa - 8, &ip))
        return CAIRN_STEP_UNREADABLE;
    if (slot == CAIRN_X86_64_FP_AT_FP && !fp_known)
        return CAIRN_STEP_UNKNOWN;
    if (slot != CAIRN_X86_64_FP_SAME &&
        !read_word(memory, swap, slot == CAIRN_X86_64_FP_AT_FP ? fp : cfa - 8 * (uint64_t)slot,
                   &fp))
        return CAIRN_STEP_UNREADABLE;
    regs->known = 0;
    cairn_unwind_set(regs, RSP, cfa);
    cairn_unwind_set(regs, RIP, ip);
    if (slot != CAIRN_X86_64_FP_SAME || fp_known)
        cairn_unwind_set(regs, RBP, fp);
    regs->ip = ip;
    return CAIRN_STEP_OK;
}

#define BIT(reg) (UINT64_C(1) << (reg))

/* What a function gives its caller back as it was (psABI, 3.2.1). */
static const uint64_t KEPT =
    BIT(RBX) | BIT(RBP) | BIT(R12) | BIT(R12 + 1) | BIT(R12 + 2) | BIT(R15);

static enum cairn_arch_step step_clone(const struct cairn_code_input *in,
                                       struct cairn_unwind_regs *regs)
{
    uint8_t code[CAIRN_CLONE_BYTES];
    uint64_t ip;
    if (!in->is_leaf || !cairn_unwind_known(regs, RAX) ||
        !in->code->read(in->code->ctx, regs->ip - CAIRN_CLONE_BEFORE, code, sizeof code) ||
        !cairn_x86_64_is_clone(code))
        return CAIRN_STEP_NO_RULE;
    if (regs->regs[RAX] == 0)
        return CAIRN_STEP_OUTERMOST;
    if (!read_word(in->stack, in->swap, regs->regs[RSP], &ip))
        return CAIRN_STEP_UNREADABLE;
    regs->known &= KEPT;
    cairn_unwind_set(regs, RSP, regs->regs[RSP] + 8);
    cairn_unwind_set(regs, RIP, ip);
    regs->ip = ip;
    return CAIRN_STEP_OK;
}

static uint64_t code_address(uint64_t stored)
{
    return stored;
}

/* Where boost.context's make_fcontext lets a context's function return to: xor %rdi, %rdi; call
 * _exit; hlt. */
static bool ends_context(const uint8_t *code)
{
    return memcmp(code, "\x48\x31\xff\xe8", 4) == 0 && code[8] == 0xf4;
}

/* mov $60 (exit) into eax or al, then syscall, at once (glibc, musl). */
static bool ends_thread(struct cairn_span code)
{
    /* glibc's __start_context: mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi */
    static const uint8_t start_context[] = {0x48, 0x89, 0xdc, 0x48, 0x8b,
                                            0x3c, 0x24, 0x48, 0x85, 0xff};
    if (code.size >= 16) {
        size_t endbr = memcmp(code.data, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
        if (memcmp(code.data + endbr, start_context, sizeof start_context) == 0 ||
            ends_context(code.data + endbr))
            return true;
    }
    bool number = false;
    for (size_t i = 0; i + 1 < code.size && i < 16; i++) {
        if ((code.data[i] == 0xb8 || code.data[i] == 0xb0) && code.data[i + 1] == 60)
            number = true;
        if (number && code.data[i] == 0x0f && code.data[i + 1] == 0x05)
            return true;
    }
    return false;
}

/* push %rbp; mov %rsp, %rbp, right behind the call (psABI, 3.2.2). */
static const struct cairn_fp_layout layouts[] = {{.fp = 0, .ra = 8, .end = 16, .end_is_sp = true}};

static bool keeps_fp(uint32_t rule)
{
    return cairn_rule_kind(rule) == CAIRN_X86_64_FP;
}

const struct cairn_unwind_arch cairn_unwind_x86_64 = {
    .machine = EM_X86_64,
    .word = 8,
    .n_regs = N_REGS,
    .sp = RSP,
    .fp = RBP,
    .ra = RIP,
    .pc = RIP,
    .kept = KEPT,
    .table_regs = BIT(RBP) | BIT(RSP) | BIT(RIP),
    .encode = encode,
    .run = cairn_unwind_table_run_x86_64,
    .step = step,
    .step_clone = step_clone,
    .code_address = code_address,
    .ends_thread = ends_thread,
    .follow = cairn_follow_x86_64,
    .call = cairn_call_x86_64,
    .fp_regs = {RBP, RBP},
    .fp_layouts = layouts,
    .n_fp_layouts = 1,
    .keeps_fp = keeps_fp,
};

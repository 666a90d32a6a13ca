/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What aarch64's instructions do to registers and the stack (Arm ARM, DDI 0487, C4.1): loads and
 * stores of one and two registers, additions of a number, moves, and jumps. What else there is
 * writes the register that its lowest five bits name, if it is no store.
 */
#include "unwind/follow.h"

enum { FP = 29, LR = 30, SP = 31 }; /* 31 is also the register that is zero */

static const uint64_t CHANGED_BY_CALLS = UINT64_C(0x4007ffff); /* x0..x18, x30 */
static const uint32_t PUSH_X16_X30 = 0xa9bf7bf0, BR_X17 = 0xd61f0220;

static unsigned bits(uint32_t insn, unsigned from, unsigned n)
{
    return insn >> from & ((1u << n) - 1);
}

static int64_t signed_bits(uint32_t insn, unsigned from, unsigned n)
{
    return (int64_t)((uint64_t)insn << (64 - from - n)) >> (64 - n);
}

static void set(struct cairn_follow *f, unsigned reg, bool known, uint64_t value)
{
    if (known)
        cairn_unwind_set(&f->regs, reg, value);
    else
        cairn_follow_forget(f, reg);
}

/* Register 31 as data: zero. */
static bool get(const struct cairn_follow *f, unsigned reg, uint64_t *ret_value)
{
    *ret_value = reg == SP ? 0 : f->regs.regs[reg];
    return reg == SP || cairn_unwind_known(&f->regs, reg);
}

static void forget(struct cairn_follow *f, unsigned reg)
{
    if (reg != SP)
        cairn_follow_forget(f, reg);
}

/* One or two registers of `size` bytes, at `base` plus `off`; all but whole registers of 64 bits
 * are not known afterwards. */
struct access {
    unsigned base, size, n, regs[2];
    int64_t off, back; /* what is accessed; what is added to the base afterwards */
    bool is_load, is_whole, is_vector;
};

static void access(struct cairn_follow *f, const struct access *a)
{
    bool known = cairn_unwind_known(&f->regs, a->base);
    uint64_t base = f->regs.regs[a->base];
    for (unsigned i = 0; i < a->n; i++) {
        uint64_t va = base + (uint64_t)a->off + i * a->size, word = 0;
        if (a->is_load) {
            bool is_read = a->is_whole && known && cairn_follow_load(f, va, &word);
            if (!a->is_vector && a->regs[i] != SP)
                set(f, a->regs[i], is_read, word);
        } else if (known) {
            bool is_known = a->is_whole && get(f, a->regs[i], &word);
            cairn_follow_store(f, va, is_known, word);
            if (a->size > 8)
                cairn_follow_store(f, va + 8, false, 0);
        }
    }
    if (a->back)
        set(f, a->base, known, base + (uint64_t)a->back);
}

/* stp, ldp and their kin: [29:27] is 101. */
static void pair(struct cairn_follow *f, uint32_t insn)
{
    unsigned kind = bits(insn, 30, 2), mode = bits(insn, 23, 3) & 3;
    bool is_vector = bits(insn, 26, 1);
    unsigned size = is_vector ? 4u << kind : kind & 2 ? 8 : 4;
    int64_t off = signed_bits(insn, 15, 7) * size;
    struct access a = {.base = bits(insn, 5, 5),
                       .size = size,
                       .n = 2,
                       .regs = {bits(insn, 0, 5), bits(insn, 10, 5)},
                       .off = mode == 1 ? 0 : off,
                       .back = mode == 1 || mode == 3 ? off : 0,
                       .is_load = bits(insn, 22, 1),
                       .is_whole = !is_vector && kind == 2,
                       .is_vector = is_vector};
    access(f, &a);
}

/* str, ldr and their kin: [29:27] is 111. */
static void single(struct cairn_follow *f, uint32_t insn)
{
    unsigned kind = bits(insn, 30, 2), opc = bits(insn, 22, 2), mode = bits(insn, 10, 2);
    bool is_vector = bits(insn, 26, 1), is_far = bits(insn, 24, 1);
    unsigned scale = is_vector ? kind | (opc & 2) << 1 : kind;
    if (!is_far && bits(insn, 21, 1)) { /* an atomic, or by an offset in a register */
        forget(f, bits(insn, 0, 5));
        return;
    }
    int64_t off = is_far ? (int64_t)bits(insn, 10, 12) << (scale & 7) : signed_bits(insn, 12, 9);
    struct access a = {.base = bits(insn, 5, 5),
                       .size = 1u << (scale & 7),
                       .n = 1,
                       .regs = {bits(insn, 0, 5)},
                       .off = !is_far && mode == 1 ? 0 : off,
                       .back = !is_far && mode & 1 ? off : 0,
                       .is_load = is_vector ? opc & 1 : opc != 0,
                       .is_whole = !is_vector && kind == 3 && opc < 2,
                       .is_vector = is_vector};
    access(f, &a);
}

/* add and sub of a number; `mov` to and from sp is one of 0. */
static void add_number(struct cairn_follow *f, uint32_t insn)
{
    unsigned to = bits(insn, 0, 5), from = bits(insn, 5, 5);
    uint64_t number = (uint64_t)bits(insn, 10, 12) << (bits(insn, 22, 1) ? 12 : 0);
    bool sets_flags = bits(insn, 29, 1), is_wide = bits(insn, 31, 1);
    if (sets_flags && to == SP)
        return;
    uint64_t value = f->regs.regs[from] + (bits(insn, 30, 1) ? -number : number);
    f->moved |= to == SP && from != SP && from != FP;
    set(f, to, is_wide && cairn_unwind_known(&f->regs, from), value);
}

/* mov and eor between registers; adr and adrp. */
static bool compute(struct cairn_follow *f, uint32_t insn)
{
    unsigned to = bits(insn, 0, 5);
    uint64_t a, b;
    bool is_move = (insn & 0xffe0ffe0) == 0xaa0003e0, is_eor = (insn & 0xffe0fc00) == 0xca000000;
    if (is_move || is_eor) {
        bool has_b = get(f, bits(insn, 16, 5), &b), has_a = get(f, bits(insn, 5, 5), &a);
        if (to != SP)
            set(f, to, has_a && has_b, is_move ? b : a ^ b);
        return true;
    }
    if ((insn & 0x1f000000) != 0x10000000)
        return false;
    int64_t off = signed_bits(insn, 5, 19) * 4 + (int64_t)bits(insn, 29, 2);
    bool pages = bits(insn, 31, 1);
    if (to != SP)
        set(f, to, true,
            pages ? (f->regs.ip & ~UINT64_C(0xfff)) + (uint64_t)(off * 4096)
                  : f->regs.ip + (uint64_t)off);
    return true;
}

static enum cairn_follow_step return_to(struct cairn_follow *f, unsigned reg)
{
    f->ret = f->regs.regs[reg];
    return cairn_unwind_known(&f->regs, reg) ? CAIRN_FOLLOW_RETURN : CAIRN_FOLLOW_STOP;
}

/* The first stub of a PLT pushes two words for the resolver, which knows of them. */
static bool is_first_stub(const struct cairn_follow *f, uint32_t insn)
{
    uint32_t pushes;
    const struct cairn_memory *memory = f->space->memory;
    return insn == BR_X17 && memory->read(memory->ctx, f->regs.ip - 16, &pushes, sizeof pushes) &&
           pushes == PUSH_X16_X30;
}

static enum cairn_follow_step jump(struct cairn_follow *f, uint32_t insn)
{
    unsigned to = bits(insn, 5, 5);
    if (is_first_stub(f, insn))
        f->regs.regs[SP] += 16;
    f->ret = f->regs.regs[to];
    f->knows_ret = cairn_unwind_known(&f->regs, to);
    return CAIRN_FOLLOW_JUMP;
}

static enum cairn_follow_step leave(struct cairn_follow *f, uint32_t insn)
{
    bool is_jump = (insn & 0xfefff000) == 0xd61f0000; /* br and its authenticated kin */
    if ((insn & 0xfffff000) == 0xd65f0000)            /* ret; retaa and retab name register 31 */
        return return_to(f, bits(insn, 10, 2) ? LR : bits(insn, 5, 5));
    if (is_jump)
        return jump(f, insn);
    return CAIRN_FOLLOW_STOP; /* udf, brk, hlt, eret */
}

/* With a condition: b.cond; cbz, cbnz; tbz, tbnz. */
static bool is_conditional(uint32_t insn, int64_t *ret_bytes)
{
    bool tests = (insn & 0x7e000000) == 0x36000000;
    *ret_bytes = (tests ? signed_bits(insn, 5, 14) : signed_bits(insn, 5, 19)) * 4;
    return tests || (insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000;
}

static bool is_call(uint32_t insn)
{
    return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff000) == 0xd63f0000;
}

/* Whatever has no case of its own. */
static void other(struct cairn_follow *f, uint32_t insn)
{
    unsigned low = bits(insn, 0, 5);
    bool adds_extended = (insn & 0x1fe00000) == 0x0b200000;
    bool masks = (insn & 0x1f800000) == 0x12000000;
    bool writes_back = (insn & 0xbe800000) == 0x0c800000; /* ld1, st1 and kin */
    bool exclusive = (insn & 0x3f000000) == 0x08000000;   /* and compare-and-swap */
    if ((adds_extended || masks) && low == SP && !bits(insn, 29, 1))
        cairn_follow_forget(f, SP);
    if (writes_back)
        cairn_follow_forget(f, bits(insn, 5, 5));
    if (exclusive) {
        forget(f, bits(insn, 16, 5));
        forget(f, bits(insn, 10, 5));
    }
    if (insn == 0xd4000001) /* svc 0: its result */
        low = 0;
    forget(f, low);
}

enum cairn_follow_step cairn_follow_aarch64(struct cairn_follow *f, struct cairn_span code)
{
    uint32_t insn;
    int64_t bytes;
    if (code.size < sizeof insn || f->regs.ip % 4)
        return CAIRN_FOLLOW_STOP;
    memcpy(&insn, code.data, sizeof insn);
    if ((insn & 0xfe000000) == 0xd6000000 || insn < 0x10000 || (insn & 0xffe00000) == 0xd4200000 ||
        (insn & 0xffe00000) == 0xd4400000)
        if (!is_call(insn))
            return leave(f, insn);
    if ((insn & 0xfc000000) == 0x14000000) { /* b */
        f->regs.ip += (uint64_t)(signed_bits(insn, 0, 26) * 4);
        return CAIRN_FOLLOW_ON;
    }
    if (is_conditional(insn, &bytes)) {
        f->regs.ip += f->takes && bytes > 0 ? (uint64_t)bytes : 4;
        return CAIRN_FOLLOW_ON;
    }
    if (is_call(insn))
        f->regs.known &= ~CHANGED_BY_CALLS;
    else if ((insn & 0x3a000000) == 0x28000000)
        pair(f, insn);
    else if ((insn & 0x3a000000) == 0x38000000)
        single(f, insn);
    else if ((insn & 0x1f000000) == 0x11000000 && !bits(insn, 23, 1))
        add_number(f, insn);
    else if (!compute(f, insn))
        other(f, insn);
    f->regs.ip += 4;
    return CAIRN_FOLLOW_ON;
}

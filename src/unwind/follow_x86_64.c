/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * What x86-64's instructions do to registers and the stack (Intel SDM 2, appendix A). The length of
 * each is found; understood are moves and additions of 64 bits, push, pop, calls and jumps:
 *
 *     [prefixes] [REX] opcode [ModRM [SIB] [displacement]] [immediate]
 *
 * What else there is makes the registers that it names unknown, but for rsp: nothing of that kind
 * writes it.
 */
#include "unwind/follow.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP };                 /* DWARF's numbers */
enum { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A, NO_REG = 0xff };     /* of opcodes */
enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8, WORDS = 16 }; /* immediates of 16 bits */

static const uint64_t CHANGED_BY_CALLS = 0x0f37; /* rax rdx rcx rsi rdi r8..r11 */

/* One instruction, taken apart. */
struct insn {
    const uint8_t *at, *end;
    unsigned map, op, rex;
    bool has_modrm, is_narrow, is_vector;
    unsigned mod, reg, rm; /* DWARF's numbers, but `digit`, what a ModRM.reg without REX says */
    unsigned digit;
    bool knows_place; /* `rm` is memory, at base + index << scale + disp: base NO_REG is rip */
    unsigned base, index, scale; /* index RSP: none */
    int64_t disp, imm;
};

static unsigned dwarf_reg(unsigned number)
{
    static const uint8_t regs[] = {RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI};
    return number < 8 ? regs[number] : number;
}

/* `n` bytes, signed; behind the end the instruction is not to be had. */
static int64_t take(struct insn *i, size_t n)
{
    uint64_t value = 0;
    if (!i->at || (size_t)(i->end - i->at) < n) {
        i->at = NULL;
        i->end = NULL;
        return 0;
    }
    for (size_t b = 0; b < n; b++)
        value |= (uint64_t)i->at[b] << 8 * b;
    i->at += n;
    return n == 0 || n == 8 ? (int64_t)value : (int64_t)(value << (64 - 8 * n)) >> (64 - 8 * n);
}

static uint8_t take_byte(struct insn *i)
{
    return (uint8_t)take(i, 1);
}

static void take_modrm(struct insn *i)
{
    uint8_t modrm = take_byte(i);
    unsigned low = modrm & 7, base = low;
    i->has_modrm = true;
    i->mod = modrm >> 6;
    i->digit = modrm >> 3 & 7;
    i->reg = dwarf_reg(i->digit | (i->rex & REX_R ? 8 : 0));
    i->rm = dwarf_reg(low | (i->rex & REX_B ? 8 : 0));
    if (i->mod == 3)
        return;
    i->knows_place = true;
    if (low == 4) {
        uint8_t sib = take_byte(i);
        base = sib & 7;
        i->index = dwarf_reg((sib >> 3 & 7) | (i->rex & REX_X ? 8 : 0));
        i->scale = sib >> 6;
    }
    i->base = dwarf_reg(base | (i->rex & REX_B ? 8 : 0));
    if (i->mod == 0 && base == 5) {
        i->disp = take(i, 4);
        i->knows_place = i->knows_place && low == 5;
        i->base = NO_REG;
    } else if (i->mod) {
        i->disp = take(i, i->mod == 1 ? 1 : 4);
    }
}

/* VEX and EVEX say the map in a byte of their own. */
static void take_vector(struct insn *i, unsigned first)
{
    uint8_t byte = take_byte(i);
    i->is_vector = true;
    i->map = first == 0xc5 ? MAP_0F : byte & 3;
    i->rex = (~byte >> 5 & 4) | (first == 0xc5 ? 0 : ~byte >> 5 & 3);
    take(i, first == 0xc5 ? 0 : first == 0xc4 ? 1 : 2);
    i->op = take_byte(i);
    if (i->map == MAP_0F && i->op == 0x77) /* vzeroupper */
        return;
    take_modrm(i);
}

static void take_opcode(struct insn *i)
{
    uint8_t byte = take_byte(i);
    while (byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 ||
           byte == 0x67) {
        i->is_narrow |= byte == 0x66;
        byte = take_byte(i);
    }
    if (byte >> 4 == 4) {
        i->rex = byte & 15;
        byte = take_byte(i);
    }
    i->op = byte;
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
        take_vector(i, byte);
    } else if (byte == 0x0f) {
        i->op = take_byte(i);
        i->map = i->op == 0x38 ? MAP_0F38 : i->op == 0x3a ? MAP_0F3A : MAP_0F;
        if (i->map != MAP_0F)
            i->op = take_byte(i);
    }
}

static bool one_has_modrm(unsigned op)
{
    if (op < 0x40)
        return (op & 7) < 4;
    return op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f) || op == 0xc0 ||
           op == 0xc1 || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) ||
           (op >= 0xd8 && op <= 0xdf) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
}

static bool two_has_modrm(unsigned op)
{
    bool has_none = (op >= 0x04 && op <= 0x0c) || op == 0x0e || (op >= 0x30 && op <= 0x37) ||
                    op == 0x77 || (op >= 0x80 && op <= 0x8f) || (op & 0xf6) == 0xa0 || op == 0xa2 ||
                    op == 0xaa || (op >= 0xc8 && op <= 0xcf);
    return !has_none;
}

/* Bytes of the immediate; WORDS: 2 with the prefix for narrow operands, else 4. */
static size_t one_immediate(const struct insn *i)
{
    unsigned op = i->op;
    if (op < 0x40)
        return (op & 7) == 4 ? 1 : (op & 7) == 5 ? WORDS : 0;
    if (op == 0xf6 || op == 0xf7)
        return i->digit > 1 ? 0 : op == 0xf6 ? 1 : WORDS;
    if (op >= 0xa0 && op <= 0xa3)
        return 8;
    if (op >= 0xb8 && op <= 0xbf)
        return i->rex & REX_W ? 8 : WORDS;
    if (op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 || op == 0xc7)
        return WORDS;
    if (op == 0xe8 || op == 0xe9)
        return 4;
    if (op == 0xc2)
        return 2;
    bool has_byte = op == 0x6a || op == 0x6b || op >> 4 == 7 || op == 0x80 || op == 0x83 ||
                    op == 0xa8 || (op >= 0xb0 && op <= 0xb7) || op == 0xc0 || op == 0xc1 ||
                    op == 0xc6 || op == 0xcd || (op >= 0xe0 && op <= 0xe7) || op == 0xeb;
    return has_byte;
}

static size_t two_immediate(const struct insn *i)
{
    unsigned op = i->op;
    if (op >= 0x80 && op <= 0x8f)
        return i->is_vector ? 0 : 4;
    return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
           (op >= 0xc4 && op <= 0xc6);
}

/* The whole instruction; its length, or 0. */
static size_t take_insn(struct insn *i, struct cairn_span code)
{
    *i = (struct insn){.at = code.data, .end = code.data + code.size, .base = NO_REG, .index = RSP};
    take_opcode(i);
    if (!i->is_vector &&
        (i->map == MAP_ONE ? one_has_modrm(i->op) : i->map != MAP_0F || two_has_modrm(i->op)))
        take_modrm(i);
    size_t size = i->map == MAP_ONE    ? one_immediate(i)
                  : i->map == MAP_0F   ? two_immediate(i)
                  : i->map == MAP_0F3A ? 1
                                       : 0;
    i->imm = take(i, size == WORDS ? i->is_narrow ? 2 : 4 : size);
    return i->at ? (size_t)(i->at - code.data) : 0;
}

static bool known(const struct cairn_follow *f, unsigned reg)
{
    return cairn_unwind_known(&f->regs, reg);
}

static void set(struct cairn_follow *f, unsigned reg, bool is_known, uint64_t value)
{
    if (is_known)
        cairn_unwind_set(&f->regs, reg, value);
    else
        cairn_follow_forget(f, reg);
}

/* Where a ModRM points; `next` is what rip counts from. */
static bool place_of(const struct cairn_follow *f, const struct insn *i, uint64_t next,
                     uint64_t *ret_va)
{
    bool is_rip = i->base == NO_REG, has_index = i->index != RSP;
    *ret_va = (is_rip ? next : f->regs.regs[i->base]) + (uint64_t)i->disp +
              (has_index ? f->regs.regs[i->index] << i->scale : 0);
    return i->knows_place && (is_rip || known(f, i->base)) && (!has_index || known(f, i->index));
}

static bool load_rm(const struct cairn_follow *f, const struct insn *i, uint64_t next,
                    uint64_t *ret_value)
{
    uint64_t va;
    if (i->mod == 3) {
        *ret_value = f->regs.regs[i->rm];
        return known(f, i->rm);
    }
    return place_of(f, i, next, &va) && cairn_follow_load(f, va, ret_value);
}

static void push(struct cairn_follow *f, bool is_known, uint64_t value)
{
    f->regs.regs[RSP] -= 8;
    if (known(f, RSP))
        cairn_follow_store(f, f->regs.regs[RSP], is_known, value);
}

static bool pop(struct cairn_follow *f, uint64_t *ret_value)
{
    bool is_read = known(f, RSP) && cairn_follow_load(f, f->regs.regs[RSP], ret_value);
    f->regs.regs[RSP] += 8;
    return is_read;
}

/* mov and lea of 64 bits. */
static bool move(struct cairn_follow *f, const struct insn *i, uint64_t next)
{
    uint64_t value = 0;
    if (i->map != MAP_ONE || !(i->rex & REX_W))
        return false;
    if (i->op == 0x8b || i->op == 0x8d) {
        bool is_known = i->op == 0x8b ? load_rm(f, i, next, &value) : place_of(f, i, next, &value);
        bool by_frame = (i->mod == 3 ? i->rm : i->base) == RBP || i->op == 0x8d;
        f->moved |= i->reg == RSP && !by_frame;
        set(f, i->reg, is_known, value);
        return true;
    }
    if (i->op != 0x89)
        return false;
    if (i->mod == 3) {
        f->moved |= i->rm == RSP && i->reg != RBP;
        set(f, i->rm, known(f, i->reg), f->regs.regs[i->reg]);
    } else if (place_of(f, i, next, &value)) {
        cairn_follow_store(f, value, known(f, i->reg), f->regs.regs[i->reg]);
    }
    return true;
}

/* add and sub of a number. */
static bool add_number(struct cairn_follow *f, const struct insn *i)
{
    bool adds = i->digit == 0, is_number = i->map == MAP_ONE && (i->op == 0x81 || i->op == 0x83);
    if (!is_number || !(i->rex & REX_W) || i->mod != 3 || (!adds && i->digit != 5))
        return false;
    f->regs.regs[i->rm] += adds ? (uint64_t)i->imm : -(uint64_t)i->imm;
    return true;
}

static bool push_or_pop(struct cairn_follow *f, const struct insn *i, uint64_t next)
{
    unsigned reg = dwarf_reg((i->op & 7) | (i->rex & REX_B ? 8 : 0));
    uint64_t value = 0;
    if (i->map != MAP_ONE)
        return false;
    if (i->op >> 3 == 0x50 >> 3) {
        push(f, known(f, reg), f->regs.regs[reg]);
    } else if (i->op >> 3 == 0x58 >> 3) {
        bool is_known = pop(f, &value);
        set(f, reg, is_known, value);
    } else if (i->op == 0x68 || i->op == 0x6a) {
        push(f, true, (uint64_t)i->imm);
    } else if (i->op == 0xff && i->digit == 6) {
        bool is_known = load_rm(f, i, next, &value);
        push(f, is_known, value);
    } else if (i->op == 0x9c || i->op == 0x9d) {
        f->regs.regs[RSP] += i->op == 0x9c ? -UINT64_C(8) : 8;
    } else if (i->op == 0xc9) { /* leave */
        set(f, RSP, known(f, RBP), f->regs.regs[RBP]);
        bool is_known = pop(f, &value);
        set(f, RBP, is_known, value);
    } else {
        return false;
    }
    return true;
}

/* Does ModRM.reg say which instruction this is, in place of a register? (SDM 2, table A-6) */
static bool is_group(const struct insn *i)
{
    unsigned op = i->op;
    if (i->map == MAP_ONE)
        return (op >= 0x80 && op <= 0x83) || op == 0x8f || op == 0xc0 || op == 0xc1 || op == 0xc6 ||
               op == 0xc7 || (op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf) ||
               op == 0xf6 || op == 0xf7 || op >= 0xfe;
    return i->map == MAP_0F && !i->is_vector &&
           (op <= 1 || op == 0x18 || op == 0x1f || (op >= 0x71 && op <= 0x73) || op >> 4 == 9 ||
            op == 0xae || op == 0xba || op == 0xc7);
}

/* Whatever has no case of its own: all that it may write. */
static void other(struct cairn_follow *f, const struct insn *i)
{
    bool is_string = i->map == MAP_ONE && i->op >= 0xa4 && i->op <= 0xaf;
    unsigned last = dwarf_reg((i->op & 7) | (i->rex & REX_B ? 8 : 0));
    bool has_last = (i->map == MAP_ONE && (i->op >> 4 == 0xb || i->op >> 3 == 0x90 >> 3)) ||
                    (i->map == MAP_0F && i->op >> 3 == 0xc8 >> 3);
    bool masks_rsp = i->map == MAP_ONE && i->has_modrm && i->mod == 3 && i->rm == RSP &&
                     (i->op == 0x81 || i->op == 0x83 || i->op < 0x40 || i->op == 0x87) &&
                     i->op >> 3 != 0x38 >> 3 && (i->op < 0x80 || i->digit != 7);
    bool adds_rsp = i->map == MAP_ONE && i->op < 0x38 && (i->op & 6) == 2 && i->reg == RSP;
    if (masks_rsp || adds_rsp)
        cairn_follow_forget(f, RSP);
    if (i->has_modrm && i->reg != RSP && !is_group(i))
        cairn_follow_forget(f, i->reg);
    if (i->has_modrm && i->mod == 3 && i->rm != RSP)
        cairn_follow_forget(f, i->rm);
    if (has_last && last != RSP)
        cairn_follow_forget(f, last);
    f->regs.known &= ~(UINT64_C(1) << RAX | UINT64_C(1) << RDX | UINT64_C(1) << RCX);
    if (is_string)
        f->regs.known &= ~(UINT64_C(1) << RSI | UINT64_C(1) << RDI);
}

static bool is_conditional(const struct insn *i)
{
    return (i->map == MAP_ONE && (i->op >> 4 == 7 || (i->op >= 0xe0 && i->op <= 0xe3))) ||
           (i->map == MAP_0F && i->op >> 4 == 8 && !i->is_vector);
}

/* Jumps, calls and the like; ON where it is none of them, and nothing was done. */
static enum cairn_follow_step transfer(struct cairn_follow *f, const struct insn *i, uint64_t next,
                                       bool *ret_done)
{
    *ret_done = true;
    if (is_conditional(i)) {
        f->regs.ip = next + (f->takes && i->imm > 0 ? (uint64_t)i->imm : 0);
        return CAIRN_FOLLOW_ON;
    }
    *ret_done = i->map == MAP_ONE;
    if (i->map == MAP_0F)
        return i->op == 0x0b ? CAIRN_FOLLOW_STOP : CAIRN_FOLLOW_ON; /* ud2 */
    if (i->map != MAP_ONE)
        return CAIRN_FOLLOW_ON;
    f->regs.ip = next;
    if (i->op == 0xe9 || i->op == 0xeb) {
        f->regs.ip += (uint64_t)i->imm;
    } else if (i->op == 0xe8 || (i->op == 0xff && i->digit == 2)) {
        f->regs.known &= ~CHANGED_BY_CALLS;
    } else if (i->op == 0xff && i->digit == 4) {
        f->knows_ret = load_rm(f, i, next, &f->ret);
        return CAIRN_FOLLOW_JUMP;
    } else if (i->op == 0xc3 || i->op == 0xc2) {
        bool is_read = pop(f, &f->ret);
        f->regs.regs[RSP] += (uint64_t)(i->op == 0xc2 ? i->imm & 0xffff : 0);
        return is_read ? CAIRN_FOLLOW_RETURN : CAIRN_FOLLOW_STOP;
    } else if (i->op == 0xcc || i->op == 0xf4 || i->op == 0xc8 || i->op == 0xcb || i->op == 0xcf) {
        return CAIRN_FOLLOW_STOP; /* int3, hlt, enter, far returns */
    } else {
        *ret_done = false;
    }
    return CAIRN_FOLLOW_ON;
}

enum cairn_follow_step cairn_follow_x86_64(struct cairn_follow *f, struct cairn_span code)
{
    struct insn i;
    bool is_done;
    size_t size = take_insn(&i, code);
    if (size == 0)
        return CAIRN_FOLLOW_STOP;
    uint64_t next = f->regs.ip + size;
    enum cairn_follow_step step = CAIRN_FOLLOW_ON;
    if (!i.is_vector)
        step = transfer(f, &i, next, &is_done);
    else
        is_done = false;
    if (step != CAIRN_FOLLOW_ON || is_done)
        return step;
    f->regs.ip = next;
    bool is_plain =
        !i.is_vector && (move(f, &i, next) || add_number(f, &i) || push_or_pop(f, &i, next));
    if (!is_plain)
        other(f, &i);
    return CAIRN_FOLLOW_ON;
}

/* SPDX-License-Identifier: MIT */
/*
 * What an instruction of x86-64 does to the frame of a function: to rsp, rbp and the registers that
 * calls keep (psABI, 3.2.1).
 */
#include "code/insn_x86_64.h"
#include "unwind/derive.h"

enum { N_KEPT = CAIRN_DERIVE_KEPT, UNKNOWN = CAIRN_DERIVE_UNKNOWN, WORD = 8 };

const uint8_t cairn_derive_x86_64_kept[N_KEPT] = {CAIRN_RBX, CAIRN_RBP, 12, 13, 14, 15};

/* Its number among the registers that calls keep, or N_KEPT. */
static unsigned kept_of(unsigned reg)
{
    unsigned i = 0;
    while (i < N_KEPT && cairn_derive_x86_64_kept[i] != reg)
        i++;
    return i;
}

/* What lies between the old and the new top of the stack is gone. */
static void set_sp(struct cairn_derive_state *s, int32_t sp)
{
    for (unsigned i = 0; i < N_KEPT; i++)
        if (sp != UNKNOWN && s->saved[i] > sp && (s->sp == UNKNOWN || s->saved[i] <= s->sp))
            s->saved[i] = 0;
    s->sp = sp;
}

static void move_sp(struct cairn_derive_state *s, int64_t by)
{
    int64_t sp = s->sp - by;
    set_sp(s,
           s->sp == UNKNOWN || sp <= INT32_MIN / 2 || sp > INT32_MAX / 2 ? UNKNOWN : (int32_t)sp);
}

static void write_reg(struct cairn_derive_state *s, unsigned reg)
{
    unsigned i = kept_of(reg);
    if (i < N_KEPT)
        s->intact &= ~(1u << i);
    if (reg == CAIRN_RBP)
        s->fp = UNKNOWN;
    if (reg == CAIRN_RSP)
        set_sp(s, UNKNOWN);
}

/* The caller's value is stored at CFA - `at`, once. */
static void save(struct cairn_derive_state *s, unsigned reg, int32_t at)
{
    unsigned i = kept_of(reg);
    if (i < N_KEPT && s->intact >> i & 1 && !s->saved[i] && at != UNKNOWN && at > WORD)
        s->saved[i] = at;
}

/* Loaded from CFA - `at`: the caller's value again, or any. */
static void load(struct cairn_derive_state *s, unsigned reg, int32_t at)
{
    unsigned i = kept_of(reg);
    write_reg(s, reg);
    if (i < N_KEPT && at != UNKNOWN && s->saved[i] == at) {
        s->saved[i] = 0;
        s->intact |= 1u << i;
    }
}

static void push(struct cairn_derive_state *s, unsigned reg)
{
    move_sp(s, -WORD);
    save(s, reg, s->sp);
}

static void pop(struct cairn_derive_state *s, unsigned reg)
{
    int32_t at = s->sp;
    load(s, reg, at);
    if (reg != CAIRN_RSP)
        move_sp(s, WORD);
}

/* CFA - what ModRM's place is, where that is in the frame. */
static int32_t place_in_frame(const struct cairn_derive_state *s, const struct cairn_x86_64_insn *i)
{
    int32_t base = i->base == CAIRN_RSP ? s->sp : i->base == CAIRN_RBP ? s->fp : UNKNOWN;
    int64_t at = base - i->disp;
    bool is_plain = i->mod != 3 && i->knows_place && i->index == CAIRN_RSP && base != UNKNOWN;
    return is_plain && at > INT32_MIN / 2 && at < INT32_MAX / 2 ? (int32_t)at : UNKNOWN;
}

/* A register is given CFA - `at`, or any value. */
static void point(struct cairn_derive_state *s, unsigned reg, int32_t at)
{
    if (reg == CAIRN_RSP) {
        set_sp(s, at);
        return;
    }
    write_reg(s, reg);
    if (reg == CAIRN_RBP)
        s->fp = at;
}

/* A register is given another's value. */
static void copy(struct cairn_derive_state *s, unsigned to, unsigned from)
{
    point(s, to, from == CAIRN_RSP ? s->sp : from == CAIRN_RBP ? s->fp : UNKNOWN);
}

/* Moves of 64 bits and lea. */
static bool move(struct cairn_derive_state *s, const struct cairn_x86_64_insn *i)
{
    if (i->map != CAIRN_MAP_ONE || !(i->rex & CAIRN_REX_W))
        return false;
    int32_t at = place_in_frame(s, i);
    if (i->op == 0x89 && i->mod == 3) {
        copy(s, i->rm, i->reg);
    } else if (i->op == 0x89) {
        save(s, i->reg, at);
    } else if (i->op == 0x8b && i->mod == 3) {
        copy(s, i->reg, i->rm);
    } else if (i->op == 0x8b) {
        load(s, i->reg, at);
    } else if (i->op == 0x8d) {
        point(s, i->reg, at);
    } else {
        return false;
    }
    return true;
}

static bool push_or_pop(struct cairn_derive_state *s, const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (i->map != CAIRN_MAP_ONE)
        return false;
    if (op >> 3 == 0x50 >> 3) {
        push(s, cairn_x86_64_insn_last(i));
    } else if (op >> 3 == 0x58 >> 3) {
        pop(s, cairn_x86_64_insn_last(i));
    } else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && i->digit == 6)) {
        push(s, CAIRN_NO_REG);
    } else if (op == 0x9d || (op == 0x8f && i->digit == 0)) {
        pop(s, CAIRN_NO_REG);
    } else if (op == 0xc9) { /* leave */
        set_sp(s, s->fp);
        pop(s, CAIRN_RBP);
    } else if ((op == 0x81 || op == 0x83) && i->rex & CAIRN_REX_W && i->mod == 3 &&
               i->rm == CAIRN_RSP && (i->digit == 0 || i->digit == 5)) {
        move_sp(s, i->digit == 0 ? i->imm : -i->imm);
    } else {
        return false;
    }
    return true;
}

/* A register of 8 bits: without REX four of them are the upper halves of the first four. */
static unsigned byte_reg(const struct cairn_x86_64_insn *i, unsigned reg)
{
    static const uint8_t halves[] = {[CAIRN_RSP] = CAIRN_RAX,
                                     [CAIRN_RBP] = CAIRN_RCX,
                                     [CAIRN_RSI] = CAIRN_RDX,
                                     [CAIRN_RDI] = CAIRN_RBX};
    bool is_half =
        !i->rex && (reg == CAIRN_RSP || reg == CAIRN_RBP || reg == CAIRN_RSI || reg == CAIRN_RDI);
    return is_half ? halves[reg] : reg;
}

enum { RM = 1, REG = 2, LAST = 4, BYTE = 8 };

/* What an opcode of one byte writes, of the registers that it names. */
static unsigned one_writes(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op, byte = op & 1 ? 0 : BYTE;
    if (op < 0x40)
        return op >> 3 == 0x38 >> 3 || (op & 7) >= 4 ? 0 : byte | ((op & 7) < 2 ? RM : REG);
    if (op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8b || op == 0x8d)
        return REG;
    if (op >= 0x80 && op <= 0x83)
        return i->digit == 7 ? 0 : byte | RM;
    if (op == 0x86 || op == 0x87)
        return byte | RM | REG;
    if (op == 0x8a)
        return BYTE | REG;
    if (op >> 3 == 0x90 >> 3)
        return LAST;
    if (op >> 4 == 0xb)
        return LAST | (op < 0xb8 ? BYTE : 0);
    if (op == 0xf6 || op == 0xf7)
        return i->digit == 2 || i->digit == 3 ? byte | RM : 0;
    bool has_rm = op == 0x88 || op == 0x89 || op == 0x8c || op == 0xc0 || op == 0xc1 ||
                  op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) ||
                  (op >= 0xfe && i->digit < 2);
    return has_rm ? byte | RM : 0;
}

/* The same of the others; most of what there is are vectors, whose registers are not ours. */
static unsigned other_writes(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (i->map == CAIRN_MAP_0F38)
        return op >= 0xf0 && op <= 0xf7 ? REG : 0;
    if (i->map == CAIRN_MAP_0F3A)
        return op >= 0x14 && op <= 0x17 ? RM : op == 0xf0 ? REG : 0;
    if (op == 0x2c || op == 0x2d || op == 0x50 || op == 0xd7 || op == 0xc5)
        return REG;
    if (op == 0x7e)
        return RM;
    if (i->is_vector)
        return 0;
    if (op >> 4 == 4 || op == 0xaf || op == 0xb6 || op == 0xb7 || op == 0xb8 ||
        (op >= 0xbc && op <= 0xbf) || op == 0x02 || op == 0x03)
        return REG;
    if (op >> 4 == 9)
        return BYTE | RM;
    if (op == 0xab || op == 0xb3 || op == 0xbb || op == 0xa4 || op == 0xa5 || op == 0xac ||
        op == 0xad || op == 0xb0 || op == 0xb1 || (op == 0xba && i->digit != 4) || op == 0xc7 ||
        op == 0x00 || op == 0x01)
        return RM;
    if (op == 0xc0 || op == 0xc1)
        return RM | REG;
    return op >> 3 == 0xc8 >> 3 ? LAST : 0;
}

static void write_named(struct cairn_derive_state *s, const struct cairn_x86_64_insn *i)
{
    unsigned writes = i->map == CAIRN_MAP_ONE && !i->is_vector ? one_writes(i) : other_writes(i);
    bool is_byte = writes & BYTE;
    if (writes & RM && i->has_modrm && i->mod == 3)
        write_reg(s, is_byte ? byte_reg(i, i->rm) : i->rm);
    if (writes & REG && i->has_modrm)
        write_reg(s, is_byte ? byte_reg(i, i->reg) : i->reg);
    unsigned last = cairn_x86_64_insn_last(i);
    if (writes & LAST)
        write_reg(s, is_byte ? byte_reg(i, last) : last);
}

static enum cairn_derive_guard guard_of(const struct cairn_x86_64_insn *i, enum cairn_flow flow)
{
    bool is_one = i->map == CAIRN_MAP_ONE && !i->is_vector;
    if (is_one &&
        (i->op == 0x3c || i->op == 0x3d || (i->op >= 0x80 && i->op <= 0x83 && i->digit == 7)))
        return CAIRN_DERIVE_COMPARES;
    if (flow != CAIRN_FLOW_BRANCH || (is_one && i->op >> 4 != 7))
        return CAIRN_DERIVE_NO_GUARD;
    return (i->op & 15) == 7   ? CAIRN_DERIVE_ABOVE
           : (i->op & 15) == 6 ? CAIRN_DERIVE_NOT_ABOVE
                               : CAIRN_DERIVE_NO_GUARD;
}

void cairn_derive_x86_64(struct cairn_span code, uint64_t vaddr, struct cairn_derive_state *state,
                         struct cairn_derive_insn *ret)
{
    struct cairn_x86_64_insn i;
    *ret = (struct cairn_derive_insn){.flow = CAIRN_FLOW_BAD};
    struct cairn_code_step step;
    ret->size = cairn_x86_64_insn_take(&i, code);
    if (!ret->size)
        return;
    uint64_t next = vaddr + ret->size;
    cairn_x86_64_insn_step(&i, ret->size, vaddr, &step);
    ret->flow = step.flow;
    ret->knows_to = step.knows_to;
    ret->to = step.to;
    ret->guard = guard_of(&i, ret->flow);
    bool is_one = i.map == CAIRN_MAP_ONE && !i.is_vector;
    ret->loads = is_one && ((i.op >= 0xb8 && i.op <= 0xbf) || (i.op == 0xc7 && i.mod == 3));
    ret->number = (uint64_t)i.imm;
    /* A table of addresses is at no register's place but the index. */
    bool is_indirect = ret->flow == CAIRN_FLOW_INDIRECT;
    bool is_lea = i.map == CAIRN_MAP_ONE && i.op == 0x8d;
    ret->has_place = i.mod != 3 && i.base == CAIRN_NO_REG && i.knows_place &&
                     (is_lea ? !i.is_absolute : is_indirect && i.is_absolute);
    ret->place = (i.is_absolute ? 0 : next) + (uint64_t)i.disp;
    if (ret->flow == CAIRN_FLOW_NEXT &&
        (i.is_vector || (!move(state, &i) && !push_or_pop(state, &i))))
        write_named(state, &i);
}

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
#include "code/insn_x86_64.h"
#include "unwind/follow.h"

static const uint64_t CHANGED_BY_CALLS = 0x0f37; /* rax rdx rcx rsi rdi r8..r11 */

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
static bool place_of(const struct cairn_follow *f, const struct cairn_x86_64_insn *i, uint64_t next,
                     uint64_t *ret_va)
{
    bool is_rip = i->base == CAIRN_NO_REG, has_index = i->index != CAIRN_RSP;
    *ret_va = (is_rip ? next : f->regs.regs[i->base]) + (uint64_t)i->disp +
              (has_index ? f->regs.regs[i->index] << i->scale : 0);
    return i->knows_place && !i->is_absolute && (is_rip || known(f, i->base)) &&
           (!has_index || known(f, i->index));
}

static bool load_rm(const struct cairn_follow *f, const struct cairn_x86_64_insn *i, uint64_t next,
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
    f->regs.regs[CAIRN_RSP] -= 8;
    if (known(f, CAIRN_RSP))
        cairn_follow_store(f, f->regs.regs[CAIRN_RSP], is_known, value);
}

static bool pop(struct cairn_follow *f, uint64_t *ret_value)
{
    bool is_read = known(f, CAIRN_RSP) && cairn_follow_load(f, f->regs.regs[CAIRN_RSP], ret_value);
    f->regs.regs[CAIRN_RSP] += 8;
    return is_read;
}

/* mov and lea of 64 bits. */
static bool move(struct cairn_follow *f, const struct cairn_x86_64_insn *i, uint64_t next)
{
    uint64_t value = 0;
    if (i->map != CAIRN_MAP_ONE || !(i->rex & CAIRN_REX_W))
        return false;
    if (i->op == 0x8b || i->op == 0x8d) {
        bool is_known = i->op == 0x8b ? load_rm(f, i, next, &value) : place_of(f, i, next, &value);
        bool by_frame = (i->mod == 3 ? i->rm : i->base) == CAIRN_RBP || i->op == 0x8d;
        f->moved |= i->reg == CAIRN_RSP && !by_frame;
        set(f, i->reg, is_known, value);
        return true;
    }
    if (i->op != 0x89)
        return false;
    if (i->mod == 3) {
        f->moved |= i->rm == CAIRN_RSP && i->reg != CAIRN_RBP;
        set(f, i->rm, known(f, i->reg), f->regs.regs[i->reg]);
    } else if (place_of(f, i, next, &value)) {
        cairn_follow_store(f, value, known(f, i->reg), f->regs.regs[i->reg]);
    }
    return true;
}

/* add and sub of a number. */
static bool add_number(struct cairn_follow *f, const struct cairn_x86_64_insn *i)
{
    bool adds = i->digit == 0,
         is_number = i->map == CAIRN_MAP_ONE && (i->op == 0x81 || i->op == 0x83);
    if (!is_number || !(i->rex & CAIRN_REX_W) || i->mod != 3 || (!adds && i->digit != 5))
        return false;
    f->regs.regs[i->rm] += adds ? (uint64_t)i->imm : -(uint64_t)i->imm;
    return true;
}

static bool push_or_pop(struct cairn_follow *f, const struct cairn_x86_64_insn *i, uint64_t next)
{
    unsigned reg = cairn_x86_64_insn_last(i);
    uint64_t value = 0;
    if (i->map != CAIRN_MAP_ONE)
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
        f->regs.regs[CAIRN_RSP] += i->op == 0x9c ? -UINT64_C(8) : 8;
    } else if (i->op == 0xc9) { /* leave */
        set(f, CAIRN_RSP, known(f, CAIRN_RBP), f->regs.regs[CAIRN_RBP]);
        bool is_known = pop(f, &value);
        set(f, CAIRN_RBP, is_known, value);
    } else {
        return false;
    }
    return true;
}

/* Whatever has no case of its own: all that it may write. */
static void other(struct cairn_follow *f, const struct cairn_x86_64_insn *i)
{
    bool is_string = i->map == CAIRN_MAP_ONE && i->op >= 0xa4 && i->op <= 0xaf;
    unsigned last = cairn_x86_64_insn_last(i);
    bool has_last = (i->map == CAIRN_MAP_ONE && (i->op >> 4 == 0xb || i->op >> 3 == 0x90 >> 3)) ||
                    (i->map == CAIRN_MAP_0F && i->op >> 3 == 0xc8 >> 3);
    bool masks_rsp = i->map == CAIRN_MAP_ONE && i->has_modrm && i->mod == 3 && i->rm == CAIRN_RSP &&
                     (i->op == 0x81 || i->op == 0x83 || i->op < 0x40 || i->op == 0x87) &&
                     i->op >> 3 != 0x38 >> 3 && (i->op < 0x80 || i->digit != 7);
    bool adds_rsp =
        i->map == CAIRN_MAP_ONE && i->op < 0x38 && (i->op & 6) == 2 && i->reg == CAIRN_RSP;
    if (masks_rsp || adds_rsp)
        cairn_follow_forget(f, CAIRN_RSP);
    if (i->has_modrm && i->reg != CAIRN_RSP && !cairn_x86_64_insn_is_group(i))
        cairn_follow_forget(f, i->reg);
    if (i->has_modrm && i->mod == 3 && i->rm != CAIRN_RSP)
        cairn_follow_forget(f, i->rm);
    if (has_last && last != CAIRN_RSP)
        cairn_follow_forget(f, last);
    f->regs.known &=
        ~(UINT64_C(1) << CAIRN_RAX | UINT64_C(1) << CAIRN_RDX | UINT64_C(1) << CAIRN_RCX);
    if (is_string)
        f->regs.known &= ~(UINT64_C(1) << CAIRN_RSI | UINT64_C(1) << CAIRN_RDI);
}

/* Jumps, calls and the like; ON where it is none of them, and nothing was done. */
static enum cairn_follow_step transfer(struct cairn_follow *f, const struct cairn_x86_64_insn *i,
                                       uint64_t next, bool *ret_done)
{
    *ret_done = true;
    if (cairn_x86_64_insn_is_conditional(i)) {
        f->regs.ip = next + (f->takes && i->imm > 0 ? (uint64_t)i->imm : 0);
        return CAIRN_FOLLOW_ON;
    }
    *ret_done = i->map == CAIRN_MAP_ONE;
    if (i->map == CAIRN_MAP_0F)
        return i->op == 0x0b ? CAIRN_FOLLOW_STOP : CAIRN_FOLLOW_ON; /* ud2 */
    if (i->map != CAIRN_MAP_ONE)
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
        f->regs.regs[CAIRN_RSP] += (uint64_t)(i->op == 0xc2 ? i->imm & 0xffff : 0);
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
    struct cairn_x86_64_insn i;
    bool is_done;
    size_t size = cairn_x86_64_insn_take(&i, code);
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

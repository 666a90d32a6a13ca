/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The check of moved code of x86-64: decodes the copy and holds each instruction against the
 * original, by what it does and where it leads.
 */
#include "code/flow.h"
#include "hook/move.h"

struct one {
    struct cairn_x86_64_insn insn;
    struct cairn_code_step step;
    uint64_t va;
};

struct check {
    const struct cairn_hook_piece *piece;
    const struct cairn_hook_copy *copy;
};

static bool decode(const uint8_t *code, size_t n_code, size_t off, uint64_t base_va,
                   struct one *ret)
{
    if (off >= n_code)
        return false;
    size_t size = cairn_x86_64_insn_take(&ret->insn, (struct cairn_span){code + off, n_code - off});
    ret->va = base_va + off;
    if (!size || size > CAIRN_X86_64_INSN_MAX)
        return false;
    cairn_x86_64_insn_step(&ret->insn, size, ret->va, &ret->step);
    return true;
}

static bool decode_copy(const struct check *c, size_t off, struct one *ret)
{
    return decode(c->copy->code, c->copy->n_code, off, c->piece->to_va, ret);
}

/* 8 bytes of the copy at an address in it. */
static bool read_copy(const struct check *c, uint64_t va, uint64_t *ret_value)
{
    const uint64_t off = va - c->piece->to_va;
    if (off > c->copy->n_code || c->copy->n_code - off < 8)
        return false;
    *ret_value = 0;
    for (unsigned b = 0; b < 8; b++)
        *ret_value |= (uint64_t)c->copy->code[off + b] << 8 * b;
    return true;
}

/* Where the code at `off` leads that may only jump: its last target. */
static bool final_target(const struct check *c, size_t off, uint64_t *ret_va)
{
    struct one i;
    if (!decode_copy(c, off, &i))
        return false;
    if (i.step.flow == CAIRN_FLOW_JUMP && !i.insn.is_narrow) {
        *ret_va = i.step.to;
        return true;
    }
    return i.step.flow == CAIRN_FLOW_INDIRECT && cairn_x86_64_insn_is_rip(&i.insn) &&
           i.step.size == 6 &&
           read_copy(c, cairn_x86_64_insn_rip_va(&i.insn, i.step.size, i.va), ret_va);
}

/* Where a branch of the original leads in the copy: to the copy of what is moved. */
static bool wanted_target(const struct check *c, uint64_t va, uint64_t *ret_va)
{
    const uint64_t off = va - c->piece->from_va;
    *ret_va = va;
    if (off >= c->copy->taken)
        return true;
    for (size_t i = 0; i < c->copy->n_insns; i++)
        if (c->copy->from_off[i] == off) {
            *ret_va = c->piece->to_va + c->copy->to_off[i];
            return true;
        }
    return false;
}

static bool leads(const struct check *c, size_t off, uint64_t va)
{
    uint64_t to, wanted;
    return wanted_target(c, va, &wanted) && final_target(c, off, &to) && to == wanted;
}

/* The same condition as jcc rel32, or the opposite one over a jump. `next`: behind it all. */
static bool check_condition(const struct check *c, const struct one *from, size_t off, size_t next)
{
    struct one i;
    uint64_t wanted;
    if (!decode_copy(c, off, &i) || !wanted_target(c, from->step.to, &wanted) ||
        i.step.flow != CAIRN_FLOW_BRANCH || i.insn.is_narrow)
        return false;
    if (i.insn.map == CAIRN_MAP_0F)
        return (i.insn.op & 15) == (from->insn.op & 15) && i.step.to == wanted &&
               off + i.step.size == next;
    return i.insn.op >> 4 == 7 && (i.insn.op & 15) == ((from->insn.op & 15) ^ 1) &&
           i.step.to == c->piece->to_va + next && leads(c, off + i.step.size, from->step.to);
}

/* jrcxz and kin: taken, to a jump; else to another that leads behind it. */
static bool check_count(const struct check *c, const struct one *from, size_t off, size_t next)
{
    struct one i;
    uint64_t over;
    return decode_copy(c, off, &i) && i.step.flow == CAIRN_FLOW_BRANCH &&
           i.insn.map == CAIRN_MAP_ONE && i.insn.op == from->insn.op && !i.insn.is_narrow &&
           i.insn.is_short_address == from->insn.is_short_address &&
           final_target(c, off + i.step.size, &over) && over == c->piece->to_va + next &&
           leads(c, (size_t)(i.step.to - c->piece->to_va), from->step.to);
}

/* push of the original return address; the offset behind it. */
static bool check_push(const struct check *c, const struct one *from, size_t off, size_t *ret_off)
{
    struct one i;
    uint64_t ret;
    *ret_off = off;
    if (!decode_copy(c, off, &i) || i.insn.map != CAIRN_MAP_ONE || i.insn.op != 0xff ||
        i.insn.digit != 6 || i.insn.is_narrow || !cairn_x86_64_insn_is_rip(&i.insn))
        return false;
    *ret_off = off + i.step.size;
    return read_copy(c, cairn_x86_64_insn_rip_va(&i.insn, i.step.size, i.va), &ret) &&
           ret == from->va + from->step.size;
}

static bool same_place(const struct one *from, const struct one *to, int64_t moved_stack)
{
    const struct cairn_x86_64_insn *a = &from->insn, *b = &to->insn;
    if (a->knows_place != b->knows_place || a->is_absolute != b->is_absolute)
        return false;
    if (!a->knows_place)
        return a->mod == b->mod && a->rm == b->rm;
    if (cairn_x86_64_insn_is_rip(a))
        return cairn_x86_64_insn_is_rip(b) &&
               cairn_x86_64_insn_rip_va(a, from->step.size, from->va) ==
                   cairn_x86_64_insn_rip_va(b, to->step.size, to->va);
    return a->base == b->base && a->index == b->index && a->scale == b->scale &&
           a->disp + (a->base == CAIRN_RSP ? moved_stack : 0) == b->disp;
}

/* Prefixes and REX are those in front of the opcode: the same bytes. */
static bool same_front(const struct one *from, const struct one *to)
{
    return from->insn.modrm_at == to->insn.modrm_at && from->insn.modrm_at &&
           memcmp(from->insn.start, to->insn.start, from->insn.modrm_at) == 0;
}

static bool check_call(const struct check *c, const struct one *from, size_t off)
{
    struct one jump;
    size_t jump_off;
    uint64_t to;
    if (c->piece->has_shadow_stack ||
        from->va + from->step.size != c->piece->from_va + c->copy->taken)
        return false;
    if (!check_push(c, from, off, &jump_off) || !decode_copy(c, jump_off, &jump))
        return false;
    if (from->step.knows_to)
        return final_target(c, jump_off, &to) && to == from->step.to;
    return jump.step.flow == CAIRN_FLOW_INDIRECT && same_front(from, &jump) &&
           same_place(from, &jump, 8);
}

/* movabs of the operand's address to the register of ModRM.reg: its size, or 0 */
static size_t far_address(const struct check *c, const struct one *from, size_t off)
{
    struct one i;
    const uint64_t va = cairn_x86_64_insn_rip_va(&from->insn, from->step.size, from->va);
    bool is_it = decode_copy(c, off, &i) && i.insn.map == CAIRN_MAP_ONE && i.insn.op >> 3 == 0x17 &&
                 i.insn.imm_size == 8 && (uint64_t)i.insn.imm == va &&
                 cairn_x86_64_insn_last(&i.insn) == from->insn.reg;
    return is_it ? i.step.size : 0;
}

static bool check_far(const struct check *c, const struct one *from, size_t off, size_t next)
{
    struct one i;
    const size_t size = far_address(c, from, off);
    const bool is_plain =
        from->insn.map == CAIRN_MAP_ONE && !from->insn.is_vector && !from->insn.is_narrow;
    if (!size || !is_plain)
        return false;
    if (from->insn.op == 0x8d)
        return from->insn.rex & CAIRN_REX_W && off + size == next;
    return from->insn.op == 0x8b && decode_copy(c, off + size, &i) && i.insn.op == 0x8b &&
           i.insn.map == CAIRN_MAP_ONE && !i.insn.is_narrow && i.insn.knows_place &&
           i.insn.reg == from->insn.reg && i.insn.base == from->insn.reg &&
           i.insn.base != CAIRN_RSP && i.insn.index == CAIRN_RSP && i.insn.disp == 0 &&
           (i.insn.rex & CAIRN_REX_W) == (from->insn.rex & CAIRN_REX_W) &&
           off + size + i.step.size == next;
}

/* The same bytes, but for a distance from rip, which leads to the same address. */
static bool check_plain(const struct check *c, const struct one *from, size_t off, size_t next)
{
    struct one i;
    const size_t size = from->step.size;
    if (cairn_x86_64_insn_is_rip(&from->insn) && far_address(c, from, off))
        return check_far(c, from, off, next);
    if (!decode_copy(c, off, &i) || i.step.size != size || off + size != next)
        return false;
    if (!cairn_x86_64_insn_is_rip(&from->insn))
        return memcmp(i.insn.start, from->insn.start, size) == 0;
    const size_t at = from->insn.disp_at, behind = at + 4;
    return !from->insn.is_short_address && same_place(from, &i, 0) &&
           memcmp(i.insn.start, from->insn.start, at) == 0 &&
           memcmp(i.insn.start + behind, from->insn.start + behind, size - behind) == 0;
}

static bool check_one(const struct check *c, const struct one *from, size_t off, size_t next)
{
    if (cairn_x86_64_insn_is_bad(&from->insn))
        return false;
    switch (from->step.flow) {
    case CAIRN_FLOW_BRANCH:
        return from->insn.map == CAIRN_MAP_ONE && from->insn.op >> 4 == 0xe
                   ? check_count(c, from, off, next)
                   : check_condition(c, from, off, next);
    case CAIRN_FLOW_JUMP:
        return leads(c, off, from->step.to);
    case CAIRN_FLOW_CALL:
        return check_call(c, from, off);
    default:
        return check_plain(c, from, off, next);
    }
}

static bool goes_on(enum cairn_flow flow)
{
    return flow == CAIRN_FLOW_NEXT || flow == CAIRN_FLOW_BRANCH || flow == CAIRN_FLOW_BAD;
}

bool cairn_hook_check_x86_64(const struct cairn_hook_piece *piece,
                             const struct cairn_hook_copy *copy)
{
    const struct check c = {piece, copy};
    struct one from = {0};
    uint64_t back;
    size_t off = 0;
    for (size_t i = 0; i < copy->n_insns; i++, off += from.step.size) {
        if (copy->from_off[i] != off ||
            !decode(piece->code, piece->n_code, off, piece->from_va, &from) ||
            !check_one(&c, &from, copy->to_off[i], copy->to_off[i + 1]))
            return false;
    }
    if (!copy->n_insns || off != copy->taken || off < piece->least ||
        copy->from_off[copy->n_insns] != off)
        return false;
    return !goes_on(from.step.flow) || (final_target(&c, copy->to_off[copy->n_insns], &back) &&
                                        back == piece->from_va + copy->taken);
}

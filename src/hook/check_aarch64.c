/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * The check of moved code of aarch64: decodes the copy and holds each instruction against the
 * original, by what it does and where it leads.
 */
#include "code/insn_aarch64.h"
#include "hook/move.h"

enum { X16 = 16, X17 = 17, X30 = 30 };

struct check {
    const struct cairn_hook_piece *piece;
    const struct cairn_hook_copy *copy;
};

/* The instruction `off` bytes into the copy; false: there is none. */
static bool decode(const struct check *c, size_t off, struct cairn_aarch64_insn *ret)
{
    if (off + CAIRN_A64_BYTES > c->copy->n_code)
        return false;
    cairn_aarch64_insn_take(cairn_aarch64_word(c->copy->code + off), c->piece->to_va + off, ret);
    return true;
}

/* ldr xREG of 8 bytes of the copy: their value. */
static bool address_in(const struct check *c, size_t off, unsigned reg, uint64_t *ret_value)
{
    struct cairn_aarch64_insn i;
    if (!decode(c, off, &i) || i.kind != CAIRN_A64_LITERAL || i.word >> 24 != 0x58 ||
        (i.word & 31) != reg)
        return false;
    const uint64_t at = i.to - c->piece->to_va;
    if (at > c->copy->n_code || c->copy->n_code - at < 8)
        return false;
    *ret_value = cairn_aarch64_word(c->copy->code + at) |
                 (uint64_t)cairn_aarch64_word(c->copy->code + at + 4) << 32;
    return true;
}

/* Is it x16 or x17, and does no instruction of the original name it? */
static bool is_scratch(const struct check *c, unsigned reg)
{
    bool is_free = reg == X16 || reg == X17;
    for (size_t off = 0; off < c->copy->taken; off += CAIRN_A64_BYTES)
        is_free &= !cairn_aarch64_insn_names(cairn_aarch64_word(c->piece->code + off), reg);
    return is_free;
}

/* Where the code at `off` leads that may only jump, and what is behind it. */
static bool final_target(const struct check *c, size_t off, uint64_t *ret_va, size_t *ret_behind)
{
    struct cairn_aarch64_insn i, jump;
    if (!decode(c, off, &i))
        return false;
    *ret_behind = off + CAIRN_A64_BYTES;
    *ret_va = i.to;
    if (i.kind == CAIRN_A64_JUMP)
        return true;
    const unsigned reg = i.word & 31;
    *ret_behind += CAIRN_A64_BYTES;
    return is_scratch(c, reg) && address_in(c, off, reg, ret_va) &&
           decode(c, off + CAIRN_A64_BYTES, &jump) && jump.word == (0xd61f0000 | reg << 5);
}

/* Where a branch of the original leads in the copy: to the copy of what is moved. */
static uint64_t wanted_target(const struct check *c, uint64_t va)
{
    const uint64_t off = va - c->piece->from_va;
    return off < c->copy->taken ? c->piece->to_va + c->copy->to_off[off / CAIRN_A64_BYTES] : va;
}

static bool leads(const struct check *c, size_t off, uint64_t va, size_t next)
{
    uint64_t to;
    size_t behind;
    return final_target(c, off, &to, &behind) && to == wanted_target(c, va) && behind == next;
}

/* Bits of a branch that are not its distance. */
static uint32_t branch_mask(enum cairn_aarch64_kind kind)
{
    return kind == CAIRN_A64_BIT ? 0xfff8001f : 0xff00001f;
}

static bool check_condition(const struct check *c, const struct cairn_aarch64_insn *from,
                            size_t off, size_t next)
{
    struct cairn_aarch64_insn i;
    const uint32_t mask = branch_mask(from->kind);
    const uint32_t flip = from->kind == CAIRN_A64_CONDITION ? 1 : 1u << 24;
    const bool is_always = from->kind == CAIRN_A64_CONDITION && (from->word & 14) == 14;
    if (!decode(c, off, &i))
        return false;
    if (i.kind == from->kind && ((i.word ^ from->word) & mask) == 0)
        return i.to == wanted_target(c, from->to) && off + CAIRN_A64_BYTES == next;
    if (is_always)
        return leads(c, off, from->to, next);
    return i.kind == from->kind && ((i.word ^ from->word) & mask) == flip &&
           i.to == c->piece->to_va + next && leads(c, off + CAIRN_A64_BYTES, from->to, next);
}

/* bl: x30, then a jump. blr: by a scratch register that has what its register had. */
static bool check_call(const struct check *c, const struct cairn_aarch64_insn *from, uint64_t va,
                       size_t off)
{
    struct cairn_aarch64_insn i;
    uint64_t ret, to;
    size_t behind;
    unsigned reg = from->word >> 5 & 31;
    if (c->piece->has_shadow_stack || va + CAIRN_A64_BYTES != c->piece->from_va + c->copy->taken ||
        !decode(c, off, &i))
        return false;
    if (from->kind == CAIRN_A64_CALL)
        return address_in(c, off, X30, &ret) && ret == va + CAIRN_A64_BYTES &&
               final_target(c, off + CAIRN_A64_BYTES, &to, &behind) && to == from->to;
    if (reg != X16 && reg != X17) {
        const unsigned scratch = i.word & 31;
        if (!is_scratch(c, scratch) || i.word != (0xaa0003e0 | reg << 16 | scratch))
            return false;
        reg = scratch;
        off += CAIRN_A64_BYTES;
    }
    return address_in(c, off, X30, &ret) && ret == va + CAIRN_A64_BYTES &&
           decode(c, off + CAIRN_A64_BYTES, &i) && i.word == (0xd61f0000 | reg << 5);
}

static bool check_address(const struct check *c, const struct cairn_aarch64_insn *from, size_t off,
                          size_t next)
{
    struct cairn_aarch64_insn i;
    uint64_t value;
    if (off + CAIRN_A64_BYTES != next || !decode(c, off, &i))
        return false;
    if (i.kind == from->kind)
        return i.to == from->to && (i.word & 31) == (from->word & 31);
    return address_in(c, off, from->word & 31, &value) && value == from->to;
}

/* ldr, ldrsw and prfm by a register, without a distance, for the same opc and V. */
static bool is_load_by(uint32_t word, uint32_t literal, unsigned reg)
{
    const bool is_vector = literal >> 26 & 1;
    const uint32_t opc = literal >> 30, sizes[] = {2, 3, 2, 3}, codes[] = {1, 1, 2, 2};
    const uint32_t size = is_vector ? (opc == 2 ? 0 : opc + 2) : sizes[opc];
    const uint32_t code = is_vector ? (opc == 2 ? 3 : 1) : codes[opc];
    return word == (size << 30 | 0x39000000 | (uint32_t)is_vector << 26 | code << 22 | reg << 5 |
                    (literal & 31));
}

static bool check_literal(const struct check *c, const struct cairn_aarch64_insn *from, size_t off,
                          size_t next)
{
    struct cairn_aarch64_insn i, load;
    uint64_t value;
    if (!decode(c, off, &i) || i.kind != CAIRN_A64_LITERAL)
        return false;
    if (((i.word ^ from->word) & 0xff00001f) == 0 && i.to == from->to)
        return off + CAIRN_A64_BYTES == next;
    const unsigned reg = i.word & 31;
    const bool is_own = !(from->word >> 26 & 1) && from->word >> 30 != 3;
    if (is_own ? reg != (from->word & 31) || reg == 31 : !is_scratch(c, reg))
        return false;
    return address_in(c, off, reg, &value) && value == from->to &&
           decode(c, off + CAIRN_A64_BYTES, &load) && is_load_by(load.word, from->word, reg) &&
           off + 2 * CAIRN_A64_BYTES == next;
}

static bool check_one(const struct check *c, const struct cairn_aarch64_insn *from, uint64_t va,
                      size_t off, size_t next)
{
    struct cairn_aarch64_insn i;
    switch (from->kind) {
    case CAIRN_A64_PLAIN:
    case CAIRN_A64_JUMP_BY:
        return decode(c, off, &i) && i.word == from->word && off + CAIRN_A64_BYTES == next;
    case CAIRN_A64_JUMP:
        return leads(c, off, from->to, next);
    case CAIRN_A64_CALL:
    case CAIRN_A64_CALL_BY:
        return check_call(c, from, va, off);
    case CAIRN_A64_CONDITION:
    case CAIRN_A64_ZERO:
    case CAIRN_A64_BIT:
        return check_condition(c, from, off, next);
    case CAIRN_A64_ADR:
    case CAIRN_A64_ADRP:
        return check_address(c, from, off, next);
    case CAIRN_A64_LITERAL:
        return check_literal(c, from, off, next);
    default:
        return false;
    }
}

bool cairn_hook_check_aarch64(const struct cairn_hook_piece *piece,
                              const struct cairn_hook_copy *copy)
{
    const struct check c = {piece, copy};
    struct cairn_aarch64_insn from = {0};
    uint64_t back;
    size_t behind;
    if (!copy->n_insns || copy->taken != copy->n_insns * CAIRN_A64_BYTES ||
        copy->taken < piece->least)
        return false;
    for (size_t i = 0; i < copy->n_insns; i++) {
        const uint64_t va = piece->from_va + i * CAIRN_A64_BYTES;
        cairn_aarch64_insn_take(cairn_aarch64_word(piece->code + i * CAIRN_A64_BYTES), va, &from);
        if (copy->from_off[i] != i * CAIRN_A64_BYTES ||
            !check_one(&c, &from, va, copy->to_off[i], copy->to_off[i + 1]))
            return false;
    }
    return from.kind == CAIRN_A64_JUMP || from.kind == CAIRN_A64_JUMP_BY ||
           from.kind == CAIRN_A64_CALL || from.kind == CAIRN_A64_CALL_BY ||
           (final_target(&c, copy->to_off[copy->n_insns], &back, &behind) &&
            back == piece->from_va + copy->taken);
}

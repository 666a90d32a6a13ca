/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "code/insn_aarch64.h"

enum { PAGE_SHIFT = 12 };

uint32_t cairn_aarch64_word(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static int64_t signed_of(uint64_t value, unsigned n_bits)
{
    return (int64_t)(value << (64 - n_bits)) >> (64 - n_bits);
}

/* The field of a distance that is counted in instructions; 0 bits: there is none. */
static void field_of(enum cairn_aarch64_kind kind, unsigned *ret_from, unsigned *ret_bits)
{
    *ret_from = kind == CAIRN_A64_JUMP || kind == CAIRN_A64_CALL ? 0 : 5;
    switch (kind) {
    case CAIRN_A64_JUMP:
    case CAIRN_A64_CALL:
        *ret_bits = 26;
        break;
    case CAIRN_A64_CONDITION:
    case CAIRN_A64_ZERO:
    case CAIRN_A64_LITERAL:
        *ret_bits = 19;
        break;
    case CAIRN_A64_BIT:
        *ret_bits = 14;
        break;
    default:
        *ret_bits = 0;
    }
}

/* adr and adrp: 19 bits from 5 on, and two more below them from 29 on. */
static int64_t adr_distance(uint32_t word)
{
    return signed_of((uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
}

static bool is_exclusive(uint32_t word)
{
    const bool is_pair_swap = (word >> 21 & 1) && !(word >> 31); /* casp */
    return (word & 0x3f800000) == 0x08000000 && !is_pair_swap;
}

static enum cairn_aarch64_kind kind_by_register(uint32_t word)
{
    switch (word >> 21 & 15) {
    case 0: /* br, ret and the same with authentication by zero */
    case 2:
    case 8:
        return CAIRN_A64_JUMP_BY;
    case 1:
        return (word & 0xfffffc1f) == 0xd63f0000 ? CAIRN_A64_CALL_BY : CAIRN_A64_CALL_AUTH;
    case 9:
        return CAIRN_A64_CALL_AUTH;
    default: /* eret, drps */
        return CAIRN_A64_BAD;
    }
}

/* Encodings that no instruction has: op0 of C4.1. Of branches and system instructions only svc and
 * its like and those of system registers are left here: cb (FEAT_CMPBR), retaasppc know where they
 * stand. */
static bool is_unallocated(uint32_t word)
{
    const unsigned op0 = word >> 25 & 15, op1 = word >> 24;
    return op0 == 1 || op0 == 3 || (op0 == 0 && !(word >> 31)) ||
           ((op0 == 10 || op0 == 11) && op1 != 0xd4 && op1 != 0xd5);
}

/* paciasppc, autiasppc and their like; pacm makes the next paciasp one. */
static bool reads_pc(uint32_t word)
{
    return (word & 0xffff8000) == 0xdac18000 || (word & 0xff800000) == 0xf3800000 ||
           word == 0xd50324ff;
}

static enum cairn_aarch64_kind kind_of(uint32_t word)
{
    if ((word & 0x7c000000) == 0x14000000)
        return word >> 31 ? CAIRN_A64_CALL : CAIRN_A64_JUMP;
    if ((word & 0xff000000) == 0x54000000)
        return CAIRN_A64_CONDITION;
    if ((word & 0x7e000000) == 0x34000000)
        return CAIRN_A64_ZERO;
    if ((word & 0x7e000000) == 0x36000000)
        return CAIRN_A64_BIT;
    if ((word & 0x1f000000) == 0x10000000)
        return word >> 31 ? CAIRN_A64_ADRP : CAIRN_A64_ADR;
    if ((word & 0x3b000000) == 0x18000000)
        return (word & 0xfc000000) == 0xdc000000 ? CAIRN_A64_BAD : CAIRN_A64_LITERAL;
    if ((word & 0xfe000000) == 0xd6000000)
        return kind_by_register(word);
    if (word >> 16 == 0 || (word >> 24 == 0xd4 && word & 0x00e00000))
        return CAIRN_A64_TRAP;
    if (reads_pc(word))
        return CAIRN_A64_READS_PC;
    if (is_exclusive(word))
        return CAIRN_A64_EXCLUSIVE;
    return is_unallocated(word) ? CAIRN_A64_BAD : CAIRN_A64_PLAIN;
}

void cairn_aarch64_insn_take(uint32_t word, uint64_t va, struct cairn_aarch64_insn *ret_insn)
{
    struct cairn_aarch64_insn insn = {.word = word, .kind = kind_of(word)};
    const uint64_t page = va >> PAGE_SHIFT << PAGE_SHIFT;
    unsigned from, bits;
    field_of(insn.kind, &from, &bits);
    if (bits)
        insn.to = va + (uint64_t)(signed_of(word >> from, bits) * CAIRN_A64_BYTES);
    else if (insn.kind == CAIRN_A64_ADR)
        insn.to = va + (uint64_t)adr_distance(word);
    else if (insn.kind == CAIRN_A64_ADRP)
        insn.to = page + ((uint64_t)adr_distance(word) << PAGE_SHIFT);
    *ret_insn = insn;
}

/* pacia1716 and its like, chkfeat x16: hints whose registers no field names. */
static bool is_hint_of_x16(uint32_t word)
{
    return (word & 0xffffff3f) == 0xd503211f || word == 0xd503251f;
}

/* Registers from the one in a field on: of casp and of single-copy atomic 64 bytes. */
static unsigned registers_each(uint32_t word)
{
    const bool is_casp = (word & 0xbfa07c00) == 0x08207c00;
    const unsigned op = word >> 12 & 15; /* st64b, st64bv0, st64bv, ld64b */
    const bool is_64_bytes =
        (word & 0xffe00c00) == 0xf8200000 && ((op >= 9 && op <= 11) || op == 13);
    return is_casp ? 2 : is_64_bytes ? 8 : 1;
}

bool cairn_aarch64_insn_names(uint32_t word, unsigned reg)
{
    const unsigned fields[] = {word & 31, word >> 5 & 31, word >> 10 & 31, word >> 16 & 31};
    bool is_named = is_hint_of_x16(word) && (reg == 16 || reg == 17);
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        is_named |= reg - fields[i] < registers_each(word);
    return is_named;
}

static bool aim_adr(uint32_t word, int64_t distance, uint32_t *ret_word)
{
    if (signed_of((uint64_t)distance, 21) != distance)
        return false;
    const uint32_t low = (uint32_t)distance & 3, high = (uint32_t)(distance >> 2) & 0x7ffff;
    *ret_word = (word & 0x9f00001f) | low << 29 | high << 5;
    return true;
}

bool cairn_aarch64_insn_aim(uint32_t word, enum cairn_aarch64_kind kind, uint64_t va, uint64_t to,
                            uint32_t *ret_word)
{
    unsigned from, bits;
    if (kind == CAIRN_A64_ADR)
        return aim_adr(word, (int64_t)(to - va), ret_word);
    if (kind == CAIRN_A64_ADRP)
        return !(to & ((1 << PAGE_SHIFT) - 1)) &&
               aim_adr(word, (int64_t)((to >> PAGE_SHIFT) - (va >> PAGE_SHIFT)), ret_word);
    field_of(kind, &from, &bits);
    const int64_t distance = (int64_t)(to - va);
    if (!bits || distance % CAIRN_A64_BYTES ||
        signed_of((uint64_t)(distance / CAIRN_A64_BYTES), bits) != distance / CAIRN_A64_BYTES)
        return false;
    const uint32_t mask = ((1u << bits) - 1) << from;
    *ret_word = (word & ~mask) | ((uint32_t)(distance / CAIRN_A64_BYTES) << from & mask);
    return true;
}

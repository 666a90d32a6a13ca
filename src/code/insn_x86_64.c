/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "code/insn_x86_64.h"

enum { WORDS = 16 }; /* immediates of 16 bits */

unsigned cairn_x86_64_reg_of(unsigned number)
{
    static const uint8_t regs[] = {CAIRN_RAX, CAIRN_RCX, CAIRN_RDX, CAIRN_RBX,
                                   CAIRN_RSP, CAIRN_RBP, CAIRN_RSI, CAIRN_RDI};
    return number < 8 ? regs[number] : number;
}

/* `n` bytes, signed; behind the end the instruction is not to be had. */
static int64_t take(struct cairn_x86_64_insn *i, size_t n)
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

static uint8_t take_byte(struct cairn_x86_64_insn *i)
{
    return (uint8_t)take(i, 1);
}

static void take_disp(struct cairn_x86_64_insn *i, size_t n)
{
    i->disp_at = (uint8_t)(i->at - i->start);
    i->disp_size = (uint8_t)n;
    i->disp = take(i, n);
}

static void take_modrm(struct cairn_x86_64_insn *i)
{
    i->modrm_at = (uint8_t)(i->at - i->start);
    uint8_t modrm = take_byte(i);
    unsigned low = modrm & 7, base = low;
    i->has_modrm = true;
    i->mod = modrm >> 6;
    i->digit = modrm >> 3 & 7;
    i->reg = cairn_x86_64_reg_of(i->digit | (i->rex & CAIRN_REX_R ? 8 : 0));
    i->rm = cairn_x86_64_reg_of(low | (i->rex & CAIRN_REX_B ? 8 : 0));
    if (i->mod == 3)
        return;
    i->knows_place = true;
    if (low == 4) {
        uint8_t sib = take_byte(i);
        base = sib & 7;
        i->index = cairn_x86_64_reg_of((sib >> 3 & 7) | (i->rex & CAIRN_REX_X ? 8 : 0));
        i->scale = sib >> 6;
    }
    i->base = cairn_x86_64_reg_of(base | (i->rex & CAIRN_REX_B ? 8 : 0));
    if (i->mod == 0 && base == 5) {
        take_disp(i, 4);
        i->is_absolute = low != 5;
        i->base = CAIRN_NO_REG;
    } else if (i->mod) {
        take_disp(i, i->mod == 1 ? 1 : 4);
    }
}

/* VEX and EVEX say the map in a byte of their own. */
static void take_vector(struct cairn_x86_64_insn *i, unsigned first)
{
    uint8_t byte = take_byte(i);
    i->is_vector = true;
    i->map = first == 0xc5 ? CAIRN_MAP_0F : byte & (first == 0xc4 ? 31 : 7);
    i->is_misprefixed |= i->rex || i->is_narrow || i->is_repeated || i->is_repne || i->is_locked;
    i->rex = (~byte >> 5 & 4) | (first == 0xc5 ? 0 : ~byte >> 5 & 3);
    take(i, first == 0xc5 ? 0 : first == 0xc4 ? 1 : 2);
    i->op = take_byte(i);
    if (first != 0x62 && i->map == CAIRN_MAP_0F && i->op == 0x77) /* vzeroupper */
        return;
    take_modrm(i);
}

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 ||
           byte == 0x67;
}

static void take_opcode(struct cairn_x86_64_insn *i)
{
    uint8_t byte = take_byte(i);
    while (is_prefix(byte)) {
        i->is_narrow |= byte == 0x66;
        i->is_repeated |= byte == 0xf3;
        i->is_repne |= byte == 0xf2;
        i->is_locked |= byte == 0xf0;
        i->is_short_address |= byte == 0x67;
        byte = take_byte(i);
    }
    if (byte >> 4 == 4) {
        i->rex = byte & 15;
        byte = take_byte(i);
        i->is_misprefixed =
            is_prefix(byte) || byte >> 4 == 4 || byte == 0xc4 || byte == 0xc5 || byte == 0x62;
    }
    i->op = byte;
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
        take_vector(i, byte);
    } else if (byte == 0x0f) {
        i->op = take_byte(i);
        i->map = i->op == 0x38 ? CAIRN_MAP_0F38 : i->op == 0x3a ? CAIRN_MAP_0F3A : CAIRN_MAP_0F;
        if (i->map != CAIRN_MAP_0F)
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
static size_t one_immediate(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (op < 0x40)
        return (op & 7) == 4 ? 1 : (op & 7) == 5 ? WORDS : 0;
    if (op == 0xf6 || op == 0xf7)
        return i->digit > 1 ? 0 : op == 0xf6 ? 1 : WORDS;
    if (op >= 0xa0 && op <= 0xa3)
        return i->is_short_address ? 4 : 8;
    if (op >= 0xb8 && op <= 0xbf)
        return i->rex & CAIRN_REX_W ? 8 : WORDS;
    if (op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 || op == 0xc7)
        return WORDS;
    if (op == 0xe8 || op == 0xe9)
        return 4;
    if (op == 0xc2 || op == 0xca)
        return 2;
    if (op == 0xc8)
        return 3;
    bool has_byte = op == 0x6a || op == 0x6b || op >> 4 == 7 || op == 0x80 || op == 0x83 ||
                    op == 0xa8 || (op >= 0xb0 && op <= 0xb7) || op == 0xc0 || op == 0xc1 ||
                    op == 0xc6 || op == 0xcd || (op >= 0xe0 && op <= 0xe7) || op == 0xeb;
    return has_byte;
}

static size_t two_immediate(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (op >= 0x80 && op <= 0x8f)
        return i->is_vector ? 0 : 4;
    return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
           (op >= 0xc4 && op <= 0xc6);
}

/* The whole instruction; its length, or 0. */
size_t cairn_x86_64_insn_take(struct cairn_x86_64_insn *i, struct cairn_span code)
{
    *i = (struct cairn_x86_64_insn){.at = code.data,
                                    .end = code.data + code.size,
                                    .start = code.data,
                                    .base = CAIRN_NO_REG,
                                    .index = CAIRN_RSP};
    take_opcode(i);
    if (!i->is_vector && (i->map == CAIRN_MAP_ONE ? one_has_modrm(i->op)
                                                  : i->map != CAIRN_MAP_0F || two_has_modrm(i->op)))
        take_modrm(i);
    size_t size = i->map == CAIRN_MAP_ONE    ? one_immediate(i)
                  : i->map == CAIRN_MAP_0F   ? two_immediate(i)
                  : i->map == CAIRN_MAP_0F3A ? 1
                                             : 0;
    if (size == WORDS)
        size = i->is_narrow && !(i->rex & CAIRN_REX_W) ? 2 : 4;
    i->imm_at = (uint8_t)(i->at - i->start);
    i->imm_size = (uint8_t)size;
    i->imm = take(i, size);
    return i->at ? (size_t)(i->at - code.data) : 0;
}

unsigned cairn_x86_64_insn_last(const struct cairn_x86_64_insn *i)
{
    return cairn_x86_64_reg_of((i->op & 7) | (i->rex & CAIRN_REX_B ? 8 : 0));
}

bool cairn_x86_64_insn_is_rip(const struct cairn_x86_64_insn *i)
{
    return i->knows_place && i->base == CAIRN_NO_REG && !i->is_absolute;
}

bool cairn_x86_64_insn_is_conditional(const struct cairn_x86_64_insn *i)
{
    return (i->map == CAIRN_MAP_ONE && (i->op >> 4 == 7 || (i->op >= 0xe0 && i->op <= 0xe3))) ||
           (i->map == CAIRN_MAP_0F && i->op >> 4 == 8 && !i->is_vector);
}

bool cairn_x86_64_insn_is_bad(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (i->is_misprefixed)
        return true;
    if (i->is_vector)
        return i->map < CAIRN_MAP_0F || i->map > 6 || i->map == 4;
    if (i->map == CAIRN_MAP_0F)
        return op == 0x04 || (op >= 0x06 && op <= 0x0a) || op == 0x0c || op == 0x0e || op == 0x0f ||
               (op >= 0x20 && op <= 0x27) || (op >= 0x30 && op <= 0x37 && op != 0x31) ||
               (op >= 0x78 && op <= 0x7b) || op == 0xa6 || op == 0xa7 || op == 0xaa || op == 0xff;
    if (i->map != CAIRN_MAP_ONE)
        return false;
    if (op < 0x40)
        return (op & 7) >= 6;
    return (op >= 0x60 && op <= 0x62) || (op >= 0x6c && op <= 0x6f) || op == 0x82 || op == 0x8e ||
           (op == 0x8f && i->digit) || op == 0x9a || op == 0xc4 || op == 0xc5 || op == 0xc8 ||
           op == 0xca || op == 0xcb || op == 0xce || op == 0xcf || (op >= 0xd4 && op <= 0xd7) ||
           (op >= 0xe4 && op <= 0xe7) || op == 0xea || (op >= 0xec && op <= 0xef) || op == 0xf1 ||
           (op >= 0xfa && op <= 0xfb) ||
           ((op == 0xc6 || op == 0xc7) && i->digit && (i->digit != 7 || i->mod != 3)) ||
           (op == 0xfe && i->digit > 1) ||
           (op == 0xff && (i->digit == 3 || i->digit == 5 || i->digit == 7)) ||
           ((op >> 3 == 0x50 >> 3 || op >> 3 == 0x58 >> 3) && i->is_narrow);
}

bool cairn_x86_64_insn_is_group(const struct cairn_x86_64_insn *i)
{
    unsigned op = i->op;
    if (i->map == CAIRN_MAP_ONE)
        return (op >= 0x80 && op <= 0x83) || op == 0x8f || op == 0xc0 || op == 0xc1 || op == 0xc6 ||
               op == 0xc7 || (op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf) ||
               op == 0xf6 || op == 0xf7 || op >= 0xfe;
    return i->map == CAIRN_MAP_0F && !i->is_vector &&
           (op <= 1 || op == 0x18 || op == 0x1f || (op >= 0x71 && op <= 0x73) || op >> 4 == 9 ||
            op == 0xae || op == 0xba || op == 0xc7);
}

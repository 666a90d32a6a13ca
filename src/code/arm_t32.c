/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* T32, DDI 0406C, A6: halfwords alone, and two of them where the first begins with 11101, 11110 or
 * 11111. */
#include "code/arm_insn.h"

enum { SP = 13, LR = 14, PC = 15 };

static struct cairn_arm_insn of(enum cairn_arm_op op)
{
    return (struct cairn_arm_insn){.op = (uint8_t)op};
}

static struct cairn_arm_insn branch(uint32_t target, bool is_conditional)
{
    return (struct cairn_arm_insn){
        .op = CAIRN_ARM_BRANCH, .target = target, .is_conditional = is_conditional};
}

static struct cairn_arm_insn transfer(bool loads, unsigned base, uint32_t mask, int32_t off,
                                      int32_t back)
{
    return (struct cairn_arm_insn){.op = loads ? CAIRN_ARM_LOAD : CAIRN_ARM_STORE,
                                   .base = (uint8_t)base,
                                   .mask = (uint16_t)mask,
                                   .off = off,
                                   .back = back};
}

/* `n` bits, signed. */
static int32_t extend(uint32_t value, unsigned n)
{
    return (int32_t)(value << (32 - n)) >> (32 - n);
}

/* A6.2.3: the registers above r7 too; bx, blx. */
static struct cairn_arm_insn high_registers(uint32_t half)
{
    unsigned d = cairn_arm_bits(half, 7, 1) << 3 | cairn_arm_bits(half, 0, 3),
             m = cairn_arm_bits(half, 3, 4);
    switch (cairn_arm_bits(half, 8, 2)) {
    case 0: /* add */
        return d == PC ? of(CAIRN_ARM_STOP) : cairn_arm_other(1u << d);
    case 1: /* cmp */
        return cairn_arm_other(0);
    case 2:
        return d == PC ? cairn_arm_to_register(m) : cairn_arm_add(d, m, 0);
    default:
        return cairn_arm_bits(half, 7, 1) ? of(CAIRN_ARM_CALL) : cairn_arm_to_register(m);
    }
}

/* A6.2.1, A6.2.2: 00xxxx and 010000. */
static struct cairn_arm_insn arithmetic(uint32_t half)
{
    unsigned d = cairn_arm_bits(half, 0, 3), wide = cairn_arm_bits(half, 8, 3),
             op = cairn_arm_bits(half, 6, 4);
    switch (half >> 11) {
    case 0x03: /* three operands */
        if (cairn_arm_bits(half, 10, 1))
            return cairn_arm_add(d, cairn_arm_bits(half, 3, 3),
                                 cairn_arm_bits(half, 9, 1) ? -(int32_t)cairn_arm_bits(half, 6, 3)
                                                            : (int32_t)cairn_arm_bits(half, 6, 3));
        return cairn_arm_other(1u << d);
    case 0x04:
        return cairn_arm_constant(wide, cairn_arm_bits(half, 0, 8));
    case 0x05: /* cmp */
        return cairn_arm_other(0);
    case 0x06:
        return cairn_arm_add(wide, wide, (int32_t)cairn_arm_bits(half, 0, 8));
    case 0x07:
        return cairn_arm_add(wide, wide, -(int32_t)cairn_arm_bits(half, 0, 8));
    case 0x08:
        return op == 8 || op == 10 || op == 11 ? cairn_arm_other(0) : cairn_arm_other(1u << d);
    default:
        return cairn_arm_other(1u << d);
    }
}

/* A6.2.5. */
static struct cairn_arm_insn miscellaneous(uint32_t half, uint32_t ip)
{
    int32_t words = 4 * (int32_t)cairn_arm_bits(half, 0, 7);
    uint32_t mask = cairn_arm_bits(half, 0, 8);
    if ((half & 0xff00) == 0xb000)
        return cairn_arm_add(SP, SP, cairn_arm_bits(half, 7, 1) ? -words : words);
    if ((half & 0xf500) == 0xb100) /* cbz, cbnz */
        return branch(ip + 4 + (cairn_arm_bits(half, 9, 1) << 6 | cairn_arm_bits(half, 3, 5) << 1),
                      true);
    if ((half & 0xfe00) == 0xb400) {
        mask |= cairn_arm_bits(half, 8, 1) << LR;
        int32_t size = 4 * __builtin_popcount(mask);
        return transfer(false, SP, mask, -size, -size);
    }
    if ((half & 0xfe00) == 0xbc00) {
        mask |= cairn_arm_bits(half, 8, 1) << PC;
        return transfer(true, SP, mask, 0, 4 * __builtin_popcount(mask));
    }
    if ((half & 0xff00) == 0xbf00 && cairn_arm_bits(half, 0, 4)) {
        struct cairn_arm_insn insn = of(CAIRN_ARM_IF_THEN);
        insn.off = 4 - __builtin_ctz(cairn_arm_bits(half, 0, 4));
        return insn;
    }
    bool extends = (half & 0xff00) == 0xb200 || (half & 0xff00) == 0xba00;
    return cairn_arm_other(extends ? 1u << cairn_arm_bits(half, 0, 3) : 0);
}

static struct cairn_arm_insn decode_half(uint32_t half, uint32_t ip)
{
    unsigned low = cairn_arm_bits(half, 0, 3), wide = cairn_arm_bits(half, 8, 3);
    int32_t words = 4 * (int32_t)cairn_arm_bits(half, 0, 8);
    uint32_t list = cairn_arm_bits(half, 0, 8);
    if (half < 0x4400)
        return arithmetic(half);
    if (half < 0x4800)
        return high_registers(half);
    switch (half >> 12) {
    case 4: /* ldr of a constant among the code */
        return transfer(true, PC, 1u << wide, words, 0);
    case 5:
        return cairn_arm_other(cairn_arm_bits(half, 9, 3) >= 3 ? 1u << low : 0);
    case 6:
        if (!cairn_arm_bits(half, 11, 1))
            return transfer(false, cairn_arm_bits(half, 3, 3), 1u << low,
                            4 * (int32_t)cairn_arm_bits(half, 6, 5), 0);
        return transfer(true, cairn_arm_bits(half, 3, 3), 1u << low,
                        4 * (int32_t)cairn_arm_bits(half, 6, 5), 0);
    case 7:
    case 8:
        return cairn_arm_other(cairn_arm_bits(half, 11, 1) ? 1u << low : 0);
    case 9:
        return transfer(cairn_arm_bits(half, 11, 1), SP, 1u << wide, words, 0);
    case 10:
        return cairn_arm_add(wide, cairn_arm_bits(half, 11, 1) ? SP : PC, words);
    case 11:
        return (half & 0xff00) == 0xbe00 ? of(CAIRN_ARM_STOP) : miscellaneous(half, ip);
    case 12: {
        bool loads = cairn_arm_bits(half, 11, 1);
        bool is_written = !loads || !(list & 1u << wide);
        return transfer(loads, wide, list, 0, is_written ? 4 * __builtin_popcount(list) : 0);
    }
    case 13:
        if (cairn_arm_bits(half, 8, 4) == 15)
            return of(CAIRN_ARM_SYSCALL);
        if (cairn_arm_bits(half, 8, 4) == 14)
            return of(CAIRN_ARM_STOP);
        return branch(ip + 4 + (uint32_t)(extend(cairn_arm_bits(half, 0, 8), 8) * 2), true);
    default:
        return branch(ip + 4 + (uint32_t)(extend(cairn_arm_bits(half, 0, 11), 11) * 2), false);
    }
}

/* A6.3.4: branches, and what else has that prefix. */
static struct cairn_arm_insn decode_branch(uint32_t first, uint32_t second, uint32_t ip)
{
    uint32_t sign = cairn_arm_bits(first, 10, 1), j1 = cairn_arm_bits(second, 13, 1),
             j2 = cairn_arm_bits(second, 11, 1);
    uint32_t far = sign << 24 | (uint32_t)(j1 == sign) << 23 | (uint32_t)(j2 == sign) << 22 |
                   cairn_arm_bits(first, 0, 10) << 12 | cairn_arm_bits(second, 0, 11) << 1;
    uint32_t near = sign << 20 | j2 << 19 | j1 << 18 | cairn_arm_bits(first, 0, 6) << 12 |
                    cairn_arm_bits(second, 0, 11) << 1;
    if (cairn_arm_bits(second, 14, 1))
        return of(CAIRN_ARM_CALL); /* bl, blx */
    if (cairn_arm_bits(second, 12, 1))
        return branch(ip + 4 + (uint32_t)extend(far, 25), false);
    if (cairn_arm_bits(first, 7, 3) != 7)
        return branch(ip + 4 + (uint32_t)extend(near, 21), true);
    if ((first & 0xfff0) == 0xf7f0 && (second & 0xf000) == 0xa000)
        return of(CAIRN_ARM_STOP);             /* udf */
    bool is_read = (first & 0xffe0) == 0xf3e0; /* mrs */
    return cairn_arm_other(is_read ? 1u << cairn_arm_bits(second, 8, 4) : 0);
}

/* A6.3.2: an immediate of 12 bits that stands for one of 32. */
static uint32_t expand(uint32_t imm)
{
    uint32_t byte = imm & 0xff;
    if (imm >> 10)
        return (0x80 | (imm & 0x7f)) >> (imm >> 7) | (0x80 | (imm & 0x7f)) << (32 - (imm >> 7));
    static const uint32_t copies[] = {1, 0x00010001, 0x01000100, 0x01010101};
    return byte * copies[imm >> 8 & 3];
}

static struct cairn_arm_insn decode_immediate(uint32_t first, uint32_t second)
{
    unsigned d = cairn_arm_bits(second, 8, 4), n = cairn_arm_bits(first, 0, 4),
             op = cairn_arm_bits(first, 5, 4);
    uint32_t imm = cairn_arm_bits(first, 10, 1) << 11 | cairn_arm_bits(second, 12, 3) << 8 |
                   cairn_arm_bits(second, 0, 8);
    if (cairn_arm_bits(first, 9, 1)) { /* of 12 or 16 bits, as they stand */
        if (cairn_arm_bits(first, 4, 5) == 0x00)
            return cairn_arm_add(d, n, (int32_t)imm);
        if (cairn_arm_bits(first, 4, 5) == 0x0a)
            return cairn_arm_add(d, n, -(int32_t)imm);
        if (cairn_arm_bits(first, 4, 5) == 0x04)
            return cairn_arm_constant(d, n << 12 | imm);
        return cairn_arm_other(1u << d);
    }
    if (d == PC)
        return cairn_arm_other(0); /* tst, teq, cmp, cmn */
    if (op == 8)
        return cairn_arm_add(d, n, (int32_t)expand(imm));
    if (op == 13)
        return cairn_arm_add(d, n, (int32_t)-expand(imm));
    if (n == PC && (op == 2 || op == 3))
        return cairn_arm_constant(d, op == 2 ? expand(imm) : ~expand(imm));
    return cairn_arm_other(1u << d);
}

static struct cairn_arm_insn decode_multiple(uint32_t first, uint32_t second)
{
    bool loads = cairn_arm_bits(first, 4, 1), falls = cairn_arm_bits(first, 7, 2) == 2;
    int32_t size = 4 * __builtin_popcount(second);
    if (cairn_arm_bits(first, 7, 2) == 0 ||
        cairn_arm_bits(first, 7, 2) == 3) /* srs, rfe: the kernel's */
        return of(CAIRN_ARM_STOP);
    return transfer(loads, cairn_arm_bits(first, 0, 4), second, falls ? -size : 0,
                    !cairn_arm_bits(first, 5, 1) ? 0
                    : falls                      ? -size
                                                 : size);
}

/* A6.3.6: two registers; exclusive accesses; jumps by a table. */
static struct cairn_arm_insn decode_dual(uint32_t first, uint32_t second, uint32_t ip)
{
    unsigned t = cairn_arm_bits(second, 12, 4), t2 = cairn_arm_bits(second, 8, 4),
             n = cairn_arm_bits(first, 0, 4);
    bool is_before = cairn_arm_bits(first, 8, 1), writes_back = cairn_arm_bits(first, 5, 1),
         loads = cairn_arm_bits(first, 4, 1);
    int32_t off = 4 * (int32_t)cairn_arm_bits(second, 0, 8);
    off = cairn_arm_bits(first, 7, 1) ? off : -off;
    if ((first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000) {
        struct cairn_arm_insn insn = of(CAIRN_ARM_TABLE);
        insn.target = ip + 4;
        insn.off = cairn_arm_bits(second, 4, 1) ? 2 : 1;
        return n == PC ? insn : of(CAIRN_ARM_STOP);
    }
    if (!is_before && !writes_back)
        return cairn_arm_other(1u << t | 1u << t2 | 1u << cairn_arm_bits(second, 0, 4));
    if (t < t2)
        return transfer(loads, n, 1u << t | 1u << t2, is_before ? off : 0, writes_back ? off : 0);
    return cairn_arm_other((loads ? 1u << t | 1u << t2 : 0) | (writes_back ? 1u << n : 0));
}

/* A6.3.7 to A6.3.10: one register, of any size. */
static struct cairn_arm_insn decode_single(uint32_t first, uint32_t second)
{
    unsigned t = cairn_arm_bits(second, 12, 4), n = cairn_arm_bits(first, 0, 4);
    bool loads = cairn_arm_bits(first, 4, 1),
         is_word = cairn_arm_bits(first, 5, 2) == 2 && !cairn_arm_bits(first, 8, 1);
    bool is_plain = cairn_arm_bits(first, 7, 1) && n != PC,
         has_8_bits = cairn_arm_bits(second, 11, 1);
    bool is_before = cairn_arm_bits(second, 10, 1), writes_back = cairn_arm_bits(second, 8, 1);
    int32_t off = cairn_arm_bits(second, 9, 1) ? (int32_t)cairn_arm_bits(second, 0, 8)
                                               : -(int32_t)cairn_arm_bits(second, 0, 8);
    if (is_word && is_plain)
        return transfer(loads, n, 1u << t, (int32_t)cairn_arm_bits(second, 0, 12), 0);
    if (is_word && n == PC && loads && t != PC) {
        int32_t imm = (int32_t)cairn_arm_bits(second, 0, 12);
        return transfer(true, PC, 1u << t, cairn_arm_bits(first, 7, 1) ? imm : -imm, 0);
    }
    if (is_word && n != PC && has_8_bits)
        return transfer(loads, n, 1u << t, is_before ? off : 0, writes_back ? off : 0);
    if (is_word && loads && t == PC)
        return of(CAIRN_ARM_STOP);
    bool is_back = !is_plain && n != PC && has_8_bits && writes_back;
    return cairn_arm_other((loads && t != PC ? 1u << t : 0) | (is_back ? 1u << n : 0));
}

static struct cairn_arm_insn decode_pair(uint32_t first, uint32_t second, uint32_t ip)
{
    unsigned d = cairn_arm_bits(second, 8, 4);
    switch (cairn_arm_bits(first, 9, 4)) {
    case 4:
        return cairn_arm_bits(first, 6, 1) ? decode_dual(first, second, ip)
                                           : decode_multiple(first, second);
    case 5: /* shifted registers */
        if ((first & 0xffef) == 0xea4f && !(second & 0x70f0))
            return cairn_arm_add(d, cairn_arm_bits(second, 0, 4), 0);
        return cairn_arm_other(d == PC ? 0 : 1u << d);
    case 6:
    case 7:
    case 14:
    case 15:
        return cairn_arm_decode_coprocessor((first & 0xfff) << 16 | second);
    case 8:
    case 9:
    case 10:
    case 11:
        return cairn_arm_bits(second, 15, 1) ? decode_branch(first, second, ip)
                                             : decode_immediate(first, second);
    case 12:
        if ((first & 0xff10) == 0xf900) /* SIMD's structures */
            return cairn_arm_other(
                cairn_arm_bits(second, 0, 4) == PC ? 0 : 1u << cairn_arm_bits(first, 0, 4));
        return decode_single(first, second);
    default: /* registers; products, of which long ones have two */
        return cairn_arm_other(
            1u << d | ((first & 0xff80) == 0xfb80 ? 1u << cairn_arm_bits(second, 12, 4) : 0));
    }
}

struct cairn_arm_insn cairn_arm_decode_t32(const uint8_t bytes[CAIRN_ARM_INSN_BYTES], uint32_t ip)
{
    uint32_t first = bytes[0] | (uint32_t)bytes[1] << 8;
    uint32_t second = bytes[2] | (uint32_t)bytes[3] << 8;
    bool is_pair = first >= 0xe800;
    struct cairn_arm_insn insn = is_pair ? decode_pair(first, second, ip) : decode_half(first, ip);
    insn.size = is_pair ? 4 : 2;
    insn.mask &= (uint16_t)(insn.op == CAIRN_ARM_OTHER ? ~(1u << PC) : ~0u);
    return insn;
}

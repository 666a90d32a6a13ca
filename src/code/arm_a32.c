/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* A32, DDI 0406C, A5: by bits 27 to 25 first. */
#include "code/arm_insn.h"

enum { SP = 13, PC = 15, ALWAYS = 0xe, NEVER = 0xf };

static struct cairn_arm_insn stop(void)
{
    return (struct cairn_arm_insn){.op = CAIRN_ARM_STOP};
}

/* One that computes something into Rd; pc: a jump to who knows where. */
static struct cairn_arm_insn computes(uint32_t word)
{
    unsigned d = cairn_arm_bits(word, 12, 4), op = cairn_arm_bits(word, 21, 4);
    if (op >= 8 && op <= 11) /* tst, teq, cmp, cmn */
        return cairn_arm_other(0);
    return d == PC ? stop() : cairn_arm_other(1u << d);
}

static struct cairn_arm_insn immediate(uint32_t word)
{
    unsigned op = cairn_arm_bits(word, 20, 5), d = cairn_arm_bits(word, 12, 4),
             n = cairn_arm_bits(word, 16, 4);
    unsigned turn = 2 * cairn_arm_bits(word, 8, 4);
    uint32_t value = cairn_arm_bits(word, 0, 8);
    value = turn ? value >> turn | value << (32 - turn) : value;
    if (op == 0x10) /* movw */
        return cairn_arm_constant(d, n << 12 | cairn_arm_bits(word, 0, 12));
    if (op == 0x14) /* movt */
        return cairn_arm_other(1u << d);
    if (op == 0x12 || op == 0x16) /* msr, hints */
        return cairn_arm_other(0);
    if (d == PC)
        return computes(word);
    switch (op >> 1) {
    case 4:
        return cairn_arm_add(d, n, (int32_t)value);
    case 2:
        return cairn_arm_add(d, n, (int32_t)-value);
    case 13:
        return cairn_arm_constant(d, value);
    case 15:
        return cairn_arm_constant(d, ~value);
    default:
        return computes(word);
    }
}

/* Of one or two registers, of words; `off` is added or taken off. */
static struct cairn_arm_insn transfer(uint32_t word, bool loads, uint32_t mask, int32_t off)
{
    bool is_before = cairn_arm_bits(word, 24, 1),
         writes_back = !is_before || cairn_arm_bits(word, 21, 1);
    off = cairn_arm_bits(word, 23, 1) ? off : -off;
    return (struct cairn_arm_insn){.op = loads ? CAIRN_ARM_LOAD : CAIRN_ARM_STORE,
                                   .base = (uint8_t)cairn_arm_bits(word, 16, 4),
                                   .mask = (uint16_t)mask,
                                   .off = is_before ? off : 0,
                                   .back = writes_back ? off : 0};
}

/* Bits 7 and 4 are set: multiplications, and loads and stores that are no words and no bytes. */
static struct cairn_arm_insn extra(uint32_t word)
{
    unsigned d = cairn_arm_bits(word, 12, 4), n = cairn_arm_bits(word, 16, 4),
             kind = cairn_arm_bits(word, 5, 2);
    bool loads = cairn_arm_bits(word, 20, 1);
    int32_t off = (int32_t)(cairn_arm_bits(word, 8, 4) << 4 | cairn_arm_bits(word, 0, 4));
    bool writes_back = !cairn_arm_bits(word, 24, 1) || cairn_arm_bits(word, 21, 1);
    if (kind == 0) /* multiplications; exclusive accesses */
        return cairn_arm_other(cairn_arm_bits(word, 24, 1) ? 1u << d : 1u << d | 1u << n);
    if (kind >= 2 && !loads && d < 12 && cairn_arm_bits(word, 22, 1)) /* ldrd, strd */
        return transfer(word, kind == 2, 3u << d, off);
    if (d == PC)
        return stop();
    uint32_t written = loads ? 1u << d : kind == 2 ? 3u << d : 0;
    return cairn_arm_other(written | (writes_back ? 1u << n : 0));
}

/* add pc, pc, register: one of several places, of which the first is as good as any. With another
 * first operand it is how linkers reach the other set of instructions. */
static struct cairn_arm_insn add_to_pc(uint32_t word, uint32_t ip)
{
    unsigned n = cairn_arm_bits(word, 16, 4), m = cairn_arm_bits(word, 0, 4);
    if (n == PC)
        return (struct cairn_arm_insn){.op = CAIRN_ARM_BRANCH, .target = ip + 8};
    if (m != PC || cairn_arm_bits(word, 4, 8))
        return stop();
    return (struct cairn_arm_insn){
        .op = CAIRN_ARM_BRANCH_SUM, .base = (uint8_t)n, .off = (int32_t)(ip + 8)};
}

static struct cairn_arm_insn by_register(uint32_t word, uint32_t ip)
{
    unsigned d = cairn_arm_bits(word, 12, 4), op = cairn_arm_bits(word, 20, 5),
             m = cairn_arm_bits(word, 0, 4);
    if ((word & 0x90) == 0x90)
        return extra(word);
    if ((word & 0x0ffffff0) == 0x012fff10) /* bx */
        return cairn_arm_to_register(m);
    if ((word & 0x0ffffff0) == 0x012fff30) /* blx */
        return (struct cairn_arm_insn){.op = CAIRN_ARM_CALL};
    if ((op & 0x19) == 0x10) /* the rest of the miscellaneous ones; breakpoints, sums of products */
        return op == 0x12 && cairn_arm_bits(word, 4, 3)
                   ? cairn_arm_other(0)
                   : cairn_arm_other(1u << d | 1u << cairn_arm_bits(word, 16, 4));
    if ((op & 0x1e) == 0x1a && !cairn_arm_bits(word, 4, 8)) /* mov */
        return d == PC ? cairn_arm_to_register(m) : cairn_arm_add(d, m, 0);
    if (op >> 1 == 4 && d == PC)
        return add_to_pc(word, ip);
    return computes(word);
}

static struct cairn_arm_insn single(uint32_t word)
{
    unsigned d = cairn_arm_bits(word, 12, 4), n = cairn_arm_bits(word, 16, 4);
    bool loads = cairn_arm_bits(word, 20, 1), is_register = cairn_arm_bits(word, 25, 1);
    bool writes_back = !cairn_arm_bits(word, 24, 1) || cairn_arm_bits(word, 21, 1);
    if (!is_register && !cairn_arm_bits(word, 22, 1))
        return transfer(word, loads, 1u << d, (int32_t)cairn_arm_bits(word, 0, 12));
    if (loads && d == PC)
        return stop();
    return cairn_arm_other((loads ? 1u << d : 0) | (writes_back ? 1u << n : 0));
}

/* A5.4: multiplications and divisions, which have their register elsewhere, lie between the others.
 */
static struct cairn_arm_insn media(uint32_t word)
{
    uint32_t d = 1u << cairn_arm_bits(word, 12, 4), n = 1u << cairn_arm_bits(word, 16, 4);
    unsigned op = cairn_arm_bits(word, 20, 5);
    return cairn_arm_other(op < 0x10 || op > 0x18 ? d : op == 0x14 ? d | n : n);
}

static struct cairn_arm_insn multiple(uint32_t word)
{
    uint32_t mask = cairn_arm_bits(word, 0, 16);
    bool rises = cairn_arm_bits(word, 23, 1), is_before = cairn_arm_bits(word, 24, 1);
    int32_t size = 4 * __builtin_popcount(mask);
    if (cairn_arm_bits(word, 22, 1)) /* the registers of another mode: the kernel's */
        return stop();
    return (struct cairn_arm_insn){
        .op = cairn_arm_bits(word, 20, 1) ? CAIRN_ARM_LOAD : CAIRN_ARM_STORE,
        .base = (uint8_t)cairn_arm_bits(word, 16, 4),
        .mask = (uint16_t)mask,
        .off = rises ? (is_before ? 4 : 0) : (is_before ? -size : 4 - size),
        .back = !cairn_arm_bits(word, 21, 1) ? 0
                : rises                      ? size
                                             : -size};
}

struct cairn_arm_insn cairn_arm_decode_coprocessor(uint32_t word)
{
    unsigned d = cairn_arm_bits(word, 12, 4), n = cairn_arm_bits(word, 16, 4);
    if ((word & 0x0fe00000) == 0x0c400000) /* mcrr, mrrc: two registers at once */
        return cairn_arm_other(cairn_arm_bits(word, 20, 1) ? 1u << d | 1u << n : 0);
    if ((word & 0x0e000000) == 0x0c000000) { /* loads and stores */
        bool is_before = cairn_arm_bits(word, 24, 1), writes_back = cairn_arm_bits(word, 21, 1);
        int32_t size = (int32_t)cairn_arm_bits(word, 0, 8) * 4;
        if (!writes_back || (!is_before && !cairn_arm_bits(word, 23, 1)))
            return cairn_arm_other(0);
        return cairn_arm_add(n, n, cairn_arm_bits(word, 23, 1) ? size : -size);
    }
    bool is_move = (word & 0x0f100010) == 0x0e100010; /* mrc, vmov, vmrs */
    return cairn_arm_other(is_move && d != PC ? 1u << d : 0);
}

/* Without a condition: blx of an immediate; SIMD, hints, barriers. */
static struct cairn_arm_insn unconditional(uint32_t word)
{
    if (cairn_arm_bits(word, 25, 3) == 5)
        return (struct cairn_arm_insn){.op = CAIRN_ARM_CALL};
    if (cairn_arm_bits(word, 24, 4) == 4 && !cairn_arm_bits(word, 20, 1) &&
        cairn_arm_bits(word, 0, 4) != PC)
        return cairn_arm_other(
            1u << cairn_arm_bits(word, 16, 4)); /* of SIMD's structures, with write back */
    if (cairn_arm_bits(word, 26, 2) == 3)
        return cairn_arm_decode_coprocessor(word);
    return cairn_arm_other(0);
}

static struct cairn_arm_insn decode(uint32_t word, uint32_t ip)
{
    if (word >> 28 == NEVER)
        return unconditional(word);
    switch (cairn_arm_bits(word, 25, 3)) {
    case 0:
        return by_register(word, ip);
    case 1:
        return immediate(word);
    case 2:
        return single(word);
    case 3:
        if (!cairn_arm_bits(word, 4, 1))
            return single(word);
        if ((word & 0x0ff000f0) == 0x07f000f0)
            return stop(); /* udf */
        return media(word);
    case 4:
        return multiple(word);
    case 5:
        if (cairn_arm_bits(word, 24, 1))
            return (struct cairn_arm_insn){.op = CAIRN_ARM_CALL};
        return (struct cairn_arm_insn){.op = CAIRN_ARM_BRANCH,
                                       .target = ip + 8 + (uint32_t)((int32_t)(word << 8) >> 6)};
    case 6:
        return cairn_arm_decode_coprocessor(word);
    default:
        return cairn_arm_bits(word, 24, 1) ? (struct cairn_arm_insn){.op = CAIRN_ARM_SYSCALL}
                                           : cairn_arm_decode_coprocessor(word);
    }
}

struct cairn_arm_insn cairn_arm_decode_a32(const uint8_t bytes[CAIRN_ARM_INSN_BYTES], uint32_t ip)
{
    uint32_t word =
        bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    struct cairn_arm_insn insn = decode(word, ip);
    insn.size = 4;
    insn.is_conditional = word >> 28 < ALWAYS;
    insn.mask &= (uint16_t)(insn.op == CAIRN_ARM_OTHER ? ~(1u << PC) : ~0u);
    return insn;
}

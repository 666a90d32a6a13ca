/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "code/repeat_x86_64.h"

enum { R10 = 10, R11 = 11 };

static uint32_t bit(unsigned reg)
{
    return reg < 16 ? (uint32_t)1 << reg : 0;
}

/* al, cl, dl, bl; ah and its like, and spl without REX, are the second bytes of other registers. */
static bool is_plain_byte(const struct cairn_x86_64_insn *i)
{
    const bool has_rex = i->rex || i->start[0] == 0x40;
    return has_rex || (i->digit < 4 && (i->mod != 3 || i->rm < 4));
}

/* Register forms alone, without prefixes that could mean something. */
static bool is_between_registers(const struct cairn_x86_64_insn *i)
{
    return i->map == CAIRN_MAP_ONE && !i->is_vector && i->has_modrm && i->mod == 3 &&
           !i->is_repeated && !i->is_repne && !i->is_locked;
}

/* An address is computed and nothing read; rip's distance is rewritten by a move. */
static bool is_lea(const struct cairn_x86_64_insn *i)
{
    return i->map == CAIRN_MAP_ONE && !i->is_vector && i->op == 0x8d && i->knows_place &&
           !i->is_narrow && !i->is_locked;
}

/* Registers that it reads and writes; false: it is not one of these. */
static bool effect_of(const struct cairn_x86_64_insn *i, uint32_t *ret_reads, uint32_t *ret_writes)
{
    const uint32_t reg = bit(i->reg), rm = bit(i->rm);
    *ret_writes = 0;
    if (is_lea(i)) {
        *ret_reads = (i->base == CAIRN_NO_REG ? 0 : bit(i->base)) |
                     (i->index == CAIRN_RSP ? 0 : bit(i->index));
        *ret_writes = reg;
        return true;
    }
    if (!is_between_registers(i))
        return false;
    switch (i->op) {
    case 0x38: /* cmp */
    case 0x3a:
    case 0x84: /* test */
        *ret_reads = reg | rm;
        return is_plain_byte(i);
    case 0x39: /* the same of whole registers */
    case 0x3b:
    case 0x85:
        *ret_reads = reg | rm;
        return true;
    case 0x80: /* group 1 and 3 with an immediate: cmp, test */
    case 0xf6:
        *ret_reads = rm;
        return i->digit == (i->op == 0x80 ? 7 : 0) && (i->rex || i->start[0] == 0x40 || i->rm < 4);
    case 0x81:
    case 0x83:
    case 0xf7:
        *ret_reads = rm;
        return i->digit == (i->op == 0xf7 ? 0 : 7);
    case 0x31: /* xor of one with itself: 0 */
    case 0x33:
        *ret_reads = 0;
        *ret_writes = reg;
        return reg == rm && !i->is_narrow;
    case 0x89: /* mov */
        *ret_reads = reg;
        *ret_writes = rm;
        return !i->is_narrow;
    case 0x8b:
        *ret_reads = rm;
        *ret_writes = reg;
        return !i->is_narrow;
    case 0xc7:
        *ret_reads = 0;
        *ret_writes = rm;
        return !i->is_narrow;
    default:
        return false;
    }
}

bool cairn_x86_64_repeat_add(struct cairn_x86_64_repeat *run, const struct cairn_x86_64_insn *i)
{
    const uint32_t may_write = bit(CAIRN_RAX) | bit(R10) | bit(R11);
    uint32_t reads, writes;
    if (cairn_x86_64_insn_is_bad(i) || !effect_of(i, &reads, &writes) || writes & ~may_write)
        return false;
    /* What was written before in the run is written again with the same value. */
    const uint32_t from_before = run->reads | (reads & ~run->writes);
    const uint32_t all = run->writes | writes;
    if (from_before & all)
        return false;
    *run = (struct cairn_x86_64_repeat){from_before, all};
    return true;
}

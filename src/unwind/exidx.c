/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/exidx.h"

enum { SP = 13, LR = 14, PC = 15, N_REGS = 16 };
enum { LARGEST_ADD = 1 << 30 }; /* bytes; no stack is larger */

/* Where a program stands: all places are counted from the value of `base`. */
struct machine {
    struct cairn_span words; /* its instructions, the first in a word's top byte */
    bool swap;
    size_t pos;
    unsigned base; /* the register that vsp was set from: sp, until it says otherwise */
    int64_t vsp;
    uint32_t popped; /* bit per register */
    int64_t place[N_REGS];
    enum cairn_exidx_result result;
    bool finished;
};

static bool more(const struct machine *m)
{
    return m->pos < m->words.size;
}

/* The next byte of the program; an instruction cut short by its end is damage. */
static uint8_t next(struct machine *m)
{
    if (!more(m)) {
        m->result = CAIRN_EXIDX_DAMAGED;
        return 0;
    }
    uint32_t word = cairn_exidx_word(m->words, m->pos & ~(size_t)3, m->swap);
    return (uint8_t)(word >> (24 - 8 * (m->pos++ & 3)));
}

static void pop(struct machine *m, uint32_t mask)
{
    for (unsigned reg = 0; reg < N_REGS; reg++)
        if (mask & 1u << reg) {
            m->place[reg] = m->vsp;
            m->vsp += 4;
        }
    m->popped |= mask;
    if (mask & 1u << SP)
        m->result = CAIRN_EXIDX_ODD;
}

static void set_vsp(struct machine *m, unsigned reg)
{
    if (reg == SP || reg == PC)
        m->result = CAIRN_EXIDX_DAMAGED; /* reserved */
    else if (m->popped)
        m->result = CAIRN_EXIDX_ODD; /* what was popped lies relative to another register */
    m->base = reg;
    m->vsp = 0;
}

static void add_uleb(struct machine *m)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint8_t byte = next(m);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            m->vsp += (int64_t)(0x204 + (value << 2));
            return;
        }
    }
    m->result = CAIRN_EXIDX_DAMAGED;
}

/* 4 bytes of each register in a mask of four, which is neither empty nor larger. */
static uint32_t mask_of_four(struct machine *m)
{
    uint8_t mask = next(m);
    if (mask == 0 || mask > 15)
        m->result = CAIRN_EXIDX_DAMAGED;
    return mask & 15u;
}

/* 1011xxxx: what is neither the common pops nor the later coprocessors'. */
static void run_b(struct machine *m, uint8_t op)
{
    if (op >= 0xb8) /* d8.., as fstmfdx stores them: a word more */
        m->vsp += 8 * ((op & 7) + 1) + 4;
    else if (op == 0xb0)
        m->finished = true;
    else if (op == 0xb1)
        pop(m, mask_of_four(m));
    else if (op == 0xb2)
        add_uleb(m);
    else if (op == 0xb3)
        m->vsp += 8 * ((next(m) & 15) + 1) + 4;
    else if (op == 0xb4) /* the return address's authentication code */
        m->vsp += 4;
    else if (op != 0xb5) /* that vsp is the modifier of the code: moves nothing */
        m->result = CAIRN_EXIDX_DAMAGED;
}

/* 110xxxxx: registers of coprocessors; only their size counts. */
static void run_c(struct machine *m, uint8_t op)
{
    if (op <= 0xc5 || (op >= 0xd0 && op <= 0xd7)) /* wr10.. | d8.. by vpush */
        m->vsp += 8 * ((op & 7) + 1);
    else if (op == 0xc6 || op == 0xc8 || op == 0xc9) /* wr | d16.. | d0.. */
        m->vsp += 8 * ((next(m) & 15) + 1);
    else if (op == 0xc7) /* wcgr */
        m->vsp += 4 * __builtin_popcount(mask_of_four(m));
    else
        m->result = CAIRN_EXIDX_DAMAGED;
}

/* IHI 0038B, 9.3, table 4; b4 and b5 came with pointer authentication. */
static void run_one(struct machine *m)
{
    uint8_t op = next(m);
    if (op < 0x40) {
        m->vsp += (op << 2) + 4;
    } else if (op < 0x80) {
        m->vsp -= ((op & 0x3f) << 2) + 4;
    } else if (op < 0x90) {
        uint32_t mask = (uint32_t)(op & 15) << 8 | next(m);
        if (mask)
            pop(m, mask << 4);
        else if (m->result == CAIRN_EXIDX_ROW)
            m->result = CAIRN_EXIDX_REFUSES;
    } else if (op < 0xa0) {
        set_vsp(m, op & 15);
    } else if (op < 0xb0) {
        uint32_t mask = (2u << (op & 7)) - 1;
        pop(m, mask << 4 | (op & 8 ? 1u << LR : 0));
    } else if (op < 0xc0) {
        run_b(m, op);
    } else {
        run_c(m, op);
    }
    if (m->vsp > LARGEST_ADD || m->vsp < -LARGEST_ADD)
        m->result = CAIRN_EXIDX_DAMAGED;
}

/* An entry of .ARM.extab: where its instructions begin and end. */
static bool open_extab(const struct cairn_exidx *exidx, uint32_t vaddr, struct machine *m)
{
    struct cairn_span slice;
    uint64_t off = vaddr - exidx->extab_vaddr; /* one before it is beyond its end, too */
    if (vaddr % 4 || !cairn_span_slice(exidx->extab, off, 4, &slice))
        return false;
    uint32_t word = cairn_exidx_word(slice, 0, exidx->swap);
    size_t more_words = 0, first = 1;
    if (!(word >> 31)) { /* a personality of its own; the next word has the count */
        off += 4;
        if (!cairn_span_slice(exidx->extab, off, 4, &slice))
            return false;
        more_words = cairn_exidx_word(slice, 0, exidx->swap) >> 24;
    } else if (word >> 24 == 0x81 || word >> 24 == 0x82) {
        more_words = word >> 16 & 0xff;
        first = 2;
    } else if (word >> 24 != 0x80) {
        return false;
    }
    m->pos = first;
    return cairn_span_slice(exidx->extab, off, 4 * (1 + more_words), &m->words);
}

static void finish_row(const struct machine *m, struct cairn_cfi_row *row)
{
    memset(row->regs, 0, sizeof row->regs);
    row->cfa = (struct cairn_cfi_rule){
        .where = CAIRN_CFI_IN_REG, .reg = (uint8_t)m->base, .value = m->vsp};
    for (unsigned reg = 0; reg < PC; reg++)
        if (m->popped & 1u << reg) {
            row->regs[reg].where = CAIRN_CFI_AT_CFA;
            row->regs[reg].value = m->place[reg] - m->vsp;
        }
    if (m->popped & 1u << PC) {
        row->regs[LR].where = CAIRN_CFI_AT_CFA;
        row->regs[LR].value = m->place[PC] - m->vsp;
    }
}

enum cairn_exidx_result cairn_exidx_row(const struct cairn_exidx *exidx, size_t i,
                                        struct cairn_cfi_row *ret_row)
{
    size_t off = i * CAIRN_EXIDX_ENTRY_BYTES + 4;
    uint32_t what = cairn_exidx_word(exidx->index, off, exidx->swap);
    uint64_t from = cairn_exidx_start(exidx, i), to = 1ull << 32;
    struct machine m = {.base = SP, .swap = exidx->swap};
    if (i + 1 < cairn_exidx_count(exidx))
        to = cairn_exidx_start(exidx, i + 1);
    if (to < from)
        return CAIRN_EXIDX_DAMAGED;
    if (what == CAIRN_EXIDX_WHAT_CANTUNWIND)
        return CAIRN_EXIDX_CANTUNWIND;
    if (what >> 31) {
        m.words = (struct cairn_span){exidx->index.data + off, 4};
        m.pos = 1;
        if (what >> 24 != 0x80) /* only the short form fits */
            return CAIRN_EXIDX_DAMAGED;
    } else if (!open_extab(exidx, cairn_exidx_target(what, exidx->index_vaddr + (uint32_t)off),
                           &m)) {
        return CAIRN_EXIDX_DAMAGED;
    }
    while (more(&m) && !m.finished && m.result == CAIRN_EXIDX_ROW)
        run_one(&m);
    if (m.result == CAIRN_EXIDX_ROW) {
        ret_row->from = from;
        ret_row->to = to;
        finish_row(&m, ret_row);
    }
    return m.result;
}

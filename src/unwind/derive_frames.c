/* SPDX-License-Identifier: MIT */
#include "unwind/derive_flow.h"

/* Registers are DWARF's. */
enum { SP = 7, FP = 6, RA = 16 };

/* Byte codes of DWARF 5, 7.24. */
enum {
    NOP,
    ADVANCE_LOC1 = 0x02,
    ADVANCE_LOC4 = 0x04,
    UNDEFINED = 0x07,
    DEF_CFA = 0x0c,
    ADVANCE_LOC = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0
};

/* What a row says. */
struct row {
    uint8_t cfa_reg;
    bool is_first; /* nobody has called: the return address is undefined */
    int32_t cfa;
    int32_t regs[CAIRN_DERIVE_KEPT]; /* CFA - where it lies; 0: it has it; CAIRN_DERIVE_UNKNOWN */
};

static const struct row first_row = {.cfa_reg = SP, .cfa = CAIRN_DERIVE_WORD};

/* False: there is nothing to say. */
static bool row_of(const struct cairn_deriving *d, size_t byte, struct row *ret_row)
{
    const struct cairn_derive_state *state = &d->known[d->states[byte] - 1];
    bool by_sp = state->sp != CAIRN_DERIVE_UNKNOWN;
    *ret_row = (struct row){.cfa_reg = by_sp ? SP : FP, .cfa = by_sp ? state->sp : state->fp};
    if (d->marks[byte] & CAIRN_DERIVE_ENDS_THREAD) {
        *ret_row = first_row;
        ret_row->is_first = true;
        return true;
    }
    for (unsigned i = 0; i < CAIRN_DERIVE_KEPT; i++) {
        int32_t at = state->saved[i];
        ret_row->regs[i] = at && at % CAIRN_DERIVE_WORD == 0 ? at
                           : !at && state->intact >> i & 1   ? 0
                                                             : CAIRN_DERIVE_UNKNOWN;
    }
    return ret_row->cfa != CAIRN_DERIVE_UNKNOWN && ret_row->cfa >= CAIRN_DERIVE_WORD;
}

static bool is_same_row(const struct row *a, const struct row *b)
{
    return a->cfa_reg == b->cfa_reg && a->cfa == b->cfa && a->is_first == b->is_first &&
           memcmp(a->regs, b->regs, sizeof a->regs) == 0;
}

static void put_advance(struct cairn_buffer *b, uint64_t by)
{
    if (by == 0)
        return;
    if (by < ADVANCE_LOC) {
        cairn_buffer_char(b, (char)(ADVANCE_LOC | by));
        return;
    }
    cairn_buffer_char(b, by < 256 ? ADVANCE_LOC1 : ADVANCE_LOC4);
    cairn_buffer_le(b, by, by < 256 ? 1 : 4);
}

static void put_register(struct cairn_buffer *b, unsigned reg, int32_t at)
{
    if (at == CAIRN_DERIVE_UNKNOWN) {
        cairn_buffer_char(b, UNDEFINED);
        cairn_buffer_uleb(b, reg);
    } else {
        cairn_buffer_char(b, (char)((at ? OFFSET : RESTORE) | reg));
        if (at)
            cairn_buffer_uleb(b, (uint64_t)(at / CAIRN_DERIVE_WORD));
    }
}

static void put_row(struct cairn_buffer *b, const struct row *before, const struct row *row)
{
    if (row->cfa_reg != before->cfa_reg || row->cfa != before->cfa) {
        cairn_buffer_char(b, DEF_CFA);
        cairn_buffer_uleb(b, row->cfa_reg);
        cairn_buffer_uleb(b, (uint64_t)row->cfa);
    }
    for (unsigned i = 0; i < CAIRN_DERIVE_KEPT; i++)
        if (row->regs[i] != before->regs[i])
            put_register(b, cairn_derive_x86_64_kept[i], row->regs[i]);
    if (row->is_first && !before->is_first)
        put_register(b, RA, CAIRN_DERIVE_UNKNOWN);
    else if (!row->is_first && before->is_first)
        put_register(b, RA, 0);
}

static void put_cie(struct cairn_buffer *b)
{
    static const uint8_t rest[] = {
        1,           0,        /* version, augmentation "" */
        1,           0x78, RA, /* code by 1, data by -8, the return address */
        DEF_CFA,     SP,   CAIRN_DERIVE_WORD,
        OFFSET | RA, 1,    NOP,
        NOP,         NOP,  NOP,
        NOP,
    };
    cairn_buffer_le(b, 4 + sizeof rest, 4);
    cairn_buffer_le(b, UINT32_MAX, 4);
    cairn_buffer_add(b, rest, sizeof rest);
}

static void put_fde(struct cairn_buffer *b, size_t cie, uint64_t from, uint64_t to,
                    const struct cairn_buffer *program)
{
    cairn_buffer_le(b, 4 + 8 + 8 + program->size, 4);
    cairn_buffer_le(b, cie, 4);
    cairn_buffer_le(b, from, 8);
    cairn_buffer_le(b, to - from, 8);
    cairn_buffer_add(b, program->data, program->size);
}

/* From `at` on as far as there are rows without a hole; returns where that ends. */
static uint64_t put_rows(const struct cairn_deriving *d, const struct cairn_derive_code *gap,
                         uint64_t at, uint64_t end, struct cairn_buffer *program)
{
    struct row before = first_row, row;
    uint64_t told = at;
    while (at < end && d->states[cairn_derive_byte_of(gap, at)] &&
           row_of(d, cairn_derive_byte_of(gap, at), &row)) {
        struct cairn_derive_state state = cairn_derive_entry;
        struct cairn_derive_insn insn;
        if (!is_same_row(&row, &before)) {
            put_advance(program, at - told);
            put_row(program, &before, &row);
            told = at;
            before = row;
        }
        cairn_derive_x86_64(cairn_derive_code_from(gap, at), at, &state, &insn);
        at += insn.size ? insn.size : 1;
    }
    return at;
}

/* A guess must have been seen to return. */
static bool is_sound(const struct cairn_deriving *d, const struct cairn_derive_code *gap,
                     uint64_t from, uint64_t to)
{
    unsigned marks = 0;
    for (uint64_t at = from; at < to; at++)
        marks |= d->marks[cairn_derive_byte_of(gap, at)];
    return !(marks & CAIRN_DERIVE_IS_BAD) &&
           (!(marks & CAIRN_DERIVE_GUESSED) || marks & CAIRN_DERIVE_RETURNS);
}

static void put_function(const struct cairn_deriving *d, const struct cairn_derive_code *gap,
                         uint64_t from, uint64_t to, size_t cie, struct cairn_buffer *out)
{
    struct cairn_buffer program = {0};
    for (uint64_t at = from; at < to;) {
        cairn_buffer_clear(&program);
        uint64_t end = put_rows(d, gap, at, to, &program);
        if (end > at)
            put_fde(out, cie, at, end, &program);
        at = end > at ? end : at + 1;
    }
    cairn_buffer_done(&program);
}

void cairn_derive_put(const struct cairn_deriving *d, struct cairn_buffer *out)
{
    size_t cie = out->size;
    put_cie(out);
    for (size_t g = 0; g < d->n_gaps; g++) {
        const struct cairn_derive_code *gap = &d->gaps[g];
        for (uint64_t from = gap->from, to; from < gap->to; from = to) {
            to = from + 1;
            while (to < gap->to && !(d->marks[cairn_derive_byte_of(gap, to)] & CAIRN_DERIVE_BEGINS))
                to++;
            if (is_sound(d, gap, from, to))
                put_function(d, gap, from, to, cie, out);
        }
    }
}

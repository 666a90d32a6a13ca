/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Moved code of aarch64 (Arm ARM, DDI 0487). What is rewritten:
 *
 *     b                      b, or ldr x17, address; br x17
 *     b.cond, cbz, tbz       the same in reach, else the opposite condition over a jump
 *     bl, blr                x30 from the pool: the original return address; then a jump
 *     adr, adrp              the same in reach, else their register from the pool
 *     ldr literal            the same in reach, else by its address, in its own register or x17
 *
 * br takes x16 or x17 because a `bti c` lets only these in. One of them is used that no moved
 * instruction names: at an entry both are free, as veneers use them (AAPCS64, 6.1.1).
 * The pool of addresses is behind the last jump.
 */
#include "code/insn_aarch64.h"
#include "hook/move.h"

enum {
    POOL_MAX = 2 * CAIRN_HOOK_INSNS_MAX + 2,
    FIXUPS_MAX = CAIRN_HOOK_INSNS_MAX,
    X16 = 16,
    X30 = 30,
    NO_REG = 31,
    ADDRESS_BYTES = 8
};
static const uint32_t b_word = 0x14000000, br_word = 0xd61f0000, ldr_x_literal = 0x58000000;

/* An ldr of the copy whose literal is in the pool. */
struct pooled {
    uint16_t at;
    uint64_t value;
};

/* A branch of the copy that leads into the copy. */
struct fixup {
    uint16_t at;
    uint8_t from_off;
    enum cairn_aarch64_kind kind;
};

struct mover {
    const struct cairn_hook_piece *piece;
    struct cairn_hook_copy *copy;
    size_t taken;
    unsigned scratch; /* x16, x17, or NO_REG: both are named */
    struct pooled pool[POOL_MAX];
    struct fixup fixups[FIXUPS_MAX];
    size_t n_pool, n_fixups;
};

static bool refuse(struct mover *m, enum cairn_hook_reason reason, uint64_t va)
{
    return cairn_hook_copy_refuse(m->copy, reason, va);
}

static uint64_t here(const struct mover *m)
{
    return m->piece->to_va + m->copy->n_code;
}

static bool is_inside(const struct mover *m, uint64_t va)
{
    return va - m->piece->from_va < m->taken;
}

static void put_word(uint8_t *at, uint32_t word)
{
    for (unsigned b = 0; b < CAIRN_A64_BYTES; b++)
        at[b] = (uint8_t)(word >> 8 * b);
}

static bool add(struct mover *m, uint32_t word)
{
    uint8_t bytes[CAIRN_A64_BYTES];
    put_word(bytes, word);
    return cairn_hook_copy_add(m->copy, bytes, sizeof bytes);
}

/* ldr xREG, =value */
static bool add_address(struct mover *m, unsigned reg, uint64_t value)
{
    if (m->n_pool >= POOL_MAX)
        return refuse(m, CAIRN_HOOK_TOO_LARGE, 0);
    m->pool[m->n_pool++] = (struct pooled){(uint16_t)m->copy->n_code, value};
    return add(m, ldr_x_literal | reg);
}

static bool add_far_jump(struct mover *m, uint64_t to, uint64_t va)
{
    if (m->scratch == NO_REG)
        return refuse(m, CAIRN_HOOK_NO_REGISTER, va);
    return add_address(m, m->scratch, to) && add(m, br_word | m->scratch << 5);
}

/* `word` as a branch to `to`, if that is in reach; what leads inside is settled later. */
static bool try_branch(struct mover *m, const struct cairn_aarch64_insn *i, bool *ret_done)
{
    uint32_t word = i->word;
    *ret_done = true;
    if (is_inside(m, i->to)) {
        if (m->n_fixups >= FIXUPS_MAX)
            return refuse(m, CAIRN_HOOK_TOO_LARGE, 0);
        m->fixups[m->n_fixups++] = (struct fixup){(uint16_t)m->copy->n_code,
                                                  (uint8_t)(i->to - m->piece->from_va), i->kind};
        return add(m, word);
    }
    if (cairn_aarch64_insn_aim(word, i->kind, here(m), i->to, &word))
        return add(m, word);
    *ret_done = false;
    return true;
}

static bool add_jump(struct mover *m, uint64_t to, uint64_t va)
{
    const struct cairn_aarch64_insn jump = {b_word, CAIRN_A64_JUMP, to};
    bool is_done;
    return try_branch(m, &jump, &is_done) && (is_done || add_far_jump(m, to, va));
}

/* The opposite condition leads over the jump. */
static bool move_condition(struct mover *m, const struct cairn_aarch64_insn *i, uint64_t va)
{
    bool is_done;
    uint32_t over = i->kind == CAIRN_A64_CONDITION ? i->word ^ 1 : i->word ^ 1u << 24;
    if (!try_branch(m, i, &is_done) || is_done)
        return is_done && !m->copy->reason;
    if (i->kind == CAIRN_A64_CONDITION && (i->word & 14) == 14) /* always */
        return add_jump(m, i->to, va);
    const size_t at = m->copy->n_code;
    if (!add(m, over) || !add_jump(m, i->to, va))
        return false;
    (void)cairn_aarch64_insn_aim(over, i->kind, m->piece->to_va + at, here(m), &over);
    put_word(m->copy->code + at, over);
    return true;
}

/* Only the last instruction may call: the callee returns to the original. */
static bool check_call(struct mover *m, uint64_t va)
{
    if (m->piece->has_shadow_stack)
        return refuse(m, CAIRN_HOOK_CALLS, va);
    if (va + CAIRN_A64_BYTES < m->piece->from_va + m->taken)
        return refuse(m, CAIRN_HOOK_RETURNS_IN, va);
    return true;
}

static bool move_call(struct mover *m, const struct cairn_aarch64_insn *i, uint64_t va)
{
    uint32_t jump;
    if (!check_call(m, va))
        return false;
    if (is_inside(m, i->to) && i->to != m->piece->from_va)
        return refuse(m, CAIRN_HOOK_BRANCHES_IN, va);
    if (!add_address(m, X30, va + CAIRN_A64_BYTES))
        return false;
    /* A call of the function itself goes to its entry, and not to the copy of it. */
    if (cairn_aarch64_insn_aim(b_word, CAIRN_A64_JUMP, here(m), i->to, &jump))
        return add(m, jump);
    return add_far_jump(m, i->to, va);
}

/* mov scratch, xN; ldr x30, =return address; br scratch */
static bool move_call_by(struct mover *m, const struct cairn_aarch64_insn *i, uint64_t va)
{
    const uint32_t reg = i->word >> 5 & 31, mov = 0xaa0003e0;
    if (!check_call(m, va))
        return false;
    if (reg == X16 || reg == X16 + 1)
        return add_address(m, X30, va + CAIRN_A64_BYTES) && add(m, br_word | reg << 5);
    if (m->scratch == NO_REG)
        return refuse(m, CAIRN_HOOK_NO_REGISTER, va);
    return add(m, mov | reg << 16 | m->scratch) && add_address(m, X30, va + CAIRN_A64_BYTES) &&
           add(m, br_word | m->scratch << 5);
}

/* The function's own address stays what it was; code as data would be seen changed. */
static bool check_data(struct mover *m, const struct cairn_aarch64_insn *i, uint64_t va)
{
    const bool is_address = i->kind != CAIRN_A64_LITERAL;
    if (i->kind != CAIRN_A64_ADRP && is_inside(m, i->to) &&
        !(is_address && i->to == m->piece->from_va))
        return refuse(m, CAIRN_HOOK_BRANCHES_IN, va);
    return true;
}

static bool move_address(struct mover *m, const struct cairn_aarch64_insn *i, uint64_t va)
{
    uint32_t word;
    if (!check_data(m, i, va))
        return false;
    if (cairn_aarch64_insn_aim(i->word, i->kind, here(m), i->to, &word))
        return add(m, word);
    return add_address(m, i->word & 31, i->to);
}

/* The load by a register that has the address, without distance (C4.1.88, unsigned immediate). */
static uint32_t load_by(const struct cairn_aarch64_insn *i, unsigned reg)
{
    static const uint32_t general[] = {0xb9400000, 0xf9400000, 0xb9800000, 0xf9800000};
    static const uint32_t vector[] = {0xbd400000, 0xfd400000, 0x3dc00000, 0};
    const unsigned opc = i->word >> 30;
    return (i->word >> 26 & 1 ? vector : general)[opc] | reg << 5 | (i->word & 31);
}

static bool move_literal(struct mover *m, const struct cairn_aarch64_insn *i, uint64_t va)
{
    const bool is_general = !(i->word >> 26 & 1) && i->word >> 30 != 3; /* not prfm */
    const unsigned reg = is_general ? i->word & 31 : m->scratch;
    uint32_t word;
    if (!check_data(m, i, va))
        return false;
    if (cairn_aarch64_insn_aim(i->word, i->kind, here(m), i->to, &word))
        return add(m, word);
    if (reg == NO_REG) /* a load into xzr is one into no register that could hold the address */
        return refuse(m, CAIRN_HOOK_NO_REGISTER, va);
    return add_address(m, reg, i->to) && add(m, load_by(i, reg));
}

static bool move_one(struct mover *m, const struct cairn_aarch64_insn *i, uint64_t va)
{
    switch (i->kind) {
    case CAIRN_A64_PLAIN:
    case CAIRN_A64_JUMP_BY:
        return add(m, i->word);
    case CAIRN_A64_JUMP:
        return add_jump(m, i->to, va);
    case CAIRN_A64_CALL:
        return move_call(m, i, va);
    case CAIRN_A64_CALL_BY:
        return move_call_by(m, i, va);
    case CAIRN_A64_CALL_AUTH:
        return refuse(m, CAIRN_HOOK_NO_REGISTER, va);
    case CAIRN_A64_CONDITION:
    case CAIRN_A64_ZERO:
    case CAIRN_A64_BIT:
        return move_condition(m, i, va);
    case CAIRN_A64_ADR:
    case CAIRN_A64_ADRP:
        return move_address(m, i, va);
    case CAIRN_A64_LITERAL:
        return move_literal(m, i, va);
    case CAIRN_A64_EXCLUSIVE:
        return refuse(m, CAIRN_HOOK_EXCLUSIVE, va);
    case CAIRN_A64_READS_PC:
        return refuse(m, CAIRN_HOOK_READS_PC, va);
    default:
        return refuse(m, CAIRN_HOOK_NOT_CODE, va);
    }
}

static void choose_scratch(struct mover *m)
{
    m->scratch = NO_REG;
    for (unsigned reg = X16; reg <= X16 + 1; reg++) {
        bool is_free = true;
        for (size_t off = 0; off < m->taken; off += CAIRN_A64_BYTES)
            is_free &= !cairn_aarch64_insn_names(cairn_aarch64_word(m->piece->code + off), reg);
        if (is_free)
            m->scratch = reg; /* x17, where both are */
    }
}

static bool resolve_fixups(struct mover *m)
{
    for (size_t i = 0; i < m->n_fixups; i++) {
        const struct fixup *f = &m->fixups[i];
        uint8_t *at = m->copy->code + f->at;
        uint32_t word = cairn_aarch64_word(at);
        const uint64_t va = m->piece->from_va + f->from_off;
        if (f->from_off % CAIRN_A64_BYTES)
            return refuse(m, CAIRN_HOOK_BRANCHES_IN, va);
        const uint16_t to = m->copy->to_off[f->from_off / CAIRN_A64_BYTES];
        if (!cairn_aarch64_insn_aim(word, f->kind, f->at, to, &word))
            return refuse(m, CAIRN_HOOK_OUT_OF_REACH, va);
        put_word(at, word);
    }
    return true;
}

static bool add_pool(struct mover *m)
{
    if (m->n_pool && here(m) % ADDRESS_BYTES && !add(m, 0))
        return false;
    for (size_t i = 0; i < m->n_pool; i++) {
        uint8_t *at = m->copy->code + m->pool[i].at;
        uint32_t word = cairn_aarch64_word(at);
        if (!cairn_aarch64_insn_aim(word, CAIRN_A64_LITERAL, m->pool[i].at, m->copy->n_code, &word))
            return refuse(m, CAIRN_HOOK_OUT_OF_REACH, 0);
        put_word(at, word);
        if (!add(m, (uint32_t)m->pool[i].value) || !add(m, (uint32_t)(m->pool[i].value >> 32)))
            return false;
    }
    return true;
}

static bool goes_on(enum cairn_aarch64_kind kind)
{
    return kind != CAIRN_A64_JUMP && kind != CAIRN_A64_JUMP_BY && kind != CAIRN_A64_CALL &&
           kind != CAIRN_A64_CALL_BY;
}

bool cairn_hook_move_aarch64(const struct cairn_hook_piece *piece, struct cairn_hook_copy *ret_copy)
{
    struct mover m = {.piece = piece, .copy = ret_copy};
    struct cairn_aarch64_insn i = {0};
    m.taken = (piece->least + CAIRN_A64_BYTES - 1) / CAIRN_A64_BYTES * CAIRN_A64_BYTES;
    if (piece->n_code < m.taken)
        return refuse(&m, CAIRN_HOOK_CUT_OFF, piece->from_va + piece->n_code);
    choose_scratch(&m);
    for (size_t off = 0; off < m.taken; off += CAIRN_A64_BYTES) {
        const uint64_t va = piece->from_va + off;
        cairn_aarch64_insn_take(cairn_aarch64_word(piece->code + off), va, &i);
        if (!cairn_hook_copy_begin(ret_copy, off) || !move_one(&m, &i, va))
            return false;
    }
    ret_copy->taken = m.taken;
    ret_copy->from_off[ret_copy->n_insns] = (uint8_t)m.taken;
    ret_copy->to_off[ret_copy->n_insns] = (uint16_t)ret_copy->n_code;
    const uint64_t back = piece->from_va + m.taken;
    return (!goes_on(i.kind) || add_jump(&m, back, back - CAIRN_A64_BYTES)) && resolve_fixups(&m) &&
           add_pool(&m);
}

size_t cairn_hook_far_jump_aarch64(uint64_t target_va, uint8_t *ret_code)
{
    put_word(ret_code, ldr_x_literal | (8 / CAIRN_A64_BYTES) << 5 | (X16 + 1));
    put_word(ret_code + 4, br_word | (X16 + 1) << 5);
    put_word(ret_code + 8, (uint32_t)target_va);
    put_word(ret_code + 12, (uint32_t)(target_va >> 32));
    return 2 * CAIRN_A64_BYTES + ADDRESS_BYTES;
}

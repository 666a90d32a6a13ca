/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/arm_path.h"

void cairn_arm_path_begin(struct cairn_arm_path *p)
{
    const struct cairn_arm_code *code = p->code;
    p->ip = code->ip;
    p->is_thumb = code->is_thumb;
    p->n_conditional = p->n_kept = 0;
    p->choice = CAIRN_ARM_OPEN;
    p->has_choice = false;
    p->exit_ip = p->literal = 0;
    for (unsigned reg = 0; reg < CAIRN_ARM_REGS; reg++)
        p->regs[reg] = (struct cairn_arm_value){.kind = CAIRN_ARM_START, .base = (uint8_t)reg};
    p->regs[CAIRN_ARM_PC].kind = CAIRN_ARM_UNKNOWN;
    if (!code->is_leaf)
        cairn_arm_path_forget(p, 0xf | 1u << CAIRN_ARM_R12 | 1u << CAIRN_ARM_LR);
}

bool cairn_arm_path_read(struct cairn_arm_path *p, uint32_t va, uint8_t *to, uint32_t size)
{
    const struct cairn_memory *memory = p->code->memory;
    uint32_t window = va & ~(uint32_t)(CAIRN_ARM_WINDOW - 1);
    if (va + size > window + CAIRN_ARM_WINDOW || va + size < va)
        return memory->read(memory->ctx, va, to, size);
    if (!p->has_window || p->window_va != window) {
        p->has_window = memory->read(memory->ctx, window, p->window, CAIRN_ARM_WINDOW);
        p->window_va = window;
    }
    if (!p->has_window)
        return memory->read(memory->ctx, va, to, size);
    memcpy(to, p->window + (va - window), size);
    return true;
}

bool cairn_arm_path_insn(struct cairn_arm_path *p, struct cairn_arm_insn *ret_insn)
{
    uint8_t bytes[CAIRN_ARM_INSN_BYTES] = {0};
    if (!cairn_arm_path_read(p, p->ip, bytes, p->is_thumb ? 2 : 4))
        return false;
    if (!p->is_thumb) {
        *ret_insn = cairn_arm_decode_a32(bytes, p->ip);
        return true;
    }
    if (bytes[1] >= 0xe8 && !cairn_arm_path_read(p, p->ip + 2, bytes + 2, 2))
        return false;
    *ret_insn = cairn_arm_decode_t32(bytes, p->ip);
    return true;
}

struct cairn_arm_value cairn_arm_value_plus(struct cairn_arm_value value, int32_t off)
{
    if (off && value.kind == CAIRN_ARM_SLOT)
        return (struct cairn_arm_value){.kind = CAIRN_ARM_UNKNOWN};
    value.off = (int32_t)((uint32_t)value.off + (uint32_t)off);
    return value;
}

static bool is_same(struct cairn_arm_value a, struct cairn_arm_value b)
{
    return a.kind == b.kind && a.base == b.base && a.off == b.off;
}

static struct cairn_arm_kept *find_kept(struct cairn_arm_path *p, struct cairn_arm_value place)
{
    for (unsigned i = 0; i < p->n_kept; i++)
        if (p->kept[i].base == place.base && p->kept[i].off == place.off)
            return &p->kept[i];
    return NULL;
}

struct cairn_arm_value cairn_arm_path_at(struct cairn_arm_path *p, struct cairn_arm_value place)
{
    if (place.kind != CAIRN_ARM_START)
        return (struct cairn_arm_value){.kind = CAIRN_ARM_UNKNOWN};
    const struct cairn_arm_kept *kept = find_kept(p, place);
    return kept ? kept->value
                : (struct cairn_arm_value){
                      .kind = CAIRN_ARM_SLOT, .base = place.base, .off = place.off};
}

/* Worth a place of ours are the link register, and what callers may want back. */
static bool store(struct cairn_arm_path *p, struct cairn_arm_value place, unsigned reg,
                  struct cairn_arm_value value)
{
    bool is_known = value.kind == CAIRN_ARM_START || value.kind == CAIRN_ARM_SLOT;
    if (place.kind != CAIRN_ARM_START)
        return true;
    struct cairn_arm_kept *kept = find_kept(p, place);
    if (!kept) {
        if (reg != CAIRN_ARM_LR && (!is_known || reg <= CAIRN_ARM_R3 || reg == CAIRN_ARM_R12))
            return true;
        if (p->n_kept == CAIRN_ARM_KEPT)
            return false;
        kept = &p->kept[p->n_kept++];
        kept->base = place.base;
        kept->off = place.off;
    }
    kept->value = value;
    return true;
}

/* The caller's value of a register, as a row has it. No function saves one in its caller's frame:
 * what comes from there is an argument. */
static struct cairn_cfi_rule rule_of(struct cairn_arm_value value, unsigned reg,
                                     struct cairn_arm_value cfa)
{
    struct cairn_cfi_rule rule = {.where = CAIRN_CFI_UNDEFINED};
    if (value.kind == CAIRN_ARM_START && value.base == reg && value.off == 0)
        rule.where = CAIRN_CFI_SAME;
    if (value.kind == CAIRN_ARM_SLOT && value.base == cfa.base && value.off < cfa.off) {
        rule.where = CAIRN_CFI_AT_CFA;
        rule.value = (int64_t)value.off - cfa.off;
    }
    return rule;
}

void cairn_arm_path_forget(struct cairn_arm_path *p, uint32_t mask)
{
    for (unsigned reg = 0; reg < CAIRN_ARM_REGS; reg++)
        if (mask & 1u << reg && p->regs[reg].kind != CAIRN_ARM_PLACE)
            p->regs[reg].kind = CAIRN_ARM_UNKNOWN;
}

bool cairn_arm_path_store(struct cairn_arm_path *p, const struct cairn_arm_insn *insn,
                          bool is_certain)
{
    struct cairn_arm_value place = cairn_arm_value_plus(p->regs[insn->base], insn->off);
    for (unsigned reg = 0; reg < CAIRN_ARM_REGS; reg++) {
        if (!(insn->mask & 1u << reg))
            continue;
        struct cairn_arm_value value = p->regs[reg];
        if (!is_certain && !is_same(cairn_arm_path_at(p, place), value))
            value.kind = CAIRN_ARM_UNKNOWN;
        if (!store(p, place, reg, value))
            return false;
        place = cairn_arm_value_plus(place, 4);
    }
    return true;
}

/* Constants lie among the code. Behind a call that never returns come those of its function. */
static bool load_literal(struct cairn_arm_path *p, const struct cairn_arm_insn *insn)
{
    uint8_t word[4];
    uint32_t ip = p->ip - insn->size, va = p->is_thumb ? (ip + 4) & ~3u : ip + 8;
    va += (uint32_t)insn->off;
    if (insn->base != CAIRN_ARM_PC || __builtin_popcount(insn->mask) != 1 ||
        !cairn_arm_path_read(p, va, word, sizeof word))
        return false;
    if (va > ip && (va < p->literal || p->literal <= ip))
        p->literal = va;
    uint32_t value =
        word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16 | (uint32_t)word[3] << 24;
    p->regs[__builtin_ctz(insn->mask)] =
        (struct cairn_arm_value){.kind = CAIRN_ARM_CONSTANT, .off = (int32_t)value};
    return true;
}

void cairn_arm_path_load(struct cairn_arm_path *p, const struct cairn_arm_insn *insn)
{
    if (load_literal(p, insn))
        return;
    struct cairn_arm_value place = cairn_arm_value_plus(p->regs[insn->base], insn->off);
    p->regs[insn->base] = cairn_arm_value_plus(p->regs[insn->base], insn->back);
    for (unsigned reg = 0; reg < CAIRN_ARM_REGS; reg++)
        if (insn->mask & 1u << reg) {
            p->regs[reg] = cairn_arm_path_at(p, place);
            place = cairn_arm_value_plus(place, 4);
        }
}

void cairn_arm_path_compute(struct cairn_arm_path *p, const struct cairn_arm_insn *insn,
                            bool is_certain)
{
    struct cairn_arm_value value = {.kind = CAIRN_ARM_CONSTANT, .off = insn->off};
    if (insn->op == CAIRN_ARM_ADD)
        value = insn->base == CAIRN_ARM_PC ? (struct cairn_arm_value){.kind = CAIRN_ARM_PLACE}
                                           : cairn_arm_value_plus(p->regs[insn->base], insn->off);
    if (!is_certain && !is_same(value, p->regs[insn->d]))
        value.kind = CAIRN_ARM_UNKNOWN;
    p->regs[insn->d] = value;
}

bool cairn_arm_path_leave(struct cairn_arm_path *p, struct cairn_arm_value cfa,
                          struct cairn_arm_value ra, const struct cairn_arm_value *regs)
{
    struct cairn_cfi_rule ra_rule = rule_of(ra, CAIRN_ARM_LR, cfa);
    if (cfa.kind != CAIRN_ARM_START || ra_rule.where == CAIRN_CFI_UNDEFINED)
        return false;
    memset(p->row, 0, sizeof *p->row);
    p->row->from = p->code->ip;
    p->row->to = (uint64_t)p->code->ip + 1;
    p->row->cfa =
        (struct cairn_cfi_rule){.where = CAIRN_CFI_IN_REG, .reg = cfa.base, .value = cfa.off};
    for (unsigned reg = CAIRN_ARM_R4; reg <= CAIRN_ARM_R11; reg++)
        p->row->regs[reg] = rule_of(regs[reg], reg, cfa);
    p->row->regs[CAIRN_ARM_LR] = ra_rule;
    return true;
}

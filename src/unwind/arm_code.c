/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/arm_code.h"

#include "unwind/arm_insn.h"

enum { R3 = 3, R4 = 4, R7 = 7, R11 = 11, R12 = 12, SP = 13, LR = 14, PC = 15, N_REGS = 16 };
enum { CALL_EXIT = 1, CALL_EXIT_GROUP = 248 };
enum {
    TURNS = 256,         /* places of conditional branches, by their low bits */
    PATHS = 32,          /* that are tried */
    STEPS = 512,         /* instructions of a path, at most, */
    STEPS_OF_ALL = 4096, /* and of all of them */
    KEPT = 32,           /* places on the stack */
    WINDOW = 64          /* bytes of code that are read at once */
};

/* What a register or a place on the stack holds, counted from how it was at the first instruction.
 */
enum value_kind {
    UNKNOWN,
    START, /* register `base`, and `off` more */
    SLOT,  /* what lies in memory at register `base` and `off` */
    CONSTANT,
    PLACE /* an address among the code, of which others are made */
};

struct value {
    int32_t off;
    uint8_t kind, base;
};

struct kept {
    int32_t off; /* from register `base` */
    uint8_t base;
    struct value value;
};

struct path {
    const struct cairn_arm_code *code;
    struct cairn_cfi_row *row;
    uint32_t ip, window_va;
    uint32_t exit_ip; /* of the last call that may have been exit(2); 0: none */
    uint32_t literal; /* the next constant among the code, that is known of; 0: none */
    bool is_thumb, has_window, has_choice;
    uint8_t n_conditional; /* instructions of an IT block that follow */
    uint8_t n_kept;
    uint16_t n_left; /* steps, on all paths */
    uint8_t choice;  /* at the branch that comes next, where an instruction before it had to know */
    uint8_t turns[TURNS]; /* the other way at the next time? */
    struct value regs[N_REGS];
    struct kept kept[KEPT];
    uint8_t window[WINDOW];
};

_Static_assert(sizeof(struct path) <= sizeof(struct cairn_arm_code_room), "it must fit");

enum choice { OPEN, MET, NOT_MET };
enum outcome { GOES_ON, DIES, ENDS, EXITS };

static bool read_code(struct path *p, uint32_t va, uint8_t *to, uint32_t size)
{
    const struct cairn_memory *memory = p->code->memory;
    uint32_t window = va & ~(uint32_t)(WINDOW - 1);
    if (va + size > window + WINDOW || va + size < va)
        return memory->read(memory->ctx, va, to, size);
    if (!p->has_window || p->window_va != window) {
        p->has_window = memory->read(memory->ctx, window, p->window, WINDOW);
        p->window_va = window;
    }
    if (!p->has_window)
        return memory->read(memory->ctx, va, to, size);
    memcpy(to, p->window + (va - window), size);
    return true;
}

static bool next_insn(struct path *p, struct cairn_arm_insn *ret_insn)
{
    uint8_t bytes[CAIRN_ARM_INSN_BYTES] = {0};
    if (!read_code(p, p->ip, bytes, p->is_thumb ? 2 : 4))
        return false;
    if (!p->is_thumb) {
        *ret_insn = cairn_arm_decode_a32(bytes, p->ip);
        return true;
    }
    if (bytes[1] >= 0xe8 && !read_code(p, p->ip + 2, bytes + 2, 2))
        return false;
    *ret_insn = cairn_arm_decode_t32(bytes, p->ip);
    return true;
}

static struct value value_plus(struct value value, int32_t off)
{
    if (off && value.kind == SLOT)
        return (struct value){.kind = UNKNOWN};
    value.off = (int32_t)((uint32_t)value.off + (uint32_t)off);
    return value;
}

static bool is_same(struct value a, struct value b)
{
    return a.kind == b.kind && a.base == b.base && a.off == b.off;
}

static struct kept *find_kept(struct path *p, struct value place)
{
    for (unsigned i = 0; i < p->n_kept; i++)
        if (p->kept[i].base == place.base && p->kept[i].off == place.off)
            return &p->kept[i];
    return NULL;
}

/* What lies at `place`: what this path put there, or what was there before. */
static struct value load(struct path *p, struct value place)
{
    if (place.kind != START)
        return (struct value){.kind = UNKNOWN};
    const struct kept *kept = find_kept(p, place);
    return kept ? kept->value : (struct value){.kind = SLOT, .base = place.base, .off = place.off};
}

/* Worth a place of ours are the link register, and what callers may want back. */
static bool store(struct path *p, struct value place, unsigned reg, struct value value)
{
    bool is_known = value.kind == START || value.kind == SLOT;
    if (place.kind != START)
        return true;
    struct kept *kept = find_kept(p, place);
    if (!kept) {
        if (reg != LR && (!is_known || reg <= R3 || reg == R12))
            return true;
        if (p->n_kept == KEPT)
            return false;
        kept = &p->kept[p->n_kept++];
        kept->base = place.base;
        kept->off = place.off;
    }
    kept->value = value;
    return true;
}

/* The caller's value of a register, as a row has it. */
static struct cairn_cfi_rule rule_of(struct value value, unsigned reg, struct value cfa)
{
    struct cairn_cfi_rule rule = {.where = CAIRN_CFI_UNDEFINED};
    if (value.kind == START && value.base == reg && value.off == 0)
        rule.where = CAIRN_CFI_SAME;
    if (value.kind == SLOT && value.base == cfa.base) {
        rule.where = CAIRN_CFI_AT_CFA;
        rule.value = (int64_t)value.off - cfa.off;
    }
    return rule;
}

/* The function was left: with this return address, and its caller's registers. */
static enum outcome finish(struct path *p, struct value cfa, struct value ra,
                           const struct value *regs)
{
    struct cairn_cfi_rule ra_rule = rule_of(ra, LR, cfa);
    if (cfa.kind != START || ra_rule.where == CAIRN_CFI_UNDEFINED)
        return DIES;
    memset(p->row, 0, sizeof *p->row);
    p->row->from = p->code->ip;
    p->row->to = (uint64_t)p->code->ip + 1;
    p->row->cfa =
        (struct cairn_cfi_rule){.where = CAIRN_CFI_IN_REG, .reg = cfa.base, .value = cfa.off};
    for (unsigned reg = R4; reg <= R11; reg++)
        p->row->regs[reg] = rule_of(regs[reg], reg, cfa);
    p->row->regs[LR] = ra_rule;
    return ENDS;
}

/* A jump to what a register holds: a return, or a call as the last thing that a function does. An
 * address that was popped, where the link register holds nothing, is an old way to return. */
static enum outcome jump(struct path *p, struct value to)
{
    struct value ra = p->regs[LR];
    if (to.kind == PLACE) /* one of several in this function */
        return DIES;
    if (ra.kind != SLOT && to.kind == SLOT)
        ra = to;
    return finish(p, p->regs[SP], ra, p->regs);
}

static bool has_row(const struct path *p)
{
    const struct cairn_cfi_row *row = p->code->row;
    uint64_t vaddr = (uint32_t)(p->ip - p->code->bias);
    return row && vaddr >= row->from && vaddr < row->to;
}

/* Here .ARM.exidx holds. */
static enum outcome call_by_row(struct path *p)
{
    const struct cairn_cfi_row *row = p->code->row;
    struct value regs[N_REGS], cfa, ra;
    if (row->cfa.where != CAIRN_CFI_IN_REG || row->cfa.reg >= N_REGS ||
        row->regs[LR].where != CAIRN_CFI_AT_CFA)
        return DIES;
    cfa = value_plus(p->regs[row->cfa.reg], (int32_t)row->cfa.value);
    ra = load(p, value_plus(cfa, (int32_t)row->regs[LR].value));
    for (unsigned reg = R4; reg <= R11; reg++) {
        regs[reg] = p->regs[reg];
        if (row->regs[reg].where == CAIRN_CFI_AT_CFA)
            regs[reg] = load(p, value_plus(cfa, (int32_t)row->regs[reg].value));
    }
    return finish(p, cfa, ra, regs);
}

static bool is_constant(struct value value, int32_t a, int32_t b)
{
    return value.kind == CONSTANT && (value.off == a || value.off == b);
}

static void forget(struct path *p, uint32_t mask)
{
    for (unsigned reg = 0; reg < N_REGS; reg++)
        if (mask & 1u << reg && p->regs[reg].kind != PLACE)
            p->regs[reg].kind = UNKNOWN;
}

/* glibc's functions in T32 have their system calls made by one that takes the number in r12. */
static enum outcome call(struct path *p)
{
    if (has_row(p))
        return call_by_row(p);
    if (is_constant(p->regs[R12], CALL_EXIT, CALL_EXIT_GROUP))
        p->exit_ip = p->ip;
    forget(p, 0xf | 1u << R12 | 1u << LR);
    return GOES_ON;
}

static bool store_all(struct path *p, const struct cairn_arm_insn *insn, bool is_certain)
{
    struct value place = value_plus(p->regs[insn->base], insn->off);
    for (unsigned reg = 0; reg < N_REGS; reg++) {
        if (!(insn->mask & 1u << reg))
            continue;
        struct value value = p->regs[reg];
        if (!is_certain && !is_same(load(p, place), value))
            value.kind = UNKNOWN;
        if (!store(p, place, reg, value))
            return false;
        place = value_plus(place, 4);
    }
    return true;
}

/* Constants lie among the code. Behind a call that never returns come those of its function. */
static bool load_literal(struct path *p, const struct cairn_arm_insn *insn)
{
    uint8_t word[4];
    uint32_t ip = p->ip - insn->size, va = p->is_thumb ? (ip + 4) & ~3u : ip + 8;
    va += (uint32_t)insn->off;
    if (insn->base != PC || __builtin_popcount(insn->mask) != 1 ||
        !read_code(p, va, word, sizeof word))
        return false;
    if (va > ip && (va < p->literal || p->literal <= ip))
        p->literal = va;
    uint32_t value =
        word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16 | (uint32_t)word[3] << 24;
    p->regs[__builtin_ctz(insn->mask)] = (struct value){.kind = CONSTANT, .off = (int32_t)value};
    return true;
}

static void load_all(struct path *p, const struct cairn_arm_insn *insn)
{
    if (load_literal(p, insn))
        return;
    struct value place = value_plus(p->regs[insn->base], insn->off);
    p->regs[insn->base] = value_plus(p->regs[insn->base], insn->back);
    for (unsigned reg = 0; reg < N_REGS; reg++)
        if (insn->mask & 1u << reg) {
            p->regs[reg] = load(p, place);
            place = value_plus(place, 4);
        }
}

/* Does this path go the way of a condition that is met? Each time the other one at each place, on
 * all paths: so that a walk leaves loops, and soon has been everywhere. */
static bool is_chosen(struct path *p)
{
    if (p->choice == OPEN) {
        uint8_t *turn = &p->turns[p->ip / 2 % TURNS];
        p->choice = *turn ? MET : NOT_MET;
        *turn = !*turn;
    }
    return p->choice == MET;
}

/* Loads and stores. `is_certain`: without a condition. */
static enum outcome transfer(struct path *p, const struct cairn_arm_insn *insn, bool is_certain)
{
    if (!is_certain && insn->back && insn->base == SP && !(insn->mask & 1u << PC)) {
        if (!is_chosen(p)) /* on the condition of the branch behind it */
            return GOES_ON;
        is_certain = true;
    }
    if (insn->op == CAIRN_ARM_STORE) {
        if (!store_all(p, insn, is_certain))
            return DIES;
        p->regs[insn->base] = value_plus(p->regs[insn->base], insn->back);
        if (!is_certain && insn->back)
            forget(p, 1u << insn->base);
        return GOES_ON;
    }
    if (insn->mask & 1u << PC) { /* a return, if there is a condition then one that holds */
        load_all(p, insn);
        if (insn->base != SP && !(insn->mask & 1u << SP)) /* by a table of places, or of linkage */
            return jump(p, (struct value){.kind = UNKNOWN});
        return finish(p, p->regs[SP], p->regs[PC], p->regs);
    }
    if (is_certain)
        load_all(p, insn);
    else
        forget(p, insn->mask | (insn->back ? 1u << insn->base : 0));
    return GOES_ON;
}

static enum outcome branch(struct path *p, const struct cairn_arm_insn *insn, bool is_certain)
{
    bool is_taken = is_certain || is_chosen(p);
    if (!is_certain) {
        p->choice = OPEN;
        p->has_choice = true;
    }
    if (is_certain && insn->target <= p->exit_ip && p->exit_ip < p->ip)
        return EXITS; /* and should it return, once more */
    if (is_taken) {
        p->ip = insn->target;
        p->n_conditional = 0;
    }
    return GOES_ON;
}

/* tbb, tbh: the first of the places is as good as any. */
static enum outcome branch_by_table(struct path *p, const struct cairn_arm_insn *insn)
{
    uint8_t entry[2] = {0};
    if (!read_code(p, insn->target, entry, (uint32_t)insn->off))
        return DIES;
    p->ip = insn->target + 2 * (entry[0] | (uint32_t)entry[1] << 8);
    return GOES_ON;
}

/* Right behind an addition to that register: by a table. */
static bool is_switch(struct path *p, unsigned reg)
{
    uint8_t before[2];
    return p->is_thumb && read_code(p, p->ip - 4, before, sizeof before) && before[1] == 0x44 &&
           ((before[0] & 7) | (before[0] >> 4 & 8)) == reg;
}

/* bx pc, which a stub begins with, goes on in A32. */
static enum outcome branch_to_register(struct path *p, const struct cairn_arm_insn *insn)
{
    if (insn->base != PC)
        return is_switch(p, insn->base) ? DIES : jump(p, p->regs[insn->base]);
    if (!p->is_thumb)
        return DIES;
    p->ip = (p->ip - insn->size + 4) & ~3u;
    p->is_thumb = false;
    return GOES_ON;
}

/* A linker's way to the other set. Where the constant was loaded before the first instruction, what
 * this leads to is not known, but that it is a function: nobody else is reached by one. */
static enum outcome branch_to_sum(struct path *p, const struct cairn_arm_insn *insn)
{
    struct value base = p->regs[insn->base];
    if (base.kind == START && base.base == R12)
        return jump(p, (struct value){.kind = UNKNOWN});
    if (base.kind != CONSTANT)
        return DIES;
    uint32_t target = (uint32_t)base.off + (uint32_t)insn->off;
    p->is_thumb = target & 1;
    p->ip = target & ~1u;
    return GOES_ON;
}

static enum outcome system_call(struct path *p)
{
    if (is_constant(p->regs[R7], CALL_EXIT, CALL_EXIT_GROUP))
        return EXITS;
    forget(p, 1);
    return GOES_ON;
}

static void compute(struct path *p, const struct cairn_arm_insn *insn, bool is_certain)
{
    struct value value = {.kind = CONSTANT, .off = insn->off};
    if (insn->op == CAIRN_ARM_ADD)
        value = insn->base == PC ? (struct value){.kind = PLACE}
                                 : value_plus(p->regs[insn->base], insn->off);
    if (!is_certain && !is_same(value, p->regs[insn->d]))
        value.kind = UNKNOWN;
    p->regs[insn->d] = value;
}

/* One instruction; p->ip is behind it already. */
static enum outcome run_one(struct path *p, const struct cairn_arm_insn *insn, bool is_certain)
{
    switch (insn->op) {
    case CAIRN_ARM_OTHER:
        forget(p, insn->mask);
        return GOES_ON;
    case CAIRN_ARM_ADD:
    case CAIRN_ARM_CONST:
        compute(p, insn, is_certain);
        return GOES_ON;
    case CAIRN_ARM_STORE:
    case CAIRN_ARM_LOAD:
        return transfer(p, insn, is_certain);
    case CAIRN_ARM_BRANCH:
        return branch(p, insn, is_certain);
    case CAIRN_ARM_BRANCH_REG:
        return branch_to_register(p, insn);
    case CAIRN_ARM_BRANCH_SUM:
        return branch_to_sum(p, insn);
    case CAIRN_ARM_TABLE:
        return branch_by_table(p, insn);
    case CAIRN_ARM_CALL:
        return call(p);
    case CAIRN_ARM_SYSCALL:
        return system_call(p);
    case CAIRN_ARM_IF_THEN:
        p->n_conditional = (uint8_t)insn->off;
        return GOES_ON;
    default:
        return is_certain ? DIES : GOES_ON;
    }
}

static enum outcome run(struct path *p)
{
    for (unsigned n = 0; n < STEPS && p->n_left > 0; n++, p->n_left--) {
        struct cairn_arm_insn insn;
        if (p->ip == p->literal || !next_insn(p, &insn))
            return DIES;
        bool is_certain = !insn.is_conditional && p->n_conditional == 0;
        if (p->n_conditional)
            p->n_conditional--;
        /* A call counts where it stands: the row may end behind it. */
        uint32_t behind = p->ip + insn.size;
        if (insn.op != CAIRN_ARM_CALL)
            p->ip = behind;
        enum outcome outcome = run_one(p, &insn, is_certain);
        if (insn.op == CAIRN_ARM_CALL)
            p->ip = behind;
        if (outcome != GOES_ON)
            return outcome;
    }
    return DIES;
}

static void begin(struct path *p)
{
    const struct cairn_arm_code *code = p->code;
    p->ip = code->ip;
    p->is_thumb = code->is_thumb;
    p->n_conditional = p->n_kept = 0;
    p->choice = OPEN;
    p->has_choice = false;
    p->exit_ip = p->literal = 0;
    for (unsigned reg = 0; reg < N_REGS; reg++)
        p->regs[reg] = (struct value){.kind = START, .base = (uint8_t)reg};
    p->regs[PC].kind = UNKNOWN;
    if (!code->is_leaf)
        forget(p, 0xf | 1u << R12 | 1u << LR);
}

enum cairn_arm_way cairn_arm_code_row(const struct cairn_arm_code *code,
                                      struct cairn_arm_code_room *room,
                                      struct cairn_cfi_row *ret_row)
{
    struct path *p = (struct path *)(void *)room;
    bool exits = true;
    if (code->ip % (code->is_thumb ? 2 : 4))
        return CAIRN_ARM_WAY_NONE;
    *p = (struct path){.code = code, .row = ret_row, .n_left = STEPS_OF_ALL};
    for (unsigned n = 0; n < PATHS; n++) {
        begin(p);
        enum outcome outcome = run(p);
        if (outcome == ENDS)
            return CAIRN_ARM_WAY_ROW;
        exits = exits && outcome == EXITS;
        if (!p->has_choice)
            break;
    }
    return exits ? CAIRN_ARM_WAY_EXIT : CAIRN_ARM_WAY_NONE;
}

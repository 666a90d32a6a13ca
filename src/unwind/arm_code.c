/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/arm_code.h"

#include "unwind/arm_path.h"

enum { CALL_EXIT = 1, CALL_EXIT_GROUP = 248 };
enum {
    PATHS = 32,         /* that are tried */
    STEPS = 512,        /* instructions of a path, at most, */
    STEPS_OF_ALL = 4096 /* and of all of them */
};

_Static_assert(sizeof(struct cairn_arm_path) <= sizeof(struct cairn_arm_code_room), "it must fit");

enum outcome { GOES_ON, DIES, ENDS, EXITS };

static enum outcome finish(struct cairn_arm_path *p, struct cairn_arm_value cfa,
                           struct cairn_arm_value ra, const struct cairn_arm_value *regs)
{
    return cairn_arm_path_leave(p, cfa, ra, regs) ? ENDS : DIES;
}

/* It lay on the stack that the function has given back. */
static bool is_popped(struct cairn_arm_value value, struct cairn_arm_value sp)
{
    return value.kind == CAIRN_ARM_SLOT && sp.kind == CAIRN_ARM_START && value.base == sp.base &&
           value.off < sp.off;
}

/* A jump to what a register holds: a return, or a call as the last thing that a function does. An
 * address that was popped, where the link register holds nothing, is an old way to return. */
static enum outcome jump(struct cairn_arm_path *p, struct cairn_arm_value to)
{
    struct cairn_arm_value ra = p->regs[CAIRN_ARM_LR];
    if (to.kind == CAIRN_ARM_PLACE) /* one of several in this function */
        return DIES;
    if (ra.kind != CAIRN_ARM_SLOT && is_popped(to, p->regs[CAIRN_ARM_SP]))
        ra = to;
    return finish(p, p->regs[CAIRN_ARM_SP], ra, p->regs);
}

static bool has_row(const struct cairn_arm_path *p)
{
    const struct cairn_cfi_row *row = p->code->row;
    uint64_t vaddr = (uint32_t)(p->ip - p->code->bias);
    return row && vaddr >= row->from && vaddr < row->to;
}

/* Here .ARM.exidx holds. */
static enum outcome call_by_row(struct cairn_arm_path *p)
{
    const struct cairn_cfi_row *row = p->code->row;
    struct cairn_arm_value regs[CAIRN_ARM_REGS], cfa, ra;
    if (row->cfa.where != CAIRN_CFI_IN_REG || row->cfa.reg >= CAIRN_ARM_REGS ||
        row->regs[CAIRN_ARM_LR].where != CAIRN_CFI_AT_CFA)
        return DIES;
    cfa = cairn_arm_value_plus(p->regs[row->cfa.reg], (int32_t)row->cfa.value);
    ra = cairn_arm_path_at(p, cairn_arm_value_plus(cfa, (int32_t)row->regs[CAIRN_ARM_LR].value));
    for (unsigned reg = CAIRN_ARM_R4; reg <= CAIRN_ARM_R11; reg++) {
        regs[reg] = p->regs[reg];
        if (row->regs[reg].where == CAIRN_CFI_AT_CFA)
            regs[reg] =
                cairn_arm_path_at(p, cairn_arm_value_plus(cfa, (int32_t)row->regs[reg].value));
    }
    return finish(p, cfa, ra, regs);
}

static bool is_constant(struct cairn_arm_value value, int32_t a, int32_t b)
{
    return value.kind == CAIRN_ARM_CONSTANT && (value.off == a || value.off == b);
}

/* glibc's functions in T32 have their system calls made by one that takes the number in r12. */
static enum outcome call(struct cairn_arm_path *p)
{
    if (has_row(p))
        return call_by_row(p);
    if (is_constant(p->regs[CAIRN_ARM_R12], CALL_EXIT, CALL_EXIT_GROUP))
        p->exit_ip = p->ip;
    cairn_arm_path_forget(p, 0xf | 1u << CAIRN_ARM_R12 | 1u << CAIRN_ARM_LR);
    return GOES_ON;
}

/* Does this path go the way of a condition that is met? Each time the other one at each place, on
 * all paths: so that a walk leaves loops, and soon has been everywhere. */
static bool is_chosen(struct cairn_arm_path *p)
{
    if (p->choice == CAIRN_ARM_OPEN) {
        uint8_t *turn = &p->turns[p->ip / 2 % CAIRN_ARM_TURNS];
        p->choice = *turn ? CAIRN_ARM_MET : CAIRN_ARM_NOT_MET;
        *turn = !*turn;
    }
    return p->choice == CAIRN_ARM_MET;
}

/* Loads and stores. `is_certain`: without a condition. */
static enum outcome transfer(struct cairn_arm_path *p, const struct cairn_arm_insn *insn,
                             bool is_certain)
{
    if (!is_certain && insn->back && insn->base == CAIRN_ARM_SP &&
        !(insn->mask & 1u << CAIRN_ARM_PC)) {
        if (!is_chosen(p)) /* on the condition of the branch behind it */
            return GOES_ON;
        is_certain = true;
    }
    if (insn->op == CAIRN_ARM_STORE) {
        if (!cairn_arm_path_store(p, insn, is_certain))
            return DIES;
        p->regs[insn->base] = cairn_arm_value_plus(p->regs[insn->base], insn->back);
        if (!is_certain && insn->back)
            cairn_arm_path_forget(p, 1u << insn->base);
        return GOES_ON;
    }
    if (insn->mask &
        1u << CAIRN_ARM_PC) { /* a return, if there is a condition then one that holds */
        cairn_arm_path_load(p, insn);
        if (insn->base != CAIRN_ARM_SP &&
            !(insn->mask & 1u << CAIRN_ARM_SP)) /* by a table of places, or of linkage */
            return jump(p, (struct cairn_arm_value){.kind = CAIRN_ARM_UNKNOWN});
        return finish(p, p->regs[CAIRN_ARM_SP], p->regs[CAIRN_ARM_PC], p->regs);
    }
    if (is_certain)
        cairn_arm_path_load(p, insn);
    else
        cairn_arm_path_forget(p, insn->mask | (insn->back ? 1u << insn->base : 0));
    return GOES_ON;
}

static enum outcome branch(struct cairn_arm_path *p, const struct cairn_arm_insn *insn,
                           bool is_certain)
{
    bool is_taken = is_certain || is_chosen(p);
    if (!is_certain) {
        p->choice = CAIRN_ARM_OPEN;
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
static enum outcome branch_by_table(struct cairn_arm_path *p, const struct cairn_arm_insn *insn)
{
    uint8_t entry[2] = {0};
    if (!cairn_arm_path_read(p, insn->target, entry, (uint32_t)insn->off))
        return DIES;
    p->ip = insn->target + 2 * (entry[0] | (uint32_t)entry[1] << 8);
    return GOES_ON;
}

/* Right behind an addition to that register: by a table. */
static bool is_switch(struct cairn_arm_path *p, unsigned reg)
{
    uint8_t before[2];
    return p->is_thumb && cairn_arm_path_read(p, p->ip - 4, before, sizeof before) &&
           before[1] == 0x44 && ((before[0] & 7) | (before[0] >> 4 & 8)) == reg;
}

/* bx pc, which a stub begins with, goes on in A32. */
static enum outcome branch_to_register(struct cairn_arm_path *p, const struct cairn_arm_insn *insn)
{
    if (insn->base != CAIRN_ARM_PC)
        return is_switch(p, insn->base) ? DIES : jump(p, p->regs[insn->base]);
    if (!p->is_thumb)
        return DIES;
    p->ip = (p->ip - insn->size + 4) & ~3u;
    p->is_thumb = false;
    return GOES_ON;
}

/* A linker's way to the other set. Where the constant was loaded before the first instruction, what
 * this leads to is not known, but that it is a function: nobody else is reached by one. */
static enum outcome branch_to_sum(struct cairn_arm_path *p, const struct cairn_arm_insn *insn)
{
    struct cairn_arm_value base = p->regs[insn->base];
    if (base.kind == CAIRN_ARM_START && base.base == CAIRN_ARM_R12)
        return jump(p, (struct cairn_arm_value){.kind = CAIRN_ARM_UNKNOWN});
    if (base.kind != CAIRN_ARM_CONSTANT)
        return DIES;
    uint32_t target = (uint32_t)base.off + (uint32_t)insn->off;
    p->is_thumb = target & 1;
    p->ip = target & ~1u;
    return GOES_ON;
}

static enum outcome system_call(struct cairn_arm_path *p)
{
    if (is_constant(p->regs[CAIRN_ARM_R7], CALL_EXIT, CALL_EXIT_GROUP))
        return EXITS;
    cairn_arm_path_forget(p, 1);
    return GOES_ON;
}

/* One instruction; p->ip is behind it already. */
static enum outcome run_one(struct cairn_arm_path *p, const struct cairn_arm_insn *insn,
                            bool is_certain)
{
    switch (insn->op) {
    case CAIRN_ARM_OTHER:
        cairn_arm_path_forget(p, insn->mask);
        return GOES_ON;
    case CAIRN_ARM_ADD:
    case CAIRN_ARM_CONST:
        cairn_arm_path_compute(p, insn, is_certain);
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

static enum outcome run(struct cairn_arm_path *p)
{
    for (unsigned n = 0; n < STEPS && p->n_left > 0; n++, p->n_left--) {
        struct cairn_arm_insn insn;
        if (p->ip == p->literal || !cairn_arm_path_insn(p, &insn))
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

enum cairn_arm_way cairn_arm_code_row(const struct cairn_arm_code *code,
                                      struct cairn_arm_code_room *room,
                                      struct cairn_cfi_row *ret_row)
{
    struct cairn_arm_path *p = (struct cairn_arm_path *)(void *)room;
    bool exits = true;
    if (code->ip % (code->is_thumb ? 2 : 4))
        return CAIRN_ARM_WAY_NONE;
    *p = (struct cairn_arm_path){.code = code, .row = ret_row, .n_left = STEPS_OF_ALL};
    for (unsigned n = 0; n < PATHS; n++) {
        cairn_arm_path_begin(p);
        enum outcome outcome = run(p);
        if (outcome == ENDS)
            return CAIRN_ARM_WAY_ROW;
        exits = exits && outcome == EXITS;
        if (!p->has_choice)
            break;
    }
    return exits ? CAIRN_ARM_WAY_EXIT : CAIRN_ARM_WAY_NONE;
}

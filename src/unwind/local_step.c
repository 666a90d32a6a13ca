/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/local_step.h"

#include <elf.h>

#include <cairn/unwind.h>

#include "code/call.h"
#include "rt/executable.h"
#include "rt/self.h"
#include "unwind/cursor_row.h"
#include "unwind/follow.h"
#include "unwind/fp_step.h"
#include "unwind/local_cache.h"
#include "unwind/local_cpu.h"
#include "unwind/local_kept.h"
#include "unwind/local_root.h"
#include "unwind/local_rows.h"
#include "unwind/modules.h"
#include "unwind/sigframe.h"

enum {
    NEAR_BYTES = 1 << 15, /* above what is known: page by page; beyond: that page alone */
    CODE_BYTES = 16,      /* that tell a signal trampoline */
    FUNCTION_ALIGN = 16,  /* of a function that is a return address */
    DESCENTS_MAX = 4,     /* to a stack that lies below the one before it */
    BY_CODE_MAX = 16      /* frames whose code is followed: each may cost some microseconds */
};

/* The room of a row serves cairn_follow(), too: a page that is mapped for each frame costs all CPUs
 * that run threads of the process an interrupt when it is unmapped. */
_Static_assert(sizeof(struct cairn_follow) <= CAIRN_LOCAL_ROW_BYTES, "room for code to follow");

static struct cairn_follow *take_scratch(void)
{
    return (struct cairn_follow *)(void *)cairn_local_rows_take();
}

static void give_scratch(struct cairn_follow *scratch)
{
    if (scratch)
        cairn_local_rows_give((struct cairn_local_row *)(void *)scratch);
}

/* Not inlined: what it needs of the stack is not there while others run. */
#define APART __attribute__((noinline))

static bool read_stack(void *ctx, uint64_t va, void *to, size_t size)
{
    struct cairn_local_stack *stack = ctx;
    uintptr_t from = (uintptr_t)va, end = from + size;
    if (va > UINTPTR_MAX || end < from)
        return false;
    if ((from < stack->low || end > stack->high + NEAR_BYTES) &&
        !cairn_local_stack_enter(stack, from))
        stack->high = stack->low;
    if (!cairn_local_stack_reach(stack, end))
        return false;
    cairn_self_copy(from, to, size);
    return true;
}

static uintptr_t lookup_va(const struct cairn_local_slow_walk *w)
{
    return (uintptr_t)w->regs.ip - !w->is_exact;
}

static bool is_code(void *ctx, uint64_t va)
{
    (void)ctx;
    return va <= UINTPTR_MAX && cairn_executable((uintptr_t)va);
}

/* HotSpot's interpreter pushes the address of a piece of its own, and jumps. */
static bool is_made_at_run_time(void *ctx, uint64_t va)
{
    struct cairn_local_module module;
    return is_code(ctx, va) && !cairn_modules_find((uintptr_t)va, &module);
}

int cairn_local_end_of(const struct cairn_local_slow_walk *w, enum cairn_arch_step step)
{
    struct cairn_local_module module;
    switch (step) {
    case CAIRN_STEP_OUTERMOST:
        return CAIRN_END_OUTERMOST;
    case CAIRN_STEP_SWITCHED:
        return CAIRN_END_SWITCHED;
    case CAIRN_STEP_UNKNOWN:
    case CAIRN_STEP_SIDE:
        return CAIRN_END_NO_REGISTER;
    case CAIRN_STEP_BAD_CFA:
        return CAIRN_END_BAD_CFA;
    case CAIRN_STEP_UNREADABLE:
        return CAIRN_END_UNREADABLE;
    default:
        return cairn_modules_find(lookup_va(w), &module) ? CAIRN_END_NO_RULE : CAIRN_END_NO_MODULE;
    }
}

/* On arm what the loader knows of is the exception index. */
uint8_t cairn_local_how_by(unsigned kind)
{
    if (kind == CAIRN_RULE_SIGNAL)
        return CAIRN_HOW_SIGNAL;
    return cairn_local_arch->machine == EM_ARM ? CAIRN_HOW_EXIDX : CAIRN_HOW_CFI;
}

/* The trampoline that a handler returns to, where the C library describes it not; or the system
 * call that is its second instruction. */
static enum cairn_sigframe trampoline(const struct cairn_local_slow_walk *w)
{
    enum cairn_sigframe kind = CAIRN_SIGFRAME_NONE;
    for (uintptr_t before = 0; kind == CAIRN_SIGFRAME_NONE && before <= (w->is_exact ? 4 : 0);
         before += 2)
        kind = cairn_sigframe_at(cairn_local_arch, &cairn_self_memory, w->regs.ip - before);
    return kind;
}

static enum cairn_arch_step step_signal(struct cairn_local_slow_walk *w, enum cairn_sigframe kind)
{
    const struct cairn_memory memory = {read_stack, &w->stack};
    w->how = CAIRN_HOW_SIGNAL;
    return cairn_sigframe_step(cairn_local_arch, kind, &memory, false, &w->regs);
}

/* `stored`: a return address as it lies in memory, or in the link register. */
static bool is_behind_call(uint64_t stored)
{
    uint64_t ret = cairn_local_arch->code_address(stored);
    uint8_t code[CAIRN_CALL_BYTES];
    struct cairn_call call;
    return cairn_self_read((uintptr_t)ret - sizeof(code), code, sizeof(code)) &&
           cairn_local_arch->call((struct cairn_span){code, sizeof(code)}, stored, &call);
}

/* The address as the return address of a frame's callee had it: with Thumb's bit. */
static uint64_t stored_ip(const struct cairn_local_slow_walk *w)
{
    unsigned pc = cairn_local_arch->pc;
    return cairn_unwind_known(&w->regs, pc) ? w->regs.regs[pc] : w->regs.ip;
}

/* By what the instructions do to return. `row`: what holds where they call, or NULL. */
static enum cairn_arch_step step_by_code(struct cairn_local_slow_walk *w,
                                         const struct cairn_cfi_row *row)
{
    const struct cairn_unwind_arch *arch = cairn_local_arch;
    const struct cairn_memory stack = {read_stack, &w->stack};
    if (!arch->step_by_code || w->n_by_code == BY_CODE_MAX)
        return CAIRN_STEP_NO_RULE;
    w->n_by_code++;
    struct cairn_local_row *room = cairn_local_rows_take();
    const struct cairn_code_input input = {.stack = &stack,
                                           .code = &cairn_self_memory,
                                           .row = row,
                                           .is_leaf = w->is_exact,
                                           .room = room};
    if (!room)
        return CAIRN_STEP_NO_RULE;
    enum cairn_arch_step done = arch->step_by_code(&input, &w->regs);
    cairn_local_rows_give(room);
    return done;
}

/* Code without a rule: a trampoline, a frame pointer, or nobody called it. */
static enum cairn_arch_step step_unruled(struct cairn_local_slow_walk *w)
{
    const struct cairn_unwind_arch *arch = cairn_local_arch;
    struct cairn_local_module module;
    unsigned bits = CAIRN_LOCAL_KEEPS_FP;
    enum cairn_sigframe kind = trampoline(w);
    if (kind != CAIRN_SIGFRAME_NONE)
        return step_signal(w, kind);
    bool is_module = cairn_modules_find(lookup_va(w), &module);
    if (is_module)
        bits = cairn_local_kept(&module);
    if (cairn_local_is_root(w, is_module ? &module : NULL))
        return CAIRN_STEP_OUTERMOST;
    enum cairn_arch_step by_code = step_by_code(w, NULL);
    w->how = CAIRN_HOW_CODE;
    if (by_code != CAIRN_STEP_NO_RULE)
        return by_code;
    const struct cairn_fp_space space = {
        .memory = &cairn_self_memory,
        .is_code = is_code,
        .pushes = is_module ? NULL : is_made_at_run_time,
        .no_records = !(bits & CAIRN_LOCAL_KEEPS_FP),
        .scratch = take_scratch(),
    };
    enum cairn_fp_result found = cairn_fp_step(arch, &space, w->is_exact, &w->regs);
    give_scratch(space.scratch);
    w->how = found == CAIRN_FP_CODE                      ? CAIRN_HOW_CODE
             : found == CAIRN_FP_LEAF && arch->ra_in_reg ? CAIRN_HOW_LINK
                                                         : CAIRN_HOW_FP_GUESS;
    return found == CAIRN_FP_NONE ? CAIRN_STEP_NO_RULE : CAIRN_STEP_OK;
}

static enum cairn_arch_step step_row(struct cairn_local_slow_walk *w,
                                     const struct cairn_local_row *found)
{
    const struct cairn_memory memory = {read_stack, &w->stack};
    const struct cairn_row_input input = {
        .arch = cairn_local_arch,
        .memory = &memory,
        .expressions = found->cfi.bytes,
        .row = &found->machine.row,
        .ra_reg = found->fde.cie.ra_reg,
        .is_leaf = w->is_exact,
        .is_signal = found->fde.cie.is_signal_frame,
    };
    w->how =
        cairn_local_how_by(found->fde.cie.is_signal_frame ? CAIRN_RULE_SIGNAL : CAIRN_RULE_SIDE);
    return cairn_row_step(&input, &w->regs);
}

/*
 * The innermost function, where rules hold at calls alone (arm): it may be in its prologue or in
 * its epilogue, and its code is asked. Where that is silent the rule is believed if it leads behind
 * a call.
 */
static enum cairn_arch_step step_leaf_row(struct cairn_local_slow_walk *w,
                                          const struct cairn_local_row *found)
{
    const struct cairn_unwind_arch *arch = cairn_local_arch;
    uint64_t sp = w->regs.regs[arch->sp];
    enum cairn_arch_step done = step_by_code(w, &found->machine.row);
    w->how = cairn_local_how_by(CAIRN_RULE_SIDE);
    if (done != CAIRN_STEP_NO_RULE) {
        if (w->regs.regs[arch->sp] == sp)
            w->how = CAIRN_HOW_LINK;
        return done;
    }
    done = step_row(w, found);
    bool is_sound = done != CAIRN_STEP_OK || is_behind_call(stored_ip(w)) ||
                    trampoline(w) != CAIRN_SIGFRAME_NONE;
    return is_sound ? done : CAIRN_STEP_NO_RULE;
}

/* By all that CFI says: every register. */
enum cairn_arch_step cairn_local_step_by_row(struct cairn_local_slow_walk *w)
{
    enum cairn_local_found why;
    struct cairn_local_row *found = cairn_local_row_find(lookup_va(w), &why);
    if (!found)
        return step_unruled(w);
    bool is_leaf = w->is_exact && cairn_local_arch->step_by_code;
    enum cairn_arch_step done = is_leaf ? step_leaf_row(w, found) : step_row(w, found);
    cairn_local_row_done(found);
    return done;
}

/* By its code, where an exact frame's rule was seen to lead nowhere: what the C library's functions
 * that change stacks are described as holds for no more than some of their instructions. */
APART static enum cairn_arch_step step_followed(struct cairn_local_slow_walk *w)
{
    const struct cairn_fp_space space = {
        .memory = &cairn_self_memory, .is_code = is_code, .scratch = take_scratch()};
    w->how = CAIRN_HOW_CODE;
    enum cairn_fp_result found = cairn_follow(cairn_local_arch, &space, &w->regs);
    give_scratch(space.scratch);
    return found == CAIRN_FP_NONE ? CAIRN_STEP_NO_RULE : CAIRN_STEP_OK;
}

/* What makecontext(3) put where the return address of a stack's first function is: a function.
 * Rules would be asked for the one that lies before it. Where a handler returns to is aligned so,
 * too: where its rule is known no system call is made for each capture. */
APART static bool is_stack_start(const struct cairn_local_slow_walk *w)
{
    uint8_t code[CODE_BYTES];
    return !w->is_exact && w->regs.ip % FUNCTION_ALIGN == 0 &&
           cairn_rule_kind(cairn_local_cache_rule((uintptr_t)w->regs.ip)) != CAIRN_RULE_SIGNAL &&
           cairn_self_read((uintptr_t)w->regs.ip, code, sizeof(code)) &&
           cairn_local_arch->ends_thread((struct cairn_span){code, sizeof(code)});
}

enum cairn_arch_step cairn_local_step_by_rule(struct cairn_local_slow_walk *w)
{
    if (w->is_whole || (w->is_exact && cairn_local_arch->step_by_code))
        return cairn_local_step_by_row(w);
    const struct cairn_memory memory = {read_stack, &w->stack};
    uint32_t rule = cairn_local_cache_rule(lookup_va(w));
    unsigned kind = cairn_rule_kind(rule);
    if (kind == CAIRN_RULE_NONE)
        return step_unruled(w);
    /* A handler returns to the trampoline's first instruction: the byte before is another's. */
    if (!w->is_exact &&
        cairn_rule_kind(cairn_local_cache_rule((uintptr_t)w->regs.ip)) == CAIRN_RULE_NONE) {
        enum cairn_sigframe sigframe = trampoline(w);
        if (sigframe != CAIRN_SIGFRAME_NONE)
            return step_signal(w, sigframe);
    }
    w->how = cairn_local_how_by(kind);
    return cairn_unwind_step(cairn_local_arch, rule, w->is_exact, &memory, false, &w->regs);
}

/* A caller's frame lies above, unless the function changed stacks and the other one happens to lie
 * below. Then the frame's end is in another register than sp, and a call led here. */
APART static enum cairn_arch_step step_down(struct cairn_local_slow_walk *w)
{
    uint64_t *sp = &w->regs.regs[cairn_local_arch->sp];
    if (w->n_descents++ == DESCENTS_MAX)
        return CAIRN_STEP_BAD_CFA;
    *sp = 0;
    w->regs.known &= ~(UINT64_C(1) << cairn_local_arch->sp);
    bool is_sound = cairn_local_step_by_rule(w) == CAIRN_STEP_OK &&
                    *sp % cairn_local_arch->word == 0 && is_behind_call(stored_ip(w));
    return is_sound ? CAIRN_STEP_OK : CAIRN_STEP_BAD_CFA;
}

enum cairn_arch_step cairn_local_step(struct cairn_local_slow_walk *w, size_t n)
{
    if (w->is_exact && n == w->followed)
        return step_followed(w);
    if (is_stack_start(w))
        return CAIRN_STEP_OUTERMOST;
    enum cairn_arch_step done = cairn_local_step_by_rule(w);
    return done == CAIRN_STEP_BAD_CFA ? step_down(w) : done;
}

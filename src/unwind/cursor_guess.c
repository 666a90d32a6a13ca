/* SPDX-License-Identifier: MIT */
#include "unwind/cursor_guess.h"

#include <cairn/maps.h>

#include "unwind/call.h"
#include "unwind/fp_step.h"

static bool is_code(void *ctx, uint64_t va)
{
    const struct cairn_space_place *place = cairn_space_at(ctx, va);
    return place && place->region.flags & CAIRN_MAP_EXEC;
}

/* HotSpot's interpreter pushes the address of a piece of its own, and jumps. */
static bool is_made_at_run_time(void *ctx, uint64_t va)
{
    const struct cairn_space_place *place = cairn_space_at(ctx, va);
    return place && place->region.flags & CAIRN_MAP_EXEC && !place->region.file &&
           !(place->region.path && place->region.path[0] == '/');
}

/* The mapping that the stack pointer is in; what lies behind it is another's. */
static uint64_t stack_end(struct cairn_unwind_space *space, uint64_t sp)
{
    const struct cairn_space_place *place = cairn_space_at(space, sp);
    return place ? place->region.end : 0;
}

/* Who called through a wild pointer: nothing has run there yet, so that the return address is where
 * the call put it, behind a call. */
static bool step_out_of_nowhere(struct cairn_unwind_space *space,
                                const struct cairn_unwind_arch *arch,
                                struct cairn_unwind_regs *regs)
{
    uint64_t word = regs->regs[arch->ra];
    uint8_t code[CAIRN_CALL_BYTES];
    struct cairn_call call;
    if (!arch->call || (arch->ra_in_reg && !cairn_unwind_known(regs, arch->ra)) ||
        (!arch->ra_in_reg &&
         !cairn_space_word(space, regs->regs[arch->sp], arch->word, false, &word)))
        return false;
    uint64_t ret = arch->code_address(word);
    if (ret < sizeof code || !is_code(space, ret - 1) ||
        !cairn_space_bytes(space, ret - sizeof code, code, sizeof code) ||
        !arch->call((struct cairn_span){code, sizeof code}, ret | (word & 1), &call))
        return false;
    regs->known &= arch->kept | UINT64_C(1) << arch->sp;
    if (!arch->ra_in_reg)
        cairn_unwind_set(regs, arch->sp, regs->regs[arch->sp] + arch->word);
    regs->ip = ret;
    return true;
}

enum cairn_arch_step cairn_cursor_guess(struct cairn_unwind_space *space,
                                        const struct cairn_unwind_arch *arch,
                                        const struct cairn_space_place *place, bool is_leaf,
                                        struct cairn_unwind_regs *regs,
                                        enum cairn_frame_how *ret_how)
{
    const struct cairn_fp_space fp_space = {
        .memory = &space->memory,
        .is_code = is_code,
        .pushes = place && is_made_at_run_time(space, regs->ip) ? is_made_at_run_time : NULL,
        .ctx = space,
        .stack_end = stack_end(space, regs->regs[arch->sp]),
        .swap = place && place->module && place->module->elf.swap,
        .no_records = place && place->module && !cairn_space_module_keeps_fp(place->module, arch),
    };
    if (!place || !(place->region.flags & CAIRN_MAP_EXEC)) {
        *ret_how = arch->ra_in_reg ? CAIRN_HOW_LINK : CAIRN_HOW_FP_GUESS;
        return is_leaf && step_out_of_nowhere(space, arch, regs) ? CAIRN_STEP_OK
                                                                 : CAIRN_STEP_NO_RULE;
    }
    if (place->module && !cairn_space_module_keeps_fp(place->module, arch))
        return CAIRN_STEP_NO_RULE;
    switch (cairn_fp_step(arch, &fp_space, is_leaf, regs)) {
    case CAIRN_FP_FRAME:
        *ret_how = CAIRN_HOW_FP_GUESS;
        return CAIRN_STEP_OK;
    case CAIRN_FP_CODE:
        *ret_how = CAIRN_HOW_CODE;
        return CAIRN_STEP_OK;
    case CAIRN_FP_LEAF:
        *ret_how = arch->ra_in_reg ? CAIRN_HOW_LINK : CAIRN_HOW_FP_GUESS;
        return CAIRN_STEP_OK;
    default:
        return CAIRN_STEP_NO_RULE;
    }
}

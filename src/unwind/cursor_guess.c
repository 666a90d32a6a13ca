/* SPDX-License-Identifier: MIT */
#include "unwind/cursor_guess.h"

#include <cairn/maps.h>

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
    const bool is_nowhere = !place || !(place->region.flags & CAIRN_MAP_EXEC);
    if (!is_nowhere && place->module && !cairn_space_module_keeps_fp(place->module, arch))
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

/* SPDX-License-Identifier: MIT */
#include "unwind/cursor_guess.h"

#include <elf.h>

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

/* Executable, and no byte of it is at hand. */
static bool is_missing(void *ctx, uint64_t va)
{
    uint8_t byte;
    return is_code(ctx, va) && !cairn_space_bytes(ctx, va, &byte, 1);
}

/* runtime.newproc makes a goroutine's first function return into runtime.goexit. */
static bool is_root(void *ctx, uint64_t va)
{
    const struct cairn_space_place *place = cairn_space_at(ctx, va - 1);
    struct cairn_module_entry entry;
    if (!place || !place->module || !place->module->sections.known.bytes.size)
        return false;
    cairn_space_module_find(place->module, va - 1 - place->bias, &entry);
    return entry.kind == CAIRN_ENTRY_FDE && entry.cfi == &place->module->sections.known;
}

/* What the function at `ip` does with the frame pointer; where the module's other functions keep
 * one, it is taken to keep one, too. */
static struct cairn_fp_function function_at(const struct cairn_space_place *place,
                                            const struct cairn_unwind_arch *arch, uint64_t ip)
{
    struct cairn_fp_function function = {.keeps = cairn_space_module_keeps_fp(place->module, arch)};
    if (!function.keeps || arch->machine == EM_386) /* its main() realigns the stack, by GCC */
        function = cairn_space_module_function(place->module, ip - place->bias);
    return function;
}

/* Behind a record that does not lie at the frame's end, for the stack was realigned. */
static void restore_sp(struct cairn_unwind_space *space, const struct cairn_unwind_arch *arch,
                       uint64_t slot, bool swap, struct cairn_unwind_regs *regs)
{
    uint64_t sp;
    regs->known &= ~(UINT64_C(1) << arch->sp);
    if (cairn_space_word(space, slot, arch->word, swap, &sp) && sp >= regs->regs[arch->sp] &&
        sp % arch->word == 0)
        cairn_unwind_set(regs, arch->sp, sp);
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
    const bool is_nowhere = !place || !(place->region.flags & CAIRN_MAP_EXEC);
    struct cairn_fp_function function = {.keeps = true};
    if (place && place->module)
        function = function_at(place, arch, regs->ip);
    if (!is_nowhere && !function.keeps)
        return CAIRN_STEP_NO_RULE;
    const uint64_t fp = regs->regs[arch->fp];
    const struct cairn_fp_space fp_space = {
        .memory = &space->memory,
        .is_code = is_code,
        .pushes = place && is_made_at_run_time(space, regs->ip) ? is_made_at_run_time : NULL,
        .is_missing = space->kind->is_dead ? is_missing : NULL,
        .is_root = is_root,
        .ctx = space,
        .scratch = &space->follow,
        .stack_end = stack_end(space, regs->regs[arch->sp]),
        .swap = place && place->module && place->module->elf.swap,
        .no_records = !function.keeps,
    };
    switch (cairn_fp_step(arch, &fp_space, is_leaf, regs)) {
    case CAIRN_FP_FRAME:
        *ret_how = CAIRN_HOW_FP_GUESS;
        if (function.sp_below)
            restore_sp(space, arch, fp - function.sp_below, fp_space.swap, regs);
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

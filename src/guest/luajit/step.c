/* SPDX-License-Identifier: MIT */
/*
 * From the assembler, and from compiled code, to who called it. The one unwind rule of the assembler
 * does not hold where it calls parts of its own, and compiled code has none; but each has a C frame
 * above its stack pointer, where the caller's registers are saved (vm_x64.dasc, saveregs).
 *
 *     C frame   +0 r12 of traces, below it r13   +40 r14  +48 r15  +56 rbx  +64 rbp  +72 return address
 */
#include "guest/luajit/luajit.h"

enum { SAVED_FROM = 40, SAVED_WORDS = 5, C_FRAME_SIZE = 80 };

static void set(struct cairn_guest_regs *regs, unsigned reg, uint64_t value)
{
    regs->value[reg] = value;
    regs->known |= UINT64_C(1) << reg;
}

/* The C frame that holds for the frame with these registers. */
static bool find_c_frame(struct cairn_memory memory, const struct cairn_guest_regs *regs,
                         bool is_assembler, struct cairn_lj_c_frame *ret_frame)
{
    struct cairn_lj_state state;
    struct cairn_lj_now now;
    uint64_t sp = regs->value[CAIRN_LJ_RSP], global;
    if (is_assembler && cairn_lj_c_frame_at(memory, sp, ret_frame, &state))
        return true;
    return regs->known >> CAIRN_LJ_R14 & 1 &&
           cairn_lj_global_of(memory, regs->value[CAIRN_LJ_R14], &global) &&
           cairn_lj_now_read(memory, global, &now) && (is_assembler || now.jit_base) &&
           cairn_lj_c_frame_above(memory, &now.state, sp, ret_frame);
}

bool cairn_lj_step(const struct cairn_guest_thread *thread, const struct cairn_guest_module *module,
                   const struct cairn_guest_regs *regs, struct cairn_guest_regs *ret_caller)
{
    struct cairn_lj_c_frame frame;
    uint64_t saved[SAVED_WORDS], extra[2];
    bool is_assembler =
        module->file->loop != module->file->loop_end && cairn_guest_wants_regs(module, regs->ip);
    struct cairn_memory memory = thread->memory;
    if (!(regs->known >> CAIRN_LJ_RSP & 1) || !find_c_frame(memory, regs, is_assembler, &frame) ||
        !memory.read(memory.ctx, frame.va + SAVED_FROM, saved, sizeof saved))
        return false;
    *ret_caller = (struct cairn_guest_regs){.ip = saved[4]};
    set(ret_caller, CAIRN_LJ_RSP, frame.va + C_FRAME_SIZE);
    set(ret_caller, CAIRN_LJ_RBP, saved[3]);
    set(ret_caller, CAIRN_LJ_RBX, saved[2]);
    set(ret_caller, CAIRN_LJ_R15, saved[1]);
    set(ret_caller, CAIRN_LJ_R14, saved[0]);
    if (is_assembler) {
        for (unsigned i = CAIRN_LJ_R12; i <= CAIRN_LJ_R13; i++)
            if (regs->known >> i & 1)
                set(ret_caller, i, regs->value[i]);
    } else if (memory.read(memory.ctx, frame.va - 8, extra, sizeof extra)) {
        set(ret_caller, CAIRN_LJ_R13, extra[0]);
        set(ret_caller, CAIRN_LJ_R12, extra[1]);
    }
    return true;
}

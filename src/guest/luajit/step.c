/* SPDX-License-Identifier: MIT */
/*
 * From the assembler, and from compiled code, to who called it. The one unwind rule of the
 * assembler does not hold where it calls parts of its own, nor while registers are saved and
 * restored, and compiled code has none. But each has a C frame above its stack pointer, where the
 * caller's registers are saved (vm_x64.dasc, saveregs).
 *
 *     C frame   -8 r13 and +0 r12 of traces, +40 r14, +48 r15, +56 rbx, +64 rbp, +72 return
 */
#include <string.h>

#include "guest/luajit/luajit.h"

enum { SAVED_FROM = 40, SAVED_WORDS = 5, C_FRAME_SIZE = 80, SAVED_REGS = 4 };

/* How the assembler is entered and left: the registers that it saves, the last one first, and the
 * room below them. */
static const uint8_t entry[] = {0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28};
static const uint8_t leave[] = {0x48, 0x83, 0xc4, 0x28, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d, 0xc3};
/* Where in those bytes an instruction begins, by how many registers are saved there. */
static const uint8_t entry_at[SAVED_REGS + 1] = {0, 1, 2, 4, 6};
static const uint8_t leave_at[SAVED_REGS + 1] = {10, 9, 8, 6, 4};
static const uint8_t saved_reg[SAVED_REGS] = {CAIRN_LJ_RBP, CAIRN_LJ_RBX, CAIRN_LJ_R15,
                                              CAIRN_LJ_R14};

static void set(struct cairn_guest_regs *regs, unsigned reg, uint64_t value)
{
    regs->value[reg] = value;
    regs->known |= UINT64_C(1) << reg;
}

static bool is_at(struct cairn_memory memory, uint64_t ip, const uint8_t *code, size_t size,
                  size_t at)
{
    uint8_t bytes[sizeof leave];
    return memory.read(memory.ctx, ip - at, bytes, size) && memcmp(bytes, code, size) == 0;
}

/* While the assembler is entered or left, so many registers are saved at sp, and above them is the
 * return address. False: it is neither. */
static bool count_saved(struct cairn_memory memory, uint64_t ip, unsigned *ret_n)
{
    for (unsigned n = 0; n <= SAVED_REGS; n++) {
        if (is_at(memory, ip, entry, sizeof entry, entry_at[n]) ||
            is_at(memory, ip, leave, sizeof leave, leave_at[n])) {
            *ret_n = n;
            return true;
        }
    }
    return false;
}

bool cairn_lj_is_border(struct cairn_memory memory, uint64_t ip)
{
    unsigned n;
    return count_saved(memory, ip, &n);
}

static bool step_at_border(struct cairn_memory memory, const struct cairn_guest_regs *regs,
                           struct cairn_guest_regs *ret_caller)
{
    uint64_t words[SAVED_REGS + 1], sp = regs->value[CAIRN_LJ_RSP];
    unsigned n;
    if (!count_saved(memory, regs->ip, &n) ||
        !memory.read(memory.ctx, sp, words, 8 * ((size_t)n + 1)))
        return false;
    *ret_caller = *regs;
    ret_caller->ip = words[n];
    for (unsigned i = 0; i < n; i++)
        set(ret_caller, saved_reg[n - 1 - i], words[i]);
    set(ret_caller, CAIRN_LJ_RSP, sp + 8 * ((uint64_t)n + 1));
    return true;
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
    bool is_assembler = cairn_guest_wants_regs(module, regs->ip);
    struct cairn_memory memory = thread->memory;
    if (!(regs->known >> CAIRN_LJ_RSP & 1))
        return false;
    if (is_assembler && step_at_border(memory, regs, ret_caller))
        return true;
    if (!find_c_frame(memory, regs, is_assembler, &frame) ||
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

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
#include "unwind/arm_step.h"

#include "code/call.h"
#include "unwind/arm_code.h"
#include "unwind/cursor_row.h"
#include "unwind/sigframe.h"

enum { LR = 14, PC = 15 };

/* Behind a call, or the kernel's way back from a handler. */
static bool is_return(const struct cairn_memory *code, uint64_t stored)
{
    uint64_t ret = stored & ~UINT64_C(1);
    uint8_t bytes[CAIRN_CALL_BYTES];
    struct cairn_call call;
    if (ret < sizeof bytes || !code->read(code->ctx, ret - sizeof bytes, bytes, sizeof bytes))
        return false;
    return cairn_call_arm((struct cairn_span){bytes, sizeof bytes}, stored, &call) ||
           cairn_sigframe_at(&cairn_unwind_arm, code, ret) != CAIRN_SIGFRAME_NONE;
}

struct room {
    struct cairn_arm_code_room code;
    struct cairn_cfi_row row;
    struct cairn_unwind_regs next;
};
_Static_assert(sizeof(struct room) <= CAIRN_CODE_ROOM, "it must fit");

enum cairn_arch_step cairn_arm_step_by_code(const struct cairn_code_input *in,
                                            struct cairn_unwind_regs *regs)
{
    struct room *room = in->room;
    if (!cairn_unwind_known(regs, PC))
        return CAIRN_STEP_NO_RULE;
    const struct cairn_arm_code code = {.memory = in->code,
                                        .ip = (uint32_t)regs->ip,
                                        .is_thumb = regs->regs[PC] & 1,
                                        .is_leaf = in->is_leaf,
                                        .row = in->row,
                                        .bias = (uint32_t)in->bias};
    enum cairn_arm_way way = cairn_arm_code_row(&code, &room->code, &room->row);
    if (way != CAIRN_ARM_WAY_ROW)
        return way == CAIRN_ARM_WAY_EXIT && !in->row ? CAIRN_STEP_OUTERMOST : CAIRN_STEP_NO_RULE;
    const struct cairn_row_input input = {.arch = &cairn_unwind_arm,
                                          .memory = in->stack,
                                          .row = &room->row,
                                          .ra_reg = LR,
                                          .swap = in->swap,
                                          .is_leaf = in->is_leaf};
    room->next = *regs;
    enum cairn_arch_step result = cairn_row_step(&input, &room->next);
    if (result != CAIRN_STEP_OK)
        return result;
    if (!in->row && room->next.ip && !is_return(in->code, room->next.regs[PC]))
        return CAIRN_STEP_NO_RULE;
    *regs = room->next;
    return CAIRN_STEP_OK;
}

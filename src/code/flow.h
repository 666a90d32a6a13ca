/* SPDX-License-Identifier: MIT */
/*
 * Flow: where an instruction leads, and nothing else of what it does.
 */
#ifndef CAIRN_CODE_FLOW_H
#define CAIRN_CODE_FLOW_H

#include "code/insn_x86_64.h"

enum cairn_flow {
    CAIRN_FLOW_NEXT,
    CAIRN_FLOW_CALL,
    CAIRN_FLOW_JUMP,
    CAIRN_FLOW_BRANCH,   /* a jump, or on */
    CAIRN_FLOW_INDIRECT, /* a jump by a register or memory */
    CAIRN_FLOW_RETURN,
    CAIRN_FLOW_STOP, /* a trap */
    CAIRN_FLOW_BAD   /* no instruction of a program */
};

/* One instruction. */
struct cairn_code_step {
    enum cairn_flow flow;
    size_t size;     /* of it; 0: the code ends before */
    bool is_padding; /* it does nothing, or stands where nothing comes to */
    bool knows_to;   /* of a jump, a branch or a call: */
    uint64_t to;     /* there */
};

/* The first one of `code`, which lies at `vaddr`. */
void cairn_code_step_x86_64(struct cairn_span code, uint64_t vaddr,
                            struct cairn_code_step *ret_step);
void cairn_code_step_aarch64(struct cairn_span code, uint64_t vaddr,
                             struct cairn_code_step *ret_step);

/* The one of these for a machine as ELF numbers it; NULL: nothing is known of its instructions. */
typedef void cairn_code_step_fn(struct cairn_span code, uint64_t vaddr,
                                struct cairn_code_step *ret_step);
cairn_code_step_fn *cairn_code_stepper(uint16_t machine);

/* The same of one that was taken apart, and is `size` bytes long. */
void cairn_x86_64_insn_step(const struct cairn_x86_64_insn *insn, size_t size, uint64_t vaddr,
                            struct cairn_code_step *ret_step);

#endif /* CAIRN_CODE_FLOW_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Arm path: one way through the code of a function of 32-bit arm (arm_code.h): where it stands,
 * what the registers hold there, and what it put on the stack. Which way it goes is arm_code.c's
 * business.
 */
#ifndef CAIRN_UNWIND_ARM_PATH_H
#define CAIRN_UNWIND_ARM_PATH_H

#include "code/arm_insn.h"
#include "unwind/arm_code.h"

enum {
    CAIRN_ARM_R3 = 3,
    CAIRN_ARM_R4 = 4,
    CAIRN_ARM_R7 = 7,
    CAIRN_ARM_R11 = 11,
    CAIRN_ARM_R12 = 12,
    CAIRN_ARM_SP = 13,
    CAIRN_ARM_LR = 14,
    CAIRN_ARM_PC = 15,
    CAIRN_ARM_REGS = 16
};

enum {
    CAIRN_ARM_TURNS = 256, /* places of conditional branches, by their low bits */
    CAIRN_ARM_KEPT = 32,   /* places on the stack */
    CAIRN_ARM_WINDOW = 64  /* bytes of code that are read at once */
};

/* What a register or a place on the stack holds, counted from how it was at the first instruction.
 */
enum cairn_arm_holds {
    CAIRN_ARM_UNKNOWN,
    CAIRN_ARM_START, /* register `base`, and `off` more */
    CAIRN_ARM_SLOT,  /* what lies in memory at register `base` and `off` */
    CAIRN_ARM_CONSTANT,
    CAIRN_ARM_PLACE /* an address among the code, of which others are made */
};

struct cairn_arm_value {
    int32_t off;
    uint8_t kind, base; /* enum cairn_arm_holds */
};

struct cairn_arm_kept {
    int32_t off; /* from register `base` */
    uint8_t base;
    struct cairn_arm_value value;
};

/* Of a branch that comes next, where an instruction before it had to know. */
enum cairn_arm_choice { CAIRN_ARM_OPEN, CAIRN_ARM_MET, CAIRN_ARM_NOT_MET };

struct cairn_arm_path {
    const struct cairn_arm_code *code;
    struct cairn_cfi_row *row;
    uint32_t ip, window_va;
    uint32_t exit_ip; /* of the last call that may have been exit(2); 0: none */
    uint32_t literal; /* the next constant among the code, that is known of; 0: none */
    bool is_thumb, has_window, has_choice;
    uint8_t n_conditional; /* instructions of an IT block that follow */
    uint8_t n_kept;
    uint16_t n_left;                /* steps, on all paths */
    uint8_t choice;                 /* enum cairn_arm_choice */
    uint8_t turns[CAIRN_ARM_TURNS]; /* the other way at the next time? */
    struct cairn_arm_value regs[CAIRN_ARM_REGS];
    struct cairn_arm_kept kept[CAIRN_ARM_KEPT];
    uint8_t window[CAIRN_ARM_WINDOW];
};

/* To the first instruction. */
void cairn_arm_path_begin(struct cairn_arm_path *p);

bool cairn_arm_path_read(struct cairn_arm_path *p, uint32_t va, uint8_t *to, uint32_t size);

/* The instruction at p->ip. */
bool cairn_arm_path_insn(struct cairn_arm_path *p, struct cairn_arm_insn *ret_insn);

struct cairn_arm_value cairn_arm_value_plus(struct cairn_arm_value value, int32_t off);

/* What lies at `place`: what this path put there, or what was there before. */
struct cairn_arm_value cairn_arm_path_at(struct cairn_arm_path *p, struct cairn_arm_value place);

/* Registers of which nothing is known any more. */
void cairn_arm_path_forget(struct cairn_arm_path *p, uint32_t mask);

/* What instructions do; `is_certain`: without a condition. Of a store `base` stays. False: there is
 * more on the stack than is kept. */
bool cairn_arm_path_store(struct cairn_arm_path *p, const struct cairn_arm_insn *insn,
                          bool is_certain);
void cairn_arm_path_load(struct cairn_arm_path *p, const struct cairn_arm_insn *insn);
void cairn_arm_path_compute(struct cairn_arm_path *p, const struct cairn_arm_insn *insn,
                            bool is_certain);

/* The function was left, with this return address and its caller's registers: fills p->row. False:
 * no frame can be that. */
bool cairn_arm_path_leave(struct cairn_arm_path *p, struct cairn_arm_value cfa,
                          struct cairn_arm_value ra, const struct cairn_arm_value *regs);

#endif /* CAIRN_UNWIND_ARM_PATH_H */

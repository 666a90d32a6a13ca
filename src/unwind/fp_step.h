/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * fp step: from a frame to its caller by the frame pointer, where no rule covers the code: what a
 * JIT compiler made, Rust's without tables, hand-written assembly. A guess, and marked as one: that
 * a register holds a frame pointer is a habit of the code, and this code does not say.
 *
 *     sp | ...  fp -> | caller's fp | return address |  ...  the caller's frame
 *
 * Believed is a record that is aligned, lies at or above sp and inside the stack, with a return
 * address in executable memory behind a call. So a chain rises, and ends.
 *
 * Also the walk by frame pointers alone, for comparison: what profilers without tables get.
 */
#ifndef CAIRN_UNWIND_FP_STEP_H
#define CAIRN_UNWIND_FP_STEP_H

#include "unwind/arch.h"

struct cairn_follow;
struct cairn_unwind_table;

/* One way in which code lays out the record: bytes from where the register points. */
struct cairn_fp_layout {
    int8_t fp, ra;
    int8_t end;     /* behind the record */
    bool end_is_sp; /* and that is the caller's sp; else it is only known to lie there or above */
};

enum {
    CAIRN_FP_FRAME_MAX = 8 << 20
}; /* bytes from sp to a record where the stack's end is unknown */

/* What a step is checked against. */
struct cairn_fp_space {
    const struct cairn_memory *memory;       /* the stack, and the code before return addresses */
    bool (*is_code)(void *ctx, uint64_t va); /* in executable memory? */
    /* Code that pushes return addresses where no call is, as an interpreter that was made at run
     * time does? Then a record counts whose caller's lies above it, inside the stack. NULL: none
     * does. */
    bool (*pushes)(void *ctx, uint64_t va);
    /* Code whose bytes are missing, as in a core file without its program: no call can be looked
     * for there. A record counts whose caller's lies above it inside the stack, or is the last.
     * NULL: there is none. */
    bool (*is_missing)(void *ctx, uint64_t va);
    /* A stack root to which no call returns, as a goroutine's? NULL: none is. */
    bool (*is_root)(void *ctx, uint64_t va);
    void *ctx;
    /* Where cairn_follow() works; NULL: it maps and unmaps a page for each call, for the stack may
     * be a signal handler's. The two system calls cost more than the step. */
    struct cairn_follow *scratch;
    uint64_t stack_end; /* the first byte behind the stack; 0: not known */
    bool swap;
    bool no_code;    /* records alone count: no instructions are followed */
    bool no_records; /* the module keeps no frame pointers: a leaf's return address is all there is
                      */
};

enum cairn_fp_result {
    CAIRN_FP_NONE,  /* nothing to be believed; the registers are untouched */
    CAIRN_FP_FRAME, /* a record; sp is known where the layout says so, else a floor, not `known` */
    CAIRN_FP_CODE,  /* the code, followed to its return: see unwind/follow.h */
    CAIRN_FP_LEAF   /* the innermost function has no record yet, or never: the return address was in
                       the link register, or on top of the stack, behind a call of just that code */
};

/* Replaces `regs` by the caller's. `is_leaf`: the innermost frame, or one that a signal
 * interrupted. */
enum cairn_fp_result cairn_fp_step(const struct cairn_unwind_arch *arch,
                                   const struct cairn_fp_space *space, bool is_leaf,
                                   struct cairn_unwind_regs *regs);

/* Do the functions of the module with this table keep frame pointers? Where not, the register
 * means something else in it, and no step may be made from its gaps. A sample of its rows, to be
 * asked once a module. */
bool cairn_fp_kept(const struct cairn_unwind_arch *arch, const struct cairn_unwind_table *table);

/* The whole stack by frame pointers: regs->ip, then return addresses, at most `max`. No other check
 * than those of a step. */
size_t cairn_fp_walk(const struct cairn_unwind_arch *arch, const struct cairn_fp_space *space,
                     struct cairn_unwind_regs *regs, uint64_t *addresses, size_t max);

#endif /* CAIRN_UNWIND_FP_STEP_H */

/* SPDX-License-Identifier: MIT */
/*
 * Unwind: the calls that led to an instruction, as addresses, without frame pointers.
 *
 * The local part walks the calling thread's own stack. It may be used in a signal handler and
 * inside malloc: it takes no lock, calls no malloc, asks the loader nothing that could wait, and
 * leaves errno alone. Threads need not be prepared for it.
 *
 * What a frame's address is: that of the instruction to which it returns, so that who looks it up
 * takes one byte less; where the frame was found as CAIRN_HOW_START or CAIRN_HOW_SIGNAL, the
 * instruction that runs, exact. cairn_frame_is_exact() tells.
 *
 * Sources: System V ABI AMD64 1.0, 3.4 and 6.2; LSB Core 5.0, 10.6 (.eh_frame); DWARF 5, 6.4; ARM
 * IHI 0038 (EHABI 32); Linux 2.6 and later for the layout of signal frames.
 */
#ifndef CAIRN_UNWIND_H
#define CAIRN_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No walk gives more frames than this, whatever the stack says. */
#define CAIRN_MAX_FRAMES 1024

/* How a frame was found: by what its callee's part of the walk went. Later versions add values at
 * the end. */
enum cairn_frame_how {
    CAIRN_HOW_START,    /* the registers that were given: the address is exact */
    CAIRN_HOW_CFI,      /* call frame information, as a compact rule or evaluated */
    CAIRN_HOW_EXIDX,    /* arm's .ARM.exidx */
    CAIRN_HOW_PLT,      /* the stub of a procedure linkage table */
    CAIRN_HOW_SIGNAL,   /* registers that the kernel saved for a signal: the address is exact */
    CAIRN_HOW_LINK,     /* arm, aarch64: the link register of a leaf function */
    CAIRN_HOW_FP_GUESS, /* a frame pointer, checked but a guess: no rule covers the callee */
    CAIRN_HOW_FP        /* a frame pointer, because the caller asked for that way */
};

/* Why a walk ended. Later versions add values at the end. */
enum cairn_unwind_end {
    CAIRN_END_OUTERMOST,  /* the stack's beginning: nobody called this frame. The stack is whole */
    CAIRN_END_MAX_FRAMES, /* the caller's room, or CAIRN_MAX_FRAMES */
    CAIRN_END_NO_MODULE, /* an address in no known module (compiled at run time, or a wild one), and
                            no frame pointer that could be believed */
    CAIRN_END_NO_RULE,   /* in a module, but nothing covers the address, and the same */
    CAIRN_END_BAD_CFA,   /* the frame's end would not lie outside of it, or not be aligned */
    CAIRN_END_UNREADABLE, /* memory that the rule points to cannot be read */
    CAIRN_END_LOOP,       /* the same frame again */
    CAIRN_END_DAMAGED,    /* the rule, or the information it is made from, makes no sense */
    CAIRN_END_BUSY,       /* no memory or no turn to walk: try again */
    CAIRN_END_TIMEOUT,    /* another thread did not answer in time */
    CAIRN_END_NO_REGISTER /* the rule needs a register whose value is not known */
};

/* "outermost", "no rule", ...; "?" for a value that is none. Static strings; signal-safe. */
CAIRN_API const char *cairn_unwind_end_text(int end);
/* "cfi", "signal", ... */
CAIRN_API const char *cairn_frame_how_text(int how);

/* Nonzero where the address of a frame found in this way is that of the instruction itself; 0 where
 * it is a return address. */
static inline int cairn_frame_is_exact(int how)
{
    return how == CAIRN_HOW_START || how == CAIRN_HOW_SIGNAL;
}

/* What a local walk has to say beside its addresses. Set .size to sizeof(struct cairn_unwind_info)
 * and .how before. */
struct cairn_unwind_info {
    size_t size;
    uint8_t *how;        /* room for an enum cairn_frame_how of each frame, or NULL */
    int end;             /* enum cairn_unwind_end */
    uint32_t n_guessed;  /* frames found as CAIRN_HOW_FP_GUESS */
    uint64_t generation; /* of the list of modules; another one: modules were unloaded since */
};

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_UNWIND_H */

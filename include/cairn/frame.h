/* SPDX-License-Identifier: MIT */
/*
 * Frame: what a frame of a stack is, and how it was found. The two are told apart: a symbol that
 * names a frame as compiled at run time does not change that a frame pointer led to it.
 */
#ifndef CAIRN_FRAME_H
#define CAIRN_FRAME_H

#include <cairn/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No walk of a thread's own stack gives more frames than this, whatever the stack says. A cursor
 * stops here too, unless cairn_cursor_limit() says otherwise. */
#define CAIRN_MAX_FRAMES 1024

/* What runs there. Later versions add values at the end. */
enum cairn_frame_what {
    CAIRN_WHAT_NATIVE,  /* machine code of a file, or nobody said */
    CAIRN_WHAT_INLINED, /* a frame of its own in formats that know no call sites */
    CAIRN_WHAT_KERNEL,
    CAIRN_WHAT_JIT,         /* machine code that was compiled at run time */
    CAIRN_WHAT_INTERPRETED, /* a function of an interpreter: enum cairn_language says which */
    CAIRN_WHAT_MARKER       /* no code: what happened */
};

/* Of an interpreted frame. Later versions add values at the end. */
enum cairn_language { CAIRN_LANGUAGE_NONE, CAIRN_LANGUAGE_LUA };

/* How a frame was found: by what its callee's part of the walk went. Later versions add values at
 * the end. */
enum cairn_frame_how {
    CAIRN_HOW_START,       /* the registers that were given: the address is exact */
    CAIRN_HOW_CFI,         /* call frame information, as a compact rule or evaluated */
    CAIRN_HOW_EXIDX,       /* arm's .ARM.exidx */
    CAIRN_HOW_PLT,         /* the stub of a procedure linkage table */
    CAIRN_HOW_SIGNAL,      /* registers that the kernel saved for a signal: the address is exact */
    CAIRN_HOW_LINK,        /* arm, aarch64: the link register of a leaf function: a guess */
    CAIRN_HOW_FP_GUESS,    /* a frame pointer, checked but a guess: no rule covers the callee */
    CAIRN_HOW_FP,          /* a frame pointer, because the caller asked for that way */
    CAIRN_HOW_CODE,        /* the callee's instructions, followed to its return: a guess, too */
    CAIRN_HOW_DERIVED,     /* a rule made of the callee's instructions, all ways through it: it has
                              no call frame information */
    CAIRN_HOW_KERNEL,      /* the kernel walked its own stack */
    CAIRN_HOW_INTERPRETER, /* the state of an interpreter */
    CAIRN_HOW_TEXT,        /* a file or a log says so, and not how it was found */
    CAIRN_HOW_TEXT_GUESS   /* the same, and it says that it guessed */
};

/* "cfi", "signal", ...; "?" for a value that is none. Static strings; signal-safe. */
CAIRN_API const char *cairn_frame_how_text(int how);

/* Nonzero where the address of a frame found in this way is that of the instruction itself; 0 where
 * it is a return address. */
static inline int cairn_frame_is_exact(int how)
{
    return how == CAIRN_HOW_START || how == CAIRN_HOW_SIGNAL;
}

/* Nonzero where nothing proves that the frame called the one before it. */
static inline int cairn_frame_is_guess(int how)
{
    return how == CAIRN_HOW_FP_GUESS || how == CAIRN_HOW_LINK || how == CAIRN_HOW_CODE ||
           how == CAIRN_HOW_TEXT_GUESS;
}

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_FRAME_H */

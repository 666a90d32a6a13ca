/* SPDX-License-Identifier: MIT */
/*
 * The program of odd frames: each case makes one kind of code run, while a signal at every
 * instruction (x86-64: single steps) or as often as a timer can has the stack walked from there.
 *
 * How a case knows the truth: before it begins, a function in the section odd_run walks its own
 * stack; what lies outwards of it is the tail. Whatever the case does inside, each walk must end in
 * just that tail, behind a frame of that function. One wrong step on the way loses it.
 */
#ifndef CAIRN_TESTS_ODD_H
#define CAIRN_TESTS_ODD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ODD_STEP = 1,    /* may be single-stepped: blocks no signals */
    ODD_TIMER = 2,   /* by the timer, over and over */
    ODD_DEEP = 4,    /* deeper than a walk goes: it ends at its limit */
    ODD_LOOSE = 8,   /* has code that nothing describes: a walk may end early, with its reason, or
                      * go on by the frame pointer where libgcc ends */
    ODD_ENDS = 16,   /* has stacks that are seen begin and end: the anchor need not be there yet */
    ODD_LOADER = 32, /* inside the loader's lock, where libunwind would wait for itself */
    ODD_CALLS = 64,  /* calls odd_spin() */
    ODD_ALONE = 128, /* has instructions at which libgcc dies */
    ODD_SWAPS = 256  /* changes stacks by swapcontext(3): where that has taken over some of the
                      * other stack's registers, a walk from it may end */
};

struct odd_case {
    const char *name;
    void (*run)(void);
    unsigned flags;
    unsigned stride;    /* only every so many steps are captured; 0: all */
    unsigned whole_pct; /* ODD_LOOSE: percent of its walks that are whole, at least */
};

/* Ended by a row without a name. */
extern const struct odd_case odd_cases[];

#define ODD_ANCHOR __attribute__((noinline, section("odd_run")))

/* Remembers the stack outwards of the caller, an ODD_ANCHOR function, as a right tail. */
#define odd_anchor() odd_anchor_at(__builtin_return_address(0))
void odd_anchor_at(const void *inside);

/* Single-steps the thread from here on, if the case is being stepped: a signal handler begins
 * without. */
void odd_step(void);

/* A capture from just here, where the case runs by calls. */
void odd_call(void);

/* A timer of this thread, where the case runs by timer. */
void odd_timer_start(void);

/* What the compiler cannot foresee. */
extern volatile int odd_sink;
extern const char *odd_library_path;
extern bool odd_refreshes; /* the library's list of modules, after each dlopen(3) */

/* Code that takes a while without calls. */
void odd_spin(void);

typedef void odd_fn(void);

/* In assembly, odd_CPU.S: each calls `inner`. */
void odd_by_expression(odd_fn *inner);  /* CFA by an expression over a realigned stack */
void odd_by_register(odd_fn *inner);    /* CFA in a callee-saved register */
void odd_by_scratch(odd_fn *inner);     /* CFA in a scratch register before and after the call */
void odd_separate(odd_fn *inner);       /* FP and RA are saved far from each other */
void odd_no_cfi_with_fp(odd_fn *inner); /* no entry; keeps a frame pointer */
void odd_no_cfi(odd_fn *inner);         /* no entry, no frame pointer */
void odd_bare_leaf(void);               /* no entry, no frame: RA still where the call left it */
void odd_dies(odd_fn *inner);           /* its last instruction is the call, which never returns */
void odd_moves_stack(odd_fn *inner, void *stack_end); /* calls on another stack */
void odd_pushes(odd_fn *inner);                       /* CFA changes with each push and pop */

#endif /* CAIRN_TESTS_ODD_H */

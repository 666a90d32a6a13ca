/* SPDX-License-Identifier: MIT */
/*
 * Unwind end: why a walk of a stack ended, whoever walked it: the calling thread, a cursor, the
 * program in the kernel, a recorder. Programs for BPF include it, too.
 */
#ifndef CAIRN_UNWIND_END_H
#define CAIRN_UNWIND_END_H

#include <cairn/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Later versions add values at the end. cairn_unwind_end_text() has a text for each. */
enum cairn_unwind_end {
    CAIRN_END_OUTERMOST,   /* the stack's beginning: nobody called this frame. The stack is whole */
    CAIRN_END_MAX_FRAMES,  /* the caller's capacity or limit, or CAIRN_MAX_FRAMES */
    CAIRN_END_NO_MODULE,   /* an address in no known module (compiled at run time, or a wild one),
                              and no frame pointer that could be believed */
    CAIRN_END_NO_RULE,     /* in a module, but nothing covers the address, and the same */
    CAIRN_END_BAD_CFA,     /* the caller's frame would not lie above, or not be aligned */
    CAIRN_END_UNREADABLE,  /* memory that the rule points to cannot be read */
    CAIRN_END_LOOP,        /* the same frame again */
    CAIRN_END_DAMAGED,     /* the rule, or the information it is made from, makes no sense */
    CAIRN_END_BUSY,        /* no memory or no turn to walk: try again */
    CAIRN_END_TIMEOUT,     /* another thread did not answer in time */
    CAIRN_END_NO_REGISTER, /* the rule needs a register whose value is not known */
    CAIRN_END_NO_THREAD,   /* there is no such thread, or not any more */
    CAIRN_END_SWITCHED,    /* the function that called is on another stack, to which nothing here
                              leads: Go's runtime.systemstack, mcall, morestack, asmcgocall */
    /* Of recorders: */
    CAIRN_END_NO_POINTER,   /* by frame pointers: the outermost frame's code keeps none */
    CAIRN_END_OUTSIDE,      /* the frame pointer leads to what is no return address */
    CAIRN_END_COPY,         /* the stack goes on beyond the copy of it */
    CAIRN_END_NO_USER,      /* nothing of the thread's user side was caught */
    CAIRN_END_KERNEL,       /* the thread has no user side: it ends, or its program is replaced */
    CAIRN_END_NEW,          /* of the process, or of a file in it, nothing is known yet */
    CAIRN_END_NO_ROOM,      /* its module's table found no room */
    CAIRN_END_32_BIT,       /* a 32-bit program, which the program in the kernel does not walk */
    CAIRN_END_SIGNAL_STACK, /* a signal's handler has a stack of its own, which alone is copied */
    CAIRN_END_NOT_COPIED,   /* a copy of the stack might lead further: there were too many */
    CAIRN_END_SPENT,        /* a copy was not walked: the process has used its share */
    CAIRN_END_UPROBE,       /* a uprobe replaced the address; the kernel alone has the true one */
    CAIRN_ENDS              /* how many there are in this version */
};

/* "outermost", "no unwind rule", ...; "?" for a value that is none. Static strings; signal-safe. */
CAIRN_API const char *cairn_unwind_end_text(int end);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_UNWIND_END_H */

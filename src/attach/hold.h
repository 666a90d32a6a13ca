/* SPDX-License-Identifier: MIT */
/*
 * Held: one thread of another process that stands still and makes system calls for us, one
 * instruction at a time, at a place where the program has such an instruction anyway.
 *
 *     begin -> call* -> end
 *
 * end() puts every register and the mask of signals back and mends what the interruption did to
 * the thread's own call, so that the program cannot tell. A process that SIGSTOP stopped stays so.
 * All calls come from one OS thread of ours: the kernel demands it.
 */
#ifndef CAIRN_ATTACH_HOLD_H
#define CAIRN_ATTACH_HOLD_H

#include <cairn/error.h>

#include "attach/cpu.h"
#include "proc/call_mend.h"

enum { CAIRN_HOLD_TIMEOUT_MS = 1000 };

struct cairn_stilled {
    int pid, tid;
    uint64_t call_va; /* where cairn_cpu_call_insn stands */
    struct cairn_still_regs saved;
    uint64_t saved_mask;
    bool has_mask;
    bool stop_came;              /* a SIGSTOP that was kept back: it is sent again at the end */
    bool mended;                 /* the interrupted call goes on */
    struct cairn_call_seen seen; /* what it slept in before */
    uint64_t begin_ns, held_ns;
};

/* Stops the thread. `is_exempt`: the process's filters of system calls do not hold for it, nor for
 * threads that it makes for us, until it is let go (PTRACE_O_SUSPEND_SECCOMP, Linux 4.3): a right
 * of who can read them (attach/filters.h). CAIRN_E_MISSING: it ended. CAIRN_E_ACCESS: it may not be
 * traced; the hint says by what. CAIRN_E_LIMIT: it did not stop in time, and is left alone.
 * CAIRN_E_SUPPORT: it runs 32-bit code. */
int cairn_hold_begin(int pid, int tid, uint64_t call_va, bool is_exempt,
                     struct cairn_stilled *ret_held, struct cairn_err *err);

/* One system call of the thread; `ret_result` is the kernel's, -errno where that refused. */
int cairn_hold_call(struct cairn_stilled *held, long number, const uint64_t args[CAIRN_CALL_ARGS],
                    int64_t *ret_result, struct cairn_err *err);

/* Lets it go on, as above. */
int cairn_hold_end(struct cairn_stilled *held, struct cairn_err *err);

/*
 * Of a thread that we made, which has nothing to be put back: adopt() waits for its first stop;
 * run() calls a function, which returns into cairn_cpu_thread_code, where the thread ends with the
 * lowest byte of what that returned, as a signed number; exit() ends it at once. CAIRN_E_LIMIT: it
 * has not ended in time, and runs on. CAIRN_E_FORMAT: a fault; it stands there, and can exit().
 */
int cairn_hold_adopt(struct cairn_stilled *held, struct cairn_err *err);
int cairn_hold_run(struct cairn_stilled *held, const struct cairn_cpu_entry *entry, int timeout_ms,
                   int *ret_value, struct cairn_err *err);
int cairn_hold_exit(struct cairn_stilled *held, struct cairn_err *err);

#endif /* CAIRN_ATTACH_HOLD_H */

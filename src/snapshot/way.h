/* SPDX-License-Identifier: MIT */
/*
 * Ways: how the registers of a thread and the top of its stack are had. Each is a file, by_NAME.c,
 * with one function, and a row in the table of take.c, which asks them in order until one says yes:
 *
 *     iterator  is not on a CPU, and the kernel runs a program for us: no stop
 *     memory    sleeps, and shows where: no stop
 *     sample    runs: its own CPU copies, at one interrupt; no stop
 *     ptrace    any other: stopped, read, let go
 *
 * A way only copies; stacks are walked when the thread runs again (walk.h).
 */
#ifndef CAIRN_SNAPSHOT_WAY_H
#define CAIRN_SNAPSHOT_WAY_H

#include <cairn/snapshot.h>

#include "proc/mem.h"
#include "proc/ptrace.h"
#include "snapshot/facts.h"

struct cairn_bpf_threads;

enum { CAIRN_REASON_SIZE = 512, CAIRN_DETAIL_SIZE = 128, CAIRN_KERNEL_FRAMES = 64 };

/* One thread, as it was caught. */
struct cairn_caught {
    struct cairn_thread_facts facts;
    enum cairn_snapshot_way way; /* NONE: not yet */
    bool has_regs;
    struct cairn_cursor_regs regs;
    uint64_t copy_va; /* of the first byte */
    uint8_t *copy;
    size_t copy_size, copy_cap;
    uint64_t switches; /* by way of the iterator: how often the thread had left a CPU */
    uint64_t
        kernel[CAIRN_KERNEL_FRAMES]; /* by way of a sample: frames in the kernel, inner first */
    size_t n_kernel;
    struct cairn_buffer kernel_text; /* by other ways: /proc/PID/task/TID/stack of that moment */
    uint64_t held_ns, asked_ns;
    char reason[CAIRN_REASON_SIZE];          /* of the last way that failed; "" */
    char end_detail[CAIRN_DETAIL_SIZE];      /* memory that was not read; "" */
    size_t first_row, n_rows, n_kernel_rows; /* frames, the kernel's first */
    size_t first_guest, n_guests;            /* states of interpreters */
    bool wants_weave; /* their frames were read, and are not among the rows yet */
    bool wants_still; /* there are some, and they were not read, for the memory may have changed */
    enum cairn_unwind_end end;
    uint32_t stack;
};

/* Whom the ways ask. */
struct cairn_catcher {
    int pid;
    int pid_alive; /* a thread that has the process's memory: `pid`, or where its main thread has
                      ended, another one */
    uint32_t machine;
    unsigned stop_ms, sample_ms;
    uint64_t sample_left_ns;            /* of the time that one look may wait for samples */
    bool user_only;                     /* nobody wants frames in the kernel */
    struct cairn_mem *mem;              /* the space's */
    struct cairn_bpf_threads *iterator; /* NULL: not to be had, or not wanted */
};

/*
 * Fills regs, copy (of `want` bytes, or what there is) and, where it stopped the thread, the times.
 * CAIRN_E_SUPPORT: not a thread for this way; any other code: why not this time. On failure regs
 * and copy are left with no meaning.
 */
int cairn_catch_by_memory(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                          struct cairn_err *err);
int cairn_catch_by_ptrace(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                          struct cairn_err *err);

/* What ways have in common: copies from just below the registers' sp. False: no memory. */
bool cairn_caught_copy(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want);
/* Reads the names of its frames in the kernel, where they are wanted. */
void cairn_caught_kernel(const struct cairn_catcher *catcher, struct cairn_caught *thread);
void cairn_caught_done(struct cairn_caught *thread);

/* A thread that stays stopped while it is walked. */
struct cairn_hold {
    struct cairn_tracer *tracer;
    uint64_t asked_ns, since_ns; /* CLOCK_MONOTONIC */
};
int cairn_hold(struct cairn_catcher *catcher, struct cairn_caught *thread,
               struct cairn_hold *ret_hold, struct cairn_err *err);
/* Adds up the thread's times. */
void cairn_let_go(struct cairn_hold *hold, struct cairn_caught *thread);

/* Registers of a thread that the tracer has stopped. */
int cairn_held_regs(struct cairn_tracer *tracer, struct cairn_caught *thread,
                    struct cairn_err *err);

#endif /* CAIRN_SNAPSHOT_WAY_H */

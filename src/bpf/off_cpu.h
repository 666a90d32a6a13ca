/* SPDX-License-Identifier: MIT */
/*
 * Off CPU: what the programs that measure how long threads are off a CPU, and who loads them, have
 * in common. Compiled into both; kernel types alone.
 *
 *     event          what the program does                         map that it writes
 *     switched out   walks the stack, notes it with the time       asleep: tid ──► stack, since
 *     woken          notes the waker                               asleep: tid ──► ..., waker
 *     switched in    adds the time to the sum                      slept: stack, waker, why ──► sum
 *                    or sends it by itself, if times are wanted
 *
 * Stacks are those of walk.h: a new one crosses over whole, and is named by hash, thread and space.
 */
#ifndef CAIRN_BPF_OFF_CPU_H
#define CAIRN_BPF_OFF_CPU_H

#include "bpf/walk.h"

enum {
    CAIRN_BPF_TARGETS_MAX = 1 << 16, /* processes */
    CAIRN_BPF_ASLEEP_MAX = 1 << 16,  /* threads */
    CAIRN_BPF_SLEPT_MAX = 1 << 16,
    CAIRN_BPF_WOKEN_MAX = 1 << 10, /* threads at once */
    CAIRN_BPF_NAME_BYTES = 16,
    CAIRN_BPF_IRQ_MAX = 8
};

/* What is done with a process. */
enum cairn_bpf_target {
    CAIRN_BPF_TARGET = 1,          /* its threads are measured */
    CAIRN_BPF_TARGET_FROM_EXEC = 2 /* from its next execve(2) on */
};

/* Why a thread is off the CPU. */
enum cairn_bpf_off {
    CAIRN_BPF_OFF_SLEEP,   /* waits for something that a signal may end */
    CAIRN_BPF_OFF_BLOCKED, /* waits for something that nothing else ends: disks, locks in the kernel
                            */
    CAIRN_BPF_OFF_PREEMPTED, /* would run on, but another one has the CPU; also yielded */
    CAIRN_BPF_OFF_STOPPED    /* by a signal or a debugger */
};

/* Of the kernel's text. */
struct cairn_bpf_code {
    __u64 start, end; /* [start, end); 0: none */
};

struct cairn_bpf_slept_key {
    __u64 hash; /* of the stack, as its message has it */
    __u32 tid, id;
    __u32 waker_pid, waker_tid; /* 0: nobody, an interrupt, somebody outside, or not told */
    __u8 why;                   /* enum cairn_bpf_off */
    __u8 by_interrupt;
    __u8 reserved[6];
    char waker[CAIRN_BPF_NAME_BYTES]; /* the thread's name */
};

/* Who was woken while it left its CPU, when it was not noted to be asleep yet. */
struct cairn_bpf_woken {
    struct cairn_bpf_slept_key by; /* of which what tells the waker alone */
    __u64 time_ns;                 /* CLOCK_MONOTONIC */
    __u64 is_sure;                 /* it slept then; else it may have gone on */
};

/* A message: CAIRN_BPF_SLEPT. */
struct cairn_bpf_slept {
    struct cairn_bpf_stack stack;
    struct cairn_bpf_slept_key key;
};

/* A thread that is off the CPU now. */
struct cairn_bpf_asleep {
    struct cairn_bpf_slept_key key;
    __u64 since_ns; /* CLOCK_MONOTONIC */
    __u64 by_look;  /* noted by a look from outside, not at a switch */
};

#endif /* CAIRN_BPF_OFF_CPU_H */

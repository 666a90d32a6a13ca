/* SPDX-License-Identifier: MIT */
/*
 * Call CPU: the tracer runs where the thread that it stops runs. Of two CPUs each would sleep while
 * the other works, and waking a CPU takes longer than all the rest of a stop, in a virtual machine
 * ten times as long. The traced threads run where they like.
 */
#ifndef CAIRN_PROC_CALL_CPU_H
#define CAIRN_PROC_CALL_CPU_H

#include <sched.h>
#include <stdbool.h>

struct cairn_call_cpu {
    bool is_wanted; /* threads that are started meanwhile would have one CPU */
    bool is_pinned;
    int cpu;
    unsigned n_stops;
    cpu_set_t before; /* where this thread may run */
};

/* A thread was stopped: goes to its CPU, unless it did so lately. */
void cairn_call_cpu_follow(struct cairn_call_cpu *cpu, int tid);

/* This thread may run where it might before. */
void cairn_call_cpu_leave(struct cairn_call_cpu *cpu);

#endif /* CAIRN_PROC_CALL_CPU_H */

/* SPDX-License-Identifier: MIT */
/*
 * Call CPU: the tracer runs on the CPU of the thread that it stops. On two CPUs, each would sleep
 * while the other works. Waking a CPU takes longer than the rest of a stop, in a virtual machine
 * ten times as long. The traced threads are not moved.
 */
#ifndef CAIRN_PROC_CALL_CPU_H
#define CAIRN_PROC_CALL_CPU_H

#include <sched.h>
#include <stdbool.h>

struct cairn_call_cpu {
    bool is_wanted; /* threads that the tracer starts meanwhile inherit the one CPU */
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

/* SPDX-License-Identifier: MIT */
#include "proc/call_cpu.h"

#include "proc/process.h"

enum {
    FOLLOW_EVERY = 256, /* stops: a look costs some 15 us */
    PROCESSOR = 39      /* proc(5), stat */
};

static bool cpu_of(int tid, int *ret_cpu)
{
    uint64_t cpu;
    if (!cairn_process_stat_field(tid, PROCESSOR, &cpu) || cpu >= CPU_SETSIZE)
        return false;
    *ret_cpu = (int)cpu;
    return true;
}

void cairn_call_cpu_follow(struct cairn_call_cpu *cpu, int tid)
{
    int number;
    cpu_set_t one;
    if (!cpu->is_wanted || cpu->n_stops++ % FOLLOW_EVERY != 0 || !cpu_of(tid, &number) ||
        (cpu->is_pinned && cpu->cpu == number))
        return;
    if (!cpu->is_pinned && sched_getaffinity(0, sizeof cpu->before, &cpu->before) < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET((unsigned)number, &one);
    if (!CPU_ISSET((unsigned)number, &cpu->before) || sched_setaffinity(0, sizeof one, &one) < 0)
        return;
    cpu->is_pinned = true;
    cpu->cpu = number;
}

void cairn_call_cpu_leave(struct cairn_call_cpu *cpu)
{
    if (cpu->is_pinned)
        (void)sched_setaffinity(0, sizeof cpu->before, &cpu->before);
    cpu->is_pinned = false;
    cpu->n_stops = 0;
}

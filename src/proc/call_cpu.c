/* SPDX-License-Identifier: MIT */
#include "proc/call_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "proc/process.h"

enum {
    FOLLOW_EVERY = 256, /* stops: a look costs some 15 us */
    STAT_BYTES = 4096,
    FIELD = 39 - 3 /* proc(5): processor is number 39, and number 3 follows the name */
};

static bool cpu_of(int tid, int *ret_cpu)
{
    struct cairn_buffer text = {0};
    const char *at = NULL;
    if (cairn_process_slurp(tid, "stat", STAT_BYTES, &text, NULL) == CAIRN_OK)
        at = strrchr(cairn_buffer_text(&text), ')'); /* behind the name, which may hold anything */
    for (int i = 0; at && i <= FIELD; i++)
        at = strchr(at + 1, ' ');
    if (at)
        *ret_cpu = (int)strtol(at + 1, NULL, 10);
    cairn_buffer_done(&text);
    return at && *ret_cpu >= 0 && *ret_cpu < CPU_SETSIZE;
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

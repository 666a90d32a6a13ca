/* SPDX-License-Identifier: MIT */
/* CPU time: what all CPUs together have spent. */
#ifndef CAIRN_SAMPLE_CPU_TIME_H
#define CAIRN_SAMPLE_CPU_TIME_H

#include <stdint.h>

/* Of `text`, which /proc/stat begins with: in processes and in the kernel for them, without
 * interrupts, since the machine started. 0: it says nothing of the kind. */
uint64_t cairn_cpu_time_parse(const char *text, long ticks_per_second);

/* Of this machine; it is counted by ticks of 10 ms, mostly. 0: not known. */
uint64_t cairn_cpu_time_ns(void);

#endif /* CAIRN_SAMPLE_CPU_TIME_H */

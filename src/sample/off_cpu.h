/* SPDX-License-Identifier: MIT */
/*
 * Off CPU: what threads slept, summed up in the kernel by stack, waker and reason, becomes samples
 * that say so in their labels; or, where times are wanted, each by itself. The stacks come through
 * the walk intake.
 */
#ifndef CAIRN_SAMPLE_OFF_CPU_H
#define CAIRN_SAMPLE_OFF_CPU_H

#include "bpf/off_cpu_programs.h"
#include "sample/collect.h"

struct cairn_walk_intake;
struct cairn_slept_known;

struct cairn_off_cpu_sums {
    struct cairn_table by_key; /* hash of a key of the kernel's -> number in `known` */
    struct cairn_slept_known *known;
    size_t n_known, cap_known;
    uint64_t n_lost; /* times off the CPU whose stack did not come */
};

void cairn_off_cpu_sums_done(struct cairn_off_cpu_sums *sums);

/* One that is told by itself, where times are wanted. */
int cairn_off_cpu_pass(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                       const struct cairn_bpf_slept *slept);

/* Memory that they take. */
uint64_t cairn_off_cpu_sums_bytes(const struct cairn_off_cpu_sums *sums);

/* Adds what came since the last time; at the end also who has not come back, with what it slept
 * until now. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_off_cpu_sums_add(struct cairn_walk_intake *intake, struct cairn_collect *collect,
                           bool is_end);

/* Samples of the profile have other numbers (fold.h). */
void cairn_off_cpu_sums_renumber(struct cairn_off_cpu_sums *sums, const uint32_t *numbers);

#endif /* CAIRN_SAMPLE_OFF_CPU_H */

/* SPDX-License-Identifier: MIT */
/*
 * Off-CPU programs: how long threads of chosen processes are off a CPU, by stack and by who wakes
 * them. A part of the walker (walker.h), which has the stacks and knows the rights that are needed.
 */
#ifndef CAIRN_BPF_OFF_CPU_PROGRAMS_H
#define CAIRN_BPF_OFF_CPU_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/error.h>

#include "bpf/off_cpu.h"

struct walk_bpf;

enum { CAIRN_OFF_CPU_PROGRAMS = 5 };

struct cairn_off_cpu_opts {
    bool all;        /* every process, but threads of the kernel */
    bool is_cgroup;  /* of them those in this cgroup of version 2, and in those below it */
    int cgroup_fd;   /* its folder; borrowed until the start */
    bool no_inherit; /* not what targets start */
    bool user_only;  /* no frames of the kernel */
};

struct cairn_off_cpu {
    struct walk_bpf *program; /* borrowed */
    bool is_cgroup;
    int cgroup_fd;
    struct bpf_link *links[CAIRN_OFF_CPU_PROGRAMS];
    bool is_told; /* that who sleeps already cannot be looked at */
};

/* Before the walker's programs are loaded: with these, or, where `opts` is NULL, without. */
void cairn_off_cpu_prepare(struct walk_bpf *program, const struct cairn_off_cpu_opts *opts);

/* A process whose threads are measured; from its next execve(2) on. 0 or a negative errno. */
int cairn_off_cpu_add(struct cairn_off_cpu *off, int pid, bool from_exec);

/* From now on. CAIRN_E_ACCESS, CAIRN_E_SUPPORT. */
int cairn_off_cpu_start(struct cairn_off_cpu *off, struct cairn_err *err);

/* After the start: threads of a process that sleep already count as asleep from now on. Their
 * stacks are handed to `fn`, as the walker hands over those that it walked: frames lie behind the
 * stack. What cannot be done is told to cairn_log(); CAIRN_E_NOMEM. Linux 5.18. */
typedef int (*cairn_off_cpu_stack_fn)(void *ctx, const struct cairn_bpf_stack *stack,
                                      const uint64_t *frames);
int cairn_off_cpu_before(struct cairn_off_cpu *off, int pid, cairn_off_cpu_stack_fn fn, void *ctx);

/* No more: what is asleep stays so. */
void cairn_off_cpu_stop(struct cairn_off_cpu *off);

/* What was slept since the start, each key once; a negative answer stops, and comes back. Where
 * there is no room for more all are forgotten, and begin anew: `ret_forgotten`. */
typedef int (*cairn_off_cpu_fn)(void *ctx, const struct cairn_bpf_slept_key *key,
                                const struct cairn_bpf_sum *sum);
int cairn_off_cpu_slept(struct cairn_off_cpu *off, cairn_off_cpu_fn fn, void *ctx,
                        bool *ret_forgotten);

/* Who is off the CPU still, with how long that is by now. */
int cairn_off_cpu_asleep(struct cairn_off_cpu *off, uint64_t now_ns, cairn_off_cpu_fn fn,
                         void *ctx);

/* Times off the CPU that are not told. */
uint64_t cairn_off_cpu_lost(const struct cairn_off_cpu *off);

/* Those of them whose end was not seen; for the others there was no room. */
uint64_t cairn_off_cpu_unseen(const struct cairn_off_cpu *off);

#endif /* CAIRN_BPF_OFF_CPU_PROGRAMS_H */

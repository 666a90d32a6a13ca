/* SPDX-License-Identifier: MIT */
/*
 * Targets: who is sampled, and who of them lives.
 *
 *     processes   a command of ours, or those that were named: with all that they start
 *     all         every CPU, whoever runs there
 *     cgroup      every CPU, while one of the group runs there
 */
#ifndef CAIRN_SAMPLE_TARGETS_H
#define CAIRN_SAMPLE_TARGETS_H

#include <cairn/sampler.h>

#include "base/buffer.h"

struct cairn_sample_target {
    int pid;
    int fd; /* readable when the process has ended; -1: the kernel has none */
    bool has_ended;
};

struct cairn_targets {
    struct cairn_sample_target *items;
    size_t n, cap;
    bool is_all;
    bool is_cgroup;
    bool is_machine;            /* all, by either name: CPUs are sampled at their rest, too */
    int cgroup_fd;              /* where is_cgroup */
    struct cairn_buffer cgroup; /* its folder */
};

/* What the options name; a command is added when it is there. CAIRN_E_MISSING: none of the
 * processes is there, or no such group. `ret_targets` is all-zero before, and may be closed
 * whatever comes back. */
int cairn_targets_open(const struct cairn_sampler_opts *opts, struct cairn_targets *ret_targets,
                       struct cairn_err *err);
int cairn_targets_add(struct cairn_targets *targets, int pid, struct cairn_err *err);
void cairn_targets_close(struct cairn_targets *targets); /* all-zero is fine */

/* Are whole CPUs sampled? */
static inline bool cairn_targets_are_cpus(const struct cairn_targets *targets)
{
    return targets->is_all || targets->is_cgroup;
}

/* Is any process left? Of CPUs there always is. */
bool cairn_targets_live(struct cairn_targets *targets);

/* Readable when the first of those that live has ended; -1: nobody tells. */
int cairn_targets_fd(const struct cairn_targets *targets);

/* What a person would call them, appended: a process's arguments, "2 processes: 12, 13", "all
 * processes", "cgroup /sys/fs/cgroup/x". */
void cairn_targets_text(const struct cairn_targets *targets, struct cairn_buffer *ret_text);

/* Calls `fn` for each process that is there now: those that were named, or may run on the CPUs, but
 * for kernel threads. False from it ends that. */
typedef bool (*cairn_targets_fn)(void *ctx, int pid);
void cairn_targets_each(const struct cairn_targets *targets, cairn_targets_fn fn, void *ctx);

#endif /* CAIRN_SAMPLE_TARGETS_H */

/* SPDX-License-Identifier: MIT */
/*
 * Pids, for programs in the kernel: the numbers of processes and threads as somebody sees them who
 * lives in a pid namespace (pid_namespaces(7)). A thread has one for each namespace around it:
 *
 *     level 0, the machine   4242     task->pid, which nobody in a container can do anything with
 *     level 1, a container     17     what /proc says there
 *     level 2, one in it        1
 */
#ifndef CAIRN_BPF_PIDS_BPF_H
#define CAIRN_BPF_PIDS_BPF_H

#include "bpf/kernel.h"

/* The number at `level`; 0: it has none there, for it has ended or lives further out. */
static __always_inline struct upid upid_at(struct task_struct *task, __u32 level)
{
    struct upid upid = {};
    struct pid *pid = BPF_CORE_READ(task, thread_pid);
    if (!pid || BPF_CORE_READ(pid, level) < level)
        return upid;
    const char *numbers = (const char *)pid + bpf_core_field_offset(struct pid, numbers);
    bpf_core_read(&upid, sizeof upid, numbers + level * bpf_core_type_size(struct upid));
    return upid;
}

#endif /* CAIRN_BPF_PIDS_BPF_H */

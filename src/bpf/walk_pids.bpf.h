/* SPDX-License-Identifier: MIT */
/*
 * Walk pids: by which numbers who loaded the programs of walk.bpf.c knows processes and threads:
 * those of its own pid namespace, where that is not the machine's.
 */
#ifndef CAIRN_BPF_WALK_PIDS_BPF_H
#define CAIRN_BPF_WALK_PIDS_BPF_H

#include "bpf/pids.bpf.h"

/* Is it another namespace than the machine's first? What runs outside of it has no number then. */
const volatile __u32 cairn_is_inside = 0;

/* Which it is, found out by cairn_know_namespace(). */
__u32 cairn_ns_level = 0;
__u64 cairn_ns = 0;

/* Runs in the process that loaded it. */
SEC("syscall")
int cairn_know_namespace(void *ctx)
{
    struct task_struct *self = (struct task_struct *)bpf_get_current_task_btf();
    struct pid *pid = BPF_CORE_READ(self, thread_pid);
    (void)ctx;
    cairn_ns_level = BPF_CORE_READ(pid, level);
    cairn_ns = (__u64)upid_at(self, cairn_ns_level).ns;
    return 0;
}

/* 0: it has none, for it runs outside, or has ended. */
static __always_inline __u32 tid_of(struct task_struct *task)
{
    if (!cairn_is_inside)
        return task->pid;
    struct upid upid = upid_at(task, cairn_ns_level);
    return (__u64)upid.ns == cairn_ns ? upid.nr : 0;
}

static __always_inline __u32 pid_of(struct task_struct *task)
{
    return cairn_is_inside ? tid_of(task->group_leader) : task->tgid;
}

#endif /* CAIRN_BPF_WALK_PIDS_BPF_H */

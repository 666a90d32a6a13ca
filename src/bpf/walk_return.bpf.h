/* SPDX-License-Identifier: MIT */
/*
 * Walk return: what uprobes change on a thread's user side, for walk.bpf.c alone. Return probes of
 * any tracer replace return addresses by that of a page. The kernel keeps the true ones in a list,
 * with the stack pointer as each function began (kernel/events/uprobes.c, struct return_instance).
 * Single-stepped instructions run as a copy in the same page.
 */
#ifndef CAIRN_BPF_WALK_RETURN_H
#define CAIRN_BPF_WALK_RETURN_H

#include "bpf/walk_frame.bpf.h"

enum {
    RETURNS_MAX = 64, /* MAX_URETPROBE_DEPTH: the list is never longer */
    XOL_BYTES = 16    /* of an instruction's copy at most */
};

static __always_inline int is_replaced(const struct cairn_bpf_walk_cpu *cpu, __u64 ret)
{
    return cpu->replaced && ret - cpu->replaced < PAGE;
}

/* What return addresses are replaced by. A thread that has hit no probe costs one load. */
static __always_inline void know_replaced(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    cpu->replaced = 0;
    if (bpf_core_field_exists(task->utask) && bpf_core_field_exists(task->mm->uprobes_state) &&
        task->utask)
        cpu->replaced = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/* Of several probes on a function the first one has the true address. */
static long look_at_return(__u32 i, void *ctx)
{
    struct cairn_bpf_walk_cpu *cpu = *(struct cairn_bpf_walk_cpu **)ctx;
    struct return_instance *at = (struct return_instance *)cpu->search.at;
    (void)i;
    if (!at)
        return 1;
    if (BPF_CORE_READ(at, stack) - cpu->search.low <= cpu->search.high - cpu->search.low) {
        __u64 ret = BPF_CORE_READ(at, orig_ret_vaddr);
        if (!is_replaced(cpu, ret)) {
            cpu->search.ret = ret;
            return 1;
        }
    }
    cpu->search.at = (__u64)BPF_CORE_READ(at, next);
    return 0;
}

/* The innermost function that began with the stack pointer in [low, high] is what returns there. */
static __always_inline __u64 true_return_within(struct cairn_bpf_walk_cpu *cpu, __u64 ret,
                                                __u64 low, __u64 high)
{
    if (!is_replaced(cpu, ret))
        return ret;
    cpu->words.is_bad = 1; /* other true addresses would have the same words */
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    cpu->search.low = low;
    cpu->search.high = high;
    cpu->search.ret = ret;
    cpu->search.at = (__u64)BPF_CORE_READ(task, utask, return_instances);
    bpf_loop(RETURNS_MAX, look_at_return, &cpu, 0);
    return cpu->search.ret;
}

/* `stack`: what the stack pointer was as the function began. */
static __always_inline __u64 true_return(struct cairn_bpf_walk_cpu *cpu, __u64 ret, __u64 stack)
{
    return true_return_within(cpu, ret, stack, stack);
}

/* Bytes of the copy that lie below `off` bytes of the stack: pages that could not be read are left
 * out. ~0: so is this one. */
static __always_inline __u64 copied_below(const struct cairn_bpf_walk_cpu *cpu, __u64 off)
{
    __u64 first = PAGE - (cpu->repair.low & (PAGE - 1));
    __u64 page = off < first ? 0 : 1 + (off - first) / PAGE, pages = cpu->stack.pages;
    if (page >= CAIRN_BPF_COPY_PAGES || !(pages >> page & 1))
        return ~0ull;
    if (!page)
        return off;
    __u64 whole = __builtin_popcountll(pages & ((1ull << page) - 1) & ~1ull);
    return (pages & 1 ? first : 0) + whole * PAGE + ((off - first) & (PAGE - 1));
}

/* Of several probes on a function the first one comes last, and has the true address. */
static long repair_return(__u32 i, void *ctx)
{
    struct cairn_bpf_walk_cpu *cpu = *(struct cairn_bpf_walk_cpu **)ctx;
    struct return_instance *of = (struct return_instance *)cpu->repair.of;
    (void)i;
    if (!of)
        return 1;
    __u64 off = BPF_CORE_READ(of, stack) - cpu->repair.low;
    __u64 ret = BPF_CORE_READ(of, orig_ret_vaddr), below = copied_below(cpu, off);
    if (below < cpu->stack.copied && !(off & 7) && !is_replaced(cpu, ret)) {
        __u64 at = cpu->repair.at + below / 8;
        HIDE(at);
        if (at < sizeof cpu->frames / sizeof *cpu->frames)
            cpu->frames[at] = ret;
    }
    cpu->repair.of = (__u64)BPF_CORE_READ(of, next);
    return 0;
}

/* A copy of the stack's top, from `low` on, is in words of `frames` from `at` on. Where calls put
 * the return address on the stack: whoever walks the copy finds the true ones. */
static __always_inline void repair_copy(struct cairn_bpf_walk_cpu *cpu, __u64 low, __u64 at)
{
    if (!cpu->replaced)
        return;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    cpu->repair.low = low;
    cpu->repair.at = at;
    cpu->repair.of = (__u64)BPF_CORE_READ(task, utask, return_instances);
    bpf_loop(RETURNS_MAX, repair_return, &cpu, 0);
}

#endif /* CAIRN_BPF_WALK_RETURN_H */

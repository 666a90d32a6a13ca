/* SPDX-License-Identifier: MIT */
/* Memory: the program at hardware breakpoints, a part of walk.bpf.c. See memory.h. */
#ifndef CAIRN_BPF_MEMORY_BPF_H
#define CAIRN_BPF_MEMORY_BPF_H

#include "bpf/memory.h"
#include "bpf/probe.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, CAIRN_TRACE_PROBES);
    __type(key, __u32);
    __type(value, struct cairn_bpf_memory);
} trace_memory SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, CAIRN_MEMORY_LAST_MAX);
    __type(key, struct cairn_bpf_memory_key);
    __type(value, __u64);
} trace_memory_last SEC(".maps");

/* Processes that have a breakpoint. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_MEMORY_PIDS_MAX);
    __type(key, __u32);
    __type(value, __u32);
} trace_memory_pids SEC(".maps");

/* Other processes may have the same address: what lies there is theirs. */
static __always_inline int is_watched(const struct cairn_bpf_memory *at, struct task_struct *task)
{
    return !at->stack_start || (task->mm && task->mm->start_stack == at->stack_start);
}

static __always_inline int read_value(const struct cairn_bpf_memory *at, __u64 *ret_value)
{
    __u64 value = 0, size = at->bytes;
    HIDE(size);
    if (!size || size > sizeof value)
        return -1;
    if (at->stack_start ? bpf_probe_read_user(&value, size, (void *)at->va)
                        : bpf_probe_read_kernel(&value, size, (void *)at->va))
        return -1;
    const __u64 unused = 64 - 8 * size;
    *ret_value = (__u64)((__s64)(value << (unused & 63)) >> (unused & 63));
    return 0;
}

/* The value now, and at the hit before in this address space. */
static __always_inline void take_values(const struct cairn_bpf_memory *at, __u32 number,
                                        struct hit *hit)
{
    const struct cairn_bpf_memory_key key = {.mm = at->stack_start ? (__u64)hit->task->mm : 0,
                                             .number = number};
    __u64 value, *args = hit->of->args,
                 known = 1 << CAIRN_MEMORY_ADDRESS | 1 << CAIRN_MEMORY_SYMBOL;
    __builtin_memset(args, 0, sizeof hit->of->args);
    args[CAIRN_MEMORY_ADDRESS] = at->va;
    if (at->bytes && !read_value(at, &value)) {
        __u64 *last = bpf_map_lookup_elem(&trace_memory_last, &key);
        args[CAIRN_MEMORY_VALUE] = value;
        known |= 1 << CAIRN_MEMORY_VALUE;
        if (last) {
            args[CAIRN_MEMORY_PREVIOUS] = *last;
            known |= 1 << CAIRN_MEMORY_PREVIOUS;
            *last = value;
        } else {
            bpf_map_update_elem(&trace_memory_last, &key, &value, BPF_ANY);
        }
    }
    args[CAIRN_MEMORY_KNOWN] = known;
}

/* The stack of an access: of the kernel's own accesses with its frames. */
static __always_inline void take_accessor(struct bpf_perf_event_data *ctx,
                                          const struct cairn_bpf_memory *at, struct hit *hit)
{
    struct cairn_bpf_walk_cpu *cpu = hit->cpu;
    if (is_user(MODE_OF(&ctx->regs)) && !is_user_32(MODE_OF(&ctx->regs))) {
        if (at->bytes && stands_behind(cpu, &ctx->regs, at->va, at->bytes))
            cpu->behind = CAIRN_BPF_BEHIND;
        take_stack(cpu, hit->task, &ctx->regs, 0, hit->of, hit->stats);
        cpu->behind = 0;
        return;
    }
    take_both(ctx, hit);
}

/* In the program's own code the event has them. */
static __always_inline void keep_regs_of_event(struct bpf_perf_event_data *ctx, struct hit *hit)
{
    if (is_user(MODE_OF(&ctx->regs)))
        keep_regs(&ctx->regs, hit->of);
    else
        keep_entered_regs(hit->task, hit->of);
}

SEC("perf_event")
int cairn_trace_memory(struct bpf_perf_event_data *ctx)
{
    struct hit hit = {};
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    __u32 row = bpf_get_attach_cookie(ctx), number = row - CAIRN_TRACE_CALLS;
    __u32 cpu_number = bpf_get_smp_processor_id();
    struct cairn_bpf_memory *at = bpf_map_lookup_elem(&trace_memory, &number);
    struct cairn_bpf_walk_cpu *cpu = bpf_map_lookup_elem(&cpus, &cpu_number);
    if (!at || !cpu || cpu->busy || !is_watched(at, task)) /* busy: a walk of ours reads it */
        return 0;
    if (!begin_hit(ctx, &hit, 0))
        return 0;
    take_values(at, number, &hit);
    if (!judge_hit(&hit))
        return 0;
    keep_regs_of_event(ctx, &hit);
    if (!cairn_trace_no_stack)
        take_accessor(ctx, at, &hit);
    end_hit(&hit);
    return 0;
}

/* A page fault, where the CPU's tracepoints are not there. */
SEC("perf_event")
int cairn_trace_fault(struct bpf_perf_event_data *ctx)
{
    struct hit hit = {};
    if (!begin_hit(ctx, &hit, 0))
        return 0;
    __builtin_memset(hit.of->args, 0, sizeof hit.of->args);
    hit.of->args[CAIRN_MEMORY_ADDRESS] = ctx->addr;
    if (!judge_hit(&hit))
        return 0;
    keep_regs_of_event(ctx, &hit);
    if (!cairn_trace_no_stack && is_user(MODE_OF(&ctx->regs)) && !is_user_32(MODE_OF(&ctx->regs)))
        take_stack(hit.cpu, hit.task, &ctx->regs, 0, hit.of, hit.stats);
    else
        take_both(ctx, &hit);
    end_hit(&hit);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int cairn_trace_replaced(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[0];
    __u32 tgid = pid_of(task);
    __u32 *state = bpf_map_lookup_elem(&trace_memory_pids, &tgid);
    if (state)
        *state = CAIRN_MEMORY_REPLACED;
    return 0;
}

#endif /* CAIRN_BPF_MEMORY_BPF_H */

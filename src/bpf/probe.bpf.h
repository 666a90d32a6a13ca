/* SPDX-License-Identifier: MIT */
/*
 * Probe: the programs at probes and tracepoints, a part of walk.bpf.c. See trace.h. The cookie of
 * what they are attached to is the row; above it, of a USDT probe, is the number of the place.
 */
#ifndef CAIRN_BPF_PROBE_BPF_H
#define CAIRN_BPF_PROBE_BPF_H

#include "bpf/trace.bpf.h"

const volatile __u32 cairn_trace_user_only = 0;   /* no frames of the kernel */
const volatile __u32 cairn_trace_kernel_only = 0; /* no others, and no user memory is read */

struct hit {
    struct cairn_bpf_walk_cpu *cpu;
    struct cairn_bpf_trace_cpu *stats;
    struct cairn_bpf_call *call;
    struct cairn_bpf_pending *of;
    struct task_struct *task;
    __s64 ret;
    int has_ret;
};

/* Does the record of a tracepoint name a target, whoever runs? */
static __always_inline int names_target(void *ctx, struct task_struct *task)
{
    __u32 row = bpf_get_attach_cookie(ctx), pid = 0;
    struct cairn_bpf_call *call = bpf_map_lookup_elem(&trace_calls, &row);
    if (!call || !(call->flags & CAIRN_TRACE_NAMES_PID) || task->tgid == (int)cairn_trace_self)
        return 0;
    if (cairn_is_inside) /* the record has the machine's number, and we have our namespace's */
        return 0;
    __u64 off = call->record_pid;
    if (bpf_probe_read_kernel(&pid, sizeof pid, (char *)ctx + off))
        return 0;
    if (cairn_trace_tid)
        return pid == cairn_trace_tid;
    __u32 *target = bpf_map_lookup_elem(&targets, &pid);
    return target && *target == CAIRN_BPF_TARGET;
}

/* False: the hit is not traced, or is lost. Else the CPU's space is busy until judge_hit() says no,
 * or end_hit(). */
static __always_inline int begin_hit(void *ctx, struct hit *hit, int is_record)
{
    __u32 zero = 0, number = bpf_get_smp_processor_id(), row = bpf_get_attach_cookie(ctx);
    hit->task = (struct task_struct *)bpf_get_current_task_btf();
    if (!is_traced(hit->task) && !(is_record && names_target(ctx, hit->task)))
        return 0;
    hit->cpu = bpf_map_lookup_elem(&cpus, &number);
    hit->stats = bpf_map_lookup_elem(&trace_cpus, &zero);
    hit->call = bpf_map_lookup_elem(&trace_calls, &row);
    hit->of = bpf_map_lookup_elem(&trace_now, &zero);
    if (!hit->cpu || !hit->stats || !hit->call || !hit->of)
        return 0;
    hit->stats->n_seen++;
    if (hit->cpu->busy) {
        hit->stats->n_busy++;
        hit->stats->n_lost++;
        return 0;
    }
    hit->cpu->busy = 1;
    set_row(hit->of, hit->task, row);
    hit->of->start_ns = bpf_ktime_get_ns();
    hit->of->payload.n_text[0] = hit->of->payload.n_text[1] = hit->of->payload.n_data = 0;
    return 1;
}

/* Of what a function returns all comparisons can be made at once. */
static __always_inline int judge_hit(struct hit *hit)
{
    hit->of->ret = hit->ret;
    hit->of->ns = 0;
    if (holds(hit->call, hit->of, 0) && (!hit->has_ret || holds(hit->call, hit->of, 1)))
        return 1;
    hit->stats->n_filtered++;
    hit->cpu->busy = 0;
    return 0;
}

static __always_inline void end_hit(struct hit *hit)
{
    report(hit->call, hit->of, hit->ret, hit->of->start_ns, hit->has_ret, 0, hit->stats);
    hit->cpu->busy = 0;
}

/* A function that is called, or has returned. */
static __always_inline int begin_function(const bpf_user_pt_regs_t *regs, struct hit *hit)
{
    if (!begin_hit((void *)regs, hit, 0))
        return 0;
    hit->ret = cairn_trace_widen(RETURNED(regs), hit->call->ret_width);
    hit->has_ret = hit->call->flags & CAIRN_TRACE_AT_RETURN;
    function_args(regs, hit->of->args);
    return judge_hit(hit);
}

/* Texts that the arguments point to. */
static __always_inline void take_pointed(struct hit *hit, int is_kernel)
{
    if (cairn_trace_limit || hit->call->flags & CAIRN_TRACE_EACH)
        take_texts(hit->call, hit->of, 0, is_kernel);
}

/* The user side, and where the kernel's code was hit that side, too. */
static __always_inline void take_both(void *ctx, struct hit *hit)
{
    if (cairn_trace_no_stack)
        return;
    hit->stats->n_walked++;
    begin_walk(hit->cpu, hit->task);
    if (cairn_trace_kernel_only)
        hit->cpu->end = CAIRN_END_KERNEL;
    else if (take_regs(0, hit->cpu, hit->task))
        walk_on(hit->cpu, hit->task);
    if (!keep_stack(cairn_trace_user_only ? 0 : ctx, hit->cpu, hit->task, hit->of))
        hit->stats->n_stacks_lost++;
}

SEC("uprobe")
int cairn_trace_uprobe(bpf_user_pt_regs_t *regs)
{
    struct hit hit = {};
    if (!begin_function(regs, &hit))
        return 0;
    keep_regs(regs, hit.of);
    if (!cairn_trace_no_stack)
        take_stack(hit.cpu, hit.task, regs, 0, hit.of, hit.stats);
    take_pointed(&hit, 0);
    end_hit(&hit);
    return 0;
}

SEC("kprobe")
int cairn_trace_kprobe(bpf_user_pt_regs_t *regs)
{
    struct hit hit = {};
    if (!begin_function(regs, &hit))
        return 0;
    keep_entered_regs(hit.task, hit.of);
    take_both(regs, &hit);
    take_pointed(&hit, 1);
    end_hit(&hit);
    return 0;
}

/* The record of a tracepoint is copied whole: user space knows its fields. */
static __always_inline void take_record(void *ctx, struct hit *hit)
{
    __u64 size = hit->call->record_bytes;
    HIDE(size);
    if (!size || size > sizeof hit->of->payload.text)
        return;
    if (bpf_probe_read_kernel(hit->of->payload.text, size, ctx))
        return;
    hit->of->payload.n_text[0] = size;
}

SEC("tracepoint")
int cairn_trace_point(void *ctx)
{
    struct hit hit = {};
    if (!begin_hit(ctx, &hit, 1))
        return 0;
    __builtin_memset(hit.of->args, 0, sizeof hit.of->args);
    if (!judge_hit(&hit))
        return 0;
    keep_entered_regs(hit.task, hit.of);
    take_both(ctx, &hit);
    if (cairn_trace_limit || hit.call->flags & CAIRN_TRACE_EACH)
        take_record(ctx, &hit);
    end_hit(&hit);
    return 0;
}

#endif /* CAIRN_BPF_PROBE_BPF_H */

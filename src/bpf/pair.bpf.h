/* SPDX-License-Identifier: MIT */
/*
 * Pair: the programs where a function begins and where it returns, which make one event of both; a
 * part of walk.bpf.c. See trace.h.
 *
 * Each thread has a list of its calls under way, a level for each. It follows the kernel's own list
 * of return addresses that uretprobes replaced (kernel/events/uprobes.c, struct return_instance):
 *
 *     function begins at sp     levels at sp or below are dropped: longjmp(3) or an exception has
 *                               left them. At sp itself they stay where the function was jumped to
 *                               (a tail call): then all of them return at once
 *     function returns at sp    levels below are dropped; that of this sp and row has the begin
 *
 * Levels of the kernel's functions are dropped on one stack alone: interrupts have another one.
 */
#ifndef CAIRN_BPF_PAIR_BPF_H
#define CAIRN_BPF_PAIR_BPF_H

#include "bpf/probe.bpf.h"

enum { KERNEL_STACK = 16384 /* THREAD_SIZE */, NO_ROW = CAIRN_TRACE_ROWS };

__u32 cairn_trace_threads = 0; /* that have entered a pair; numbers them */

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct cairn_bpf_levels);
} trace_levels SEC(".maps");

/* By level_key(). */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_TRACE_ENTERED_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u64);
    __type(value, struct cairn_bpf_pending);
} trace_entered SEC(".maps");

static __always_inline __u64 level_key(const struct cairn_bpf_levels *levels, __u64 index)
{
    return (__u64)levels->thread << 32 | index;
}

struct dropping {
    struct cairn_bpf_levels *levels;
    struct cairn_bpf_trace_cpu *stats;
    __u64 below; /* levels below this address are dropped */
    int is_kernel;
};

/* In the program's own code no function of the kernel is under way. */
static __always_inline int is_left(const struct dropping *d, __u64 sp)
{
    if (!d->is_kernel)
        return sp < d->below || (__s64)sp < 0;
    return sp < d->below && !((sp ^ d->below) & ~(__u64)(KERNEL_STACK - 1));
}

static long drop_level(__u32 i, void *ctx)
{
    struct dropping *d = ctx;
    __u64 top = (__u64)d->levels->n - 1;
    (void)i;
    HIDE(top);
    if (top >= CAIRN_TRACE_LEVELS || !is_left(d, d->levels->at[top].sp))
        return 1;
    if (d->levels->at[top].is_stored) {
        __u64 key = level_key(d->levels, top);
        bpf_map_delete_elem(&trace_entered, &key);
        d->stats->n_unreturned++;
    }
    d->levels->n = top;
    return 0;
}

static __always_inline void drop_levels(struct cairn_bpf_levels *levels,
                                        struct cairn_bpf_trace_cpu *stats, __u64 below,
                                        int is_kernel)
{
    struct dropping d = {.levels = levels, .stats = stats, .below = below, .is_kernel = is_kernel};
    __u64 top = (__u64)levels->n - 1;
    HIDE(top);
    if (top < CAIRN_TRACE_LEVELS && is_left(&d, levels->at[top].sp))
        bpf_loop(CAIRN_TRACE_LEVELS, drop_level, &d, 0);
}

/* Was the function jumped to from one that a uretprobe is on? */
static __always_inline int is_jumped_to(const bpf_user_pt_regs_t *regs, struct task_struct *task)
{
    if (!bpf_core_field_exists(task->mm->uprobes_state))
        return 0;
    __u64 replaced = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
    return replaced && return_address(regs) - replaced < PAGE;
}

/* The level of a call that begins; NULL: there are too many. */
static __always_inline struct cairn_bpf_level *
add_level(const bpf_user_pt_regs_t *regs, struct cairn_bpf_levels *levels,
          struct cairn_bpf_trace_cpu *stats, struct task_struct *task, __u32 row, int is_kernel)
{
    __u64 sp = STACK_OF(regs);
    drop_levels(levels, stats, sp, is_kernel);
    __u64 n = levels->n, top = n - 1;
    HIDE(top);
    if (top < CAIRN_TRACE_LEVELS && levels->at[top].sp == sp &&
        (is_kernel || !is_jumped_to(regs, task)))
        drop_levels(levels, stats, sp + 1, is_kernel);
    n = levels->n;
    HIDE(n);
    if (n >= CAIRN_TRACE_LEVELS)
        return 0;
    levels->n = n + 1;
    levels->at[n].sp = sp;
    levels->at[n].row = row;
    levels->at[n].is_stored = 0;
    return &levels->at[n];
}

static __always_inline struct cairn_bpf_levels *levels_of(struct task_struct *task)
{
    struct cairn_bpf_levels *levels =
        bpf_task_storage_get(&trace_levels, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (levels && !levels->thread)
        levels->thread = __sync_fetch_and_add(&cairn_trace_threads, 1) + 1;
    return levels;
}

/* The call's begin is kept until it returns. */
static __always_inline void store(struct hit *hit, struct cairn_bpf_levels *levels,
                                  struct cairn_bpf_level *level)
{
    __u64 key = level_key(levels, levels->n - 1);
    hit->of->start_ns = bpf_ktime_get_ns(); /* what was done here is no part of the call */
    if (bpf_map_update_elem(&trace_entered, &key, hit->of, BPF_ANY))
        hit->stats->n_lost++;
    else
        level->is_stored = 1;
    hit->cpu->busy = 0;
}

/* NULL: the call is no target's, is filtered out or is lost. Its level is there in any case: which
 * begin a return belongs to depends on all of them. */
static __always_inline struct cairn_bpf_level *begin_pair(const bpf_user_pt_regs_t *regs,
                                                          struct hit *hit,
                                                          struct cairn_bpf_levels **ret_levels,
                                                          int is_kernel)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    __u32 zero = 0, row = bpf_get_attach_cookie((void *)regs);
    struct cairn_bpf_trace_cpu *stats = bpf_map_lookup_elem(&trace_cpus, &zero);
    struct cairn_bpf_level *level = 0;
    if (!stats || !is_traced(task))
        return 0;
    struct cairn_bpf_levels *levels = levels_of(task);
    if (levels)
        level = add_level(regs, levels, stats, task, row, is_kernel);
    if (!begin_function(regs, hit))
        return 0;
    if (!level) {
        hit->stats->n_lost++;
        hit->cpu->busy = 0;
    }
    *ret_levels = levels;
    return level;
}

static __always_inline int take_begin(bpf_user_pt_regs_t *regs, int is_kernel)
{
    struct hit hit = {};
    struct cairn_bpf_levels *levels = 0;
    struct cairn_bpf_level *level = begin_pair(regs, &hit, &levels, is_kernel);
    if (!level || !levels)
        return 0;
    if (is_kernel)
        keep_entered_regs(hit.task, hit.of);
    else
        keep_regs(regs, hit.of);
    if (is_kernel)
        take_both(regs, &hit);
    else if (!cairn_trace_no_stack)
        take_stack(hit.cpu, hit.task, regs, 0, hit.of, hit.stats);
    take_pointed(&hit, is_kernel);
    store(&hit, levels, level);
    return 0;
}

SEC("uprobe")
int cairn_trace_begin(bpf_user_pt_regs_t *regs)
{
    return take_begin(regs, 0);
}

SEC("kprobe")
int cairn_trace_kernel_begin(bpf_user_pt_regs_t *regs)
{
    return take_begin(regs, 1);
}

struct finding {
    const struct cairn_bpf_levels *levels;
    __u64 sp;
    __u32 row, at; /* at: CAIRN_TRACE_LEVELS, there is no such level */
};

static long find_level(__u32 i, void *ctx)
{
    struct finding *f = ctx;
    __u64 at = (__u64)f->levels->n - 1 - i;
    HIDE(at);
    if (at >= CAIRN_TRACE_LEVELS)
        return 1;
    if (f->levels->at[at].sp != f->sp || f->levels->at[at].row != f->row)
        return 0;
    f->at = at;
    return 1;
}

/* Above it may be those of other probes on the same function, or of functions that it was jumped to
 * from; they return next. */
static __always_inline void remove_level(struct cairn_bpf_levels *levels, __u64 at)
{
    levels->at[at].row = NO_ROW;
    levels->at[at].is_stored = 0;
    __u64 top = (__u64)levels->n - 1;
    HIDE(top);
    if (top < CAIRN_TRACE_LEVELS && levels->at[top].row == NO_ROW)
        levels->n = top--;
    HIDE(top);
    if (top < CAIRN_TRACE_LEVELS && levels->at[top].row == NO_ROW)
        levels->n = top;
}

static __always_inline int end_pair(const bpf_user_pt_regs_t *regs, int is_kernel)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    struct cairn_bpf_levels *levels = bpf_task_storage_get(&trace_levels, task, 0, 0);
    __u32 zero = 0;
    struct cairn_bpf_trace_cpu *stats = bpf_map_lookup_elem(&trace_cpus, &zero);
    if (!levels || !stats || !levels->n)
        return 0;
    struct finding f = {.levels = levels,
                        .sp = STACK_BEFORE_RETURN(regs),
                        .row = bpf_get_attach_cookie((void *)regs),
                        .at = CAIRN_TRACE_LEVELS};
    drop_levels(levels, stats, f.sp, is_kernel);
    bpf_loop(CAIRN_TRACE_LEVELS, find_level, &f, 0);
    __u64 at = f.at;
    HIDE(at);
    if (at >= CAIRN_TRACE_LEVELS)
        return 0;
    if (levels->at[at].is_stored) {
        __u64 key = level_key(levels, at);
        struct cairn_bpf_pending *of = bpf_map_lookup_elem(&trace_entered, &key);
        if (of)
            end_call(of, RETURNED(regs), 0);
        bpf_map_delete_elem(&trace_entered, &key);
    }
    remove_level(levels, at);
    return 0;
}

SEC("uprobe")
int cairn_trace_end(bpf_user_pt_regs_t *regs)
{
    return end_pair(regs, 0);
}

SEC("kprobe")
int cairn_trace_kernel_end(bpf_user_pt_regs_t *regs)
{
    return end_pair(regs, 1);
}

/* The thread exits, or calls execve(2): nothing that it was in returns. */
static __always_inline int drop_all(void)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    struct cairn_bpf_levels *levels = bpf_task_storage_get(&trace_levels, task, 0, 0);
    __u32 zero = 0;
    struct cairn_bpf_trace_cpu *stats = bpf_map_lookup_elem(&trace_cpus, &zero);
    if (levels && stats)
        drop_levels(levels, stats, ~0ull, 0);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int cairn_trace_pair_gone(__u64 *ctx)
{
    (void)ctx;
    return drop_all();
}

SEC("tp_btf/sched_process_exec")
int cairn_trace_pair_exec(__u64 *ctx)
{
    (void)ctx;
    return drop_all();
}

#endif /* CAIRN_BPF_PAIR_BPF_H */

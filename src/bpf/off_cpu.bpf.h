/* SPDX-License-Identifier: MIT */
/* Off CPU: the programs at the scheduler's tracepoints, a part of walk.bpf.c. See off_cpu.h. */
#ifndef CAIRN_BPF_OFF_CPU_BPF_H
#define CAIRN_BPF_OFF_CPU_BPF_H

#include "bpf/off_cpu.h"

enum {
    STATE_INTERRUPTIBLE = 1, /* include/linux/sched.h, TASK_* */
    STATE_UNINTERRUPTIBLE = 2,
    STATE_STOPPED = 4 | 8, /* by a signal, by a tracer */
    STATE_DEAD = 0x80 | 0x10 | 0x20,
    SKIP_MAX = 32,
    LEAVE_NS = 1000000, /* that a thread may take to leave its CPU, */
    DECIDE_NS = 10000,  /* and the scheduler to see that it is to */
    WAKE_FRAMES = 64
};

/* Processes that are measured. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_BPF_TARGETS_MAX);
    __type(key, __u32);
    __type(value, __u32);
} targets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_BPF_ASLEEP_MAX);
    __type(key, __u32);
    __type(value, struct cairn_bpf_asleep);
} asleep SEC(".maps");

/* The note of the thread that leaves the CPU, one for each CPU. It is no local variable, for the
 * walk needs nearly all of the program's stack. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cairn_bpf_asleep);
} falls_asleep SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_BPF_SLEPT_MAX);
    __type(key, struct cairn_bpf_slept_key);
    __type(value, struct cairn_bpf_sum);
} slept SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, CAIRN_BPF_WOKEN_MAX);
    __type(key, __u32);
    __type(value, struct cairn_bpf_woken);
} woken SEC(".maps");

/* One whose processes are measured. */
struct {
    __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} target_cgroup SEC(".maps");

/* Where the scheduler's own code lies: before it are the frames of this program. 0: not told. */
const volatile __u64 cairn_sched_start = 0, cairn_sched_end = 0;
const volatile __u32 cairn_off_all = 0;        /* every process that has a user side */
const volatile __u32 cairn_off_cgroup = 0;     /* of them those that are in target_cgroup */
const volatile __u32 cairn_off_user_only = 0;  /* no frames of the kernel */
const volatile __u32 cairn_off_no_inherit = 0; /* not what targets start */

__u64 cairn_off_lost = 0;   /* times off the CPU for which there was no room */
__u64 cairn_off_unseen = 0; /* those whose end was not seen */
__u32 cairn_off_skip = 0;   /* frames before the scheduler's; found out at the first stack */

struct wake {
    __u64 *frames;
    __u32 found;
};

/* Functions that stand on a stack only where an interrupt does, be it one that came or one whose
 * rest is worked off behind it: a thread that is woken there is not woken by who was interrupted.
 */
const volatile struct cairn_bpf_code cairn_irq[CAIRN_BPF_IRQ_MAX] = {};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64[WAKE_FRAMES]);
} wake_frames SEC(".maps");

static long find_irq(__u32 i, void *ctx)
{
    struct wake *wake = ctx;
    __u64 address = wake->frames[i & (WAKE_FRAMES - 1)];
    for (int k = 0; k < CAIRN_BPF_IRQ_MAX; k++)
        if (address >= cairn_irq[k].start && address < cairn_irq[k].end) {
            wake->found = 1;
            return 1;
        }
    return 0;
}

/* 1: yes, 0: no, -1: that cannot be told. */
static __always_inline int in_interrupt(void *ctx)
{
    __u32 zero = 0;
    struct wake wake = {.frames = bpf_map_lookup_elem(&wake_frames, &zero)};
    if (!wake.frames || !cairn_irq[0].end)
        return -1;
    long bytes = bpf_get_stack(ctx, wake.frames, WAKE_FRAMES * 8, 0);
    if (bytes <= 0)
        return -1;
    bpf_loop((__u64)bytes / 8, find_irq, &wake, 0);
    return (int)wake.found;
}

/* Of the thread that runs. */
static __always_inline int is_target(struct task_struct *task)
{
    __u32 tgid = pid_of(task);
    if (cairn_off_all || !tgid)
        return tgid && task->mm &&
               (!cairn_off_cgroup || bpf_current_task_under_cgroup(&target_cgroup, 0) == 1);
    __u32 *target = bpf_map_lookup_elem(&targets, &tgid);
    return target && *target == CAIRN_BPF_TARGET;
}

static __always_inline int is_sched(__u64 address)
{
    return address >= cairn_sched_start && address < cairn_sched_end;
}

struct search {
    struct cairn_bpf_walk_cpu *cpu;
    __u32 found;
};

static long find_sched(__u32 i, void *ctx)
{
    struct search *search = ctx;
    __u64 at = search->cpu->stack.n + i;
    if (at >= CAIRN_BPF_FRAMES_MAX + CAIRN_BPF_KERNEL_FRAMES_MAX)
        return 1;
    if (!is_sched(search->cpu->frames[at]))
        return 0;
    search->found = i;
    return 1;
}

/* The kernel's frames from the scheduler on. */
static __always_inline void add_kernel_from_sched(void *ctx, struct cairn_bpf_walk_cpu *cpu)
{
    struct search search = {.cpu = cpu};
    take_kernel(ctx, cpu, cairn_off_skip & (SKIP_MAX - 1));
    if (!cpu->stack.n_kernel || !cairn_sched_end)
        return;
    bpf_loop(SKIP_MAX, find_sched, &search, 0);
    if (!search.found)
        return;
    cairn_off_skip = (cairn_off_skip + search.found) & (SKIP_MAX - 1);
    take_kernel(ctx, cpu, cairn_off_skip & (SKIP_MAX - 1));
}

static __always_inline __u8 why_off(__u32 state, int preempted)
{
    if (preempted || !state)
        return CAIRN_BPF_OFF_PREEMPTED;
    if (state & STATE_STOPPED)
        return CAIRN_BPF_OFF_STOPPED;
    return state & STATE_INTERRUPTIBLE ? CAIRN_BPF_OFF_SLEEP : CAIRN_BPF_OFF_BLOCKED;
}

static __always_inline void add_up(struct cairn_bpf_asleep *was, __u64 now_ns)
{
    struct cairn_bpf_sum one = {.n = 1, .value = now_ns - was->since_ns};
    struct cairn_bpf_sum *sum = bpf_map_lookup_elem(&slept, &was->key);
    if (sum) {
        __sync_fetch_and_add(&sum->n, 1);
        __sync_fetch_and_add(&sum->value, one.value);
    } else if (bpf_map_update_elem(&slept, &was->key, &one, BPF_NOEXIST)) {
        __sync_fetch_and_add(&cairn_off_lost, 1);
    }
}

static __always_inline void tell(struct cairn_bpf_asleep *was, __u64 now_ns)
{
    struct cairn_bpf_slept *one = bpf_ringbuf_reserve(&ring, sizeof *one, 0);
    if (!one) {
        __sync_fetch_and_add(&cairn_off_lost, 1);
        return;
    }
    one->key = was->key;
    one->stack = (struct cairn_bpf_stack){.hash = was->key.hash,
                                          .tid = was->key.tid,
                                          .id = was->key.id,
                                          .what = CAIRN_BPF_SLEPT,
                                          .time_ns = now_ns,
                                          .value = now_ns - was->since_ns};
    bpf_ringbuf_submit(one, wake_flags(now_ns));
}

static __always_inline void end(struct task_struct *task, __u64 now_ns)
{
    __u32 tid = tid_of(task);
    struct cairn_bpf_asleep *was = bpf_map_lookup_elem(&asleep, &tid);
    if (!was)
        return;
    if (cairn_has_times)
        tell(was, now_ns);
    else
        add_up(was, now_ns);
    bpf_map_delete_elem(&asleep, &tid);
}

/* A thread that leaves its CPU came back to it before. Some switches are told to nobody, perf
 * neither (seen with 6.18: now and then none of those from one thread for a millisecond). */
static __always_inline long note(__u32 tid, const struct cairn_bpf_asleep *now)
{
    if (!bpf_map_update_elem(&asleep, &tid, now, BPF_NOEXIST))
        return 0;
    struct cairn_bpf_asleep *was = bpf_map_lookup_elem(&asleep, &tid);
    if (was && !was->by_look)
        __sync_fetch_and_add(&cairn_off_unseen, 1);
    return bpf_map_update_elem(&asleep, &tid, now, BPF_ANY);
}

/* Of a thread that sleeps, if it is noted to. */
static __always_inline void set_waker(__u32 tid, const struct cairn_bpf_slept_key *by)
{
    struct cairn_bpf_asleep *was = bpf_map_lookup_elem(&asleep, &tid);
    if (!was || was->key.why == CAIRN_BPF_OFF_PREEMPTED)
        return;
    was->key.by_interrupt = by->by_interrupt;
    was->key.waker_pid = by->waker_pid;
    was->key.waker_tid = by->waker_tid;
    __builtin_memcpy(was->key.waker, by->waker, sizeof by->waker);
}

/* Was the thread woken before it was noted to be asleep? */
static __always_inline void recall_waker(__u32 tid, __u64 since_ns)
{
    struct cairn_bpf_woken *early = bpf_map_lookup_elem(&woken, &tid);
    if (!early)
        return;
    if (early->time_ns + (early->is_sure ? LEAVE_NS : DECIDE_NS) >= since_ns)
        set_waker(tid, &early->by);
    bpf_map_delete_elem(&woken, &tid);
}

/* A short program may have ended, or sleep for good, before anybody has looked at it. Of no other:
 * who sleeps a thousand times a second is soon known, and of what never is each copy would be a
 * stack by itself. */
static __always_inline int is_worth_a_copy(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    return cpu->end == CAIRN_END_NEW && task->se.sum_exec_runtime < LONG_NS;
}

/* What is copied is named apart from all others: behind equal frames it may lead elsewhere. */
static __always_inline int name_slept(struct cairn_bpf_walk_cpu *cpu)
{
    name_stack(cpu);
    if (!cpu->stack.copied || cpu->stack.pieces)
        return !bpf_map_lookup_elem(&counts, &cpu->key);
    cpu->stack.hash = cpu->key.hash = mixed(cpu->key.hash, cpu->stack.time_ns);
    return 1;
}

static __always_inline void begin(void *ctx, struct cairn_bpf_walk_cpu *cpu,
                                  struct task_struct *task, int preempted)
{
    __u32 tid = tid_of(task), state = task->__state, zero = 0;
    struct cairn_bpf_asleep *now = bpf_map_lookup_elem(&falls_asleep, &zero);
    if (!now || state & STATE_DEAD)
        return;
    walk(0, cpu, task);
    if (!cairn_off_user_only)
        add_kernel_from_sched(ctx, cpu);
    int wants_look = is_unknown(cpu, task);
    copy_where_wanted(0, cpu, task, is_worth_a_copy(cpu, task));
    int is_new = name_slept(cpu);
    *now = (struct cairn_bpf_asleep){.key = {.hash = cpu->key.hash,
                                             .tid = cpu->key.tid,
                                             .id = cpu->key.id,
                                             .why = why_off(state, preempted)},
                                     .since_ns = cpu->stack.time_ns};
    if ((is_new && hand_over(cpu)) || note(tid, now)) {
        __sync_fetch_and_add(&cairn_off_lost, 1);
        return;
    }
    recall_waker(tid, now->since_ns);
    if (is_new)
        know_stack(cpu);
    if (wants_look)
        ask(cpu, cpu->stack.time_ns);
}

SEC("tp_btf/sched_switch")
int cairn_off_switch(__u64 *ctx)
{
    struct task_struct *prev = (struct task_struct *)ctx[1];
    struct task_struct *next = (struct task_struct *)ctx[2];
    __u32 number = bpf_get_smp_processor_id();
    struct cairn_bpf_walk_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
    end(next, bpf_ktime_get_ns());
    if (!cpu || cpu->busy || !is_target(prev))
        return 0;
    cpu->busy = 1;
    begin(ctx, cpu, prev, ctx[0] != 0);
    cpu->busy = 0;
    return 0;
}

static __always_inline void find_waker(void *ctx, struct cairn_bpf_slept_key *by)
{
    struct task_struct *waker = (struct task_struct *)bpf_get_current_task_btf();
    int interrupt = waker->tgid ? in_interrupt(ctx) : 1; /* nothing else wakes in the idle thread */
    by->by_interrupt = interrupt > 0;
    if (interrupt)
        return;
    by->waker_pid = pid_of(waker);
    by->waker_tid = tid_of(waker);
    bpf_get_current_comm(by->waker, sizeof by->waker);
}

static __always_inline int is_on_cpu(struct task_struct *task)
{
    return bpf_core_field_exists(task->on_cpu) && task->on_cpu;
}

/* It will sleep, whoever wakes it. */
static __always_inline int is_dequeued(struct task_struct *task)
{
    return !task->on_rq ||
           (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed);
}

/* The walk of its stack takes longer than many a waker waits. It may be noted to be asleep
 * meanwhile, and both look for what the other one wrote. */
static __always_inline void wake_early(void *ctx, struct task_struct *task, __u32 tid)
{
    struct cairn_bpf_woken early = {.time_ns = bpf_ktime_get_ns(), .is_sure = is_dequeued(task)};
    find_waker(ctx, &early.by);
    bpf_map_update_elem(&woken, &tid, &early, BPF_ANY);
    set_waker(tid, &early.by);
}

SEC("tp_btf/sched_waking")
int cairn_off_waking(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[0];
    __u32 tid = tid_of(task);
    struct cairn_bpf_asleep *was = bpf_map_lookup_elem(&asleep, &tid);
    if (!was && is_on_cpu(task))
        wake_early(ctx, task, tid);
    if (was && was->key.why != CAIRN_BPF_OFF_PREEMPTED)
        find_waker(ctx, &was->key);
    return 0;
}

SEC("tp_btf/sched_process_fork")
int cairn_off_fork(__u64 *ctx)
{
    struct task_struct *parent = (struct task_struct *)ctx[0];
    struct task_struct *child = (struct task_struct *)ctx[1];
    __u32 from = pid_of(parent), to = pid_of(child);
    __u32 *target = bpf_map_lookup_elem(&targets, &from);
    if (target && from != to && !cairn_off_no_inherit)
        bpf_map_update_elem(&targets, &to, target, BPF_ANY);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int cairn_off_exec(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[0];
    __u32 tgid = pid_of(task);
    __u32 *target = bpf_map_lookup_elem(&targets, &tgid);
    if (target)
        *target = CAIRN_BPF_TARGET;
    return 0;
}

SEC("tp_btf/sched_process_exit")
int cairn_off_exit(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[0];
    __u32 tgid = pid_of(task);
    if (!task->signal->live.counter)
        bpf_map_delete_elem(&targets, &tgid);
    return 0;
}

#endif /* CAIRN_BPF_OFF_CPU_BPF_H */

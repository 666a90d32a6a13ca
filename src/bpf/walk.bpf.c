/* SPDX-License-Identifier: MIT */
/*
 * Walk: the program at a perf event that walks the interrupted thread's stack by the tables of
 * walk.h, and counts it.
 */
#include <linux/bpf_perf_event.h>

#include "bpf/walk_pids.bpf.h"
#include "bpf/walk_step.bpf.h"
/* wants the CPU's registers */
#include "bpf/walk_guest.bpf.h"

/* bpf_perf_event_data and bpf_task_pt_regs() are for programs under this licence alone. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum {
    ASK_EVERY_NS = 2000000,
    LONG_NS = 200000000, /* CPU time of a thread that is worth a look */
    RING_WAKE = CAIRN_BPF_RING_BYTES / 4,
    WAKE_EVERY_NS = 1000000,
    COPIES_EVERY_NS = 100000000,
    COPIES_BYTES = 4 << 20, /* in that time, of one CPU */
    DEEP_SHARE = 16,        /* a walk beyond what is kept takes this part of the time at most */
    COPY_AT_MAX = sizeof((struct cairn_bpf_walk_cpu *)0)->frames / 8 - PAGE / 8
};

/* One for each CPU, and no per-CPU map: its values may not be that large. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct cairn_bpf_walk_cpu);
} cpus SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_BPF_COUNTS_MAX);
    __type(key, struct cairn_bpf_count);
    __type(value, struct cairn_bpf_sum);
} counts SEC(".maps");

/* Places where copies have led no further, and until when, CLOCK_MONOTONIC, none is made there. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, CAIRN_BPF_FRUITLESS_MAX);
    __type(key, struct cairn_bpf_place);
    __type(value, __u64);
} fruitless SEC(".maps");

/* Threads that events were opened for. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1 << 16);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, __u32);
} own SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, CAIRN_BPF_RING_BYTES);
} ring SEC(".maps");

/* Processes that are sampled, where cairn_is_filtered: the event is a whole CPU's. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1 << 16);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, __u32);
} only SEC(".maps");

__u32 cairn_is_filtered = 0;

const volatile struct cairn_bpf_sum cairn_no_sum = {};

/* Each sample, and each time off the CPU, crosses over with its time. */
const volatile __u32 cairn_has_times = 0;

/* How many those are: of one alone none can have two events. */
__u32 cairn_n_own = 0;

/* The registers of the user side; `ctx` is NULL where nothing was interrupted. False: it has none.
 * Of 32 bits: its end is told, and there are but its ip and sp. They lie where the window will be:
 * the program's own stack has 512 bytes. */
static __always_inline int take_regs(struct bpf_perf_event_data *ctx,
                                     struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    bpf_user_pt_regs_t *kept, *regs = (bpf_user_pt_regs_t *)cpu->window;
    __u64 mode = ctx ? MODE_OF(&ctx->regs) : 0;
    if (!task->mm || !task->mm->start_code)
        return stop(cpu, CAIRN_END_KERNEL), 0;
    if (ctx && is_user(mode)) {
        take(cpu, &ctx->regs);
        if (is_user_32(mode))
            take_32(cpu, &ctx->regs);
        asm volatile(""); /* or both ways read by one pointer, which the verifier does not take */
    } else {
        kept = (bpf_user_pt_regs_t *)bpf_task_pt_regs(task);
        if (!kept || bpf_probe_read_kernel(regs, sizeof *regs, kept))
            return stop(cpu, CAIRN_END_NO_USER), 0;
        mode = MODE_OF(regs);
        take(cpu, regs);
        if (is_user_32(mode))
            take_32(cpu, regs);
    }
    if (!cpu->ip || !is_user(mode))
        return stop(cpu, CAIRN_END_NO_USER), 0;
    if (is_user_32(mode))
        stop(cpu, CAIRN_END_32_BIT);
    cpu->exact = 1;
    return 1;
}

/* Who walks threads of this program; a forked child by its parent's. NULL: nothing is known. */
static __always_inline struct cairn_bpf_space *space_of(struct task_struct *task, __u32 tgid)
{
    __u64 stack_start = task->mm ? task->mm->start_stack : 0;
    struct cairn_bpf_space *space = bpf_map_lookup_elem(&spaces, &tgid);
    if (space)
        return space->stack_start == stack_start ? space : 0;
    __u32 parent = pid_of(task->real_parent);
    space = bpf_map_lookup_elem(&spaces, &parent);
    return space && space->stack_start == stack_start ? space : 0;
}

/* Of a program in a process, by what execve(2) made and placed by chance. */
static __always_inline __u32 id_of(struct task_struct *task)
{
    __u64 mixed_id = mixed((__u64)BPF_CORE_READ(task, mm), task->mm->start_stack);
    return (__u32)(mixed_id >> 32) | CAIRN_BPF_ID_BY_FILES;
}

static __always_inline void ask(struct cairn_bpf_walk_cpu *cpu, __u64 now_ns)
{
    if (now_ns - cpu->asked_ns < ASK_EVERY_NS)
        return;
    cpu->asked_ns = now_ns;
    cpu->stack.what = CAIRN_BPF_ASK;
    bpf_ringbuf_output(&ring, &cpu->stack, sizeof cpu->stack, BPF_RB_FORCE_WAKEUP);
}

static long mix_kernel(__u32 i, void *ctx)
{
    struct cairn_bpf_walk_cpu *cpu = *(struct cairn_bpf_walk_cpu **)ctx;
    __u64 at = cpu->stack.n + i;
    if (at >= CAIRN_BPF_FRAMES_MAX + CAIRN_BPF_KERNEL_FRAMES_MAX)
        return 1;
    cpu->stack.hash = mixed(cpu->stack.hash, cpu->frames[at]);
    return 0;
}

/* The kernel's frames behind the user's, without the `skip` innermost. */
static __always_inline void take_kernel(void *ctx, struct cairn_bpf_walk_cpu *cpu, __u64 skip)
{
    __u64 n = cpu->stack.n;
    HIDE(n);
    if (n > CAIRN_BPF_FRAMES_MAX)
        return;
    long bytes = bpf_get_stack(ctx, &cpu->frames[n], CAIRN_BPF_KERNEL_FRAMES_MAX * 8,
                               skip & BPF_F_SKIP_FIELD_MASK);
    cpu->stack.n_kernel = bytes > 0 ? (__u64)bytes / 8 : 0;
}

static long mix_outer(__u32 i, void *ctx)
{
    struct cairn_bpf_walk_cpu *cpu = *(struct cairn_bpf_walk_cpu **)ctx;
    __u64 at = cairn_bpf_frame_at(cpu->stack.beyond, CAIRN_BPF_INNER_FRAMES + i);
    cpu->stack.hash = mixed(cpu->stack.hash, cpu->frames[at & (CAIRN_BPF_FRAMES_MAX - 1)]);
    return 0;
}

/* Stacks that differ in the depth of their recursion are counted together, as far as it has the
 * same number of bits. */
static __always_inline void mix_deep(struct cairn_bpf_walk_cpu *cpu)
{
    __u64 bits = 0, beyond = cpu->stack.beyond;
    cpu->stack.hash = cpu->inner_hash;
    bpf_loop(CAIRN_BPF_OUTER_FRAMES, mix_outer, &cpu, 0);
    for (int i = 0; i < 16; i++)
        bits += beyond >> i != 0;
    cpu->stack.hash = mixed(cpu->stack.hash, bits);
}

/* The stack is complete: what it is counted under. */
static __always_inline void name_stack(struct cairn_bpf_walk_cpu *cpu)
{
    if (cpu->stack.beyond)
        mix_deep(cpu);
    bpf_loop(cpu->stack.n_kernel, mix_kernel, &cpu, 0);
    cpu->stack.hash = mixed(cpu->stack.hash, cpu->end);
    cpu->stack.end = cpu->end;
    cpu->key.hash = cpu->stack.hash;
    cpu->key.tid = cpu->stack.tid;
    cpu->key.id = cpu->stack.id;
}

__u64 cairn_woken_ns = 0;

/* Who takes is woken when there is much, and not each time: a wake-up is an interrupt, which costs
 * as much as a walk. */
static __always_inline __u64 wake_flags(__u64 now_ns)
{
    if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) <= RING_WAKE ||
        (__s64)(now_ns - cairn_woken_ns) < WAKE_EVERY_NS)
        return BPF_RB_NO_WAKEUP;
    cairn_woken_ns = now_ns;
    return BPF_RB_FORCE_WAKEUP;
}

/* Nonzero where there is no room. */
static __always_inline long hand_over(struct cairn_bpf_walk_cpu *cpu)
{
    __u64 bytes = (cpu->stack.n + (__u64)cpu->stack.n_kernel) * 8;
    if (cpu->stack.copied)
        bytes += CAIRN_BPF_COPY_REGS * 8 + (__u64)cpu->stack.copied + cpu->stack.pieces;
    HIDE(bytes);
    if (bytes > sizeof cpu->frames)
        return -1;
    return bpf_ringbuf_output(&ring, &cpu->stack, sizeof cpu->stack + bytes,
                              wake_flags(cpu->stack.time_ns));
}

/* Page by page, for all or nothing is read at once. A page that nothing was written to is not there
 * to be read: a large array may have many, below the frames of who called. */
static long copy_page(__u32 i, void *ctx)
{
    struct cairn_bpf_walk_cpu *cpu = *(struct cairn_bpf_walk_cpu **)ctx;
    __u64 low = cpu->copy.low, va = i ? (low & ~(__u64)(PAGE - 1)) + (__u64)i * PAGE : low;
    __u64 off = va - low, size = PAGE - (va & (PAGE - 1));
    __u64 at = cpu->copy.at + cpu->stack.copied / 8;
    if (off >= cpu->copy.all)
        return 1;
    if (size > cpu->copy.all - off)
        size = cpu->copy.all - off;
    if (cpu->stack.copied + size > cpu->copy.most) {
        cpu->stack.goes_on = 1;
        return 1;
    }
    HIDE(size);
    HIDE(at);
    if (!size || size > PAGE || at > COPY_AT_MAX)
        return 1;
    if (bpf_probe_read_user(&cpu->frames[at], size, (void *)va))
        return 0;
    cpu->stack.copied += size;
    cpu->stack.pages |= 1ull << (i & (CAIRN_BPF_COPY_PAGES - 1));
    return 0;
}

/* What of the stack is worth it: of the first thread up to where the program's arguments lie, and
 * what may be read there yet. */
static __always_inline void set_size(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    __u64 top = task->mm->start_stack + 64, low = cpu->copy.low;
    cpu->copy.most = CAIRN_BPF_COPY_THREAD;
    cpu->copy.all = CAIRN_BPF_COPY_PAGES * PAGE;
    if (top - low < CAIRN_BPF_STACK_MAX) {
        cpu->copy.most = CAIRN_BPF_COPY_MAX;
        if (top - low < cpu->copy.all)
            cpu->copy.all = (top - low) & ~(__u64)7;
    }
}

static __always_inline int is_fruitless(struct cairn_bpf_walk_cpu *cpu)
{
    struct cairn_bpf_place place = {
        .page = cpu->ip >> CAIRN_BPF_PLACE_SHIFT, .id = cpu->stack.id, .end = cpu->end};
    __u64 *until_ns = cpu->stack.id ? bpf_map_lookup_elem(&fruitless, &place) : 0;
    return until_ns && cpu->stack.time_ns < *until_ns;
}

/* Copies must not take all of the time, nor all of the ring. */
static __always_inline int may_copy(struct cairn_bpf_walk_cpu *cpu)
{
    if (cpu->stack.time_ns - cpu->copies_ns > COPIES_EVERY_NS) {
        cpu->copies_ns = cpu->stack.time_ns;
        cpu->copies_left = COPIES_BYTES;
    }
    return cpu->copies_left >= CAIRN_BPF_COPY_MAX &&
           bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < CAIRN_BPF_RING_BYTES / 2;
}

/* Where tables that are not here yet, or more registers, may lead further: what it takes to walk
 * the stack elsewhere and later. */
static __always_inline void copy_top(struct bpf_perf_event_data *ctx,
                                     struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    __u64 at = cpu->stack.n + (__u64)cpu->stack.n_kernel;
    bpf_user_pt_regs_t *kept;
    if (!task->mm)
        return;
    HIDE(at);
    if (at > CAIRN_BPF_FRAMES_MAX + CAIRN_BPF_KERNEL_FRAMES_MAX)
        return;
    if (ctx && is_user(MODE_OF(&ctx->regs))) {
        __builtin_memcpy(&cpu->frames[at], &ctx->regs, sizeof ctx->regs);
        asm volatile("");
    } else {
        kept = (bpf_user_pt_regs_t *)bpf_task_pt_regs(task);
        if (!kept || bpf_probe_read_kernel(&cpu->frames[at], sizeof *kept, kept))
            return;
    }
    cpu->copy.low = cpu->stack.sp & ~(__u64)7;
    cpu->copy.at = at + CAIRN_BPF_COPY_REGS;
    set_size(cpu, task);
    bpf_loop(CAIRN_BPF_COPY_PAGES, copy_page, &cpu, 0);
    if (RETURNS_ON_STACK)
        repair_copy(cpu, cpu->copy.low, cpu->copy.at);
    cpu->copies_left -= cpu->stack.copied;
    cpu->n_copied++;
    if (cpu->stack.pages >> (CAIRN_BPF_COPY_PAGES - 1)) /* and so may all that is above */
        cpu->stack.goes_on = 1;
}

static __always_inline int is_in_doubt(__u32 end)
{
    return end == CAIRN_END_NEW || end == CAIRN_END_NO_MODULE || end == CAIRN_END_NO_REGISTER ||
           end == CAIRN_END_NO_RULE || end == CAIRN_END_32_BIT;
}

/* Called once user space has the stack: from now on it is counted. */
static __always_inline void know_stack(struct cairn_bpf_walk_cpu *cpu)
{
    bpf_map_update_elem(&counts, &cpu->key, (const void *)&cairn_no_sum, BPF_NOEXIST);
}

/* Adds one to a stack that is known, or tells of it; one that is new is handed over. */
static __always_inline void count(struct cairn_bpf_walk_cpu *cpu)
{
    struct cairn_bpf_sum *known = 0;
    name_stack(cpu);
    if (!cpu->stack.copied)
        known = bpf_map_lookup_elem(&counts, &cpu->key);
    cpu->n_samples++;
    if (known && cairn_has_times) {
        cpu->stack.n = cpu->stack.n_kernel = 0;
        cpu->stack.what = CAIRN_BPF_AGAIN;
    } else if (known) {
        __sync_fetch_and_add(&known->n, 1);
        __sync_fetch_and_add(&known->value, cpu->stack.value);
        return;
    }
    if (hand_over(cpu))
        cpu->n_lost++;
    else if (!known && !cpu->stack.copied)
        know_stack(cpu);
}

static __always_inline void begin_walk(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    cpu->stack = (struct cairn_bpf_stack){.pid = pid_of(task),
                                          .tid = tid_of(task),
                                          .time_ns = bpf_ktime_get_ns(),
                                          .hash = 1,
                                          .what = CAIRN_BPF_STACK};
    cpu->end = CAIRN_END_MAX_FRAMES;
}

/* The user side of a thread, whose registers were taken. */
static __always_inline void walk_on(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    struct walker w = {.cpu = cpu};
    know_replaced(cpu, task);
    leave_page(cpu, task);
    cpu->stack.sp = cpu->sp;
    add(cpu, cpu->ip | cpu->behind);
    w.space = space_of(task, cpu->stack.pid);
    cpu->n_met = 0;
    cpu->tree_root = cpu->vdso = 0;
    cpu->has_tree = has_tree();
    if (cpu->end == CAIRN_END_32_BIT) { /* its tables are not here */
        cpu->stack.id = id_of(task);
        return;
    }
    if (!w.space && !has_tree()) {
        stop(cpu, CAIRN_END_NEW);
        return;
    }
    cpu->stack.id = w.space ? w.space->id : id_of(task);
    open_window(cpu);
    cpu->beyond_max = cpu->stack.time_ns >= cpu->deep_ns ? CAIRN_BPF_BEYOND_MAX : 0;
    bpf_loop(CAIRN_BPF_FRAMES_MAX + CAIRN_BPF_BEYOND_MAX, step, &w, 0);
    if (cpu->stack.beyond) {
        __u64 now_ns = bpf_ktime_get_ns();
        cpu->deep_ns = now_ns + DEEP_SHARE * (now_ns - cpu->stack.time_ns);
    }
}

static __always_inline void walk(struct bpf_perf_event_data *ctx, struct cairn_bpf_walk_cpu *cpu,
                                 struct task_struct *task)
{
    begin_walk(cpu, task);
    if (take_regs(ctx, cpu, task))
        walk_on(cpu, task);
}

/* Who is walked by its files costs more each time, but a look costs as much as hundreds of times.
 */
static __always_inline int is_unknown(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    if (cpu->end == CAIRN_END_32_BIT)
        return 0;
    return cpu->end == CAIRN_END_NEW || cpu->end == CAIRN_END_NO_MODULE ||
           (cpu->stack.id & CAIRN_BPF_ID_BY_FILES && task->se.sum_exec_runtime > LONG_NS);
}

/* A stack that is to be walked elsewhere, too: with what interpreters on it have, else where the
 * walk here did not come to the end. */
static __always_inline void copy_where_wanted(struct bpf_perf_event_data *ctx,
                                              struct cairn_bpf_walk_cpu *cpu,
                                              struct task_struct *task, int in_doubt)
{
    struct cairn_bpf_guest *guest = guest_of(task, cpu->stack.pid);
    int wants_guest = guest && passes_guest(cpu, guest);
    if (!wants_guest && !in_doubt)
        return;
    if (!may_copy(cpu)) {
        cpu->n_no_guest += wants_guest;
        if (in_doubt)
            cpu->end = CAIRN_END_NOT_COPIED;
        return;
    }
    copy_top(ctx, cpu, task);
    if (wants_guest && cpu->stack.copied)
        gather_guest(cpu, guest, cpu->stack.n + (__u64)cpu->stack.n_kernel + CAIRN_BPF_COPY_REGS);
}

static __always_inline void sample(struct bpf_perf_event_data *ctx, struct cairn_bpf_walk_cpu *cpu,
                                   struct task_struct *task)
{
    walk(ctx, cpu, task);
    int wants_look = is_unknown(cpu, task);
    cpu->stack.value = ctx->sample_period;
    if (!is_user(MODE_OF(&ctx->regs)))
        take_kernel(ctx, cpu, 0);
    copy_where_wanted(ctx, cpu, task, is_in_doubt(cpu->end) && !is_fruitless(cpu));
    count(cpu);
    if (wants_look)
        ask(cpu, cpu->stack.time_ns);
}

/* A thread that started while events were opened may have two: its own and one that it inherited.
 */
static __always_inline int is_double(struct bpf_perf_event_data *ctx, __u32 tid)
{
    struct perf_event *event = 0, *parent = 0;
    if (cairn_n_own < 2)
        return 0;
    struct bpf_perf_event_data_kern *kernel = (void *)ctx;
    __u32 off = bpf_core_field_offset(kernel->event);
    if (bpf_probe_read_kernel(&event, sizeof event, (char *)ctx + off) || !event)
        return 0;
    parent = BPF_CORE_READ(event, parent);
    return parent && bpf_map_lookup_elem(&own, &tid);
}

/* Who runs outside of our pid namespace cannot be told of. Who ends may have lost its number. */
static __always_inline void leave_out(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task)
{
    if (task->thread_pid) {
        cpu->n_outside++;
        return;
    }
    cpu->n_samples++;
    cpu->n_lost++;
}

static __always_inline int is_left_out(struct task_struct *task)
{
    __u32 tgid;
    if (!cairn_is_filtered)
        return 0;
    tgid = pid_of(task);
    return !bpf_map_lookup_elem(&only, &tgid);
}

SEC("perf_event")
int cairn_walk(struct bpf_perf_event_data *ctx)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    __u32 number = bpf_get_smp_processor_id();
    struct cairn_bpf_walk_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
    if (!cpu || cpu->busy || !task->tgid ||
        is_left_out(task)) /* a CPU that has nothing to do is no sample */
        return 0;
    cpu->busy = 1;
    if (!tid_of(task))
        leave_out(cpu, task);
    else if (is_double(ctx, tid_of(task)))
        cpu->n_double++;
    else
        sample(ctx, cpu, task);
    cpu->busy = 0;
    return 0;
}

#include "bpf/off_cpu.bpf.h"
/* wants what tells targets */
#include "bpf/trace.bpf.h"
/* wants what reports events */
#include "bpf/pair.bpf.h"
#include "bpf/probe.bpf.h"
#include "bpf/usdt.bpf.h"
/* wants what a hit is */
#include "bpf/memory.bpf.h"

/* SPDX-License-Identifier: MIT */
/* Trace: the programs at system calls, a part of walk.bpf.c. See trace.h. */
#ifndef CAIRN_BPF_TRACE_BPF_H
#define CAIRN_BPF_TRACE_BPF_H

#include "bpf/trace.h"

enum { SLICE_NS = 1000000000, COMM_BYTES = 16 };

/* A bit for each number of this CPU's table, and of i386's: most calls end at this test. */
const volatile __u64 cairn_trace_wanted[CAIRN_TRACE_NUMBERS / 64] = {};
const volatile __u64 cairn_trace_wanted_compat[CAIRN_TRACE_NUMBERS / 64] = {};
const volatile __u32 cairn_trace_tid = 0;  /* this thread alone; 0: all of the targets */
const volatile __u32 cairn_trace_self = 0; /* the process that is never traced: ours */
const volatile __u32 cairn_trace_no_stack = 0;
const volatile __u32 cairn_trace_enter_only = 0; /* calls are counted as they begin */
const volatile __u32 cairn_trace_has_comm = 0;   /* somebody asks for the thread's name */
const volatile __u32 cairn_trace_signal = 0;     /* sent to the process at an event; 0: none */
const volatile __u64 cairn_trace_limit = 0;      /* events that cross a second, of each CPU */
const volatile __u64 cairn_trace_max = 0;        /* no more events than that; 0: no bound */

const volatile __u32 cairn_trace_regs = 0;  /* events have the registers of the user side */
const volatile __u64 cairn_trace_every = 0; /* report every Nth event; 0 or 1: all */

__u32 cairn_trace_epoch = 0; /* another one when mappings have changed */
__u64 cairn_trace_held = 0;  /* events that passed the filter; counted for cairn_trace_every */
__u64 cairn_trace_taken = 0; /* events, where cairn_trace_max bounds them */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, CAIRN_TRACE_ROWS);
    __type(key, __u32);
    __type(value, struct cairn_bpf_call);
} trace_calls SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct cairn_bpf_pending);
} trace_pending SEC(".maps");

/* Sums are added up on one side, while user space empties the other. */
struct trace_side {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_TRACE_SUMS_MAX);
    __type(key, struct cairn_bpf_trace_key);
    __type(value, struct cairn_bpf_trace_sum);
} trace_sums SEC(".maps"), trace_sums_other SEC(".maps");

/* No program reads it. User space puts a map into it, and so waits for every program that runs:
 * whoever changes a map of maps does (kernel/bpf/syscall.c, maybe_wait_bpf_programs). */
struct trace_fence_inner {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} trace_fence_inner SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 1);
    __type(key, __u32);
    __array(values, struct trace_fence_inner);
} trace_fence SEC(".maps");

__u32 cairn_trace_side = 0;  /* 1: the other one */
__u64 cairn_trace_fresh = 0; /* new keys since user space last turned to the other side */

/* CAIRN_TRACE_MEMOS for each CPU, one CPU's behind the other's. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, CAIRN_TRACE_MEMOS);
    __type(key, __u32);
    __type(value, struct cairn_bpf_memo);
} trace_memos SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cairn_bpf_trace_cpu);
} trace_cpus SEC(".maps");

/* A call that is reported as it begins; no local variable, for its size. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cairn_bpf_pending);
} trace_now SEC(".maps");

static __always_inline int is_wanted(__u64 number, int is_compat)
{
    __u64 word = number / 64;
    if (number >= CAIRN_TRACE_NUMBERS)
        return 0;
    return (is_compat ? cairn_trace_wanted_compat[word & 7] : cairn_trace_wanted[word & 7]) >>
               (number & 63) &
           1;
}

static __always_inline __u32 memo_slot(__u32 cpu, __u64 ip, __u64 sp)
{
    __u64 mix = (ip ^ (sp >> 3) * 0x9e37) * 0x9e3779b97f4a7c15ull;
    return cpu * CAIRN_TRACE_MEMOS +
           (__u32)(mix >> 40 & (CAIRN_TRACE_MEMOS - CAIRN_TRACE_MEMO_WAYS));
}

/* Are all words that the remembered walk read the same? They are read into the window. */
static __attribute__((noinline)) int words_hold(struct cairn_bpf_memo *memo,
                                                struct cairn_bpf_walk_cpu *cpu, __u64 sp)
{
    __u64 n = memo->words.n, size = memo->words.end, differ = 0;
    HIDE(size);
    if (!size || size > PAGE || n > CAIRN_BPF_WORDS_MAX)
        return 0;
    if (bpf_probe_read_user(cpu->window, size, (void *)(sp & ~(__u64)7)))
        return 0;
    for (__u32 i = 0; i < CAIRN_BPF_WORDS_MAX; i++) {
        if (i >= n)
            break;
        __u64 at = memo->words.off[i] / 8 & (CAIRN_BPF_WINDOW_WORDS - 1);
        differ |= cpu->window[at] ^ memo->words.value[i];
    }
    return !differ;
}

static __always_inline int add_to(void *side, const struct cairn_bpf_trace_key *key,
                                  const struct cairn_bpf_trace_sum *more)
{
    struct cairn_bpf_trace_sum *sum = bpf_map_lookup_elem(side, key);
    if (sum) {
        cairn_trace_sum_add(sum, more);
        return 1;
    }
    __sync_fetch_and_add(&cairn_trace_fresh, 1);
    return !bpf_map_update_elem(side, key, more, BPF_NOEXIST);
}

/* False: there is no space for another key. The key has the thread, which runs here alone. */
static __always_inline int add_sum(const struct cairn_bpf_trace_key *key,
                                   const struct cairn_bpf_trace_sum *more)
{
    return cairn_trace_side ? add_to(&trace_sums_other, key, more) : add_to(&trace_sums, key, more);
}

static __always_inline int compares(const struct cairn_bpf_term *term, __u64 raw)
{
    return cairn_trace_compares(term->op, term->width, cairn_trace_widen(raw, term->width),
                                term->value[0]);
}

static __always_inline __u64 arg_of(const struct cairn_bpf_pending *of, __u64 number)
{
    HIDE(number);
    return of->args[number & (CAIRN_TRACE_ARG_SLOTS - 1)];
}

struct judging {
    struct cairn_bpf_call *call;
    struct cairn_bpf_pending *of;
    int found;
};

static __always_inline int comm_is(const struct cairn_bpf_term *term,
                                   const struct cairn_bpf_pending *of)
{
    const __u64 *comm = (const __u64 *)of->comm;
    return comm[0] == term->value[0] && comm[1] == term->value[1];
}

static long judge_term(__u32 i, void *ctx)
{
    struct judging *j = ctx;
    if (i >= CAIRN_TRACE_TERMS_MAX)
        return 1;
    const struct cairn_bpf_term *term = &j->call->terms[i];
    __u64 value = 0, field = term->field;
    if ((field >= CAIRN_TRACE_RET) != j->of->at_return)
        return 0;
    if (field < CAIRN_TRACE_ARGS_MAX && cairn_trace_why_unread(j->of->unread, field)) {
        j->of->fails = 1; /* no comparison holds of what is not known */
        return 1;
    }
    if (field < CAIRN_TRACE_ARGS_MAX)
        value = arg_of(j->of, field);
    else if (field == CAIRN_TRACE_PID)
        value = j->of->pid;
    else if (field == CAIRN_TRACE_TID)
        value = j->of->tid;
    else if (field == CAIRN_TRACE_UID)
        value = (__u32)bpf_get_current_uid_gid();
    else if (field == CAIRN_TRACE_CPU)
        value = bpf_get_smp_processor_id();
    else if (field == CAIRN_TRACE_RET)
        value = j->of->ret;
    else if (field == CAIRN_TRACE_DURATION)
        value = j->of->ns;
    if (field == CAIRN_TRACE_COMM)
        j->of->fails = comm_is(term, j->of) != (term->op == CAIRN_TRACE_EQ);
    else
        j->of->fails = !compares(term, value);
    return j->of->fails;
}

/* Compares the terms of a call's arguments; `at_return`: those of its result and duration. */
static __always_inline int holds(struct cairn_bpf_call *call, struct cairn_bpf_pending *of,
                                 __u32 at_return)
{
    struct judging j = {.call = call, .of = of};
    of->at_return = at_return;
    of->fails = 0;
    if (call->n_terms)
        bpf_loop(call->n_terms, judge_term, &j, 0);
    return !of->fails;
}

static long find_result_term(__u32 i, void *ctx)
{
    struct judging *j = ctx;
    if (i >= CAIRN_TRACE_TERMS_MAX || j->call->terms[i].field >= CAIRN_TRACE_RET) {
        j->found = 1;
        return 1;
    }
    return 0;
}

/* No comparison of a result or a duration holds of a call that has none. */
static __always_inline int asks_for_result(struct cairn_bpf_call *call)
{
    struct judging j = {.call = call};
    if (call->n_terms)
        bpf_loop(call->n_terms, find_result_term, &j, 0);
    return j.found;
}

/* Functions of the kernel are given texts of its own, and of programs. */
static __always_inline long read_text(char *to, __u64 va)
{
    if ((__s64)va < 0)
        return bpf_probe_read_kernel_str(to, CAIRN_TRACE_TEXT_BYTES, (void *)va);
    return bpf_probe_read_user_str(to, CAIRN_TRACE_TEXT_BYTES, (void *)va);
}

/* Texts that could not be read as the call began may be there when it returns. Those of a program
 * are never read from the kernel's memory: `is_kernel` says that the kernel's code was hit. */
static __always_inline void take_texts(const struct cairn_bpf_call *call,
                                       struct cairn_bpf_pending *of, int at_return, int is_kernel)
{
    for (int i = 0; i < CAIRN_TRACE_TEXTS; i++) {
        __u32 arg = call->text[i];
        if (!arg || arg > CAIRN_TRACE_ARGS_MAX ||
            (at_return && of->payload.n_text[i] != CAIRN_TRACE_NO_TEXT))
            continue;
        __u64 va = arg_of(of, arg - 1);
        long n = is_kernel ? read_text(of->payload.text[i], va)
                           : bpf_probe_read_user_str(of->payload.text[i], CAIRN_TRACE_TEXT_BYTES,
                                                     (void *)va);
        of->payload.n_text[i] = n > 0 ? n : CAIRN_TRACE_NO_TEXT;
    }
}

static __always_inline void take_data(const struct cairn_bpf_call *call,
                                      struct cairn_bpf_pending *of, __s64 ret, int at_return)
{
    __u32 arg = call->data, by = call->data_size;
    if (!arg || arg > CAIRN_TRACE_ARGS || (by == CAIRN_TRACE_DATA_BY_RET) != at_return)
        return;
    __s64 n = at_return ? ret : 0;
    if (!at_return && by >= 1 && by <= CAIRN_TRACE_ARGS)
        n = arg_of(of, by - 1);
    if (n <= 0)
        return;
    __u64 size = n > CAIRN_TRACE_DATA_BYTES ? CAIRN_TRACE_DATA_BYTES : n;
    HIDE(size);
    if (!size || size > CAIRN_TRACE_DATA_BYTES)
        return;
    if (!bpf_probe_read_user(of->payload.data, size, (void *)arg_of(of, arg - 1)))
        of->payload.n_data = size;
}

static __always_inline void fill_event(struct cairn_bpf_event *event,
                                       const struct cairn_bpf_pending *of, __s64 ret, __u64 now_ns,
                                       int has_ret, int is_gone)
{
    *event = (struct cairn_bpf_event){.stack = {.hash = of->hash,
                                                .time_ns = now_ns,
                                                .pid = of->pid,
                                                .tid = of->tid,
                                                .id = of->id,
                                                .what = CAIRN_BPF_EVENT,
                                                .value = now_ns - of->start_ns},
                                      .start_ns = of->start_ns,
                                      .ret = ret,
                                      .row = of->row,
                                      .cpu = bpf_get_smp_processor_id(),
                                      .uid = (__u32)bpf_get_current_uid_gid(),
                                      .unread = of->unread,
                                      .has_ret = has_ret,
                                      .is_gone = is_gone};
    __builtin_memcpy(event->args, of->args, sizeof event->args);
    __builtin_memcpy(event->comm, of->comm, sizeof of->comm);
}

/* Nonzero: no space in the ring. */
static __always_inline int send(const struct cairn_bpf_call *call,
                                const struct cairn_bpf_pending *of, __s64 ret, __u64 now_ns,
                                int has_ret, int is_gone)
{
    if (cairn_trace_regs) {
        struct cairn_bpf_regs_event *all = bpf_ringbuf_reserve(&ring, sizeof *all, 0);
        if (!all)
            return -1;
        fill_event(&all->more.event, of, ret, now_ns, has_ret, is_gone);
        all->more.event.has_payload = 1;
        all->more.event.has_regs = of->has_regs ? CAIRN_TRACE_HAS_REGS : CAIRN_TRACE_LACKS_REGS;
        __builtin_memcpy(&all->more.payload, &of->payload, sizeof all->more.payload);
        __builtin_memcpy(all->regs, of->regs, sizeof all->regs);
        bpf_ringbuf_submit(all, wake_flags(now_ns));
        return 0;
    }
    if (!call->text[0] && !call->data && !call->record_bytes) {
        struct cairn_bpf_event *event = bpf_ringbuf_reserve(&ring, sizeof *event, 0);
        if (!event)
            return -1;
        fill_event(event, of, ret, now_ns, has_ret, is_gone);
        bpf_ringbuf_submit(event, wake_flags(now_ns));
        return 0;
    }
    struct cairn_bpf_payload_event *more = bpf_ringbuf_reserve(&ring, sizeof *more, 0);
    if (!more)
        return -1;
    fill_event(&more->event, of, ret, now_ns, has_ret, is_gone);
    more->event.has_payload = 1;
    __builtin_memcpy(&more->payload, &of->payload, sizeof more->payload);
    bpf_ringbuf_submit(more, wake_flags(now_ns));
    return 0;
}

static __always_inline int may_send(struct cairn_bpf_trace_cpu *stats, __u64 now_ns)
{
    if (now_ns - stats->slice_ns > SLICE_NS) {
        stats->slice_ns = now_ns;
        stats->left = cairn_trace_limit;
    }
    if (!stats->left)
        return 0;
    stats->left--;
    return 1;
}

static __always_inline int is_skipped(void)
{
    return cairn_trace_every > 1 &&
           __sync_fetch_and_add(&cairn_trace_held, 1) % cairn_trace_every != 0;
}

/* The bound of all CPUs together. */
static __always_inline int is_beyond(void)
{
    return cairn_trace_max && __sync_fetch_and_add(&cairn_trace_taken, 1) >= cairn_trace_max;
}

/* A call whose filter holds. */
static __always_inline void report(const struct cairn_bpf_call *call, struct cairn_bpf_pending *of,
                                   __s64 ret, __u64 now_ns, int has_ret, int is_gone,
                                   struct cairn_bpf_trace_cpu *stats)
{
    if (call->flags & CAIRN_TRACE_EACH) {
        int lost = send(call, of, ret, now_ns, has_ret, is_gone) != 0;
        stats->n_lost += lost;
        stats->n_each += !lost;
        return;
    }
    if (is_skipped() || is_beyond()) {
        stats->n_filtered++;
        return;
    }
    of->key = (struct cairn_bpf_trace_key){
        .hash = of->hash, .tid = of->tid, .id = of->id, .row = of->row, .pid = of->pid};
    of->one = (struct cairn_bpf_trace_sum){.n = 1, .n_lost_returns = is_gone};
    if (has_ret) {
        of->one.ns = of->one.min_ns = of->one.max_ns = now_ns - of->start_ns;
        of->one.n_errors = cairn_trace_is_error(of->row, ret);
        of->one.bytes = call->flags & CAIRN_TRACE_SIZE && ret > 0 ? ret : 0;
    }
    if (add_sum(&of->key, &of->one))
        stats->n_counted++;
    else
        stats->n_lost++;
    if (!cairn_trace_limit || !may_send(stats, now_ns))
        stats->n_unsent++;
    else if (send(call, of, ret, now_ns, has_ret, is_gone))
        stats->n_no_space++;
    else
        stats->n_sent++;
    if (cairn_trace_signal)
        bpf_send_signal(cairn_trace_signal);
}

static __always_inline void learn(struct cairn_bpf_memo *memo, struct cairn_bpf_walk_cpu *cpu,
                                  const struct cairn_bpf_pending *of, __u64 lr, __u64 mm, __u64 ip,
                                  __u64 fp)
{
    if (cpu->end != CAIRN_END_OUTERMOST || cpu->words.is_bad || cpu->stack.copied ||
        !cpu->words.n) {
        memo->mm = 0;
        return;
    }
    memo->ip = ip;
    memo->sp = cpu->stack.sp;
    memo->fp = fp;
    memo->lr = lr;
    memo->hash = of->hash;
    memo->tid = of->tid;
    memo->id = of->id;
    memo->epoch = cairn_trace_epoch;
    __builtin_memcpy(&memo->words, &cpu->words, sizeof memo->words);
    memo->mm = mm;
}

/* The stack that was walked, with the kernel's frames of `kernel` unless that is NULL, is named,
 * and handed over where it is new. False: it was lost. */
static __always_inline int keep_stack(void *kernel, struct cairn_bpf_walk_cpu *cpu,
                                      struct task_struct *task, struct cairn_bpf_pending *of)
{
    int wants_look = is_unknown(cpu, task);
    if (kernel)
        take_kernel(kernel, cpu, 0);
    copy_where_wanted(0, cpu, task, is_in_doubt(cpu->end) && !is_fruitless(cpu));
    int is_new = name_slept(cpu);
    of->hash = cpu->key.hash;
    of->id = cpu->key.id;
    if (is_new && hand_over(cpu))
        return 0;
    if (is_new)
        know_stack(cpu);
    if (wants_look)
        ask(cpu, cpu->stack.time_ns);
    return 1;
}

/* The user side is walked. False: the stack was lost. */
static __always_inline int walk_call(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task,
                                     const bpf_user_pt_regs_t *regs, int is_compat,
                                     struct cairn_bpf_pending *of)
{
    begin_walk(cpu, task);
    cpu->words.n = cpu->words.end = cpu->words.is_bad = 0;
    cpu->words.uses_fp = ALWAYS_USES_FP;
    cpu->fp_va = 0;
    if (is_compat) {
        if (take_regs(0, cpu, task))
            walk_on(cpu, task);
    } else {
        take(cpu, regs);
        cpu->exact = 1;
        walk_on(cpu, task);
    }
    return keep_stack(0, cpu, task, of);
}

/* Was the stack walked before, with the same registers and words? */
static __always_inline int recalls(struct cairn_bpf_walk_cpu *cpu, __u32 slot, __u64 mm, __u64 lr,
                                   struct cairn_bpf_pending *of)
{
    struct cairn_bpf_memo *memo = bpf_map_lookup_elem(&trace_memos, &slot);
    if (!memo || memo->mm != mm || memo->ip != cpu->ip || memo->sp != cpu->sp ||
        (memo->fp != cpu->fp && memo->words.uses_fp) || memo->lr != lr || memo->tid != of->tid ||
        memo->epoch != cairn_trace_epoch || !words_hold(memo, cpu, cpu->sp))
        return 0;
    of->hash = memo->hash;
    of->id = memo->id;
    return 1;
}

/* The stack of a call that begins. */
static __always_inline void take_stack(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task,
                                       const bpf_user_pt_regs_t *regs, int is_compat,
                                       struct cairn_bpf_pending *of,
                                       struct cairn_bpf_trace_cpu *stats)
{
    struct cairn_bpf_memo *memo = 0;
    __u64 mm = (__u64)task->mm, lr = LINK_OF(regs) ^ cpu->behind;
    take(cpu, regs);
    __u64 ip = cpu->ip, sp = cpu->sp, fp = cpu->fp;
    __u32 slot = memo_slot(bpf_get_smp_processor_id(), ip, sp);
    /* Not a loop: clang enters it in its middle, and the verifier of 6.1 then refuses it. */
    _Static_assert(CAIRN_TRACE_MEMO_WAYS == 4, "each is tried here");
    if (!is_compat && mm &&
        (recalls(cpu, slot, mm, lr, of) || recalls(cpu, slot + 1, mm, lr, of) ||
         recalls(cpu, slot + 2, mm, lr, of) || recalls(cpu, slot + 3, mm, lr, of))) {
        stats->n_remembered++;
        return;
    }
    slot += stats->n_walked & (CAIRN_TRACE_MEMO_WAYS - 1);
    memo = is_compat ? 0 : bpf_map_lookup_elem(&trace_memos, &slot);
    stats->n_walked++;
    if (!walk_call(cpu, task, regs, is_compat, of))
        stats->n_stacks_lost++;
    if (memo)
        learn(memo, cpu, of, lr, mm, ip, fp);
}

static __always_inline int is_traced(struct task_struct *task)
{
    if (task->tgid == (int)cairn_trace_self)
        return 0;
    if (cairn_trace_tid && tid_of(task) != cairn_trace_tid)
        return 0;
    return is_target(task);
}

static __always_inline void set_row(struct cairn_bpf_pending *of, struct task_struct *task,
                                    __u32 row)
{
    of->row = row;
    of->pid = pid_of(task);
    of->tid = tid_of(task);
    of->hash = of->id = of->unread = 0;
    if (cairn_trace_has_comm)
        bpf_get_current_comm(of->comm, sizeof of->comm);
}

_Static_assert(sizeof(bpf_user_pt_regs_t) <= CAIRN_TRACE_USER_WORDS * 8, "the registers fit");

/* The registers where a program's own code was hit, or calls the kernel. */
static __always_inline void keep_regs(const bpf_user_pt_regs_t *regs, struct cairn_bpf_pending *of)
{
    if (!cairn_trace_regs)
        return;
    __builtin_memcpy(of->regs, regs, sizeof *regs);
    of->has_regs = 1;
}

/* The same where the kernel's code was hit: those that the thread has entered the kernel with. */
static __always_inline void keep_entered_regs(struct task_struct *task,
                                              struct cairn_bpf_pending *of)
{
    if (!cairn_trace_regs)
        return;
    of->has_regs = 0;
    if (!task->mm)
        return;
    bpf_user_pt_regs_t *kept = (bpf_user_pt_regs_t *)bpf_task_pt_regs(task);
    if (!kept || bpf_probe_read_kernel(of->regs, sizeof *kept, kept))
        return;
    __u64 mode = MODE_OF((bpf_user_pt_regs_t *)of->regs);
    of->has_regs = is_user(mode) != 0;
}

/* A call that begins, with its stack; where it is not reported yet, it is stored with the thread.
 */
static __always_inline void begin_call(struct cairn_bpf_walk_cpu *cpu, struct task_struct *task,
                                       const bpf_user_pt_regs_t *regs, __u32 number, int is_compat,
                                       struct cairn_bpf_trace_cpu *stats)
{
    __u32 zero = 0, row = number + (is_compat ? CAIRN_TRACE_NUMBERS : 0);
    struct cairn_bpf_call *call = bpf_map_lookup_elem(&trace_calls, &row);
    struct cairn_bpf_pending *of;
    if (!call)
        return;
    int is_now = cairn_trace_enter_only || call->flags & CAIRN_TRACE_NO_RETURN;
    of = is_now ? bpf_map_lookup_elem(&trace_now, &zero)
                : bpf_task_storage_get(&trace_pending, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!of) {
        stats->n_lost++;
        return;
    }
    set_row(of, task, row);
    call_args(regs, is_compat, of->args);
    if (!holds(call, of, 0)) {
        stats->n_filtered++;
        return;
    }
    keep_regs(regs, of);
    if (!cairn_trace_no_stack)
        take_stack(cpu, task, regs, is_compat, of, stats);
    of->payload.n_text[0] = of->payload.n_text[1] = of->payload.n_data = 0;
    if (cairn_trace_limit || call->flags & CAIRN_TRACE_EACH) {
        take_texts(call, of, 0, 0);
        take_data(call, of, 0, 0);
    }
    __u64 now_ns = bpf_ktime_get_ns();
    of->start_ns = now_ns;
    if (is_now) {
        report(call, of, 0, now_ns, 0, 0, stats);
        of->start_ns = 0;
    }
}

SEC("tp_btf/sys_enter")
int cairn_trace_enter(__u64 *ctx)
{
    const bpf_user_pt_regs_t *regs = (const bpf_user_pt_regs_t *)ctx[0];
    __u64 number = ctx[1];
    if (!is_wanted(number, 0) && !is_wanted(number, 1))
        return 0;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    __u32 zero = 0, cpu_number = bpf_get_smp_processor_id();
    int is_compat = is_compat_call(task);
    if (!is_wanted(number, is_compat) || !is_traced(task))
        return 0;
    struct cairn_bpf_walk_cpu *cpu = bpf_map_lookup_elem(&cpus, &cpu_number);
    struct cairn_bpf_trace_cpu *stats = bpf_map_lookup_elem(&trace_cpus, &zero);
    if (!cpu || !stats)
        return 0;
    stats->n_seen++;
    if (cpu->busy) {
        stats->n_busy++;
        stats->n_lost++;
        return 0;
    }
    cpu->busy = 1;
    begin_call(cpu, task, regs, number, is_compat, stats);
    cpu->busy = 0;
    return 0;
}

/* `is_gone`: the thread exits, and its call never returned. */
static __always_inline void end_call(struct cairn_bpf_pending *of, __s64 ret, int is_gone)
{
    __u32 zero = 0, row = of->row;
    __u64 now_ns = bpf_ktime_get_ns();
    struct cairn_bpf_trace_cpu *stats = bpf_map_lookup_elem(&trace_cpus, &zero);
    struct cairn_bpf_call *call = bpf_map_lookup_elem(&trace_calls, &row);
    if (!stats || !call)
        return;
    of->ret = ret = cairn_trace_result(row, call->ret_width, ret);
    of->ns = now_ns - of->start_ns;
    if (is_gone ? asks_for_result(call) : !holds(call, of, 1)) {
        stats->n_filtered++;
    } else {
        if (cairn_trace_limit || call->flags & CAIRN_TRACE_EACH) {
            take_texts(call, of, 1, 0);
            take_data(call, of, ret, 1);
        }
        report(call, of, ret, now_ns, !is_gone, is_gone, stats);
    }
    of->start_ns = 0;
}

SEC("tp_btf/sys_exit")
int cairn_trace_exit(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    struct cairn_bpf_pending *of = bpf_task_storage_get(&trace_pending, task, 0, 0);
    if (of && of->start_ns)
        end_call(of, ctx[1], 0);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int cairn_trace_gone(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    struct cairn_bpf_pending *of = bpf_task_storage_get(&trace_pending, task, 0, 0);
    (void)ctx;
    if (of && of->start_ns)
        end_call(of, 0, 1);
    return 0;
}

#endif /* CAIRN_BPF_TRACE_BPF_H */

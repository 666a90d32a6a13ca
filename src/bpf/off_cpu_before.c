/* SPDX-License-Identifier: MIT */
/*
 * Off CPU, before: threads that sleep already when measuring begins. No program saw them leave the
 * CPU, so that their stacks are walked from outside, by their registers as the task iterator has
 * them; who ran meanwhile is found out by the number of times that it has left a CPU, and dropped.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <time.h>

#include <cairn/unwind.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/table.h"
#include "bpf/off_cpu_programs.h"
#include "bpf/threads.h"
#include "bpf/walk.skel.h"
#include "target/regs.h"

enum { ONE_PAGE = 4096 };

/* A thread that was noted as asleep. */
struct noted {
    int tid;
    uint64_t switches;
    struct cairn_bpf_asleep as;
    bool stood; /* still at the second look */
};

struct before {
    struct cairn_off_cpu *off;
    struct cairn_unwind_space *space;
    cairn_off_cpu_stack_fn fn;
    void *fn_ctx;
    struct noted *noted;
    size_t n, cap;
    struct cairn_bpf_stack stack; /* and its frames, which lie behind it as in the ring */
    uint64_t frames[CAIRN_BPF_FRAMES_MAX + CAIRN_BPF_KERNEL_FRAMES_MAX];
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t marked(const struct cairn_cursor_frame *frame)
{
    if (frame->exact)
        return frame->ip | CAIRN_BPF_EXACT;
    return cairn_frame_is_guess((int)frame->how) ? frame->ip | CAIRN_BPF_BY_FP : frame->ip;
}

/* The user side, as the programs in the kernel would hand it over. */
static void walk(struct before *before, const struct cairn_bpf_thread *thread,
                 struct cairn_bpf_stack *stack)
{
    struct cairn_cursor_regs regs;
    struct cairn_cursor cursor;
    struct cairn_cursor_frame frame;
    stack->end = CAIRN_END_NO_USER;
    if (!cairn_target_regs(thread->regs, false, &regs) ||
        cairn_cursor_init(&cursor, before->space, &regs, NULL) < 0)
        return;
    do {
        cairn_cursor_frame(&cursor, &frame);
        before->frames[stack->n] = stack->n ? marked(&frame) : frame.ip;
        stack->sp = stack->n ? stack->sp : frame.sp;
        stack->n++;
    } while (stack->n < CAIRN_BPF_FRAMES_MAX && cairn_cursor_step(&cursor));
    const enum cairn_unwind_end end = cairn_cursor_end(&cursor);
    stack->end = (uint8_t)(stack->n == CAIRN_BPF_FRAMES_MAX ? CAIRN_END_MAX_FRAMES : end);
}

static void add_kernel(struct before *before, const struct cairn_bpf_thread *thread,
                       struct cairn_bpf_stack *stack)
{
    for (size_t i = 0; i < thread->n_kernel && i < CAIRN_BPF_KERNEL_FRAMES_MAX; i++)
        before->frames[stack->n + stack->n_kernel++] = thread->kernel[i];
}

static int on_thread(void *ctx, const struct cairn_bpf_thread *thread)
{
    struct before *before = ctx;
    struct cairn_bpf_stack *stack = &before->stack;
    struct noted *noted;
    if (thread->found != CAIRN_BPF_STILL || (thread->state != 'S' && thread->state != 'D'))
        return 0;
    if (cairn_grow((void **)&before->noted, &before->cap, before->n + 1, sizeof *noted) < 0)
        return CAIRN_E_NOMEM;
    *stack = (struct cairn_bpf_stack){.pid = (uint32_t)thread->pid,
                                      .tid = (uint32_t)thread->tid,
                                      .what = CAIRN_BPF_STACK,
                                      .time_ns = now_ns()};
    walk(before, thread, stack);
    add_kernel(before, thread, stack);
    stack->hash =
        cairn_hash_bytes(before->frames, ((size_t)stack->n + stack->n_kernel) * sizeof(uint64_t));
    noted = &before->noted[before->n];
    *noted = (struct noted){.tid = thread->tid, .switches = thread->switches};
    noted->as.key.hash = stack->hash;
    noted->as.key.tid = stack->tid;
    noted->as.key.why = thread->state == 'D' ? CAIRN_BPF_OFF_BLOCKED : CAIRN_BPF_OFF_SLEEP;
    noted->as.since_ns = stack->time_ns;
    noted->as.by_look = 1;
    if (bpf_map_update_elem(bpf_map__fd(before->off->program->maps.asleep), &stack->tid, &noted->as,
                            BPF_NOEXIST) != 0)
        return 0; /* it has run: a program has noted it */
    before->n++;
    return before->fn(before->fn_ctx, stack, before->frames);
}

static int on_second_look(void *ctx, const struct cairn_bpf_thread *thread)
{
    struct before *before = ctx;
    for (size_t i = 0; i < before->n; i++)
        if (before->noted[i].tid == thread->tid)
            before->noted[i].stood = before->noted[i].switches == thread->switches;
    return 0;
}

/* Who woke before it was noted is no more asleep; who is noted anew by a program stays. */
static void drop_woken(struct before *before)
{
    int fd = bpf_map__fd(before->off->program->maps.asleep);
    for (size_t i = 0; i < before->n; i++) {
        const struct noted *noted = &before->noted[i];
        struct cairn_bpf_asleep now;
        uint32_t tid = (uint32_t)noted->tid;
        if (!noted->stood && bpf_map_lookup_elem(fd, &tid, &now) == 0 &&
            now.since_ns == noted->as.since_ns)
            bpf_map_delete_elem(fd, &tid);
    }
}

static int look(struct before *before, int pid, bool kernel_frames, struct cairn_err *err)
{
    const struct cairn_bpf_threads_opts opts = {
        .pid = pid, .stack_bytes = ONE_PAGE, .kernel_frames = kernel_frames};
    const struct cairn_bpf_threads_opts again = {.pid = pid, .stack_bytes = ONE_PAGE};
    struct cairn_bpf_threads *threads = NULL;
    int code = cairn_bpf_threads_open(&threads, err);
    if (code == CAIRN_OK)
        code = cairn_bpf_threads_each(threads, &opts, on_thread, before, err);
    if (code == CAIRN_OK)
        code = cairn_bpf_threads_each(threads, &again, on_second_look, before, err);
    drop_woken(before);
    cairn_bpf_threads_close(threads);
    return code;
}

/* A process that is gone is no news; that none can be looked at is, once. */
static void tell(struct cairn_off_cpu *off, int code, const struct cairn_err *err)
{
    bool is_none = code == CAIRN_E_SUPPORT || code == CAIRN_E_ACCESS;
    cairn_log_err(is_none && !off->is_told ? CAIRN_LOG_WARNING : CAIRN_LOG_INFO, err);
    if (is_none && !off->is_told)
        cairn_log(CAIRN_LOG_WARNING, "who sleeps already is seen from when it next leaves a CPU");
    off->is_told = off->is_told || is_none;
}

int cairn_off_cpu_before(struct cairn_off_cpu *off, int pid, cairn_off_cpu_stack_fn fn, void *ctx)
{
    struct cairn_err err = {0};
    struct before *before = cairn_alloc(1, sizeof *before);
    if (!before)
        return CAIRN_E_NOMEM;
    before->off = off;
    before->fn = fn;
    before->fn_ctx = ctx;
    int code = cairn_unwind_space_open_pid(pid, NULL, &before->space, &err);
    if (code == CAIRN_OK)
        code = look(before, pid, !off->program->rodata->cairn_off_user_only, &err);
    if (code < 0 && code != CAIRN_E_NOMEM && err.msg[0])
        tell(off, code, &err);
    cairn_unwind_space_free(before->space);
    cairn_free(before->noted);
    cairn_free(before);
    return code == CAIRN_E_NOMEM ? code : CAIRN_OK;
}

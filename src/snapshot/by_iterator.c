/* SPDX-License-Identifier: MIT */
/*
 * What a thread was doing when it left its CPU is in the kernel's own memory, and a program there
 * may read it while nobody is stopped. Whether the thread ran during the copy tells the number of
 * times that it has left a CPU.
 */
#include "snapshot/by_iterator.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "bpf/threads.h"
#include "target/regs.h"

enum { TRIES = 3 };

struct catching {
    struct cairn_caught *threads;
    size_t n;
    struct cairn_mem *mem;      /* NULL: the process has no memory (a zombie) */
    int code;                   /* CAIRN_E_NOMEM, CAIRN_E_SUPPORT: registers of no CPU we know */
    enum cairn_bpf_found found; /* of the last one that was wanted */
    size_t n_seen;
};

int cairn_iterator_open(struct cairn_catcher *catcher, struct cairn_err *err)
{
    return cairn_bpf_threads_open(&catcher->iterator, err);
}

void cairn_iterator_close(struct cairn_catcher *catcher)
{
    cairn_bpf_threads_close(catcher->iterator);
    catcher->iterator = NULL;
}

static struct cairn_caught *find(const struct catching *catching, int tid)
{
    for (size_t i = 0; i < catching->n; i++)
        if (catching->threads[i].facts.tid == tid)
            return &catching->threads[i];
    return NULL;
}

/* What /proc said of it may be older. */
static void put_facts(struct cairn_thread_facts *facts, const struct cairn_bpf_thread *from,
                      const struct cairn_cursor_regs *regs)
{
    struct cairn_thread_place *place = &facts->place;
    if (place->in_syscall != from->in_call || place->number != from->call)
        facts->wchan[0] = 0;
    facts->state = from->state;
    *place = (struct cairn_thread_place){
        .known = true,
        .in_syscall = from->in_call,
        .number = from->call,
        .ip = regs->ip,
    };
    memcpy(place->arguments, from->args, sizeof place->arguments);
}

static int put(struct cairn_caught *thread, const struct cairn_bpf_thread *from)
{
    struct cairn_cursor_regs regs;
    if (!cairn_target_regs(from->regs, false, &regs))
        return CAIRN_E_SUPPORT;
    if (from->stack.size &&
        cairn_grow((void **)&thread->copy, &thread->copy_cap, from->stack.size, 1) < 0)
        return CAIRN_E_NOMEM;
    if (from->stack.size)
        memcpy(thread->copy, from->stack.data, from->stack.size);
    thread->copy_va = from->stack_va;
    thread->copy_size = from->stack.size;
    thread->regs = regs;
    thread->switches = from->switches;
    thread->has_regs = true;
    thread->way = CAIRN_SNAPSHOT_ITERATOR;
    thread->reason[0] = 0;
    put_facts(&thread->facts, from, &regs);
    return CAIRN_OK;
}

static int see(void *ctx, const struct cairn_bpf_thread *from)
{
    struct catching *catching = ctx;
    struct cairn_caught *thread = find(catching, from->tid);
    if (!thread)
        return 0;
    catching->n_seen++;
    catching->found = from->found;
    if (from->unread != CAIRN_BPF_READ && catching->mem)
        cairn_unread_add(&catching->mem->unread, from->unread_from, from->unread_to,
                         from->unread == CAIRN_BPF_FUSE ? cairn_unread_fuse : cairn_unread_uffd);
    if (from->found == CAIRN_BPF_STILL)
        catching->code = put(thread, from);
    return catching->code;
}

static struct cairn_bpf_threads_opts opts_of(const struct cairn_catcher *catcher, int first,
                                             int last, size_t want)
{
    return (struct cairn_bpf_threads_opts){
        .pid = catcher->pid,
        .tid_first = first,
        .tid_last = last,
        .stack_bytes = want < CAIRN_BPF_STACK_BYTES_MAX ? want : CAIRN_BPF_STACK_BYTES_MAX,
    };
}

/* The numbers of the threads say which ones may be passed over. */
static void range_of(const struct cairn_caught *threads, size_t n, int *ret_first, int *ret_last)
{
    *ret_first = INT32_MAX;
    *ret_last = 0;
    for (size_t i = 0; i < n; i++) {
        int tid = threads[i].facts.tid;
        *ret_first = tid < *ret_first ? tid : *ret_first;
        *ret_last = tid > *ret_last ? tid : *ret_last;
    }
}

/* One that ran since has frames in the kernel that do not go with its stack. */
static int drop_moved(void *ctx, const struct cairn_bpf_thread *from)
{
    struct cairn_caught *thread = find(ctx, from->tid);
    if (thread && thread->way == CAIRN_SNAPSHOT_ITERATOR &&
        (from->found != CAIRN_BPF_STILL || from->switches != thread->switches)) {
        thread->way = CAIRN_SNAPSHOT_NONE;
        thread->has_regs = false;
        cairn_buffer_clear(&thread->kernel_text);
    }
    return 0;
}

/* Names of frames in the kernel are asked of /proc, for those threads which stand still until all
 * are read; the others are left to be caught one by one. */
static void add_kernel(struct cairn_catcher *catcher, struct cairn_caught *threads, size_t n)
{
    struct catching catching = {.threads = threads, .n = n};
    bool any = false;
    int first, last;
    for (size_t i = 0; i < n; i++) {
        if (threads[i].way == CAIRN_SNAPSHOT_ITERATOR)
            cairn_caught_kernel(catcher, &threads[i]);
        any |= threads[i].kernel_text.size > 0;
    }
    range_of(threads, n, &first, &last);
    const struct cairn_bpf_threads_opts opts = opts_of(catcher, first, last, 1);
    if (any && cairn_bpf_threads_each(catcher->iterator, &opts, drop_moved, &catching, NULL) < 0)
        for (size_t i = 0; i < n; i++)
            cairn_buffer_clear(&threads[i].kernel_text);
}

void cairn_catch_all_by_iterator(struct cairn_catcher *catcher, struct cairn_caught *threads,
                                 size_t n, size_t want)
{
    struct catching catching = {.threads = threads, .n = n, .mem = catcher->mem};
    struct cairn_err err;
    int first, last;
    if (!catcher->iterator || !n)
        return;
    range_of(threads, n, &first, &last);
    const struct cairn_bpf_threads_opts opts = opts_of(catcher, first, last, want);
    int code = cairn_bpf_threads_each(catcher->iterator, &opts, see, &catching, &err);
    if (code < 0 && code != catching.code)
        cairn_log_err(CAIRN_LOG_WARNING, &err);
    if (code != CAIRN_E_LIMIT)
        add_kernel(catcher, threads, n);
}

static int fail(const struct cairn_caught *thread, const struct catching *catching,
                struct cairn_err *err)
{
    int tid = thread->facts.tid;
    if (catching->code == CAIRN_E_NOMEM)
        return cairn_fail_memory(err);
    if (catching->code < 0)
        return cairn_fail(err, CAIRN_E_SUPPORT, "thread %d: registers of no CPU that is known here",
                          tid);
    if (!catching->n_seen)
        return cairn_fail(err, CAIRN_E_MISSING, "thread %d: it has ended", tid);
    if (catching->found == CAIRN_BPF_RUNNING)
        return cairn_fail(err, CAIRN_E_SUPPORT,
                          "thread %d: on a CPU, where the kernel does not see its registers", tid);
    if (catching->found == CAIRN_BPF_NO_USER)
        return cairn_fail(err, CAIRN_E_SUPPORT, "thread %d: it has no memory", tid);
    return cairn_fail(err, CAIRN_E_LIMIT, "thread %d: it ran each time it was read", tid);
}

struct comparing {
    uint64_t switches;
    bool is_still;
};

static int compare(void *ctx, const struct cairn_bpf_thread *thread)
{
    struct comparing *comparing = ctx;
    comparing->is_still =
        thread->found == CAIRN_BPF_STILL && thread->switches == comparing->switches;
    return 0;
}

bool cairn_iterator_is_still(struct cairn_catcher *catcher, const struct cairn_caught *thread)
{
    struct comparing comparing = {.switches = thread->switches};
    const int tid = thread->facts.tid;
    const struct cairn_bpf_threads_opts opts = opts_of(catcher, tid, tid, 1);
    return catcher->iterator &&
           cairn_bpf_threads_each(catcher->iterator, &opts, compare, &comparing, NULL) ==
               CAIRN_OK &&
           comparing.is_still;
}

/* False: it ran meanwhile. The last time that is taken without those frames. */
static bool has_kernel_of_its_moment(struct cairn_catcher *catcher, struct cairn_caught *thread,
                                     bool is_last)
{
    cairn_caught_kernel(catcher, thread);
    if (!thread->kernel_text.size || cairn_iterator_is_still(catcher, thread))
        return true;
    cairn_buffer_clear(&thread->kernel_text);
    return is_last;
}

int cairn_catch_by_iterator(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                            struct cairn_err *err)
{
    struct catching catching;
    const int tid = thread->facts.tid;
    const struct cairn_bpf_threads_opts opts = opts_of(catcher, tid, tid, want);
    if (!catcher->iterator)
        return cairn_fail(err, CAIRN_E_SUPPORT, "the task iterator is not to be had");
    for (int i = 0; i < TRIES; i++) {
        catching = (struct catching){.threads = thread, .n = 1, .mem = catcher->mem};
        cairn_buffer_clear(&thread->kernel_text);
        int code = cairn_bpf_threads_each(catcher->iterator, &opts, see, &catching, err);
        if (code < 0 && code != catching.code)
            return code;
        bool still = code == CAIRN_OK && catching.n_seen && catching.found == CAIRN_BPF_STILL;
        if (still && has_kernel_of_its_moment(catcher, thread, i + 1 == TRIES))
            return CAIRN_OK;
        if (code < 0 || (!still && catching.found != CAIRN_BPF_MOVED))
            break;
    }
    return fail(thread, &catching, err);
}

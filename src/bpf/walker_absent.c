/* SPDX-License-Identifier: MIT */
/* Where nothing of BPF was compiled in: meson.build says when. */
#include <errno.h>

#include "base/error.h"
#include "bpf/load.h"
#include "bpf/walker.h"

const struct cairn_bpf_need cairn_walker_need = {"the stack walker", 5, 17};

int cairn_walker_new(const struct cairn_walker_opts *opts, struct cairn_walker **ret_walker,
                     struct cairn_err *err)
{
    (void)opts, (void)ret_walker;
    return cairn_bpf_check(&cairn_walker_need, err);
}

void cairn_walker_free(struct cairn_walker *walker)
{
    (void)walker;
}

int cairn_walker_attach(struct cairn_walker *walker, int event_fd, int tid, struct cairn_err *err)
{
    (void)walker, (void)event_fd, (void)tid;
    return cairn_fail(err, CAIRN_E_SUPPORT, "%s is not there", cairn_walker_need.what);
}

void cairn_walker_look(struct cairn_walker *walker, int pid, bool now)
{
    (void)walker, (void)pid, (void)now;
}

void cairn_walker_changed(struct cairn_walker *walker, int pid)
{
    (void)walker, (void)pid;
}

void cairn_walker_replaced(struct cairn_walker *walker, int pid)
{
    (void)walker, (void)pid;
}

struct cairn_span cairn_walker_pieces(const struct cairn_bpf_stack *stack)
{
    (void)stack;
    return (struct cairn_span){0};
}

bool cairn_walker_guest(struct cairn_walker *walker, int pid, struct cairn_bpf_guest *guest)
{
    (void)walker, (void)pid, (void)guest;
    return false;
}

void cairn_walker_forget(struct cairn_walker *walker, int pid)
{
    (void)walker, (void)pid;
}

int cairn_walker_fd(const struct cairn_walker *walker)
{
    (void)walker;
    return -1;
}

int cairn_walker_take(struct cairn_walker *walker, cairn_walker_stack_fn fn, void *ctx)
{
    (void)walker, (void)fn, (void)ctx;
    return CAIRN_OK;
}

void cairn_walker_only(struct cairn_walker *walker, int pid, bool is_one)
{
    (void)walker, (void)pid, (void)is_one;
}

bool cairn_walker_is_only(const struct cairn_walker *walker, int pid)
{
    (void)walker, (void)pid;
    return false;
}

struct cairn_bpf_place cairn_walker_place(const struct cairn_bpf_stack *stack)
{
    (void)stack;
    return (struct cairn_bpf_place){0};
}

void cairn_walker_copy_no_more(struct cairn_walker *walker, const struct cairn_bpf_place *place,
                               uint64_t until_ns)
{
    (void)walker, (void)place, (void)until_ns;
}

bool cairn_walker_copy(const struct cairn_bpf_stack *stack, struct cairn_cursor_regs *ret_regs,
                       struct cairn_span *ret_bytes)
{
    (void)stack, (void)ret_regs, (void)ret_bytes;
    return false;
}

int cairn_walker_counts(struct cairn_walker *walker, cairn_walker_count_fn fn, void *ctx,
                        bool *ret_full)
{
    (void)walker, (void)fn, (void)ctx;
    *ret_full = false;
    return CAIRN_OK;
}

int cairn_walker_last_counts(struct cairn_walker *walker, cairn_walker_count_fn fn, void *ctx)
{
    (void)walker, (void)fn, (void)ctx;
    return CAIRN_OK;
}

int cairn_off_cpu_add(struct cairn_off_cpu *off, int pid, bool from_exec)
{
    (void)off, (void)pid, (void)from_exec;
    return -ENOSYS;
}

int cairn_off_cpu_start(struct cairn_off_cpu *off, struct cairn_err *err)
{
    (void)off;
    return cairn_fail(err, CAIRN_E_SUPPORT, "%s is not there", cairn_walker_need.what);
}

int cairn_off_cpu_before(struct cairn_off_cpu *off, int pid, cairn_off_cpu_stack_fn fn, void *ctx)
{
    (void)off, (void)pid, (void)fn, (void)ctx;
    return CAIRN_OK;
}

void cairn_off_cpu_stop(struct cairn_off_cpu *off)
{
    (void)off;
}

int cairn_off_cpu_slept(struct cairn_off_cpu *off, cairn_off_cpu_fn fn, void *ctx,
                        bool *ret_forgotten)
{
    (void)off, (void)fn, (void)ctx;
    *ret_forgotten = false;
    return CAIRN_OK;
}

int cairn_off_cpu_asleep(struct cairn_off_cpu *off, uint64_t now_ns, cairn_off_cpu_fn fn, void *ctx)
{
    (void)off, (void)now_ns, (void)fn, (void)ctx;
    return CAIRN_OK;
}

uint64_t cairn_off_cpu_lost(const struct cairn_off_cpu *off)
{
    (void)off;
    return 0;
}

uint64_t cairn_off_cpu_unseen(const struct cairn_off_cpu *off)
{
    (void)off;
    return 0;
}

int cairn_trace_programs_add(struct cairn_trace_programs *trace, int pid, bool from_exec)
{
    (void)trace, (void)pid, (void)from_exec;
    return -ENOSYS;
}

int cairn_trace_programs_start(struct cairn_trace_programs *trace, struct cairn_err *err)
{
    (void)trace;
    return cairn_bpf_check(&cairn_walker_need, err);
}

void cairn_trace_programs_stop(struct cairn_trace_programs *trace)
{
    (void)trace;
}

int cairn_trace_memory_attach(struct cairn_trace_programs *trace,
                              const struct cairn_trace_probe_at *at, struct cairn_err *err)
{
    (void)trace, (void)at;
    return cairn_bpf_check(&cairn_walker_need, err);
}

bool cairn_trace_memory_is_replaced(const struct cairn_trace_programs *trace, int pid)
{
    (void)trace, (void)pid;
    return false;
}

int cairn_trace_programs_sums(struct cairn_trace_programs *trace, cairn_trace_sum_fn fn, void *ctx)
{
    (void)trace, (void)fn, (void)ctx;
    return CAIRN_OK;
}

bool cairn_trace_programs_are_crowded(const struct cairn_trace_programs *trace)
{
    (void)trace;
    return false;
}

bool cairn_trace_programs_regs(const struct cairn_bpf_event *event,
                               struct cairn_cursor_regs *ret_regs)
{
    (void)event;
    (void)ret_regs;
    return false;
}

void cairn_trace_programs_stats(const struct cairn_trace_programs *trace,
                                struct cairn_bpf_trace_cpu *ret_stats)
{
    (void)trace;
    *ret_stats = (struct cairn_bpf_trace_cpu){0};
}

struct cairn_trace_programs *cairn_walker_trace(struct cairn_walker *walker)
{
    (void)walker;
    return NULL;
}

struct cairn_off_cpu *cairn_walker_off_cpu(struct cairn_walker *walker)
{
    (void)walker;
    return NULL;
}

void cairn_walker_stats(const struct cairn_walker *walker, struct cairn_walker_stats *ret_stats)
{
    (void)walker;
    *ret_stats = (struct cairn_walker_stats){0};
}

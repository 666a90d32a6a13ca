/* SPDX-License-Identifier: MIT */
#include "trace/plain.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/process.h"
#include "trace/plain_event.h"

/* Other threads, and calls that are not traced, may change a thread's name and user. */
static const uint64_t LOOK_NS = 20 * CAIRN_NS_PER_MS;
enum { POLL_MS = 100 };
static const uint64_t TURN_NS = 1000000000;

static const struct cairn_bpf_call *row_of(const struct cairn_plain *plain, uint32_t row)
{
    return &plain->spec->calls[row];
}

/* Whose call it is. */
static int look_at_owner(struct cairn_plain *plain, const struct cairn_call_thread *thread,
                         struct cairn_plain_pending *pending)
{
    char path[64], name[CAIRN_COMM_SIZE];
    struct stat status;
    const uint64_t now_ns = cairn_now_ns();
    if (pending->looked_ns && now_ns - pending->looked_ns < LOOK_NS)
        return CAIRN_OK;
    pending->looked_ns = now_ns;
    cairn_thread_name(thread->pid, thread->tid, name);
    snprintf(path, sizeof path, "/proc/%d", thread->tid);
    if (stat(path, &status) == 0)
        pending->uid = status.st_uid;
    if (strncmp(name, pending->comm, sizeof pending->comm - 1) == 0)
        return CAIRN_OK;
    memset(pending->comm, 0, sizeof pending->comm);
    memcpy(pending->comm, name, strnlen(name, sizeof pending->comm - 1));
    return cairn_collect_name(&plain->sampler->collect, thread->tid, pending->comm);
}

static void say_x32(struct cairn_plain *plain, int pid)
{
    if (!plain->has_said_x32)
        cairn_log(CAIRN_LOG_WARNING,
                  "pid %d makes x32 system calls: those with numbers of 64-bit calls are shown as "
                  "these, and the others are not traced",
                  pid);
    plain->has_said_x32 = true;
}

/* A call that is traced, up to its stack. */
static int begin_event(struct cairn_plain *plain, const struct cairn_call_thread *thread,
                       struct cairn_plain_pending *pending, const struct cairn_stopped_call *call,
                       uint32_t row)
{
    const struct cairn_bpf_call *wanted = row_of(plain, row);
    int code = look_at_owner(plain, thread, pending);
    plain->n_seen++;
    cairn_plain_begin(pending, thread, call, row);
    if (code < 0)
        return code;
    if (!cairn_plain_holds(pending, wanted, false)) {
        plain->n_filtered++;
        return CAIRN_OK;
    }
    pending->is_event = true;
    pending->has_regs =
        plain->wants_regs && cairn_plain_stacks_regs(&plain->stacks, thread->tid, &pending->regs);
    if (plain->no_stack)
        pending->stack = (struct cairn_collected){.pid = thread->pid, .tid = thread->tid};
    else
        code = cairn_plain_stacks_catch(&plain->stacks, thread->pid, thread->tid, &pending->stack);
    if (plain->wants_texts)
        cairn_plain_take(pending, wanted, &(struct cairn_plain_memory){.tid = thread->tid}, false);
    pending->is_complete = plain->enter_only || wanted->flags & CAIRN_TRACE_NO_RETURN;
    return code;
}

static int on_enter(void *ctx, struct cairn_call_thread *thread,
                    const struct cairn_stopped_call *call)
{
    struct cairn_plain *plain = ctx;
    struct cairn_plain_pending *pending = thread->data;
    bool is_x32;
    const uint32_t row = cairn_plain_row(call, &is_x32);
    const bool is_wanted = row != CAIRN_PLAIN_NO_ROW && row_of(plain, row)->is_wanted;
    pending->is_event = pending->is_complete = false;
    pending->maps = cairn_plain_maps(call);
    pending->renames = cairn_plain_renames(call);
    if (is_x32)
        say_x32(plain, thread->pid);
    int code = is_wanted ? begin_event(plain, thread, pending, call, row) : CAIRN_OK;
    if (code < 0)
        return code;
    const bool ends =
        pending->maps || pending->renames || (pending->is_event && !pending->is_complete);
    return (ends ? CAIRN_CALL_TO_ITS_END : 0) | (pending->is_complete ? CAIRN_CALL_TELL : 0);
}

static int on_leave(void *ctx, struct cairn_call_thread *thread,
                    const struct cairn_stopped_call *call)
{
    struct cairn_plain *plain = ctx;
    struct cairn_plain_pending *pending = thread->data;
    struct cairn_bpf_event *event = &pending->event.event;
    if (pending->renames)
        pending->looked_ns = 0;
    if (pending->maps && cairn_plain_stacks_moved(&plain->stacks, thread->pid) < 0)
        return CAIRN_E_NOMEM;
    if (!pending->is_event || pending->is_complete)
        return CAIRN_CALL_GO_ON;
    event->stack.time_ns = cairn_now_ns();
    event->stack.value = event->stack.time_ns - event->start_ns;
    event->ret = cairn_trace_result(event->row, row_of(plain, event->row)->ret_width,
                                    (uint64_t)call->result);
    event->has_ret = 1;
    if (!cairn_plain_holds(pending, row_of(plain, event->row), true)) {
        plain->n_filtered++;
        pending->is_event = false;
        return CAIRN_CALL_GO_ON;
    }
    if (plain->wants_texts)
        cairn_plain_take(pending, row_of(plain, event->row),
                         &(struct cairn_plain_memory){.tid = thread->tid}, true);
    pending->is_complete = true;
    return CAIRN_CALL_TELL;
}

static int report(struct cairn_plain *plain, struct cairn_plain_pending *pending)
{
    pending->is_event = pending->is_complete = false;
    return plain->on_event(plain->event_ctx, pending);
}

static int on_resumed(void *ctx, struct cairn_call_thread *thread)
{
    return report(ctx, thread->data);
}

static int on_born(void *ctx, const struct cairn_call_thread *parent,
                   struct cairn_call_thread *thread)
{
    struct cairn_plain *plain = ctx;
    const struct cairn_stream_birth birth = {.pid = thread->pid,
                                             .tid = thread->tid,
                                             .parent_pid = parent->pid,
                                             .parent_tid = parent->tid};
    uint32_t one;
    const bool is_stale = cairn_table_find(&plain->stacks.stale, (uint64_t)parent->pid, &one);
    int code = cairn_collect_fork(&plain->sampler->collect, &birth);
    if (code == CAIRN_OK && is_stale)
        code = cairn_plain_stacks_moved(&plain->stacks, thread->pid);
    return code;
}

/* Under a filter, or a tracer without rights, a program does not get what its file grants. */
static void say_setuid(struct cairn_plain *plain, int pid)
{
    struct cairn_buffer exe = {0};
    char path[64];
    struct stat status;
    bool is_deleted;
    if (plain->has_said_setuid || geteuid() == 0) /* root has the rights to grant them */
        return;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    const bool grants = stat(path, &status) == 0 &&
                        ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
                         ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
                          status.st_gid != getegid()) ||
                         getxattr(path, "security.capability", NULL, 0) > 0);
    if (grants && cairn_process_exe(pid, &exe, &is_deleted, NULL) == CAIRN_OK) {
        cairn_log(CAIRN_LOG_WARNING,
                  "%s is set-uid, set-gid or has capabilities: while it is traced it runs without "
                  "these rights; trace it as root",
                  cairn_buffer_text(&exe));
        plain->has_said_setuid = true;
    }
    cairn_buffer_done(&exe);
}

static int on_replaced(void *ctx, struct cairn_call_thread *thread)
{
    struct cairn_plain *plain = ctx;
    struct cairn_plain_pending *pending = thread->data;
    pending->looked_ns = 0;
    say_setuid(plain, thread->pid);
    int code = cairn_stream_processes_exec(&plain->sampler->collect.spaces.all, thread->pid);
    return code == CAIRN_OK ? cairn_plain_stacks_moved(&plain->stacks, thread->pid) : code;
}

/* The call that was under way has no result. */
static int on_gone(void *ctx, struct cairn_call_thread *thread)
{
    struct cairn_plain *plain = ctx;
    struct cairn_plain_pending *pending = thread->data;
    struct cairn_bpf_event *event = &pending->event.event;
    int code = CAIRN_OK;
    if (thread->is_in_call && pending->is_event) {
        event->is_gone = 1;
        event->stack.time_ns = cairn_now_ns();
        event->stack.value = event->stack.time_ns - event->start_ns;
        if (cairn_plain_holds(pending, row_of(plain, event->row), true))
            code = report(plain, pending);
        else
            plain->n_filtered++;
    }
    if (thread->tid == thread->pid)
        cairn_table_remove(&plain->stacks.stale, (uint64_t)thread->pid);
    return code == CAIRN_OK ? cairn_stream_processes_exit(&plain->sampler->collect.spaces.all,
                                                          thread->pid, thread->tid)
                            : code;
}

static int in_child(const void *ctx)
{
    const struct cairn_plain *plain = ctx;
    return cairn_call_filter_lay(&plain->filter);
}

static void serve(void *ctx)
{
    struct cairn_plain *plain = ctx;
    (void)cairn_call_stops_poll(&plain->stops, 0, NULL);
}

static int make_filter(struct cairn_plain *plain, struct cairn_err *err)
{
    struct cairn_calls_wanted wanted = {0};
    for (uint32_t i = 0; i < CAIRN_TRACE_CALLS; i++) {
        const uint32_t number = i % CAIRN_TRACE_NUMBERS;
        uint64_t *bits = i < CAIRN_TRACE_NUMBERS ? wanted.native : wanted.compat;
        bits[number / 64] |= (uint64_t)(row_of(plain, i)->is_wanted != 0) << number % 64;
    }
    return cairn_call_filter_make(&wanted, &plain->filter, err);
}

int cairn_plain_open(struct cairn_plain *plain, const struct cairn_sampler_opts *whom,
                     struct cairn_sampler **ret_sampler, struct cairn_err *err)
{
    int code = make_filter(plain, err);
    plain->outside =
        (struct cairn_sampler_outside){.in_child = in_child, .serve = serve, .ctx = plain};
    if (code == CAIRN_OK)
        code = cairn_sampler_new_outside(whom, &plain->outside, ret_sampler, err);
    if (code < 0)
        return code;
    plain->sampler = *ret_sampler;
    plain->stops.no_inherit = whom->no_inherit;
    plain->stops.cpu.is_wanted = plain->is_quiet;
    plain->stops.watcher =
        (struct cairn_call_watcher){plain,       sizeof(struct cairn_plain_pending),
                                    on_enter,    on_leave,
                                    on_resumed,  on_born,
                                    on_replaced, on_gone};
    return cairn_plain_stacks_init(&plain->stacks, &plain->sampler->collect) < 0
               ? cairn_fail_memory(err)
               : CAIRN_OK;
}

/* Memory of another user's process may keep whoever reads it waiting; root traces it by BPF. */
static int check_owner(int pid, struct cairn_err *err)
{
    struct cairn_process_status status;
    int code = cairn_process_status(pid, &status, err);
    if (code < 0 || status.euid == geteuid())
        return code;
    cairn_fail(err, CAIRN_E_ACCESS,
               "pid %d runs as uid %u: by ptrace each user traces his own "
               "processes alone",
               pid, status.euid);
    cairn_hint(err, "run as that user, or by BPF: sudo cairn trace ...");
    return CAIRN_E_ACCESS;
}

static int take_processes(struct cairn_plain *plain, struct cairn_err *err)
{
    const struct cairn_targets *targets = &plain->sampler->targets;
    int code = CAIRN_OK;
    cairn_log(CAIRN_LOG_WARNING,
              "without rights for BPF each system call of the process, traced or "
              "not, stops it twice: calls take 10 to 200 us more");
    for (size_t i = 0; i < targets->n && code == CAIRN_OK; i++) {
        code = check_owner(targets->items[i].pid, err);
        if (code == CAIRN_OK)
            code = cairn_call_stops_process(&plain->stops, targets->items[i].pid, plain->tid, err);
        if (code == CAIRN_E_MISSING && targets->n > 1)
            code = CAIRN_OK;
    }
    return code;
}

static bool is_command(const struct cairn_plain *plain)
{
    return plain->sampler->opts.argv != NULL;
}

int cairn_plain_start(struct cairn_plain *plain, struct cairn_err *err)
{
    plain->turn_ns = cairn_now_ns();
    int code = is_command(plain) ? cairn_call_stops_command(&plain->stops, plain->sampler->pid, err)
                                 : take_processes(plain, err);
    return code == CAIRN_OK ? cairn_sampler_start(plain->sampler, err) : code;
}

int cairn_plain_poll(struct cairn_plain *plain, int timeout_ms, struct cairn_err *err)
{
    if (timeout_ms < 0 || timeout_ms > POLL_MS)
        timeout_ms = POLL_MS;
    int code = cairn_call_stops_poll(&plain->stops, timeout_ms, err);
    const uint64_t now_ns = cairn_now_ns();
    if (now_ns - plain->turn_ns >= TURN_NS) {
        plain->turn_ns = now_ns;
        cairn_collect_turn(&plain->sampler->collect);
    }
    plain->sampler->exit_status = plain->stops.exit_status;
    return code;
}

void cairn_plain_end(struct cairn_plain *plain)
{
    cairn_call_stops_end(&plain->stops);
}

void cairn_plain_done(struct cairn_plain *plain)
{
    cairn_call_stops_done(&plain->stops);
    cairn_plain_stacks_done(&plain->stacks);
}

void cairn_plain_say(const struct cairn_plain *plain, struct cairn_buffer *out)
{
    cairn_buffer_str(out, is_command(plain)
                              ? "seccomp and ptrace: a stop where a traced call begins"
                              : "ptrace: two stops at every system call, traced or not");
    if (is_command(plain) && !plain->enter_only)
        cairn_buffer_str(out, " and one where it ends");
    if (is_command(plain))
        cairn_buffer_str(out, "; set-uid programs run without their rights");
}

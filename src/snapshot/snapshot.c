/* SPDX-License-Identifier: MIT */
#include "snapshot/snapshot.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/process.h"
#include "snapshot/by_iterator.h"
#include "snapshot/syscall.h"
#include "target/core.h"
#include "target/core_notes.h"
#include "target/pid.h"

/* What runs waits rarely longer for its CPU. Who may not be stopped is waited for longer. */
enum { STOP_MS = 100, SAMPLE_MS = 20 };

const char *cairn_snapshot_way_text(int way)
{
    static const char *const texts[] = {"none", "memory", "ptrace", "core", "iterator", "sample"};
    return way >= 0 && (size_t)way < sizeof texts / sizeof *texts ? texts[way] : NULL;
}

static int check(const struct cairn_snapshot_opts *opts, struct cairn_err *err)
{
    if (opts->size < sizeof *opts || (opts->pid > 0) == (opts->core != NULL))
        return cairn_fail(err, CAIRN_E_ARG, "a snapshot is of a pid or of a core file");
    if (opts->no_stop && (opts->consistent || opts->way == CAIRN_SNAPSHOT_PTRACE))
        return cairn_fail(err, CAIRN_E_ARG, "threads cannot be stopped without a stop");
    if (opts->coroutines && opts->no_guests)
        return cairn_fail(err, CAIRN_E_ARG, "coroutines are found by reading interpreters");
    if (opts->consistent && opts->way != CAIRN_SNAPSHOT_NONE && opts->way != CAIRN_SNAPSHOT_PTRACE)
        return cairn_fail(err, CAIRN_E_ARG, "threads are stopped together by ptrace alone");
    if (opts->way < CAIRN_SNAPSHOT_NONE || opts->way > CAIRN_SNAPSHOT_SAMPLE ||
        opts->way == CAIRN_SNAPSHOT_CORE)
        return cairn_fail(err, CAIRN_E_ARG, "there is no such way to a stack");
    return CAIRN_OK;
}

/* A thread that has memory: the main one may have ended before others. 0: none has. */
static int find_alive(int pid)
{
    struct cairn_threads threads = {0};
    struct cairn_thread_facts facts;
    int found = 0;
    if (cairn_threads_read(pid, &threads, NULL) < 0)
        return 0;
    for (size_t i = 0; i < threads.n && !found; i++) {
        cairn_facts_read(pid, threads.tids[i], &facts);
        if (!facts.is_kernel && facts.state != 'Z' && facts.state != 'X' && facts.state != '?')
            found = threads.tids[i];
    }
    cairn_threads_done(&threads);
    return found;
}

/* Where it is one way of several, the others do. */
static int open_iterator(struct cairn_snapshot *s, struct cairn_err *err)
{
    struct cairn_err why;
    if (s->opts.way == CAIRN_SNAPSHOT_ITERATOR)
        return cairn_iterator_open(&s->catcher, err);
    if (s->opts.way == CAIRN_SNAPSHOT_NONE && !s->opts.consistent &&
        cairn_iterator_open(&s->catcher, &why) < 0)
        cairn_log_err(CAIRN_LOG_INFO, &why);
    return CAIRN_OK;
}

static int open_pid(struct cairn_snapshot *s, struct cairn_err *err)
{
    struct cairn_process_status status;
    int code = cairn_process_status(s->opts.pid, &status, err);
    if (code < 0)
        return code;
    s->catcher.pid = status.tgid;
    s->catcher.pid_alive = find_alive(status.tgid);
    if (!s->catcher.pid_alive)
        return CAIRN_OK;
    s->catcher.machine = cairn_facts_machine(s->catcher.pid_alive);
    s->is_native = s->catcher.machine == cairn_facts_machine(getpid());
    (void)cairn_process_cmdline(s->catcher.pid_alive, &s->command, NULL);
    code = cairn_unwind_space_open_pid(s->catcher.pid_alive, s->opts.modules, &s->space, err);
    if (code < 0)
        return code;
    s->catcher.mem = cairn_target_pid_mem(s->space);
    return open_iterator(s, err);
}

int cairn_snapshot_new(const struct cairn_snapshot_opts *opts, struct cairn_snapshot **ret_snapshot,
                       struct cairn_err *err)
{
    int code = check(opts, err);
    if (code < 0)
        return code;
    struct cairn_snapshot *s = cairn_alloc(1, sizeof *s);
    if (!s)
        return cairn_fail_memory(err);
    s->opts = *opts;
    s->catcher.stop_ms = opts->stop_ms ? opts->stop_ms : STOP_MS;
    s->catcher.sample_ms =
        opts->no_stop || opts->way == CAIRN_SNAPSHOT_SAMPLE ? s->catcher.stop_ms : SAMPLE_MS;
    s->catcher.user_only = opts->user_only;
    code = cairn_stacks_init(&s->stacks, err);
    s->stacks.max_frames = opts->max_frames;
    if (code == CAIRN_OK)
        code = opts->core ? cairn_unwind_space_open_core(opts->core, opts->modules, &s->space, err)
                          : open_pid(s, err);
    if (code < 0) {
        cairn_snapshot_free(s);
        return code;
    }
    if (s->space && !opts->no_guests) {
        cairn_target_guests_init(&s->guests, s->space, opts->core ? 0 : s->catcher.pid_alive);
        s->stacks.guests = &s->guests;
    }
    *ret_snapshot = s;
    return code;
}

void cairn_snapshot_free(struct cairn_snapshot *snapshot)
{
    if (!snapshot)
        return;
    for (size_t i = 0; i < snapshot->n; i++)
        cairn_caught_done(&snapshot->threads[i]);
    cairn_free(snapshot->threads);
    cairn_stacks_done(&snapshot->stacks);
    cairn_coroutines_done(&snapshot->coroutines);
    cairn_target_guests_done(&snapshot->guests);
    cairn_unwind_space_free(snapshot->space);
    cairn_iterator_close(&snapshot->catcher);
    cairn_buffer_done(&snapshot->command);
    cairn_free(snapshot);
}

int cairn_snapshot_pid(const struct cairn_snapshot *snapshot)
{
    return snapshot->catcher.pid;
}

uint32_t cairn_snapshot_machine(const struct cairn_snapshot *snapshot)
{
    return snapshot->catcher.machine;
}

const char *cairn_snapshot_command(const struct cairn_snapshot *snapshot)
{
    return cairn_buffer_text(&snapshot->command);
}

int cairn_snapshot_core(const struct cairn_snapshot *snapshot, struct cairn_snapshot_core *ret_core)
{
    const struct cairn_core_facts *facts =
        snapshot->opts.core ? cairn_target_core_facts(snapshot->space) : NULL;
    if (!facts)
        return 0;
    struct cairn_snapshot_core core = {
        .size = ret_core->size,
        .pid = facts->pid,
        .name = facts->name,
        .arguments = facts->arguments,
        .signal = facts->signal,
        .tid = facts->tid,
        .has_code = facts->has_code,
        .code = facts->code,
        .has_address = facts->has_address,
        .address = facts->address,
        .sender = facts->sender,
    };
    memcpy(ret_core, &core, core.size < sizeof core ? core.size : sizeof core);
    return 1;
}

size_t cairn_snapshot_threads(const struct cairn_snapshot *snapshot)
{
    return snapshot->n;
}

struct cairn_profile *cairn_snapshot_profile(struct cairn_snapshot *snapshot)
{
    return snapshot->stacks.profile;
}

static void put_syscall(const struct cairn_snapshot *s, const struct cairn_thread_place *place,
                        struct cairn_snapshot_thread *to)
{
    to->n_arguments = -1;
    if (!place->in_syscall || to->is_kernel)
        return;
    to->in_syscall = 1;
    to->syscall_number = place->number;
    to->syscall = s->is_native ? cairn_syscall_name(place->number) : NULL;
    to->n_arguments = cairn_syscall_arguments(to->syscall);
    memcpy(to->arguments, place->arguments, sizeof to->arguments);
}

int cairn_snapshot_thread(const struct cairn_snapshot *snapshot, size_t index,
                          struct cairn_snapshot_thread *ret_thread)
{
    if (index >= snapshot->n || ret_thread->size < sizeof *ret_thread)
        return CAIRN_E_ARG;
    const struct cairn_caught *t = &snapshot->threads[index];
    *ret_thread = (struct cairn_snapshot_thread){
        .size = ret_thread->size,
        .tid = t->facts.tid,
        .name = t->facts.name,
        .state = t->facts.state,
        .is_kernel = t->facts.is_kernel,
        .wchan = t->facts.wchan,
        .way = t->way,
        .reason = t->reason,
        .end_detail = t->end_detail,
        .held_ns = t->held_ns,
        .asked_ns = t->asked_ns,
        .n_kernel = (uint32_t)t->n_kernel_rows,
        .n_frames = (uint32_t)t->n_rows,
        .stack = t->stack,
        .end = t->end,
        .has_regs = t->has_regs,
        .regs = t->regs,
        .n_guests = (uint32_t)t->n_guests,
    };
    put_syscall(snapshot, &t->facts.place, ret_thread);
    return CAIRN_OK;
}

static void put_frame(const struct cairn_frame_row *row, struct cairn_snapshot_frame *ret_frame)
{
    *ret_frame = (struct cairn_snapshot_frame){
        .size = ret_frame->size,
        .frame = row->number,
        .is_kernel = row->is_kernel,
        .ip = row->ip,
        .sp = row->sp,
        .how = (enum cairn_frame_how)row->how,
        .exact = row->exact,
        .signal = row->signal,
        .is_guest = row->is_guest,
        .own = row->own,
        .guest_kind = (enum cairn_guest_kind)row->guest_kind,
        .is_tail_called = row->is_tail_called,
        .is_about = row->is_about,
        .trace = row->trace,
    };
}

int cairn_snapshot_frame(const struct cairn_snapshot *snapshot, size_t thread, size_t index,
                         struct cairn_snapshot_frame *ret_frame)
{
    if (thread >= snapshot->n || index >= snapshot->threads[thread].n_rows ||
        ret_frame->size < sizeof *ret_frame)
        return CAIRN_E_ARG;
    put_frame(&snapshot->stacks.rows[snapshot->threads[thread].first_row + index], ret_frame);
    return CAIRN_OK;
}

static void put_guest(const struct cairn_snapshot *snapshot, size_t number,
                      struct cairn_snapshot_guest *ret_guest)
{
    const struct cairn_guest_row *row = &snapshot->stacks.guest_rows[number];
    *ret_guest = (struct cairn_snapshot_guest){
        .size = ret_guest->size,
        .language = "lua",
        .version = row->version,
        .module = cairn_strings_get(&snapshot->stacks.profile->strings, row->module),
        .state = row->va,
        .mode = row->mode ? row->mode : "",
        .reason = row->reason ? row->reason : "",
        .is_unread = row->is_unread,
    };
}

int cairn_snapshot_guest(const struct cairn_snapshot *snapshot, size_t thread, size_t index,
                         struct cairn_snapshot_guest *ret_guest)
{
    if (thread >= snapshot->n || index >= snapshot->threads[thread].n_guests ||
        ret_guest->size < sizeof *ret_guest)
        return CAIRN_E_ARG;
    put_guest(snapshot, snapshot->threads[thread].first_guest + index, ret_guest);
    return CAIRN_OK;
}

int cairn_snapshot_coroutines(const struct cairn_snapshot *snapshot,
                              struct cairn_snapshot_coroutines *ret_coroutines)
{
    const struct cairn_coroutines *c = &snapshot->coroutines;
    if (ret_coroutines->size < sizeof *ret_coroutines)
        return CAIRN_E_ARG;
    *ret_coroutines = (struct cairn_snapshot_coroutines){
        .size = ret_coroutines->size,
        .n_groups = c->n,
        .n = c->n_all,
        .n_unlisted = c->n_unlisted,
        .n_moving = c->search.n_moving,
        .is_cut = c->search.is_cut,
        .searched_bytes = c->search.n_bytes,
        .unread_bytes = c->search.n_unread,
        .search_ns = c->search_ns,
    };
    return CAIRN_OK;
}

int cairn_snapshot_coroutine(const struct cairn_snapshot *snapshot, size_t index,
                             struct cairn_snapshot_coroutine *ret_coroutine)
{
    if (index >= snapshot->coroutines.n || ret_coroutine->size < sizeof *ret_coroutine)
        return CAIRN_E_ARG;
    const struct cairn_coroutine_group *group = &snapshot->coroutines.groups[index];
    *ret_coroutine = (struct cairn_snapshot_coroutine){
        .size = ret_coroutine->size,
        .n = group->n,
        .is_begun = group->rest == CAIRN_GUEST_SUSPENDED,
        .may_be_collected = group->may_be_collected,
        .n_frames = (uint32_t)group->n_rows,
        .stack = group->stack,
        .guest.size = sizeof ret_coroutine->guest,
    };
    put_guest(snapshot, group->guest_row, &ret_coroutine->guest);
    return CAIRN_OK;
}

int cairn_snapshot_coroutine_frame(const struct cairn_snapshot *snapshot, size_t coroutine,
                                   size_t index, struct cairn_snapshot_frame *ret_frame)
{
    if (coroutine >= snapshot->coroutines.n || ret_frame->size < sizeof *ret_frame)
        return CAIRN_E_ARG;
    const struct cairn_coroutine_group *group = &snapshot->coroutines.groups[coroutine];
    if (index >= group->n_rows)
        return CAIRN_E_ARG;
    put_frame(&snapshot->stacks.rows[group->first_row + index], ret_frame);
    return CAIRN_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * All threads of a process at one moment: each is stopped, then all are copied and walked, then all
 * go on. What a stop costs before that (tables, lists) is paid before the first is stopped.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "snapshot/snapshot.h"
#include "snapshot/walk.h"

static struct cairn_caught *find(struct cairn_snapshot *s, int tid)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->threads[i].facts.tid == tid)
            return &s->threads[i];
    return cairn_snapshot_add(s, tid);
}

/* A thread that was not asked yet; NULL: all were, or memory is gone. Others may be born while some
 * still run. */
static struct cairn_caught *next_to_stop(struct cairn_snapshot *s, struct cairn_tracer *tracer)
{
    const struct cairn_tracee *tracees;
    size_t n = cairn_tracer_threads(tracer, &tracees);
    for (size_t i = 0; i < n; i++) {
        struct cairn_caught *thread = tracees[i].stopped ? NULL : find(s, tracees[i].tid);
        if (thread && !thread->asked_ns)
            return thread;
    }
    return NULL;
}

/* asked_ns and held_ns are moments until all are let go. */
static void stop_all(struct cairn_snapshot *s, struct cairn_tracer *tracer)
{
    struct cairn_caught *thread;
    struct cairn_err err;
    while ((thread = next_to_stop(s, tracer))) {
        thread->asked_ns = cairn_now_ns();
        int code = cairn_tracer_stop(tracer, thread->facts.tid, (int)s->catcher.stop_ms, &err);
        thread->held_ns = cairn_now_ns();
        if (code == CAIRN_OK)
            thread->way = CAIRN_SNAPSHOT_PTRACE;
        else
            snprintf(thread->reason, sizeof thread->reason, "%s", err.msg);
    }
}

/* Memory that is there when all stand still. */
static int make_room(struct cairn_snapshot *s, struct cairn_err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        struct cairn_caught *thread = &s->threads[i];
        if (cairn_grow((void **)&thread->copy, &thread->copy_cap, CAIRN_SNAPSHOT_COPY_BYTES, 1) < 0)
            return cairn_fail_memory(err);
        memset(thread->copy, 0, CAIRN_SNAPSHOT_COPY_BYTES);
    }
    return CAIRN_OK;
}

static int copy_all(struct cairn_snapshot *s, struct cairn_tracer *tracer, struct cairn_err *err)
{
    struct cairn_err why;
    for (size_t i = 0; i < s->n; i++) {
        struct cairn_caught *thread = &s->threads[i];
        if (thread->way != CAIRN_SNAPSHOT_PTRACE)
            continue;
        thread->has_regs = cairn_held_regs(tracer, thread, &why) == CAIRN_OK;
        if (!thread->has_regs)
            snprintf(thread->reason, sizeof thread->reason, "%s", why.msg);
        else if (!cairn_caught_copy(&s->catcher, thread, CAIRN_SNAPSHOT_COPY_BYTES))
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

static int walk_all(struct cairn_snapshot *s)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < s->n && code == CAIRN_OK; i++) {
        struct cairn_caught *thread = &s->threads[i];
        bool missed = false;
        thread->first_row = s->stacks.n_rows;
        if (thread->has_regs)
            code = cairn_walk_user(&s->stacks, s->space, thread, false, &missed);
        if (code == CAIRN_OK && missed && !*thread->end_detail)
            code = cairn_walk_user(&s->stacks, s->space, thread, true, &missed);
        if (code == CAIRN_OK)
            code = cairn_walk_guests(&s->stacks, thread, "the thread was not stopped");
    }
    return code;
}

int cairn_snapshot_take_consistent(struct cairn_snapshot *snapshot, struct cairn_err *err)
{
    struct cairn_tracer *tracer;
    for (size_t i = 0; i < snapshot->n; i++)
        cairn_facts_read(snapshot->catcher.pid, snapshot->threads[i].facts.tid,
                         &snapshot->threads[i].facts);
    (void)cairn_unwind_space_load(snapshot->space, NULL);
    if (snapshot->stacks.guests && cairn_target_guests_load(snapshot->stacks.guests) < 0)
        return cairn_fail_memory(err);
    int code = make_room(snapshot, err);
    if (code == CAIRN_OK)
        code = cairn_tracer_new(snapshot->catcher.pid, 0, &tracer, err);
    if (code < 0)
        return code;
    stop_all(snapshot, tracer);
    code = copy_all(snapshot, tracer, err);
    if (code == CAIRN_OK && walk_all(snapshot) < 0)
        code = cairn_fail_memory(err);
    cairn_tracer_free(tracer);
    uint64_t now_ns = cairn_now_ns();
    for (size_t i = 0; i < snapshot->n; i++) {
        struct cairn_caught *thread = &snapshot->threads[i];
        bool held = thread->way == CAIRN_SNAPSHOT_PTRACE;
        thread->held_ns = held ? now_ns - thread->held_ns : 0;
        thread->asked_ns = held ? now_ns - thread->asked_ns : 0;
        cairn_caught_done(thread);
    }
    return code;
}

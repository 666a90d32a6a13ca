/* SPDX-License-Identifier: MIT */
/*
 * One look at all threads. They are caught some at a time and then walked, so that the copies of
 * the stacks of a thousand threads are not all there at once.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "snapshot/by_iterator.h"
#include "snapshot/by_sample.h"
#include "snapshot/snapshot.h"
#include "snapshot/walk.h"
#include "target/core.h"
#include "target/core_notes.h"

/* LOOK_SAMPLES: so many samples may take all of their time, and then no thread is waited for. */
enum { BATCH = 64, MORE_BYTES = 256 << 10, LOOK_SAMPLES = 10 };

struct cairn_caught *cairn_snapshot_add(struct cairn_snapshot *snapshot, int tid)
{
    if (cairn_grow((void **)&snapshot->threads, &snapshot->cap, snapshot->n + 1,
                   sizeof *snapshot->threads) < 0)
        return NULL;
    struct cairn_caught *thread = &snapshot->threads[snapshot->n++];
    *thread = (struct cairn_caught){.facts.tid = tid, .facts.state = '?'};
    return thread;
}

static void keep_reason(struct cairn_caught *thread, const struct cairn_err *err)
{
    snprintf(thread->reason, sizeof thread->reason, "%s", err->msg);
}

typedef int (*catch_fn)(struct cairn_catcher *catcher, struct cairn_caught *thread, size_t want,
                        struct cairn_err *err);

static const struct {
    enum cairn_snapshot_way way;
    bool stops;
    catch_fn catch;
} ways[] = {
    {CAIRN_SNAPSHOT_ITERATOR, false, cairn_catch_by_iterator},
    {CAIRN_SNAPSHOT_MEMORY, false, cairn_catch_by_memory},
    {CAIRN_SNAPSHOT_SAMPLE, false, cairn_catch_by_sample},
    {CAIRN_SNAPSHOT_PTRACE, true, cairn_catch_by_ptrace},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static bool may_go(const struct cairn_snapshot *s, size_t way)
{
    return (s->opts.way == CAIRN_SNAPSHOT_NONE || s->opts.way == ways[way].way) &&
           !(ways[way].stops && s->opts.no_stop) &&
           !(ways[way].way == CAIRN_SNAPSHOT_ITERATOR && !s->catcher.iterator);
}

/* By the first of the ways from `from` on that has it. False: none has. */
static bool catch_from(struct cairn_snapshot *s, struct cairn_caught *thread, size_t from,
                       size_t want)
{
    struct cairn_err err;
    for (size_t i = from; i < N_WAYS; i++) {
        if (!may_go(s, i))
            continue;
        if (ways[i].catch(&s->catcher, thread, want, &err) == CAIRN_OK) {
            thread->way = ways[i].way;
            thread->has_regs = true;
            return true;
        }
        keep_reason(thread, &err);
    }
    thread->way = CAIRN_SNAPSHOT_NONE;
    thread->has_regs = false;
    return false;
}

static void catch_thread(struct cairn_snapshot *s, struct cairn_caught *thread)
{
    if (thread->facts.is_kernel)
        snprintf(thread->reason, sizeof thread->reason, "a thread of the kernel");
    else if (thread->facts.state == 'Z' || thread->facts.state == 'X')
        snprintf(thread->reason, sizeof thread->reason, "it has ended");
    else if (s->space)
        catch_from(s, thread, 0, CAIRN_SNAPSHOT_COPY_BYTES);
}

/* Has a thread that was read without a stop not run since? */
static bool is_still(struct cairn_snapshot *s, const struct cairn_caught *thread)
{
    struct cairn_thread_place place;
    if (thread->way == CAIRN_SNAPSHOT_ITERATOR)
        return cairn_iterator_is_still(&s->catcher, thread);
    return cairn_place_read(s->catcher.pid, thread->facts.tid, &place, NULL) == CAIRN_OK &&
           cairn_place_same(&place, &thread->facts.place);
}

/* What was found by the first way stays where the next one fails. */
static bool catch_again(struct cairn_snapshot *s, struct cairn_caught *thread, size_t from,
                        size_t want)
{
    struct cairn_caught before = *thread;
    thread->copy = NULL;
    thread->copy_size = thread->copy_cap = 0;
    thread->kernel_text = (struct cairn_buffer){0};
    bool caught = catch_from(s, thread, from, want);
    if (!caught) {
        cairn_caught_done(thread);
        memcpy(before.reason, thread->reason, sizeof before.reason);
        *thread = before;
        return false;
    }
    if (thread->way == CAIRN_SNAPSHOT_PTRACE) {
        cairn_buffer_done(&thread->kernel_text);
        thread->kernel_text = before.kernel_text;
        before.kernel_text = (struct cairn_buffer){0};
    }
    cairn_caught_done(&before);
    return true;
}

/* `again`: and once more where an interpreter's frames do not fit. CAIRN_E_ACCESS: it could not be
 * stopped. */
static int walk_stopped(struct cairn_snapshot *s, struct cairn_caught *thread, bool again)
{
    struct cairn_hold hold;
    struct cairn_err err;
    bool missed;
    if (!may_go(s, N_WAYS - 1) || cairn_hold(&s->catcher, thread, &hold, &err) < 0)
        return CAIRN_E_ACCESS;
    thread->way = CAIRN_SNAPSHOT_PTRACE;
    int code = cairn_walk_user(&s->stacks, s->space, thread, true, &missed);
    cairn_let_go(&hold, thread);
    if (code < 0 || !again || !s->stacks.guests || !cairn_target_guests_doubts(s->stacks.guests))
        return code;
    /* An interpreter that was in the middle of a change has ended it a moment later. */
    code = walk_stopped(s, thread, false);
    return code == CAIRN_E_ACCESS ? CAIRN_OK : code;
}

/* The memory as it is, of a thread that stands still or is made to. */
static int walk_live(struct cairn_snapshot *s, struct cairn_caught *thread)
{
    bool missed,
        waits = thread->way == CAIRN_SNAPSHOT_ITERATOR || thread->way == CAIRN_SNAPSHOT_MEMORY;
    int code = CAIRN_OK;
    if (waits)
        code = cairn_walk_user(&s->stacks, s->space, thread, true, &missed);
    if (code < 0 || (waits && is_still(s, thread)))
        return code;
    code = walk_stopped(s, thread, true);
    if (code != CAIRN_E_ACCESS)
        return code;
    /* The copy was of one moment, if not all of it. */
    return waits ? cairn_walk_user(&s->stacks, s->space, thread, false, &missed) : CAIRN_OK;
}

int cairn_snapshot_walk(struct cairn_snapshot *snapshot, struct cairn_caught *thread,
                        struct cairn_err *err)
{
    bool missed;
    int code = cairn_walk_user(&snapshot->stacks, snapshot->space, thread, false, &missed);
    if (code == CAIRN_OK && !missed && thread->way == CAIRN_SNAPSHOT_MEMORY &&
        thread->end == CAIRN_END_NO_REGISTER && may_go(snapshot, N_WAYS - 1))
        /* A frame asked for a register that only a stopped thread tells. */
        if (catch_again(snapshot, thread, N_WAYS - 1, CAIRN_SNAPSHOT_COPY_BYTES))
            code = cairn_walk_user(&snapshot->stacks, snapshot->space, thread, false, &missed);
    if (code == CAIRN_OK && missed && !thread->wants_still && !*thread->end_detail &&
        catch_again(snapshot, thread, 0, MORE_BYTES))
        code = cairn_walk_user(&snapshot->stacks, snapshot->space, thread, false, &missed);
    if (code == CAIRN_OK && missed && !*thread->end_detail && thread->has_regs)
        code = walk_live(snapshot, thread);
    return code < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static int add_sample(struct cairn_snapshot *s, struct cairn_caught *thread, struct cairn_err *err)
{
    const char *cut = "";
    if (!thread->has_regs && !thread->facts.is_kernel && thread->facts.state != 'Z')
        cut = "no user stack";
    else if (thread->has_regs && thread->end != CAIRN_END_OUTERMOST)
        cut = cairn_unwind_end_text(thread->end);
    const struct cairn_stack_owner owner = {
        .pid = s->catcher.pid, .tid = thread->facts.tid, .name = thread->facts.name, .cut = cut};
    if (!thread->n_rows)
        return CAIRN_OK;
    if (cairn_stacks_add_sample(&s->stacks, thread->first_row, thread->n_rows, &owner,
                                &thread->stack) < 0)
        return cairn_fail_memory(err);
    return CAIRN_OK;
}

static int add_guests(struct cairn_snapshot *s, struct cairn_caught *thread, struct cairn_err *err)
{
    const char *unread = s->opts.no_stop ? "the thread runs, and was not stopped"
                                         : "the thread runs, and could not be stopped";
    return cairn_walk_guests(&s->stacks, thread, unread) < 0 ? cairn_fail_memory(err) : CAIRN_OK;
}

static int walk_batch(struct cairn_snapshot *s, size_t from, size_t to, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t i = from; i < to && code == CAIRN_OK; i++) {
        struct cairn_caught *thread = &s->threads[i];
        thread->first_row = s->stacks.n_rows;
        /* Not while it was held, and when it runs again what was interrupted goes on. */
        if (thread->way == CAIRN_SNAPSHOT_NONE || thread->way == CAIRN_SNAPSHOT_PTRACE)
            cairn_caught_kernel(&s->catcher, thread);
        if (thread->has_regs)
            code = cairn_snapshot_walk(s, thread, err);
        else if (cairn_walk_kernel(&s->stacks, thread) < 0)
            code = cairn_fail_memory(err);
        if (code == CAIRN_OK)
            code = add_guests(s, thread, err);
        if (code == CAIRN_OK)
            code = add_sample(s, thread, err);
        cairn_caught_done(thread);
    }
    return code;
}

static int take_one_by_one(struct cairn_snapshot *s, struct cairn_err *err)
{
    int code = CAIRN_OK;
    for (size_t from = 0, to; from < s->n && code == CAIRN_OK; from = to) {
        to = s->n - from < BATCH ? s->n : from + BATCH;
        for (size_t i = from; i < to; i++)
            cairn_facts_read(s->catcher.pid, s->threads[i].facts.tid, &s->threads[i].facts);
        cairn_catch_all_by_iterator(&s->catcher, s->threads + from, to - from,
                                    CAIRN_SNAPSHOT_COPY_BYTES);
        for (size_t i = from; i < to; i++)
            if (s->threads[i].way == CAIRN_SNAPSHOT_NONE)
                catch_thread(s, &s->threads[i]);
        code = walk_batch(s, from, to, err);
    }
    return code;
}

static int list_threads(struct cairn_snapshot *s, struct cairn_err *err)
{
    struct cairn_threads threads = {0};
    int code = cairn_threads_read(s->catcher.pid, &threads, err);
    for (size_t i = 0; code == CAIRN_OK && i < threads.n; i++)
        if (!cairn_snapshot_add(s, threads.tids[i]))
            code = cairn_fail_memory(err);
    cairn_threads_done(&threads);
    /* After a wrap of the pids others are lower than the main thread's. */
    for (size_t i = 1; i < s->n; i++)
        if (s->threads[i].facts.tid == s->catcher.pid) {
            struct cairn_caught main_thread = s->threads[i];
            memmove(s->threads + 1, s->threads, i * sizeof *s->threads);
            s->threads[0] = main_thread;
        }
    return code;
}

/* Modules that are kept must be those that are mapped: exec, dlopen and dlclose change them. */
static void see_maps(struct cairn_snapshot *s)
{
    struct cairn_maps *maps;
    uint64_t hash = 1;
    if (!s->space || cairn_maps_read_pid(s->catcher.pid_alive, &maps, NULL) < 0)
        return;
    for (size_t i = 0; i < cairn_maps_count(maps); i++) {
        const struct cairn_map *map = cairn_maps_get(maps, i);
        if (map->flags & CAIRN_MAP_EXEC)
            hash = cairn_hash_u64(hash ^ map->start) ^ cairn_hash_u64(map->inode ^ map->end);
    }
    cairn_maps_free(maps);
    if (s->maps_hash && hash != s->maps_hash) {
        cairn_unwind_space_refresh(s->space);
        cairn_stacks_forget_modules(&s->stacks);
    }
    s->maps_hash = hash;
}

/* A core file has the name of the main thread alone: that of the process. */
static void name_main(const struct cairn_snapshot *s, struct cairn_caught *thread)
{
    const struct cairn_core_facts *facts = cairn_target_core_facts(s->space);
    if (facts && facts->pid == thread->facts.tid)
        snprintf(thread->facts.name, sizeof thread->facts.name, "%s", facts->name);
}

static int take_core_thread(struct cairn_snapshot *s, int tid, struct cairn_err *err)
{
    struct cairn_caught *thread = cairn_snapshot_add(s, tid);
    struct cairn_err why;
    bool missed;
    if (!thread)
        return cairn_fail_memory(err);
    name_main(s, thread);
    if (cairn_unwind_thread_regs(s->space, tid, &thread->regs, &why) < 0) {
        keep_reason(thread, &why);
        return CAIRN_OK;
    }
    thread->has_regs = true;
    thread->way = CAIRN_SNAPSHOT_CORE;
    thread->first_row = s->stacks.n_rows;
    s->catcher.machine = thread->regs.machine;
    if (cairn_walk_user(&s->stacks, s->space, thread, true, &missed) < 0)
        return cairn_fail_memory(err);
    const int code = add_guests(s, thread, err);
    return code == CAIRN_OK ? add_sample(s, thread, err) : code;
}

/* The samples' label tells whose they are, so it is known before the first. */
static int take_core(struct cairn_snapshot *s, struct cairn_err *err)
{
    const struct cairn_core_facts *facts = cairn_target_core_facts(s->space);
    size_t n = 0;
    int code = cairn_unwind_threads(s->space, NULL, 0, &n, err);
    int *tids = code == CAIRN_OK ? cairn_alloc(n ? n : 1, sizeof *tids) : NULL;
    if (code == CAIRN_OK)
        code = tids ? cairn_unwind_threads(s->space, tids, n, &n, err) : cairn_fail_memory(err);
    s->catcher.pid = facts && facts->pid > 0 ? facts->pid : n && tids ? tids[0] : 0;
    for (size_t i = 0; i < n && code == CAIRN_OK; i++)
        code = take_core_thread(s, tids[i], err);
    cairn_free(tids);
    return code;
}

static int take_threads(struct cairn_snapshot *snapshot, struct cairn_err *err)
{
    for (size_t i = 0; i < snapshot->n; i++)
        cairn_caught_done(&snapshot->threads[i]);
    snapshot->n = 0;
    snapshot->stacks.n_rows = snapshot->stacks.n_guest_rows = 0;
    if (snapshot->opts.core)
        return take_core(snapshot, err);
    int code = list_threads(snapshot, err);
    if (code < 0)
        return code;
    see_maps(snapshot);
    snapshot->catcher.sample_left_ns =
        (uint64_t)snapshot->catcher.sample_ms * LOOK_SAMPLES * 1000000u;
    if (!snapshot->opts.consistent || !snapshot->space)
        return take_one_by_one(snapshot, err);
    code = cairn_snapshot_take_consistent(snapshot, err);
    for (size_t i = 0; i < snapshot->n && code == CAIRN_OK; i++)
        code = add_sample(snapshot, &snapshot->threads[i], err);
    return code;
}

int cairn_snapshot_take(struct cairn_snapshot *snapshot, struct cairn_err *err)
{
    int code = take_threads(snapshot, err);
    if (code == CAIRN_OK && snapshot->opts.coroutines && snapshot->stacks.guests &&
        cairn_coroutines_find(&snapshot->coroutines, &snapshot->stacks, snapshot->catcher.pid) < 0)
        code = cairn_fail_memory(err);
    return code;
}

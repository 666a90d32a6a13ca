/* SPDX-License-Identifier: MIT */
#include "sample/collect.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bpf/walk.h"
#include "sample/cut_words.h"
#include "sample/guest_walk.h"
#include "sample/labels.h"
#include "sample/push.h"

int cairn_collect_init(struct cairn_collect *collect, const struct cairn_event *event,
                       int64_t period, struct cairn_err *err)
{
    *collect = (struct cairn_collect){0};
    int code = cairn_profile_new(&collect->profile, err);
    if (code < 0)
        return code;
    struct cairn_profile *p = collect->profile;
    cairn_spaces_init(&collect->spaces, p);
    if (cairn_profile_add_type(p, "samples", "count") == UINT32_MAX ||
        cairn_profile_add_type(p, event->type, event->unit) == UINT32_MAX)
        return cairn_fail_memory(err);
    if (!event->is_time) /* samples of unequal value */
        p->default_type = p->types[1].type;
    if (period) {
        p->period_type.type = p->types[1].type;
        p->period_type.unit = p->types[1].unit;
        p->period = period;
    }
    return CAIRN_OK;
}

void cairn_collect_done(struct cairn_collect *collect)
{
    cairn_copy_walker_done(&collect->copies);
    cairn_spaces_done(&collect->spaces);
    cairn_guest_looks_done(&collect->guest_looks);
    cairn_starts_done(&collect->starts);
    cairn_packed_done(&collect->packed);
    cairn_profile_free(collect->profile);
    *collect = (struct cairn_collect){0};
}

/* What the walk asks of one process. */
struct code_of {
    struct cairn_collect *collect;
    struct cairn_space *space;
};

static bool is_code(void *ctx, uint64_t va)
{
    struct code_of *of = ctx;
    /* Where nothing is known of the process, the kernel's word stands. */
    return of->space->code.n == 0 || of->space->is_partial ||
           cairn_stream_space_find(&of->space->code, va);
}

static bool is_return(void *ctx, uint64_t va)
{
    struct code_of *of = ctx;
    return cairn_calls_end(&of->collect->spaces.calls, of->space, va) ||
           cairn_calls_go_root(&of->collect->spaces.calls, of->space, va);
}

static bool is_start(void *ctx, uint64_t va)
{
    struct code_of *of = ctx;
    return cairn_starts_hold(&of->collect->starts, of->space, va) ||
           cairn_calls_go_root(&of->collect->spaces.calls, of->space, va);
}

static uint64_t called(void *ctx, uint64_t ret)
{
    struct code_of *of = ctx;
    return cairn_calls_lead(&of->collect->spaces.calls, of->space, ret);
}

static bool is_made(void *ctx, uint64_t va)
{
    struct code_of *of = ctx;
    const struct cairn_stream_map *map = cairn_stream_space_find(&of->space->code, va);
    return map && !map->file && !map->path;
}

/* What leads further counts: a copy may be shorter than the stack, and tables may lack. */
static void walk_copy(struct cairn_collect *collect, const struct cairn_walk_code *code,
                      struct cairn_space *space, const struct cairn_copy *copy)
{
    struct cairn_copy_walker *copies = &collect->copies;
    if (!copies->copied.unwind && cairn_copy_walker_init(copies, NULL) < 0) {
        cairn_copy_walker_done(copies);
        return;
    }
    uint64_t before_ns = cairn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    cairn_copy_walk(copies, &collect->spaces, space, code, copy);
    cairn_share_spend(&space->share, cairn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
    struct cairn_user_walk *walk = &copies->walk;
    if (walk->end == CAIRN_END_OUTERMOST ||
        walk->n + walk->n_missing > collect->walk.n + collect->walk.n_missing)
        cairn_user_walk_copy(walk, &collect->walk);
}

/* Whoever asked for copies of all stacks gets all of them walked. */
static bool may_walk_copy(const struct cairn_collect *collect, struct cairn_space *space,
                          const struct cairn_sampled *caught)
{
    return collect->stack_bytes || cairn_share_is_left(&space->share, caught->now_ns);
}

/* Behind the instruction that is meant? A walk of a copy takes ip as it is. */
static bool stands_behind(const struct cairn_sampled *caught)
{
    return caught->user.walked && caught->user.n_walked &&
           caught->user.walked[0] & CAIRN_BPF_BEHIND;
}

static void walk_what_was_caught(struct cairn_collect *collect, struct cairn_space *space,
                                 const struct cairn_sampled *caught)
{
    struct code_of of = {collect, space};
    const struct cairn_walk_code code = {&of, is_code, is_return, is_start, called, is_made};
    if (caught->guests) {
        cairn_user_walk_copy(&caught->guests->walk, &collect->walk);
        cairn_user_walk_finish(&collect->walk, &code);
        return;
    }
    cairn_user_walk(&caught->user, &code, &collect->walk);
    if (collect->walk.end == CAIRN_END_OUTERMOST || !caught->copy)
        return;
    if (may_walk_copy(collect, space, caught))
        walk_copy(collect, &code, space, caught->copy);
    else
        collect->walk.end = CAIRN_END_SPENT;
    if (collect->walk.n && stands_behind(caught))
        collect->walk.frames[0].exact = false;
}

static void walk_user(struct cairn_collect *collect, struct cairn_space *space,
                      const struct cairn_sampled *caught)
{
    cairn_starts_learn_program(&collect->starts, space, caught->now_ns);
    walk_what_was_caught(collect, space, caught);
    if (collect->walk.end != CAIRN_END_OUTERMOST && caught->tid != caught->pid &&
        cairn_starts_learn_thread(&collect->starts, space, caught->tid, caught->sp))
        walk_what_was_caught(collect, space, caught);
    if (collect->walk.end == CAIRN_END_NO_USER && collect->frames_max &&
        caught->n_kernel >= collect->frames_max)
        collect->walk.end = CAIRN_END_MAX_FRAMES;
    else if (collect->walk.end == CAIRN_END_NO_USER && caught->n_kernel &&
             cairn_collect_is_kernel_thread(collect, caught->pid, caught->tid))
        collect->walk.end = CAIRN_END_OUTERMOST;
}

/* Equal samples are summed at once, so that a long capture grows only with what is new in it; those
 * that have a time are never equal. */
static int add_sample(struct cairn_collect *collect, uint32_t stack, uint32_t labels,
                      const struct cairn_collect_more *more)
{
    const int64_t values[2] = {(int64_t)more->n, more->value};
    if (labels == UINT32_MAX)
        return cairn_collect_no_room(collect);
    uint32_t number = collect->has_times
                          ? cairn_profile_add_sample(collect->profile, stack, labels, values)
                          : cairn_profile_sum_sample(collect->profile, stack, labels, values);
    if (number == UINT32_MAX)
        return cairn_collect_no_room(collect);
    collect->last = number;
    return CAIRN_OK;
}

static void count(struct cairn_collect *collect, uint64_t n, int64_t value, uint8_t marks)
{
    collect->value += value;
    collect->n_samples += n;
    collect->n_whole += marks & CAIRN_COLLECT_CUT ? 0 : n;
    collect->n_cut += marks & CAIRN_COLLECT_CUT ? n : 0;
    collect->n_guest += marks & CAIRN_COLLECT_GUEST ? n : 0;
    collect->n_doubt += marks & CAIRN_COLLECT_DOUBT ? n : 0;
    collect->n_unread += marks & CAIRN_COLLECT_UNREAD ? n : 0;
}

void cairn_collect_again(struct cairn_collect *collect, uint32_t number, uint8_t marks, uint64_t n,
                         int64_t value)
{
    if (number == CAIRN_COLLECT_UNKEPT) {
        collect->n_unkept += n;
        return;
    }
    collect->profile->values[2 * (size_t)number] += (int64_t)n;
    collect->profile->values[2 * (size_t)number + 1] += value;
    count(collect, n, value, marks);
}

uint64_t cairn_collect_bytes(const struct cairn_collect *collect)
{
    return cairn_profile_bytes(collect->profile) + cairn_packed_bytes(&collect->packed) +
           cairn_table_bytes(&collect->spaces.all.names) +
           cairn_table_bytes(&collect->spaces.all.threads) + collect->beside_bytes;
}

/* The last eighth is for samples of stacks that are there already. */
static int keep_bound(struct cairn_collect *collect)
{
    static const char words[] = "no memory for more stacks";
    struct cairn_profile *p = collect->profile;
    uint64_t most = collect->memory_max, bytes;
    if (!most || p->closed == CAIRN_PROFILE_NO_SAMPLES)
        return CAIRN_OK;
    bytes = cairn_collect_bytes(collect);
    if (bytes < most - most / 8)
        return CAIRN_OK;
    if (!p->closed) {
        collect->full = cairn_profile_text(p, words, sizeof words - 1);
        if (collect->full == UINT32_MAX)
            return CAIRN_E_NOMEM;
        cairn_log(CAIRN_LOG_WARNING,
                  "the %.3g MB of memory for what is recorded are used up: of new stacks the outer "
                  "part alone is kept",
                  (double)most / 1e6);
    }
    p->closed = bytes < most ? CAIRN_PROFILE_NO_STACKS : CAIRN_PROFILE_NO_SAMPLES;
    return CAIRN_OK;
}

static void mark_guests(const struct cairn_sampled *caught, struct cairn_collected *got)
{
    if (caught->guests) {
        got->doubt = cairn_guest_walk_doubt(caught->guests);
        got->mode = cairn_guest_walk_mode(caught->guests);
        got->marks |= cairn_guest_walk_met(caught->guests) ? CAIRN_COLLECT_GUEST : 0;
        got->marks |= got->doubt ? CAIRN_COLLECT_DOUBT : 0;
    } else if (caught->unread) {
        got->doubt = caught->unread;
        got->marks |= CAIRN_COLLECT_UNREAD;
    }
}

int cairn_collect_stack(struct cairn_collect *collect, const struct cairn_sampled *caught,
                        struct cairn_collected *ret_collected)
{
    char reason[CAIRN_CUT_WORDS_BYTES];
    struct cairn_collected got = {.pid = caught->pid, .tid = caught->tid};
    struct cairn_space *space = cairn_spaces_get(&collect->spaces, caught->pid);
    if (!space || cairn_space_know(&collect->spaces, space) < 0 || keep_bound(collect) < 0)
        return CAIRN_E_NOMEM;
    got.cgroup = space->cgroup;
    collect->n_processes += !space->is_seen;
    space->is_seen = true;
    walk_user(collect, space, caught);
    mark_guests(caught, &got);
    if (cairn_cut_words(collect, space, reason, sizeof reason))
        got.cut = cairn_profile_text(collect->profile, reason, strlen(reason));
    int code = got.cut == UINT32_MAX ? CAIRN_E_NOMEM
                                     : cairn_collect_push(collect, space, caught, &got.stack);
    if (code == CAIRN_COLLECT_FULL)
        got.cut = collect->full;
    else if (code < 0)
        return code;
    got.marks |= got.cut ? CAIRN_COLLECT_CUT : 0;
    *ret_collected = got;
    return CAIRN_OK;
}

int cairn_collect_sample(struct cairn_collect *collect, const struct cairn_collected *collected,
                         const struct cairn_collect_more *more)
{
    if (keep_bound(collect) < 0)
        return CAIRN_E_NOMEM;
    uint32_t labels = cairn_collect_labels(collect, collected, more);
    int code = add_sample(collect, collected->stack, labels, more);
    if (code < 0)
        return code;
    if (code == CAIRN_COLLECT_FULL) {
        collect->n_unkept += more->n;
        collect->last = CAIRN_COLLECT_UNKEPT;
        return CAIRN_OK;
    }
    count(collect, more->n, more->value, collected->marks);
    return cairn_collect_seen(collect, collected->tid);
}

int cairn_collect_add(struct cairn_collect *collect, const struct cairn_sampled *caught)
{
    struct cairn_collected collected;
    const struct cairn_collect_more one = {
        .n = 1, .value = caught->value, .time_ns = caught->time_ns};
    int code = cairn_collect_stack(collect, caught, &collected);
    return code < 0 ? code : cairn_collect_sample(collect, &collected, &one);
}

/* SPDX-License-Identifier: MIT */
/* Stacks as JSON; docs/formats/stack-json.md has every member. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "cli/stack.h"
#include "cli/stack_runs.h"

static void put_names(struct cairn_json *json, const struct cairn_profile *profile, uint32_t frame)
{
    struct cairn_frame_info info = {.size = sizeof info};
    struct cairn_frame_line line;
    if (cairn_profile_frame(profile, frame, &info) < 0)
        return;
    if (*info.module) {
        cairn_json_str(json, "module", info.module);
        cairn_json_hex(json, "offset", info.address - info.module_start + info.module_off);
        if (info.function_start)
            cairn_json_hex(json, "function_start",
                           info.function_start - info.module_start + info.module_off);
        if (*info.build_id)
            cairn_json_str(json, "build_id", info.build_id);
    }
    cairn_json_open(json, "lines", '[');
    for (uint32_t i = 0; i < info.n_lines; i++) {
        if (cairn_profile_frame_line(profile, frame, i, &line) < 0)
            continue;
        cairn_json_open(json, NULL, '{');
        cairn_json_str(json, "function", *line.function ? line.function : NULL);
        cairn_json_str(json, "file", *line.file ? line.file : NULL);
        if (line.line)
            cairn_json_u64(json, "line", line.line);
        cairn_json_bool(json, "inlined", i + 1 < info.n_lines);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
}

/* What a frame of an interpreter is. */
static void put_guest(struct cairn_json *json, const struct cairn_profile *profile,
                      const struct cairn_snapshot_frame *frame)
{
    static const char *const kinds[] = {"function", "chunk", "c", "hook", "finalizer", "trace"};
    struct cairn_frame_line line = {0};
    (void)cairn_profile_frame_line(profile, frame->frame, 0, &line);
    cairn_json_open(json, "guest", '{');
    cairn_json_str(json, "language", "lua");
    cairn_json_str(json, "kind", kinds[frame->guest_kind]);
    if (line.defined)
        cairn_json_u64(json, "defined", line.defined);
    if (frame->is_tail_called)
        cairn_json_bool(json, "tail_call", true);
    if (frame->trace)
        cairn_json_u64(json, "trace", frame->trace);
    if (frame->is_about)
        cairn_json_bool(json, "about", true);
    cairn_json_close(json, '}');
}

/* A state of an interpreter. */
static void put_guest_state(struct cairn_json *json, const char *key,
                            const struct cairn_snapshot_guest *guest)
{
    cairn_json_open(json, key, '{');
    cairn_json_str(json, "language", guest->language);
    cairn_json_str(json, "version", guest->version);
    cairn_json_str(json, "module", guest->module);
    cairn_json_hex(json, "state", guest->state);
    if (*guest->mode)
        cairn_json_str(json, "mode", guest->mode);
    if (*guest->reason)
        cairn_json_str(json, "reason", guest->reason);
    if (guest->is_unread)
        cairn_json_bool(json, "missing", true);
    cairn_json_close(json, '}');
}

static void put_guests(struct cairn_json *json, const struct cairn_snapshot *snapshot,
                       size_t thread, uint32_t n)
{
    cairn_json_open(json, "guests", '[');
    for (uint32_t i = 0; i < n; i++) {
        struct cairn_snapshot_guest guest = {.size = sizeof guest};
        if (cairn_snapshot_guest(snapshot, thread, i, &guest) == CAIRN_OK)
            put_guest_state(json, NULL, &guest);
    }
    cairn_json_close(json, ']');
}

static void put_frame(struct cairn_json *json, const struct cairn_profile *profile,
                      const struct cairn_snapshot_frame *frame)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_bool(json, "kernel", frame->is_kernel);
    if (frame->is_guest) {
        put_guest(json, profile, frame);
    } else if (!frame->is_kernel) {
        cairn_json_hex(json, "ip", frame->ip);
        cairn_json_hex(json, "sp", frame->sp);
        cairn_json_bool(json, "exact", frame->exact);
        cairn_json_bool(json, "signal", frame->signal);
        cairn_json_str(json, "how", cairn_frame_how_text((int)frame->how));
        if (frame->own)
            cairn_json_bool(json, "folded", true);
    }
    put_names(json, profile, frame->frame);
    cairn_json_close(json, '}');
}

void cli_stack_regs_json(struct cairn_json *json, const struct cairn_cursor_regs *regs)
{
    cairn_json_open(json, "registers", '{');
    cairn_json_hex(json, "ip", regs->ip);
    for (unsigned i = 0; i < CAIRN_UNWIND_REGS; i++) {
        const char *name = cli_stack_reg_name(regs->machine, i);
        if (name && regs->known >> i & 1)
            cairn_json_hex(json, name, regs->reg[i]);
    }
    cairn_json_close(json, '}');
}

static void put_state(struct cairn_json *json, const struct cairn_snapshot_thread *thread)
{
    cairn_json_i64(json, "tid", thread->tid);
    cairn_json_str(json, "name", thread->name);
    if (thread->state != '?') {
        const char state[2] = {thread->state, 0};
        cairn_json_str(json, "state", state);
    }
    cairn_json_bool(json, "kernel_thread", thread->is_kernel);
    if (thread->in_syscall) {
        cairn_json_open(json, "syscall", '{');
        cairn_json_i64(json, "number", thread->syscall_number);
        cairn_json_str(json, "name", thread->syscall);
        cairn_json_open(json, "arguments", '[');
        for (int i = 0; i < (thread->n_arguments < 0 ? 6 : thread->n_arguments); i++)
            cairn_json_hex(json, NULL, thread->arguments[i]);
        cairn_json_close(json, ']');
        cairn_json_close(json, '}');
    }
    if (*thread->wchan)
        cairn_json_str(json, "wchan", thread->wchan);
    cairn_json_str(json, "method", cairn_snapshot_way_text((int)thread->way));
    cairn_json_u64(json, "held_ns", thread->held_ns);
    cairn_json_u64(json, "asked_ns", thread->asked_ns);
    if (*thread->reason)
        cairn_json_str(json, "reason", thread->reason);
}

static void put_head(struct cairn_json *json, const struct cairn_snapshot *snapshot,
                     const char *core)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_i64(json, "pid", cairn_snapshot_pid(snapshot));
    if (core) {
        cairn_json_str(json, "core", core);
        cli_stack_core_json(json, snapshot);
    } else {
        cairn_json_str(json, "command", cairn_snapshot_command(snapshot));
    }
}

/* Calls `put` for each frame, but of frames that repeat for the first period alone: an object that
 * says how often it comes again follows. Without folds where memory is gone. */
struct frames {
    struct cairn_json *json;
    const uint32_t *frames;
    uint32_t n;
    void (*put)(const void *ctx, struct cairn_json *json, uint32_t index);
    const void *ctx;
};

static void put_folded(const struct frames *f, bool folds)
{
    struct cli_stack_run run;
    cairn_json_open(f->json, "frames", '[');
    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t end = k + 1;
        bool is_run = folds && cli_stack_run_at(f->frames, f->n, k, &run);
        for (end = is_run ? k + run.period : end; k < end; k++)
            f->put(f->ctx, f->json, k);
        k = (is_run ? run.first + run.period * run.times : end) - 1;
        if (!is_run)
            continue;
        cairn_json_open(f->json, NULL, '{');
        cairn_json_u64(f->json, "repeat", run.period);
        cairn_json_u64(f->json, "times", run.times - 1);
        cairn_json_close(f->json, '}');
    }
    cairn_json_close(f->json, ']');
}

static void put_of_source(const void *ctx, struct cairn_json *json, uint32_t index)
{
    const struct cli_stack_source *of = ctx;
    struct cairn_snapshot_frame frame = {.size = sizeof frame};
    if (of->get(of->snapshot, of->index, index, &frame) == CAIRN_OK)
        put_frame(json, cairn_snapshot_profile(of->snapshot), &frame);
}

static void put_source(struct cairn_json *json, const struct cli_stack_source *source,
                       const struct cli_stack_view *view)
{
    uint32_t *frames = cli_stack_source_frames(source);
    put_folded(&(struct frames){json, frames, source->n_frames, put_of_source, source},
               frames && !view->no_fold);
    cairn_free(frames);
}

static void put_coroutine(struct cairn_json *json, struct cairn_snapshot *snapshot, size_t number,
                          const struct cli_stack_view *view)
{
    struct cairn_snapshot_coroutine c = {.size = sizeof c};
    if (cairn_snapshot_coroutine(snapshot, number, &c) < 0)
        return;
    cairn_json_open(json, NULL, '{');
    cairn_json_u64(json, "count", c.n);
    cairn_json_str(json, "status", c.is_begun ? "suspended" : "not begun");
    if (c.may_be_collected)
        cairn_json_bool(json, "may_be_collected", true);
    put_guest_state(json, "guest", &c.guest);
    put_source(
        json,
        &(struct cli_stack_source){snapshot, cairn_snapshot_coroutine_frame, number, c.n_frames},
        view);
    cairn_json_close(json, '}');
}

static void put_coroutines(struct cairn_json *json, struct cairn_snapshot *snapshot,
                           const struct cli_stack_view *view)
{
    struct cairn_snapshot_coroutines all = {.size = sizeof all};
    (void)cairn_snapshot_coroutines(snapshot, &all);
    cairn_json_open(json, "coroutines", '{');
    cairn_json_u64(json, "count", all.n);
    cairn_json_u64(json, "unlisted", all.n_unlisted);
    cairn_json_u64(json, "changing", all.n_moving);
    cairn_json_bool(json, "cut", all.is_cut);
    cairn_json_u64(json, "searched_bytes", all.searched_bytes);
    cairn_json_u64(json, "unread_bytes", all.unread_bytes);
    cairn_json_u64(json, "search_ns", all.search_ns);
    cairn_json_open(json, "stacks", '[');
    for (size_t i = 0; i < all.n_groups; i++)
        put_coroutine(json, snapshot, i, view);
    cairn_json_close(json, ']');
    cairn_json_close(json, '}');
}

void cli_stack_json(struct cairn_json *json, struct cairn_snapshot *snapshot, const char *core,
                    const struct cli_stack_view *view)
{
    put_head(json, snapshot, core);
    cairn_json_open(json, "threads", '[');
    for (size_t i = 0; i < cairn_snapshot_threads(snapshot); i++) {
        struct cairn_snapshot_thread thread = {.size = sizeof thread};
        if (cairn_snapshot_thread(snapshot, i, &thread) < 0)
            continue;
        cairn_json_open(json, NULL, '{');
        put_state(json, &thread);
        if (thread.has_regs) {
            cairn_json_bool(json, "whole", thread.end == CAIRN_END_OUTERMOST);
            cairn_json_str(json, "end", cairn_unwind_end_text((int)thread.end));
            if (*thread.end_detail)
                cairn_json_str(json, "end_detail", thread.end_detail);
            if (view->regs)
                cli_stack_regs_json(json, &thread.regs);
        }
        put_source(json,
                   &(struct cli_stack_source){snapshot, cairn_snapshot_frame, i, thread.n_frames},
                   view);
        if (thread.n_guests)
            put_guests(json, snapshot, i, thread.n_guests);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
    if (view->coroutines)
        put_coroutines(json, snapshot, view);
    cairn_json_close(json, '}');
}

static void put_ways(struct cairn_json *json, const struct cli_stack_group *group)
{
    cairn_json_open(json, "methods", '{');
    for (int way = 0; way < CLI_STACK_WAYS; way++)
        if (group->n_by_way[way])
            cairn_json_u64(json, cairn_snapshot_way_text(way), group->n_by_way[way]);
    cairn_json_close(json, '}');
    cairn_json_u64(json, "held_ns", group->held_max_ns);
    if (*group->reason)
        cairn_json_str(json, "reason", group->reason);
    if (group->is_walked) {
        cairn_json_bool(json, "whole", group->end == CAIRN_END_OUTERMOST);
        cairn_json_str(json, "end", cairn_unwind_end_text((int)group->end));
        if (*group->end_detail)
            cairn_json_str(json, "end_detail", group->end_detail);
    }
}

/* `first`: as the first thread had it; NULL: not kept. */
static void put_group_frame(struct cairn_json *json, const struct cairn_profile *profile,
                            uint32_t number, const struct cairn_snapshot_frame *first)
{
    struct cairn_frame_info info = {.size = sizeof info};
    cairn_json_open(json, NULL, '{');
    if (cairn_profile_frame(profile, number, &info) == CAIRN_OK)
        cairn_json_bool(json, "kernel", info.what == CAIRN_WHAT_KERNEL);
    if (first && !first->is_kernel) {
        cairn_json_hex(json, "ip", first->ip);
        cairn_json_str(json, "how", cairn_frame_how_text((int)first->how));
    }
    put_names(json, profile, number);
    cairn_json_close(json, '}');
}

struct of_group {
    const struct cairn_profile *profile;
    const struct cli_stack_group *group;
    const uint32_t *frames;
};

static void put_of_group(const void *ctx, struct cairn_json *json, uint32_t index)
{
    const struct of_group *of = ctx;
    put_group_frame(json, of->profile, of->frames[index],
                    of->group->frames && index < of->group->n_frames ? &of->group->frames[index]
                                                                     : NULL);
}

static void put_group_frames(struct cairn_json *json, const struct cairn_profile *profile,
                             const struct cli_stack_group *group, const struct cli_stack_view *view)
{
    uint32_t n = 0;
    uint32_t *frames = cli_stack_group_frames(profile, group, &n);
    const struct of_group of = {profile, group, frames};
    put_folded(&(struct frames){json, frames, frames ? n : 0, put_of_group, &of}, !view->no_fold);
    cairn_free(frames);
}

void cli_stack_groups_json(struct cairn_json *json, struct cairn_snapshot *snapshot,
                           const char *core, const struct cli_stack_groups *groups,
                           const struct cli_stack_view *view)
{
    const struct cairn_profile *profile = cairn_snapshot_profile(snapshot);
    put_head(json, snapshot, core);
    cairn_json_u64(json, "looks", groups->n_takes);
    cairn_json_open(json, "stacks", '[');
    for (size_t i = 0; i < groups->n; i++) {
        const struct cli_stack_group *group = &groups->items[i];
        cairn_json_open(json, NULL, '{');
        cairn_json_u64(json, "seen", group->n_seen);
        cairn_json_str(json, "name", group->name);
        cairn_json_open(json, "tids", '[');
        for (size_t k = 0; k < group->n_tids; k++)
            cairn_json_i64(json, NULL, group->tids[k]);
        cairn_json_close(json, ']');
        put_ways(json, group);
        put_group_frames(json, profile, group, view);
        cairn_json_close(json, '}');
    }
    cairn_json_close(json, ']');
    if (view->coroutines)
        put_coroutines(json, snapshot, view);
    cairn_json_close(json, '}');
}

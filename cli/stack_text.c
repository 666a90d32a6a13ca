/* SPDX-License-Identifier: MIT */
/*
 * Stacks as text:
 *
 *     thread 17 "worker"  sleeping in futex(0x7f.., 128, 0, ...)  [memory]
 *       k   futex_wait_queue
 *       #0  pthread_cond_wait  nptl/pthread_cond_wait.c:618
 *       #1  Queue::take  src/queue.cc:41  (inlined)
 *       #1  work  src/worker.cc:12
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "cli/numbers.h"
#include "cli/stack.h"
#include "cli/stack_runs.h"

const char *cli_stack_state(char state)
{
    static const struct {
        char letter;
        const char *text;
    } states[] = {{'R', "running"}, {'S', "sleeping"}, {'D', "waiting, not to be interrupted"},
                  {'T', "stopped"}, {'t', "traced"},   {'Z', "zombie"},
                  {'X', "dead"},    {'I', "idle"}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i].letter == state)
            return states[i].text;
    return "state unknown";
}

static void put(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

void cli_stack_head_text(struct cairn_buffer *out, const struct cairn_snapshot *snapshot,
                         const char *core)
{
    if (core) {
        put(out, core);
        cairn_buffer_str(out, ": core file\n");
        cli_stack_core_text(out, snapshot);
        return;
    }
    cairn_buffer_printf(out, "process %d", cairn_snapshot_pid(snapshot));
    if (*cairn_snapshot_command(snapshot)) {
        cairn_buffer_str(out, ": ");
        put(out, cairn_snapshot_command(snapshot));
    }
    cairn_buffer_char(out, '\n');
}

static void put_argument(struct cairn_buffer *out, uint64_t value)
{
    if (value <= 0xffffff)
        cairn_buffer_u64(out, value);
    else if (value == UINT64_MAX || value == UINT32_MAX)
        cairn_buffer_str(out, "-1");
    else
        cairn_buffer_printf(out, "0x%" PRIx64, value);
}

static void put_syscall(struct cairn_buffer *out, const struct cairn_snapshot_thread *thread)
{
    int n = thread->n_arguments < 0 ? 6 : thread->n_arguments;
    if (thread->syscall)
        cairn_buffer_printf(out, " in %s(", thread->syscall);
    else
        cairn_buffer_printf(out, " in system call %ld(", thread->syscall_number);
    for (int i = 0; i < n; i++) {
        if (i)
            cairn_buffer_str(out, ", ");
        put_argument(out, thread->arguments[i]);
    }
    cairn_buffer_char(out, ')');
}

static void put_head(struct cairn_buffer *out, const struct cairn_snapshot_thread *thread)
{
    cairn_buffer_printf(out, "\nthread %d", thread->tid);
    if (*thread->name) {
        cairn_buffer_str(out, " \"");
        put(out, thread->name);
        cairn_buffer_char(out, '"');
    }
    if (thread->state != '?')
        cairn_buffer_printf(out, "  %s", cli_stack_state(thread->state));
    if (thread->in_syscall)
        put_syscall(out, thread);
    else if (*thread->wchan && !thread->n_kernel) {
        cairn_buffer_str(out, " in the kernel's ");
        put(out, thread->wchan);
    }
    if (thread->way == CAIRN_SNAPSHOT_PTRACE)
        cairn_buffer_printf(out, "  [ptrace: held %.1f us]", (double)thread->held_ns / 1000);
    else if (thread->way != CAIRN_SNAPSHOT_NONE && thread->way != CAIRN_SNAPSHOT_CORE)
        cairn_buffer_printf(out, "  [%s]", cairn_snapshot_way_text((int)thread->way));
    cairn_buffer_char(out, '\n');
}

void cli_stack_regs_text(struct cairn_buffer *out, const struct cairn_cursor_regs *regs)
{
    unsigned n = 0;
    cairn_buffer_printf(out, "  %-3s 0x%016" PRIx64, "ip", regs->ip);
    for (unsigned i = 0; i < CAIRN_UNWIND_REGS; i++) {
        const char *name = cli_stack_reg_name(regs->machine, i);
        if (name && regs->known >> i & 1)
            cairn_buffer_printf(out, "%s%-3s 0x%016" PRIx64, ++n % 4 ? "  " : "\n  ", name,
                                regs->reg[i]);
    }
    cairn_buffer_char(out, '\n');
}

static void put_unnamed(struct cairn_buffer *out, const struct cairn_frame_info *info, uint64_t ip)
{
    if (*info->module)
        cli_add_unnamed(out, info);
    else
        cairn_buffer_printf(out, "0x%" PRIx64 "  (no module)", ip ? ip : info->address);
}

static void put_line(struct cairn_buffer *out, const struct cairn_frame_line *line,
                     const struct cairn_frame_info *info)
{
    put(out, *line->function ? line->function : "??");
    if (*line->file) {
        cairn_buffer_str(out, "  ");
        put(out, line->file);
        if (line->line)
            cairn_buffer_printf(out, ":%u", line->line);
    } else if (info->function_start) {
        cairn_buffer_printf(out, "  +0x%" PRIx64, info->address - info->function_start);
    } else if (*info->module && info->what != CAIRN_WHAT_KERNEL) {
        cairn_buffer_str(out, "  (");
        cli_add_base(out, info->module);
        cairn_buffer_char(out, ')');
    }
}

/* `tag` is what each of its lines begins with, `note` what the last ends with. */
static void put_frame(struct cairn_buffer *out, const struct cairn_profile *profile, uint32_t frame,
                      const char *tag, uint64_t ip, const char *note)
{
    struct cairn_frame_info info = {.size = sizeof info};
    struct cairn_frame_line line;
    if (cairn_profile_frame(profile, frame, &info) < 0)
        return;
    for (uint32_t i = 0; i < info.n_lines; i++) {
        if (cairn_profile_frame_line(profile, frame, i, &line) < 0)
            continue;
        cairn_buffer_str(out, tag);
        put_line(out, &line, &info);
        cairn_buffer_str(out, i + 1 < info.n_lines ? "  (inlined)" : note);
        cairn_buffer_char(out, '\n');
    }
    if (info.n_lines)
        return;
    cairn_buffer_str(out, tag);
    put_unnamed(out, &info, ip);
    cairn_buffer_printf(out, "%s\n", note);
}

static const char *language_of(const struct cairn_profile *profile, uint32_t frame)
{
    struct cairn_frame_info info = {.size = sizeof info};
    return cairn_profile_frame(profile, frame, &info) == CAIRN_OK &&
                   info.language == CAIRN_LANGUAGE_LUA
               ? "Lua"
               : "interpreter";
}

/* What a frame of an interpreter is, behind its language, for people. */
static const char *guest_word(const struct cairn_snapshot_frame *frame)
{
    switch (frame->guest_kind) {
    case CAIRN_GUEST_C:
        return "'s C function";
    case CAIRN_GUEST_HOOK:
        return ", hook";
    case CAIRN_GUEST_FINALIZER:
        return ", finalizer";
    case CAIRN_GUEST_TRACE:
        return frame->is_about ? ", compiled, about" : ", compiled";
    default:
        return "";
    }
}

static void put_thread_frame(struct cairn_buffer *out, const struct cairn_profile *profile,
                             const struct cairn_snapshot_frame *frame, uint32_t number,
                             const struct cli_stack_view *view)
{
    char tag[64], note[64] = "";
    if (frame->is_kernel)
        snprintf(tag, sizeof tag, "  k   ");
    else if (frame->is_guest && view->why)
        snprintf(tag, sizeof tag, "  #%-3u %-18s  ", number, "");
    else if (view->why)
        snprintf(tag, sizeof tag, "  #%-3u 0x%016" PRIx64 "  ", number, frame->ip);
    else
        snprintf(tag, sizeof tag, "  #%-3u ", number);
    if (view->why && !frame->is_kernel)
        snprintf(note, sizeof note, "  [%s]", cairn_frame_how_text((int)frame->how));
    else if (frame->signal)
        snprintf(note, sizeof note, "  (signal handler called)");
    else if (frame->is_guest)
        snprintf(note, sizeof note, "  (%s%s%s)", language_of(profile, frame->frame),
                 guest_word(frame), frame->is_tail_called ? ", tail call" : "");
    put_frame(out, profile, frame->frame, tag, frame->ip, note);
}

static void put_no_stack(struct cairn_buffer *out, const char *reason)
{
    cairn_buffer_str(out, "  no stack: ");
    put(out, *reason ? reason : "the process has no memory");
    cairn_buffer_char(out, '\n');
}

struct end {
    enum cairn_unwind_end end;
    const char *detail, *reason;
};

static void put_end(struct cairn_buffer *out, const struct end *how,
                    const struct cli_stack_view *view)
{
    const enum cairn_unwind_end end = how->end;
    const char *reason = how->reason;
    if (end != CAIRN_END_OUTERMOST)
        cairn_buffer_printf(out, "  ... cut: %s%s%s\n", cairn_unwind_end_text((int)end),
                            *how->detail ? ": " : "", how->detail);
    else if (view->why)
        cairn_buffer_printf(out, "  whole: %s\n", cairn_unwind_end_text((int)end));
    if (view->why && *reason) {
        cairn_buffer_str(out, "  before that: ");
        put(out, reason);
        cairn_buffer_char(out, '\n');
    }
}

/* Frames by their numbers in the profile, and a way to what else is known of one. Those that the
 * view leaves out have numbers all the same. */
struct shown {
    const uint32_t *frames;
    uint32_t n;
    bool has_guest;
    void (*get)(const void *ctx, uint32_t index, struct cairn_snapshot_frame *ret_frame);
    const void *ctx;
};

static void put_range(struct cairn_buffer *out, const struct cairn_profile *profile,
                      const struct shown *shown, const uint32_t range[2], uint32_t n_kernel,
                      const struct cli_stack_view *view)
{
    for (uint32_t k = range[0]; k < range[1]; k++) {
        struct cairn_snapshot_frame frame = {.size = sizeof frame};
        shown->get(shown->ctx, k, &frame);
        if (!cairn_guest_shows(view->guest, frame.is_guest, frame.own, shown->has_guest))
            continue;
        put_thread_frame(out, profile, &frame, k - (k < n_kernel ? k : n_kernel), view);
    }
}

/* What repeats is printed once, then counted. */
static void put_frames(struct cairn_buffer *out, const struct cairn_profile *profile,
                       const struct shown *shown, uint32_t n_kernel,
                       const struct cli_stack_view *view)
{
    uint32_t *keys = view->no_fold ? NULL : cairn_alloc(shown->n + 1, sizeof *keys);
    struct cli_stack_run run;
    if (keys)
        cli_stack_keys(profile, shown->frames, shown->n, !view->why, keys);
    for (uint32_t k = 0; k < shown->n;) {
        bool folds = keys && k >= n_kernel && cli_stack_run_at(keys, shown->n, k, &run);
        uint32_t end = folds ? k + run.period : k + 1;
        put_range(out, profile, shown, (const uint32_t[]){k, end}, n_kernel, view);
        if (folds) {
            cairn_buffer_str(out, "  ... ");
            cli_stack_run_text(out, profile, shown->frames, &run);
            cairn_buffer_char(out, '\n');
            end = k + run.period * run.times;
        }
        k = end;
    }
    cairn_free(keys);
}

static void get_of_source(const void *ctx, uint32_t index, struct cairn_snapshot_frame *ret_frame)
{
    const struct cli_stack_source *of = ctx;
    (void)of->get(of->snapshot, of->index, index, ret_frame);
}

static void put_source(struct cairn_buffer *out, const struct cli_stack_source *source,
                       bool has_guest, uint32_t n_kernel, const struct cli_stack_view *view)
{
    uint32_t *frames = cli_stack_source_frames(source);
    if (!frames) {
        out->failed = true;
        return;
    }
    const struct shown shown = {frames, source->n_frames, has_guest, get_of_source, source};
    put_frames(out, cairn_snapshot_profile(source->snapshot), &shown, n_kernel, view);
    cairn_free(frames);
}

/* States of an interpreter whose frames may be wrong, and why. */
static void put_guests(struct cairn_buffer *out, const struct cairn_snapshot *snapshot,
                       size_t thread, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct cairn_snapshot_guest guest = {.size = sizeof guest};
        if (cairn_snapshot_guest(snapshot, thread, i, &guest) < 0 || !*guest.reason)
            continue;
        cairn_buffer_printf(out, "  ... frames of %s %s: %s\n", guest.version,
                            guest.is_unread ? "missing" : "in doubt", guest.reason);
    }
}

void cli_stack_text(struct cairn_buffer *out, struct cairn_snapshot *snapshot,
                    const struct cli_stack_view *view)
{
    for (size_t i = 0; i < cairn_snapshot_threads(snapshot); i++) {
        struct cairn_snapshot_thread thread = {.size = sizeof thread};
        if (cairn_snapshot_thread(snapshot, i, &thread) < 0)
            continue;
        put_head(out, &thread);
        if (view->regs && thread.has_regs)
            cli_stack_regs_text(out, &thread.regs);
        const struct cli_stack_source source = {snapshot, cairn_snapshot_frame, i, thread.n_frames};
        put_source(out, &source, thread.n_guests > 0, thread.n_kernel, view);
        put_guests(out, snapshot, i, thread.n_guests);
        if (thread.way == CAIRN_SNAPSHOT_NONE)
            put_no_stack(out, thread.reason);
        else
            put_end(out, &(struct end){thread.end, thread.end_detail, thread.reason}, view);
    }
}

static void put_coroutine(struct cairn_buffer *out, struct cairn_snapshot *snapshot, size_t number,
                          const struct cli_stack_view *view)
{
    struct cairn_snapshot_coroutine c = {.size = sizeof c};
    if (cairn_snapshot_coroutine(snapshot, number, &c) < 0)
        return;
    cairn_buffer_printf(out, "\n%" PRIu64 " coroutine%s of %s  %s%s\n", c.n, c.n == 1 ? "" : "s",
                        c.guest.version, c.is_begun ? "suspended" : "not begun",
                        c.may_be_collected ? "  (some may have been collected)" : "");
    const struct cli_stack_source source = {snapshot, cairn_snapshot_coroutine_frame, number,
                                            c.n_frames};
    put_source(out, &source, true, 0, view);
    if (*c.guest.reason)
        cairn_buffer_printf(out, "  ... frames in doubt: %s\n", c.guest.reason);
}

void cli_stack_coroutines_text(struct cairn_buffer *out, struct cairn_snapshot *snapshot,
                               const struct cli_stack_view *view)
{
    struct cairn_snapshot_coroutines all = {.size = sizeof all};
    (void)cairn_snapshot_coroutines(snapshot, &all);
    for (size_t i = 0; i < all.n_groups; i++)
        put_coroutine(out, snapshot, i, view);
    if (!all.searched_bytes) {
        cairn_buffer_str(out, "\nno coroutines: no interpreter that has them is in the process\n");
        return;
    }
    cairn_buffer_printf(out,
                        "\n%" PRIu64 " coroutine%s in %zu stack%s; %.1f MB of memory searched in "
                        "%.2f s\n",
                        all.n, all.n == 1 ? "" : "s", all.n_groups, all.n_groups == 1 ? "" : "s",
                        (double)all.searched_bytes / 1e6, (double)all.search_ns / 1e9);
    if (all.n_unlisted)
        cairn_buffer_printf(out, "%" PRIu64 " of them are not listed: too many frames\n",
                            all.n_unlisted);
    if (all.is_cut)
        cairn_buffer_str(out, "the search ended early: too many frames\n");
    if (all.n_moving)
        cairn_buffer_printf(out, "%" PRIu64 " more changed each time they were read\n",
                            all.n_moving);
    if (all.unread_bytes)
        cairn_buffer_printf(out, "%.1f kB of memory could not be read\n",
                            (double)all.unread_bytes / 1e3);
}

/* Numbers that follow each other as "4-9". */
static void put_tids(struct cairn_buffer *out, const struct cli_stack_group *group)
{
    for (size_t i = 0, last; i < group->n_tids; i = last + 1) {
        for (last = i; last + 1 < group->n_tids && group->tids[last + 1] == group->tids[last] + 1;)
            last++;
        if (last - i < 2)
            last = i;
        cairn_buffer_printf(out, " %d", group->tids[i]);
        if (last > i)
            cairn_buffer_printf(out, "-%d", group->tids[last]);
    }
}

/* [iterator], or of several [iterator 12, ptrace 3: held 9.4 us at most]. */
static void put_ways(struct cairn_buffer *out, const struct cli_stack_group *group)
{
    const char *before = "  [";
    for (int way = 0; way < CLI_STACK_WAYS; way++) {
        if (!group->n_by_way[way] || way == CAIRN_SNAPSHOT_NONE || way == CAIRN_SNAPSHOT_CORE)
            continue;
        cairn_buffer_printf(out, "%s%s", before, cairn_snapshot_way_text(way));
        if (group->n_by_way[way] < group->n_seen)
            cairn_buffer_printf(out, " %" PRIu64, group->n_by_way[way]);
        if (way == CAIRN_SNAPSHOT_PTRACE)
            cairn_buffer_printf(out, ": held %.1f us at most", (double)group->held_max_ns / 1000);
        before = ", ";
    }
    if (*before == ',')
        cairn_buffer_char(out, ']');
}

static void put_group_head(struct cairn_buffer *out, const struct cli_stack_groups *groups,
                           const struct cli_stack_group *group)
{
    if (groups->n_takes > 1)
        cairn_buffer_printf(out, "\n%" PRIu64 " of %" PRIu64 " stacks, ", group->n_seen,
                            groups->n_seen);
    else
        cairn_buffer_char(out, '\n');
    cairn_buffer_printf(out, "%zu thread%s", group->n_tids, group->n_tids == 1 ? "" : "s");
    if (*group->name) {
        cairn_buffer_str(out, " \"");
        put(out, group->name);
        cairn_buffer_str(out, group->has_other_names ? "\" and other names" : "\"");
    }
    cairn_buffer_char(out, ':');
    put_tids(out, group);
    put_ways(out, group);
    cairn_buffer_char(out, '\n');
}

struct of_group {
    const struct cairn_profile *profile;
    const struct cli_stack_group *group;
    const uint32_t *frames;
};

static void get_of_group(const void *ctx, uint32_t index, struct cairn_snapshot_frame *ret_frame)
{
    const struct of_group *of = ctx;
    struct cairn_frame_info info = {.size = sizeof info};
    if (of->group->frames) {
        *ret_frame = of->group->frames[index];
        return;
    }
    (void)cairn_profile_frame(of->profile, of->frames[index], &info);
    ret_frame->frame = of->frames[index];
    ret_frame->is_kernel = info.what == CAIRN_WHAT_KERNEL;
    ret_frame->is_guest = info.what == CAIRN_WHAT_INTERPRETED;
    ret_frame->own = info.own;
}

static bool has_guest(const struct cairn_profile *profile, const uint32_t *frames, uint32_t n)
{
    struct cairn_frame_info info = {.size = sizeof info};
    for (uint32_t i = 0; i < n; i++)
        if (cairn_profile_frame(profile, frames[i], &info) == CAIRN_OK &&
            info.what == CAIRN_WHAT_INTERPRETED)
            return true;
    return false;
}

void cli_stack_frames_text(struct cairn_buffer *out, const struct cairn_profile *profile,
                           const uint32_t *frames, uint32_t n, const struct cli_stack_view *view)
{
    static const struct cli_stack_group none = {0};
    const struct of_group of = {profile, &none, frames};
    const struct shown shown = {frames, n, has_guest(profile, frames, n), get_of_group, &of};
    put_frames(out, profile, &shown, 0, view);
}

static void put_group_frames(struct cairn_buffer *out, const struct cairn_profile *profile,
                             const struct cli_stack_group *group, const struct cli_stack_view *view)
{
    uint32_t n, n_kernel = 0;
    uint32_t *frames = cli_stack_group_frames(profile, group, &n);
    if (!frames) {
        out->failed = true;
        return;
    }
    const struct of_group of = {profile, group, frames};
    const struct shown shown = {frames, n, has_guest(profile, frames, n), get_of_group, &of};
    for (bool is_kernel = true; n_kernel < n && is_kernel; n_kernel += is_kernel) {
        struct cairn_snapshot_frame frame = {.size = sizeof frame};
        get_of_group(&of, n_kernel, &frame);
        is_kernel = frame.is_kernel;
    }
    put_frames(out, profile, &shown, n_kernel, view);
    cairn_free(frames);
}

void cli_stack_groups_text(struct cairn_buffer *out, struct cairn_snapshot *snapshot,
                           const struct cli_stack_groups *groups, const struct cli_stack_view *view)
{
    for (size_t i = 0; i < groups->n; i++) {
        const struct cli_stack_group *group = &groups->items[i];
        put_group_head(out, groups, group);
        put_group_frames(out, cairn_snapshot_profile(snapshot), group, view);
        if (group->is_walked)
            put_end(out, &(struct end){group->end, group->end_detail, group->reason}, view);
        else
            put_no_stack(out, group->reason);
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * Events of cairn trace as lines:
 *
 *     12:00:01.123456 cat[4242] cpu 1  openat(dirfd=AT_FDCWD, path="x", ...) = -1 ENOENT <12.3 us>
 *       #0   __open  open64.c:41
 *       ... x 1,204
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "base/json.h"
#include "cli/numbers.h"
#include "cli/stack.h"
#include "cli/trace.h"

enum { FRAMES_MAX = 2048, FLUSH_BYTES = 1 << 16 };

void cli_trace_time(struct cairn_buffer *out, uint64_t ns)
{
    if (ns < 1000)
        cairn_buffer_printf(out, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        cairn_buffer_printf(out, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        cairn_buffer_printf(out, "%.1f ms", (double)ns / 1e6);
    else
        cairn_buffer_printf(out, "%.3f s", (double)ns / 1e9);
}

static void put(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

void cli_trace_stack(struct cairn_buffer *out, struct cairn_trace *trace, uint32_t stack,
                     const char *cut)
{
    const struct cli_stack_view view = {.guest = CAIRN_GUEST_FOLD};
    const struct cairn_profile *profile;
    uint32_t *frames = cairn_alloc(FRAMES_MAX, sizeof *frames);
    size_t n = frames ? cairn_trace_frames(trace, stack, frames, FRAMES_MAX, &profile) : 0;
    if (n)
        cli_stack_frames_text(out, profile, frames, (uint32_t)(n < FRAMES_MAX ? n : FRAMES_MAX),
                              &view);
    cairn_free(frames);
    if (*cut) {
        cairn_buffer_str(out, "  ... cut: ");
        put(out, cut);
        cairn_buffer_char(out, '\n');
    }
}

static void put_clock(struct cairn_buffer *out, uint64_t time_ns)
{
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts))
        return;
    cairn_buffer_printf(out, "%02d:%02d:%02d.%06u ", parts.tm_hour, parts.tm_min, parts.tm_sec,
                        (unsigned)(time_ns / 1000 % 1000000));
}

/* Without the time, by which no two events are equal. */
static void put_call(struct cairn_buffer *out, const struct cairn_trace_event *event)
{
    put(out, event->comm);
    cairn_buffer_printf(out, "[%d", event->pid);
    if (event->tid != event->pid)
        cairn_buffer_printf(out, "/%d", event->tid);
    cairn_buffer_str(out, "]  ");
    put(out, event->name); /* the path of a library is part of it */
    cairn_buffer_char(out, '(');
    for (uint32_t i = 0; i < event->n_args; i++) {
        cairn_buffer_printf(out, "%s%s=", i ? ", " : "", event->arg_names[i]);
        put(out, event->arg_texts[i]);
    }
    cairn_buffer_char(out, ')');
    if (event->is_compat)
        cairn_buffer_str(out, " [32-bit call]");
    if (event->has_result) {
        cairn_buffer_str(out, " = ");
        put(out, event->result_text);
    } else if (event->is_gone) {
        cairn_buffer_str(out, " = ? (the thread exited in the call)");
    }
}

static void put_json_frame(struct cairn_json *json, const struct cairn_profile *profile,
                           uint32_t frame)
{
    struct cairn_frame_info info = {.size = sizeof info};
    struct cairn_frame_line line;
    if (cairn_profile_frame(profile, frame, &info) < 0)
        return;
    for (uint32_t i = 0; i < (info.n_lines ? info.n_lines : 1); i++) {
        cairn_json_open(json, NULL, '{');
        cairn_json_hex(json, "address", info.address);
        cairn_json_str(json, "module", info.module);
        if (info.n_lines && cairn_profile_frame_line(profile, frame, i, &line) == CAIRN_OK) {
            cairn_json_str(json, "function", line.function);
            cairn_json_str(json, "file", *line.file ? line.file : NULL);
            cairn_json_u64(json, "line", line.line);
            cairn_json_bool(json, "inlined", i + 1 < info.n_lines);
        } else {
            cairn_json_str(json, "function", NULL);
        }
        cairn_json_close(json, '}');
    }
}

static void put_json_stack(struct cairn_json *json, struct cairn_trace *trace,
                           const struct cairn_trace_event *event)
{
    const struct cairn_profile *profile;
    uint32_t *frames = cairn_alloc(FRAMES_MAX, sizeof *frames);
    size_t n = frames ? cairn_trace_frames(trace, event->stack, frames, FRAMES_MAX, &profile) : 0;
    cairn_json_open(json, "stack", '[');
    for (size_t i = 0; i < n && i < FRAMES_MAX; i++)
        put_json_frame(json, profile, frames[i]);
    cairn_json_close(json, ']');
    cairn_json_str(json, "cut", *event->cut ? event->cut : NULL);
    cairn_free(frames);
}

static void put_json(struct cli_trace_lines *lines, const struct cairn_trace_event *event)
{
    struct cairn_json json = {.out = &lines->out, .compact = true};
    cairn_json_open(&json, NULL, '{');
    cairn_json_u64(&json, "time_ns", event->time_ns);
    cairn_json_i64(&json, "pid", event->pid);
    cairn_json_i64(&json, "tid", event->tid);
    if (event->cpu != UINT32_MAX)
        cairn_json_u64(&json, "cpu", event->cpu);
    cairn_json_u64(&json, "uid", event->uid);
    cairn_json_str(&json, "comm", event->comm);
    cairn_json_str(&json, "event", event->kind);
    cairn_json_str(&json, "name", event->name);
    cairn_json_bool(&json, "compat", event->is_compat);
    cairn_json_open(&json, "args", '{');
    for (uint32_t i = 0; i < event->n_args; i++)
        cairn_json_str(&json, event->arg_names[i], event->arg_texts[i]);
    cairn_json_close(&json, '}');
    if (event->has_result) {
        cairn_json_i64(&json, "result", event->result);
        cairn_json_str(&json, "error", *event->error ? event->error : NULL);
        cairn_json_u64(&json, "duration_ns", event->duration_ns);
    }
    if (event->is_gone)
        cairn_json_bool(&json, "thread_exited", true);
    if (event->has_regs)
        cli_stack_regs_json(&json, &event->regs);
    if (!lines->no_stack)
        put_json_stack(&json, lines->trace, event);
    cairn_json_close(&json, '}');
}

static void end_run(struct cli_trace_lines *lines)
{
    if (!lines->n_again)
        return;
    cairn_buffer_str(&lines->out, "  ... x ");
    cli_add_count(&lines->out, lines->n_again + 1);
    cairn_buffer_char(&lines->out, '\n');
    lines->n_again = 0;
}

int cli_trace_line(void *ctx, const struct cairn_trace_event *event)
{
    struct cli_trace_lines *lines = ctx;
    if (lines->json) {
        put_json(lines, event);
    } else {
        cairn_buffer_clear(&lines->now);
        put_call(&lines->now, event);
        if (!lines->snapshot && !event->has_regs && lines->last.size == lines->now.size &&
            lines->last_stack == event->stack &&
            memcmp(lines->last.data, lines->now.data, lines->now.size) == 0) {
            lines->n_again++;
            return 0;
        }
        end_run(lines);
        put_clock(&lines->out, event->time_ns);
        cairn_buffer_add(&lines->out, lines->now.data, lines->now.size);
        if (event->duration_ns) {
            cairn_buffer_str(&lines->out, " <");
            cli_trace_time(&lines->out, event->duration_ns);
            cairn_buffer_char(&lines->out, '>');
        }
        cairn_buffer_char(&lines->out, '\n');
        if (event->has_regs)
            cli_stack_regs_text(&lines->out, &event->regs);
        if (!lines->no_stack)
            cli_trace_stack(&lines->out, lines->trace, event->stack, event->cut);
        if (lines->snapshot)
            cli_trace_snapshot(&lines->out, lines->snapshot, event->pid);
        const struct cairn_buffer last = lines->last;
        lines->last = lines->now;
        lines->now = last;
        lines->last_stack = event->stack;
    }
    return lines->out.size < FLUSH_BYTES || cli_trace_flush(lines, false) ? 0 : 1;
}

bool cli_trace_flush(struct cli_trace_lines *lines, bool is_end)
{
    if (is_end)
        end_run(lines);
    if (!lines->out.size)
        return true;
    bool ok = fwrite(lines->out.data, 1, lines->out.size, stdout) == lines->out.size &&
              fflush(stdout) == 0;
    cairn_buffer_clear(&lines->out);
    return ok;
}

void cli_trace_lines_done(struct cli_trace_lines *lines)
{
    cairn_buffer_done(&lines->out);
    cairn_buffer_done(&lines->last);
    cairn_buffer_done(&lines->now);
}

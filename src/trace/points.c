/* SPDX-License-Identifier: MIT */
#include "trace/points.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "proc/process.h"
#include "trace/filter_text.h"

enum { FILTER_BYTES_MAX = 4000 /* what one ioctl takes: a page */ };

static const char *const tracefs[] = {"/sys/kernel/tracing/events",
                                      "/sys/kernel/debug/tracing/events"};

bool cairn_points_can(const struct cairn_spec *spec)
{
    for (size_t i = 0; i < spec->probes.n; i++)
        if (spec->calls[CAIRN_TRACE_CALLS + i].is_wanted &&
            spec->probes.items[i].at.place != CAIRN_TRACE_POINT)
            return false;
    return true;
}

static int read_id(const char *group, const char *name, uint64_t *ret_id, struct cairn_err *err)
{
    char path[512];
    struct cairn_buffer text = {0};
    int code = CAIRN_E_MISSING;
    for (size_t i = 0; i < sizeof tracefs / sizeof *tracefs && code < 0; i++) {
        snprintf(path, sizeof path, "%s/%s/%s/id", tracefs[i], group, name);
        code = cairn_file_slurp(path, 64, &text, NULL);
    }
    const uint64_t id = code == CAIRN_OK ? strtoull(cairn_buffer_text(&text), NULL, 10) : 0;
    cairn_buffer_done(&text);
    *ret_id = id;
    if (id)
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_ACCESS, "tracepoint %s:%s: its number cannot be read from %s", group,
               name, tracefs[0]);
    cairn_hint(err, "run with sudo; or, for all users: sudo mount -t tracefs tracefs "
                    "/sys/kernel/tracing; sudo mount -o remount,mode=755 /sys/kernel/tracing");
    return CAIRN_E_ACCESS;
}

static int add_point(struct cairn_points *points, const char *group, const char *name, uint32_t row,
                     struct cairn_err *err)
{
    const size_t n = points->perf.n;
    struct cairn_perf_point *point = &points->items[n];
    int code = read_id(group, name, &point->id, err);
    if (code < 0)
        return code;
    /* where a call begins or ends the kernel's stack says nothing */
    point->no_kernel = points->user_only || row >= CAIRN_TRACE_ROWS;
    point->no_stack = points->no_stack || points->kernel_only || row == CAIRN_POINT_EXIT;
    points->rows[n] = row;
    points->perf.n++;
    return CAIRN_OK;
}

static bool is_wanted(const struct cairn_points *points, uint32_t number)
{
    return points->spec->calls[number].is_wanted ||
           points->spec->calls[CAIRN_TRACE_NUMBERS + number].is_wanted;
}

/* "(id>=0&&id<=3)||id==17": numbers of calls, of both tables. Empty: of all. */
static void put_numbers(const struct cairn_points *points, struct cairn_buffer *out)
{
    uint32_t number = 0;
    while (number < CAIRN_TRACE_NUMBERS) {
        uint32_t end = number;
        while (end < CAIRN_TRACE_NUMBERS && is_wanted(points, end))
            end++;
        if (end == number) {
            number++;
            continue;
        }
        cairn_buffer_str(out, out->size ? "||" : "");
        if (end == number + 1)
            cairn_buffer_printf(out, "id==%u", number);
        else
            cairn_buffer_printf(out, "(id>=%u&&id<=%u)", number, end - 1);
        number = end;
    }
}

/* Each term of a tracepoint's filters that the kernel's language has. */
static void put_filters(struct cairn_points *points, uint32_t row, struct cairn_buffer *out)
{
    const struct cairn_fields *fields = cairn_spec_fields(points->spec, row);
    struct cairn_syscall call;
    if (!fields || !cairn_spec_call(points->spec, row, &call))
        return;
    for (size_t i = 0; i < 2; i++) {
        const uint16_t number = points->spec->filter_of[2 * row + i];
        if (number &&
            !cairn_trace_filter_text(&points->spec->filters[number - 1], &call, fields, out))
            points->user_filters = true;
    }
}

static int make_filter(struct cairn_points *points, size_t i, struct cairn_err *err)
{
    struct cairn_buffer *out = &points->filters[i], all = {0};
    if (points->rows[i] < CAIRN_TRACE_ROWS)
        put_filters(points, points->rows[i], out);
    else
        put_numbers(points, out);
    if (points->is_machine && !cairn_process_is_inside()) { /* its number would be another's */
        cairn_buffer_printf(&all, out->size ? "common_pid!=%d&&(%s)" : "common_pid!=%d%s",
                            (int)getpid(), cairn_buffer_text(out));
        cairn_buffer_done(out);
        *out = all;
    }
    if (out->failed)
        return cairn_fail_memory(err);
    if (out->size && out->size < FILTER_BYTES_MAX)
        points->items[i].filter = cairn_buffer_text(out);
    else
        points->user_filters = points->user_filters || out->size;
    return CAIRN_OK;
}

static int list_points(struct cairn_points *points, struct cairn_err *err)
{
    const struct cairn_spec *spec = points->spec;
    int code = CAIRN_OK;
    if (cairn_trace_has_calls(spec->calls))
        code = add_point(points, "raw_syscalls", "sys_enter", CAIRN_POINT_ENTER, err);
    if (code == CAIRN_OK && points->perf.n && !points->enter_only)
        code = add_point(points, "raw_syscalls", "sys_exit", CAIRN_POINT_EXIT, err);
    for (uint32_t i = 0; i < spec->probes.n && code == CAIRN_OK; i++)
        if (spec->calls[CAIRN_TRACE_CALLS + i].is_wanted)
            code = add_point(points, spec->probes.items[i].path, spec->probes.items[i].name,
                             CAIRN_TRACE_CALLS + i, err);
    for (size_t i = 0; i < points->perf.n && code == CAIRN_OK; i++)
        code = make_filter(points, i, err);
    return code;
}

int cairn_points_open(struct cairn_points *points, const struct cairn_sampler_opts *whom,
                      struct cairn_sampler **ret_sampler, struct cairn_err *err)
{
    points->is_machine = whom->all_processes || whom->cgroup;
    points->user_only = whom->user_only != 0;
    points->perf.items = points->items;
    points->perf.no_stacks = (points->no_stack || points->kernel_only) && !points->wants_regs;
    points->perf.on_record = cairn_points_take;
    points->perf.ctx = points;
    points->filters = cairn_alloc(CAIRN_TRACE_PROBES + 2, sizeof *points->filters);
    if (!points->filters)
        return cairn_fail_memory(err);
    int code = list_points(points, err);
    if (code == CAIRN_OK)
        code = cairn_sampler_new_points(whom, &points->perf, ret_sampler, err);
    if (code < 0)
        return code;
    points->sampler = *ret_sampler;
    points->sampler->perf.kernel_only = points->kernel_only;
    const struct cairn_targets *targets = &points->sampler->targets;
    for (size_t i = 0; i < targets->n; i++)
        (void)cairn_points_meet(points, (uint32_t)targets->items[i].pid); /* or at its first hit */
    return CAIRN_OK;
}

void cairn_points_done(struct cairn_points *points)
{
    for (size_t i = 0; points->filters && i < CAIRN_TRACE_PROBES + 2; i++)
        cairn_buffer_done(&points->filters[i]);
    for (size_t i = 0; i < points->n_pending; i++)
        cairn_free(points->pending[i]);
    cairn_free(points->filters);
    cairn_free(points->pending);
    cairn_table_done(&points->calls);
    cairn_table_done(&points->uids);
    cairn_table_done(&points->looks);
    cairn_table_done(&points->sites);
}

uint64_t cairn_points_lost(const struct cairn_points *points)
{
    const struct cairn_perf *perf = &points->sampler->perf.events;
    uint64_t n = points->n_lost + points->sampler->perf.queue.n_bad;
    if (!cairn_perf_points_know_losses(perf)) /* before Linux 6.0: of all points, and mappings */
        return points->n_lost + cairn_perf_sampler_lost(&points->sampler->perf);
    for (uint32_t i = 0; i < points->perf.n; i++)
        if (points->rows[i] != CAIRN_POINT_EXIT)
            n += cairn_perf_points_lost(perf, i);
    return n;
}

void cairn_points_say(const struct cairn_points *points, struct cairn_buffer *out)
{
    size_t n_points = points->perf.n;
    if (cairn_trace_has_calls(points->spec->calls)) {
        n_points -= points->enter_only ? 1 : 2;
        cairn_buffer_printf(out,
                            "perf events at sys_enter%s: every system call of every process "
                            "takes some 0.1 us more",
                            points->enter_only ? "" : " and sys_exit");
    }
    if (n_points)
        cairn_buffer_printf(out, "%sperf events at %zu tracepoint%s", out->size ? "; " : "",
                            n_points, n_points == 1 ? "" : "s");
    if (!points->no_stack && !points->kernel_only)
        cairn_buffer_printf(out, "; %u kB of the stack are copied at each hit",
                            points->sampler->collect.stack_bytes / 1024);
    if (points->user_filters)
        cairn_buffer_str(out, "; a part of the filter is evaluated behind that");
}

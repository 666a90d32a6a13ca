/* SPDX-License-Identifier: MIT */
/* List: the events of this machine, and the static probes of files. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include <cairn/trace.h>

#include "base/error.h"
#include "trace/alias.h"
#include "trace/probe_usdt.h"
#include "trace/spec.h"

static int list_calls(const char *word, cairn_trace_list_fn fn, void *ctx)
{
    char name[64];
    for (uint32_t row = 0; row < CAIRN_TRACE_NUMBERS; row++) {
        const char *call = cairn_call_name(row);
        if (!call || !cairn_spec_matches(word, call))
            continue;
        snprintf(name, sizeof name, "syscall:%s", call);
        int code = fn(ctx, name);
        if (code)
            return code;
    }
    return CAIRN_OK;
}

struct listing {
    const char *pattern;
    cairn_trace_list_fn fn;
    void *ctx;
};

static int list_point(void *ctx, const char *group, const char *name)
{
    const struct listing *to = ctx;
    char text[600];
    snprintf(text, sizeof text, "tracepoint:%s:%s", group, name);
    return fnmatch(to->pattern, text, 0) == 0 ? to->fn(to->ctx, text) : 0;
}

static int list_aliases(const struct listing *to)
{
    const char *name;
    int code = CAIRN_OK;
    for (size_t i = 0; !code && (name = cairn_alias_name(i)); i++)
        if (fnmatch(to->pattern, name, 0) == 0)
            code = to->fn(to->ctx, name);
    return code;
}

int cairn_trace_list_usdt(const char *pattern, const int *pids, size_t n_pids,
                          cairn_trace_list_usdt_fn fn, void *ctx, struct cairn_err *err)
{
    static const char kind[] = "usdt:";
    const struct cairn_probes probes = {.pids = pids, .n_pids = n_pids};
    if (strncmp(pattern, kind, sizeof kind - 1) != 0)
        return cairn_fail(err, CAIRN_E_ARG, "\"%.64s\": expected usdt:FILE:PROVIDER:NAME", pattern);
    return cairn_probes_list_static(&probes, pattern + sizeof kind - 1, fn, ctx, err);
}

int cairn_trace_list(const char *pattern, cairn_trace_list_fn fn, void *ctx, struct cairn_err *err)
{
    static const char kind[] = "syscall:", point[] = "tracepoint:";
    const bool is_call = strncmp(pattern, kind, sizeof kind - 1) == 0;
    struct listing to = {pattern, fn, ctx};
    (void)err;
    if (is_call)
        return list_calls(pattern + sizeof kind - 1, fn, ctx);
    int code = list_aliases(&to);
    if (!code && !strchr(pattern, ':'))
        code = list_calls(pattern, fn, ctx);
    if (!code && (*pattern == '*' || strncmp(pattern, point, sizeof point - 1) == 0))
        code = cairn_probe_list_points("*", "*", list_point, &to);
    return code;
}

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

struct listing {
    const char *pattern;
    cairn_trace_list_fn fn;
    void *ctx;
    size_t n; /* events that were listed */
};

static int show(struct listing *to, const char *name)
{
    to->n++;
    return to->fn(to->ctx, name);
}

static int list_calls(struct listing *to, const char *word)
{
    char name[64];
    int code = CAIRN_OK;
    for (uint32_t row = 0; row < CAIRN_TRACE_NUMBERS && !code; row++) {
        const char *call = cairn_call_name(row);
        if (!call || !cairn_spec_matches(word, call))
            continue;
        snprintf(name, sizeof name, "syscall:%s", call);
        code = show(to, name);
    }
    return code;
}

static int list_point(void *ctx, const char *group, const char *name)
{
    struct listing *to = ctx;
    char text[600];
    snprintf(text, sizeof text, "tracepoint:%s:%s", group, name);
    return fnmatch(to->pattern, text, 0) == 0 ? show(to, text) : 0;
}

static int list_aliases(struct listing *to)
{
    const char *name;
    int code = CAIRN_OK;
    for (size_t i = 0; !code && (name = cairn_alias_name(i)); i++)
        if (fnmatch(to->pattern, name, 0) == 0)
            code = show(to, name);
    return code;
}

static int fail_empty(const char *pattern, bool is_known, struct cairn_err *err)
{
    if (!is_known)
        return cairn_fail(err, CAIRN_E_ARG,
                          "list \"%.64s\": expected NAME, syscall:NAME, tracepoint:GROUP:NAME or "
                          "usdt:FILE:PROVIDER:NAME",
                          pattern);
    cairn_fail(err, CAIRN_E_MISSING, "list \"%.64s\": this kernel has no such event", pattern);
    if (strchr(pattern, ':'))
        cairn_hint(err, "tracepoints need tracefs at /sys/kernel/tracing, and root");
    return CAIRN_E_MISSING;
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
    const bool is_bare = !strchr(pattern, ':');
    const bool may_be_point = *pattern == '*' || strncmp(pattern, point, sizeof point - 1) == 0;
    struct listing to = {.pattern = pattern, .fn = fn, .ctx = ctx};
    int code = is_call ? list_calls(&to, pattern + sizeof kind - 1) : list_aliases(&to);
    if (!code && is_bare)
        code = list_calls(&to, pattern);
    if (!code && may_be_point)
        code = cairn_probe_list_points("*", "*", list_point, &to);
    return code || to.n ? code : fail_empty(pattern, is_call || is_bare || may_be_point, err);
}

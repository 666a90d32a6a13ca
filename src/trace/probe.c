/* SPDX-License-Identifier: MIT */
#include "trace/probe.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "trace/memory.h"
#include "trace/probe_function.h"
#include "trace/probe_usdt.h"

enum { FORMAT_BYTES = 1 << 16 };

static const struct {
    const char *name;
    enum cairn_trace_place place;
    bool at_return;
    const char *how;
} kinds[] = {
    {"uprobe", CAIRN_TRACE_IN_PROGRAM, false, ""},
    {"uretprobe", CAIRN_TRACE_IN_PROGRAM, true,
     "uretprobe: some 1.2 us a hit, or 10 us where the "
     "function's begin is single-stepped"},
    {"kprobe", CAIRN_TRACE_IN_KERNEL, false, "kprobe"},
    {"kretprobe", CAIRN_TRACE_IN_KERNEL, true, "kretprobe"},
    {"uprobe+uretprobe", CAIRN_TRACE_BEGIN, false,
     "uprobe and uretprobe: some 2.5 us a call, or 12 us where the function's begin is "
     "single-stepped"},
    {"kprobe+kretprobe", CAIRN_TRACE_KERNEL_BEGIN, false, "kprobe and kretprobe"},
    {"tracepoint", CAIRN_TRACE_POINT, false, "tracepoint"},
    {"usdt", CAIRN_TRACE_STATIC, false, ""},
    {"mem", CAIRN_TRACE_MEMORY, false,
     "hardware breakpoint: a trap at each access, some 12 us in a virtual machine"},
    {"software", CAIRN_TRACE_FAULT, false,
     "software event of perf for page faults, without the tracepoints exceptions:page_fault_*"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *const tracefs[] = {"/sys/kernel/tracing/events",
                                      "/sys/kernel/debug/tracing/events"};

static size_t kind_of(const char *text)
{
    size_t kind = 0;
    const size_t size = strcspn(text, ":");
    while (kind < KINDS && (strlen(kinds[kind].name) != size || !text[size] ||
                            memcmp(text, kinds[kind].name, size) != 0))
        kind++;
    return kind;
}

bool cairn_probe_is(const char *text)
{
    return kind_of(text) < KINDS;
}

bool cairn_probe_is_pair(const char *event)
{
    const size_t kind = kind_of(event);
    return kind < KINDS && cairn_trace_is_pair(kinds[kind].place);
}

const char *cairn_probe_kind(const struct cairn_probe *probe)
{
    return kinds[kind_of(probe->event)].name;
}

void cairn_probes_done(struct cairn_probes *probes)
{
    for (size_t i = 0; i < probes->n; i++) {
        cairn_free(probes->items[i].event);
        cairn_free(probes->items[i].path);
        cairn_free(probes->items[i].name);
        cairn_free(probes->items[i].places);
        cairn_free(probes->items[i].pattern);
        cairn_named_arguments_done(&probes->items[i].named);
    }
    cairn_free(probes->items);
    probes->items = NULL;
    probes->n = 0;
}

struct cairn_probe *cairn_probes_append(struct cairn_probes *probes, const char *event,
                                        const char *path, const char *name, struct cairn_err *err)
{
    const size_t kind = kind_of(event);
    if (!probes->items)
        probes->items = cairn_alloc(CAIRN_TRACE_PROBES, sizeof *probes->items);
    if (probes->n == CAIRN_TRACE_PROBES) {
        cairn_fail(err, CAIRN_E_LIMIT, "%s: more than %d probes and tracepoints", event,
                   CAIRN_TRACE_PROBES);
        return NULL;
    }
    struct cairn_probe *probe = probes->items ? &probes->items[probes->n] : NULL;
    if (!probe) {
        cairn_fail_memory(err);
        return NULL;
    }
    const uint32_t number = (uint32_t)probes->n;
    *probe = (struct cairn_probe){
        .event = cairn_strdup(event), .path = cairn_strdup(path), .name = cairn_strdup(name)};
    probes->n++; /* what is there is freed, whatever follows */
    if (!probe->event || !probe->path || !probe->name) {
        cairn_fail_memory(err);
        return NULL;
    }
    probe->how = kinds[kind].how;
    probe->at = (struct cairn_trace_probe_at){.place = kinds[kind].place,
                                              .number = number,
                                              .at_return = kinds[kind].at_return,
                                              .path = probe->path,
                                              .name = probe->name,
                                              .event = probe->event};
    probe->call = (struct cairn_syscall){.name = probe->event,
                                         .ret = CAIRN_KIND_HEX,
                                         .n_args = -1,
                                         .has_own_args = kinds[kind].place == CAIRN_TRACE_STATIC};
    return probe;
}

int cairn_probe_cut_offset(const char *event, char *name, uint64_t *ret_off, struct cairn_err *err)
{
    char *plus = strrchr(name, '+'), *end;
    *ret_off = 0;
    if (!plus || !isdigit((unsigned char)plus[1])) /* operator+ is a name */
        return CAIRN_OK;
    errno = 0;
    *ret_off = strtoull(plus + 1, &end, 0);
    if (*end || errno)
        return cairn_fail(err, CAIRN_E_ARG, "%s: \"%s\" is no offset", event, plus + 1);
    *plus = '\0';
    return CAIRN_OK;
}

static int add_in_kernel(struct cairn_probes *probes, const char *event, char *function,
                         struct cairn_err *err)
{
    uint64_t off;
    int code = cairn_probe_cut_offset(event, function, &off, err);
    if (code < 0)
        return code;
    if (!*function)
        return cairn_fail(err, CAIRN_E_ARG, "%s: expected the name of a function", event);
    if (off && cairn_probe_is_pair(event))
        return cairn_fail(err, CAIRN_E_ARG, "%s: a function returns from no offset", event);
    struct cairn_probe *probe = cairn_probes_append(probes, event, "", function, err);
    if (!probe)
        return CAIRN_E_NOMEM;
    probe->at.off = off;
    return CAIRN_OK;
}

struct points {
    struct cairn_probes *probes;
    size_t n;
    int code;
    struct cairn_err *err;
};

static int add_point(void *ctx, const char *group, const char *name)
{
    struct points *to = ctx;
    struct cairn_buffer text = {0}, path = {0};
    cairn_buffer_printf(&text, "tracepoint:%s:%s", group, name);
    struct cairn_probe *probe = NULL;
    if (!text.failed)
        probe = cairn_probes_append(to->probes, cairn_buffer_text(&text), group, name, to->err);
    to->code = probe ? CAIRN_OK : CAIRN_E_NOMEM;
    if (probe)
        probe->call.n_args = 0; /* where no format can be read */
    for (size_t i = 0; probe && i < sizeof tracefs / sizeof *tracefs; i++) {
        cairn_buffer_clear(&path);
        cairn_buffer_clear(&text);
        cairn_buffer_printf(&path, "%s/%s/%s/format", tracefs[i], group, name);
        if (!path.failed &&
            cairn_file_slurp(cairn_buffer_text(&path), FORMAT_BYTES, &text, NULL) == CAIRN_OK &&
            cairn_fields_read((struct cairn_span){text.data, text.size}, &probe->fields,
                              &probe->call))
            break;
    }
    to->n += probe != NULL;
    cairn_buffer_done(&text);
    cairn_buffer_done(&path);
    return to->code;
}

static int each_name(const char *folder, const char *group, const char *pattern,
                     int (*fn)(void *, const char *, const char *), void *ctx)
{
    char path[512];
    int code = 0;
    snprintf(path, sizeof path, "%s/%s", folder, group);
    DIR *names = opendir(path);
    for (struct dirent *entry; names && !code && (entry = readdir(names));)
        if (entry->d_name[0] != '.' && entry->d_type == DT_DIR &&
            fnmatch(pattern, entry->d_name, 0) == 0)
            code = fn(ctx, group, entry->d_name);
    if (names)
        closedir(names);
    return code;
}

int cairn_probe_list_points(const char *group, const char *name,
                            int (*fn)(void *ctx, const char *group, const char *name), void *ctx)
{
    int code = 0;
    bool is_there = false;
    for (size_t i = 0; i < sizeof tracefs / sizeof *tracefs && !is_there; i++) {
        DIR *groups = opendir(tracefs[i]);
        is_there = groups != NULL;
        for (struct dirent *entry; groups && !code && (entry = readdir(groups));)
            if (entry->d_name[0] != '.' && entry->d_type == DT_DIR &&
                fnmatch(group, entry->d_name, 0) == 0)
                code = each_name(tracefs[i], entry->d_name, name, fn, ctx);
        if (groups)
            closedir(groups);
    }
    return code;
}

static int add_points(struct cairn_probes *probes, const char *event, const char *group,
                      const char *name, struct cairn_err *err)
{
    struct points to = {.probes = probes, .err = err};
    (void)cairn_probe_list_points(group, name, add_point, &to);
    if (to.code < 0)
        return to.code;
    if (to.n)
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_MISSING, "%s: this kernel has no such tracepoint", event);
    cairn_hint(err,
               "cairn trace --list 'tracepoint:*%s*'; tracefs at /sys/kernel/tracing is "
               "needed, and root",
               name);
    return CAIRN_E_MISSING;
}

static int add_fault(struct cairn_probes *probes, const char *event, const char *name,
                     struct cairn_err *err)
{
    if (strcmp(name, "page-faults") != 0)
        return cairn_fail(err, CAIRN_E_ARG, "event \"%.128s\": expected software:page-faults",
                          event);
    struct cairn_probe *probe = cairn_probes_append(probes, event, "", name, err);
    if (!probe)
        return CAIRN_E_NOMEM;
    probe->call.n_args = 1;
    probe->call.args[0] = (struct cairn_call_arg){.name = "address", .kind = CAIRN_KIND_POINTER};
    return CAIRN_OK;
}

static int add_parts(struct cairn_probes *probes, size_t kind, const char *event, char *rest,
                     struct cairn_err *err)
{
    if (cairn_trace_is_in_kernel(kinds[kind].place))
        return add_in_kernel(probes, event, rest, err);
    if (kinds[kind].place == CAIRN_TRACE_STATIC)
        return cairn_probes_add_static(probes, event, rest, err);
    if (kinds[kind].place == CAIRN_TRACE_MEMORY)
        return cairn_memory_add(probes, event, rest, err);
    if (kinds[kind].place == CAIRN_TRACE_FAULT)
        return add_fault(probes, event, rest, err);
    char *colon = strchr(rest, ':');
    if (!colon || colon == rest || !colon[1])
        return cairn_fail(err, CAIRN_E_ARG, "event \"%.128s\": expected %s", event,
                          kinds[kind].place == CAIRN_TRACE_POINT ? "tracepoint:GROUP:NAME"
                                                                 : "FILE:FUNCTION");
    *colon = '\0';
    if (kinds[kind].place == CAIRN_TRACE_POINT)
        return add_points(probes, event, rest, colon + 1, err);
    return cairn_probes_add_functions(probes, event, rest, colon + 1, err);
}

int cairn_probes_add(struct cairn_probes *probes, const char *text, struct cairn_err *err)
{
    const size_t kind = kind_of(text);
    char *rest = cairn_strdup(text + strlen(kinds[kind].name) + 1);
    if (!rest)
        return cairn_fail_memory(err);
    int code = add_parts(probes, kind, text, rest, err);
    cairn_free(rest);
    return code;
}

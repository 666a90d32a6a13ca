/* SPDX-License-Identifier: MIT */
/* Hardware breakpoints: one for each CPU and each place, with the program that reports the hits. */
#include "bpf/memory.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bpf/load.h"
#include "bpf/trace_programs.h"
#include "bpf/walk.skel.h"
#include "bpf/walker.h"

void cairn_trace_memory_prepare(struct walk_bpf *program,
                                const struct cairn_trace_programs_opts *opts)
{
    struct bpf_map *const maps[] = {program->maps.trace_memory, program->maps.trace_memory_last,
                                    program->maps.trace_memory_pids};
    const bool is_wanted =
        opts && cairn_trace_has_place(opts->probes, opts->n_probes, CAIRN_TRACE_MEMORY);
    (void)bpf_program__set_autoload(program->progs.cairn_trace_replaced, is_wanted);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        (void)bpf_map__set_autocreate(maps[i], is_wanted);
}

static int open_event(const struct cairn_trace_probe_at *probe, int cpu)
{
    const struct cairn_trace_memory_at *at = &probe->memory;
    struct perf_event_attr fault = {.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof fault,
                                    .config = PERF_COUNT_SW_PAGE_FAULTS,
                                    .sample_period = 1};
    struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
                                   .size = sizeof attr,
                                   .bp_type = at->type,
                                   .bp_addr = at->va,
                                   .bp_len = at->type == HW_BREAKPOINT_X ? sizeof(long) : at->bytes,
                                   .sample_period = 1};
    if (probe->place == CAIRN_TRACE_FAULT)
        attr = fault;
    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int fail_fault(const char *event, int os_errno, struct cairn_err *err)
{
    return cairn_fail_os(err, os_errno, "%s: cannot open the software event", event);
}

static int fail_event(const char *event, int os_errno, struct cairn_err *err)
{
    int code;
    switch (os_errno) {
    case ENOSPC:
        code = cairn_fail(err, CAIRN_E_LIMIT, "%s: all hardware breakpoints of a CPU are in use",
                          event);
        cairn_hint(err, "x86-64 has 4: each place of up to 8 bytes takes one in each process that "
                        "is traced, as do debuggers with watchpoints and other traces");
        return code;
    case ENOENT:
    case ENODEV:
    case ENOSYS:
    case EOPNOTSUPP:
        code =
            cairn_fail(err, CAIRN_E_SUPPORT, "%s: this machine has no hardware breakpoints", event);
        cairn_hint(err,
                   "a virtual machine or the kernel (CONFIG_HAVE_HW_BREAKPOINT) may lack them; "
                   "uprobe: at the functions that write the variable needs none");
        return code;
    case EINVAL:
        code = cairn_fail(err, CAIRN_E_ARG, "%s: the kernel takes no breakpoint at this address",
                          event);
        cairn_hint(err, "in code of the kernel use kprobe:FUNCTION; some of its data is kept from "
                        "breakpoints");
        return code;
    default:
        code = cairn_fail_os(err, os_errno, "%s: cannot set a hardware breakpoint", event);
        if (os_errno == EACCES || os_errno == EPERM)
            cairn_hint(err, "addresses of the kernel, and those of other processes, need root");
        return code;
    }
}

static int keep_link(struct cairn_trace_programs *trace, struct bpf_link *link)
{
    if (cairn_grow((void **)&trace->memory.links, &trace->memory.cap, trace->memory.n + 1,
                   sizeof *trace->memory.links) < 0)
        return CAIRN_E_NOMEM;
    trace->memory.links[trace->memory.n++] = link;
    return CAIRN_OK;
}

static int attach_event(struct cairn_trace_programs *trace, const struct cairn_trace_probe_at *at,
                        int fd, struct cairn_err *err)
{
    LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = CAIRN_TRACE_CALLS + at->number);
    libbpf_print_fn_t before = libbpf_set_print(NULL); /* what it says, we say */
    struct bpf_link *link = bpf_program__attach_perf_event_opts(
        at->place == CAIRN_TRACE_FAULT ? trace->program->progs.cairn_trace_fault
                                       : trace->program->progs.cairn_trace_memory,
        fd, &opts);
    const int os_errno = errno;
    libbpf_set_print(before);
    if (!link) {
        close(fd);
        return cairn_bpf_fail(err, os_errno, &cairn_walker_need, "attach to a breakpoint by");
    }
    if (keep_link(trace, link) == CAIRN_OK) /* it has the descriptor */
        return CAIRN_OK;
    bpf_link__destroy(link);
    return cairn_fail_memory(err);
}

static int write_place(struct cairn_trace_programs *trace, const struct cairn_trace_probe_at *probe,
                       struct cairn_err *err)
{
    const struct cairn_trace_memory_at *at = &probe->memory;
    const struct cairn_bpf_memory place = {.va = at->va,
                                           .stack_start = at->stack_start,
                                           .bytes = at->type == HW_BREAKPOINT_X ? 0 : at->bytes};
    const uint32_t pid = (uint32_t)at->pid, watched = CAIRN_MEMORY_WATCHED;
    int code = bpf_map_update_elem(bpf_map__fd(trace->program->maps.trace_memory), &probe->number,
                                   &place, BPF_ANY);
    if (code == 0 && pid)
        code = bpf_map_update_elem(bpf_map__fd(trace->program->maps.trace_memory_pids), &pid,
                                   &watched, BPF_ANY);
    return code == 0 ? CAIRN_OK : cairn_bpf_fail(err, errno, &cairn_walker_need, "fill");
}

int cairn_trace_memory_attach(struct cairn_trace_programs *trace,
                              const struct cairn_trace_probe_at *at, struct cairn_err *err)
{
    size_t n = 0;
    int code = at->place == CAIRN_TRACE_MEMORY ? write_place(trace, at, err) : CAIRN_OK;
    int os_errno;
    for (size_t cpu = 0; cpu < trace->n_cpus && code == CAIRN_OK; cpu++) {
        const int fd = open_event(at, (int)cpu);
        os_errno = fd < 0 ? errno : 0;
        if (fd < 0 && os_errno == ENODEV) /* it is not on */
            continue;
        if (fd >= 0)
            code = attach_event(trace, at, fd, err);
        else
            code = at->place == CAIRN_TRACE_FAULT ? fail_fault(at->event, os_errno, err)
                                                  : fail_event(at->event, os_errno, err);
        n += code == CAIRN_OK;
    }
    return code == CAIRN_OK && !n ? fail_event(at->event, ENODEV, err) : code;
}

static bool is_due(const struct cairn_trace_probe_at *at)
{
    return at->place == CAIRN_TRACE_FAULT || (at->place == CAIRN_TRACE_MEMORY && at->memory.va);
}

int cairn_trace_memory_start(struct cairn_trace_programs *trace, struct cairn_err *err)
{
    int code = CAIRN_OK;
    if (cairn_trace_has_place(trace->probes, trace->n_probes, CAIRN_TRACE_MEMORY)) {
        trace->replaced_link = bpf_program__attach(trace->program->progs.cairn_trace_replaced);
        if (!trace->replaced_link)
            return cairn_bpf_fail(err, errno, &cairn_walker_need, "follow execve by");
    }
    for (uint32_t i = 0; i < trace->n_probes && code == CAIRN_OK; i++)
        if (is_due(&trace->probes[i]))
            code = cairn_trace_memory_attach(trace, &trace->probes[i], err);
    return code;
}

void cairn_trace_memory_stop(struct cairn_trace_programs *trace)
{
    bpf_link__destroy(trace->replaced_link);
    trace->replaced_link = NULL;
    for (size_t i = 0; i < trace->memory.n; i++)
        bpf_link__destroy(trace->memory.links[i]);
    cairn_free(trace->memory.links);
    trace->memory.links = NULL;
    trace->memory.n = trace->memory.cap = 0;
}

bool cairn_trace_memory_is_replaced(const struct cairn_trace_programs *trace, int pid)
{
    uint32_t tgid = (uint32_t)pid, state = 0;
    return pid > 0 &&
           bpf_map_lookup_elem(bpf_map__fd(trace->program->maps.trace_memory_pids), &tgid,
                               &state) == 0 &&
           state == CAIRN_MEMORY_REPLACED;
}

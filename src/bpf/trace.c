/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bpf/cpu.h"
#include "bpf/load.h"
#include "bpf/places.h"
#include "bpf/trace_programs.h"
#include "bpf/walk.skel.h"
#include "bpf/walker.h"
#include "target/regs.h"

static const char KPROBES[] = "/sys/bus/event_source/devices/kprobe";

enum { /* numbers of programs */
       FOLLOWS_EXIT = 2,
       N_FOLLOW,
       PAIR_GONE = 4,
       PAIR_EXEC,
       ENTER = CAIRN_TRACE_PROGRAMS - 1
};

/* What follows targets is attached first, and what reports calls last; but who exits is a target
 * until all programs at its exit have run, so that one comes last of all. */
static void list_programs(const struct walk_bpf *program,
                          struct bpf_program *ret_programs[CAIRN_TRACE_PROGRAMS])
{
    ret_programs[0] = program->progs.cairn_off_fork;
    ret_programs[1] = program->progs.cairn_off_exec;
    ret_programs[2] = program->progs.cairn_off_exit;
    ret_programs[3] = program->progs.cairn_trace_gone;
    ret_programs[PAIR_GONE] = program->progs.cairn_trace_pair_gone;
    ret_programs[PAIR_EXEC] = program->progs.cairn_trace_pair_exec;
    ret_programs[6] = program->progs.cairn_trace_exit;
    ret_programs[ENTER] = program->progs.cairn_trace_enter;
}

/* By enum cairn_trace_place. */
static void list_probe_programs(const struct walk_bpf *program,
                                struct bpf_program *ret_programs[CAIRN_TRACE_PROBE_PROGRAMS])
{
    ret_programs[CAIRN_TRACE_IN_PROGRAM] = program->progs.cairn_trace_uprobe;
    ret_programs[CAIRN_TRACE_IN_KERNEL] = program->progs.cairn_trace_kprobe;
    ret_programs[CAIRN_TRACE_POINT] = program->progs.cairn_trace_point;
    ret_programs[CAIRN_TRACE_STATIC] = program->progs.cairn_trace_usdt;
    ret_programs[CAIRN_TRACE_MEMORY] = program->progs.cairn_trace_memory;
    ret_programs[CAIRN_TRACE_FAULT] = program->progs.cairn_trace_fault;
    ret_programs[CAIRN_TRACE_BEGIN] = program->progs.cairn_trace_begin;
    ret_programs[CAIRN_TRACE_KERNEL_BEGIN] = program->progs.cairn_trace_kernel_begin;
    ret_programs[CAIRN_TRACE_END] = program->progs.cairn_trace_end;
    ret_programs[CAIRN_TRACE_KERNEL_END] = program->progs.cairn_trace_kernel_end;
}

static bool has_pairs(const struct cairn_trace_programs_opts *opts)
{
    return opts && (cairn_trace_has_place(opts->probes, opts->n_probes, CAIRN_TRACE_BEGIN) ||
                    cairn_trace_has_place(opts->probes, opts->n_probes, CAIRN_TRACE_KERNEL_BEGIN));
}

static void load_programs(struct walk_bpf *program, const struct cairn_trace_programs_opts *opts)
{
    struct bpf_program *programs[CAIRN_TRACE_PROGRAMS], *probes[CAIRN_TRACE_PROBE_PROGRAMS];
    const bool wants_calls = opts && cairn_trace_has_calls(opts->calls);
    const bool wants_ends = wants_calls && !opts->enter_only;
    list_programs(program, programs);
    list_probe_programs(program, probes);
    for (size_t i = opts ? 0 : N_FOLLOW; i < CAIRN_TRACE_PROGRAMS; i++) {
        const bool is_pair = i == PAIR_GONE || i == PAIR_EXEC;
        const bool wants = is_pair ? has_pairs(opts) : i == ENTER ? wants_calls : wants_ends;
        (void)bpf_program__set_autoload(programs[i], opts && (i < N_FOLLOW || wants));
    }
    for (size_t i = 0; i < CAIRN_TRACE_PROBE_PROGRAMS; i++)
        (void)bpf_program__set_autoload(probes[i], false);
    for (size_t i = 0; opts && i < opts->n_probes; i++)
        (void)bpf_program__set_autoload(probes[opts->probes[i].place], true);
    cairn_trace_memory_prepare(program, opts);
}

static bool prepare_many(struct walk_bpf *program, const struct cairn_trace_programs_opts *opts)
{
    struct bpf_program *programs[CAIRN_TRACE_PROBE_PROGRAMS];
    bool can = true;
    list_probe_programs(program, programs);
    for (size_t i = 0; i < CAIRN_TRACE_PROBE_PROGRAMS && can; i++)
        if (cairn_trace_is_of_file((enum cairn_trace_place)i) &&
            cairn_trace_has_place(opts->probes, opts->n_probes, (enum cairn_trace_place)i))
            can = cairn_bpf_places_prepare(programs[i]);
    return can;
}

static void set_wanted(struct walk_bpf *program, const struct cairn_bpf_call *calls)
{
    for (uint32_t i = 0; i < CAIRN_TRACE_CALLS; i++) {
        uint32_t number = i % CAIRN_TRACE_NUMBERS;
        uint64_t bit = (uint64_t)calls[i].is_wanted << number % 64;
        if (i < CAIRN_TRACE_NUMBERS)
            program->rodata->cairn_trace_wanted[number / 64] |= bit;
        else
            program->rodata->cairn_trace_wanted_compat[number / 64] |= bit;
    }
}

/* Does anything ask for threads' names: a filter, or an event that crosses? */
static bool has_comm(const struct cairn_trace_programs_opts *opts)
{
    bool has = opts->per_second;
    for (uint32_t i = 0; i < CAIRN_TRACE_ROWS && !has; i++) {
        has = opts->calls[i].flags & CAIRN_TRACE_EACH;
        for (uint32_t k = 0; k < opts->calls[i].n_terms; k++)
            has = has || opts->calls[i].terms[k].field == CAIRN_TRACE_COMM;
    }
    return has;
}

void cairn_trace_programs_prepare(struct walk_bpf *program,
                                  const struct cairn_trace_programs_opts *opts, size_t n_cpus,
                                  bool *ret_many_at_once)
{
    struct bpf_map *const maps[] = {program->maps.trace_calls,      program->maps.trace_pending,
                                    program->maps.trace_sums,       program->maps.trace_sums_other,
                                    program->maps.trace_memos,      program->maps.trace_cpus,
                                    program->maps.trace_now,        program->maps.trace_fence,
                                    program->maps.trace_fence_inner};
    load_programs(program, opts);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        (void)bpf_map__set_autocreate(maps[i], opts != NULL);
    (void)bpf_map__set_autocreate(program->maps.trace_places, false);
    (void)bpf_map__set_autocreate(program->maps.trace_registers, false);
    (void)bpf_map__set_autocreate(program->maps.trace_levels, has_pairs(opts));
    (void)bpf_map__set_autocreate(program->maps.trace_entered, has_pairs(opts));
    if (!opts)
        return;
    const bool has_static = cairn_trace_has_place(opts->probes, opts->n_probes, CAIRN_TRACE_STATIC);
    *ret_many_at_once = prepare_many(program, opts);
    (void)bpf_map__set_autocreate(program->maps.trace_places, has_static);
    (void)bpf_map__set_autocreate(program->maps.trace_registers, has_static);
    (void)bpf_map__set_autocreate(program->maps.targets, true);
    (void)bpf_map__set_autocreate(program->maps.target_cgroup, opts->is_cgroup);
    (void)bpf_program__set_autoload(program->progs.cairn_walk, false);
    (void)bpf_map__set_max_entries(program->maps.trace_memos, (uint32_t)n_cpus * CAIRN_TRACE_MEMOS);
    program->rodata->cairn_has_words = 1;
    program->rodata->cairn_off_all = opts->all || opts->is_cgroup;
    program->rodata->cairn_off_cgroup = opts->is_cgroup;
    program->rodata->cairn_off_no_inherit = opts->no_inherit;
    program->rodata->cairn_trace_tid = opts->tid;
    program->rodata->cairn_trace_self = (uint32_t)getpid();
    program->rodata->cairn_trace_no_stack = opts->no_stack;
    program->rodata->cairn_trace_regs = opts->regs;
    program->rodata->cairn_trace_user_only = opts->user_only;
    program->rodata->cairn_trace_kernel_only = opts->kernel_only;
    program->rodata->cairn_trace_enter_only = opts->enter_only;
    program->rodata->cairn_trace_has_comm = has_comm(opts);
    program->rodata->cairn_trace_signal = opts->signal;
    program->rodata->cairn_trace_limit = opts->per_second;
    program->rodata->cairn_trace_max = opts->max;
    program->rodata->cairn_trace_every = opts->every;
    set_wanted(program, opts->calls);
}

int cairn_trace_programs_add(struct cairn_trace_programs *trace, int pid, bool from_exec)
{
    uint32_t tgid = (uint32_t)pid, how = from_exec ? CAIRN_BPF_TARGET_FROM_EXEC : CAIRN_BPF_TARGET;
    return bpf_map_update_elem(bpf_map__fd(trace->program->maps.targets), &tgid, &how, BPF_ANY);
}

static int write_calls(struct cairn_trace_programs *trace, struct cairn_err *err)
{
    int fd = bpf_map__fd(trace->program->maps.trace_calls);
    for (uint32_t i = 0; i < CAIRN_TRACE_ROWS; i++)
        if (trace->calls[i].is_wanted && bpf_map_update_elem(fd, &i, &trace->calls[i], BPF_ANY) < 0)
            return cairn_bpf_fail(err, errno, &cairn_walker_need, "fill");
    for (uint32_t i = 0; i < trace->n_probes; i++)
        if (trace->probes[i].args &&
            bpf_map_update_elem(bpf_map__fd(trace->program->maps.trace_places), &i,
                                trace->probes[i].args, BPF_ANY) < 0)
            return cairn_bpf_fail(err, errno, &cairn_walker_need, "fill");
    return CAIRN_OK;
}

static struct bpf_link *attach_probe(struct cairn_trace_programs *trace, uint32_t number)
{
    const struct cairn_trace_probe_at *at = &trace->probes[number];
    const uint64_t cookie = cairn_bpf_place_cookie(at, number);
    struct bpf_program *programs[CAIRN_TRACE_PROBE_PROGRAMS];
    list_probe_programs(trace->program, programs);
    struct bpf_link *link;
    LIBBPF_OPTS(bpf_uprobe_opts, user, .bpf_cookie = cookie, .retprobe = at->at_return,
                .ref_ctr_offset = at->semaphore_off);
    LIBBPF_OPTS(bpf_kprobe_opts, kernel, .bpf_cookie = cookie, .retprobe = at->at_return,
                .offset = at->off);
    LIBBPF_OPTS(bpf_tracepoint_opts, point, .bpf_cookie = cookie);
    libbpf_print_fn_t before = libbpf_set_print(NULL); /* what it says, we say */
    if (cairn_trace_is_of_file(at->place)) /* of any process: targets are told apart at the hit */
        link = bpf_program__attach_uprobe_opts(programs[at->place], -1, at->path, at->off, &user);
    else if (cairn_trace_is_in_kernel(at->place))
        link = bpf_program__attach_kprobe_opts(programs[at->place], at->name, &kernel);
    else
        link = bpf_program__attach_tracepoint_opts(programs[at->place], at->path, at->name, &point);
    const int os_errno = errno;
    libbpf_set_print(before);
    errno = os_errno;
    return link;
}

static int fail_probe(const struct cairn_trace_probe_at *at, int os_errno, struct cairn_err *err)
{
    int code = cairn_fail_os(err, os_errno, "%s: cannot be attached to", at->event);
    if (cairn_trace_is_in_kernel(at->place) && access(KPROBES, F_OK) != 0)
        cairn_hint(err, "this kernel has no kprobes (CONFIG_KPROBE_EVENTS); a tracepoint may do: "
                        "cairn trace --list 'tracepoint:*'");
    else if (cairn_trace_is_in_kernel(at->place))
        cairn_hint(err, "/sys/kernel/tracing/available_filter_functions has the functions");
    return code;
}

/* How many places from `first` on one call may attach: those of one file. */
static uint32_t places_of_file(const struct cairn_trace_programs *trace, uint32_t first)
{
    const struct cairn_trace_probe_at *at = &trace->probes[first];
    uint32_t last = first + 1;
    while (cairn_trace_is_of_file(at->place) && last < trace->n_probes &&
           trace->probes[last].place == at->place &&
           trace->probes[last].at_return == at->at_return &&
           strcmp(trace->probes[last].path, at->path) == 0)
        last++;
    return last - first;
}

static int attach_places(struct cairn_trace_programs *trace, uint32_t first, uint32_t last)
{
    struct bpf_program *programs[CAIRN_TRACE_PROBE_PROGRAMS];
    list_probe_programs(trace->program, programs);
    const int fd =
        cairn_bpf_places_attach(programs[trace->probes[first].place], trace->probes, first, last);
    trace->probe_fds[first] = fd < 0 ? 0 : fd + 1;
    return fd < 0 ? fd : 0;
}

/* The places of a file together; if the kernel refuses them, one by one, so that it is known which.
 * `*ret_at`: the one. 0 or a negative errno. */
static int attach_file(struct cairn_trace_programs *trace, uint32_t first, uint32_t last,
                       uint32_t *ret_at)
{
    int result = attach_places(trace, first, last);
    *ret_at = first;
    if (result == 0 || last == first + 1)
        return result;
    result = 0;
    for (uint32_t i = first; i < last && result == 0; i++) {
        *ret_at = i;
        result = attach_places(trace, i, i + 1);
    }
    return result;
}

static int start_probes(struct cairn_trace_programs *trace, struct cairn_err *err)
{
    for (uint32_t i = 0, n; i < trace->n_probes; i += n) {
        uint32_t at = i;
        int result;
        n = trace->many_at_once ? places_of_file(trace, i) : 1;
        if (cairn_trace_is_perf_event(trace->probes[i].place)) /* memory.c */
            continue;
        if (trace->many_at_once && cairn_trace_is_of_file(trace->probes[i].place)) {
            result = attach_file(trace, i, i + n, &at);
        } else {
            trace->probe_links[i] = attach_probe(trace, i);
            result = trace->probe_links[i] ? 0 : -errno;
        }
        if (result == 0)
            continue;
        cairn_trace_programs_stop(trace);
        return fail_probe(&trace->probes[at], -result, err);
    }
    return CAIRN_OK;
}

static int attach(struct cairn_trace_programs *trace, struct bpf_program *program,
                  struct bpf_link **ret_link, struct cairn_err *err)
{
    *ret_link = bpf_program__attach(program);
    if (*ret_link)
        return CAIRN_OK;
    int os_errno = errno;
    cairn_trace_programs_stop(trace);
    return cairn_bpf_fail(err, os_errno, &cairn_walker_need, "attach to system calls by");
}

int cairn_trace_programs_start(struct cairn_trace_programs *trace, struct cairn_err *err)
{
    struct bpf_program *programs[CAIRN_TRACE_PROGRAMS];
    const uint32_t zero = 0;
    int code = write_calls(trace, err);
    if (code < 0)
        return code;
    if (trace->is_cgroup && bpf_map_update_elem(bpf_map__fd(trace->program->maps.target_cgroup),
                                                &zero, &trace->cgroup_fd, BPF_ANY) < 0)
        return cairn_bpf_fail(err, errno, &cairn_walker_need, "trace a cgroup by");
    list_programs(trace->program, programs);
    for (size_t i = 0; i < CAIRN_TRACE_PROGRAMS && code == CAIRN_OK; i++)
        if (i != FOLLOWS_EXIT && bpf_program__autoload(programs[i]))
            code = attach(trace, programs[i], &trace->links[i], err);
    if (code == CAIRN_OK && (code = cairn_trace_memory_start(trace, err)) < 0)
        cairn_trace_programs_stop(trace);
    if (code == CAIRN_OK)
        code = start_probes(trace, err);
    return code == CAIRN_OK
               ? attach(trace, programs[FOLLOWS_EXIT], &trace->links[FOLLOWS_EXIT], err)
               : code;
}

void cairn_trace_programs_stop(struct cairn_trace_programs *trace)
{
    cairn_trace_memory_stop(trace);
    for (size_t i = 0; i < trace->n_probes; i++) {
        bpf_link__destroy(trace->probe_links[i]);
        trace->probe_links[i] = NULL;
        if (trace->probe_fds[i])
            close(trace->probe_fds[i] - 1);
        trace->probe_fds[i] = 0;
    }
    for (size_t i = CAIRN_TRACE_PROGRAMS; i-- > 0;) {
        bpf_link__destroy(trace->links[i]);
        trace->links[i] = NULL;
    }
}

void cairn_trace_programs_forget(struct cairn_trace_programs *trace)
{
    if (trace->program)
        trace->program->bss->cairn_trace_epoch++;
}

static void add_cpu(struct cairn_bpf_trace_cpu *sum, const struct cairn_bpf_trace_cpu *one)
{
    sum->n_seen += one->n_seen;
    sum->n_filtered += one->n_filtered;
    sum->n_counted += one->n_counted;
    sum->n_each += one->n_each;
    sum->n_lost += one->n_lost;
    sum->n_sent += one->n_sent;
    sum->n_unsent += one->n_unsent;
    sum->n_no_space += one->n_no_space;
    sum->n_busy += one->n_busy;
    sum->n_remembered += one->n_remembered;
    sum->n_walked += one->n_walked;
    sum->n_stacks_lost += one->n_stacks_lost;
    sum->n_unreturned += one->n_unreturned;
}

_Static_assert((int)CAIRN_TRACE_USER_WORDS == (int)CAIRN_BPF_REG_WORDS, "one size");

bool cairn_trace_programs_regs(const struct cairn_bpf_event *event,
                               struct cairn_cursor_regs *ret_regs)
{
    uint8_t raw[CAIRN_BPF_PRSTATUS_MAX];
    uint64_t words[CAIRN_BPF_REG_WORDS];
    if (event->has_regs != CAIRN_TRACE_HAS_REGS)
        return false;
    memcpy(words, ((const struct cairn_bpf_regs_event *)event)->regs, sizeof words);
    const size_t size = cairn_bpf_prstatus(words, raw);
    return cairn_target_regs((struct cairn_span){raw, size}, false, ret_regs);
}

void cairn_trace_programs_stats(const struct cairn_trace_programs *trace,
                                struct cairn_bpf_trace_cpu *ret_stats)
{
    const uint32_t zero = 0;
    struct bpf_program *programs[CAIRN_TRACE_PROGRAMS + CAIRN_TRACE_PROBE_PROGRAMS];
    struct cairn_bpf_trace_cpu sum = {0}, *cpus = cairn_alloc(trace->n_cpus, sizeof *cpus);
    if (cpus && bpf_map_lookup_elem(bpf_map__fd(trace->program->maps.trace_cpus), &zero, cpus) == 0)
        for (size_t i = 0; i < trace->n_cpus; i++)
            add_cpu(&sum, &cpus[i]);
    cairn_free(cpus);
    list_programs(trace->program, programs);
    list_probe_programs(trace->program, programs + CAIRN_TRACE_PROGRAMS);
    for (size_t i = N_FOLLOW; i < CAIRN_TRACE_PROGRAMS + CAIRN_TRACE_PROBE_PROGRAMS; i++) {
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof info;
        if (bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &size) != 0)
            continue;
        sum.run_ns += info.run_time_ns;
        /* the kernel does not run a program inside itself */
        if (i >= ENTER && i < CAIRN_TRACE_PROGRAMS + CAIRN_TRACE_END) {
            sum.n_seen += info.recursion_misses;
            sum.n_lost += info.recursion_misses;
        }
    }
    *ret_stats = sum;
}

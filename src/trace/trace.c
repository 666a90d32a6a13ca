/* SPDX-License-Identifier: MIT */
/*
 * The public trace: a sampler that takes no samples, whose walker has the programs at events.
 *
 *     spec ─► programs ─┬─► stacks, events ─► decode, filter ─► report
 *                       └─► sums ──────────────────────────────► rows ─► profile
 */
#include <elf.h>
#include <signal.h>
#include <string.h>

#include <cairn/trace.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "trace/timeline.h"
#include "trace/trace_state.h"

enum { PER_SECOND_ALL = 1 << 30 };
static const uint64_t STACK_LATE_NS = 3000000000; /* it was lost on the way */

static const char lost_text[] = "the stack was lost: no space in the ring";

static bool is_each(const struct cairn_trace *t, uint32_t row)
{
    return t->spec.calls[row].flags & CAIRN_TRACE_EACH;
}

/* What a stack that did not come is taken for. */
static struct cairn_collected lost_stack(const struct cairn_trace *t, uint32_t pid, uint32_t tid)
{
    return (struct cairn_collected){.pid = (int)pid,
                                    .tid = (int)tid,
                                    .cut = t->opts.no_stack ? 0 : t->lost_stack,
                                    .marks = CAIRN_COLLECT_CUT};
}

static bool is_reported(const struct cairn_trace *t)
{
    return t->opts.report && !t->opts.sums_only;
}

/* The bound of all CPUs together; each CPU had it for itself. */
static bool may_report(struct cairn_trace *t, uint64_t now_ns)
{
    if (!is_reported(t) && !t->opts.timeline)
        return false;
    if (!t->opts.per_second)
        return true;
    if (now_ns - t->slice_ns > 1000000000) {
        t->slice_ns = now_ns;
        t->left = t->opts.per_second;
    }
    if (!t->left)
        return false;
    t->left--;
    return true;
}

static int report(struct cairn_trace *t, const struct cairn_bpf_event *event,
                  const struct cairn_collected *stack)
{
    const struct cairn_profile *raw = t->sampler->collect.profile;
    struct cairn_trace_event shown;
    if (!cairn_decode(&t->decoder, event, &shown))
        return CAIRN_E_NOMEM;
    shown.time_ns = event->start_ns + t->sampler->collect.to_real_ns;
    shown.stack = stack->stack;
    shown.cut = cairn_strings_get(&raw->strings, stack->cut);
    shown.has_regs = t->has_regs;
    if (t->has_regs)
        shown.regs = t->regs;
    /* the kernel has put an error there already */
    if (t->has_regs && event->row < CAIRN_TRACE_CALLS &&
        (t->regs.machine == EM_X86_64 || t->regs.machine == EM_386))
        shown.regs.reg[0] = event->row % CAIRN_TRACE_NUMBERS;
    int code =
        t->opts.timeline ? cairn_timeline_add(&t->sampler->collect, &shown, stack) : CAIRN_OK;
    t->stats.n_kept += t->opts.timeline && code == CAIRN_OK;
    t->stats.n_unkept += code == CAIRN_E_LIMIT;
    t->stats.n_shown += is_reported(t);
    if (!t->answer && is_reported(t))
        t->answer = t->opts.report(t->opts.report_ctx, &shown);
    return code == CAIRN_E_LIMIT ? CAIRN_OK : code;
}

/* One that is filtered here is counted here, too. */
static int count_here(struct cairn_trace *t, const struct cairn_bpf_event *event,
                      const struct cairn_collected *stack)
{
    const bool has_size = t->spec.calls[event->row].flags & CAIRN_TRACE_SIZE;
    struct cairn_bpf_trace_sum one = {.n = 1, .n_lost_returns = event->is_gone};
    if (event->has_ret) {
        one.ns = one.min_ns = one.max_ns = event->stack.value;
        one.n_errors = cairn_trace_is_error(event->row, event->ret);
        one.bytes = has_size && event->ret > 0 ? (uint64_t)event->ret : 0;
    }
    t->n_taken++;
    if (t->opts.signal && !event->is_gone) /* its number may be another process's by now */
        (void)kill((pid_t)event->stack.pid, t->opts.signal);
    return cairn_sums_add(&t->sums, event->row, stack, &one);
}

static bool is_nth(struct cairn_trace *t)
{
    return t->opts.every <= 1 || t->n_held++ % t->opts.every == 0;
}

static int take_event(struct cairn_trace *t, const struct cairn_bpf_event *event,
                      const struct cairn_collected *found)
{
    struct cairn_trace_filter_subject subject;
    if (event->row >= CAIRN_TRACE_ROWS || !t->spec.calls[event->row].is_wanted)
        return CAIRN_OK;
    const struct cairn_collected none = lost_stack(t, event->stack.pid, event->stack.tid);
    struct cairn_collected short_stack;
    if (cairn_depth_cut(&t->depth, t->sampler->collect.profile, found ? found : &none,
                        &short_stack) < 0)
        return CAIRN_E_NOMEM;
    const struct cairn_collected *stack = &short_stack;
    cairn_decode_subject(&t->decoder, event, &subject);
    if (is_each(t, event->row)) {
        t->n_each++;
        if (!cairn_spec_holds(&t->spec, event->row, &subject) || !is_nth(t) ||
            (t->opts.max_events && t->n_taken >= t->opts.max_events)) {
            t->n_rest_filtered++;
            return CAIRN_OK;
        }
        if (count_here(t, event, stack) < 0)
            return CAIRN_E_NOMEM;
    } else {
        t->n_crossed++;
    }
    return may_report(t, event->stack.time_ns) ? report(t, event, stack) : CAIRN_OK;
}

static int on_event(void *ctx, const struct cairn_bpf_event *event,
                    const struct cairn_collected *found)
{
    struct cairn_trace *t = ctx;
    t->has_regs = cairn_trace_programs_regs(event, &t->regs);
    return take_event(t, event, found);
}

/* False: the stack has not come yet. */
static bool take_sum(void *ctx, const struct cairn_sum_waiting *one, int *ret_code)
{
    struct cairn_trace *t = ctx;
    const struct cairn_bpf_trace_key *key = &one->key;
    const struct cairn_collected none = lost_stack(t, key->pid, key->tid);
    const struct cairn_collected *stack =
        cairn_walk_intake_find(&t->sampler->perf.walk, key->hash, key->tid, key->id);
    if (!stack && !t->is_finished && key->hash && t->turn_ns - one->since_ns < STACK_LATE_NS)
        return false;
    struct cairn_collected short_stack;
    *ret_code = cairn_depth_cut(&t->depth, t->sampler->collect.profile, stack ? stack : &none,
                                &short_stack);
    if (*ret_code == CAIRN_OK)
        *ret_code = cairn_sums_add(&t->sums, key->row, &short_stack, &one->sum);
    return true;
}

static int on_sum(void *ctx, const struct cairn_bpf_trace_key *key,
                  const struct cairn_bpf_trace_sum *sum)
{
    struct cairn_trace *t = ctx;
    const struct cairn_sum_waiting one = {.key = *key, .sum = *sum, .since_ns = t->turn_ns};
    int code = CAIRN_OK;
    return take_sum(t, &one, &code) ? code : cairn_sums_wait(&t->sums, &one);
}

static int on_turn(void *ctx, bool is_end)
{
    struct cairn_trace *t = ctx;
    t->is_finished = t->is_finished || is_end;
    t->turn_ns = cairn_now_ns();
    int code = cairn_sums_retry(&t->sums, take_sum, t);
    if (code < 0)
        return code;
    return cairn_trace_programs_sums(cairn_walker_trace(t->sampler->perf.walk.walker), on_sum, t);
}

static int check_enter_only(const struct cairn_trace *t, struct cairn_err *err)
{
    for (size_t i = 0; i < t->spec.probes.n; i++) {
        const char *event = t->spec.probes.items[i].event;
        if (!cairn_probe_is_pair(event))
            continue;
        cairn_fail(err, CAIRN_E_ARG,
                   "%s: is an event when the function returns, and calls are to be counted as they "
                   "begin",
                   event);
        cairn_hint(err, "uprobe: and kprobe: are events when it begins");
        return CAIRN_E_ARG;
    }
    return CAIRN_OK;
}

/* At a system call the kernel's stack says nothing, and a function of a program has none. */
static int check_kernel_only(const struct cairn_trace *t, struct cairn_err *err)
{
    if (t->opts.user_only)
        return cairn_fail(err, CAIRN_E_ARG,
                          "the kernel's frames alone and the user's alone: one of them");
    for (uint32_t row = 0; row < CAIRN_TRACE_ROWS; row++) {
        if (!t->spec.calls[row].is_wanted || cairn_spec_is_in_kernel(&t->spec, row))
            continue;
        cairn_fail(err, CAIRN_E_ARG,
                   "%s%s: has no frames of the kernel, and those alone are asked for",
                   row < CAIRN_TRACE_CALLS ? "syscall:" : "", cairn_spec_name(&t->spec, row));
        cairn_hint(err, "tracepoint:, kprobe: and kretprobe: have them; without --kernel-only "
                        "stacks are those of the program");
        return CAIRN_E_ARG;
    }
    return CAIRN_OK;
}

static int check_field(const struct cairn_trace *t, struct cairn_err *err)
{
    if (!t->opts.field || cairn_spec_has_field(&t->spec, t->opts.field))
        return CAIRN_OK;
    cairn_fail(err, CAIRN_E_ARG, "no event has a field \"%.64s\"", t->opts.field);
    cairn_hint(err, "fields are arguments by their names, pid, tid, uid, cpu, comm, event, and of "
                    "what returns ret, of system calls errno");
    return CAIRN_E_ARG;
}

int cairn_trace_take_opts(const struct cairn_trace_opts *given, struct cairn_trace *t,
                          struct cairn_err *err)
{
    if (!given || given->size < sizeof given->size)
        return cairn_fail(err, CAIRN_E_ARG, "the options have no size");
    memcpy(&t->opts, given, given->size < sizeof t->opts ? given->size : sizeof t->opts);
    if (!t->opts.n_events)
        return cairn_fail(err, CAIRN_E_ARG, "no event was given");
    t->spec.probes.pids = t->opts.pids;
    t->spec.probes.n_pids = t->opts.n_pids;
    t->spec.probes.command = t->opts.argv ? t->opts.argv[0] : NULL;
    t->spec.enter_only = t->opts.enter_only != 0;
    t->decoder.spec = &t->spec;
    t->depth.max = t->opts.depth;
    for (size_t i = 0; i < t->opts.n_events; i++) {
        int code = cairn_spec_add(&t->spec, t->opts.events[i], err);
        if (code < 0)
            return code;
    }
    int code = cairn_spec_finish(&t->spec, t->opts.filter, err);
    if (code == CAIRN_OK)
        code = check_field(t, err);
    if (code == CAIRN_OK && t->opts.kernel_only)
        code = check_kernel_only(t, err);
    if (code < 0)
        return code;
    return t->opts.enter_only ? check_enter_only(t, err) : CAIRN_OK;
}

/* The command's addresses are known when it has called execve(2). */
static int place_late(void *ctx, int pid, struct cairn_err *err)
{
    struct cairn_trace *t = ctx;
    struct cairn_trace_programs *programs = cairn_walker_trace(t->sampler->perf.walk.walker);
    return cairn_places_attach_late(&t->places, &t->spec, programs, pid, err);
}

/* Where the kernel counts, it also ends. */
static bool has_all(const struct cairn_trace *t)
{
    struct cairn_bpf_trace_cpu cpu;
    if (!t->opts.max_events)
        return false;
    if (t->plain || t->points)
        return t->n_taken >= t->opts.max_events;
    cairn_trace_programs_stats(cairn_walker_trace(t->sampler->perf.walk.walker), &cpu);
    return cpu.n_counted + t->n_taken >= t->opts.max_events;
}

static struct cairn_sampler_opts whom_of(const struct cairn_trace *t)
{
    return (struct cairn_sampler_opts){.size = sizeof(struct cairn_sampler_opts),
                                       .argv = t->opts.argv,
                                       .pids = t->opts.pids,
                                       .n_pids = t->opts.n_pids,
                                       .all_processes = t->opts.all_processes,
                                       .cgroup = t->opts.cgroup,
                                       .no_inherit = t->opts.no_inherit,
                                       .user_only = t->opts.user_only || !t->spec.probes.n};
}

/* By programs in the kernel. */
static int open_programs(struct cairn_trace *t, struct cairn_err *err)
{
    const struct cairn_sampler_opts whom = whom_of(t);
    uint64_t per_second = t->opts.per_second ? t->opts.per_second : PER_SECOND_ALL;
    if (!is_reported(t) && !t->opts.timeline)
        per_second = 0;
    const struct cairn_trace_programs_opts programs = {.calls = t->spec.calls,
                                                       .probes = t->places.items,
                                                       .n_probes = t->places.n,
                                                       .user_only = t->opts.user_only != 0,
                                                       .regs = t->opts.regs != 0,
                                                       .kernel_only = t->opts.kernel_only != 0,
                                                       .all = t->opts.all_processes,
                                                       .no_inherit = t->opts.no_inherit,
                                                       .no_stack = t->opts.no_stack,
                                                       .enter_only = t->opts.enter_only,
                                                       .tid = (uint32_t)t->opts.tid,
                                                       .signal = (uint32_t)t->opts.signal,
                                                       .per_second = per_second,
                                                       .max = t->opts.max_events,
                                                       .every = t->opts.every};
    int code = cairn_sampler_new_traced(&whom, &programs, &t->sampler, err);
    if (code < 0)
        return code;
    t->sampler->perf.walk.on_event = on_event;
    t->sampler->perf.walk.on_turn = on_turn;
    t->sampler->perf.walk.event_ctx = t;
    if (cairn_places_has_late(&t->places)) {
        t->sampler->at_exec = place_late;
        t->sampler->at_exec_ctx = t;
    }
    return CAIRN_OK;
}

/* Are only system calls traced, of a command or of listed processes? */
static bool can_be_plain(const struct cairn_trace *t)
{
    return !t->spec.probes.n && !t->opts.all_processes && !t->opts.cgroup;
}

/* Events beyond the bound are not waited for. */
static int on_plain_event(void *ctx, const struct cairn_plain_pending *call)
{
    struct cairn_trace *t = ctx;
    t->has_regs = call->has_regs;
    t->regs = call->regs;
    int code = take_event(t, &call->event.event, &call->stack);
    return code == CAIRN_OK && (t->answer || has_all(t)) ? 2 : code;
}

static bool asks_for_cpu(const struct cairn_spec *spec)
{
    for (size_t i = 0; i < spec->n_filters; i++)
        for (uint8_t k = 0; k < spec->filters[i].n; k++)
            if (spec->filters[i].nodes[k].field == CAIRN_TRACE_CPU)
                return true;
    return false;
}

/* Events come here, to be filtered and counted. */
static bool wants_texts(struct cairn_trace *t)
{
    bool wants = is_reported(t) || t->opts.timeline;
    for (size_t i = 0; i < t->spec.n_filters && !wants; i++)
        wants = cairn_trace_filter_has_rest(&t->spec.filters[i]);
    for (uint32_t row = 0; row < CAIRN_TRACE_ROWS; row++)
        t->spec.calls[row].flags |= CAIRN_TRACE_EACH;
    return wants;
}

/* Without rights: each event comes here, and is filtered and counted here. */
static int open_plain(struct cairn_trace *t, struct cairn_err *err)
{
    const struct cairn_sampler_opts whom = whom_of(t);
    if (asks_for_cpu(&t->spec))
        return cairn_fail(err, CAIRN_E_ARG,
                          "a filter asks for cpu, which ptrace does not tell; "
                          "root traces by BPF, which does");
    if (!can_be_plain(t))
        return cairn_fail(err, CAIRN_E_ARG,
                          "by ptrace system calls of a command or of processes "
                          "can be traced, and nothing else");
    t->plain = cairn_alloc(1, sizeof *t->plain);
    if (!t->plain)
        return cairn_fail_memory(err);
    t->plain->is_quiet = !is_reported(t);
    t->plain->wants_texts = wants_texts(t);
    t->plain->spec = &t->spec;
    t->plain->no_stack = t->opts.no_stack;
    t->plain->enter_only = t->opts.enter_only;
    t->plain->wants_regs = t->opts.regs;
    t->plain->tid = t->opts.tid;
    t->plain->on_event = on_plain_event;
    t->plain->event_ctx = t;
    return cairn_plain_open(t->plain, &whom, &t->sampler, err);
}

/* By perf events. */
static int open_points(struct cairn_trace *t, struct cairn_err *err)
{
    const struct cairn_sampler_opts whom = whom_of(t);
    if (!cairn_points_can(&t->spec))
        return cairn_fail(err, CAIRN_E_ARG,
                          "by perf events system calls and tracepoints can be traced, and nothing "
                          "else");
    t->points = cairn_alloc(1, sizeof *t->points);
    if (!t->points)
        return cairn_fail_memory(err);
    t->points->spec = &t->spec;
    t->points->wants_texts = wants_texts(t);
    t->points->no_stack = t->opts.no_stack;
    t->points->kernel_only = t->opts.kernel_only;
    t->points->enter_only = t->opts.enter_only;
    t->points->wants_regs = t->opts.regs;
    t->points->tid = t->opts.tid;
    t->points->on_event = on_plain_event;
    t->points->event_ctx = t;
    return cairn_points_open(t->points, &whom, &t->sampler, err);
}

static void close_points(struct cairn_trace *t)
{
    if (t->points)
        cairn_points_done(t->points);
    cairn_free(t->points);
    t->points = NULL;
}

static bool is_refusal(int code)
{
    return code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT;
}

/* The ways behind BPF, which is refused. */
static int open_other(struct cairn_trace *t, int code, struct cairn_err *refusal,
                      struct cairn_err *err)
{
    struct cairn_err other = {0};
    int second = cairn_points_can(&t->spec) ? open_points(t, &other) : code;
    if (second == CAIRN_OK) {
        cairn_log_err(CAIRN_LOG_INFO, refusal);
        return CAIRN_OK;
    }
    close_points(t);
    if (can_be_plain(t)) {
        cairn_log_err(CAIRN_LOG_INFO, refusal);
        cairn_log_err(CAIRN_LOG_INFO, &other);
        return open_plain(t, err);
    }
    if (err)
        *err = is_refusal(second) ? *refusal : other;
    return is_refusal(second) ? code : second;
}

static int open_way(struct cairn_trace *t, struct cairn_err *err)
{
    struct cairn_err refusal = {0};
    if (t->opts.way == CAIRN_TRACE_WAY_PTRACE)
        return open_plain(t, err);
    if (t->opts.way == CAIRN_TRACE_WAY_PERF)
        return open_points(t, err);
    int code = open_programs(t, &refusal);
    if (t->opts.way == CAIRN_TRACE_WAY_AUTO && is_refusal(code))
        return open_other(t, code, &refusal, err);
    if (code < 0 && err)
        *err = refusal;
    return code;
}

static int open_sampler(struct cairn_trace *t, struct cairn_err *err)
{
    int code = cairn_places_list(&t->spec, &t->places, err);
    if (code == CAIRN_OK)
        code = open_way(t, err);
    if (code < 0)
        return code;
    struct cairn_profile *p = t->sampler->collect.profile;
    t->lost_stack = cairn_profile_text(p, lost_text, sizeof lost_text - 1);
    if (cairn_profile_add_type(p, "bytes", "bytes") == UINT32_MAX || t->lost_stack == UINT32_MAX)
        return cairn_fail_memory(err);
    p->types[0].type = cairn_profile_text(p, "events", 6);
    p->default_type = p->types[0].type;
    t->frames.symbols = t->opts.symbols;
    t->frames.pid = t->opts.n_pids == 1 || t->opts.argv ? cairn_sampler_pid(t->sampler) : -1;
    return CAIRN_OK;
}

int cairn_trace_new(const struct cairn_trace_opts *opts, struct cairn_trace **ret_trace,
                    struct cairn_err *err)
{
    struct cairn_trace *t = cairn_alloc(1, sizeof *t);
    if (!t)
        return cairn_fail_memory(err);
    int code = cairn_trace_take_opts(opts, t, err);
    if (code == CAIRN_OK)
        code = open_sampler(t, err);
    if (code < 0) {
        cairn_trace_free(t);
        return code;
    }
    *ret_trace = t;
    return CAIRN_OK;
}

void cairn_trace_free(struct cairn_trace *t)
{
    if (!t)
        return;
    cairn_trace_names_done(&t->frames); /* its resolver borrows the sampler's files */
    if (t->plain)
        cairn_plain_done(t->plain);
    cairn_sampler_free(t->sampler);
    cairn_free(t->plain);
    close_points(t);
    cairn_spec_done(&t->spec);
    cairn_sums_done(&t->sums);
    cairn_decoder_done(&t->decoder);
    cairn_depth_done(&t->depth);
    cairn_buffer_done(&t->attached);
    cairn_places_done(&t->places);
    cairn_free(t);
}

int cairn_trace_pid(const struct cairn_trace *t)
{
    return t->opts.argv ? cairn_sampler_pid(t->sampler) : 0;
}

int cairn_trace_start(struct cairn_trace *t, struct cairn_err *err)
{
    return t->plain ? cairn_plain_start(t->plain, err) : cairn_sampler_start(t->sampler, err);
}

int cairn_trace_poll(struct cairn_trace *t, int timeout_ms, struct cairn_err *err)
{
    int code = t->plain ? cairn_plain_poll(t->plain, timeout_ms, err)
                        : cairn_sampler_poll(t->sampler, timeout_ms, err);
    if (code >= 0 && t->answer)
        return 2;
    return code > 0 && has_all(t) ? 0 : code;
}

static void count_marks(const struct cairn_trace *t, struct cairn_trace_stats *stats)
{
    stats->n_counted = stats->n_whole = stats->n_cut = 0;
    for (size_t i = 0; i < t->sums.n; i++) {
        const struct cairn_sum_row *row = &t->sums.rows[i];
        stats->n_counted += row->sum.n;
        if (row->of.stack && (!row->of.cut || row->of.cut == t->depth.cut))
            stats->n_whole += row->sum.n;
        else
            stats->n_cut += row->sum.n;
    }
}

/* As the programs in the kernel would have counted. */
static void read_counts(const struct cairn_trace *t, struct cairn_bpf_trace_cpu *ret_counts)
{
    const struct cairn_plain *plain = t->plain;
    const struct cairn_points *points = t->points;
    if (points) {
        const uint64_t n_lost = cairn_points_lost(points);
        *ret_counts = (struct cairn_bpf_trace_cpu){
            .n_seen = points->n_seen + n_lost - points->n_lost,
            .n_filtered = points->n_filtered,
            .n_each = t->n_each,
            .n_lost = n_lost,
            .n_walked = t->opts.no_stack ? 0 : points->n_seen - points->n_filtered};
    } else if (!plain)
        cairn_trace_programs_stats(cairn_walker_trace(t->sampler->perf.walk.walker), ret_counts);
    else
        *ret_counts = (struct cairn_bpf_trace_cpu){.n_seen = plain->n_seen,
                                                   .n_filtered = plain->n_filtered,
                                                   .n_each = t->n_each,
                                                   .n_remembered = plain->stacks.n_remembered,
                                                   .n_walked = plain->stacks.n_walked,
                                                   .run_ns = plain->stops.stop_ns};
}

static void say_attached(struct cairn_trace *t)
{
    cairn_buffer_clear(&t->attached);
    if (t->plain) {
        cairn_plain_say(t->plain, &t->attached);
    } else if (t->points) {
        cairn_points_say(t->points, &t->attached);
    } else {
        cairn_spec_say_attached(&t->spec, t->opts.enter_only, &t->attached);
        cairn_places_say_replaced(&t->places, cairn_walker_trace(t->sampler->perf.walk.walker),
                                  &t->attached);
    }
    t->stats.attached = cairn_buffer_text(&t->attached);
}

void cairn_trace_measure(const struct cairn_trace *t, struct cairn_trace_stats *stats)
{
    struct cairn_bpf_trace_cpu cpu;
    read_counts(t, &cpu);
    count_marks(t, stats);
    stats->n_seen = cpu.n_seen;
    stats->n_filtered = cpu.n_filtered + t->n_rest_filtered;
    stats->n_lost = cpu.n_lost;
    stats->n_not_shown = cpu.n_no_space + (cpu.n_sent - t->n_crossed);
    /* What the kernel counted, and what came here to be filtered, must be in the sums. */
    const uint64_t n_due = cpu.n_counted + (cpu.n_each - t->n_rest_filtered);
    if (t->is_measured && n_due > stats->n_counted)
        stats->n_lost += n_due - stats->n_counted;
    stats->n_unreturned = cpu.n_unreturned;
    const uint64_t n_known =
        cpu.n_counted + cpu.n_each + cpu.n_filtered + cpu.n_lost + cpu.n_unreturned;
    stats->n_pending = cpu.n_seen > n_known ? cpu.n_seen - n_known : 0;
    stats->n_remembered = cpu.n_remembered;
    stats->n_walked = cpu.n_walked;
    stats->ns_per_event = cpu.n_seen ? cpu.run_ns / cpu.n_seen : 0;
    const uint64_t end_ns = t->is_measured ? t->sampler->end_ns : cairn_now_ns();
    stats->duration_ns = end_ns > t->sampler->start_ns ? end_ns - t->sampler->start_ns : 0;
    stats->way = t->plain    ? CAIRN_TRACE_WAY_PTRACE
                 : t->points ? CAIRN_TRACE_WAY_PERF
                             : CAIRN_TRACE_WAY_BPF;
    stats->exit_status = t->sampler->exit_status;
}

/* The profile is taken from the sampler at once: the sums need its stacks. */
int cairn_trace_finish(struct cairn_trace *t, struct cairn_err *err)
{
    struct cairn_profile *profile;
    if (t->plain)
        cairn_plain_end(t->plain);
    int code = cairn_sampler_finish(t->sampler, &profile, NULL, err);
    if (code < 0)
        return code;
    t->sampler->collect.profile = profile;
    t->is_measured = true;
    cairn_trace_measure(t, &t->stats);
    say_attached(t);
    return CAIRN_OK;
}

int cairn_trace_hold(struct cairn_trace *t, int timeout_ms, struct cairn_err *err)
{
    return t->plain && t->opts.argv ? cairn_plain_poll(t->plain, timeout_ms, err) : 0;
}

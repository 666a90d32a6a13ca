/* SPDX-License-Identifier: MIT */
/*
 * The public trace: a sampler that takes no samples, whose walker has the programs at events.
 *
 *     spec ─► programs ─┬─► stacks, events ─► decode, filter ─► report
 *                       └─► sums ──────────────────────────────► rows ─► profile
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cairn/trace.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "sample/labels.h"
#include "sample/sampler_state.h"
#include "trace/decode.h"
#include "trace/names.h"
#include "trace/places.h"
#include "trace/spec.h"
#include "trace/sums.h"
#include "trace/timeline.h"

enum { PER_SECOND_ALL = 1 << 30 };
static const uint64_t STACK_LATE_NS = 3000000000; /* it was lost on the way */

struct cairn_trace {
    struct cairn_trace_opts opts;
    struct cairn_spec spec;
    struct cairn_sampler *sampler;
    struct cairn_decoder decoder;
    struct cairn_trace_names frames;
    struct cairn_sums sums;
    struct cairn_trace_stats stats;
    uint32_t lost_stack; /* a text of the profile: why an event has no stack */
    uint64_t n_taken;    /* events that were counted here */
    uint64_t n_crossed;  /* events that the kernel counted, and sent to be shown */
    uint64_t n_rest_filtered, n_each;
    uint64_t slice_ns, left;
    uint64_t turn_ns; /* when sums were taken last */
    struct cairn_places places;
    struct cairn_buffer attached;
    int answer; /* of `report`, that ends the poll */
    bool is_finished;
};

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
    if (t->opts.signal)
        (void)kill((pid_t)event->stack.pid, t->opts.signal);
    return cairn_sums_add(&t->sums, event->row, stack, &one);
}

static int on_event(void *ctx, const struct cairn_bpf_event *event,
                    const struct cairn_collected *found)
{
    struct cairn_trace *t = ctx;
    struct cairn_trace_filter_subject subject;
    if (event->row >= CAIRN_TRACE_ROWS || !t->spec.calls[event->row].is_wanted)
        return CAIRN_OK;
    const struct cairn_collected none = lost_stack(t, event->stack.pid, event->stack.tid);
    const struct cairn_collected *stack = found ? found : &none;
    cairn_decode_subject(&t->decoder, event, &subject);
    if (is_each(t, event->row)) {
        t->n_each++;
        if (!cairn_spec_holds(&t->spec, event->row, &subject) ||
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
    *ret_code = cairn_sums_add(&t->sums, key->row, stack ? stack : &none, &one->sum);
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

static int take_opts(const struct cairn_trace_opts *given, struct cairn_trace *t,
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
    t->decoder.spec = &t->spec;
    for (size_t i = 0; i < t->opts.n_events; i++) {
        int code = cairn_spec_add(&t->spec, t->opts.events[i], err);
        if (code < 0)
            return code;
    }
    return cairn_spec_finish(&t->spec, t->opts.filter, err);
}

/* The command's addresses are known when it has called execve(2). */
static int place_late(void *ctx, int pid, struct cairn_err *err)
{
    struct cairn_trace *t = ctx;
    struct cairn_trace_programs *programs = cairn_walker_trace(t->sampler->perf.walk.walker);
    return cairn_places_attach_late(&t->places, &t->spec, programs, pid, err);
}

static int open_sampler(struct cairn_trace *t, struct cairn_err *err)
{
    const struct cairn_sampler_opts whom = {.size = sizeof whom,
                                            .argv = t->opts.argv,
                                            .pids = t->opts.pids,
                                            .n_pids = t->opts.n_pids,
                                            .all_processes = t->opts.all_processes,
                                            .cgroup = t->opts.cgroup,
                                            .no_inherit = t->opts.no_inherit,
                                            .user_only = t->opts.user_only || !t->spec.probes.n};
    uint64_t per_second = t->opts.per_second ? t->opts.per_second : PER_SECOND_ALL;
    if (!is_reported(t) && !t->opts.timeline)
        per_second = 0;
    int code = cairn_places_list(&t->spec, &t->places, err);
    if (code < 0)
        return code;
    const struct cairn_trace_programs_opts programs = {.calls = t->spec.calls,
                                                       .probes = t->places.items,
                                                       .n_probes = t->places.n,
                                                       .user_only = t->opts.user_only != 0,
                                                       .all = t->opts.all_processes,
                                                       .no_inherit = t->opts.no_inherit,
                                                       .no_stack = t->opts.no_stack,
                                                       .enter_only = t->opts.enter_only,
                                                       .tid = (uint32_t)t->opts.tid,
                                                       .signal = (uint32_t)t->opts.signal,
                                                       .per_second = per_second,
                                                       .max = t->opts.max_events};
    code = cairn_sampler_new_traced(&whom, &programs, &t->sampler, err);
    if (code < 0)
        return code;
    struct cairn_profile *p = t->sampler->collect.profile;
    t->lost_stack = cairn_profile_text(p, lost_text, sizeof lost_text - 1);
    if (cairn_profile_add_type(p, "bytes", "bytes") == UINT32_MAX || t->lost_stack == UINT32_MAX)
        return cairn_fail_memory(err);
    p->types[0].type = cairn_profile_text(p, "events", 6);
    p->default_type = p->types[0].type;
    t->sampler->perf.walk.on_event = on_event;
    t->sampler->perf.walk.on_turn = on_turn;
    t->sampler->perf.walk.event_ctx = t;
    if (cairn_places_has_late(&t->places)) {
        t->sampler->at_exec = place_late;
        t->sampler->at_exec_ctx = t;
    }
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
    int code = take_opts(opts, t, err);
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
    cairn_sampler_free(t->sampler);
    cairn_spec_done(&t->spec);
    cairn_sums_done(&t->sums);
    cairn_decoder_done(&t->decoder);
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
    return cairn_sampler_start(t->sampler, err);
}

/* Where the kernel counts, it also ends. */
static bool has_all(const struct cairn_trace *t)
{
    struct cairn_bpf_trace_cpu cpu;
    if (!t->opts.max_events)
        return false;
    cairn_trace_programs_stats(cairn_walker_trace(t->sampler->perf.walk.walker), &cpu);
    return cpu.n_counted + t->n_taken >= t->opts.max_events;
}

int cairn_trace_poll(struct cairn_trace *t, int timeout_ms, struct cairn_err *err)
{
    int code = cairn_sampler_poll(t->sampler, timeout_ms, err);
    if (code >= 0 && t->answer)
        return 2;
    return code > 0 && has_all(t) ? 0 : code;
}

static void count_marks(struct cairn_trace *t)
{
    for (size_t i = 0; i < t->sums.n; i++) {
        const struct cairn_sum_row *row = &t->sums.rows[i];
        t->stats.n_counted += row->sum.n;
        if (row->of.stack && !row->of.cut)
            t->stats.n_whole += row->sum.n;
        else
            t->stats.n_cut += row->sum.n;
    }
}

static void measure(struct cairn_trace *t)
{
    struct cairn_trace_stats *stats = &t->stats;
    struct cairn_bpf_trace_cpu cpu;
    cairn_trace_programs_stats(cairn_walker_trace(t->sampler->perf.walk.walker), &cpu);
    count_marks(t);
    stats->n_seen = cpu.n_seen;
    stats->n_filtered = cpu.n_filtered + t->n_rest_filtered;
    stats->n_lost = cpu.n_lost;
    stats->n_not_shown = cpu.n_no_space + (cpu.n_sent - t->n_crossed);
    /* What the kernel counted, and what came here to be filtered, must be in the sums. */
    const uint64_t n_due = cpu.n_counted + (cpu.n_each - t->n_rest_filtered);
    if (n_due > stats->n_counted)
        stats->n_lost += n_due - stats->n_counted;
    const uint64_t n_known = cpu.n_counted + cpu.n_each + cpu.n_filtered + cpu.n_lost;
    stats->n_pending = cpu.n_seen > n_known ? cpu.n_seen - n_known : 0;
    stats->n_remembered = cpu.n_remembered;
    stats->n_walked = cpu.n_walked;
    stats->ns_per_event = cpu.n_seen ? cpu.run_ns / cpu.n_seen : 0;
    stats->duration_ns = t->sampler->end_ns - t->sampler->start_ns;
    cairn_buffer_clear(&t->attached);
    cairn_spec_say_attached(&t->spec, t->opts.enter_only, &t->attached);
    cairn_places_say_replaced(&t->places, cairn_walker_trace(t->sampler->perf.walk.walker),
                              &t->attached);
    stats->attached = cairn_buffer_text(&t->attached);
    stats->exit_status = t->sampler->exit_status;
}

/* The profile is taken from the sampler at once: the sums need its stacks. */
int cairn_trace_finish(struct cairn_trace *t, struct cairn_err *err)
{
    struct cairn_profile *profile;
    int code = cairn_sampler_finish(t->sampler, &profile, NULL, err);
    if (code < 0)
        return code;
    t->sampler->collect.profile = profile;
    measure(t);
    return CAIRN_OK;
}

void cairn_trace_stats(const struct cairn_trace *t, struct cairn_trace_stats *ret_stats)
{
    const size_t size = ret_stats->size < sizeof t->stats ? ret_stats->size : sizeof t->stats;
    struct cairn_trace_stats stats = t->stats;
    stats.size = ret_stats->size;
    memcpy(ret_stats, &stats, size);
}

size_t cairn_trace_frames(struct cairn_trace *t, uint32_t stack, uint32_t *ret_frames, size_t n,
                          const struct cairn_profile **ret_profile)
{
    const struct cairn_profile *raw = t->sampler->collect.profile;
    const int *fds;
    size_t count = 0;
    *ret_profile = NULL;
    if (!stack || stack >= raw->n_stacks || cairn_trace_names_add(&t->frames, raw, stack) < 0)
        return 0;
    const size_t n_fds = cairn_sampler_files(t->sampler, &fds);
    (void)cairn_trace_names_name(&t->frames, fds, n_fds, NULL);
    *ret_profile = t->frames.named;
    for (; stack; stack = raw->stacks[stack].parent, count++)
        if (count < n &&
            !cairn_table_find(&t->frames.by_frame, raw->stacks[stack].frame, &ret_frames[count]))
            return 0;
    return count;
}

size_t cairn_trace_sum_rows(const struct cairn_trace *t)
{
    return t->sums.n;
}

int cairn_trace_sum(const struct cairn_trace *t, size_t index, struct cairn_trace_sum *ret_sum)
{
    if (index >= t->sums.n)
        return CAIRN_E_ARG;
    const struct cairn_sum_row *row = &t->sums.rows[index];
    const struct cairn_trace_sum sum = {
        .size = ret_sum->size,
        .kind = cairn_spec_kind(&t->spec, row->row),
        .name = cairn_spec_name(&t->spec, row->row),
        .is_compat = row->row >= CAIRN_TRACE_NUMBERS && row->row < CAIRN_TRACE_CALLS,
        .stack = row->of.stack,
        .cut = cairn_strings_get(&t->sampler->collect.profile->strings, row->of.cut),
        .pid = row->of.pid,
        .tid = row->of.tid,
        .n = row->sum.n,
        .n_errors = row->sum.n_errors,
        .n_gone = row->sum.n_lost_returns,
        .ns = row->sum.ns,
        .min_ns = row->sum.min_ns,
        .max_ns = row->sum.max_ns,
        .bytes = row->sum.bytes};
    memcpy(ret_sum, &sum, ret_sum->size < sizeof sum ? ret_sum->size : sizeof sum);
    return CAIRN_OK;
}

static int add_samples(struct cairn_trace *t, struct cairn_err *err)
{
    struct cairn_collect *collect = &t->sampler->collect;
    for (size_t i = 0; i < t->sums.n; i++) {
        const struct cairn_sum_row *row = &t->sums.rows[i];
        const char *name = cairn_spec_name(&t->spec, row->row);
        const bool is_call = row->row < CAIRN_TRACE_CALLS;
        const struct cairn_collect_more more = {
            .n = row->sum.n, .syscall = is_call ? name : NULL, .event = is_call ? NULL : name};
        const int64_t values[] = {(int64_t)row->sum.n, (int64_t)row->sum.ns,
                                  (int64_t)row->sum.bytes};
        uint32_t labels = cairn_collect_labels(collect, &row->of, &more);
        if (labels == UINT32_MAX ||
            cairn_profile_sum_sample(collect->profile, row->of.stack, labels, values) == UINT32_MAX)
            return cairn_fail_memory(err);
    }
    return CAIRN_OK;
}

int cairn_trace_take_profile(struct cairn_trace *t, int named, struct cairn_profile **ret_profile,
                             struct cairn_err *err)
{
    struct cairn_resolver *resolver;
    const int *fds;
    struct cairn_profile *profile = t->sampler->collect.profile;
    int code = add_samples(t, err);
    if (code < 0)
        return code;
    if (named) {
        const size_t n_fds = cairn_sampler_files(t->sampler, &fds);
        code = cairn_trace_names_open_resolver(&t->frames, fds, n_fds, &resolver, err);
        if (code < 0)
            return code;
        code = cairn_resolve_profile(resolver, profile, err);
        cairn_resolver_free(resolver);
    }
    if (code < 0)
        return code;
    cairn_profile_drop_index(profile);
    t->sampler->collect.profile = NULL;
    t->sums.n = 0;
    *ret_profile = profile;
    return CAIRN_OK;
}

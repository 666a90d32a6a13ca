/* SPDX-License-Identifier: MIT */
/*
 * Methods: the ways to sample, and which of them is taken.
 *
 *     bpf ─► dump ─► perf ─► ptrace     each where the one before is refused
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "sample/guest_walk.h"
#include "sample/sampler_state.h"

enum {
    DEFAULT_RING_PAGES = 128,
    MOST_RING_PAGES = 1024, /* and what copies of stacks get */
    SAMPLES_A_PAGE = 4,     /* of a hundred frames */
    DEFAULT_STACK_BYTES = 32 << 10,
    HINTED_MAX = 4,     /* processes that are looked at for a hint */
    BYTES_A_STACK = 256 /* that is known by what it was counted under, several times over */
};
static const uint64_t HINT_AFTER_NS = 100000000; /* a command has loaded its libraries */

static struct cairn_perf_opts perf_opts(const struct cairn_sampler *s)
{
    return (struct cairn_perf_opts){
        .targets = &s->targets,
        .no_inherit = s->opts.no_inherit != 0,
        .no_guests = s->opts.no_guests != 0,
        .is_child = s->child.pid > 0,
        .user_only = s->opts.user_only != 0,
        .event = s->event,
        .has_times = s->opts.timeline != 0,
        .stacks_max = (size_t)(s->opts.memory_bytes / BYTES_A_STACK),
        .frequency_hz = s->opts.frequency_hz,
        .event_period = s->opts.off_cpu || s->is_traced ? 1 : s->opts.event_period,
        .off_cpu = s->opts.off_cpu ? &s->off_cpu : NULL,
        .trace = s->is_traced && !s->points ? &s->trace : NULL,
        .points = s->points,
        .ring_pages = s->opts.ring_pages ? s->opts.ring_pages : DEFAULT_RING_PAGES,
        .max_frames = s->opts.max_frames,
    };
}

/* For all that comes in a second: on a busy machine the recorder waits for its turn, as all do. */
static uint32_t pages_of_a_second(const struct cairn_perf_opts *opts)
{
    uint32_t pages = DEFAULT_RING_PAGES;
    while (!opts->event_period && pages < MOST_RING_PAGES &&
           (double)pages * SAMPLES_A_PAGE < opts->frequency_hz)
        pages *= 2;
    return pages;
}

static int open_perf(struct cairn_sampler *s, struct cairn_err *err)
{
    struct cairn_perf_opts opts = perf_opts(s);
    opts.ring_pages = s->opts.ring_pages ? s->opts.ring_pages : pages_of_a_second(&opts);
    int code = cairn_perf_sampler_open(&opts, s->period_ns, &s->perf, err);
    if (code < 0)
        return code;
    s->method = CAIRN_SAMPLE_PERF;
    s->collect.frames_max = s->perf.events.frames_max;
    return CAIRN_OK;
}

static int open_bpf(struct cairn_sampler *s, struct cairn_err *err)
{
    const struct cairn_perf_opts opts = perf_opts(s);
    int code = cairn_perf_sampler_open_walked(&opts, s->period_ns, &s->perf, err);
    if (code < 0) {
        cairn_perf_sampler_close(&s->perf);
        s->perf = (struct cairn_perf_sampler){0};
        return code;
    }
    s->method = CAIRN_SAMPLE_BPF;
    s->collect.frames_max = CAIRN_BPF_FRAMES_MAX;
    return CAIRN_OK;
}

static int open_dump(struct cairn_sampler *s, struct cairn_err *err)
{
    struct cairn_perf_opts opts = perf_opts(s);
    opts.stack_bytes = s->opts.stack_bytes ? s->opts.stack_bytes : DEFAULT_STACK_BYTES;
    opts.ring_pages = s->opts.ring_pages ? s->opts.ring_pages : MOST_RING_PAGES;
    int code = cairn_perf_sampler_open_copied(&opts, s->period_ns, &s->perf, err);
    if (code < 0) {
        cairn_perf_sampler_close(&s->perf);
        s->perf = (struct cairn_perf_sampler){0};
        return code;
    }
    s->method = CAIRN_SAMPLE_DUMP;
    s->collect.stack_bytes = opts.stack_bytes;
    s->collect.frames_max = CAIRN_WALK_FRAMES_MAX;
    return CAIRN_OK;
}

/* Small hits come by the thousand: their ring is as large as one of copies. */
static int open_points(struct cairn_sampler *s, struct cairn_err *err)
{
    if (!s->points->no_stacks)
        return open_dump(s, err);
    s->opts.ring_pages = s->opts.ring_pages ? s->opts.ring_pages : MOST_RING_PAGES;
    int code = open_perf(s, err);
    s->method = CAIRN_SAMPLE_DUMP;
    return code;
}

static int open_ptrace(struct cairn_sampler *s, struct cairn_err *err)
{
    struct cairn_ptrace_opts opts = {
        .spaces = &s->collect.spaces,
        .period_ns = s->period_ns,
        .no_inherit = s->opts.no_inherit != 0,
        .no_guests = s->opts.no_guests != 0,
    };
    int *pids = cairn_alloc(s->targets.n + 1, sizeof *pids);
    if (!pids)
        return cairn_fail_memory(err);
    for (size_t i = 0; i < s->targets.n; i++)
        pids[opts.n_pids++] = s->targets.items[i].pid;
    opts.pids = pids;
    int code = cairn_ptrace_sampler_open(&opts, &s->ptrace, err);
    if (code == CAIRN_OK)
        s->method = CAIRN_SAMPLE_PTRACE;
    cairn_free(pids);
    return code;
}

void cairn_sampler_hint_guests(struct cairn_sampler *s)
{
    if (s->has_hinted || s->opts.no_guests || s->method == CAIRN_SAMPLE_PTRACE || s->opts.off_cpu ||
        s->is_traced || !s->event->is_time || cairn_now_ns() - s->start_ns < HINT_AFTER_NS)
        return;
    s->has_hinted = true;
    for (size_t i = 0; i < s->targets.n && i < HINTED_MAX; i++) {
        struct cairn_guest_walk *guests;
        struct cairn_guest_sketch sketch;
        if (cairn_guest_walk_open(s->targets.items[i].pid, &guests) < 0 || !guests)
            continue;
        if (!*cairn_guest_walk_version(guests) ||
            (s->method == CAIRN_SAMPLE_BPF && cairn_guest_walk_sketch(guests, &sketch, 1))) {
            cairn_guest_walk_close(guests);
            continue;
        }
        cairn_log(CAIRN_LOG_HINT,
                  "%s runs in pid %d: --method=ptrace records its functions too, and stops a "
                  "thread for a moment at each sample",
                  cairn_guest_walk_version(guests), s->targets.items[i].pid);
        cairn_guest_walk_close(guests);
        return;
    }
}

int cairn_sampler_choose_method(struct cairn_sampler *s, struct cairn_err *err)
{
    struct cairn_err refusal = {0};
    if (s->outside) {
        s->method = CAIRN_SAMPLE_PTRACE;
        s->collect.stack_bytes = DEFAULT_STACK_BYTES; /* each copy is walked */
        s->collect.frames_max = CAIRN_WALK_FRAMES_MAX;
        return CAIRN_OK;
    }
    if (s->points)
        return open_points(s, err);
    if (s->opts.method == CAIRN_SAMPLE_PTRACE)
        return open_ptrace(s, err);
    if (s->opts.method == CAIRN_SAMPLE_BPF || s->opts.off_cpu || s->is_traced)
        return open_bpf(s, err);
    if (s->opts.method == CAIRN_SAMPLE_DUMP)
        return open_dump(s, err);
    if (s->opts.method == CAIRN_SAMPLE_AUTO) {
        if (open_bpf(s, &refusal) == CAIRN_OK)
            return CAIRN_OK;
        cairn_log_err(CAIRN_LOG_INFO, &refusal);
        refusal = (struct cairn_err){0};
        if (open_dump(s, &refusal) == CAIRN_OK)
            return CAIRN_OK;
        cairn_log_err(CAIRN_LOG_INFO, &refusal);
        refusal = (struct cairn_err){0};
    }
    int code = open_perf(s, &refusal);
    bool refused = code == CAIRN_E_ACCESS || code == CAIRN_E_SUPPORT;
    if (code < 0 && refused && s->child.pid > 0 && s->opts.method == CAIRN_SAMPLE_AUTO &&
        s->event->is_time && !s->opts.no_inherit) {
        if (open_ptrace(s, NULL) == CAIRN_OK) {
            cairn_log_err(CAIRN_LOG_WARNING, &refusal);
            cairn_log(CAIRN_LOG_WARNING, "sampling by ptrace instead: user frames only, and each "
                                         "thread is stopped for a moment");
            return CAIRN_OK;
        }
    }
    if (code < 0 && err)
        *err = refusal;
    return code;
}

/* SPDX-License-Identifier: MIT */
#include "sample/sampler_opts.h"

#include <string.h>

#include "base/error.h"
#include "sample/event.h"
#include "sample/settings.h"
#include "sample/user_walk.h"

enum {
    DEFAULT_HZ = 99,
    RARE_HZ = 4000, /* of events that are few as a rule, on all CPUs */
    FREQUENCY_MAX = 1000000,
    RING_PAGES_MAX = 1 << 16,
    STACK_BYTES_MAX = (64 << 10) - 8,
    MEMORY_MIN = 64000,
    DEFAULT_MEMORY = 256 << 20,
};

static int check_off_cpu(const struct cairn_sampler_opts *opts, struct cairn_err *err)
{
    if (opts->event != CAIRN_EVENT_CPU || opts->event_period)
        return cairn_fail(err, CAIRN_E_ARG, "either an event or time off the CPU, not both");
    if (opts->method != CAIRN_SAMPLE_AUTO && opts->method != CAIRN_SAMPLE_BPF)
        return cairn_fail(err, CAIRN_E_ARG, "time off the CPU is measured by BPF alone");
    return CAIRN_OK;
}

static int check_event(const struct cairn_sampler_opts *opts, struct cairn_err *err)
{
    if (opts->off_cpu)
        return check_off_cpu(opts, err);
    const struct cairn_event *event = cairn_event_get(opts->event);
    if (!event)
        return cairn_fail(err, CAIRN_E_ARG, "there is no event %d", (int)opts->event);
    if (event->is_time && opts->event_period)
        return cairn_fail(err, CAIRN_E_ARG, "%s is sampled by frequency, not by count",
                          event->name);
    if (!event->is_time && opts->method == CAIRN_SAMPLE_PTRACE)
        return cairn_fail(err, CAIRN_E_ARG, "ptrace samples CPU time alone, not %s", event->name);
    if (event->in_kernel && opts->user_only)
        return cairn_fail(err, CAIRN_E_ARG, "%s happen in the kernel: user code alone has none",
                          event->name);
    return CAIRN_OK;
}

static int check_opts(const struct cairn_sampler_opts *opts, struct cairn_err *err)
{
    bool has_command = opts->argv && opts->argv[0];
    int n_targets = has_command + (opts->pid > 0 || opts->n_pids > 0) + (opts->all_processes != 0) +
                    (opts->cgroup != NULL);
    if (n_targets != 1 || (opts->n_pids > 0 && !opts->pids))
        return cairn_fail(err, CAIRN_E_ARG,
                          "either processes, a command, a cgroup or all must be given");
    if (opts->no_inherit && (opts->all_processes || opts->cgroup))
        return cairn_fail(err, CAIRN_E_ARG,
                          "children can be left out of processes and commands alone");
    if (!(opts->frequency_hz >= 0.5 && opts->frequency_hz <= FREQUENCY_MAX))
        return cairn_fail(err, CAIRN_E_ARG, "%g samples a second: expected 1 to %d",
                          opts->frequency_hz, FREQUENCY_MAX);
    if (opts->ring_pages > RING_PAGES_MAX || (opts->ring_pages & (opts->ring_pages - 1)))
        return cairn_fail(err, CAIRN_E_ARG, "%u ring pages: expected a power of two up to %d",
                          opts->ring_pages, RING_PAGES_MAX);
    if (opts->max_frames > CAIRN_WALK_FRAMES_MAX)
        return cairn_fail(err, CAIRN_E_ARG, "%u frames: expected at most %d", opts->max_frames,
                          CAIRN_WALK_FRAMES_MAX);
    if (opts->stack_bytes > STACK_BYTES_MAX || opts->stack_bytes % 8)
        return cairn_fail(err, CAIRN_E_ARG, "%u bytes of stack: expected a multiple of 8 up to %d",
                          opts->stack_bytes, STACK_BYTES_MAX);
    if (opts->memory_bytes < MEMORY_MIN)
        return cairn_fail(err, CAIRN_E_ARG, "%llu bytes of memory: expected at least %d",
                          (unsigned long long)opts->memory_bytes, MEMORY_MIN);
    if (opts->method == CAIRN_SAMPLE_PTRACE && (opts->all_processes || opts->cgroup))
        return cairn_fail(err, CAIRN_E_ARG, "ptrace sampling is for processes and commands");
    return check_event(opts, err);
}

/* Each of them, where they are those of some processes. By frequency the kernel takes each, too, as
 * long as they are few. */
static void choose_rate(struct cairn_sampler_opts *opts)
{
    long most = cairn_setting("perf_event_max_sample_rate", RARE_HZ);
    if (opts->all_processes || opts->cgroup)
        opts->frequency_hz = most < RARE_HZ ? (double)most : RARE_HZ;
    else
        opts->event_period = 1;
}

int cairn_sampler_take_opts(const struct cairn_sampler_opts *given,
                            struct cairn_sampler_opts *ret_opts, struct cairn_err *err)
{
    struct cairn_sampler_opts opts = {0};
    if (!given || given->size < sizeof given->size)
        return cairn_fail(err, CAIRN_E_ARG, "the options have no size");
    memcpy(&opts, given, given->size < sizeof opts ? given->size : sizeof opts);
    const struct cairn_event *event = cairn_event_get(opts.event);
    if (opts.frequency_hz == 0 && opts.event_period == 0 && event && cairn_event_is_rare(event))
        choose_rate(&opts);
    if (opts.frequency_hz == 0)
        opts.frequency_hz = DEFAULT_HZ;
    if (opts.memory_bytes == 0)
        opts.memory_bytes = DEFAULT_MEMORY;
    int code = check_opts(&opts, err);
    if (code == CAIRN_OK)
        *ret_opts = opts;
    return code;
}

/* SPDX-License-Identifier: MIT */
#include "sample/perf_attr.h"

#include <errno.h>
#include <time.h>

#include "base/log.h"
#include "proc/perf_regs.h"
#include "sample/user_walk.h"

enum {
    WAKE_AFTER_STACKS = 4,      /* copies: a ring may hold no more than 15 */
    SMALL_HITS_BYTES = 1 << 14, /* where no stack is copied */
    FORMAT_LOST = 1 << 4        /* PERF_FORMAT_LOST, which headers before Linux 6.0 do not have */
};

void cairn_perf_describe(const struct cairn_perf_opts *opts, struct perf_event_attr *attr)
{
    const bool are_cpus = cairn_perf_opts_on_cpus(opts);
    *attr = (struct perf_event_attr){
        .size = sizeof *attr,
        .type = opts->event->perf_type,
        .config = opts->event->perf_config,
        .freq = opts->event_period == 0,
        .sample_freq =
            opts->event_period ? opts->event_period : (uint64_t)(opts->frequency_hz + 0.5),
        .sample_type = CAIRN_PERF_SAMPLE_TYPE,
        .read_format = FORMAT_LOST,
        .disabled = 1,
        .enable_on_exec = opts->is_child,
        .inherit = !are_cpus,
        .inherit_thread = opts->no_inherit,
        .exclude_idle = are_cpus && !cairn_event_is_hardware(opts->event),
        .exclude_hv = 1,
        .exclude_guest = cairn_event_is_hardware(opts->event), /* else old kernels refuse it */
        .exclude_kernel = opts->user_only,
        .exclude_callchain_kernel = opts->user_only,
        .mmap = 1,
        .mmap2 = 1,
        .build_id = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .sample_max_stack = (uint16_t)opts->max_frames,
    };
    if (opts->no_stacks) {
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
        attr->watermark = 1;
        attr->wakeup_watermark = 1;
        return;
    }
    attr->sample_regs_user = cairn_perf_regs_mask;
    if (attr->sample_regs_user) {
        attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr->sample_stack_user =
            opts->stack_bytes ? opts->stack_bytes : CAIRN_WALK_TOP_WORDS * sizeof(uint64_t);
    }
    if (opts->stack_bytes || opts->points) {
        attr->watermark = 1;
        attr->wakeup_watermark =
            WAKE_AFTER_STACKS * (opts->stack_bytes ? opts->stack_bytes : SMALL_HITS_BYTES);
    }
}

void cairn_perf_describe_point(const struct perf_event_attr *main,
                               const struct cairn_perf_point *point, struct perf_event_attr *attr)
{
    *attr = *main;
    attr->type = PERF_TYPE_TRACEPOINT;
    attr->config = point->id;
    attr->freq = 0;
    attr->sample_period = 1;
    attr->sample_type |= PERF_SAMPLE_RAW;
    attr->exclude_kernel = attr->exclude_idle = attr->exclude_guest = 0;
    attr->mmap = attr->mmap2 = attr->build_id = attr->comm = attr->comm_exec = attr->task = 0;
    attr->exclude_callchain_kernel = main->exclude_callchain_kernel || point->no_kernel;
    if (point->no_stack) {
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_STACK_USER;
        attr->sample_stack_user = 0;
        attr->exclude_callchain_user = 1;
    }
}

bool cairn_perf_lacks_counter(int os_errno)
{
    return os_errno == ENOENT || os_errno == ENODEV || os_errno == EOPNOTSUPP;
}

bool cairn_perf_give_way(const struct cairn_event *event, struct perf_event_attr *attr,
                         int os_errno)
{
    if (cairn_perf_lacks_counter(os_errno) && attr->type == PERF_TYPE_HARDWARE &&
        event->gives_way) {
        attr->type = PERF_TYPE_SOFTWARE;
        attr->config = PERF_COUNT_SW_CPU_CLOCK;
        attr->exclude_guest = 0;
        attr->exclude_idle = !attr->inherit;
        return true;
    }
    if ((os_errno == EACCES || os_errno == EPERM) && !attr->exclude_kernel && !event->in_kernel) {
        attr->exclude_kernel = attr->exclude_callchain_kernel = 1;
        return true;
    }
    if (os_errno == EINVAL && attr->read_format) { /* Linux 6.0 */
        attr->read_format = 0;
        return true;
    }
    if (os_errno == EINVAL && attr->build_id) { /* Linux 5.12 */
        attr->build_id = 0;
        return true;
    }
    if (os_errno == EINVAL && attr->inherit_thread) { /* Linux 5.13 */
        attr->inherit = attr->inherit_thread = 0;
        cairn_log(CAIRN_LOG_WARNING, "this kernel cannot leave out children alone: threads that "
                                     "start from now on are left out, too");
        return true;
    }
    return false;
}

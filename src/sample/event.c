/* SPDX-License-Identifier: MIT */
#include "sample/event.h"

#include <linux/perf_event.h>

#include "base/error.h"

static const struct cairn_event events[] = {
    [CAIRN_EVENT_CPU] = {.name = "cpu",
                         .type = "cpu",
                         .unit = "nanoseconds",
                         .perf_type = PERF_TYPE_HARDWARE,
                         .perf_config = PERF_COUNT_HW_CPU_CYCLES,
                         .is_time = true,
                         .gives_way = true},
    [CAIRN_EVENT_CPU_CLOCK] = {.name = "cpu-clock",
                               .type = "cpu",
                               .unit = "nanoseconds",
                               .perf_type = PERF_TYPE_SOFTWARE,
                               .perf_config = PERF_COUNT_SW_CPU_CLOCK,
                               .is_time = true},
    [CAIRN_EVENT_CYCLES] = {.name = "cycles",
                            .type = "cycles",
                            .unit = "count",
                            .perf_type = PERF_TYPE_HARDWARE,
                            .perf_config = PERF_COUNT_HW_CPU_CYCLES},
    [CAIRN_EVENT_INSTRUCTIONS] = {.name = "instructions",
                                  .type = "instructions",
                                  .unit = "count",
                                  .perf_type = PERF_TYPE_HARDWARE,
                                  .perf_config = PERF_COUNT_HW_INSTRUCTIONS},
    [CAIRN_EVENT_CACHE_MISSES] = {.name = "cache-misses",
                                  .type = "cache_misses",
                                  .unit = "count",
                                  .perf_type = PERF_TYPE_HARDWARE,
                                  .perf_config = PERF_COUNT_HW_CACHE_MISSES},
    [CAIRN_EVENT_PAGE_FAULTS] = {.name = "page-faults",
                                 .type = "page_faults",
                                 .unit = "count",
                                 .perf_type = PERF_TYPE_SOFTWARE,
                                 .perf_config = PERF_COUNT_SW_PAGE_FAULTS},
    [CAIRN_EVENT_CONTEXT_SWITCHES] = {.name = "context-switches",
                                      .type = "context_switches",
                                      .unit = "count",
                                      .perf_type = PERF_TYPE_SOFTWARE,
                                      .perf_config = PERF_COUNT_SW_CONTEXT_SWITCHES,
                                      .in_kernel = true},
};

const struct cairn_event cairn_event_off_cpu = {.name = "off-CPU time",
                                                .type = "off_cpu",
                                                .unit = "nanoseconds",
                                                .perf_type = PERF_TYPE_SOFTWARE,
                                                .perf_config = PERF_COUNT_SW_DUMMY};

const struct cairn_event cairn_event_trace = {.name = "traced events",
                                              .type = "time",
                                              .unit = "nanoseconds",
                                              .perf_type = PERF_TYPE_SOFTWARE,
                                              .perf_config = PERF_COUNT_SW_DUMMY};

const struct cairn_event *cairn_event_get(enum cairn_sample_event event)
{
    return (size_t)event < sizeof events / sizeof *events ? &events[event] : NULL;
}

bool cairn_event_is_hardware(const struct cairn_event *event)
{
    return event->perf_type == PERF_TYPE_HARDWARE;
}

bool cairn_event_is_rare(const struct cairn_event *event)
{
    return !event->is_time && !cairn_event_is_hardware(event);
}

int cairn_fail_event(struct cairn_err *err, const struct cairn_event *event, int os_errno)
{
    cairn_fail(err, CAIRN_E_SUPPORT,
               "%s: the CPU's counters are not there, as in most virtual machines", event->name);
    cairn_hint(err, "-e cpu-clock, page-faults and context-switches are counted by the kernel and "
                    "need none");
    if (err)
        err->os_errno = os_errno;
    return CAIRN_E_SUPPORT;
}

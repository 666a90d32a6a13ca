/* SPDX-License-Identifier: MIT */
/*
 * Event: what a sample is taken of, and what it then stands for: the second value of a profile.
 *
 *     of time     each sample stands for the period: CPU time
 *     of a count  each stands for as many as the kernel says have passed since the last one
 */
#ifndef CAIRN_SAMPLE_EVENT_H
#define CAIRN_SAMPLE_EVENT_H

#include <stdbool.h>

#include <cairn/sampler.h>

struct cairn_event {
    const char *name;        /* "page-faults" */
    const char *type, *unit; /* of the profile's value */
    uint32_t perf_type;      /* attr.type and attr.config of perf_event_open(2) */
    uint64_t perf_config;
    bool is_time;
    bool gives_way; /* where the counter is not there, the kernel's timer is taken instead */
    bool in_kernel; /* happens there alone: without the right to see the kernel there is none */
};

/* NULL where there is no such event. Static. */
const struct cairn_event *cairn_event_get(enum cairn_sample_event event);

/* Time off the CPU: nothing counts it, the scheduler's events are followed instead. */
extern const struct cairn_event cairn_event_off_cpu;

/* Events that programs in the kernel report: nothing counts them, either. */
extern const struct cairn_event cairn_event_trace;

/* Is it told by a counter of the CPU? */
bool cairn_event_is_hardware(const struct cairn_event *event);

/* Are those few enough for a sample of each? */
bool cairn_event_is_rare(const struct cairn_event *event);

/* Says that this machine has no counter for the event; returns CAIRN_E_SUPPORT. */
int cairn_fail_event(struct cairn_err *err, const struct cairn_event *event, int os_errno);

#endif /* CAIRN_SAMPLE_EVENT_H */

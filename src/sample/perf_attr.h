/* SPDX-License-Identifier: MIT */
/* Perf attributes: what is asked of perf_event_open(2), and what of it is given up where the kernel
 * refuses. */
#ifndef CAIRN_SAMPLE_PERF_ATTR_H
#define CAIRN_SAMPLE_PERF_ATTR_H

#include "sample/perf_event.h"

void cairn_perf_describe(const struct cairn_perf_opts *opts, struct perf_event_attr *ret_attr);

/* The attributes of a point; `main` are those of the event that tells of mappings. */
void cairn_perf_describe_point(const struct perf_event_attr *main,
                               const struct cairn_perf_point *point,
                               struct perf_event_attr *ret_attr);

/* Takes away what this machine or this kernel does not have or does not allow; false where there is
 * nothing left to give up. */
bool cairn_perf_give_way(const struct cairn_event *event, struct perf_event_attr *attr,
                         int os_errno);

/* Did the kernel refuse because nothing counts such an event here? */
bool cairn_perf_lacks_counter(int os_errno);

#endif /* CAIRN_SAMPLE_PERF_ATTR_H */

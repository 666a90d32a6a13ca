/* SPDX-License-Identifier: MIT */
/* Timeline: events that a trace keeps one by one, as markers of its profile. */
#ifndef CAIRN_TRACE_TIMELINE_H
#define CAIRN_TRACE_TIMELINE_H

#include <cairn/trace.h>

#include "sample/collect.h"

/* The label of an argument is this and its name: "arg.path". */
#define CAIRN_TIMELINE_ARG "arg."

enum { CAIRN_TIMELINE_MAX = 500000 }; /* 150 to 300 bytes each */

/* CAIRN_OK; CAIRN_E_LIMIT: there are as many as are kept; CAIRN_E_NOMEM. */
int cairn_timeline_add(struct cairn_collect *collect, const struct cairn_trace_event *event,
                       const struct cairn_collected *stack);

#endif /* CAIRN_TRACE_TIMELINE_H */

/* SPDX-License-Identifier: MIT */
/* Probe function: functions of a program's file as events, one for each name. */
#ifndef CAIRN_TRACE_PROBE_FUNCTION_H
#define CAIRN_TRACE_PROBE_FUNCTION_H

#include "trace/probe.h"

/* Adds "uprobe:FILE:FUNCTION[+OFFSET]", or what a pattern means; a function of several copies is
 * one event at all of them. `file` and `function` are the event's, and written to. CAIRN_E_ARG,
 * CAIRN_E_MISSING, CAIRN_E_LIMIT. */
int cairn_probes_add_functions(struct cairn_probes *probes, const char *event, char *file,
                               char *function, struct cairn_err *err);

#endif /* CAIRN_TRACE_PROBE_FUNCTION_H */

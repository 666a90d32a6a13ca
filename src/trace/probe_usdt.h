/* SPDX-License-Identifier: MIT */
/* Static probes as events: those of a file, or of all files that a target shows. */
#ifndef CAIRN_TRACE_PROBE_USDT_H
#define CAIRN_TRACE_PROBE_USDT_H

#include <cairn/trace.h>

#include "trace/probe.h"

/* Adds the probes of `rest`, which is what stands behind "usdt:" and is written to. CAIRN_E_ARG.
 * CAIRN_E_MISSING: no such file or probe, and which is most like it. CAIRN_E_FORMAT, CAIRN_E_LIMIT,
 * CAIRN_E_SUPPORT. */
int cairn_probes_add_static(struct cairn_probes *probes, const char *event, char *rest,
                            struct cairn_err *err);

/* Calls `fn` with each probe that "FILE:PROVIDER:NAME" matches, of which parts may be missing at
 * the end; of targets also "PROVIDER:NAME" and "". The same errors, and what `fn` answered. */
int cairn_probes_list_static(const struct cairn_probes *probes, const char *pattern,
                             cairn_trace_list_usdt_fn fn, void *ctx, struct cairn_err *err);

#endif /* CAIRN_TRACE_PROBE_USDT_H */

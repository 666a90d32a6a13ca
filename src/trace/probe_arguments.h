/* SPDX-License-Identifier: MIT */
/* Probe arguments: names and types of a function's arguments and result, by debug information. */
#ifndef CAIRN_TRACE_PROBE_ARGUMENTS_H
#define CAIRN_TRACE_PROBE_ARGUMENTS_H

#include "trace/probe.h"

/* Describes `probe->call`, of a probe where the function at `vaddr` of the module begins, returns,
 * or both. Without debug information nothing changes. CAIRN_E_NOMEM. */
int cairn_probe_read_arguments(struct cairn_module *module, uint64_t vaddr,
                               struct cairn_probe *probe, struct cairn_err *err);

#endif /* CAIRN_TRACE_PROBE_ARGUMENTS_H */

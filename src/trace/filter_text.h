/* SPDX-License-Identifier: MIT */
/* Filter text: what of a filter the kernel's tracepoints can evaluate, in their language
 * (Linux, Documentation/trace/events.rst, 5.1). */
#ifndef CAIRN_TRACE_FILTER_TEXT_H
#define CAIRN_TRACE_FILTER_TEXT_H

#include "base/buffer.h"
#include "trace/fields.h"
#include "trace/filter.h"

/* Appends the parts of the filter, joined by && to what is there, that hold of every event of which
 * the filter holds. False: other parts are missing, and are to be evaluated later. */
bool cairn_trace_filter_text(const struct cairn_trace_filter *filter,
                             const struct cairn_syscall *call, const struct cairn_fields *fields,
                             struct cairn_buffer *out);

#endif /* CAIRN_TRACE_FILTER_TEXT_H */

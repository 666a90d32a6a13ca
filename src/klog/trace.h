/* SPDX-License-Identifier: MIT */
/*
 * Trace: the kernel's own reports. A report has a title, a task, and one stack or more; its lines
 * have no index, so that only the caller column tells two apart that are printed at the same time:
 *
 *     BUG: KASAN: use-after-free in f+0x1/0x2      title
 *     CPU: 0 PID: 9 Comm: sh Not tainted           task
 *     RIP: 0010:f+0x1/0x2                          the innermost frame, exact
 *     Call Trace:                                  a stack begins
 *      <TASK>
 *      g+0x10/0x20
 *      </TASK>                                     it ends
 *     Allocated by task 9:                         the next one begins
 */
#ifndef CAIRN_KLOG_TRACE_H
#define CAIRN_KLOG_TRACE_H

#include "klog/own_frame.h"
#include "klog/own_line.h"
#include "klog/prefix.h"
#include "klog/stacks.h"

enum { CAIRN_KLOG_CALLERS_MAX = 64 };

/* What one caller prints. */
struct cairn_klog_report {
    char caller;
    uint32_t caller_id;
    uint64_t last_line, title_line;
    uint32_t title, section; /* strings; 0: none */
    struct cairn_klog_dump task;
    struct cairn_klog_stack *stack; /* open where its `first_line` is `stack_line` */
    uint64_t stack_line;
    bool expects_frames, in_task, ended, has_frames;
    unsigned n_foreign; /* lines since the last frame that are of no report */
};

struct cairn_klog_trace {
    struct cairn_klog_report reports[CAIRN_KLOG_CALLERS_MAX];
    size_t n;
};

/* A line that is none of the capture form. CAIRN_E_NOMEM. */
int cairn_klog_trace_take(struct cairn_klog_trace *trace, struct cairn_klog_stacks *stacks,
                          struct cairn_span body, const struct cairn_klog_prefix *prefix,
                          const struct cairn_klog_dump *head, const struct cairn_klog_where *where,
                          enum cairn_klog_own *ret_what, struct cairn_err *err);

/* Another boot begins, or the log ends. */
void cairn_klog_trace_end(struct cairn_klog_trace *trace);

#endif /* CAIRN_KLOG_TRACE_H */

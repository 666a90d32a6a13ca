/* SPDX-License-Identifier: MIT */
/* Own line: what a line of the kernel's own reports says besides frames. */
#ifndef CAIRN_KLOG_OWN_LINE_H
#define CAIRN_KLOG_OWN_LINE_H

#include "base/span.h"

enum cairn_klog_own {
    CAIRN_KLOG_OWN_OTHER,    /* of no report that we know */
    CAIRN_KLOG_OWN_TITLE,    /* begins a report: "BUG: ...", "INFO: task ..." */
    CAIRN_KLOG_OWN_SECTION,  /* names the stack that follows: "Allocated by task 12:" */
    CAIRN_KLOG_OWN_TRACE,    /* "Call Trace:" */
    CAIRN_KLOG_OWN_TASK,     /* who: "CPU: 0 PID: 9 Comm: sh ..." */
    CAIRN_KLOG_OWN_PC,       /* "RIP: 0010:f+0x1/0x2", "pc : f+0x1/0x2" */
    CAIRN_KLOG_OWN_USER_PC,  /* "RIP: 0033:0x45c829" */
    CAIRN_KLOG_OWN_PART,     /* "<IRQ>", "<TASK>": the stack goes on */
    CAIRN_KLOG_OWN_TASK_END, /* "</TASK>" */
    CAIRN_KLOG_OWN_END,      /* "---[ end trace" */
    CAIRN_KLOG_OWN_REGS,     /* registers, code, hex: belongs to the report, is no frame */
    CAIRN_KLOG_OWN_FAULT,    /* "prog[12]: segfault at ..." */
    CAIRN_KLOG_OWN_BOOT,     /* "Linux version ...": another boot begins */
    CAIRN_KLOG_OWN_FILE      /* "==> /proc/12/stack <==" */
};

struct cairn_klog_own_line {
    enum cairn_klog_own what;
    int64_t pid, tgid, cpu; /* -1: not said */
    struct cairn_span comm, text, build_id;
    uint64_t va;         /* of a program counter */
    uint64_t start, off; /* of a fault's mapping, and the place in the file */
    bool has_off;
};

void cairn_klog_own_line_read(struct cairn_span body, struct cairn_klog_own_line *ret_line);

#endif /* CAIRN_KLOG_OWN_LINE_H */

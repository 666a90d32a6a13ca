/* SPDX-License-Identifier: MIT */
/*
 * Sampled: one record of perf_event_open(2), with the types CAIRN_SAMPLED_TYPE:
 *
 *     type u32, misc u16, size u16
 *     n u64, n words of a chain        CALLCHAIN
 *     abi u64, registers               REGS_USER
 *     size u64, bytes, filled u64      STACK_USER
 *
 * No registers follow an abi of none, and nothing a size of 0.
 */
#ifndef CAIRN_SNAPSHOT_SAMPLED_H
#define CAIRN_SNAPSHOT_SAMPLED_H

#include <linux/perf_event.h>

#include <cairn/unwind.h>

#include "base/span.h"

enum {
    CAIRN_SAMPLED_TYPE = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
    CAIRN_SAMPLED_KERNEL_MAX = 64
};

struct cairn_sampled {
    struct cairn_cursor_regs regs;
    struct cairn_span stack; /* from the stack pointer on; borrowed from the bytes */
    uint64_t kernel[CAIRN_SAMPLED_KERNEL_MAX]; /* innermost first */
    size_t n_kernel;
};

/* The first sample among the records in `bytes`. False: there is none, or it makes no sense. */
bool cairn_sampled_read(struct cairn_span bytes, struct cairn_sampled *ret_sampled);

#endif /* CAIRN_SNAPSHOT_SAMPLED_H */

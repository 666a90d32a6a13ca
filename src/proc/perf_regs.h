/* SPDX-License-Identifier: MIT */
/*
 * Perf regs: the registers that perf_event_open(2) tells of a thread (PERF_SAMPLE_REGS_USER), as a
 * walk begins with them. perf_regs_CPU.c is chosen by meson; a new CPU needs one more.
 */
#ifndef CAIRN_PROC_PERF_REGS_H
#define CAIRN_PROC_PERF_REGS_H

#include <cairn/regs.h>

#include "base/reader.h"

/* For perf_event_attr.sample_regs_user: all that a walk can want; 0: not known for this CPU. */
extern const uint64_t cairn_perf_regs_mask;

/* Takes the words of those in the mask, in the order of its bits; `is_32`: of a 32-bit program
 * (PERF_SAMPLE_REGS_ABI_32). Where they are too few the reader fails, and `ret_regs` is untouched.
 */
void cairn_perf_regs_read(struct cairn_reader *r, bool is_32, struct cairn_cursor_regs *ret_regs);

#endif /* CAIRN_PROC_PERF_REGS_H */

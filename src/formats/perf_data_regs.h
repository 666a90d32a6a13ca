/* SPDX-License-Identifier: MIT */
/* Perf data registers: those of a sample as a walk begins with them. */
#ifndef CAIRN_FORMATS_PERF_DATA_REGS_H
#define CAIRN_FORMATS_PERF_DATA_REGS_H

#include <cairn/regs.h>

#include "formats/perf_data_sample.h"

/* `machine`, as ELF numbers them, is that of the recording CPU, 0: unknown. False: another CPU, or
 * where it was, or the stack pointer, was not recorded. */
bool cairn_perf_data_cursor_regs(const struct cairn_perf_data_regs *regs, uint16_t machine,
                                 bool swap, struct cairn_cursor_regs *ret_regs, uint64_t *ret_sp);

#endif /* CAIRN_FORMATS_PERF_DATA_REGS_H */

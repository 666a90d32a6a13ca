/* SPDX-License-Identifier: MIT */
/*
 * Cpu: the kernel's struct pt_regs of this CPU, as a program in the kernel copied it.
 * cpu_ARCH.c is chosen by meson.
 */
#ifndef CAIRN_BPF_CPU_H
#define CAIRN_BPF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/threads_slot.h"

extern const struct cairn_bpf_cpu cairn_bpf_this_cpu;

enum { CAIRN_BPF_PRSTATUS_MAX = 272 }; /* aarch64's */

/* The same as ptrace(2) shows them, in the layout of the thread's own kind of program; returns the
 * size. */
size_t cairn_bpf_prstatus(const uint64_t regs[CAIRN_BPF_REG_WORDS],
                          uint8_t ret_raw[CAIRN_BPF_PRSTATUS_MAX]);

/* The system call that the registers entered the kernel with; false where it was none. */
bool cairn_bpf_call(const uint64_t regs[CAIRN_BPF_REG_WORDS], long *ret_call, uint64_t ret_args[6]);

#endif /* CAIRN_BPF_CPU_H */

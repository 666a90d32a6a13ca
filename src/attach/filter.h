/* SPDX-License-Identifier: MIT */
/*
 * Filter: what a program of seccomp(2) answers to a system call. The program is run here, outside
 * of the process that has it, so that nobody is ended by the question.
 *
 * The instructions are those of classic BPF that seccomp_check_filter() and bpf_check_classic() of
 * Linux take (kernel/seccomp.c, net/core/filter.c); their meaning is that of bpf_convert_filter().
 */
#ifndef CAIRN_ATTACH_FILTER_H
#define CAIRN_ATTACH_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>

/* Runs `n` instructions on one call. `ret_answer`: an action with its data (seccomp(2), "Return
 * value"). CAIRN_E_FORMAT: no program that a kernel would have taken; `err` says which
 * instruction. */
int cairn_filter_run(const struct sock_filter *insns, size_t n, const struct seccomp_data *call,
                     uint32_t *ret_answer, struct cairn_err *err);

/* Of the answers of several programs the kernel takes the strongest: the one whose action is the
 * least as a signed number (seccomp(2)). */
uint32_t cairn_filter_stronger(uint32_t a, uint32_t b);

#endif /* CAIRN_ATTACH_FILTER_H */

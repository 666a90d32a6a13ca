/* SPDX-License-Identifier: MIT */
/* Settings: the kernel's switches that forbid or bound sampling, and what to tell a user who met
 * one. */
#ifndef CAIRN_SAMPLE_SETTINGS_H
#define CAIRN_SAMPLE_SETTINGS_H

#include <cairn/error.h>

/* A number out of /proc/sys/kernel/NAME; `otherwise` where there is none. */
long cairn_setting(const char *name, long otherwise);

/* How many files this process may have open. */
unsigned long long cairn_files_allowed(void);

/* Fills `err` for a refusal of perf_event_open(2) with `os_errno` on `pid`, negative: on whole
 * CPUs; returns its code. */
int cairn_fail_perf(struct cairn_err *err, int os_errno, int pid);

/* Warns (cairn_log) of what is poorer: kernel frames that may not be seen, or not be named. */
void cairn_log_kernel_limits(int has_kernel, int asked_for_kernel);

#endif /* CAIRN_SAMPLE_SETTINGS_H */

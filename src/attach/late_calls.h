/* SPDX-License-Identifier: MIT */
/*
 * Late calls: the system calls that threads of a process may make for the tracker after an attach,
 * long after we are gone. A filter of the process (seccomp(2)) judges each of them. What an attach
 * itself calls is not among them: filters do not hold for a thread that we trace
 * (PTRACE_O_SUSPEND_SECCOMP).
 *
 * A test of the style suite holds the list against the sources of libcairn-track.
 */
#ifndef CAIRN_ATTACH_LATE_CALLS_H
#define CAIRN_ATTACH_LATE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/cpu.h"

struct cairn_late_call {
    const char *name; /* as people know it, with what a filter may look at */
    int number;
    bool is_needed; /* where it is refused, nothing is recorded, or what is recorded is wrong */
    uint64_t args[CAIRN_CALL_ARGS]; /* an example; addresses and descriptors are any */
};

extern const struct cairn_late_call cairn_late_calls[];
extern const size_t cairn_late_calls_n;

#endif /* CAIRN_ATTACH_LATE_CALLS_H */

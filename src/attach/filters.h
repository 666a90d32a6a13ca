/* SPDX-License-Identifier: MIT */
/*
 * Filters: which filters of system calls (seccomp(2)) the threads of a process have, and what they
 * would do to the tracker. They are read and run here; nothing is tried in the process.
 */
#ifndef CAIRN_ATTACH_FILTERS_H
#define CAIRN_ATTACH_FILTERS_H

#include "attach/target.h"

struct cairn_filters_found {
    size_t n_threads;  /* that have filters */
    size_t n_programs; /* different ones, each of which was run for each call */
    const char *lost;  /* a call that is refused, and that the tracker can do without; or NULL */
    uint64_t held_ns;  /* the longest that a thread was held, to read its filters */
};

/* Has any thread a filter? What it is, is not asked. */
int cairn_filters_are_there(int pid, bool *ret_there, struct cairn_err *err);

/* Of each thread: a filter may be one thread's alone, and all threads run the tracker. Each that
 * has filters is held for some microseconds. CAIRN_E_SUPPORT: a filter would end the process or a
 * thread, or refuse what the tracker needs; `err` names the call. CAIRN_E_ACCESS: filters cannot be
 * read (PTRACE_SECCOMP_GET_FILTER, Linux 4.4, asks for CAP_SYS_ADMIN, and that we have no filter
 * ourselves). */
int cairn_filters_check(const struct cairn_target_process *target,
                        struct cairn_filters_found *ret_found, struct cairn_err *err);

#endif /* CAIRN_ATTACH_FILTERS_H */

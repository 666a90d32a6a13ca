/* SPDX-License-Identifier: MIT */
/* Threads: which threads a process has right now, and what /proc says of each. */
#ifndef CAIRN_PROC_THREADS_H
#define CAIRN_PROC_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/error.h>

#include "proc/process.h"

enum { CAIRN_THREADS_MAX = 1 << 17 };

struct cairn_threads {
    int *tids; /* ascending */
    size_t n, cap;
};

/* A thread that starts or ends while the list is read may be in it or not. At most
 * CAIRN_THREADS_MAX: CAIRN_E_LIMIT. */
int cairn_threads_read(int pid, struct cairn_threads *ret_threads, struct cairn_err *err);
void cairn_threads_done(struct cairn_threads *threads); /* all-zero is fine */

/* As the thread named itself, any bytes but NUL; "" where it is gone. */
void cairn_thread_name(int pid, int tid, char ret_name[CAIRN_COMM_SIZE]);

struct cairn_thread_stat {
    char state;           /* as in struct cairn_process_status */
    uint32_t flags;       /* PF_* of the kernel's <linux/sched.h> */
    uint64_t start_ticks; /* since boot: with the tid, what tells a thread from a later one */
    uint64_t user_ticks, system_ticks; /* CPU time used so far, in sysconf(_SC_CLK_TCK) */
};
int cairn_thread_stat(int pid, int tid, struct cairn_thread_stat *ret_stat, struct cairn_err *err);

#endif /* CAIRN_PROC_THREADS_H */

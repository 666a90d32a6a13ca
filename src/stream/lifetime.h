/* SPDX-License-Identifier: MIT */
/*
 * Stream lifetimes: what a fork copies, what execve(2) ends, and what an exit ends. Sources of
 * events report them here, whether they recorded them or the kernel just told them.
 *
 *               of the process                          of the thread
 *     fork      the parent's mappings, and what the     the parent's name; what was kept of an
 *               source lets a child inherit             older thread of that number ends
 *     execve    mappings of the old program end; what   the caller is the only thread, and has the
 *               the source keeps of it ends             number of the process
 *     exit      of the last thread: mappings end        its number may be another thread's next
 *
 * A recording (no item_is_over) ends things at once, for no sample comes behind them. Of a kernel
 * that runs stacks come late: what exited is kept for one turn of a second or more.
 */
#ifndef CAIRN_STREAM_LIFETIME_H
#define CAIRN_STREAM_LIFETIME_H

#include "stream/processes.h"

/* A thread began. Where it is of another process than its parent, that process begins with the
 * parent's mappings, unless `is_bare`: then they will be told. */
struct cairn_stream_birth {
    int pid, tid, parent_pid, parent_tid;
    bool is_bare;
};

/* The process, begun empty where it is new; NULL: memory or the source's limit ends. Now and then
 * those that are over are forgotten: items that were got before are gone then. */
struct cairn_stream_space *cairn_stream_processes_get(struct cairn_stream_processes *processes,
                                                      int pid);

/* 1: done, 0: a limit is reached and the child has no mappings, CAIRN_E_NOMEM. */
int cairn_stream_processes_fork(struct cairn_stream_processes *processes,
                                const struct cairn_stream_birth *birth);

/* The thread that called has the process's number from now on. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_stream_processes_exec(struct cairn_stream_processes *processes, int pid);

/* CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_stream_processes_exit(struct cairn_stream_processes *processes, int pid, int tid);

/* What is in the process now is not what was in it: its mappings and all that the source keeps of
 * it end. As execve(2) of a process whose events are not reported. */
void cairn_stream_processes_reset(struct cairn_stream_processes *processes,
                                  struct cairn_stream_space *item);

/* To be called once a second or less often: forgets what exited before the last call. */
void cairn_stream_processes_turn(struct cairn_stream_processes *processes);

#endif /* CAIRN_STREAM_LIFETIME_H */

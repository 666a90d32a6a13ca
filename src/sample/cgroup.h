/* SPDX-License-Identifier: MIT */
/* Cgroup: groups of processes, version 2 (cgroups(7)): which one a process is in, and the folder of
 * one by its name. */
#ifndef CAIRN_SAMPLE_CGROUP_H
#define CAIRN_SAMPLE_CGROUP_H

#include <cairn/error.h>

#include "base/buffer.h"

/* The group of a process as /proc/PID/cgroup has it, "/" for the root, appended: seen from our
 * cgroup namespace. CAIRN_E_MISSING: the process has ended, or there is no version 2. */
int cairn_cgroup_of(int pid, struct cairn_buffer *ret_path, struct cairn_err *err);

/* The same out of that file's text; false where no line is of version 2. */
bool cairn_cgroup_read(const char *text, struct cairn_buffer *ret_path);

/* Opens a group's folder, for perf_event_open(2): a path, or a name below /sys/fs/cgroup, or below
 * /sys/fs/cgroup/unified where version 1 lies beside it. The folder's path is appended. The caller
 * closes `ret_fd`. CAIRN_E_MISSING: no such folder; CAIRN_E_SUPPORT: it is of version 1, or there
 * is no version 2 at all. */
int cairn_cgroup_open(const char *name, int *ret_fd, struct cairn_buffer *ret_path,
                      struct cairn_err *err);

/* Is it the root, which all are in, the idle threads too? Only there is no cgroup.type (Linux,
 * admin-guide/cgroup-v2.rst). `fd` is the folder. */
bool cairn_cgroup_is_root(int fd);

/* Calls `fn` for each process that is in the group now, or in one below it; false from it ends
 * that, and comes back. What cannot be read is left out. `fd` is the folder. */
bool cairn_cgroup_each(int fd, bool (*fn)(void *ctx, int pid), void *ctx);

#endif /* CAIRN_SAMPLE_CGROUP_H */

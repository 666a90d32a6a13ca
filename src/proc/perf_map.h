/* SPDX-License-Identifier: MIT */
/*
 * Perf map: the file that a JIT compiler leaves for profilers, /tmp/perf-PID.map. It lies in the
 * process's own root and is called by the pid that the process knows itself by. Anybody may write
 * in /tmp, so that what is there is taken for a map only if it belongs to the process's user or to
 * root, is a regular file, and is reached without a link: root in a container could have made one
 * to anywhere.
 */
#ifndef CAIRN_PROC_PERF_MAP_H
#define CAIRN_PROC_PERF_MAP_H

#include <cairn/error.h>

#include "base/buffer.h"

enum { CAIRN_PERF_MAP_BYTES_MAX = 256 << 20 };

/*
 * Reads the map of a process, appended; `ret_path`, appended too, is what to call it. A process
 * that has ended is taken for one of our own: of this user, in our root. CAIRN_E_MISSING: there is
 * none. CAIRN_E_ACCESS: it is somebody else's, or may not be read. CAIRN_E_FORMAT: a link, or no
 * regular file. CAIRN_E_LIMIT: larger than CAIRN_PERF_MAP_BYTES_MAX, or on a file system that did
 * not answer in time.
 */
int cairn_perf_map_read(int pid, struct cairn_buffer *ret_text, struct cairn_buffer *ret_path,
                        struct cairn_err *err);

#endif /* CAIRN_PROC_PERF_MAP_H */

/* SPDX-License-Identifier: MIT */
/* Known: what the arguments of well-known functions of the C library are. */
#ifndef CAIRN_TRACE_KNOWN_H
#define CAIRN_TRACE_KNOWN_H

#include "trace/calls.h"

/* Of "uprobe:libc.so.6:fopen" the arguments' names and kinds, and of a uretprobe or a pair the
 * kind of the result. Nothing, if it is no such function,
 * or of a file whose name is not that of a C library. */
void cairn_known_describe(const char *event, struct cairn_syscall *call);

#endif /* CAIRN_TRACE_KNOWN_H */

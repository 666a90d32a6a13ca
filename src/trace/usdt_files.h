/* SPDX-License-Identifier: MIT */
/* USDT files: those that targets show, in which static probes are looked for. */
#ifndef CAIRN_TRACE_USDT_FILES_H
#define CAIRN_TRACE_USDT_FILES_H

#include "trace/probe.h"

/* Calls `fn` once with each file whose code a process has mapped; of a command with its program and
 * the libraries that this asks for. `path`: to open it; `shown`: as the target sees it. A nonzero
 * answer ends it, and comes back. */
typedef int (*cairn_usdt_file_fn)(void *ctx, const char *path, const char *shown);
int cairn_usdt_each_file(const struct cairn_probes *probes, cairn_usdt_file_fn fn, void *ctx,
                         struct cairn_err *err);

#endif /* CAIRN_TRACE_USDT_FILES_H */

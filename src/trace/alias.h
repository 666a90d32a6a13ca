/* SPDX-License-Identifier: MIT */
/*
 * Alias: short names of events, and what they stand for.
 *
 *     exec fork exit     tracepoint:sched:sched_process_exec, _fork, _exit
 *     signal:NAME        tracepoint:signal:signal_generate and signal_deliver, [sig == NUMBER]
 *     page-fault         tracepoint:exceptions:page_fault_user and page_fault_kernel, or a software
 *                        event of perf where these are not there
 *     mmap brk           syscall:mmap, syscall:brk
 *     malloc             uprobe:LIBC:malloc
 */
#ifndef CAIRN_TRACE_ALIAS_H
#define CAIRN_TRACE_ALIAS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "trace/probe.h"

/* Is it an alias, up to a filter in brackets? */
bool cairn_alias_is(const char *text);

/* Calls `fn` with each event that `text`, of `size` bytes, stands for, `filter` joined to it. The
 * first negative answer but CAIRN_E_ARG ends that; CAIRN_E_ARG does if no event is taken: a filter
 * may have a field that one of them lacks. CAIRN_E_ARG: no such signal. */
typedef int (*cairn_alias_fn)(void *ctx, const char *event, struct cairn_err *err);
int cairn_alias_each(const struct cairn_probes *probes, const char *text, size_t size,
                     const char *filter, cairn_alias_fn fn, void *ctx, struct cairn_err *err);

/* The number of "SIGSEGV", "SEGV" or "11"; -1: there is none. */
int cairn_alias_signal(const char *name);

/* What is known of fields and arguments beyond what the kernel says: of a tracepoint's group, and
 * of malloc. */
void cairn_alias_describe(const char *event, struct cairn_syscall *call);

/* The names, one after the other; NULL behind the last. Static. */
const char *cairn_alias_name(size_t index);

#endif /* CAIRN_TRACE_ALIAS_H */

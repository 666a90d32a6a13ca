/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Self: reads of this process's own memory that cannot fault, wherever the address came from. The
 * kernel is asked, which says EFAULT where a load would be a SIGSEGV.
 *
 * Where process_vm_readv(2) is forbidden (seccomp) each page is asked for by rt_sigprocmask(2),
 * which nobody forbids, and then read: whoever unmaps it in between is not survived.
 */
#ifndef CAIRN_RT_SELF_H
#define CAIRN_RT_SELF_H

#include "base/memory.h"

/* Can the aligned 8 bytes at `va` be read? One system call. */
bool cairn_self_readable(uintptr_t va);

/* Copies what is known to be mapped. A sanitizer replaces memcpy() by one that takes the bytes
 * between a program's variables for a fault; this is not replaced. */
void cairn_self_copy(uintptr_t va, void *to, size_t size);

/* All of [va, va + size) or false. One system call. */
bool cairn_self_read(uintptr_t va, void *to, size_t size);

/* The same as what a stack walk reads from; `ctx` is not used. */
extern const struct cairn_memory cairn_self_memory;

#endif /* CAIRN_RT_SELF_H */

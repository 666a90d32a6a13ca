/* SPDX-License-Identifier: MIT */
/*
 * What the walk must know of the CPU's code; arch_CPU.c is chosen by meson. A new CPU needs one
 * more such file with these functions.
 */
#ifndef CAIRN_SAMPLE_ARCH_H
#define CAIRN_SAMPLE_ARCH_H

#include "code/call.h"

/* Can cairn_arch_call() tell on this CPU? Where not, every address may be a return address. */
bool cairn_arch_knows_calls(void);

/* Does a call end right before `ret`? code/call.h of this CPU. */
bool cairn_arch_call(struct cairn_span code, uint64_t ret, struct cairn_call *ret_call);

/* Where the jump at `va` fetches its target (a PLT entry); false where `code` is no such jump. */
bool cairn_arch_jump(struct cairn_span code, uint64_t va, uint64_t *ret_pointer);

/* Is this the code that ends a thread by exit(2)? That is what follows the call of a thread's first
 * function. */
bool cairn_arch_exits(struct cairn_span code);

/* Is this code Go's runtime.goexit at the address that runtime.newproc makes the root of each
 * goroutine's stack return to? `code` starts CAIRN_ARCH_GO_BEFORE bytes before that address. */
enum { CAIRN_ARCH_GO_BEFORE = 4, CAIRN_ARCH_GO_BYTES = 10 };
bool cairn_arch_go_root(struct cairn_span code);

#endif /* CAIRN_SAMPLE_ARCH_H */

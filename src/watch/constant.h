/* SPDX-License-Identifier: MIT */
/*
 * Constant: what a function of a program returns that does nothing but return a constant, read from
 * its code. The code is not run, for its file is not trusted.
 *
 *     endbr64; push rbp; mov rbp, rsp                  any of them, or none
 *     lea rax, [rip + x]; mov eax, x; xor eax, eax     one of them
 *     pop rbp; ret
 */
#ifndef CAIRN_WATCH_CONSTANT_H
#define CAIRN_WATCH_CONSTANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct cairn_elf;

enum cairn_heap_constant { CAIRN_HEAP_CONSTANT_ADDRESS, CAIRN_HEAP_CONSTANT_NUMBER };

/* What the function at `vaddr` returns. False: it does more, or is of another machine than x86-64
 * and aarch64. */
bool cairn_heap_constant_at(const struct cairn_elf *elf, uint64_t vaddr,
                            enum cairn_heap_constant kind, uint64_t *ret_value);
/* The same of its bytes, up to their end. */
bool cairn_heap_constant_of_code(uint16_t machine, struct cairn_span code, uint64_t vaddr,
                                 enum cairn_heap_constant kind, uint64_t *ret_value);

#endif /* CAIRN_WATCH_CONSTANT_H */

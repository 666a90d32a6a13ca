/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local fast rule: what local_fast.c must know of a CPU. local_fast_CPU.h defines it, inline; meson
 * names the CPU in local_fast_cpu.h. "Fp" is the one register besides the stack pointer that
 * rules count from.
 *
 *     CAIRN_FAST_CFA_ALIGN             what every CFA is a multiple of
 *     CAIRN_FAST_RA                    the return address lies so many bytes below the CFA, always;
 *                                      0: ask cairn_fast_ra()
 *
 *     uintptr_t cairn_fast_lookup_va(ret)   of a return address as it lies on the stack: the va to
 *                                           look up, within the call
 *
 *     uintptr_t cairn_fast_address(ret)     and the address of code that it stands for
 *
 *     bool cairn_fast_is_plain(rule)   the CFA is sp or fp plus a number, and the return address
 *                                      lies below it; of such rules:
 *     bool cairn_fast_is_short(rule)     plus a number: sp, and nothing else is to be asked. False
 *                                        also of a number of more bits than a rule's
 *     bool cairn_fast_is_fp(rule)        plus a number: fp
 *     uintptr_t cairn_fast_cfa(rule)     that number
 *     uintptr_t cairn_fast_ra(rule)      bytes below the CFA
 *
 * of these and of those that cairn_fast_deref() tells:
 *
 *     uintptr_t cairn_fast_fp(rule)    the caller's fp lies so many bytes below the CFA; 0: it is
 *                                      the callee's
 *     bool cairn_fast_fp_is_at_fp(rule)     it lies where the callee's fp points, instead
 *
 *     enum cairn_fast_deref cairn_fast_deref(rule)   the CFA is in memory, at
 *     uintptr_t cairn_fast_deref_slot(rule, base)    this va; `base` is sp or fp
 *     uintptr_t cairn_fast_deref_cfa(rule, word)     and is, if this is the word there
 *
 * Every number is safe to be asked of, and what it leads to is checked by who reads memory.
 */
#ifndef CAIRN_UNWIND_LOCAL_FAST_RULE_H
#define CAIRN_UNWIND_LOCAL_FAST_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum cairn_fast_deref { CAIRN_FAST_NO_DEREF, CAIRN_FAST_BY_SP, CAIRN_FAST_BY_FP };

#endif /* CAIRN_UNWIND_LOCAL_FAST_RULE_H */

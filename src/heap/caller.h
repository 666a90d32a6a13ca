/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Caller: the frame that called the function in which this is written: where it goes on, its stack
 * pointer there, and its frame pointer, which a frame of our own keeps where it points to (x86-64:
 * the psABI's chain; aarch64: AAPCS64 6.4.6). On arm any of r4 to r11 may be needed, and a compiler
 * uses them before we see them: 0, and the walk finds them by way of our own frames.
 */
#ifndef CAIRN_HEAP_CALLER_H
#define CAIRN_HEAP_CALLER_H

#include "unwind/local.h"

#ifdef __arm__
#define CAIRN_HEAP_CALLER_FP 0
#elif defined(CAIRN_HEAP_FIXED_FP)
/* The compiler was told to leave the register alone (x86-64): so that the function in which this is
 * written needs no frame for it. It is the caller's then, or points to a frame of our own. */
__attribute__((always_inline)) static inline uintptr_t cairn_heap_caller_fp(uintptr_t sp)
{
    uintptr_t fp;
    __asm__ volatile("mov %%rbp, %0" : "=r"(fp));
    return __builtin_expect(fp == sp - 2 * sizeof(fp), 0) ? *(const uintptr_t *)fp : fp;
}
#define CAIRN_HEAP_CALLER_FP cairn_heap_caller_fp((uintptr_t)__builtin_dwarf_cfa())
#else
#define CAIRN_HEAP_CALLER_FP *(const uintptr_t *)__builtin_frame_address(0)
#endif

#define CAIRN_HEAP_CALLER                                                                          \
    {                                                                                              \
        (uintptr_t) __builtin_extract_return_addr(__builtin_return_address(0)),                    \
            (uintptr_t)__builtin_dwarf_cfa(), CAIRN_HEAP_CALLER_FP                                 \
    }

#endif /* CAIRN_HEAP_CALLER_H */

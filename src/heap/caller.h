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
#else
#define CAIRN_HEAP_CALLER_FP *(const uintptr_t *)__builtin_frame_address(0)
#endif

#define CAIRN_HEAP_CALLER                                                                          \
    {                                                                                              \
        (uintptr_t) __builtin_extract_return_addr(__builtin_return_address(0)),                    \
            (uintptr_t)__builtin_dwarf_cfa(), CAIRN_HEAP_CALLER_FP                                 \
    }

#endif /* CAIRN_HEAP_CALLER_H */

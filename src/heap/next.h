/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Next: the function that an interposed one stands before. In libcairn-heap alone.
 */
#ifndef CAIRN_HEAP_NEXT_H
#define CAIRN_HEAP_NEXT_H

#include "unwind/loader.h"

/* `name` of the struct `real`, looked for by that name at the first call; NULL: no library behind
 * this one has it. Two threads that look at once find the same. */
#define CAIRN_HEAP_NEXT(real, name)                                                                \
    ({                                                                                             \
        __typeof__((real).name) found_ = __atomic_load_n(&(real).name, __ATOMIC_RELAXED);          \
        if (__builtin_expect(!found_, 0)) {                                                        \
            found_ = (__typeof__((real).name))cairn_loader_next(#name);                            \
            __atomic_store_n(&(real).name, found_, __ATOMIC_RELAXED);                              \
        }                                                                                          \
        found_;                                                                                    \
    })

#endif /* CAIRN_HEAP_NEXT_H */

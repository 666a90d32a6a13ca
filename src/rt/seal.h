/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Seal: which system calls may still be made. A process that has locked itself in by seccomp(2) may
 * be killed by any that its filter does not have. What needs one then fails, as if the kernel had
 * refused it. A seal is never taken off: neither is a filter.
 */
#ifndef CAIRN_RT_SEAL_H
#define CAIRN_RT_SEAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rt/mine.h"

enum cairn_seal {
    CAIRN_SEAL_NONE,   /* all of them */
    CAIRN_SEAL_FILTER, /* what each malloc needs: mmap, munmap, futex */
    CAIRN_SEAL_STRICT  /* none: SECCOMP_MODE_STRICT */
};

/* The kind in the lowest bits, and above how often one was asked for: so that who was refused takes
 * back no other thread's. */
enum { CAIRN_SEAL_KIND = 3, CAIRN_SEAL_ATTEMPT = 4 };
extern atomic_uint cairn_seal __attribute__((visibility("hidden")));

/* The child of vfork(2) that this thread waits for has sealed itself alone: the number of its
 * process. 0: none. */
#ifdef CAIRN_NO_TLS
#define cairn_seal_of_child (cairn_mine()->seal_of_child)
#else
extern _Thread_local uint32_t cairn_seal_of_child
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
#endif

static inline unsigned cairn_seal_kind(void)
{
    return atomic_load_explicit(&cairn_seal, memory_order_relaxed) & CAIRN_SEAL_KIND;
}

static inline bool cairn_seal_forbids_files(void)
{
    return __builtin_expect(cairn_seal_kind() != CAIRN_SEAL_NONE, 0);
}

static inline bool cairn_seal_forbids_maps(void)
{
    return __builtin_expect(cairn_seal_kind() == CAIRN_SEAL_STRICT, 0);
}

#endif /* CAIRN_RT_SEAL_H */

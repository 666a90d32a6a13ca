/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_BASE_CLOCK_H
#define CAIRN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

enum { CAIRN_NS_PER_MS = 1000000 };

static inline uint64_t cairn_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t cairn_now_ns(void)
{
    return cairn_clock_ns(CLOCK_MONOTONIC);
}

#endif /* CAIRN_BASE_CLOCK_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Memory: somebody's memory as a stack walk reads it: this process's, another one's, a core file's,
 * a copy of a stack. What reads it decides; who asks gets words or "no".
 */
#ifndef CAIRN_BASE_MEMORY_H
#define CAIRN_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_memory {
    /* All of [va, va + size) into `to`, or false and nothing that counts. Never crashes. */
    bool (*read)(void *ctx, uint64_t va, void *to, size_t size);
    void *ctx;
};

#endif /* CAIRN_BASE_MEMORY_H */

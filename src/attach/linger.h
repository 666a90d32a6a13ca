/* SPDX-License-Identifier: MIT */
/* Linger: whether a thread of a process may stand at places that nothing leads to any more. */
#ifndef CAIRN_ATTACH_LINGER_H
#define CAIRN_ATTACH_LINGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Waits until each thread was seen asleep somewhere else than in [va, va + bytes) of each place, or
 * has run on for a while. False: not all were within `timeout_ms`. */
bool cairn_linger_away(int pid, const uint64_t *vas, size_t n, uint64_t bytes, int timeout_ms);

#endif /* CAIRN_ATTACH_LINGER_H */

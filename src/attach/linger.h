/* SPDX-License-Identifier: MIT */
/* Linger: whether a thread of a process may stand at places that nothing leads to any more. */
#ifndef CAIRN_ATTACH_LINGER_H
#define CAIRN_ATTACH_LINGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Waits until each thread was seen somewhere else than in [va, va + bytes) of each place. Those
 * that run are held for that, one at a time. False: not all were within `timeout_ms`. All calls
 * come from the thread of the caller that holds others (hold.h). */
bool cairn_linger_away(int pid, const uint64_t *vas, size_t n, uint64_t bytes, int timeout_ms);

#endif /* CAIRN_ATTACH_LINGER_H */

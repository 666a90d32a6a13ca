/* SPDX-License-Identifier: MIT */
/*
 * Frames: call frame information of islands, for stacks that are walked while a thread is in moved
 * code: from a signal handler. Registered with libgcc's unwinder (__register_frame).
 */
#ifndef CAIRN_EMBED_FRAMES_H
#define CAIRN_EMBED_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/hook.h>

enum { CAIRN_EMBED_FRAMES_MAX = 256 };

/* One CIE and one FDE, and a zero behind them (LSB Core, Exception Frames). `original` are the
 * moved instructions, `low` the island. Returns its bytes; 0: the moved code changes the stack
 * pointer in a way that is not followed. */
size_t cairn_embed_frames_write(const struct cairn_hook_copy *copy, const uint8_t *original,
                                uint64_t low, uint64_t copy_va,
                                uint8_t ret_bytes[CAIRN_EMBED_FRAMES_MAX]);

/* For good. False: there is no memory, or no libgcc in the process. */
bool cairn_embed_frames_register(const uint8_t *bytes, size_t n);

#endif /* CAIRN_EMBED_FRAMES_H */

/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local: a capture for who keeps stacks and wants to know what is new since the thread's last one:
 * the heap tracker. The addresses are not copied: they lie where the walk remembers them.
 *
 *     frames: [0] innermost ... [n - n_shared) | [n - n_shared) ... [n) outermost
 *                     new or changed           | as in the capture before, word for word
 *
 * Frame k from the outermost on is the same one as at the last capture if k < n_shared: what was
 * reckoned of it then (a hash of the frames up to it, the number of a stack) still holds.
 */
#ifndef CAIRN_UNWIND_LOCAL_H
#define CAIRN_UNWIND_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_local_frame {
    uintptr_t ret, sp; /* what its callee returns to, and the stack pointer there */
    uintptr_t fp;      /* the frame pointer there; only where needs_fp */
    uint32_t rule;
    uint16_t n_words; /* of the state's words[]: those read from this frame on outwards */
    bool needs_fp;    /* the way outwards depends on the frame pointer that this frame has */
};

struct cairn_local_capture {
    const struct cairn_local_frame *frames; /* until the thread's next capture; `ret` counts */
    uint32_t n, n_shared;
    int end; /* enum cairn_unwind_end */
};

/* A frame as its callee finds it: the address it is returned to, its stack pointer there, and its
 * frame pointer. */
struct cairn_local_frame_at {
    uintptr_t ret, sp, fp;
};

/* The stack of the calling thread from `at` on outwards. False: nothing was captured, because a
 * capture of this thread is interrupted by this one, or there is no memory. The caller may hold its
 * own data of a capture in the thread, but not between two threads. Signal-safe.
 *
 * Stacks that only the other walk can do (local_slow.h), and those of more than CAIRN_MAX_FRAMES,
 * come with n_shared = 0. */
bool cairn_local_capture(const struct cairn_local_frame_at *at,
                         struct cairn_local_capture *ret_capture);

struct cairn_unwind_info;
/* Where the caller wants to know how its frames were found; NULL: nowhere. Accepts NULL. */
uint8_t *cairn_local_how_of(const struct cairn_unwind_info *info);
/* As much as its .size has room for. */
void cairn_local_set_info(int end, uint32_t n_guessed, struct cairn_unwind_info *ret_info);

/* cairn_unwind_here() and cairn_unwind_frame_pointers() by the names that their entries in assembly
 * jump to. */
size_t cairn_local_here(uintptr_t *ret_ips, size_t max, void *ret_info, uintptr_t ret, uintptr_t sp,
                        uintptr_t fp);
size_t cairn_local_frame_pointers(uintptr_t *ret_ips, size_t max, void *ret_info, uintptr_t ret,
                                  uintptr_t sp, uintptr_t fp);

#endif /* CAIRN_UNWIND_LOCAL_H */

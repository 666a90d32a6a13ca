/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Local: a capture for who keeps stacks and wants to know what is new since the thread's last one:
 * the heap tracker. The addresses are not copied: they lie where the walk remembers them.
 *
 *     frames: [0] innermost ... [n - n_shared) | [n - n_shared) ... [n) outermost
 *                       new or changed         | as in the capture before
 *
 * Frame k from the outermost on is the same one as at the last capture if k < n_shared: what was
 * reckoned of it then (a hash of the frames up to it, the number of a stack) still holds.
 */
#ifndef CAIRN_UNWIND_LOCAL_H
#define CAIRN_UNWIND_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame of the last walk. 16 bytes, four to a cache line: a capture in a program that has better
 * things in its caches is as slow as the lines that it touches are many. */
struct cairn_local_frame {
    uintptr_t ret; /* what its callee returns to, as it lies on the stack: the frame's address, but
                      for pointer authentication on aarch64 and the Thumb bit on arm */
    uint32_t slot; /* where that lies: bytes from the state's base; enum cairn_local_asks */
    uint32_t rule; /* and above it CAIRN_LOCAL_NEEDS_FP */
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

/* The stack of the calling thread from `at` on outwards, at most CAIRN_MAX_FRAMES. False: nothing
 * was captured, because a capture of this thread is interrupted by this one, or there is no memory.
 * Signal-safe.
 *
 * Whose frame is shared is counted from the last capture of this kind, whatever the other walks of
 * the thread did in between. n_shared is 0 where only the walk of local_slow.h can do the stack,
 * and where it was cut at CAIRN_MAX_FRAMES at another frame than last time. */
bool cairn_local_capture(const struct cairn_local_frame_at *at,
                         struct cairn_local_capture *ret_capture);

/* The same where the stack lies as at the last capture of this kind, perhaps at other calls and in
 * other frames within. n 0: it does not, or that takes longer to tell, and nothing was captured. */
struct cairn_local_again {
    const struct cairn_local_frame *frames;
    union {
        struct {
            uint32_t n, n_shared; /* its end is CAIRN_END_OUTERMOST */
        };
        uint64_t both; /* of them, to be compared at once; never 0 */
    };
};
#define CAIRN_LOCAL_NOT_AGAIN ((struct cairn_local_again){NULL, .n_shared = 1})
struct cairn_local_again cairn_local_again(uintptr_t ret, uintptr_t sp, uintptr_t fp);

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

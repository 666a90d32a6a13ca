/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Guard: a replacement that is not called again by what it calls itself, in the same thread
 * (CAIRN_HOOK_GUARDED). The guard is a frame of its own between the caller and the replacement. It
 * hands on the registers and the first CAIRN_EMBED_STACK_BYTES of arguments on the stack.
 *
 *     caller ─► island ─► thunk ─► cairn_embed_guard ─┬─ first one: replacement, and back
 *                                                     └─ inside of it: jump to the hook's gate
 *
 * Frames of one thread are a list on its stack.
 */
#ifndef CAIRN_EMBED_GUARD_H
#define CAIRN_EMBED_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct cairn_hook;

enum { CAIRN_EMBED_STACK_BYTES = 128, CAIRN_EMBED_INSIDE = -1 };

/* At the frame pointer of cairn_embed_guard minus its size. The assembly knows the layout. */
struct cairn_embed_guard_frame {
    struct cairn_embed_guard_frame *outer;
    struct cairn_hook *hook;
    void *replacement, *gate; /* of the hook, as they were at the call */
};

/* Assembly; entered by a jump with the hook in r11 (x86-64) or x17 (aarch64). */
void cairn_embed_guard(void);

/* Notes the call. Returns the bytes of arguments on the stack, from `arguments` on, that can be
 * handed on; CAIRN_EMBED_INSIDE: the thread is in the hook's replacement already. */
long cairn_embed_guard_enter(struct cairn_embed_guard_frame *frame, const void *arguments);
void cairn_embed_guard_leave(struct cairn_embed_guard_frame *frame);

/* The personality routine of cairn_embed_guard (Itanium C++ ABI, exception handling, 1.6.3): an
 * exception that leaves the replacement ends its call. */
int cairn_embed_guard_unwind(int version, int actions, uint64_t kind, void *exception,
                             void *context);

#endif /* CAIRN_EMBED_GUARD_H */

/* SPDX-License-Identifier: MIT */
/* Woven: the native frames of a thread and those of its interpreters as one list. The interpreters'
 * are frames of a profile, with their names. */
#ifndef CAIRN_TARGET_WOVEN_H
#define CAIRN_TARGET_WOVEN_H

#include "profile/profile.h"
#include "target/guests.h"

/* One frame of the list. */
struct cairn_woven {
    const struct cairn_guest_frame *frame; /* of an interpreter; NULL: a native one */
    uint32_t number;                       /* of the profile, for a frame of an interpreter. The
                                              frames that are inlined into it are its first lines */
    uint32_t native;                       /* index of the native frame */
    bool own;                              /* it is an interpreter's own code */
};

/* A negative code ends the list and is returned. */
typedef int (*cairn_woven_fn)(void *ctx, const struct cairn_woven *woven);

/* Calls `fn` for each frame of the last read, innermost first. Without states of interpreters it
 * calls it for none. CAIRN_E_NOMEM; CAIRN_E_LIMIT where the profile takes no more frames. */
int cairn_target_guests_weave(const struct cairn_target_guests *guests,
                              struct cairn_profile *profile, cairn_woven_fn fn, void *ctx);

#endif /* CAIRN_TARGET_WOVEN_H */

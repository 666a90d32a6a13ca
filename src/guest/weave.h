/* SPDX-License-Identifier: MIT */
/*
 * Weave: native frames and those of interpreters as one list, innermost first. A frame of an
 * interpreter stands before the native frame of its place.
 */
#ifndef CAIRN_GUEST_WEAVE_H
#define CAIRN_GUEST_WEAVE_H

#include "guest/guest.h"

struct cairn_guest_item {
    bool is_guest;
    uint32_t index; /* of thread->natives or result->frames */
};

/* All-zero stands at the innermost frame. */
struct cairn_guest_weave {
    uint32_t native, guest; /* how many were given */
};

/* False: there are no more. */
static inline bool cairn_guest_weave_next(struct cairn_guest_weave *weave, size_t n_natives,
                                          const struct cairn_guest_result *result,
                                          struct cairn_guest_item *ret_item)
{
    bool is_guest =
        weave->guest < result->n_frames &&
        (result->frames[weave->guest].place <= weave->native || weave->native >= n_natives);
    if (!is_guest && weave->native >= n_natives)
        return false;
    *ret_item = (struct cairn_guest_item){
        .is_guest = is_guest,
        .index = is_guest ? weave->guest++ : weave->native++,
    };
    return true;
}

#endif /* CAIRN_GUEST_WEAVE_H */

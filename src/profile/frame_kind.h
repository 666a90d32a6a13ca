/* SPDX-License-Identifier: MIT */
/* Frame kind: how a walk found a frame, as profiles tell it. */
#ifndef CAIRN_PROFILE_FRAME_KIND_H
#define CAIRN_PROFILE_FRAME_KIND_H

#include <cairn/profile.h>
#include <cairn/unwind.h>

static inline enum cairn_frame_kind cairn_frame_kind_of(enum cairn_frame_how how)
{
    switch (how) {
    case CAIRN_HOW_FP:
        return CAIRN_FRAME_POINTER;
    case CAIRN_HOW_FP_GUESS:
    case CAIRN_HOW_CODE:
        return CAIRN_FRAME_GUESSED;
    default:
        return CAIRN_FRAME_CFI;
    }
}

#endif /* CAIRN_PROFILE_FRAME_KIND_H */

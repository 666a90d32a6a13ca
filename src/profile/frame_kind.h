/* SPDX-License-Identifier: MIT */
/* Frame kind: the one letter that stands for what a frame is and how it was found, in files and for
 * printers. */
#ifndef CAIRN_PROFILE_FRAME_KIND_H
#define CAIRN_PROFILE_FRAME_KIND_H

#include <cairn/profile.h>

#include "profile/profile.h"

static inline enum cairn_frame_kind cairn_frame_kind_of(const struct cairn_profile_frame *frame)
{
    switch ((enum cairn_frame_what)frame->what) {
    case CAIRN_WHAT_KERNEL:
        return CAIRN_FRAME_KERNEL;
    case CAIRN_WHAT_JIT:
        return CAIRN_FRAME_JIT;
    case CAIRN_WHAT_INTERPRETED:
        return frame->language == CAIRN_LANGUAGE_LUA ? CAIRN_FRAME_LUA : CAIRN_FRAME_UNKNOWN;
    case CAIRN_WHAT_INLINED:
        return CAIRN_FRAME_INLINED;
    case CAIRN_WHAT_MARKER:
        return CAIRN_FRAME_UNKNOWN;
    case CAIRN_WHAT_NATIVE:
        break;
    }
    if (frame->own)
        return CAIRN_FRAME_OWN;
    if (cairn_frame_is_guess(frame->how))
        return CAIRN_FRAME_GUESSED;
    if (frame->how == CAIRN_HOW_TEXT)
        return CAIRN_FRAME_UNKNOWN;
    return frame->how == CAIRN_HOW_FP ? CAIRN_FRAME_POINTER : CAIRN_FRAME_CFI;
}

/* The other way. What a letter does not tell, such as how a frame of the kernel was found, is told
 * as CAIRN_HOW_TEXT does. False: a letter of a later version, and nothing is set. */
static inline bool cairn_frame_set_kind(struct cairn_profile_frame *frame, unsigned char letter)
{
    static const struct {
        unsigned char letter, what, how, language;
    } rows[] = {
        {CAIRN_FRAME_UNKNOWN, CAIRN_WHAT_NATIVE, CAIRN_HOW_TEXT, 0},
        {CAIRN_FRAME_KERNEL, CAIRN_WHAT_KERNEL, CAIRN_HOW_TEXT, 0},
        {CAIRN_FRAME_CFI, CAIRN_WHAT_NATIVE, CAIRN_HOW_CFI, 0},
        {CAIRN_FRAME_POINTER, CAIRN_WHAT_NATIVE, CAIRN_HOW_FP, 0},
        {CAIRN_FRAME_GUESSED, CAIRN_WHAT_NATIVE, CAIRN_HOW_FP_GUESS, 0},
        {CAIRN_FRAME_JIT, CAIRN_WHAT_JIT, CAIRN_HOW_TEXT, 0},
        {CAIRN_FRAME_OWN, CAIRN_WHAT_NATIVE, CAIRN_HOW_CFI, 0},
        {CAIRN_FRAME_LUA, CAIRN_WHAT_INTERPRETED, CAIRN_HOW_INTERPRETER, CAIRN_LANGUAGE_LUA},
        {CAIRN_FRAME_INLINED, CAIRN_WHAT_INLINED, CAIRN_HOW_TEXT, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].letter != letter)
            continue;
        frame->what = rows[i].what;
        frame->how = rows[i].how;
        frame->language = rows[i].language;
        frame->own = letter == CAIRN_FRAME_OWN;
        return true;
    }
    return false;
}

#endif /* CAIRN_PROFILE_FRAME_KIND_H */

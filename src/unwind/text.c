/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Words for how a frame was found and why a walk ended. */
#include <cairn/unwind.h>

CAIRN_API const char *cairn_unwind_end_text(int end)
{
    static const char *const texts[] = {
        [CAIRN_END_OUTERMOST] = "outermost",
        [CAIRN_END_MAX_FRAMES] = "frame limit",
        [CAIRN_END_NO_MODULE] = "no module",
        [CAIRN_END_NO_RULE] = "no rule",
        [CAIRN_END_BAD_CFA] = "bad CFA",
        [CAIRN_END_UNREADABLE] = "unreadable",
        [CAIRN_END_LOOP] = "loop",
        [CAIRN_END_DAMAGED] = "damaged",
        [CAIRN_END_BUSY] = "busy",
        [CAIRN_END_TIMEOUT] = "timeout",
        [CAIRN_END_NO_REGISTER] = "no register",
        [CAIRN_END_NO_THREAD] = "no thread",
        [CAIRN_END_SWITCHED] = "called on another stack",
    };
    return end >= 0 && (size_t)end < sizeof(texts) / sizeof(*texts) ? texts[end] : "?";
}

CAIRN_API const char *cairn_frame_how_text(int how)
{
    static const char *const texts[] = {
        [CAIRN_HOW_START] = "start",       [CAIRN_HOW_CFI] = "cfi",
        [CAIRN_HOW_EXIDX] = "exidx",       [CAIRN_HOW_PLT] = "plt",
        [CAIRN_HOW_SIGNAL] = "signal",     [CAIRN_HOW_LINK] = "link",
        [CAIRN_HOW_FP_GUESS] = "fp guess", [CAIRN_HOW_FP] = "fp",
        [CAIRN_HOW_CODE] = "code guess",   [CAIRN_HOW_DERIVED] = "code",
    };
    return how >= 0 && (size_t)how < sizeof(texts) / sizeof(*texts) ? texts[how] : "?";
}

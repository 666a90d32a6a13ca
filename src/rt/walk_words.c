/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/* Words for how a frame was found and why a walk ended. */
#include <stddef.h>

#include <cairn/frame.h>
#include <cairn/unwind_end.h>

#include "rt/end_words.h"

struct cairn_end_words cairn_end_words(int end)
{
    static const struct cairn_end_words words[CAIRN_ENDS] = {
        [CAIRN_END_OUTERMOST] = {"outermost", false},
        [CAIRN_END_MAX_FRAMES] = {"deeper than the frame limit", false},
        [CAIRN_END_NO_MODULE] = {"address outside of known code", false},
        [CAIRN_END_NO_RULE] = {"no unwind rule", true},
        [CAIRN_END_BAD_CFA] = {"stack does not rise", true},
        [CAIRN_END_UNREADABLE] = {"stack not readable", true},
        [CAIRN_END_LOOP] = {"the same frame again", true},
        [CAIRN_END_DAMAGED] = {"damaged unwind rule", true},
        [CAIRN_END_BUSY] = {"no memory or no turn to walk", false},
        [CAIRN_END_TIMEOUT] = {"no answer in time", false},
        [CAIRN_END_NO_REGISTER] = {"the unwind rule needs an unknown register", true},
        [CAIRN_END_NO_THREAD] = {"no such thread", false},
        [CAIRN_END_SWITCHED] = {"called on another stack", true},
        [CAIRN_END_NO_POINTER] = {"no frame pointer", true},
        [CAIRN_END_OUTSIDE] = {"frame pointer leads outside code", false},
        [CAIRN_END_COPY] = {"stack larger than the copy", false},
        [CAIRN_END_NO_USER] = {"no user stack", false},
        [CAIRN_END_KERNEL] = {"no user stack", false},
        [CAIRN_END_NEW] = {"program not known yet", false},
        [CAIRN_END_NO_ROOM] = {"no room for the unwind table", true},
        [CAIRN_END_32_BIT] = {"32-bit program", false},
        [CAIRN_END_SIGNAL_STACK] = {"the handler of a signal has a stack of its own", false},
        [CAIRN_END_NOT_COPIED] = {"too many stacks to copy at once", false},
        [CAIRN_END_SPENT] = {"copy not walked, to keep the recorder below a fifth of a CPU", false},
        [CAIRN_END_UPROBE] = {"address replaced by a uprobe", false},
    };
    return end >= 0 && end < CAIRN_ENDS ? words[end] : (struct cairn_end_words){"?", false};
}

CAIRN_API const char *cairn_unwind_end_text(int end)
{
    return cairn_end_words(end).text;
}

CAIRN_API const char *cairn_frame_how_text(int how)
{
    static const char *const texts[] = {
        [CAIRN_HOW_START] = "start",       [CAIRN_HOW_CFI] = "cfi",
        [CAIRN_HOW_EXIDX] = "exidx",       [CAIRN_HOW_PLT] = "plt",
        [CAIRN_HOW_SIGNAL] = "signal",     [CAIRN_HOW_LINK] = "link",
        [CAIRN_HOW_FP_GUESS] = "fp guess", [CAIRN_HOW_FP] = "fp",
        [CAIRN_HOW_CODE] = "code guess",   [CAIRN_HOW_DERIVED] = "code",
        [CAIRN_HOW_KERNEL] = "kernel",     [CAIRN_HOW_INTERPRETER] = "interpreter",
        [CAIRN_HOW_TEXT] = "text",         [CAIRN_HOW_TEXT_GUESS] = "text guess",
    };
    return how >= 0 && (size_t)how < sizeof(texts) / sizeof(*texts) ? texts[how] : "?";
}

/* SPDX-License-Identifier: MIT */
/* End words: why a walk ended, in words: the one table of them, for every command and format. */
#ifndef CAIRN_RT_END_WORDS_H
#define CAIRN_RT_END_WORDS_H

#include <stdbool.h>

#include <cairn/unwind_end.h>

struct cairn_end_words {
    const char *text; /* never NULL; "?" for a value of a later version */
    bool has_place;   /* the outermost frame's module says more: " in MODULE" may follow */
};

/* Static; signal-safe. */
struct cairn_end_words cairn_end_words(int end);

#endif /* CAIRN_RT_END_WORDS_H */

/* SPDX-License-Identifier: MIT */
/* Cut words: why a stack ends early, as the label cairn.cut and the quality line say it. */
#ifndef CAIRN_SAMPLE_CUT_WORDS_H
#define CAIRN_SAMPLE_CUT_WORDS_H

#include "sample/collect.h"

enum { CAIRN_CUT_WORDS_BYTES = 320 };

/* Of the walk that collect->walk has; false where its stack is whole. */
bool cairn_cut_words(struct cairn_collect *collect, struct cairn_space *space, char *out,
                     size_t size);

#endif /* CAIRN_SAMPLE_CUT_WORDS_H */

/* SPDX-License-Identifier: MIT */
/* One line of a symbol list, cut into words: text is foreign, no read leaves its span. */
#ifndef CAIRN_SYMLIST_LINE_H
#define CAIRN_SYMLIST_LINE_H

#include <stdbool.h>

#include "base/span.h"

/* Takes the next line off the front, without its line break; false at the end of the text. */
bool cairn_list_line_next(struct cairn_span *text, struct cairn_span *ret_line);

/* Takes the next word off the front; empty at the end of the line. */
struct cairn_span cairn_list_word(struct cairn_span *line);

/* What is left without blanks around it, and at most up to a NUL. */
struct cairn_span cairn_list_rest(struct cairn_span line);

/* The word as a number in hex, with or without 0x. */
bool cairn_list_hex(struct cairn_span word, uint64_t *ret_value);

#endif /* CAIRN_SYMLIST_LINE_H */

/* SPDX-License-Identifier: MIT */
/*
 * Names come from other people's binaries. These make them harmless where they are shown: every
 * function appends to a buffer and passes sound UTF-8 through.
 *
 * Terminal: C0 and C1 controls, DEL, bidirectional overrides (U+202A..2E, U+2066..69), line and
 * paragraph separators and bytes that are no UTF-8 come out as \xHH or \u{HHHH}.
 * Markup: & < > " ' as entities; what XML 1.0 forbids as U+FFFD.
 * JSON: RFC 8259; also < > & and U+2028/9 as \uHHHH, so that it may stand inside <script>, DEL and
 * C1 controls, so that it may be looked at; bytes that are no UTF-8 as U+FFFD.
 */
#ifndef CAIRN_BASE_ESCAPE_H
#define CAIRN_BASE_ESCAPE_H

#include "base/buffer.h"

void cairn_escape_terminal(struct cairn_buffer *b, const char *text, size_t size);
void cairn_escape_markup(struct cairn_buffer *b, const char *text, size_t size);
void cairn_escape_json(struct cairn_buffer *b, const char *text, size_t size); /* without quotes */

/* One frame of a collapsed stack: ';' becomes ':', line breaks and NUL become ' '; nothing else is
 * changed, for the text is data until it is shown. */
void cairn_escape_collapsed(struct cairn_buffer *b, const char *text, size_t size);

/* Length in bytes of the UTF-8 sequence at `text` and its code point, or 0 where there is none. */
unsigned cairn_utf8_next(const char *text, size_t size, uint32_t *ret_rune);

#endif /* CAIRN_BASE_ESCAPE_H */

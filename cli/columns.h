/* SPDX-License-Identifier: MIT */
/* Columns: how much of a terminal's line a text takes, and texts cut to fit into one. UTF-8 is
 * never cut inside a character; a byte that is none counts as one column. */
#ifndef CAIRN_CLI_COLUMNS_H
#define CAIRN_CLI_COLUMNS_H

#include "base/buffer.h"

unsigned cli_columns(const char *text, size_t size);

/* `text` in at most `width` columns, of which there is at least one, its middle cut out where that
 * must be; returns the columns taken. Escape what is hostile first. */
unsigned cli_add_cut(struct cairn_buffer *b, const char *text, size_t size, unsigned width);

void cli_add_blanks(struct cairn_buffer *b, unsigned n);

/* Plain ASCII, such as a number, with blanks before it. */
void cli_add_right(struct cairn_buffer *b, const char *text, unsigned width);

#endif /* CAIRN_CLI_COLUMNS_H */

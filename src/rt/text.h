/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Text: lines to a file descriptor without stdio, for who may not call malloc.
 *
 * What others named is escaped: everything but printable ASCII comes out as \xHH, and a backslash
 * as two, so that a name can neither move a terminal's cursor nor begin a line of its own.
 */
#ifndef CAIRN_RT_TEXT_H
#define CAIRN_RT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_TEXT_BYTES = 1024 };

/* Zero but for `fd` at first. What does not fit is written out and begins anew. */
struct cairn_text {
    int fd;
    bool failed; /* a write failed: nothing more is written */
    size_t n;
    char bytes[CAIRN_TEXT_BYTES];
};

void cairn_text_put(struct cairn_text *text, const char *plain);
void cairn_text_put_name(struct cairn_text *text, const char *name);
/* With spaces behind, up to `width` characters. */
void cairn_text_put_decimal(struct cairn_text *text, uint64_t value, unsigned width);
/* "0x", and at least `digits` digits. */
void cairn_text_put_hex(struct cairn_text *text, uint64_t value, unsigned digits);
enum { CAIRN_TEXT_HEX_BYTES = 16 };
/* The digits alone, without a NUL: how many there are. */
size_t cairn_text_hex(uint64_t value, char *ret_digits);
/* Writes out what there is: all of it, or `failed`. */
void cairn_text_flush(struct cairn_text *text);

#endif /* CAIRN_RT_TEXT_H */

/* SPDX-License-Identifier: MIT */
/*
 * Colours: the hue says what kind of code a frame is, the shade within it which function. A
 * function has the same shade in every picture of every run.
 */
#ifndef CAIRN_PICTURE_PALETTE_H
#define CAIRN_PICTURE_PALETTE_H

#include <stdbool.h>
#include <stdint.h>

enum cairn_palette_kind {
    CAIRN_PALETTE_NATIVE,
    CAIRN_PALETTE_INLINED,
    CAIRN_PALETTE_KERNEL,
    CAIRN_PALETTE_LUA,
    CAIRN_PALETTE_OWN, /* native code of an interpreter */
    CAIRN_PALETTE_JIT,
    CAIRN_PALETTE_GUESSED,
    CAIRN_PALETTE_UNNAMED,
    CAIRN_PALETTE_ROOT,
    CAIRN_PALETTE_KINDS
};

enum { CAIRN_PALETTE_SHADES = 12 };

/* "native", "guessed": one word, static. */
const char *cairn_palette_kind_name(enum cairn_palette_kind kind);

/* 0 to CAIRN_PALETTE_SHADES - 1, by the text alone. */
uint8_t cairn_palette_shade(const char *name);

/* 0xRRGGBB, to be read under dark text, or under light text where `dark`. */
uint32_t cairn_palette_rgb(enum cairn_palette_kind kind, uint8_t shade, bool dark);

#endif /* CAIRN_PICTURE_PALETTE_H */

/* SPDX-License-Identifier: MIT */
/*
 * Looks: what frames look like. Frames of a profile are addresses; in a picture all addresses of a
 * function are one thing, and a frame with inlined lines is several:
 *
 *     frame 0x4711: get() inlined into find() inlined into main()   ─►   main, find, get
 *
 * Two frames have the same look if name, file, module and kind are the same. Looks are numbered in
 * the order of their names, so that to sort frames is to sort numbers.
 */
#ifndef CAIRN_PICTURE_LOOK_H
#define CAIRN_PICTURE_LOOK_H

#include <cairn/error.h>

#include "base/buffer.h"
#include "base/strings.h"
#include "picture/palette.h"
#include "profile/profile.h"

/* How the frames of a look were found: several ways may be true of one function. */
enum cairn_look_found {
    CAIRN_FOUND_CFI = 1,
    CAIRN_FOUND_POINTER = 2,
    CAIRN_FOUND_GUESSED = 4,
    CAIRN_FOUND_JIT = 8,
    CAIRN_FOUND_LUA = 16,
    CAIRN_FOUND_KERNEL = 32,
};

enum cairn_look_flag {
    CAIRN_LOOK_FOLDED = 1,      /* several functions share these bytes: the name is one of theirs */
    CAIRN_LOOK_MANY_BUILDS = 2, /* its module is there in several builds; `build` is one of them */
    CAIRN_LOOK_MANY_DEFINED = 4 /* of one name, defined in several lines; `defined` is the first */
};

struct cairn_look {
    uint32_t name, file, module;  /* in `texts`; safe to show: see base/escape.h, terminal */
    uint32_t short_name;          /* picture/short_name.h */
    uint32_t raw_file;            /* in the profile's strings: `file` as it was */
    uint32_t path, build;         /* of the module: where it lies, its build ID */
    uint32_t line_low, line_high; /* the lines that were sampled; 0: unknown */
    uint32_t defined;             /* the line of its definition; 0: unknown */
    uint8_t kind;                 /* enum cairn_palette_kind */
    uint8_t shade;
    uint8_t found; /* enum cairn_look_found, or-ed */
    uint8_t flags; /* enum cairn_look_flag, or-ed */
};

struct cairn_looks {
    struct cairn_strings texts;
    struct cairn_look *rows;
    size_t n, cap;
    uint32_t *first;     /* n_frames + 1: where a frame's looks begin in `of_frames` */
    uint32_t *of_frames; /* outermost first */
    size_t n_unnamed;    /* looks without a function name */
};

/* Adds a text of the profile, made safe to show, to `texts`; UINT32_MAX where memory is gone.
 * `scratch` is emptied first. */
uint32_t cairn_looks_add_text(struct cairn_strings *texts, struct cairn_buffer *scratch,
                              const char *text, size_t size);

/* CAIRN_E_NOMEM. */
int cairn_looks_build(const struct cairn_profile *profile, struct cairn_looks *ret_looks,
                      struct cairn_err *err);
void cairn_looks_done(struct cairn_looks *looks); /* all-zero is fine */

#endif /* CAIRN_PICTURE_LOOK_H */

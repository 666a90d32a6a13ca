/* SPDX-License-Identifier: MIT */
/*
 * Viewer: stacks as viewers of other projects want them, one row for each source frame.
 *
 *     profile   frame 0x4711 with lines get(), find(), main(), innermost first
 *     viewer    main  ─►  find, inlined  ─►  get, inlined twice: three frames, three rows of stacks
 *
 * A function is what a row of the report is (name, file, module), apart by library. Rows come into
 * being as they are asked for, so that only what samples reach is there, and a parent's number is
 * smaller than its child's. A stack that ends early has one more row at its root, with the reason.
 */
#ifndef CAIRN_FORMATS_VIEWER_H
#define CAIRN_FORMATS_VIEWER_H

#include "profile/profile.h"
#include "profile/rows.h"

enum { CAIRN_VIEWER_NONE = UINT32_MAX };

/* What a frame is, as a colour shows it. */
enum cairn_viewer_category {
    CAIRN_VIEWER_UNNAMED, /* a frame without a name */
    CAIRN_VIEWER_NATIVE,
    CAIRN_VIEWER_INLINED,
    CAIRN_VIEWER_KERNEL,
    CAIRN_VIEWER_JIT,
    CAIRN_VIEWER_INTERPRETED,
    CAIRN_VIEWER_GUESSED,
    CAIRN_VIEWER_CUT, /* no frame: why the stack ends early */
    CAIRN_VIEWER_CATEGORIES
};

struct cairn_viewer_lib {
    uint32_t path, build_id; /* strings of the profile */
};

/* Texts are numbers in `texts`; NONE where unknown. */
struct cairn_viewer_function {
    uint32_t name, file, lib;
    uint32_t line;   /* where it begins; 0: unknown */
    uint32_t symbol; /* NONE: no frame of it has an address in its library */
};

struct cairn_viewer_symbol {
    uint32_t function;
    int64_t rel; /* the lowest address that the profile has of it */
};

struct cairn_viewer_frame {
    int64_t rel; /* address to look up, from the load base of the library; -1: unknown */
    uint32_t function, symbol;
    uint32_t line;  /* 0: unknown */
    uint16_t depth; /* how many frames of the same address are outside of it */
    uint8_t category;
};

struct cairn_viewer_stack {
    uint32_t frame, parent; /* NONE: it is a root */
};

struct cairn_viewer {
    const struct cairn_profile *p;
    struct cairn_strings texts;
    struct cairn_viewer_lib *libs;
    size_t n_libs, cap_libs;
    struct cairn_viewer_function *functions;
    size_t n_functions, cap_functions;
    struct cairn_viewer_symbol *symbols;
    size_t n_symbols, cap_symbols;
    struct cairn_viewer_frame *frames;
    size_t n_frames, cap_frames;
    struct cairn_viewer_stack *stacks;
    size_t n_stacks, cap_stacks;
    struct cairn_profile_rows rows;
    struct cairn_table known_functions; /* row and library to function */
    struct cairn_table known_libs;      /* path and build ID to library */
    struct cairn_table known_cut;       /* stack and reason to stack row */
    uint32_t *lib_of_module;            /* plus 1; 0: not yet known */
    uint32_t *frame_of;                 /* by frame: its outermost frame plus 1; 0: not yet */
    uint32_t *stack_of;                 /* by stack that is not cut: its row plus 1; 0: not yet */
    uint32_t *path;                     /* stacks on the way to a known one */
    size_t cap_path;
};

/* CAIRN_E_NOMEM. `p` is borrowed. */
int cairn_viewer_open(const struct cairn_profile *p, struct cairn_viewer *ret_viewer,
                      struct cairn_err *err);
void cairn_viewer_done(struct cairn_viewer *viewer); /* all-zero is fine */

/* The row of a stack's leaf. `cut` is the reason, a string of the profile, or 0. A stack without
 * frames has the row "[no stack]". NONE where memory is gone. */
uint32_t cairn_viewer_stack(struct cairn_viewer *viewer, uint32_t stack, uint32_t cut);

/* The same for each sample that has a value. False where memory is gone. */
bool cairn_viewer_take_samples(struct cairn_viewer *viewer);

/* The same for one that was asked for before; NONE for others. */
uint32_t cairn_viewer_find(const struct cairn_viewer *viewer, uint32_t stack, uint32_t cut);

/* The row of such a sample's leaf; NONE of one without a value. */
uint32_t cairn_viewer_of_sample(const struct cairn_viewer *viewer, size_t sample);

/* The library of a module, NONE for memory without a file or where memory is gone (then *io_ok is
 * false); and an address in it, -1 where its load base is unknown. For viewer.c. */
uint32_t cairn_viewer_lib_of(struct cairn_viewer *viewer, uint32_t module, bool *io_ok);
int64_t cairn_viewer_rel(const struct cairn_profile *p, uint32_t module, uint64_t va);

#endif /* CAIRN_FORMATS_VIEWER_H */

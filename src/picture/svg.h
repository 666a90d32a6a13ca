/* SPDX-License-Identifier: MIT */
#ifndef CAIRN_PICTURE_SVG_H
#define CAIRN_PICTURE_SVG_H

#include <cairn/picture.h>

#include "picture/layout.h"
#include "picture/out.h"

/* What both pictures are drawn from. */
struct cairn_picture_view {
    const struct cairn_profile *profile; /* in a comparison, both */
    size_t n_new;                        /* samples of it from here on are old; SIZE_MAX */
    const struct cairn_profile *of_side[CAIRN_SIDES]; /* as they were given; NULL: no such side */
    struct cairn_looks *looks;                        /* a page adds texts of its own */
    const struct cairn_layout *layout;
    const char *title;                    /* never NULL */
    const char *subtitle;                 /* never NULL */
    const char *old_title, *old_subtitle; /* never NULL */
    cairn_source_fn source;               /* NULL: no source is shown */
    void *source_ctx;
    const struct cairn_picture_line *lines;
    size_t n_lines;
    int64_t lines_start_ns;      /* 0: unknown */
    enum cairn_guest_view guest; /* HTML only: what is seen first */
    size_t value_type;           /* exists, unless the profile has no value types at all */
};

/* Draws to `out`; memory trouble shows when that is finished, too. CAIRN_E_NOMEM. */
int cairn_svg_draw(const struct cairn_picture_view *view, double min_percent, uint32_t width,
                   struct cairn_out *out, struct cairn_err *err);

#endif /* CAIRN_PICTURE_SVG_H */

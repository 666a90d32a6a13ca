/* SPDX-License-Identifier: MIT */
/* Markers: events that a page shows one by one, over its timeline. */
#ifndef CAIRN_PICTURE_MARKERS_H
#define CAIRN_PICTURE_MARKERS_H

#include "picture/meta.h"
#include "picture/rows.h"

/* The time of the earliest; 0: none has one. */
int64_t cairn_markers_first_ns(const struct cairn_profile *profile);

/* Their columns, which picture/html.c names, in order of time; those without a time are left out.
 * CAIRN_E_NOMEM. */
int cairn_markers_write(const struct cairn_picture_view *view, const struct cairn_row_sets *sets,
                        int64_t first_ns, struct cairn_out *out, struct cairn_err *err);

#endif /* CAIRN_PICTURE_MARKERS_H */

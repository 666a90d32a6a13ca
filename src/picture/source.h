/* SPDX-License-Identifier: MIT */
/* Source: the lines of source that a page shows with their heat: those that were sampled and a few
 * around each. Where they come from the caller of cairn_picture_write() knows. */
#ifndef CAIRN_PICTURE_SOURCE_H
#define CAIRN_PICTURE_SOURCE_H

#include "picture/heat.h"
#include "picture/meta.h"

/* What the lines cost, and the lines where view->source gives them: columns of picture/html.c.
 * Nothing where the profile knows no lines. CAIRN_E_NOMEM. */
int cairn_source_write(const struct cairn_picture_view *view, const struct cairn_page_facts *facts,
                       struct cairn_out *out, struct cairn_err *err);

#endif /* CAIRN_PICTURE_SOURCE_H */

/* SPDX-License-Identifier: MIT */
/* Source: the lines of source that a page shows with their heat: those that were sampled and a few
 * around each. Where they come from the caller of cairn_picture_write() knows. */
#ifndef CAIRN_PICTURE_SOURCE_H
#define CAIRN_PICTURE_SOURCE_H

#include "picture/heat.h"
#include "picture/meta.h"

/* The lines that view->source gives, and the tree that says what they cost: columns of
 * picture/html.c. Nothing where there are none. CAIRN_E_NOMEM. */
int cairn_source_write(const struct cairn_picture_view *view, struct cairn_page_facts *facts,
                       struct cairn_out *out, struct cairn_err *err);

#endif /* CAIRN_PICTURE_SOURCE_H */

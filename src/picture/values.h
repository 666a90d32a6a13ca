/* SPDX-License-Identifier: MIT */
/* Values: the columns of a page that say what its samples add to which nodes: sums by node, or rows
 * with labels and times, and the label sets. picture/html.c says what each one holds. */
#ifndef CAIRN_PICTURE_VALUES_H
#define CAIRN_PICTURE_VALUES_H

#include "picture/meta.h"

struct cairn_layout;

/* The nodes of a tree; `prefix` comes before the names of all its columns. CAIRN_E_NOMEM. */
int cairn_values_write_tree(const struct cairn_layout *layout, const char *prefix,
                            struct cairn_out *out, struct cairn_err *err);

/* Fills the facts, of which `scales` has room for all value types. CAIRN_E_NOMEM. */
int cairn_values_write(const struct cairn_picture_view *view, struct cairn_page_facts *facts,
                       struct cairn_out *out, struct cairn_err *err);

/* The same samples in another tree of them: of the facts nothing changes. CAIRN_E_NOMEM. */
int cairn_values_write_again(const struct cairn_picture_view *view,
                             const struct cairn_layout *layout, const char *prefix,
                             struct cairn_page_facts *facts, struct cairn_out *out,
                             struct cairn_err *err);

#endif /* CAIRN_PICTURE_VALUES_H */

/* SPDX-License-Identifier: MIT */
/* Meta: what the script of a page must know before it reads columns, and facts of the capture. */
#ifndef CAIRN_PICTURE_META_H
#define CAIRN_PICTURE_META_H

#include "picture/svg.h"

struct cairn_page_facts {
    int64_t *scales; /* by value type: what the numbers of its columns are multiples of */
    bool has_rows;   /* its values are in rows, with labels and perhaps times */
    int64_t first_ns[CAIRN_SIDES]; /* the time of the first row, since 1970; 0: unknown */
};

void cairn_meta_write(const struct cairn_picture_view *view, const struct cairn_page_facts *facts,
                      struct cairn_out *out);

#endif /* CAIRN_PICTURE_META_H */

/* SPDX-License-Identifier: MIT */
/*
 * Columns: what a page tells its script. A column of numbers is as many planes as its largest
 * number has bytes, the low bytes first; that of 3, 1, 259 is
 *
 *     plane 0:  3 1 3
 *     plane 1:  0 0 1
 *
 * for bytes of one significance are alike, and a script joins planes faster than it reads numbers
 * of differing lengths. A plane is deflated and in base64, between two planes is a point.
 */
#ifndef CAIRN_PICTURE_COLUMN_H
#define CAIRN_PICTURE_COLUMN_H

#include <cairn/error.h>

#include "base/strings.h"
#include "picture/out.h"

enum { CAIRN_COLUMN_PLANES = 8 };

/* An all-zero struct is an empty column. */
struct cairn_column {
    uint8_t *planes[CAIRN_COLUMN_PLANES];
    size_t n_planes, n, cap;
    bool failed;
};

void cairn_column_done(struct cairn_column *c);

/* Memory trouble shows when the column is written. */
void cairn_column_add(struct cairn_column *c, uint64_t value);
void cairn_column_add_signed(struct cairn_column *c, int64_t value); /* zigzag: 0 -1 1 -2 2 ... */

/* As an element of the page, its id "data-" and `id`; the column is empty then. CAIRN_E_NOMEM. */
int cairn_column_write(struct cairn_column *c, struct cairn_out *out, const char *id,
                       struct cairn_err *err);

/* Bytes that are no numbers. */
int cairn_column_write_block(struct cairn_span bytes, struct cairn_out *out, const char *id,
                             struct cairn_err *err);

/* All texts of a pool in the order of their numbers, a NUL behind each. */
int cairn_column_write_texts(const struct cairn_strings *texts, struct cairn_out *out,
                             const char *id, struct cairn_err *err);

#endif /* CAIRN_PICTURE_COLUMN_H */

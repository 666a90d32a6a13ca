/* SPDX-License-Identifier: MIT */
/* Stream rows: samples summed, and what they add to other events than their own. */
#ifndef CAIRN_STREAM_ROW_H
#define CAIRN_STREAM_ROW_H

#include "stream/stream.h"

/* Sums it into the row that is equal but for `n` and `value`. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_stream_row_add(struct cairn_stream *stream, const struct cairn_stream_row *row,
                         uint32_t *ret_number);

/* Sums of a row: `values` has one for each event, at 0. */
void cairn_stream_row_sums(const struct cairn_stream *stream, const struct cairn_stream_row *row,
                           int64_t *values);

#endif /* CAIRN_STREAM_ROW_H */

/* SPDX-License-Identifier: MIT */
/* Stream marker: samples that are kept one by one, as events with details, beside what is summed.
 */
#ifndef CAIRN_STREAM_MARKER_H
#define CAIRN_STREAM_MARKER_H

#include "stream/stream.h"

enum { CAIRN_STREAM_MARKERS_MAX = 500000 }; /* 150 to 300 bytes each */

/* Of a sample that has an event, whose stack and labels are those of its row. Beyond the limit they
 * are counted. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_stream_marker_add(struct cairn_stream *stream, const struct cairn_stream_sample *sample,
                            uint32_t stack, uint32_t labels);

/* After the last event: they become markers of the profile. CAIRN_OK or CAIRN_E_NOMEM. */
int cairn_stream_markers_finish(struct cairn_stream *stream);

#endif /* CAIRN_STREAM_MARKER_H */

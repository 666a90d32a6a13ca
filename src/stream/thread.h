/* SPDX-License-Identifier: MIT */
/* Stream threads: the labels of their samples. */
#ifndef CAIRN_STREAM_THREAD_H
#define CAIRN_STREAM_THREAD_H

#include "stream/stream.h"

/* The label set of a sample's thread, with the names that it and its process have now; `cut` is why
 * the stack ends early, or NULL. UINT32_MAX: memory is gone. */
uint32_t cairn_stream_labels(struct cairn_stream *stream, const struct cairn_stream_sample *sample,
                             const char *cut);

/* The label set of a row: that of its thread with what is kept beside. UINT32_MAX: memory is gone.
 */
uint32_t cairn_stream_row_labels(struct cairn_stream *stream, const struct cairn_stream_row *row);

/* Where times are kept and were moved to those since 1970: a note says by how much. */
int cairn_stream_say_clock(struct cairn_stream *stream);

#endif /* CAIRN_STREAM_THREAD_H */

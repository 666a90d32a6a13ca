/* SPDX-License-Identifier: MIT */
/* Zstd stream: one compressed stream (RFC 8878) that comes in pieces, each of which was flushed. */
#ifndef CAIRN_BASE_ZSTD_STREAM_H
#define CAIRN_BASE_ZSTD_STREAM_H

#include <cairn/error.h>

#include "base/buffer.h"

struct cairn_zstd_stream {
    void *context; /* made for the first piece */
};

void cairn_zstd_stream_done(struct cairn_zstd_stream *stream); /* all-zero is fine */

/* What the next piece unpacks to, appended; more than `limit` bytes is CAIRN_E_LIMIT. After
 * CAIRN_E_FORMAT the stream begins anew with the next frame. */
int cairn_zstd_stream_add(struct cairn_zstd_stream *stream, struct cairn_span piece, size_t limit,
                          struct cairn_buffer *ret_bytes, struct cairn_err *err);

#endif /* CAIRN_BASE_ZSTD_STREAM_H */

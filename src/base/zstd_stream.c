/* SPDX-License-Identifier: MIT */
#include "base/zstd_stream.h"

#include <zstd.h>

#include "base/error.h"

enum { ROOM = 1 << 16 };

void cairn_zstd_stream_done(struct cairn_zstd_stream *stream)
{
    ZSTD_freeDCtx(stream->context);
    stream->context = NULL;
}

static int unpack(ZSTD_DCtx *context, struct cairn_span piece, size_t limit,
                  struct cairn_buffer *out, struct cairn_err *err)
{
    ZSTD_inBuffer in = {piece.data, piece.size, 0};
    size_t start = out->size;
    for (bool is_full = false; in.pos < in.size || is_full;) {
        if (!cairn_buffer_reserve(out, ROOM))
            return cairn_fail_memory(err);
        ZSTD_outBuffer to = {out->data + out->size, ROOM, 0};
        size_t before = in.pos, left = ZSTD_decompressStream(context, &to, &in);
        if (ZSTD_isError(left))
            return cairn_fail(err, CAIRN_E_FORMAT, "compressed data is damaged at 0x%zx: %s",
                              in.pos, ZSTD_getErrorName(left));
        out->size += to.pos;
        if (out->size - start > limit)
            return cairn_fail(err, CAIRN_E_LIMIT, "unpacks to more than %zu bytes", limit);
        is_full = to.pos == to.size;
        if (!to.pos && in.pos == before)
            break; /* it wants more than there is, or there is nothing behind a full buffer */
    }
    return CAIRN_OK;
}

int cairn_zstd_stream_add(struct cairn_zstd_stream *stream, struct cairn_span piece, size_t limit,
                          struct cairn_buffer *ret_bytes, struct cairn_err *err)
{
    size_t start = ret_bytes->size;
    if (!stream->context)
        stream->context = ZSTD_createDCtx();
    if (!stream->context)
        return cairn_fail_memory(err);
    int code = unpack(stream->context, piece, limit, ret_bytes, err);
    if (code < 0) {
        ret_bytes->size = start;
        ZSTD_DCtx_reset(stream->context, ZSTD_reset_session_only);
    }
    return code;
}

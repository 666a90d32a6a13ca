/* SPDX-License-Identifier: MIT */
#include "formats/json_stream.h"

#include "base/error.h"

void cairn_json_stream_init(struct cairn_json_stream *stream, cairn_write_fn write, void *ctx)
{
    *stream = (struct cairn_json_stream){.write = write, .ctx = ctx};
    stream->json.out = &stream->out;
    stream->json.compact = true;
}

void cairn_json_stream_flush(struct cairn_json_stream *stream)
{
    struct cairn_buffer *out = &stream->out;
    if (out->failed) /* it stays so until the end, which says it */
        return;
    if (!stream->refused && out->size)
        stream->refused = stream->write(stream->ctx, out->data, out->size) != 0;
    cairn_buffer_clear(out);
}

int cairn_json_stream_done(struct cairn_json_stream *stream, struct cairn_err *err)
{
    cairn_json_stream_flush(stream);
    bool failed = stream->out.failed, refused = stream->refused;
    cairn_buffer_done(&stream->out);
    if (failed)
        return cairn_fail_memory(err);
    return refused ? cairn_fail(err, CAIRN_E_IO, "the output could not be written") : CAIRN_OK;
}

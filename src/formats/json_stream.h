/* SPDX-License-Identifier: MIT */
/* JSON stream: a JSON document that leaves as it is written, so that no more than a piece of it is
 * in memory. */
#ifndef CAIRN_FORMATS_JSON_STREAM_H
#define CAIRN_FORMATS_JSON_STREAM_H

#include <cairn/profile.h>

#include "base/json.h"

enum { CAIRN_JSON_STREAM_PIECE = 1 << 18 };

struct cairn_json_stream {
    struct cairn_json json; /* for the functions of base/json.h */
    struct cairn_buffer out;
    cairn_write_fn write;
    void *ctx;
    bool refused; /* `write` failed: nothing more is written */
};

/* In place: `json` points to `out`. */
void cairn_json_stream_init(struct cairn_json_stream *stream, cairn_write_fn write, void *ctx);

/* Hands over what there is. */
void cairn_json_stream_flush(struct cairn_json_stream *stream);

/* To be called behind each of many members. */
static inline void cairn_json_stream_pass(struct cairn_json_stream *stream)
{
    if (stream->out.size >= CAIRN_JSON_STREAM_PIECE)
        cairn_json_stream_flush(stream);
}

/* Hands over the rest and frees. CAIRN_E_NOMEM, CAIRN_E_IO: what went wrong since the start. */
int cairn_json_stream_done(struct cairn_json_stream *stream, struct cairn_err *err);

#endif /* CAIRN_FORMATS_JSON_STREAM_H */

/* SPDX-License-Identifier: MIT */
#include "formats/perf_data_out.h"

enum { PIECE = 1 << 18, SIZE_AT = 6 };

void cairn_perf_data_put_text(struct cairn_buffer *b, const char *text, size_t align)
{
    size_t size = strlen(text) + 1;
    cairn_buffer_add(b, text, size);
    for (; size % align; size++)
        cairn_buffer_char(b, 0);
}

void cairn_perf_data_out_begin(struct cairn_perf_data_out *out, uint32_t type, uint16_t misc)
{
    out->record = out->bytes.size;
    cairn_buffer_le(&out->bytes, type, 4);
    cairn_buffer_le(&out->bytes, misc, 2);
    cairn_buffer_le(&out->bytes, 0, 2);
}

void cairn_perf_data_out_end(struct cairn_perf_data_out *out)
{
    if (out->bytes.failed)
        return;
    cairn_buffer_set_le(&out->bytes, out->record + SIZE_AT, out->bytes.size - out->record, 2);
    if (out->bytes.size >= PIECE)
        cairn_perf_data_out_flush(out);
}

void cairn_perf_data_out_flush(struct cairn_perf_data_out *out)
{
    struct cairn_buffer *bytes = &out->bytes;
    if (bytes->failed) /* it stays so until the end, which says it */
        return;
    if (!out->only_counts && !out->refused && bytes->size)
        out->refused = out->write(out->ctx, bytes->data, bytes->size) != 0;
    out->n_bytes += bytes->size;
    cairn_buffer_clear(bytes);
}
